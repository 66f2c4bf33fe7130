//! The arguments of a launch: push-constant bytes in scalar layout, and which memory they let the kernel touch.
//!
//! Device pointers are turned into device addresses here, so that recording a launch looks nothing up. Knows no kernel.

use smallvec::SmallVec;

use crate::ranges;
use crate::{DevicePtr, Result, Tensor};

/// A range of addresses that a launch or copy reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// The first address.
    pub start: u64,
    /// One past the last.
    pub end: u64,
    /// Whether it is written (too).
    pub write: bool,
}

/// The arguments of one launch, in the order of the shader's push-constant block.
///
/// Addresses and 64-bit values are aligned to 8 bytes, 32-bit values to 4 (the shader's block says `scalar`). Up to 128
/// bytes travel as push constants. A larger block is copied to a ring of host-visible memory and the kernel gets its
/// 8-byte device address instead; the shader must be written for that.
#[derive(Clone, Debug, Default)]
pub struct Args {
    pub(crate) data: SmallVec<[u8; 128]>,
    pub(crate) accesses: SmallVec<[Access; 8]>,
    /// The number of the device that the addresses belong to; 0 while there is none.
    pub(crate) device: u64,
    /// Addresses of more than one device were given.
    pub(crate) mixed: bool,
    /// Work beyond moving what is accessed, in bytes.
    pub(crate) work: u64,
}

impl Args {
    /// No arguments yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forget all arguments; what was allocated stays for the next use.
    pub fn clear(&mut self) {
        self.data.clear();
        self.accesses.clear();
        self.device = 0;
        self.mixed = false;
        self.work = 0;
    }

    /// Say what the launch computes, in floating-point operations, where that is more than moving its arguments: a batch
    /// of commands is handed over by the work in it. Sixteen operations count as much as a byte, which is what GPUs of all
    /// sizes do in the time of moving one.
    pub fn work(&mut self, operations: u64) -> &mut Self {
        self.work = self.work.saturating_add(operations / 16);
        self
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether there are no arguments.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The address of a tensor that the kernel reads. Errors: the tensor is in host memory; not an address of ours.
    pub fn read(&mut self, t: &Tensor) -> Result<&mut Self> {
        self.pointer(t.device_ptr()?, t.bytes(), false)
    }

    /// The address of a tensor that the kernel writes. Errors as [`Args::read`].
    pub fn write(&mut self, t: &Tensor) -> Result<&mut Self> {
        self.pointer(t.device_ptr()?, t.bytes(), true)
    }

    /// The address of a tensor that the kernel reads and writes. Errors as [`Args::read`].
    pub fn read_write(&mut self, t: &Tensor) -> Result<&mut Self> {
        self.pointer(t.device_ptr()?, t.bytes(), true)
    }

    /// The address of `bytes` bytes that the kernel reads. Errors: not inside one allocation of device memory.
    pub fn read_ptr(&mut self, ptr: DevicePtr, bytes: u64) -> Result<&mut Self> {
        self.pointer(ptr, bytes, false)
    }

    /// The address of `bytes` bytes that the kernel writes. Errors as [`Args::read_ptr`].
    pub fn write_ptr(&mut self, ptr: DevicePtr, bytes: u64) -> Result<&mut Self> {
        self.pointer(ptr, bytes, true)
    }

    /// The address of `bytes` bytes that the kernel reads and writes. Errors as [`Args::read_ptr`].
    pub fn read_write_ptr(&mut self, ptr: DevicePtr, bytes: u64) -> Result<&mut Self> {
        self.pointer(ptr, bytes, true)
    }

    /// A zero address, for an optional operand that is absent.
    pub fn null(&mut self) -> &mut Self {
        self.u64(0)
    }

    /// A 32-bit unsigned value.
    pub fn u32(&mut self, v: u32) -> &mut Self {
        self.put(4, &v.to_ne_bytes())
    }

    /// A 32-bit signed value.
    pub fn i32(&mut self, v: i32) -> &mut Self {
        self.put(4, &v.to_ne_bytes())
    }

    /// A 32-bit float.
    pub fn f32(&mut self, v: f32) -> &mut Self {
        self.put(4, &v.to_ne_bytes())
    }

    /// A 64-bit unsigned value.
    pub fn u64(&mut self, v: u64) -> &mut Self {
        self.put(8, &v.to_ne_bytes())
    }

    /// A 64-bit signed value.
    pub fn i64(&mut self, v: i64) -> &mut Self {
        self.put(8, &v.to_ne_bytes())
    }

    /// A 64-bit float.
    pub fn f64(&mut self, v: f64) -> &mut Self {
        self.put(8, &v.to_ne_bytes())
    }

    /// Bytes as they are, aligned to nothing.
    pub fn bytes(&mut self, v: &[u8]) -> &mut Self {
        self.put(1, v)
    }

    #[inline]
    fn put(&mut self, align: usize, v: &[u8]) -> &mut Self {
        let start = self.data.len().next_multiple_of(align);
        self.data.resize(start + v.len(), 0);
        self.data[start..].copy_from_slice(v);
        self
    }

    fn pointer(&mut self, ptr: DevicePtr, bytes: u64, write: bool) -> Result<&mut Self> {
        if bytes == 0 {
            // An empty tensor may point anywhere; the kernel must not follow it.
            return Ok(self.null());
        }
        let place = ranges::device_range(ptr, bytes)?;
        self.mixed |= self.device != 0 && self.device != place.device;
        self.device = place.device;
        self.accesses.push(Access { start: ptr.0, end: ptr.0 + bytes, write });
        Ok(self.u64(place.device_address(ptr.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalar_layout() {
        let mut a = Args::new();
        a.u32(1).u64(2).f32(0.0).bytes(&[7]).u32(3);
        assert_eq!(a.len(), 28);
        assert_eq!(&a.data[..16], [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(&a.data[20..], [7, 0, 0, 0, 3, 0, 0, 0]);
    }

    #[test]
    fn empty_and_foreign_pointers() {
        let mut a = Args::new();
        assert!(a.read_ptr(DevicePtr(0xdead), 0).is_ok());
        assert!(a.accesses.is_empty());
        assert!(a.read_ptr(DevicePtr(0xdead), 4).is_err());
    }
}
