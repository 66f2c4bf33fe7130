//! A device's one in-order stream: launches, fills, copies, events.

use crate::{Args, DevicePtr, Error, Event, Kernel, Result, Tensor, Timestamp};

/// The in-order stream of a device; see the crate's contract.
pub struct Stream {}

fn todo<T>() -> Result<T> {
    Err(Error::unimplemented("the device crate is being written"))
}

impl Stream {
    /// Launch `groups` workgroups of `kernel`. `constants[i]` is the specialisation constant of id `i`; ids 0 to 2 are the
    /// workgroup size by convention.
    pub fn launch(&self, _kernel: &Kernel, _constants: &[u32], _args: &Args, _groups: [u32; 3]) -> Result<()> {
        todo()
    }
    /// Launch any number of workgroups, folded into x, y, z; the shader computes its linear group id and checks its bound.
    pub fn launch_linear(&self, _kernel: &Kernel, _constants: &[u32], _args: &Args, _groups: u64) -> Result<()> {
        todo()
    }
    /// Fill `bytes` bytes with `pattern`.
    pub fn fill(&self, _dst: DevicePtr, _bytes: u64, _pattern: u8) -> Result<()> {
        todo()
    }
    /// Fill `bytes` bytes with a 32-bit pattern; both `dst` and `bytes` are multiples of 4.
    pub fn fill_u32(&self, _dst: DevicePtr, _bytes: u64, _pattern: u32) -> Result<()> {
        todo()
    }
    /// Copy between device memory of this or of another device.
    pub fn copy(&self, _dst: DevicePtr, _src: DevicePtr, _bytes: u64) -> Result<()> {
        todo()
    }
    /// Copy to the device. `src` may be reused when this returns, unless it is pinned memory (then: after an event).
    pub fn upload(&self, _dst: DevicePtr, _src: &[u8]) -> Result<()> {
        todo()
    }
    /// Copy from the device.
    ///
    /// # Safety
    /// `dst` is valid for writes of `bytes` bytes until an event recorded after this call is complete.
    pub unsafe fn download(&self, _dst: *mut u8, _src: DevicePtr, _bytes: u64) -> Result<()> {
        todo()
    }
    /// Copy a tensor to the host and wait for it.
    pub fn read(&self, _t: &Tensor) -> Result<Vec<u8>> {
        todo()
    }
    /// An event that is complete once all work before it is.
    pub fn record_event(&self) -> Result<Event> {
        todo()
    }
    /// Call `f`, on a thread of the device, once all work before it is complete.
    pub fn on_complete(&self, _f: Box<dyn FnOnce() + Send>) -> Result<()> {
        todo()
    }
    /// Hand all recorded work to the GPU.
    pub fn flush(&self) -> Result<()> {
        todo()
    }
    /// Wait for all recorded work.
    pub fn synchronize(&self) -> Result<()> {
        todo()
    }
    /// The GPU's clock once all work before it is complete.
    pub fn timestamp(&self) -> Result<Timestamp> {
        todo()
    }
}
