//! Space in a ring: slices are taken in order and become free in any order. Knows no memory and no Vulkan.

use std::collections::VecDeque;

/// Who still uses a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// Its taker, for as long as that takes.
    Held,
    /// The GPU, up to this batch.
    Until(u64),
    /// Nobody.
    Free,
}

/// A slice of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    /// Its number, for [`Ring::until`] and [`Ring::release`].
    pub id: u64,
    /// Its first byte in the ring.
    pub offset: u64,
}

/// The book-keeping of a ring.
#[derive(Debug)]
pub(crate) struct Ring {
    size: u64,
    /// Bytes ever taken and ever freed, gaps at the wrap included.
    head: u64,
    tail: u64,
    slices: VecDeque<(u64, Use)>,
    /// The number of the first of `slices`.
    first: u64,
}

impl Ring {
    /// A ring of `size` bytes, a power of two.
    pub fn new(size: u64) -> Ring {
        Ring { size, head: 0, tail: 0, slices: VecDeque::new(), first: 0 }
    }

    /// Take `bytes` contiguous bytes, aligned to 256. `None`: not now.
    pub fn take(&mut self, bytes: u64) -> Option<Slice> {
        let bytes = bytes.next_multiple_of(256);
        let at = self.head % self.size;
        let start = if at + bytes > self.size { self.head + (self.size - at) } else { self.head };
        if bytes > self.size || start + bytes - self.tail > self.size {
            return None;
        }
        self.head = start + bytes;
        self.slices.push_back((self.head, Use::Held));
        Some(Slice { id: self.first + self.slices.len() as u64 - 1, offset: start % self.size })
    }

    /// The GPU uses the slice up to this batch; its taker does no longer.
    pub fn until(&mut self, id: u64, batch: u64) {
        self.set(id, Use::Until(batch));
    }

    /// Nobody uses the slice any more.
    pub fn release(&mut self, id: u64) {
        self.set(id, Use::Free);
    }

    fn set(&mut self, id: u64, to: Use) {
        if let Some(slice) = id.checked_sub(self.first).and_then(|i| self.slices.get_mut(i as usize)) {
            slice.1 = to;
        }
    }

    /// Free what the GPU is past.
    pub fn reclaim(&mut self, completed: u64) {
        while let Some(&(end, state)) = self.slices.front() {
            match state {
                Use::Free => {}
                Use::Until(batch) if batch <= completed => {}
                _ => return,
            }
            self.tail = end;
            self.first += 1;
            self.slices.pop_front();
        }
        // Nothing is in use: start over at the beginning, where the caches may still be warm.
        (self.head, self.tail) = (0, 0);
    }

    /// The batch that the oldest slice waits for, if it is the GPU's.
    pub fn oldest(&self) -> Option<u64> {
        match self.slices.front() {
            Some(&(_, Use::Until(batch))) => Some(batch),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_and_waits() {
        let mut r = Ring::new(1024);
        let a = r.take(512).unwrap();
        let b = r.take(200).unwrap();
        assert_eq!((a.offset, b.offset), (0, 512));
        assert!(r.take(512).is_none());
        r.until(a.id, 7);
        assert_eq!(r.oldest(), Some(7));
        r.reclaim(6);
        assert!(r.take(512).is_none());
        r.reclaim(7);
        // 256 bytes are left before the end: a larger slice starts over at 0.
        assert_eq!(r.take(512).unwrap().offset, 0);
        assert!(r.take(256).is_none(), "the gap at the end is not handed out");
        r.release(b.id);
        r.reclaim(7);
        assert_eq!(r.take(256).unwrap().offset, 512);
        assert!(r.take(2000).is_none());
    }

    #[test]
    fn no_two_live_slices_overlap() {
        let mut r = Ring::new(1 << 14);
        let mut live: Vec<(u64, u64, u64)> = Vec::new();
        let mut seed = 3u64;
        for step in 0..20_000u64 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let bytes = (seed >> 40) % 3000 + 1;
            match r.take(bytes) {
                Some(s) => {
                    assert!(s.offset + bytes <= 1 << 14);
                    assert!(live.iter().all(|&(_, o, n)| s.offset + bytes <= o || o + n <= s.offset));
                    live.push((s.id, s.offset, bytes));
                }
                None => {
                    let (id, ..) = live.swap_remove((seed >> 20) as usize % live.len());
                    r.release(id);
                    r.reclaim(step);
                }
            }
        }
    }
}
