//! What a strided copy amounts to: dimensions collapsed, elements widened, parts small enough for 32-bit offsets.
//! Pure; knows no device.

use smallvec::SmallVec;

/// One dimension of a copy. Strides in (widened) elements; they may be negative or, in the source, 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim {
    /// Size.
    pub n: i64,
    /// Source stride.
    pub src: i64,
    /// Destination stride.
    pub dst: i64,
}

/// Dimensions, outermost first (largest destination stride first).
pub type Dims = SmallVec<[Dim; 8]>;

/// A copy of elements of `size` bytes between two addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Bytes of one widened element: 1, 2, 4, 8 or 16.
    pub size: u64,
    /// The dimensions that are left; none of size 1; empty for a single element.
    pub dims: Dims,
    /// Address of the source element of index 0.
    pub src: u64,
    /// Address of the destination element of index 0.
    pub dst: u64,
}

/// How a part of a copy is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// One run of bytes.
    Run,
    /// An invocation an element, destination order.
    Linear,
    /// Through a square tile in shared memory: dimension `dims[axis]` is the source's contiguous one.
    Tiled {
        /// Index of the source's contiguous dimension.
        axis: usize,
    },
}

/// Offsets of one launch stay below this many elements.
const MAX_OFFSET: i64 = i32::MAX as i64;

impl Plan {
    /// A plan for `dims` (any order) of elements of `size` bytes (1, 2, 4, 8 or 16) between two addresses. No size is 0.
    pub fn new(size: u64, dims: impl IntoIterator<Item = Dim>, src: u64, dst: u64) -> Self {
        let mut dims: Dims = dims.into_iter().filter(|d| d.n != 1).collect();
        dims.sort_by_key(|d| std::cmp::Reverse((d.dst.unsigned_abs(), d.src.unsigned_abs())));
        let mut merged = Dims::new();
        for d in dims {
            match merged.last_mut() {
                Some(o) if o.dst == d.n * d.dst && o.src == d.n * d.src => *o = Dim { n: o.n * d.n, ..d },
                _ => merged.push(d),
            }
        }
        let mut plan = Self { size, dims: merged, src, dst };
        while plan.widen() {}
        plan
    }

    /// Makes two elements one, if everything is even.
    fn widen(&mut self) -> bool {
        let even = |v: i64| v % 2 == 0;
        let Some((inner, outer)) = self.dims.split_last() else { return false };
        let wide = self.size * 2;
        if self.size >= 16 || (inner.src, inner.dst) != (1, 1) || !even(inner.n) || self.src % wide != 0 || self.dst % wide != 0 {
            return false;
        }
        if outer.iter().any(|d| !even(d.src) || !even(d.dst)) {
            return false;
        }
        self.size = wide;
        let last = self.dims.len() - 1;
        for d in &mut self.dims[..last] {
            d.src /= 2;
            d.dst /= 2;
        }
        self.dims[last].n /= 2;
        if self.dims[last].n == 1 {
            self.dims.pop();
        }
        true
    }

    /// Number of elements.
    pub fn count(&self) -> i64 {
        self.dims.iter().map(|d| d.n).product()
    }

    /// Lowest address and bytes that the source (or else the destination) side touches.
    pub fn range(&self, source: bool) -> (u64, u64) {
        let (mut low, mut high) = (0i64, 0i64);
        for d in &self.dims {
            let reach = (d.n - 1) * if source { d.src } else { d.dst };
            low += reach.min(0);
            high += reach.max(0);
        }
        let base = if source { self.src } else { self.dst };
        (base.wrapping_add_signed(low * self.size as i64), (high - low + 1) as u64 * self.size)
    }

    /// Parts whose offsets and counts fit 32 bits, by halving the outermost dimension that is to blame.
    pub fn parts(self, out: &mut Vec<Plan>) {
        let reach = |f: fn(&Dim) -> i64| self.dims.iter().map(|d| (d.n - 1) * f(d).abs()).sum::<i64>();
        if reach(|d| d.src).max(reach(|d| d.dst)).max(self.count()) < MAX_OFFSET {
            out.push(self);
            return;
        }
        let weight = |d: &Dim| (d.n - 1) * d.src.abs().max(d.dst.abs()).max(1);
        let Some(axis) = (0..self.dims.len()).max_by_key(|&i| (weight(&self.dims[i]), std::cmp::Reverse(i))) else { return };
        let d = self.dims[axis];
        let half = d.n / 2;
        let size = self.size as i64;
        let mut low = self.clone();
        low.dims[axis].n = half;
        let mut high = self;
        high.dims[axis].n = d.n - half;
        high.src = high.src.wrapping_add_signed(half * d.src * size);
        high.dst = high.dst.wrapping_add_signed(half * d.dst * size);
        low.parts(out);
        high.parts(out);
    }

    /// How to do it.
    pub fn way(&self) -> Way {
        let Some(inner) = self.dims.last() else { return Way::Run };
        if self.dims.len() == 1 && inner.src == 1 && inner.dst == 1 {
            return Way::Run;
        }
        // A tile pays only where both of its sides are long enough to fill it.
        let axis = self.dims.iter().position(|d| d.src == 1);
        match axis {
            Some(axis) if axis + 1 != self.dims.len() && inner.dst == 1 && inner.n >= 8 && self.dims[axis].n >= 8 => {
                Way::Tiled { axis }
            }
            _ => Way::Linear,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn d(n: i64, src: i64, dst: i64) -> Dim {
        Dim { n, src, dst }
    }

    #[test]
    fn contiguous_becomes_one_run_of_wide_elements() {
        let p = Plan::new(4, [d(3, 8, 8), d(1, 77, 99), d(8, 1, 1)], 0, 64);
        assert_eq!((p.size, p.dims.as_slice(), p.way()), (16, &[d(6, 1, 1)][..], Way::Run));
        let p = Plan::new(1, [d(1, 1, 1)], 3, 5);
        assert_eq!((p.count(), p.way(), p.range(true)), (1, Way::Run, (3, 1)));
    }

    #[test]
    fn widening_stops_at_odd_strides_and_addresses() {
        assert_eq!(Plan::new(2, [d(4, 6, 8), d(4, 1, 1)], 0, 0).size, 4);
        assert_eq!(Plan::new(2, [d(4, 8, 8), d(4, 1, 2)], 0, 0).size, 2);
        assert_eq!(Plan::new(2, [d(4, 16, 8), d(8, 1, 1)], 4, 0).size, 4);
        assert_eq!(Plan::new(2, [d(4, 16, 8), d(8, 1, 1)], 0, 2).size, 2);
    }

    #[test]
    fn a_transposition_is_tiled_and_a_narrow_one_is_not() {
        let p = Plan::new(4, [d(64, 1, 100), d(100, 64, 1)], 0, 0);
        assert_eq!(p.way(), Way::Tiled { axis: 0 });
        assert_eq!(Plan::new(4, [d(3, 1, 100), d(100, 3, 1)], 0, 0).way(), Way::Linear);
        // NHWC to NCHW: the image's rows and columns are one dimension.
        let p = Plan::new(4, [d(2, 640, 640), d(8, 80, 8), d(8, 10, 1), d(10, 1, 64)], 0, 0);
        assert_eq!(p.dims.as_slice(), [d(2, 640, 640), d(10, 1, 64), d(64, 10, 1)]);
        assert_eq!(p.way(), Way::Tiled { axis: 1 });
    }

    #[test]
    fn ranges_cover_reversed_dimensions() {
        let p = Plan::new(4, [d(5, -1, 1)], 116, 0);
        assert_eq!((p.range(true), p.range(false)), ((100, 20), (0, 20)));
    }

    #[test]
    fn parts_stay_small_and_cover_everything() {
        let n = 1i64 << 20;
        let p = Plan::new(1, [d(n, 1, 4099), d(4099, n, 1)], 0, 0);
        let mut parts = Vec::new();
        p.clone().parts(&mut parts);
        assert!(parts.len() > 1);
        assert_eq!(parts.iter().map(Plan::count).sum::<i64>(), p.count());
        for q in &parts {
            assert!(q.range(true).1.max(q.range(false).1) <= MAX_OFFSET as u64 + 1);
        }
    }
}
