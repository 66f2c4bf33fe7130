//! The device's clock: how far the GPU has come in the batches, which have one numbering on whichever queue they run.
//!
//! Each queue has a timeline semaphore that its batches set to their numbers. A batch on the transfer queue starts after all
//! batches before it, so when it is finished, so are they; a batch on the main queue may overtake one on the transfer queue.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ash::vk;

use crate::gpu::Gpu;
use crate::{AdapterKind, Result, exit};

/// The timeline.
pub(crate) struct Timeline {
    pub main: vk::Semaphore,
    pub transfer: vk::Semaphore,
    /// All batches up to this one were seen to be finished.
    completed: AtomicU64,
    /// The batches on the transfer queue that were not seen to be finished, in order; and the last of them all.
    apart: Mutex<VecDeque<u64>>,
    last_apart: AtomicU64,
    /// How long a wait looks before it sleeps: waking up costs more than a short batch.
    spin: Duration,
    gpu: Arc<Gpu>,
}

fn semaphore(gpu: &Gpu) -> Result<vk::Semaphore> {
    let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
    let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
    // SAFETY: the device is alive and has timeline semaphores.
    unsafe { gpu.vk.create_semaphore(&info, None) }.map_err(|r| gpu.error(r, "making a semaphore"))
}

impl Timeline {
    pub fn new(gpu: &Arc<Gpu>) -> Result<Timeline> {
        // A software device needs this very core.
        let spin = Duration::from_micros(if gpu.adapter.kind == AdapterKind::Software { 0 } else { 50 });
        Ok(Timeline {
            main: semaphore(gpu)?,
            transfer: if gpu.transfer.is_some() { semaphore(gpu)? } else { vk::Semaphore::null() },
            completed: AtomicU64::new(0),
            apart: Mutex::default(),
            last_apart: AtomicU64::new(0),
            spin,
            gpu: gpu.clone(),
        })
    }

    /// Batch `number` is about to be handed to the transfer queue.
    pub fn apart(&self, number: u64) {
        self.apart.lock().unwrap_or_else(PoisonError::into_inner).push_back(number);
        self.last_apart.store(number, Ordering::SeqCst);
    }

    /// The batch up to which all were seen to be finished; asks nobody.
    pub fn seen(&self) -> u64 {
        self.completed.load(Ordering::Acquire)
    }

    /// The batch up to which all are finished.
    pub fn poll(&self) -> Result<u64> {
        self.gpu.check()?;
        let main = self.value(self.main)?;
        if self.last_apart.load(Ordering::SeqCst) <= self.seen() {
            return Ok(self.completed.fetch_max(main, Ordering::AcqRel).max(main));
        }
        let mut apart = self.apart.lock().unwrap_or_else(PoisonError::into_inner);
        let transfer = self.value(self.transfer)?;
        while apart.front().is_some_and(|&batch| batch <= transfer) {
            apart.pop_front();
        }
        let value = finished(main, transfer, apart.front().copied());
        Ok(self.completed.fetch_max(value, Ordering::AcqRel).max(value))
    }

    fn value(&self, semaphore: vk::Semaphore) -> Result<u64> {
        // SAFETY: the semaphore is alive.
        unsafe { self.gpu.vk.get_semaphore_counter_value(semaphore) }.map_err(|r| self.gpu.error(r, "reading the timeline"))
    }

    /// Whether all batches up to `batch` are finished.
    pub fn reached(&self, batch: u64) -> Result<bool> {
        Ok(self.seen() >= batch || self.poll()? >= batch)
    }

    /// Wait until all batches up to `batch` are finished; it must have been submitted, or be about to be by another thread.
    pub fn wait(&self, batch: u64) -> Result<()> {
        if self.reached(batch)? {
            return Ok(());
        }
        let start = Instant::now();
        while start.elapsed() < self.spin {
            if self.poll()? >= batch {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        while !self.wait_for(batch, Duration::from_millis(200))? {}
        Ok(())
    }

    /// Wait until all batches up to `batch` are finished, but no longer than `limit`; whether they are.
    pub fn wait_for(&self, batch: u64, limit: Duration) -> Result<bool> {
        if self.reached(batch)? {
            return Ok(true);
        }
        let last = self.last_apart(batch);
        // What another thread has just seen to be finished is no longer among those.
        if self.seen() >= batch {
            return Ok(true);
        }
        let (semaphores, values) = match last {
            None => (vec![self.main], vec![batch]),
            Some(last) if last == batch => (vec![self.transfer], vec![batch]),
            Some(last) => (vec![self.main, self.transfer], vec![batch, last]),
        };
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        // SAFETY: the semaphores are alive.
        match unsafe { self.gpu.vk.wait_semaphores(&info, limit.as_nanos() as u64) } {
            Ok(()) => {
                self.completed.fetch_max(batch, Ordering::AcqRel);
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

    /// The last batch on the transfer queue up to `batch`, if it was not seen to be finished.
    fn last_apart(&self, batch: u64) -> Option<u64> {
        if self.last_apart.load(Ordering::SeqCst) <= self.seen() {
            return None;
        }
        self.apart.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().take_while(|&b| b <= batch).last()
    }
}

/// The batch up to which all are finished, given the values of both semaphores, and the first batch of the transfer queue
/// that is not.
fn finished(main: u64, transfer: u64, first_apart: Option<u64>) -> u64 {
    transfer.max(first_apart.map_or(main, |first| main.min(first - 1)))
}

impl Drop for Timeline {
    fn drop(&mut self) {
        if exit::check().is_ok() {
            // SAFETY: the device is idle or lost when its parts are dropped.
            unsafe {
                self.gpu.vk.destroy_semaphore(self.main, None);
                self.gpu.vk.destroy_semaphore(self.transfer, None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_queue_may_be_behind() {
        assert_eq!(finished(7, 0, None), 7);
        // Batch 8 was a copy, and is over.
        assert_eq!(finished(7, 8, None), 8);
        assert_eq!(finished(9, 8, None), 9);
        // Batch 8 is a copy that 9 and 10 have overtaken.
        assert_eq!(finished(10, 5, Some(8)), 7);
        assert_eq!(finished(6, 5, Some(8)), 6);
        // 8 and 9 are copies; 7 on the other queue is not over.
        assert_eq!(finished(6, 0, Some(8)), 6);
    }
}
