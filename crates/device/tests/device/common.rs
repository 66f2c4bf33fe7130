//! What the tests share: kernels from GLSL, a device, vectors on it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

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

const HEAD: &str = "#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer U { uint v[]; };
";

/// A kernel from GLSL; compiled once a process.
pub fn kernel(name: &str, body: &str) -> Arc<Kernel> {
    static MADE: LazyLock<Mutex<HashMap<String, Arc<Kernel>>>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock().unwrap();
    made.entry(format!("{name}\n{body}")).or_insert_with(|| Arc::new(Kernel::from_words(name, words(body)))).clone()
}

/// SPIR-V of HEAD and `body`.
pub fn words(body: &str) -> Vec<u32> {
    use glslang::*;
    let compiler = Compiler::acquire().unwrap();
    let source = ShaderSource::from(format!("{HEAD}{body}"));
    let options = CompilerOptions {
        source_language: SourceLanguage::GLSL,
        target: Target::Vulkan { version: VulkanVersion::Vulkan1_2, spirv_version: SpirvVersion::SPIRV1_5 },
        version_profile: None,
        messages: ShaderMessage::DEFAULT,
    };
    let defines: Option<&[(&str, Option<&str>)]> = None;
    let input = ShaderInput::new(&source, ShaderStage::Compute, &options, defines, None).unwrap();
    compiler.create_shader(input).unwrap().compile().unwrap()
}

/// `dst[i] = src[i] * mul + add` for `n` elements, linear groups.
pub fn affine() -> Arc<Kernel> {
    kernel(
        "affine",
        "layout(push_constant, scalar) uniform P { U src; U dst; uint n; uint mul; uint add; };
        void main() {
            uint g = gl_WorkGroupID.x + gl_NumWorkGroups.x * (gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z);
            uint i = g * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
            if (i < n) dst.v[i] = src.v[i] * mul + add;
        }",
    )
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
    device.stream().launch_linear(&affine(), &[64, 1, 1], &args, u64::from(n.div_ceil(64))).unwrap();
}
