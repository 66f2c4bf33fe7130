//! Runs the benchmarks on the first visible adapter: `tfvk-bench [--quick] [NAME-PART]`.

use std::process::ExitCode;

use tfvk_bench::{Options, run};
use tfvk_device::{Device, Result, visible_adapters};

fn main() -> ExitCode {
    let mut options = Options::default();
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--quick" => options.quick = true,
            part => options.filter = part.into(),
        }
    }
    match bench(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("tfvk-bench: {e}");
            ExitCode::FAILURE
        }
    }
}

fn bench(options: &Options) -> Result<()> {
    let adapters = visible_adapters()?;
    let adapter =
        adapters.first().ok_or_else(|| tfvk_device::Error::new(tfvk_device::Code::NotFound, "no usable Vulkan adapter"))?;
    run(&Device::open(adapter)?, options, &mut |line| println!("{line}"))
}
