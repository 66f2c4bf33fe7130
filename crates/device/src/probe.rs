//! Finding adapters: what each is, can do and bears; which are refused and why; which are offered.

use std::ffi::CStr;

use ash::{khr, vk};

use crate::chain::{COMPONENT_BF16, Chain, CoopMat2Properties, Extensions, names};
use crate::env::{REQUIRED, Settings};
use crate::instance::{Instance, instance};
use crate::{Adapter, AdapterKind, Code, CoopMat, CoopMatShape, DType, Error, Features, Limits, Result};

/// Every Vulkan adapter in a stable order (discrete, integrated, virtual, software; then as the driver lists them), with
/// the environment's clamps applied; refused ones too.
///
/// Errors: no Vulkan loader, no driver, a setting that cannot be read.
pub fn adapters() -> Result<Vec<Adapter>> {
    let settings = Settings::from_env()?;
    let instance = instance()?;
    // SAFETY: the instance is never destroyed.
    let physical = unsafe { instance.vk.enumerate_physical_devices() }
        .map_err(|result| Error::new(Code::FailedPrecondition, format!("Vulkan's adapters cannot be listed ({result:?})")))?;
    let mut found: Vec<Adapter> = physical.into_iter().map(|p| probe(instance, p, &settings)).collect();
    found.sort_by_key(|adapter| adapter.kind);
    found.iter_mut().for_each(|adapter| settings.clamp(adapter));
    Ok(found)
}

/// The usable adapters that `TFVK_ALLOW_SOFTWARE` and `TFVK_VISIBLE_DEVICES` leave, in the order of the latter.
///
/// Errors as [`adapters`], and for an index that names no usable adapter.
pub fn visible_adapters() -> Result<Vec<Adapter>> {
    select(adapters()?, &Settings::from_env()?)
}

fn select(all: Vec<Adapter>, settings: &Settings) -> Result<Vec<Adapter>> {
    let software = settings.allow_software;
    let usable = |a: &Adapter| a.refused.is_none() && (software || a.kind != AdapterKind::Software);
    let usable: Vec<Adapter> = all.into_iter().filter(usable).collect();
    let Some(indices) = &settings.visible else { return Ok(usable) };
    let pick = |&index: &usize| {
        usable.get(index).cloned().ok_or_else(|| {
            let n = usable.len();
            let hint = if software { "" } else { "; software ones count only with TFVK_ALLOW_SOFTWARE=1" };
            Error::invalid_argument(format!("TFVK_VISIBLE_DEVICES names adapter {index}, but the usable adapters are {n}{hint}"))
        })
    };
    indices.iter().map(pick).collect()
}

/// The queue families to use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Families {
    /// For everything; computes and copies.
    pub compute: u32,
    /// Valid bits of a timestamp on it.
    pub timestamp_bits: u32,
    /// For copies alone.
    pub transfer: Option<u32>,
}

pub(crate) fn families(instance: &ash::Instance, physical: vk::PhysicalDevice) -> Option<Families> {
    // SAFETY: the adapter is the instance's.
    let all = unsafe { instance.get_physical_device_queue_family_properties(physical) };
    let has = |f: &vk::QueueFamilyProperties, flags| f.queue_count > 0 && f.queue_flags.contains(flags);
    let (compute_flag, graphics) = (vk::QueueFlags::COMPUTE, vk::QueueFlags::GRAPHICS);
    // A family without graphics keeps long work away from what draws the desktop.
    let compute = all
        .iter()
        .position(|f| has(f, compute_flag) && !has(f, graphics) && f.timestamp_valid_bits > 0)
        .or_else(|| all.iter().position(|f| has(f, compute_flag)))?;
    let transfer = all.iter().position(|f| has(f, vk::QueueFlags::TRANSFER) && !has(f, compute_flag) && !has(f, graphics));
    Some(Families {
        compute: compute as u32,
        timestamp_bits: all[compute].timestamp_valid_bits,
        transfer: transfer.map(|t| t as u32),
    })
}

/// The extensions of an adapter, and the version that we and it both speak.
pub(crate) fn extensions(instance: &ash::Instance, physical: vk::PhysicalDevice, api_version: u32) -> Extensions {
    // SAFETY: the adapter is the instance's.
    let names = unsafe { instance.enumerate_device_extension_properties(physical) }.unwrap_or_default();
    Extensions::new(names, api_version.min(vk::API_VERSION_1_3))
}

fn text(raw: &CStr) -> String {
    raw.to_string_lossy().trim().to_string()
}

fn probe(instance: &Instance, physical: vk::PhysicalDevice, settings: &Settings) -> Adapter {
    // SAFETY: the adapter is the instance's.
    let basic = unsafe { instance.vk.get_physical_device_properties(physical) };
    let kind = match basic.device_type {
        vk::PhysicalDeviceType::DISCRETE_GPU => AdapterKind::Discrete,
        vk::PhysicalDeviceType::INTEGRATED_GPU => AdapterKind::Integrated,
        vk::PhysicalDeviceType::CPU => AdapterKind::Software,
        _ => AdapterKind::Virtual,
    };
    let mut adapter = Adapter {
        name: text(basic.device_name_as_c_str().unwrap_or_default()),
        driver: String::from("unknown driver"),
        vendor_id: basic.vendor_id,
        device_id: basic.device_id,
        kind,
        features: Features::default(),
        limits: Limits::default(),
        refused: None,
        physical,
    };
    if basic.api_version < vk::API_VERSION_1_2 {
        let (major, minor) = (vk::api_version_major(basic.api_version), vk::api_version_minor(basic.api_version));
        adapter.refused = Some(format!("{} offers Vulkan {major}.{minor}, and 1.2 is needed", adapter.name));
        return adapter;
    }
    let extensions = extensions(&instance.vk, physical, basic.api_version);
    let chain = Chain::ask(&instance.vk, physical, &extensions);
    let subgroup = properties(instance, &extensions, &chain, &mut adapter);
    let missing = missing(&instance.vk, physical, &chain, subgroup, settings);
    adapter.refused = (!missing.is_empty()).then(|| format!("{} lacks {}", adapter.name, missing.join(", ")));
    adapter
}

/// Fill in what the driver's properties say; the subgroup operations of compute shaders are returned.
fn properties(instance: &Instance, extensions: &Extensions, chain: &Chain, adapter: &mut Adapter) -> vk::SubgroupFeatureFlags {
    let physical = adapter.physical;
    let mut v11 = vk::PhysicalDeviceVulkan11Properties::default();
    let mut v12 = vk::PhysicalDeviceVulkan12Properties::default();
    let mut control = vk::PhysicalDeviceSubgroupSizeControlProperties::default();
    let mut buffer = vk::PhysicalDeviceMaintenance4Properties::default();
    let mut coopmat2 = CoopMat2Properties::default();
    let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut v11).push_next(&mut v12);
    if extensions.core13(names::SUBGROUP_SIZE) {
        all = all.push_next(&mut control);
    }
    if extensions.core13(names::MAINTENANCE4) {
        all = all.push_next(&mut buffer);
    }
    if extensions.listed(names::COOPMAT2) {
        all = all.push_next(&mut coopmat2);
    }
    // SAFETY: the adapter is the instance's; every structure of the chain is alive and of a known extension.
    unsafe { instance.vk.get_physical_device_properties2(physical, &mut all) };
    let raw = all.properties.limits;
    let driver = [v12.driver_name_as_c_str(), v12.driver_info_as_c_str()].map(|s| text(s.unwrap_or_default()));
    adapter.driver = driver.join(" ").trim().to_string();

    // SAFETY: as above.
    let memory = unsafe { instance.vk.get_physical_device_memory_properties(physical) };
    let heaps = &memory.memory_heaps[..memory.memory_heap_count as usize];
    let local = heaps.iter().filter(|h| h.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL)).map(|h| h.size).max().unwrap_or(0);
    let largest = if v11.max_memory_allocation_size > 0 { v11.max_memory_allocation_size } else { u64::MAX };
    adapter.limits = Limits {
        max_invocations: raw.max_compute_work_group_invocations,
        max_group_size: raw.max_compute_work_group_size,
        max_groups: raw.max_compute_work_group_count,
        shared_memory: raw.max_compute_shared_memory_size,
        push_constants: raw.max_push_constants_size,
        // Many drivers give more than the maxMemoryAllocationSize that they tell, and those that do not say so each time.
        max_allocation: if buffer.max_buffer_size > 0 { buffer.max_buffer_size } else { largest }.min(local),
        device_memory: local,
        launch_work: match adapter.kind {
            AdapterKind::Discrete | AdapterKind::Virtual => 256 << 30,
            AdapterKind::Integrated => 16 << 30,
            AdapterKind::Software => u64::MAX,
        },
        timestamp_period_ns: raw.timestamp_period,
    };

    let families = families(&instance.vk, physical);
    let in_compute = v11.subgroup_supported_stages.contains(vk::ShaderStageFlags::COMPUTE);
    let subgroup = if in_compute { v11.subgroup_supported_operations } else { vk::SubgroupFeatureFlags::empty() };
    let can = |flag| subgroup.contains(flag);
    let sized = chain.subgroup_size.subgroup_size_control != 0
        && control.required_subgroup_size_stages.contains(vk::ShaderStageFlags::COMPUTE);
    let model = chain.v12.vulkan_memory_model != 0 && chain.v12.vulkan_memory_model_device_scope != 0;
    let coopmat = chain.coopmat.cooperative_matrix != 0 && model;
    adapter.features = Features {
        int64: chain.core.shader_int64 != 0,
        int16: chain.core.shader_int16 != 0,
        int8: chain.v12.shader_int8 != 0,
        f64: chain.core.shader_float64 != 0,
        f16: chain.v12.shader_float16 != 0,
        bf16: chain.bf16.ty != 0,
        bf16_dot: chain.bf16.dot != 0,
        bf16_coopmat: chain.bf16.coopmat != 0 && coopmat,
        subgroup_size: v11.subgroup_size,
        subgroup_size_range: match sized {
            true => (control.min_subgroup_size, control.max_subgroup_size),
            false => (v11.subgroup_size, v11.subgroup_size),
        },
        subgroup_ballot: can(vk::SubgroupFeatureFlags::BALLOT),
        subgroup_vote: can(vk::SubgroupFeatureFlags::VOTE),
        subgroup_shuffle: can(vk::SubgroupFeatureFlags::SHUFFLE),
        subgroup_shuffle_relative: can(vk::SubgroupFeatureFlags::SHUFFLE_RELATIVE),
        subgroup_clustered: can(vk::SubgroupFeatureFlags::CLUSTERED),
        subgroup_extended_types: chain.v12.shader_subgroup_extended_types != 0,
        coopmat_khr: coopmat.then(|| coopmat_shapes(instance, physical)),
        coopmat_nv2: coopmat && chain.coopmat2.all.iter().all(|&b| b != 0),
        coopmat_nv2_max_group: coopmat2.max_group,
        atomic_f32_add: chain.atomic.shader_buffer_float32_atomic_add != 0,
        int64_atomics: chain.v12.shader_buffer_int64_atomics != 0 && chain.core.shader_int64 != 0,
        integer_dot: chain.dot.shader_integer_dot_product != 0,
        memory_model: model,
        variable_pointers: chain.v11.variable_pointers != 0 && chain.v11.variable_pointers_storage_buffer != 0,
        nan_preserve_f32: v12.shader_signed_zero_inf_nan_preserve_float32 != 0,
        nan_preserve_f16: v12.shader_signed_zero_inf_nan_preserve_float16 != 0,
        nan_preserve_f64: v12.shader_signed_zero_inf_nan_preserve_float64 != 0,
        denorm_preserve_f32: v12.shader_denorm_preserve_float32 != 0,
        denorm_preserve_f16: v12.shader_denorm_preserve_float16 != 0,
        denorm_preserve_f64: v12.shader_denorm_preserve_float64 != 0,
        denorm_flush_f32: v12.shader_denorm_flush_to_zero_float32 != 0,
        round_even_f16: v12.shader_rounding_mode_rte_float16 != 0,
        round_even_f32: v12.shader_rounding_mode_rte_float32 != 0,
        push_constant_8: chain.v12.storage_push_constant8 != 0,
        push_constant_16: chain.v11.storage_push_constant16 != 0,
        memory_budget: extensions.listed(names::BUDGET),
        transfer_queue: families.is_some_and(|f| f.transfer.is_some()),
        timestamps: families.is_some_and(|f| f.timestamp_bits > 0) && raw.timestamp_period > 0.0,
    };
    subgroup
}

/// What every device must have and this one lacks, or is to do without (`TFVK_DISABLE`).
fn missing(
    instance: &ash::Instance,
    physical: vk::PhysicalDevice,
    chain: &Chain,
    subgroup: vk::SubgroupFeatureFlags,
    settings: &Settings,
) -> Vec<&'static str> {
    let arithmetic = vk::SubgroupFeatureFlags::BASIC | vk::SubgroupFeatureFlags::ARITHMETIC;
    let has = |required: &str| match required {
        "compute" => families(instance, physical).is_some(),
        "addresses" => chain.v12.buffer_device_address != 0,
        "timeline" => chain.v12.timeline_semaphore != 0,
        "storage16" => chain.v11.storage_buffer16_bit_access != 0,
        "storage8" => chain.v12.storage_buffer8_bit_access != 0,
        "scalar" => chain.v12.scalar_block_layout != 0,
        "arithmetic" => subgroup.contains(arithmetic),
        _ => false,
    };
    let lacks = |required: &str| !has(required) || settings.disable.iter().any(|d| d == required);
    REQUIRED.iter().filter(|(name, _)| lacks(name)).map(|(_, what)| *what).collect()
}

fn coopmat_shapes(instance: &Instance, physical: vk::PhysicalDevice) -> CoopMat {
    let query = khr::cooperative_matrix::Instance::new(&instance.entry, &instance.vk);
    // SAFETY: the adapter is the instance's and lists the extension.
    let all = unsafe { query.get_physical_device_cooperative_matrix_properties(physical) }.unwrap_or_default();
    let shape = |p: &vk::CooperativeMatrixPropertiesKHR<'_>| {
        let fits = p.scope == vk::ScopeKHR::SUBGROUP && p.a_type == p.b_type;
        Some(CoopMatShape {
            m: p.m_size,
            n: p.n_size,
            k: p.k_size,
            a: component(p.a_type).filter(|_| fits)?,
            c: component(p.c_type)?,
            result: component(p.result_type)?,
            saturating: p.saturating_accumulation != 0,
        })
    };
    CoopMat { shapes: all.iter().filter_map(shape).collect() }
}

fn component(of: vk::ComponentTypeKHR) -> Option<DType> {
    use vk::ComponentTypeKHR as C;
    Some(match of {
        C::FLOAT16 => DType::F16,
        C::FLOAT32 => DType::F32,
        C::FLOAT64 => DType::F64,
        C::SINT8 => DType::I8,
        C::SINT16 => DType::I16,
        C::SINT32 => DType::I32,
        C::SINT64 => DType::I64,
        C::UINT8 => DType::U8,
        C::UINT16 => DType::U16,
        C::UINT32 => DType::U32,
        C::UINT64 => DType::U64,
        COMPONENT_BF16 => DType::BF16,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter(name: &str, kind: AdapterKind, refused: bool) -> Adapter {
        Adapter {
            name: name.into(),
            driver: String::new(),
            vendor_id: 0,
            device_id: 0,
            kind,
            features: Features::default(),
            limits: Limits::default(),
            refused: refused.then(|| "it lacks something".into()),
            physical: vk::PhysicalDevice::null(),
        }
    }

    fn names(visible: Option<Vec<usize>>, allow_software: bool) -> Result<Vec<String>> {
        let all = vec![
            adapter("old", AdapterKind::Discrete, true),
            adapter("big", AdapterKind::Discrete, false),
            adapter("small", AdapterKind::Integrated, false),
            adapter("cpu", AdapterKind::Software, false),
        ];
        let settings = Settings { visible, allow_software, ..Settings::default() };
        Ok(select(all, &settings)?.into_iter().map(|a| a.name).collect())
    }

    #[test]
    fn selection() {
        assert_eq!(names(None, false).unwrap(), ["big", "small"]);
        assert_eq!(names(None, true).unwrap(), ["big", "small", "cpu"]);
        assert_eq!(names(Some(vec![1, 0]), false).unwrap(), ["small", "big"]);
        assert_eq!(names(Some(vec![]), true).unwrap(), [""; 0]);
        let error = names(Some(vec![2]), false).unwrap_err();
        assert!(error.message.contains("adapter 2") && error.message.contains("TFVK_ALLOW_SOFTWARE"), "{error}");
    }
}
