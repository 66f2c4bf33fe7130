//! Which memory the work since the last barrier reads and writes, and whether new work must wait for it. Knows no Vulkan.

use crate::args::Access;

/// Ranges since the last barrier. Looking through them is linear, so their number is bounded: beyond it the answer is a
/// barrier, which is always correct.
#[derive(Debug)]
pub(crate) struct Hazards {
    reads: Ranges,
    writes: Ranges,
}

const MOST: usize = 96;

#[derive(Debug)]
struct Ranges {
    spans: Vec<(u64, u64)>,
    /// What all spans lie in: most questions end here.
    low: u64,
    high: u64,
}

impl Ranges {
    fn new() -> Self {
        Self { spans: Vec::with_capacity(MOST), low: u64::MAX, high: 0 }
    }

    fn meets(&self, start: u64, end: u64) -> bool {
        start < self.high && self.low < end && self.spans.iter().any(|&(s, e)| start < e && s < end)
    }

    fn add(&mut self, start: u64, end: u64) {
        (self.low, self.high) = (self.low.min(start), self.high.max(end));
        match self.spans.last_mut() {
            Some(last) if last.0 <= start && end <= last.1 => {}
            Some(last) if last.1 == start => last.1 = end,
            _ => self.spans.push((start, end)),
        }
    }

    fn clear(&mut self) {
        self.spans.clear();
        (self.low, self.high) = (u64::MAX, 0);
    }
}

impl Hazards {
    pub fn new() -> Self {
        Self { reads: Ranges::new(), writes: Ranges::new() }
    }

    /// Whether work with these accesses must wait for the work so far: it reads what that writes, or writes what that
    /// reads or writes.
    pub fn conflict(&self, accesses: &[Access]) -> bool {
        self.reads.spans.len() + self.writes.spans.len() + accesses.len() > MOST
            || accesses.iter().any(|a| self.writes.meets(a.start, a.end) || a.write && self.reads.meets(a.start, a.end))
    }

    /// Whether there is nothing that work could have to wait for.
    pub fn is_empty(&self) -> bool {
        self.reads.spans.is_empty() && self.writes.spans.is_empty()
    }

    /// Remember accesses of new work.
    pub fn add(&mut self, accesses: &[Access]) {
        for a in accesses.iter().filter(|a| a.start < a.end) {
            let ranges = if a.write { &mut self.writes } else { &mut self.reads };
            ranges.add(a.start, a.end);
        }
    }

    /// A barrier was recorded.
    pub fn clear(&mut self) {
        self.reads.clear();
        self.writes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r(start: u64, end: u64) -> Access {
        Access { start, end, write: false }
    }
    fn w(start: u64, end: u64) -> Access {
        Access { start, end, write: true }
    }

    #[test]
    fn every_pair_of_kinds() {
        let mut h = Hazards::new();
        h.add(&[r(0, 10), w(20, 30)]);
        assert!(!h.conflict(&[r(0, 10)]), "read after read");
        assert!(h.conflict(&[w(9, 12)]), "write after read");
        assert!(h.conflict(&[r(29, 40)]), "read after write");
        assert!(h.conflict(&[w(15, 21)]), "write after write");
        assert!(!h.conflict(&[w(10, 20), r(30, 40), w(30, 31)]), "neighbours do not touch");
        h.clear();
        assert!(!h.conflict(&[w(0, 100)]));
    }

    /// Against the plain definition, over many small programs.
    #[test]
    fn agrees_with_the_definition() {
        let mut seed = 1u64;
        let mut next = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for _ in 0..2000 {
            let (mut h, mut all) = (Hazards::new(), Vec::<Access>::new());
            for _ in 0..next(12) {
                let start = next(40);
                let a = Access { start, end: start + 1 + next(6), write: next(2) == 0 };
                let plain = all.iter().any(|b| a.start < b.end && b.start < a.end && (a.write || b.write));
                assert_eq!(h.conflict(&[a]), plain, "{a:?} after {all:?}");
                h.add(&[a]);
                all.push(a);
            }
        }
    }

    #[test]
    fn bounded() {
        let mut h = Hazards::new();
        for i in 0..MOST as u64 {
            assert!(!h.conflict(&[r(i * 10, i * 10 + 1)]));
            h.add(&[r(i * 10, i * 10 + 1)]);
        }
        assert!(h.conflict(&[r(1 << 40, 1 << 41)]));
    }
}
