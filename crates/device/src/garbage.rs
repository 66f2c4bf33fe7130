//! What is to be freed once the GPU is past the work that uses it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::memory::Allocation;
use crate::pipeline::Pipeline;

/// Something to free.
pub(crate) enum Waste {
    /// Memory; kept only to be dropped.
    Allocation(#[allow(dead_code)] Allocation),
    /// A pipeline that made room for others.
    Pipeline(Arc<Pipeline>),
}

/// The heap of it.
#[derive(Default)]
pub(crate) struct Garbage {
    heap: Mutex<VecDeque<(u64, Waste)>>,
    /// How much there is, to be asked without the lock.
    count: AtomicU64,
}

impl Garbage {
    /// Free `waste` once batch `batch` is finished.
    pub fn add(&self, batch: u64, waste: Waste) {
        let mut heap = self.heap.lock().unwrap_or_else(PoisonError::into_inner);
        heap.push_back((batch, waste));
        self.count.store(heap.len() as u64, Ordering::Relaxed);
    }

    /// Free what batches up to `completed` used.
    pub fn collect(&self, completed: u64) {
        if self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut heap = self.heap.lock().unwrap_or_else(PoisonError::into_inner);
        let mut freed = Vec::new();
        for _ in 0..heap.len() {
            let Some((batch, waste)) = heap.pop_front() else { break };
            let free = match &waste {
                Waste::Allocation(_) => batch <= completed,
                // Another thread may be about to launch it once more.
                Waste::Pipeline(p) => Arc::strong_count(p) == 1 && p.last_batch.load(Ordering::Acquire) <= completed,
            };
            match free {
                true => freed.push(waste),
                false => heap.push_back((batch, waste)),
            }
        }
        self.count.store(heap.len() as u64, Ordering::Relaxed);
        // Freeing memory takes the driver a while: not under the lock.
        drop(heap);
        drop(freed);
    }

    /// Whether anything waits to be freed.
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }
}
