//! Copies between host and device memory, whatever TensorFlow calls them.
//!
//! TensorFlow may pass a device address as the host side of a copy (tensorflow#57095, #64372), so the direction is decided
//! here, by what the addresses are.

use std::sync::Arc;

use tfvk_device::{Device, DevicePtr, Error, Result, is_device_address, owner_of};

/// Copies `bytes` bytes from `src` to `dst` in stream order.
///
/// # Safety
/// Each address is a device address or host memory, valid for `bytes` bytes until the copy is complete: until an event
/// recorded after this call is.
pub unsafe fn copy(device: &Device, dst: *mut u8, src: *const u8, bytes: u64) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let stream = device.stream();
    match (is_device_address(dst as u64), is_device_address(src as u64)) {
        (true, true) => between(DevicePtr(dst as u64), DevicePtr(src as u64), bytes),
        // SAFETY: the caller's promise about `src`.
        (true, false) => stream.upload(DevicePtr(dst as u64), unsafe { std::slice::from_raw_parts(src, bytes as usize) }),
        // SAFETY: the caller's promise about `dst`.
        (false, true) => unsafe { stream.download(dst, DevicePtr(src as u64), bytes) },
        (false, false) => {
            // The device may still be writing the source.
            stream.synchronize()?;
            // SAFETY: the caller's promise; both are host memory.
            unsafe { std::ptr::copy(src, dst, bytes as usize) };
            Ok(())
        }
    }
}

/// Copies between device memories, of one device or, through the host, of two.
fn between(dst: DevicePtr, src: DevicePtr, bytes: u64) -> Result<()> {
    let owner = |p: DevicePtr| owner_of(p.0).ok_or_else(|| Error::internal(format!("{:#x}: its device is closed", p.0)));
    let (to, from) = (owner(dst)?, owner(src)?);
    if Arc::ptr_eq(&to, &from) {
        return tfvk_ops::copy::copy_bytes(&to, to.stream(), dst, src, bytes);
    }
    let mut host = vec![0u8; bytes as usize];
    // SAFETY: `host` has this many bytes and outlives the wait.
    unsafe { from.stream().download(host.as_mut_ptr(), src, bytes)? };
    from.stream().record_event()?.wait()?;
    to.stream().upload(dst, &host)
}
