//! The end of the process, and its forks: when Vulkan must not be called any more.
//!
//! A driver's own exit handlers take it apart while our threads might still submit. Ours, registered after the driver was
//! loaded and so run before its, waits for the devices and then closes the door. A forked child has the driver's memory,
//! but neither its threads nor its connection to the GPU: there the door is closed from the start.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, Once, PoisonError, Weak};

use crate::core::Core;
use crate::{Code, Error, Result};

const OPEN: u8 = 0;
#[cfg_attr(not(unix), allow(dead_code))]
const EXITING: u8 = 1;
const FORKED: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(OPEN);
static CORES: Mutex<Vec<Weak<Core>>> = Mutex::new(Vec::new());

/// An error if Vulkan must not be called any more.
#[inline]
pub(crate) fn check() -> Result<()> {
    match STATE.load(Ordering::Relaxed) {
        OPEN => Ok(()),
        state => Err(closed(state)),
    }
}

#[cold]
fn closed(state: u8) -> Error {
    let why = match state {
        FORKED => "this process was forked from one that had opened the GPU; open it in the child alone, or use spawn",
        _ => "the process is exiting",
    };
    Error::new(Code::Unavailable, why)
}

/// Have `core` looked after when the process exits.
pub(crate) fn watch(core: &std::sync::Arc<Core>) {
    let mut cores = CORES.lock().unwrap_or_else(PoisonError::into_inner);
    cores.retain(|c| c.strong_count() > 0);
    cores.push(std::sync::Arc::downgrade(core));
    drop(cores);
    static ONCE: Once = Once::new();
    ONCE.call_once(register);
}

#[cfg(unix)]
fn register() {
    // SAFETY: both handlers are plain functions of this library, which is never unloaded while it is used.
    unsafe {
        libc::atexit(at_exit);
        libc::pthread_atfork(None, None, Some(in_child));
    }
}

// On Windows the threads of a process are gone before its libraries hear of the exit: nothing of ours runs then.
#[cfg(not(unix))]
fn register() {}

#[cfg(unix)]
extern "C" fn at_exit() {
    // A panic must not leave an exit handler.
    let _ = std::panic::catch_unwind(|| {
        let cores: Vec<_> = match CORES.try_lock() {
            Ok(cores) => cores.iter().filter_map(Weak::upgrade).collect(),
            Err(_) => Vec::new(),
        };
        if STATE.load(Ordering::Relaxed) == OPEN {
            cores.iter().for_each(|core| core.close(true));
        }
        let _ = STATE.compare_exchange(OPEN, EXITING, Ordering::SeqCst, Ordering::Relaxed);
        // Other owners may be in any state; what is left belongs to the operating system.
        cores.into_iter().for_each(std::mem::forget);
    });
}

#[cfg(unix)]
unsafe extern "C" fn in_child() {
    STATE.store(FORKED, Ordering::SeqCst);
}
