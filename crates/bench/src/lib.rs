//! Benchmarks of the kernels and of the device, as JSON lines: one object a benchmark, `{"name", "ms", ...}` with `tflops`,
//! `gbs` or `host_us` where they apply. The names are those of the peers that the figures are compared with.
//!
//! Times of kernels are medians of GPU timestamps; times of launches and copies are the host's clock. A benchmark that cannot
//! run on this adapter prints `{"name", "error"}`.

mod cases;
mod device_cases;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tfvk_device::{Device, Result};
use tfvk_ops::local::{Local, Node, Value};

pub use cases::Case;

/// What to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Only names that contain this.
    pub filter: String,
    /// Small sizes, for checking the benchmarks themselves where there is no GPU.
    pub quick: bool,
}

/// Runs the benchmarks and hands each JSON line to `print`.
pub fn run(device: &Arc<Device>, options: &Options, print: &mut dyn FnMut(&str)) -> Result<()> {
    let adapter = device.adapter();
    print(&format!("{{\"device\": {:?}, \"driver\": {:?}, \"quick\": {}}}", adapter.name, adapter.driver, options.quick));
    let local = Local::new(device.clone());
    for case in device_cases::all().iter().filter(|c| c.name.contains(&options.filter)) {
        line(case.name, (case.run)(&local, options.quick), print);
    }
    for case in cases::all(options.quick) {
        if case.name.contains(&options.filter) {
            line(&case.name, time_case(&local, &case), print);
        }
    }
    Ok(())
}

fn line(name: &str, result: Result<String>, print: &mut dyn FnMut(&str)) {
    match result {
        Ok(fields) => print(&format!("{{\"name\": {name:?}, {fields}}}")),
        Err(e) => print(&format!("{{\"name\": {name:?}, \"error\": {:?}}}", e.message)),
    }
}

/// The median GPU time of a case, in its JSON fields.
fn time_case(local: &Local, case: &Case) -> Result<String> {
    let inputs = case.inputs.iter().map(|i| i.make(local)).collect::<Result<Vec<Value>>>()?;
    let ms = median_gpu_ms(local, &case.node, &inputs)?;
    let rate = match (case.flops, case.bytes) {
        (Some(flops), _) => format!(", \"tflops\": {:.2}", flops / ms / 1e9),
        (None, Some(bytes)) => format!(", \"gbs\": {:.0}", bytes / ms / 1e6),
        (None, None) => String::new(),
    };
    Ok(format!("\"ms\": {ms:.5}{rate}"))
}

/// Runs until an idle GPU's clocks have risen, then times runs that follow each other without a gap.
fn median_gpu_ms(local: &Local, node: &Node, inputs: &[Value]) -> Result<f64> {
    const RUNS: usize = 15;
    const WARM_UP: Duration = Duration::from_millis(400);
    let stream = local.device().stream();
    let prepared = local.prepare(node)?;
    let start = Instant::now();
    while start.elapsed() < WARM_UP {
        for _ in 0..3 {
            local.execute(&prepared, inputs)?;
        }
        stream.synchronize()?;
    }
    let mut stamps = vec![stream.timestamp()?];
    for _ in 0..RUNS {
        local.execute(&prepared, inputs)?;
        stamps.push(stream.timestamp()?);
    }
    let stamps = stamps.iter().map(|s| s.wait()).collect::<Result<Vec<u64>>>()?;
    let mut times: Vec<f64> = stamps.windows(2).map(|w| w[1].saturating_sub(w[0]) as f64 / 1e6).collect();
    times.sort_by(f64::total_cmp);
    Ok(times[RUNS / 2])
}
