//! Reserved, unmapped address ranges: what a device pointer points into. Any host access to one faults at once.

use crate::{Error, Result};

/// A range of addresses that nothing else of the process gets, and that cannot be read or written.
#[derive(Debug)]
pub(crate) struct Reservation {
    base: usize,
    bytes: usize,
}

impl Reservation {
    /// At least `bytes` bytes and one page after them, so that one past the end belongs to no other range.
    pub fn new(bytes: u64) -> Result<Reservation> {
        const PAGE: u64 = 1 << 16;
        let bytes = bytes.checked_add(2 * PAGE - 1).map(|n| n & !(PAGE - 1)).and_then(|n| usize::try_from(n).ok());
        let reserved = bytes.and_then(|bytes| platform::reserve(bytes).map(|base| Reservation { base, bytes }));
        reserved.ok_or_else(|| Error::resource_exhausted("the process has no address range left for device pointers"))
    }

    /// The first address.
    pub fn base(&self) -> u64 {
        self.base as u64
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        platform::release(self.base, self.bytes);
    }
}

#[cfg(unix)]
mod platform {
    use std::ptr::null_mut;

    pub fn reserve(bytes: usize) -> Option<usize> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the system's choice replaces nothing.
        let base = unsafe { libc::mmap(null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
        (base != libc::MAP_FAILED).then_some(base as usize)
    }

    pub fn release(base: usize, bytes: usize) {
        // SAFETY: exactly a mapping of `reserve`, which nothing can have accessed.
        unsafe { libc::munmap(base as *mut _, bytes) };
    }
}

#[cfg(windows)]
mod platform {
    use std::ffi::c_void;
    use std::ptr::null_mut;

    const MEM_RESERVE: u32 = 0x2000;
    const MEM_RELEASE: u32 = 0x8000;
    const PAGE_NOACCESS: u32 = 1;

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn VirtualAlloc(address: *mut c_void, bytes: usize, kind: u32, protect: u32) -> *mut c_void;
        fn VirtualFree(address: *mut c_void, bytes: usize, kind: u32) -> i32;
    }

    pub fn reserve(bytes: usize) -> Option<usize> {
        // SAFETY: a new range at an address of the system's choice replaces nothing.
        let base = unsafe { VirtualAlloc(null_mut(), bytes, MEM_RESERVE, PAGE_NOACCESS) };
        (!base.is_null()).then_some(base as usize)
    }

    pub fn release(base: usize, _bytes: usize) {
        // SAFETY: exactly a range of `reserve`; it is released whole, so its size must be given as 0.
        unsafe { VirtualFree(base as *mut c_void, 0, MEM_RELEASE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_apart_and_need_no_memory() {
        let a = Reservation::new(1 << 40).unwrap();
        let b = Reservation::new(1).unwrap();
        assert!(b.base() >= a.base() + (1 << 40) || b.base() < a.base());
        assert_eq!(a.base() % 4096, 0);
        assert!(Reservation::new(u64::MAX).is_err());
    }
}
