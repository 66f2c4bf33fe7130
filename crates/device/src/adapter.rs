//! What an adapter is: its name, kind, features and limits. How they are found is `probe.rs`.

use std::fmt;

use ash::vk;

use crate::DType;

/// The kind of an adapter; the order is the order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AdapterKind {
    /// A GPU with memory of its own.
    Discrete,
    /// A GPU that shares the host's memory.
    Integrated,
    /// A GPU in a virtual machine.
    Virtual,
    /// The CPU.
    Software,
}

impl fmt::Display for AdapterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Discrete => "discrete",
            Self::Integrated => "integrated",
            Self::Virtual => "virtual",
            Self::Software => "software",
        })
    }
}

/// One shape of a cooperative matrix multiplication with subgroup scope: `[m,k] x [k,n] + [m,n]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoopMatShape {
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// Elements of A and B.
    pub a: DType,
    /// Elements of C.
    pub c: DType,
    /// Elements of the result.
    pub result: DType,
    /// Whether integer results saturate.
    pub saturating: bool,
}

/// Cooperative matrices (VK_KHR_cooperative_matrix).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoopMat {
    /// Every supported shape whose elements are of our types and whose A and B are of one type.
    pub shapes: Vec<CoopMatShape>,
}

/// What a device may use beyond what every device must have (8- and 16-bit storage, scalar layout, subgroup arithmetic,
/// buffer device addresses, timeline semaphores).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// 64-bit integer arithmetic.
    pub int64: bool,
    /// 16-bit integer arithmetic (16-bit storage is always there).
    pub int16: bool,
    /// 8-bit integer arithmetic (8-bit storage is always there).
    pub int8: bool,
    /// 64-bit float arithmetic.
    pub f64: bool,
    /// 16-bit float arithmetic.
    pub f16: bool,
    /// The bfloat16 type in shaders (VK_KHR_shader_bfloat16).
    pub bf16: bool,
    /// bfloat16 dot products.
    pub bf16_dot: bool,
    /// bfloat16 cooperative matrices.
    pub bf16_coopmat: bool,
    /// Invocations of a subgroup, where the driver chooses.
    pub subgroup_size: u32,
    /// The smallest and largest subgroup size that can be asked for; equal where it cannot.
    pub subgroup_size_range: (u32, u32),
    /// Subgroup ballot.
    pub subgroup_ballot: bool,
    /// Subgroup vote.
    pub subgroup_vote: bool,
    /// Subgroup shuffle.
    pub subgroup_shuffle: bool,
    /// Subgroup shuffle relative (up and down).
    pub subgroup_shuffle_relative: bool,
    /// Subgroup operations on clusters.
    pub subgroup_clustered: bool,
    /// Subgroup operations on 8-, 16- and 64-bit types.
    pub subgroup_extended_types: bool,
    /// Cooperative matrices (KHR).
    pub coopmat_khr: Option<CoopMat>,
    /// VK_NV_cooperative_matrix2 with workgroup scope, flexible dimensions, reductions, conversions, per-element
    /// operations, tensor addressing and block loads.
    pub coopmat_nv2: bool,
    /// The largest workgroup that may hold an NV2 matrix of workgroup scope.
    pub coopmat_nv2_max_group: u32,
    /// Float32 atomic add on buffers and shared memory.
    pub atomic_f32_add: bool,
    /// 64-bit integer atomics on buffers.
    pub int64_atomics: bool,
    /// Integer dot products.
    pub integer_dot: bool,
    /// The Vulkan memory model, with device scope.
    pub memory_model: bool,
    /// Variable pointers into storage buffers and shared memory.
    pub variable_pointers: bool,
    /// SignedZeroInfNanPreserve for f32: NaN, infinities and signed zeros are kept.
    pub nan_preserve_f32: bool,
    /// SignedZeroInfNanPreserve for f16.
    pub nan_preserve_f16: bool,
    /// SignedZeroInfNanPreserve for f64.
    pub nan_preserve_f64: bool,
    /// DenormPreserve for f32.
    pub denorm_preserve_f32: bool,
    /// DenormPreserve for f16.
    pub denorm_preserve_f16: bool,
    /// DenormPreserve for f64.
    pub denorm_preserve_f64: bool,
    /// DenormFlushToZero for f32.
    pub denorm_flush_f32: bool,
    /// RoundingModeRTE for f16.
    pub round_even_f16: bool,
    /// RoundingModeRTE for f32.
    pub round_even_f32: bool,
    /// 8-bit members in push constants.
    pub push_constant_8: bool,
    /// 16-bit members in push constants.
    pub push_constant_16: bool,
    /// The driver tells how much memory is left (VK_EXT_memory_budget).
    pub memory_budget: bool,
    /// A queue for copies alone.
    pub transfer_queue: bool,
    /// GPU timestamps.
    pub timestamps: bool,
}

/// What a launch and an allocation must not exceed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Invocations of a workgroup.
    pub max_invocations: u32,
    /// Invocations of a workgroup along each axis.
    pub max_group_size: [u32; 3],
    /// Workgroups of a launch along each axis.
    pub max_groups: [u32; 3],
    /// Bytes of shared memory of a workgroup.
    pub shared_memory: u32,
    /// Bytes of push constants that the driver takes; a launch uses at most 128.
    pub push_constants: u32,
    /// Bytes of the largest allocation.
    pub max_allocation: u64,
    /// Bytes of device memory.
    pub device_memory: u64,
    /// Work of one launch (see [`Args::work`](crate::Args::work)) that even a slow device of this kind finishes in about a
    /// second: a desktop's watchdog waits for two.
    pub launch_work: u64,
    /// Nanoseconds of one tick of a GPU timestamp.
    pub timestamp_period_ns: f32,
}

/// A Vulkan adapter. `features` and `limits` may be lowered by the caller before [`crate::Device::open`].
#[derive(Clone, Debug)]
pub struct Adapter {
    /// The name, from the driver.
    pub name: String,
    /// The driver's name and version.
    pub driver: String,
    /// PCI vendor.
    pub vendor_id: u32,
    /// PCI device.
    pub device_id: u32,
    /// Discrete, integrated, virtual or software.
    pub kind: AdapterKind,
    /// What it can do, after the environment's clamps.
    pub features: Features,
    /// What it can bear, after the environment's clamps.
    pub limits: Limits,
    /// Why it cannot be used, in one sentence that names what is missing.
    pub refused: Option<String>,
    pub(crate) physical: vk::PhysicalDevice,
}

impl Adapter {
    /// Whether both are the same adapter of this machine.
    pub fn is_same_as(&self, other: &Adapter) -> bool {
        self.physical == other.physical
    }

    /// The PCI vendor's name, or its number.
    pub fn vendor(&self) -> String {
        match self.vendor_id {
            0x1002 => "AMD".into(),
            0x10de => "NVIDIA".into(),
            0x8086 => "Intel".into(),
            0x106b => "Apple".into(),
            0x13b5 => "Arm".into(),
            0x5143 => "Qualcomm".into(),
            0x1ae0 => "Google".into(),
            0x10005 => "Mesa".into(),
            other => format!("{other:#06x}"),
        }
    }
}

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.name, self.kind, self.driver)
    }
}
