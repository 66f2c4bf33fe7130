//! What the tests share: kernels from GLSL, a device, vectors on it.

use std::process::{Command, Output};
use std::sync::{Arc, LazyLock};

use tfvk_device::{Adapter, Args, DType, Device, DevicePtr, Kernel, Tensor, adapters};

/// The first adapter that can be used, software ones included.
pub fn adapter() -> Adapter {
    let all = adapters().expect("Vulkan");
    all.into_iter().find(|a| a.refused.is_none()).expect("a usable adapter")
}

/// A device of the test's own.
pub fn open() -> Checked {
    Checked(Device::open(&adapter()).expect("a device"))
}

/// A device that looks for validation errors when the test is over.
pub struct Checked(pub Arc<Device>);

impl std::ops::Deref for Checked {
    type Target = Arc<Device>;
    fn deref(&self) -> &Arc<Device> {
        &self.0
    }
}

impl Drop for Checked {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(tfvk_device::validation_errors(), 0, "the validation layer has complaints");
        }
    }
}

/// The kernels of `kernels/`.
macro_rules! kernels {
    ($($name:ident),*) => {$(
        pub fn $name() -> Kernel {
            Kernel::from_words(stringify!($name), words(include_bytes!(concat!("kernels/", stringify!($name), ".spv"))))
        }
    )*};
}
kernels!(double, large, shared, subgroup_size);

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect()
}

/// `dst[i] = src[i] * mul + add` for `n` elements, linear groups.
pub fn affine() -> &'static Kernel {
    static KERNEL: LazyLock<Kernel> = LazyLock::new(|| Kernel::from_words("affine", words(include_bytes!("kernels/affine.spv"))));
    &KERNEL
}

/// `n` u32 elements on the device.
pub fn vector(device: &Device, n: usize) -> Tensor {
    let ptr = device.allocate(4 * n as u64).unwrap();
    Tensor::on_device(DType::U32, [n as i64].into(), ptr)
}

/// Where a tensor is.
pub fn ptr(t: &Tensor) -> DevicePtr {
    t.device_ptr().unwrap()
}

/// Free a tensor.
pub fn free(device: &Device, t: &Tensor) {
    device.deallocate(ptr(t)).unwrap();
}

pub fn bytes(v: &[u32]) -> Vec<u8> {
    v.iter().flat_map(|x| x.to_ne_bytes()).collect()
}

pub fn write(device: &Device, t: &Tensor, v: &[u32]) {
    device.stream().upload(ptr(t), &bytes(v)).unwrap();
}

pub fn read(device: &Device, t: &Tensor) -> Vec<u32> {
    let bytes = device.stream().read(t).unwrap();
    bytes.chunks_exact(4).map(|c| u32::from_ne_bytes(c.try_into().unwrap())).collect()
}

/// Launch [`affine`].
pub fn launch_affine(device: &Device, src: &Tensor, dst: &Tensor, mul: u32, add: u32) {
    let n = dst.num_elements() as u32;
    let mut args = Args::new();
    args.read(src).unwrap().write(dst).unwrap().u32(n).u32(mul).u32(add);
    device.stream().launch_linear(affine(), &[64, 1, 1], &args, u64::from(n.div_ceil(64))).unwrap();
}

/// Run one of the ignored `child_*` tests, by its whole name, in a process of its own.
pub fn child(name: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([name, "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env("TFVK_TEST_CHILD", "1").envs(variables.iter().copied());
    command.output().unwrap()
}

pub fn succeeds(output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{:?}\n{text}", output.status);
}
