//! Points in a stream: events that can be polled and waited for, and readings of the GPU's clock.

use std::sync::Arc;

use ash::vk;

use crate::Result;
use crate::core::Core;

/// A point in a stream: complete once everything recorded before it is, copies to the host and callbacks included.
#[derive(Clone)]
pub struct Event {
    core: Arc<Core>,
    batch: u64,
    completions: u64,
}

impl Event {
    pub(crate) fn new(core: Arc<Core>, batch: u64, completions: u64) -> Event {
        Event { core, batch, completions }
    }

    /// Whether everything before the event is complete; never waits. Work that the GPU does not have yet is handed over.
    /// Errors: the device is lost.
    pub fn is_complete(&self) -> Result<bool> {
        self.core.told(self.poll())
    }

    fn poll(&self) -> Result<bool> {
        self.core.gpu.check()?;
        if self.core.timeline.seen() < self.batch {
            self.core.flush_batch(self.batch)?;
            if !self.core.timeline.reached(self.batch)? {
                return Ok(false);
            }
        }
        Ok(self.core.completions.settled(&self.core, self.completions))
    }

    /// Wait until everything before the event is complete. Errors: the device is lost.
    ///
    /// Inside a callback, other callbacks are not waited for.
    pub fn wait(&self) -> Result<()> {
        let waited = self.core.gpu.check().and_then(|()| self.core.wait_batch(self.batch));
        self.core.told(waited.and_then(|()| self.core.completions.wait(&self.core, self.completions)))
    }
}

/// The GPU's clock at a point in a stream.
pub struct Timestamp {
    core: Arc<Core>,
    pool: vk::QueryPool,
    query: u32,
    batch: u64,
}

impl Timestamp {
    pub(crate) fn new(core: Arc<Core>, pool: vk::QueryPool, query: u32, batch: u64) -> Timestamp {
        Timestamp { core, pool, query, batch }
    }

    /// Wait for the point; nanoseconds since an arbitrary start. Errors: the device is lost.
    pub fn wait(&self) -> Result<u64> {
        self.core.wait_batch(self.batch)?;
        self.core.queries.read(self.pool, self.query)
    }
}

impl Drop for Timestamp {
    fn drop(&mut self) {
        // A query that was never waited for may still be written to: the next user of it is recorded after that.
        self.core.queries.give(self.query);
    }
}
