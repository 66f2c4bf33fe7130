//! Copying host memory with several threads: one alone is slower than the bus to a GPU.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};

/// From this size on, help is worth waking.
const PARALLEL: usize = 2 << 20;
/// What a thread copies at a time.
const PIECE: usize = 512 << 10;

struct Job {
    dst: *mut u8,
    src: *const u8,
    bytes: usize,
    next: AtomicUsize,
    left: AtomicUsize,
    done: (Mutex<bool>, Condvar),
}

// SAFETY: the pieces are disjoint, and `copy` returns only when all are copied.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

impl Job {
    /// Copy pieces until none is left.
    fn work(&self) {
        loop {
            let piece = self.next.fetch_add(1, Ordering::Relaxed);
            let start = piece.saturating_mul(PIECE);
            if start >= self.bytes {
                return;
            }
            let n = PIECE.min(self.bytes - start);
            // SAFETY: inside both ranges; this piece is this thread's alone, and `copy` is still waiting for it.
            unsafe { std::ptr::copy_nonoverlapping(self.src.add(start), self.dst.add(start), n) };
            if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                *self.done.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
                self.done.1.notify_all();
            }
        }
    }
}

struct Pool {
    jobs: Mutex<Vec<Arc<Job>>>,
    wake: Condvar,
    threads: usize,
}

static POOL: OnceLock<Arc<Pool>> = OnceLock::new();

fn pool() -> &'static Arc<Pool> {
    POOL.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let wanted = (cores / 2).saturating_sub(1).min(7);
        let pool = Arc::new(Pool { jobs: Mutex::default(), wake: Condvar::new(), threads: wanted });
        for _ in 0..wanted {
            let pool = pool.clone();
            // Without this thread the others, and the caller, do its part.
            let _ = std::thread::Builder::new().name("tfvk-copy".into()).spawn(move || help(&pool));
        }
        pool
    })
}

fn help(pool: &Pool) {
    loop {
        let job = {
            let mut jobs = pool.jobs.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                if let Some(job) = jobs.first() {
                    break job.clone();
                }
                jobs = pool.wake.wait(jobs).unwrap_or_else(PoisonError::into_inner);
            }
        };
        job.work();
        let mut jobs = pool.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.retain(|j| !Arc::ptr_eq(j, &job));
    }
}

/// Copy `bytes` bytes from `src` to `dst`.
///
/// # Safety
/// Both are valid for `bytes` bytes and do not overlap.
pub(crate) unsafe fn copy(dst: *mut u8, src: *const u8, bytes: usize) {
    if bytes < PARALLEL || pool().threads == 0 {
        // SAFETY: the caller's promise.
        return unsafe { std::ptr::copy_nonoverlapping(src, dst, bytes) };
    }
    // SAFETY: the caller's promise.
    unsafe { copy_with(pool(), dst, src, bytes) }
}

/// # Safety
/// As [`copy`].
unsafe fn copy_with(pool: &Pool, dst: *mut u8, src: *const u8, bytes: usize) {
    let left = AtomicUsize::new(bytes.div_ceil(PIECE));
    let job = Arc::new(Job { dst, src, bytes, next: AtomicUsize::new(0), left, done: Default::default() });
    pool.jobs.lock().unwrap_or_else(PoisonError::into_inner).push(job.clone());
    pool.wake.notify_all();
    job.work();
    pool.jobs.lock().unwrap_or_else(PoisonError::into_inner).retain(|j| !Arc::ptr_eq(j, &job));
    let mut done = job.done.0.lock().unwrap_or_else(PoisonError::into_inner);
    while !*done {
        done = job.done.1.wait(done).unwrap_or_else(PoisonError::into_inner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_callers_and_helpers() {
        let pool = Arc::new(Pool { jobs: Mutex::default(), wake: Condvar::new(), threads: 2 });
        for _ in 0..2 {
            let pool = pool.clone();
            std::thread::spawn(move || help(&pool));
        }
        std::thread::scope(|s| {
            for t in 0..3usize {
                let pool = &pool;
                s.spawn(move || {
                    for round in 0..4 {
                        let src: Vec<u8> = (0..PARALLEL * 2 + 77 * t + round).map(|i| (i * 31 + t) as u8).collect();
                        let mut dst = vec![0u8; src.len()];
                        // SAFETY: two vectors of one length.
                        unsafe { copy_with(pool, dst.as_mut_ptr(), src.as_ptr(), src.len()) };
                        assert!(dst == src);
                    }
                });
            }
        });
    }
}
