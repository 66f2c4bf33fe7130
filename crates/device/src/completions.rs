//! What the host does once the GPU is past a batch: copies out of the staging ring, and callbacks. In stream order.
//!
//! Copies are done by whoever sees the timeline pass first: an event that is polled or waited for, or the device's thread.
//! Callbacks run on the device's thread alone; nothing behind a callback counts as done before it has returned, except to
//! the callback itself, which may wait for copies.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::core::Core;
use crate::{Result, log, memcpy};

/// Host memory to write to; whoever gave it keeps it valid.
pub(crate) struct Target(pub *mut u8);

// SAFETY: `Stream::download` was promised that the memory stays valid until the copy is done, on whatever thread.
unsafe impl Send for Target {}

/// One thing to do.
pub(crate) enum Action {
    /// Copy from a slice of the download ring.
    Copy {
        /// Where to.
        dst: Target,
        /// Where the slice starts in the ring.
        offset: u64,
        /// How much.
        bytes: usize,
        /// The slice, to give back.
        slice: u64,
    },
    /// Call the caller.
    Call(Box<dyn FnOnce() + Send>),
    /// A copy that a callback did not wait for its turn with.
    Done,
}

#[derive(Default)]
struct Queue {
    items: VecDeque<(u64, Action)>,
    /// How many have been put in, and how many are done, ever.
    pushed: u64,
    done: u64,
    calling: bool,
}

/// The queue of a device.
#[derive(Default)]
pub(crate) struct Completions {
    queue: Mutex<Queue>,
    /// Something was put in, or the device's thread is to end.
    pub work: Condvar,
    finished: Condvar,
}

impl Completions {
    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Do `action` once batch `batch` is finished. Call with the recorder locked: the order here is the stream's.
    pub fn push(&self, batch: u64, action: Action) {
        let mut queue = self.lock();
        queue.items.push_back((batch, action));
        queue.pushed += 1;
        self.work.notify_one();
    }

    /// How many have been put in, ever: what an event recorded now has to wait for.
    pub fn pushed(&self) -> u64 {
        self.lock().pushed
    }

    /// Whether the first `count` are done. Those that can be are done now.
    pub fn settled(&self, core: &Core, count: u64) -> bool {
        if self.lock().done >= count {
            return true;
        }
        let completed = core.timeline.seen();
        if core.workers.inside() {
            return self.copies(core, completed, count);
        }
        self.advance(core, completed, false);
        self.lock().done >= count
    }

    /// Do what can be done now, to make room in the download ring.
    pub fn help(&self, core: &Core) {
        self.settled(core, u64::MAX);
    }

    /// Do everything that the GPU is past. Callbacks are run only with `calls`; without, they are where this stops.
    pub fn advance(&self, core: &Core, completed: u64, calls: bool) {
        let mut queue = self.lock();
        while !queue.calling {
            match queue.items.front() {
                Some((batch, Action::Copy { .. })) if *batch <= completed => {}
                Some((batch, Action::Call(_))) if *batch <= completed && calls => {}
                Some((_, Action::Done)) => {}
                _ => return,
            }
            match queue.items.pop_front() {
                Some((_, Action::Copy { dst, offset, bytes, slice })) => {
                    core.downloads.finish(dst, offset, bytes, slice);
                }
                Some((_, Action::Call(call))) => {
                    queue.calling = true;
                    drop(queue);
                    run(call);
                    queue = self.lock();
                    queue.calling = false;
                }
                Some((_, Action::Done)) => {}
                None => return,
            }
            queue.done += 1;
            self.finished.notify_all();
        }
    }

    /// From inside a callback: do every copy among the first `count` that the GPU is past, whatever is before it. Whether
    /// all of them are done.
    pub fn copies(&self, core: &Core, completed: u64, count: u64) -> bool {
        let mut queue = self.lock();
        let first = queue.done + u64::from(queue.calling);
        let before = count.saturating_sub(first).min(queue.items.len() as u64) as usize;
        let mut all = true;
        for (batch, action) in queue.items.iter_mut().take(before) {
            if !matches!(action, Action::Copy { .. }) {
                continue;
            }
            if *batch > completed {
                all = false;
            } else if let Action::Copy { dst, offset, bytes, slice } = std::mem::replace(action, Action::Done) {
                core.downloads.finish(dst, offset, bytes, slice);
            }
        }
        all
    }

    /// The device is lost: the bytes that copies would have brought become ones (NaN, or -1), never what was there before.
    /// To be called before any waiter is told of the loss: until then the targets are valid.
    pub fn spoil(&self, core: &Core) {
        for (_, action) in &mut self.lock().items {
            if matches!(action, Action::Copy { .. }) {
                if let Action::Copy { dst, bytes, slice, .. } = std::mem::replace(action, Action::Done) {
                    // SAFETY: valid for as many bytes (`Stream::download`), as nobody was told yet that the copy is over.
                    unsafe { dst.0.write_bytes(0xff, bytes) };
                    core.downloads.release(slice);
                }
            }
        }
    }

    /// The device is lost: nothing will be copied, but who waits to be called is called.
    pub fn abandon(&self, core: &Core) {
        self.spoil(core);
        let mut queue = self.lock();
        while let Some((_, action)) = queue.items.pop_front() {
            if let Action::Call(call) = action {
                drop(queue);
                run(call);
                queue = self.lock();
            }
            queue.done += 1;
            self.finished.notify_all();
        }
    }

    /// Wait until the first `count` are done; the GPU is past their batches. Inside a callback: until their copies are.
    pub fn wait(&self, core: &Core, count: u64) -> Result<()> {
        while !self.settled(core, count) {
            core.gpu.check()?;
            let queue = self.lock();
            if queue.done < count {
                // The time limit is for a device that is lost meanwhile.
                drop(self.finished.wait_timeout(queue, Duration::from_millis(50)));
            }
        }
        core.gpu.check()
    }

    /// The batch that the oldest waits for, if there is one.
    pub fn oldest(&self) -> Option<u64> {
        self.lock().items.front().map(|(batch, _)| *batch)
    }

    /// Wait until there is something to do, and return its batch; `None` once `ended` says so.
    pub fn next(&self, ended: impl Fn() -> bool) -> Option<u64> {
        let mut queue = self.lock();
        loop {
            if ended() {
                return None;
            }
            if let Some((batch, _)) = queue.items.front() {
                return Some(*batch);
            }
            queue = self.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Wake the device's thread, to look whether it is to end.
    pub fn wake(&self) {
        let _queue = self.lock();
        self.work.notify_all();
    }
}

fn run(call: Box<dyn FnOnce() + Send>) {
    if catch_unwind(AssertUnwindSafe(call)).is_err() {
        log!(Error, "a callback panicked");
    }
}

/// Copy out of mapped memory.
///
/// # Safety
/// As [`memcpy::copy`].
pub(crate) unsafe fn copy_out(dst: Target, src: *const u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { memcpy::copy(dst.0, src, bytes) }
}
