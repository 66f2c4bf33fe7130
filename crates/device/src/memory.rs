//! Device memory and pinned host memory: allocation, deferred freeing, and the figures.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::buffer::{self, Buffer, Home};
use crate::core::Core;
use crate::garbage::Waste;
use crate::gpu::Gpu;
use crate::ranges::{self, Place, PlaceKind};
use crate::reserve::Reservation;
use crate::{Code, DevicePtr, Error, Result, log};

/// One allocation: the buffer, and the reserved range where it is device memory.
pub(crate) struct Allocation {
    buffer: Buffer,
    _reservation: Option<Reservation>,
    /// What it counts for in the figures, taken back when it is freed.
    counted: Option<Arc<AtomicU64>>,
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if let Some(used) = &self.counted {
            used.fetch_sub(self.buffer.footprint, Ordering::Relaxed);
        }
    }
}

/// All allocations of a device.
pub(crate) struct MemoryBook {
    live: Mutex<HashMap<u64, Allocation>>,
    used: Arc<AtomicU64>,
    heap: usize,
    gpu: Arc<Gpu>,
}

impl MemoryBook {
    pub fn new(gpu: &Arc<Gpu>) -> MemoryBook {
        let heap = buffer::device_heap(&gpu.memory);
        MemoryBook { live: Mutex::default(), used: Arc::default(), heap, gpu: gpu.clone() }
    }

    /// Bytes that are allocated.
    pub fn allocated(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Free and total bytes of the heap that device memory comes from.
    pub fn usage(&self) -> (u64, u64) {
        let total = self.gpu.memory.memory_heaps[self.heap].size;
        let used = self.allocated();
        match self.gpu.heap_budgets().and_then(|b| b.get(self.heap).copied()) {
            // Some drivers count an allocation only once it is touched.
            Some((budget, usage)) => (budget.min(total).saturating_sub(usage.max(used)), total),
            None => (total.saturating_sub(used), total),
        }
    }

    fn insert(&self, base: u64, allocation: Allocation) {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).insert(base, allocation);
    }

    fn take(&self, base: u64) -> Option<Allocation> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).remove(&base)
    }
}

impl Core {
    /// Device memory; see `Device::allocate`.
    pub fn allocate(&self, bytes: u64) -> Result<DevicePtr> {
        self.gpu.check()?;
        let (name, limit) = (&self.gpu.adapter.name, self.gpu.adapter.limits.max_allocation);
        let size = bytes.max(1).checked_next_multiple_of(256).unwrap_or(u64::MAX);
        if size > limit {
            let what = format!("cannot allocate {bytes} bytes on '{name}': one allocation may have {limit} bytes at most");
            return Err(Error::resource_exhausted(what));
        }
        self.garbage.collect(self.timeline.seen());
        match self.try_allocate(size) {
            Err(error) if error.code == Code::ResourceExhausted && !self.garbage.is_empty() => {
                // Memory that only waits for the GPU is as good as free.
                log!(Debug, "out of memory for {bytes} bytes: waiting for the GPU");
                let batch = self.recorder()?.point();
                self.wait_batch(batch)?;
                self.garbage.collect(self.timeline.seen());
                self.try_allocate(size)
            }
            other => other,
        }
        .map_err(|e| e.context(format!("cannot allocate {bytes} bytes on '{name}'")))
    }

    fn try_allocate(&self, size: u64) -> Result<DevicePtr> {
        let (free, total) = self.memory.usage();
        if size > free {
            return Err(Error::resource_exhausted(format!("{free} of {total} bytes are free")));
        }
        let reservation = Reservation::new(size)?;
        let buffer = Buffer::new(&self.gpu, size, Home::Device).map_err(|e| match e.code {
            Code::ResourceExhausted => e.context(format!("{free} of {total} bytes should be free")),
            _ => e,
        })?;
        let base = reservation.base();
        let place = Place {
            base,
            bytes: size,
            buffer: buffer.handle,
            address: buffer.address,
            device: self.gpu.id,
            kind: PlaceKind::Device,
        };
        self.memory.used.fetch_add(buffer.footprint, Ordering::Relaxed);
        let counted = Some(self.memory.used.clone());
        self.memory.insert(base, Allocation { buffer, _reservation: Some(reservation), counted });
        ranges::insert(place);
        Ok(DevicePtr(base))
    }

    /// Pinned host memory; see `Device::allocate_pinned`.
    pub fn allocate_pinned(&self, bytes: u64) -> Result<*mut u8> {
        self.gpu.check()?;
        let size = bytes.max(1).checked_next_multiple_of(256).unwrap_or(u64::MAX);
        if size > self.gpu.adapter.limits.max_allocation {
            return Err(Error::resource_exhausted(format!("cannot allocate {bytes} bytes of pinned host memory")));
        }
        let buffer = Buffer::new(&self.gpu, size, Home::Download).map_err(|e| e.context("pinned host memory"))?;
        let (mapped, base) = (buffer.mapped, buffer.mapped as u64);
        let (device, kind) = (self.gpu.id, PlaceKind::Pinned);
        let place = Place { base, bytes: size, buffer: buffer.handle, address: 0, device, kind };
        self.memory.insert(base, Allocation { buffer, _reservation: None, counted: None });
        ranges::insert(place);
        Ok(mapped)
    }

    /// Free an allocation once the GPU is past all work recorded so far.
    pub fn free(&self, base: u64, kind: PlaceKind) -> Result<()> {
        self.gpu.check()?;
        let what = if kind == PlaceKind::Device { "device" } else { "pinned" };
        let missing = || Error::invalid_argument(format!("{base:#x} is not the start of a {what} allocation of this device"));
        ranges::remove(base, self.gpu.id, kind).ok_or_else(missing)?;
        let allocation = self.memory.take(base).ok_or_else(missing)?;
        let batch = self.recorder()?.point();
        if self.timeline.seen() < batch {
            self.garbage.add(batch, Waste::Allocation(allocation));
        }
        Ok(())
    }
}
