//! A staging ring: host memory that the GPU copies from (uploads) or to (downloads), made at its first use.

use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use ash::vk;

use crate::Result;
use crate::buffer::{Buffer, Home};
use crate::completions::{self, Target};
use crate::core::Core;
use crate::gpu::Gpu;
use crate::memcpy;
use crate::ring::{Ring, Slice};

/// One ring.
pub(crate) struct Staging {
    home: Home,
    size: u64,
    buffer: OnceLock<Result<Buffer>>,
    ring: Mutex<Ring>,
    freed: Condvar,
    gpu: Arc<Gpu>,
}

impl Staging {
    /// A ring for copies in one direction.
    pub fn new(gpu: &Arc<Gpu>, home: Home) -> Staging {
        // A device of little memory is one with little to copy.
        let size = if gpu.adapter.limits.device_memory >= 6 << 30 { 64 << 20 } else { 16 << 20 };
        Staging {
            home,
            size,
            buffer: OnceLock::new(),
            ring: Mutex::new(Ring::new(size)),
            freed: Condvar::new(),
            gpu: gpu.clone(),
        }
    }

    /// The most bytes of one slice: several must fit, so that the host fills one while the GPU empties another.
    pub fn chunk(&self) -> usize {
        (self.size / 8) as usize
    }

    fn buffer(&self) -> Result<&Buffer> {
        self.buffer.get_or_init(|| Buffer::new(&self.gpu, self.size, self.home)).as_ref().map_err(Clone::clone)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Take a slice of at most [`Staging::chunk`] bytes; waits while the ring is full. Call with nothing locked.
    pub fn take(&self, core: &Core, bytes: u64) -> Result<(Slice, vk::Buffer)> {
        let handle = self.buffer()?.handle;
        loop {
            self.gpu.check()?;
            let oldest = {
                let mut ring = self.lock();
                ring.reclaim(core.timeline.seen());
                if let Some(slice) = ring.take(bytes) {
                    return Ok((slice, handle));
                }
                ring.oldest()
            };
            match oldest.or_else(|| core.completions.oldest().filter(|_| self.home == Home::Download)) {
                Some(batch) => {
                    core.wait_batch(batch)?;
                    core.completions.help(core);
                    if self.home == Home::Upload {
                        continue;
                    }
                }
                None => core.timeline.poll().map(drop)?,
            }
            // Held by another thread, which is copying, or behind a callback: wait for either to go on.
            let mut ring = self.lock();
            ring.reclaim(core.timeline.seen());
            match ring.take(bytes) {
                Some(slice) => return Ok((slice, handle)),
                None => drop(self.freed.wait_timeout(ring, Duration::from_millis(1))),
            }
        }
    }

    /// Copy `src` into a slice.
    pub fn fill(&self, slice: Slice, src: &[u8]) -> Result<()> {
        let buffer = self.buffer()?;
        // SAFETY: the slice is inside the mapping, this thread's until it says otherwise, and no `&[u8]` points there.
        unsafe { memcpy::copy(buffer.mapped.add(slice.offset as usize), src.as_ptr(), src.len()) };
        Ok(())
    }

    /// The GPU uses the slice up to this batch.
    pub fn until(&self, slice: Slice, batch: u64) {
        self.lock().until(slice.id, batch);
    }

    /// Nobody uses the slice.
    pub fn release(&self, id: u64) {
        let mut ring = self.lock();
        ring.release(id);
        ring.reclaim(0);
        self.freed.notify_all();
    }

    /// Copy a finished download to where it was to go, and give back its slice.
    pub fn finish(&self, dst: Target, offset: u64, bytes: usize, slice: u64) {
        if let Ok(buffer) = self.buffer() {
            // SAFETY: the slice is inside the mapping and the GPU is past writing it; the target is valid for as many bytes
            // (`Stream::download`).
            unsafe { completions::copy_out(dst, buffer.mapped.add(offset as usize), bytes) };
        }
        self.release(slice);
    }
}
