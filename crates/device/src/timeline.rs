//! The device's clock: a timeline semaphore whose value is the number of the last batch that the GPU has finished.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ash::vk;

use crate::gpu::Gpu;
use crate::{AdapterKind, Result, exit};

/// The timeline.
pub(crate) struct Timeline {
    pub semaphore: vk::Semaphore,
    completed: AtomicU64,
    /// How long a wait looks before it sleeps: waking up costs more than a short batch.
    spin: Duration,
    gpu: Arc<Gpu>,
}

impl Timeline {
    pub fn new(gpu: &Arc<Gpu>) -> Result<Timeline> {
        let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: the device is alive and has timeline semaphores.
        let semaphore = unsafe { gpu.vk.create_semaphore(&info, None) }.map_err(|r| gpu.error(r, "making a semaphore"))?;
        // A software device needs this very core.
        let spin = Duration::from_micros(if gpu.adapter.kind == AdapterKind::Software { 0 } else { 50 });
        Ok(Timeline { semaphore, completed: AtomicU64::new(0), spin, gpu: gpu.clone() })
    }

    /// The last finished batch that was seen; asks nobody.
    pub fn seen(&self) -> u64 {
        self.completed.load(Ordering::Acquire)
    }

    /// The last finished batch.
    pub fn poll(&self) -> Result<u64> {
        self.gpu.check()?;
        // SAFETY: the semaphore is alive.
        let value = unsafe { self.gpu.vk.get_semaphore_counter_value(self.semaphore) }
            .map_err(|r| self.gpu.error(r, "reading the timeline"))?;
        Ok(self.completed.fetch_max(value, Ordering::AcqRel).max(value))
    }

    /// Whether batch `value` is finished.
    pub fn reached(&self, value: u64) -> Result<bool> {
        Ok(self.seen() >= value || self.poll()? >= value)
    }

    /// Wait until batch `value` is finished; it must have been submitted, or be about to be by another thread.
    pub fn wait(&self, value: u64) -> Result<()> {
        if self.reached(value)? {
            return Ok(());
        }
        let start = Instant::now();
        while start.elapsed() < self.spin {
            if self.poll()? >= value {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        while !self.wait_for(value, Duration::from_millis(200))? {}
        Ok(())
    }

    /// Wait until batch `value` is finished, but no longer than `limit`; whether it is.
    pub fn wait_for(&self, value: u64, limit: Duration) -> Result<bool> {
        if self.reached(value)? {
            return Ok(true);
        }
        let (semaphores, values) = ([self.semaphore], [value]);
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        // SAFETY: the semaphore is alive.
        match unsafe { self.gpu.vk.wait_semaphores(&info, limit.as_nanos() as u64) } {
            Ok(()) => {
                self.completed.fetch_max(value, Ordering::AcqRel);
                // Some drivers report success for a lost device.
                self.gpu.check()?;
                Ok(true)
            }
            Err(vk::Result::TIMEOUT) => {
                self.gpu.check()?;
                Ok(false)
            }
            Err(result) => Err(self.gpu.error(result, "waiting for the GPU")),
        }
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        if exit::check().is_ok() {
            // SAFETY: the device is idle or lost when its parts are dropped.
            unsafe { self.gpu.vk.destroy_semaphore(self.semaphore, None) };
        }
    }
}
