//! The feature structures of Vulkan in one place: asked of an adapter by `probe.rs`, handed to a new device by `vulkan.rs`.

use std::ffi::{CStr, c_void};
use std::marker::PhantomData;

use ash::{khr, vk};

use crate::Features;

/// The extensions that matter, by what they bring.
pub(crate) mod names {
    use std::ffi::CStr;
    pub const SUBGROUP_SIZE: &CStr = c"VK_EXT_subgroup_size_control";
    pub const ATOMIC_FLOAT: &CStr = c"VK_EXT_shader_atomic_float";
    pub const INTEGER_DOT: &CStr = c"VK_KHR_shader_integer_dot_product";
    pub const MAINTENANCE4: &CStr = c"VK_KHR_maintenance4";
    pub const BUDGET: &CStr = c"VK_EXT_memory_budget";
    pub const PORTABILITY: &CStr = c"VK_KHR_portability_subset";
    pub const BF16: &CStr = c"VK_KHR_shader_bfloat16";
    pub const COOPMAT2: &CStr = c"VK_NV_cooperative_matrix2";
}

/// VkPhysicalDeviceShaderBfloat16FeaturesKHR, newer than our `ash`.
#[repr(C)]
pub(crate) struct Bf16Features {
    s_type: vk::StructureType,
    p_next: *mut c_void,
    pub ty: vk::Bool32,
    pub dot: vk::Bool32,
    pub coopmat: vk::Bool32,
}

/// VkPhysicalDeviceCooperativeMatrix2FeaturesNV, newer than our `ash`.
#[repr(C)]
pub(crate) struct CoopMat2Features {
    s_type: vk::StructureType,
    p_next: *mut c_void,
    /// Workgroup scope, flexible dimensions, reductions, conversions, per-element operations, tensor addressing, block loads.
    pub all: [vk::Bool32; 7],
}

/// VkPhysicalDeviceCooperativeMatrix2PropertiesNV, newer than our `ash`.
#[repr(C)]
pub(crate) struct CoopMat2Properties {
    s_type: vk::StructureType,
    p_next: *mut c_void,
    pub max_group: u32,
    pub max_dimension: u32,
    pub reserved_shared_memory: u32,
}

// SAFETY: laid out as in the Vulkan registry, with the structure type first; each extends what its `Extends` trait names.
unsafe impl vk::ExtendsPhysicalDeviceFeatures2 for Bf16Features {}
// SAFETY: as above.
unsafe impl vk::ExtendsDeviceCreateInfo for Bf16Features {}
// SAFETY: as above.
unsafe impl vk::ExtendsPhysicalDeviceFeatures2 for CoopMat2Features {}
// SAFETY: as above.
unsafe impl vk::ExtendsDeviceCreateInfo for CoopMat2Features {}
// SAFETY: as above.
unsafe impl vk::ExtendsPhysicalDeviceProperties2 for CoopMat2Properties {}

impl Default for CoopMat2Properties {
    fn default() -> Self {
        let s_type = vk::StructureType::from_raw(1_000_593_002);
        Self { s_type, p_next: std::ptr::null_mut(), max_group: 0, max_dimension: 0, reserved_shared_memory: 0 }
    }
}

/// Component type VK_COMPONENT_TYPE_BFLOAT16_KHR.
pub(crate) const COMPONENT_BF16: vk::ComponentTypeKHR = vk::ComponentTypeKHR::from_raw(1_000_141_000);

/// The extensions of an adapter.
pub(crate) struct Extensions {
    names: Vec<vk::ExtensionProperties>,
    /// The Vulkan version that may be used with it.
    pub version: u32,
}

impl Extensions {
    pub fn new(names: Vec<vk::ExtensionProperties>, version: u32) -> Self {
        Self { names, version }
    }

    pub fn listed(&self, name: &CStr) -> bool {
        self.names.iter().any(|e| e.extension_name_as_c_str() == Ok(name))
    }

    /// Listed, or part of Vulkan 1.3 and this is that.
    pub fn core13(&self, name: &CStr) -> bool {
        self.version >= vk::API_VERSION_1_3 || self.listed(name)
    }
}

/// All feature structures.
pub(crate) struct Chain {
    pub core: vk::PhysicalDeviceFeatures,
    pub v11: vk::PhysicalDeviceVulkan11Features<'static>,
    pub v12: vk::PhysicalDeviceVulkan12Features<'static>,
    pub subgroup_size: vk::PhysicalDeviceSubgroupSizeControlFeatures<'static>,
    pub atomic: vk::PhysicalDeviceShaderAtomicFloatFeaturesEXT<'static>,
    pub dot: vk::PhysicalDeviceShaderIntegerDotProductFeatures<'static>,
    pub maintenance4: vk::PhysicalDeviceMaintenance4Features<'static>,
    pub coopmat: vk::PhysicalDeviceCooperativeMatrixFeaturesKHR<'static>,
    pub bf16: Bf16Features,
    pub coopmat2: CoopMat2Features,
    _pinned: PhantomData<*mut c_void>,
}

impl Default for Chain {
    fn default() -> Self {
        let raw = vk::StructureType::from_raw;
        let p_next = std::ptr::null_mut();
        Self {
            core: Default::default(),
            v11: Default::default(),
            v12: Default::default(),
            subgroup_size: Default::default(),
            atomic: Default::default(),
            dot: Default::default(),
            maintenance4: Default::default(),
            coopmat: Default::default(),
            bf16: Bf16Features { s_type: raw(1_000_141_000), p_next, ty: 0, dot: 0, coopmat: 0 },
            coopmat2: CoopMat2Features { s_type: raw(1_000_593_000), p_next, all: [0; 7] },
            _pinned: PhantomData,
        }
    }
}

impl Chain {
    /// What the adapter supports.
    pub fn ask(instance: &ash::Instance, physical: vk::PhysicalDevice, extensions: &Extensions) -> Chain {
        let mut c = Chain::default();
        let mut all = vk::PhysicalDeviceFeatures2::default().push_next(&mut c.v11).push_next(&mut c.v12);
        if extensions.core13(names::SUBGROUP_SIZE) {
            all = all.push_next(&mut c.subgroup_size);
        }
        if extensions.listed(names::ATOMIC_FLOAT) {
            all = all.push_next(&mut c.atomic);
        }
        if extensions.core13(names::INTEGER_DOT) {
            all = all.push_next(&mut c.dot);
        }
        if extensions.core13(names::MAINTENANCE4) {
            all = all.push_next(&mut c.maintenance4);
        }
        if extensions.listed(khr::cooperative_matrix::NAME) {
            all = all.push_next(&mut c.coopmat);
        }
        if extensions.listed(names::BF16) {
            all = all.push_next(&mut c.bf16);
        }
        if extensions.listed(names::COOPMAT2) {
            all = all.push_next(&mut c.coopmat2);
        }
        // SAFETY: the adapter is the instance's; every structure of the chain is alive and of a known extension.
        unsafe { instance.get_physical_device_features2(physical, &mut all) };
        c.core = all.features;
        c
    }

    /// What a device with these features has to be made with: what every device needs, and what `wanted` says. The
    /// extension names to enable come with it.
    pub fn enable(supported: &Chain, wanted: &Features, extensions: &Extensions) -> (Chain, Vec<*const std::ffi::c_char>) {
        let mut c = Chain::default();
        let on = |want: bool, has: vk::Bool32| vk::Bool32::from(want && has != 0);
        let (s, w) = (supported, wanted);
        c.core.shader_int64 = on(w.int64, s.core.shader_int64);
        c.core.shader_int16 = on(w.int16, s.core.shader_int16);
        c.core.shader_float64 = on(w.f64, s.core.shader_float64);
        c.v11.storage_buffer16_bit_access = 1;
        c.v11.uniform_and_storage_buffer16_bit_access = s.v11.uniform_and_storage_buffer16_bit_access;
        c.v11.storage_push_constant16 = on(w.push_constant_16, s.v11.storage_push_constant16);
        c.v11.variable_pointers = on(w.variable_pointers, s.v11.variable_pointers);
        c.v11.variable_pointers_storage_buffer = on(w.variable_pointers, s.v11.variable_pointers_storage_buffer);
        c.v12.storage_buffer8_bit_access = 1;
        c.v12.uniform_and_storage_buffer8_bit_access = s.v12.uniform_and_storage_buffer8_bit_access;
        c.v12.storage_push_constant8 = on(w.push_constant_8, s.v12.storage_push_constant8);
        c.v12.shader_buffer_int64_atomics = on(w.int64_atomics, s.v12.shader_buffer_int64_atomics);
        c.v12.shader_shared_int64_atomics = on(w.int64_atomics, s.v12.shader_shared_int64_atomics);
        c.v12.shader_float16 = on(w.f16, s.v12.shader_float16);
        c.v12.shader_int8 = on(w.int8, s.v12.shader_int8);
        c.v12.scalar_block_layout = 1;
        c.v12.shader_subgroup_extended_types = on(w.subgroup_extended_types, s.v12.shader_subgroup_extended_types);
        c.v12.timeline_semaphore = 1;
        c.v12.buffer_device_address = 1;
        c.v12.vulkan_memory_model = on(w.memory_model, s.v12.vulkan_memory_model);
        c.v12.vulkan_memory_model_device_scope = on(w.memory_model, s.v12.vulkan_memory_model_device_scope);
        c.subgroup_size.subgroup_size_control = s.subgroup_size.subgroup_size_control;
        c.subgroup_size.compute_full_subgroups = s.subgroup_size.compute_full_subgroups;
        c.maintenance4.maintenance4 = s.maintenance4.maintenance4;
        c.dot.shader_integer_dot_product = on(w.integer_dot, s.dot.shader_integer_dot_product);
        c.atomic.shader_buffer_float32_atomics = on(w.atomic_f32_add, s.atomic.shader_buffer_float32_atomics);
        c.atomic.shader_buffer_float32_atomic_add = on(w.atomic_f32_add, s.atomic.shader_buffer_float32_atomic_add);
        c.atomic.shader_shared_float32_atomics = on(w.atomic_f32_add, s.atomic.shader_shared_float32_atomics);
        c.atomic.shader_shared_float32_atomic_add = on(w.atomic_f32_add, s.atomic.shader_shared_float32_atomic_add);
        c.coopmat.cooperative_matrix = on(w.coopmat_khr.is_some(), s.coopmat.cooperative_matrix);
        c.bf16.ty = on(w.bf16, s.bf16.ty);
        c.bf16.dot = on(w.bf16_dot, s.bf16.dot);
        c.bf16.coopmat = on(w.bf16_coopmat, s.bf16.coopmat);
        if w.coopmat_nv2 {
            c.coopmat2.all = s.coopmat2.all;
        }

        let uses = [
            (names::SUBGROUP_SIZE, c.subgroup_size.subgroup_size_control != 0),
            (names::ATOMIC_FLOAT, c.atomic.shader_buffer_float32_atomic_add != 0),
            (names::INTEGER_DOT, c.dot.shader_integer_dot_product != 0),
            (names::MAINTENANCE4, c.maintenance4.maintenance4 != 0),
            (khr::cooperative_matrix::NAME, c.coopmat.cooperative_matrix != 0),
            (names::BF16, c.bf16.ty != 0),
            (names::COOPMAT2, c.coopmat2.all[0] != 0),
            (names::BUDGET, w.memory_budget),
            (names::PORTABILITY, true),
        ];
        let names = uses.iter().filter(|(name, used)| *used && extensions.listed(name)).map(|(name, _)| name.as_ptr()).collect();
        (c, names)
    }

    /// Put the structures that enable something behind `info`.
    pub fn attach<'a>(&'a mut self, mut info: vk::DeviceCreateInfo<'a>) -> vk::DeviceCreateInfo<'a> {
        info = info.enabled_features(&self.core).push_next(&mut self.v11).push_next(&mut self.v12);
        if self.subgroup_size.subgroup_size_control != 0 {
            info = info.push_next(&mut self.subgroup_size);
        }
        if self.atomic.shader_buffer_float32_atomic_add != 0 {
            info = info.push_next(&mut self.atomic);
        }
        if self.dot.shader_integer_dot_product != 0 {
            info = info.push_next(&mut self.dot);
        }
        if self.maintenance4.maintenance4 != 0 {
            info = info.push_next(&mut self.maintenance4);
        }
        if self.coopmat.cooperative_matrix != 0 {
            info = info.push_next(&mut self.coopmat);
        }
        if self.bf16.ty != 0 {
            info = info.push_next(&mut self.bf16);
        }
        if self.coopmat2.all[0] != 0 {
            info = info.push_next(&mut self.coopmat2);
        }
        info
    }
}
