//! An open device.

use std::sync::Arc;

use crate::{Adapter, DevicePtr, Error, Result, Stream};

/// An open device.
pub struct Device {
    adapter: Adapter,
    stream: Stream,
}

fn todo<T>() -> Result<T> {
    Err(Error::unimplemented("the device crate is being written"))
}

/// Every Vulkan adapter in a stable order (discrete, integrated, virtual, software), refused ones too.
pub fn adapters() -> Result<Vec<Adapter>> {
    todo()
}

/// The usable adapters that TFVK_VISIBLE_DEVICES and TFVK_ALLOW_SOFTWARE leave.
pub fn visible_adapters() -> Result<Vec<Adapter>> {
    todo()
}

/// The device that owns this address, if any does.
pub fn owner_of(_address: u64) -> Option<Arc<Device>> {
    None
}

impl Device {
    /// Open a device.
    pub fn open(_adapter: &Adapter) -> Result<Arc<Device>> {
        todo()
    }
    /// The adapter, with features and limits after the clamps.
    pub fn adapter(&self) -> &Adapter {
        &self.adapter
    }
    /// The one in-order stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }
    /// Device memory. Errors: ResourceExhausted when there is none left.
    pub fn allocate(&self, _bytes: u64) -> Result<DevicePtr> {
        todo()
    }
    /// Free device memory, once the GPU is past all work recorded so far.
    pub fn deallocate(&self, _ptr: DevicePtr) -> Result<()> {
        todo()
    }
    /// Host memory that the device copies from and to directly.
    pub fn allocate_pinned(&self, _bytes: u64) -> Result<*mut u8> {
        todo()
    }
    /// Free pinned memory, once the GPU is past all work recorded so far.
    pub fn free_pinned(&self, _ptr: *mut u8) -> Result<()> {
        todo()
    }
    /// Free and total device memory in bytes.
    pub fn memory_usage(&self) -> (u64, u64) {
        (0, 0)
    }
}
