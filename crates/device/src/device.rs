//! An open device: what the crates above hold.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::core::Core;
use crate::profile::KernelTime;
use crate::ranges::{self, PlaceKind};
use crate::{Adapter, DevicePtr, Result, Stream, log};

/// An open device. Dropping it finishes its work (for up to 30 seconds) and frees all its memory.
pub struct Device {
    stream: Stream,
    core: Arc<Core>,
}

/// The open devices by number.
static OPEN: RwLock<Option<HashMap<u64, Weak<Device>>>> = RwLock::new(None);

/// The device that owns the memory, device or pinned, that `address` lies in; `None` for any other address.
pub fn owner_of(address: u64) -> Option<Arc<Device>> {
    let number = ranges::find(address)?.device;
    OPEN.read().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(&number)?.upgrade()
}

/// Whether `address` is one of a byte in device memory. Pinned memory is host memory.
pub fn is_device_address(address: u64) -> bool {
    ranges::find(address).is_some_and(|place| place.kind == ranges::PlaceKind::Device && address - place.base < place.bytes)
}

/// The open devices, in the order in which they were opened.
pub fn open_devices() -> Vec<Arc<Device>> {
    let open = OPEN.read().unwrap_or_else(PoisonError::into_inner);
    let mut all: Vec<Arc<Device>> = open.iter().flat_map(|m| m.values()).filter_map(Weak::upgrade).collect();
    all.sort_by_key(|d| d.core.gpu.id);
    all
}

impl Device {
    /// Open an adapter.
    ///
    /// Errors: FailedPrecondition for a refused adapter, or if the driver does not open it; ResourceExhausted.
    pub fn open(adapter: &Adapter) -> Result<Arc<Device>> {
        let core = Core::new(adapter)?;
        let device = Arc::new(Device { stream: Stream::new(core.clone()), core });
        let mut open = OPEN.write().unwrap_or_else(PoisonError::into_inner);
        open.get_or_insert_default().insert(device.core.gpu.id, Arc::downgrade(&device));
        log!(Info, "opened {adapter}");
        Ok(device)
    }

    /// The adapter, with features and limits after the clamps.
    pub fn adapter(&self) -> &Adapter {
        &self.core.gpu.adapter
    }

    /// The one in-order stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// `bytes` bytes of device memory, aligned to at least 256; their content is undefined.
    ///
    /// Errors: ResourceExhausted, with the figures, if there is not so much left or one allocation may not be so large. The
    /// device stays usable.
    pub fn allocate(&self, bytes: u64) -> Result<DevicePtr> {
        self.core.allocate(bytes)
    }

    /// Free an allocation, once the GPU is past all work recorded so far. Its addresses are invalid at once.
    ///
    /// Errors: InvalidArgument if `ptr` is not what [`Device::allocate`] returned.
    pub fn deallocate(&self, ptr: DevicePtr) -> Result<()> {
        self.core.free(ptr.0, PlaceKind::Device)
    }

    /// `bytes` bytes of host memory that this device copies from and to directly. Errors: ResourceExhausted.
    pub fn allocate_pinned(&self, bytes: u64) -> Result<*mut u8> {
        self.core.allocate_pinned(bytes)
    }

    /// Free pinned memory, once the GPU is past all work recorded so far. Errors as [`Device::deallocate`].
    pub fn free_pinned(&self, ptr: *mut u8) -> Result<()> {
        self.core.free(ptr as u64, PlaceKind::Pinned)
    }

    /// Bytes of device memory that this device has allocated and not freed yet, as the driver rounds them.
    pub fn memory_allocated(&self) -> u64 {
        self.core.memory.allocated()
    }

    /// Free and total device memory in bytes, as the driver's budget says or, where it says nothing, as counted here.
    pub fn memory_usage(&self) -> (u64, u64) {
        self.core.memory.usage()
    }

    /// Begin to take the time of every launch; each is then waited for by the next. Errors: Unimplemented where the device has
    /// no timestamps.
    pub fn start_trace(&self) -> Result<()> {
        let gpu = self.stream.timestamp()?.wait()?;
        let host = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
        if let Some(profile) = &self.core.profile {
            profile.start((host as i64).wrapping_sub(gpu as i64));
        }
        Ok(())
    }

    /// End it: the launches since [`Device::start_trace`], in order, about a million at most. Waits for the device.
    pub fn stop_trace(&self) -> Result<Vec<KernelTime>> {
        let Some(profile) = &self.core.profile else { return Ok(Vec::new()) };
        self.core.synchronize()?;
        profile.stop(&self.core)
    }

    /// How many compiled pipelines are kept in memory.
    pub fn pipelines(&self) -> usize {
        self.core.pipelines.len()
    }

    /// Barriers recorded so far, for tests and measurements.
    pub fn barriers(&self) -> u64 {
        self.core.recorder.lock().unwrap_or_else(PoisonError::into_inner).barriers
    }

    /// From now on, act as if the driver had reported the device lost; for tests.
    #[doc(hidden)]
    pub fn lose(&self) {
        self.core.gpu.lose("a test says so");
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let mut open = OPEN.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = open.as_mut() {
            open.remove(&self.core.gpu.id);
        }
        drop(open);
        self.core.close(false);
    }
}
