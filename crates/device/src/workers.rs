//! A device's two threads. One hands over batches that nobody asks for, and writes the pipeline cache when there is time;
//! the other waits for the GPU where a download or a callback depends on it.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, Thread, ThreadId};
use std::time::{Duration, Instant};

use crate::core::Core;
use crate::{Error, Result, log};

/// How often the open batch is looked at. It is handed over when nothing was added to it for as long.
const TICK: Duration = Duration::from_micros(200);
/// Looks after which a batch is handed over even if it still grows.
const OLD: u32 = 5;
/// Looks at nothing after which the thread sleeps.
const IDLE: u32 = 50;
/// How long the GPU must have been left alone before the pipeline cache is written.
const QUIET: Duration = Duration::from_secs(2);

/// The threads, and what the recorder tells them.
#[derive(Default)]
pub(crate) struct Workers {
    /// The open batch, or 0; and its commands.
    open: AtomicU64,
    count: AtomicU32,
    /// The flusher sleeps until it is woken.
    asleep: AtomicBool,
    stop: AtomicBool,
    ended: AtomicU32,
    flusher: Mutex<Option<JoinHandle<()>>>,
    completer: Mutex<Option<JoinHandle<()>>>,
    wake: std::sync::OnceLock<Thread>,
    completer_id: std::sync::OnceLock<ThreadId>,
}

impl Workers {
    /// Start both.
    pub fn start(&self, core: &Arc<Core>) -> Result<()> {
        let spawn = |name: &str, body: fn(&Core)| {
            let core = core.clone();
            let run = move || {
                body(&core);
                core.workers.ended.fetch_add(1, Ordering::AcqRel);
            };
            let what = |e| Error::resource_exhausted(format!("cannot start a thread: {e}"));
            thread::Builder::new().name(name.into()).spawn(run).map_err(what)
        };
        let flusher = spawn("tfvk-flush", flush)?;
        let _ = self.wake.set(flusher.thread().clone());
        *self.flusher.lock().unwrap_or_else(PoisonError::into_inner) = Some(flusher);
        let completer = spawn("tfvk-complete", complete).inspect_err(|_| self.stop(core, Instant::now() + TICK))?;
        let _ = self.completer_id.set(completer.thread().id());
        *self.completer.lock().unwrap_or_else(PoisonError::into_inner) = Some(completer);
        Ok(())
    }

    /// A batch was opened.
    pub fn opened(&self, number: u64) {
        self.count.store(0, Ordering::Relaxed);
        self.open.store(number, Ordering::SeqCst);
        if self.asleep.swap(false, Ordering::SeqCst) {
            if let Some(thread) = self.wake.get() {
                thread.unpark();
            }
        }
    }

    /// The open batch has so many commands.
    #[inline]
    pub fn recorded(&self, count: u32) {
        self.count.store(count, Ordering::Relaxed);
    }

    /// The open batch was handed over.
    pub fn closed(&self) {
        self.open.store(0, Ordering::Release);
    }

    /// Whether the calling thread is the one that runs callbacks.
    pub fn inside(&self) -> bool {
        self.completer_id.get() == Some(&thread::current().id())
    }

    /// End both threads; wait for them until `end`, unless this is one of them.
    pub fn stop(&self, core: &Core, end: Instant) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.wake.get() {
            thread.unpark();
        }
        core.completions.wake();
        for handle in [&self.flusher, &self.completer] {
            let handle = handle.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(handle) = handle.filter(|h| h.thread().id() != thread::current().id()) else { continue };
            while !handle.is_finished() && Instant::now() < end {
                thread::sleep(Duration::from_micros(100));
            }
            if handle.is_finished() {
                let _ = handle.join();
            } else {
                log!(Info, "a thread of '{}' did not end in time", core.gpu.adapter.name);
            }
        }
    }
}

/// The flusher.
fn flush(core: &Core) {
    let w = &core.workers;
    let (mut last, mut looks, mut idle) = ((0, 0), 0, 0);
    while !w.stop.load(Ordering::SeqCst) {
        let now = (w.open.load(Ordering::SeqCst), w.count.load(Ordering::Relaxed));
        if now.0 == 0 {
            idle += 1;
            if idle < IDLE {
                thread::park_timeout(TICK);
                continue;
            }
            w.asleep.store(true, Ordering::SeqCst);
            if w.open.load(Ordering::SeqCst) == 0 && !w.stop.load(Ordering::SeqCst) {
                if core.pipelines.unsaved() || !core.garbage.is_empty() {
                    thread::park_timeout(QUIET);
                    if w.asleep.load(Ordering::SeqCst) {
                        core.pipelines.save();
                        if let Ok(completed) = core.timeline.poll() {
                            core.garbage.collect(completed);
                        }
                    }
                } else {
                    thread::park();
                }
            }
            w.asleep.store(false, Ordering::SeqCst);
            idle = 0;
            continue;
        }
        idle = 0;
        looks = if now.0 == last.0 { looks + 1 } else { 0 };
        if now == last || looks >= OLD {
            // A lost device is reported to whoever calls next.
            let _ = core.flush_batch(now.0);
            looks = 0;
        }
        last = now;
        thread::park_timeout(TICK);
    }
}

/// The completer.
fn complete(core: &Core) {
    let stop = || core.workers.stop.load(Ordering::SeqCst);
    // Once it is told to stop, what the GPU has finished is still done.
    while let Some(batch) = core.completions.next(stop) {
        match core.timeline.wait_for(batch, Duration::from_millis(100)) {
            Ok(true) => core.completions.advance(core, core.timeline.seen(), true),
            Ok(false) => {}
            Err(_) => core.completions.abandon(core),
        }
    }
    core.completions.advance(core, core.timeline.seen(), true);
}
