//! How long each kernel runs on the GPU. TFVK_PROFILE=1: summed by kernel and number of workgroups, printed when the device is
//! closed. A trace ([`Profile::start`], [`Profile::stop`]): every launch by itself, on the host's clock. Launches are timed one
//! by one, with a barrier on both sides: the sum is more than the same work takes unwatched.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ash::vk;

use crate::core::Core;
use crate::{Result, log};

/// Launches whose times are not read yet, at most: each holds two queries.
const PENDING: usize = 1500;

/// One launch between two timestamps.
struct Launch {
    key: (String, u64),
    pool: vk::QueryPool,
    queries: [u32; 2],
    batch: u64,
}

/// Launches that a trace keeps, at most.
const TRACED: usize = 1 << 20;

/// One launch of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelTime {
    /// The kernel's name.
    pub name: String,
    /// Workgroups.
    pub groups: u64,
    /// When it began, in nanoseconds since 1970.
    pub start: u64,
    /// How long it took, in nanoseconds.
    pub duration: u64,
}

#[derive(Default)]
struct State {
    /// A running trace: nanoseconds from the GPU's clock to the host's, and what was seen.
    trace: Option<(i64, Vec<KernelTime>)>,
    pending: VecDeque<Launch>,
    /// By kernel and workgroups.
    totals: HashMap<(String, u64), Total>,
}

/// Times of one kernel, in nanoseconds.
struct Total {
    launches: u64,
    sum: u64,
    /// The shortest: between the timestamps of the others the GPU may have waited for commands.
    least: u64,
}

/// The figures of a device.
pub(crate) struct Profile {
    state: Mutex<State>,
    /// Whether a table is wanted in the end.
    table: bool,
    on: AtomicBool,
}

impl Profile {
    /// `table`: whether times are taken from the beginning, for a table in the end.
    pub fn new(table: bool) -> Profile {
        Profile { state: Mutex::default(), table, on: AtomicBool::new(table) }
    }

    /// Whether launches are to be timed.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begin a trace. `to_host`: nanoseconds from the GPU's clock to that of the host since 1970.
    pub fn start(&self, to_host: i64) {
        self.state().trace = Some((to_host, Vec::new()));
        self.on.store(true, Ordering::Relaxed);
    }

    /// End the trace, once the device's work is done: its launches in order; none if none was begun.
    pub fn stop(&self, core: &Core) -> Result<Vec<KernelTime>> {
        self.on.store(self.table, Ordering::Relaxed);
        self.read(core)?;
        Ok(self.state().trace.take().map_or_else(Vec::new, |t| t.1))
    }

    /// A launch was recorded, in batch `batch` or before. Call with nothing locked: it may wait.
    pub fn add(
        &self,
        core: &Core,
        name: &str,
        groups: [u32; 3],
        pool: vk::QueryPool,
        queries: [u32; 2],
        batch: u64,
    ) -> Result<()> {
        let groups = groups.iter().map(|&n| u64::from(n)).product();
        let oldest = {
            let mut state = self.state();
            state.pending.push_back(Launch { key: (name.into(), groups), pool, queries, batch });
            if state.pending.len() < PENDING {
                return Ok(());
            }
            state.pending.front().map_or(0, |l| l.batch)
        };
        core.wait_batch(oldest)?;
        self.read(core)
    }

    /// Read the times of what the GPU has finished.
    fn read(&self, core: &Core) -> Result<()> {
        let completed = core.timeline.seen();
        let mut state = self.state();
        while state.pending.front().is_some_and(|l| l.batch <= completed) {
            let Some(launch) = state.pending.pop_front() else { break };
            let [start, end] = launch.queries.map(|q| {
                let read = core.queries.read(launch.pool, q);
                core.queries.give(q);
                read
            });
            let (start, end) = (start?, end?);
            let time = end.saturating_sub(start);
            if let Some((to_host, seen)) = state.trace.as_mut().filter(|t| t.1.len() < TRACED) {
                let (name, groups) = launch.key.clone();
                seen.push(KernelTime { name, groups, start: start.saturating_add_signed(*to_host), duration: time });
            }
            if !self.table {
                continue;
            }
            let total = state.totals.entry(launch.key).or_insert(Total { launches: 0, sum: 0, least: u64::MAX });
            total.launches += 1;
            total.sum += time;
            total.least = total.least.min(time);
        }
        Ok(())
    }

    /// Print what was seen; the device's work is done.
    pub fn report(&self, core: &Core) {
        if !self.table {
            return;
        }
        if let Err(error) = self.read(core) {
            log!(Warn, "the profile is incomplete: {error}");
        }
        let state = self.state();
        let mut rows: Vec<_> = state.totals.iter().collect();
        rows.sort_by_key(|(_, t)| std::cmp::Reverse(t.sum));
        let all: u64 = rows.iter().map(|(_, t)| t.sum).sum();
        let mut text = format!("{:.3} ms in kernels\n", all as f64 / 1e6);
        text += "     share   total ms    count    mean us   least us   workgroups  kernel";
        for ((name, groups), t) in rows {
            let (share, ms) = (t.sum as f64 / all.max(1) as f64 * 100.0, t.sum as f64 / 1e6);
            let (mean, least, count) = (t.sum as f64 / 1e3 / t.launches as f64, t.least as f64 / 1e3, t.launches);
            // Writing to a string cannot fail.
            let _ = write!(text, "\n  {share:6.2} % {ms:10.3} {count:8} {mean:10.2} {least:10.2} {groups:12}  {name}");
        }
        log!(Warn, "profile of '{}': {text}", core.gpu.adapter.name);
    }
}
