//! The Vulkan device itself: made with the adapter's features, and the one place where Vulkan's failures become ours.
//!
//! Everything else of an open device holds this. Knows no stream and no allocation.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use ash::vk;

use crate::chain::Chain;
use crate::env::Settings;
use crate::instance::{Instance, instance};
use crate::probe::{self, Families};
use crate::{Adapter, Code, Error, Result, exit, far};

/// A Vulkan device.
pub(crate) struct Gpu {
    /// A number that no other device of this process has or had; never 0.
    pub id: u64,
    pub adapter: Adapter,
    pub vk: ash::Device,
    /// For everything; computes and copies.
    pub queue: vk::Queue,
    /// For copies alone, with its family; where there is one.
    pub transfer: Option<(vk::Queue, u32)>,
    pub families: Families,
    pub memory: vk::PhysicalDeviceMemoryProperties,
    /// What identifies driver and device for the pipeline cache.
    pub identity: Identity,
    pub full_subgroups: bool,
    /// The highest SPIR-V version that the driver takes.
    pub spirv: (u8, u8),
    /// For tests: all launches reach their tensors as they would very large ones.
    all_far: bool,
    /// For tests: the device acts as if it were lost after so many batches.
    pub lose_after: Option<u64>,
    instance: &'static Instance,
    lost: OnceLock<String>,
}

/// What a pipeline cache must agree with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub vendor: u32,
    pub device: u32,
    pub driver_version: u32,
    pub cache_uuid: [u8; 16],
}

impl Gpu {
    pub fn new(adapter: &Adapter) -> Result<Gpu> {
        if let Some(why) = &adapter.refused {
            return Err(Error::new(Code::FailedPrecondition, format!("this adapter cannot be used: {why}")));
        }
        exit::check()?;
        let settings = Settings::from_env()?;
        let instance = instance()?;
        let physical = adapter.physical;
        let failed = |what: &str| Error::new(Code::FailedPrecondition, format!("{}: {what}", adapter.name));
        let mut families = probe::families(&instance.vk, physical).ok_or_else(|| failed("it has no queue that computes"))?;
        // An emulated one is the one queue once more.
        families.transfer = adapter.features.transfer_queue.then(|| families.transfer.unwrap_or(families.compute));
        // SAFETY: the adapter was listed by this instance, which is never destroyed.
        let properties = unsafe { instance.vk.get_physical_device_properties(physical) };
        let extensions = probe::extensions(&instance.vk, physical, properties.api_version);
        let supported = Chain::ask(&instance.vk, physical, &extensions);
        let (mut chain, names) = Chain::enable(&supported, &adapter.features, &extensions);
        let full_subgroups = chain.subgroup_size.compute_full_subgroups != 0;
        let priority = [1.0];
        let mut wanted = vec![families.compute];
        wanted.extend(families.transfer.filter(|&t| t != families.compute));
        let queue = |&family| vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&priority);
        let queues: Vec<_> = wanted.iter().map(queue).collect();
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_extension_names(&names);
        let info = chain.attach(info);
        // SAFETY: every pointer of `info` outlives the call; features and extensions are ones that the adapter supports.
        let vk = unsafe { instance.vk.create_device(physical, &info, None) }.map_err(|result| match result {
            vk::Result::ERROR_OUT_OF_DEVICE_MEMORY | vk::Result::ERROR_OUT_OF_HOST_MEMORY => {
                Error::resource_exhausted(format!("{}: no memory is left to open it ({result:?})", adapter.name))
            }
            _ => failed(&format!("it cannot be opened ({result:?})")),
        })?;
        // SAFETY: the queue was asked for above.
        let queue = unsafe { vk.get_device_queue(families.compute, 0) };
        // SAFETY: as above.
        let transfer = families.transfer.map(|family| (unsafe { vk.get_device_queue(family, 0) }, family));
        // SAFETY: the adapter is the instance's.
        let memory = unsafe { instance.vk.get_physical_device_memory_properties(physical) };
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Ok(Gpu {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            adapter: adapter.clone(),
            vk,
            queue,
            transfer,
            families,
            memory,
            identity: Identity {
                vendor: properties.vendor_id,
                device: properties.device_id,
                driver_version: properties.driver_version,
                cache_uuid: properties.pipeline_cache_uuid,
            },
            full_subgroups,
            spirv: if extensions.version >= vk::API_VERSION_1_3 { (1, 6) } else { (1, 5) },
            all_far: settings.far,
            lose_after: settings.lose_after,
            instance,
            lost: OnceLock::new(),
        })
    }

    /// Whether a launch on a tensor of so many bytes needs 64-bit indices. Without 64-bit integers no tensor is that large
    /// (`env.rs`).
    #[inline]
    pub fn far(&self, bytes: u64) -> bool {
        (bytes > far::NEAR || self.all_far) && self.adapter.features.int64
    }

    /// An error if the device is lost or the process must not use it any more.
    #[inline]
    pub fn check(&self) -> Result<()> {
        exit::check()?;
        match self.lost.get() {
            None => Ok(()),
            Some(why) => Err(self.lost_error(why)),
        }
    }

    /// Whether the device is lost.
    pub fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// From now on every call fails.
    pub fn lose(&self, why: &str) -> Error {
        self.lost.get_or_init(|| {
            crate::log!(Error, "{} is lost: {why}", self.adapter.name);
            why.to_string()
        });
        self.lost_error(why)
    }

    fn lost_error(&self, why: &str) -> Error {
        let name = &self.adapter.name;
        Error::new(Code::Unavailable, format!("the device '{name}' is lost ({why}); only a new process can use it again"))
    }

    /// Vulkan's failure while doing `what`, as an error. A lost device stays lost.
    pub fn error(&self, result: vk::Result, what: &str) -> Error {
        let name = &self.adapter.name;
        match result {
            vk::Result::ERROR_DEVICE_LOST => self.lose(what),
            vk::Result::ERROR_OUT_OF_DEVICE_MEMORY | vk::Result::ERROR_OUT_OF_HOST_MEMORY => {
                Error::resource_exhausted(format!("{what}: out of memory on '{name}' ({result:?})"))
            }
            _ => Error::internal(format!("{what}: Vulkan failed on '{name}' ({result:?})")),
        }
    }

    /// What the driver says of each memory heap: (budget, usage) in bytes. `None` if it does not tell.
    pub fn heap_budgets(&self) -> Option<Vec<(u64, u64)>> {
        if !self.adapter.features.memory_budget {
            return None;
        }
        let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
        let mut all = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
        // SAFETY: the adapter lists the extension of the structure.
        unsafe { self.instance.vk.get_physical_device_memory_properties2(self.adapter.physical, &mut all) };
        let n = self.memory.memory_heap_count as usize;
        Some(budget.heap_budget[..n].iter().copied().zip(budget.heap_usage[..n].iter().copied()).collect())
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // After exit handlers have run the driver may be gone.
        if exit::check().is_ok() {
            // SAFETY: whoever held objects of the device held this too, and is gone.
            unsafe { self.vk.destroy_device(None) };
        }
    }
}
