//! The map from an address to the memory behind it, for every device of the process.
//!
//! Every argument of every launch passes here, so a thread remembers its last two hits and takes no lock for them. A change
//! of the map bumps a generation, which makes all remembered hits stale. Knows no device beyond its number.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use ash::vk;

use crate::{DevicePtr, Error, Result};

/// What an address range is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceKind {
    /// Device memory behind a reserved range.
    Device,
    /// Host memory that the device reads and writes directly.
    Pinned,
}

/// One allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The first address.
    pub base: u64,
    /// Bytes that the caller asked for.
    pub bytes: u64,
    /// The buffer that covers it from offset 0.
    pub buffer: vk::Buffer,
    /// The buffer's address on the device; 0 for pinned memory.
    pub address: u64,
    /// The number of the device that owns it.
    pub device: u64,
    /// Device or pinned memory.
    pub kind: PlaceKind,
}

impl Place {
    fn holds(&self, address: u64) -> bool {
        address.wrapping_sub(self.base) < self.bytes
    }

    /// One past the end belongs to the allocation too, unless another begins there: an empty tensor may point there.
    fn ends_at(&self, address: u64) -> bool {
        address.wrapping_sub(self.base) == self.bytes
    }

    /// The device address of `ptr`, which lies in this allocation.
    pub fn device_address(&self, ptr: u64) -> u64 {
        self.address + (ptr - self.base)
    }
}

const NOWHERE: Place = Place { base: 1, bytes: 0, buffer: vk::Buffer::null(), address: 0, device: 0, kind: PlaceKind::Device };

static MAP: RwLock<BTreeMap<u64, Place>> = RwLock::new(BTreeMap::new());
static GENERATION: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static LAST: Cell<(u64, [Place; 2])> = const { Cell::new((0, [NOWHERE; 2])) };
}

/// Add an allocation; its range overlaps no other.
pub(crate) fn insert(place: Place) {
    let mut map = MAP.write().unwrap_or_else(PoisonError::into_inner);
    map.insert(place.base, place);
    GENERATION.fetch_add(1, Ordering::Release);
}

/// Take out the allocation that starts at `base`, if `device` owns one there.
pub(crate) fn remove(base: u64, device: u64, kind: PlaceKind) -> Option<Place> {
    let mut map = MAP.write().unwrap_or_else(PoisonError::into_inner);
    let place = *map.get(&base)?;
    if place.device != device || place.kind != kind {
        return None;
    }
    map.remove(&base);
    GENERATION.fetch_add(1, Ordering::Release);
    Some(place)
}

/// Take out every allocation of a device.
pub(crate) fn remove_device(device: u64) {
    let mut map = MAP.write().unwrap_or_else(PoisonError::into_inner);
    map.retain(|_, place| place.device != device);
    GENERATION.fetch_add(1, Ordering::Release);
}

/// The allocation that `address` lies in.
pub(crate) fn find(address: u64) -> Option<Place> {
    // Read before the look-up: a change in between then makes what is remembered stale.
    let generation = GENERATION.load(Ordering::Acquire);
    let (seen, last) = LAST.get();
    if seen == generation {
        if last[0].holds(address) {
            return Some(last[0]);
        }
        if last[1].holds(address) {
            LAST.set((generation, [last[1], last[0]]));
            return Some(last[1]);
        }
    }
    let place = {
        let map = MAP.read().unwrap_or_else(PoisonError::into_inner);
        *map.range(..=address).next_back()?.1
    };
    if !place.holds(address) {
        return place.ends_at(address).then_some(place);
    }
    let second = if seen == generation { last[0] } else { NOWHERE };
    LAST.set((generation, [place, second]));
    Some(place)
}

/// The device allocation that holds all of `bytes` bytes from `ptr` on.
pub(crate) fn device_range(ptr: DevicePtr, bytes: u64) -> Result<Place> {
    match find(ptr.0) {
        Some(place) if place.kind == PlaceKind::Device => {
            let left = place.bytes - (ptr.0 - place.base);
            if bytes <= left {
                return Ok(place);
            }
            Err(Error::invalid_argument(format!(
                "{bytes} bytes at {:#x} do not fit the allocation of {} bytes at {:#x}: {left} are left",
                ptr.0, place.bytes, place.base
            )))
        }
        _ => Err(Error::invalid_argument(format!("{:#x} is not an address of device memory", ptr.0))),
    }
}

/// The pinned allocation of `device` that holds all of `bytes` bytes from `ptr` on, if there is one.
pub(crate) fn pinned_range(ptr: *const u8, bytes: u64, device: u64) -> Option<Place> {
    let address = ptr as u64;
    let place = find(address)?;
    let fits = place.kind == PlaceKind::Pinned && place.device == device && bytes <= place.bytes - (address - place.base);
    fits.then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(base: u64, bytes: u64, device: u64) -> Place {
        Place { base, bytes, device, address: base * 2, ..NOWHERE }
    }

    #[test]
    fn finds_inside_at_the_end_and_not_after_removal() {
        // A device number that no opened device has, and addresses that no mapping has.
        let device = u64::MAX;
        let base = 0x10;
        insert(place(base, 0x100, device));
        insert(place(0x200, 0x10, device));
        for _ in 0..3 {
            assert_eq!(find(0x80).map(|p| (p.base, p.device_address(0x80))), Some((base, 0x90)));
            assert_eq!(find(0x110).map(|p| p.base), Some(base), "one past the end");
            assert!(find(0x111).is_none());
            assert_eq!(find(0x205).map(|p| p.base), Some(0x200));
        }
        // The next allocation may begin where this one ends, whatever was looked up before.
        insert(place(0x110, 0x40, device));
        assert_eq!(find(0x80).map(|p| p.base), Some(base));
        assert_eq!(find(0x110).map(|p| p.base), Some(0x110));
        assert!(remove(0x110, device, PlaceKind::Device).is_some());
        assert!(device_range(DevicePtr(0x108), 8).is_ok());
        assert!(device_range(DevicePtr(0x109), 8).is_err());
        assert!(remove(base, device - 1, PlaceKind::Device).is_none(), "another device's");
        assert!(remove(base, device, PlaceKind::Device).is_some());
        assert!(find(0x80).is_none());
        remove_device(device);
        assert!(find(0x205).is_none());
    }
}
