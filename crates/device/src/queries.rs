//! Timestamp queries: one pool, whose queries are lent to timestamps one at a time.

use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;

use crate::gpu::Gpu;
use crate::{Error, Result, exit};

/// Queries of one pool, and so timestamps alive at one time.
const QUERIES: u32 = 4096;

#[derive(Default)]
struct State {
    pool: vk::QueryPool,
    free: Vec<u32>,
}

/// The pool; made at its first use.
pub(crate) struct Queries {
    state: Mutex<State>,
    gpu: Arc<Gpu>,
}

impl Queries {
    pub fn new(gpu: &Arc<Gpu>) -> Queries {
        Queries { state: Mutex::default(), gpu: gpu.clone() }
    }

    /// Borrow a query.
    pub fn take(&self) -> Result<(vk::QueryPool, u32)> {
        if !self.gpu.adapter.features.timestamps {
            return Err(Error::unimplemented(format!("'{}' has no timestamps", self.gpu.adapter.name)));
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.pool == vk::QueryPool::null() {
            let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(QUERIES);
            // SAFETY: the device is alive, and its queue has timestamps.
            state.pool =
                unsafe { self.gpu.vk.create_query_pool(&info, None) }.map_err(|r| self.gpu.error(r, "making queries"))?;
            state.free = (0..QUERIES).rev().collect();
        }
        let pool = state.pool;
        let query = state.free.pop();
        let full = || Error::resource_exhausted(format!("{QUERIES} timestamps are alive at once, and there can be no more"));
        query.map(|q| (pool, q)).ok_or_else(full)
    }

    /// Give a query back; the GPU is past writing it.
    pub fn give(&self, query: u32) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).free.push(query);
    }

    /// The nanoseconds of a query that the GPU has written.
    pub fn read(&self, pool: vk::QueryPool, query: u32) -> Result<u64> {
        let mut ticks = [0u64];
        let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
        // SAFETY: the query was written by a batch that is finished.
        unsafe { self.gpu.vk.get_query_pool_results(pool, query, &mut ticks, flags) }
            .map_err(|r| self.gpu.error(r, "reading a timestamp"))?;
        let bits = self.gpu.families.timestamp_bits;
        let valid = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        Ok(((ticks[0] & valid) as f64 * f64::from(self.gpu.adapter.limits.timestamp_period_ns)) as u64)
    }
}

impl Drop for Queries {
    fn drop(&mut self) {
        let pool = self.state.lock().unwrap_or_else(PoisonError::into_inner).pool;
        if exit::check().is_ok() && pool != vk::QueryPool::null() {
            // SAFETY: the device is idle or lost when its parts are dropped.
            unsafe { self.gpu.vk.destroy_query_pool(pool, None) };
        }
    }
}
