//! What an open device consists of. Shared by the device, its events and its threads; taken apart when the last is gone.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::buffer::Home;
use crate::completions::Completions;
use crate::env::Settings;
use crate::garbage::Garbage;
use crate::gpu::Gpu;
use crate::memory::MemoryBook;
use crate::pipeline::Pipelines;
use crate::profile::Profile;
use crate::queries::Queries;
use crate::recorder::Recorder;
use crate::staging::Staging;
use crate::timeline::Timeline;
use crate::workers::Workers;
use crate::{Adapter, Result, exit, ranges};

/// The parts. They are dropped in this order: what the GPU may use goes before what it is used through.
pub(crate) struct Core {
    pub recorder: Mutex<Recorder>,
    pub completions: Completions,
    pub uploads: Staging,
    pub downloads: Staging,
    pub garbage: Garbage,
    pub memory: MemoryBook,
    pub queries: Queries,
    /// Where there are timestamps.
    pub profile: Option<Profile>,
    pub pipelines: Pipelines,
    pub timeline: Timeline,
    /// The last batch that was handed to the queue.
    pub submitted: AtomicU64,
    pub workers: Workers,
    pub gpu: Arc<Gpu>,
}

impl Core {
    pub fn new(adapter: &Adapter) -> Result<Arc<Core>> {
        let gpu = Arc::new(Gpu::new(adapter)?);
        let core = Arc::new(Core {
            recorder: Mutex::new(Recorder::new(&gpu)),
            completions: Completions::default(),
            uploads: Staging::new(&gpu, Home::Upload),
            downloads: Staging::new(&gpu, Home::Download),
            garbage: Garbage::default(),
            memory: MemoryBook::new(&gpu),
            queries: Queries::new(&gpu),
            profile: gpu.adapter.features.timestamps.then_some(Profile::new(Settings::from_env()?.profile)),
            pipelines: Pipelines::new(&gpu)?,
            timeline: Timeline::new(&gpu)?,
            submitted: AtomicU64::new(0),
            workers: Workers::default(),
            gpu,
        });
        exit::watch(&core);
        core.workers.start(&core)?;
        Ok(core)
    }

    /// The recorder, locked; an error if the device can no longer be used.
    #[inline]
    pub fn recorder(&self) -> Result<MutexGuard<'_, Recorder>> {
        self.gpu.check()?;
        let recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        // It may have been lost while this waited for the lock.
        self.gpu.check()?;
        Ok(recorder)
    }

    /// Passes on what a waiter is about to be told. If that is the device's loss, its downloads are over first.
    pub fn told<T>(&self, outcome: Result<T>) -> Result<T> {
        if outcome.is_err() && self.gpu.is_lost() {
            self.completions.spoil(self);
        }
        outcome
    }

    /// Hand all recorded work to the GPU.
    pub fn flush(&self) -> Result<()> {
        self.recorder()?.flush(self)
    }

    /// Hand batch `batch` to the GPU, if it is still open.
    pub fn flush_batch(&self, batch: u64) -> Result<()> {
        if self.submitted.load(Ordering::Acquire) < batch {
            let mut recorder = self.recorder()?;
            if recorder.is_open(batch) {
                recorder.flush(self)?;
            }
        }
        Ok(())
    }

    /// Wait until batch `batch` is finished. Call with nothing locked.
    pub fn wait_batch(&self, batch: u64) -> Result<()> {
        self.flush_batch(batch)?;
        self.timeline.wait(batch)
    }

    /// Wait for everything recorded so far, host copies and callbacks included. On the device's own thread, callbacks are
    /// not waited for: this call is inside one.
    pub fn synchronize(&self) -> Result<()> {
        self.told(self.finish())
    }

    fn finish(&self) -> Result<()> {
        let (batch, count) = {
            let mut recorder = self.recorder()?;
            recorder.flush(self)?;
            (recorder.point(), self.completions.pushed())
        };
        self.timeline.wait(batch)?;
        self.completions.wait(self, count)?;
        self.garbage.collect(batch);
        Ok(())
    }

    /// Finish all work, for a limited time, and end the threads. `exiting`: the process is.
    pub fn close(&self, exiting: bool) {
        if exit::check().is_err() {
            return;
        }
        let limit = if exiting { Duration::from_secs(2) } else { Duration::from_secs(30) };
        let end = Instant::now() + limit;
        let flushed = match self.recorder.try_lock() {
            Ok(mut recorder) => recorder.flush(self).map(|()| recorder.point()),
            Err(_) if exiting => Ok(self.submitted.load(Ordering::Acquire)),
            Err(_) => self.flush().map(|()| self.submitted.load(Ordering::Acquire)),
        };
        if let (Ok(batch), false) = (flushed, self.gpu.is_lost()) {
            while Instant::now() < end && !matches!(self.timeline.wait_for(batch, Duration::from_millis(50)), Ok(true) | Err(_)) {
            }
            if !exiting {
                // The last downloads; callbacks are the thread's, which ends after them.
                self.completions.help(self);
            }
        }
        if let Some(profile) = &self.profile {
            profile.report(self);
        }
        self.workers.stop(self, end);
        self.pipelines.save();
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        ranges::remove_device(self.gpu.id);
        if exit::check().is_ok() {
            // For a lost device too, for which this returns at once: what one call reported lost may still be running.
            // SAFETY: this is the last owner: no other thread uses the queue.
            let _ = unsafe { self.gpu.vk.device_wait_idle() };
        }
    }
}
