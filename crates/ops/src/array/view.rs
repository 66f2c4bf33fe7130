//! Where the elements of a move come from and go to: strided views and the moves between them, as plain numbers.
//!
//! Every array op that only moves elements says what it does as [`Move`]s; `mover.rs` carries them out on the device or in
//! host memory. Nothing here knows a device.

use smallvec::SmallVec;
use tfvk_device::Shape;

/// Per-axis numbers of a view.
pub type Axes = SmallVec<[i64; 8]>;

/// A strided walk over a dense tensor: element `i` is at `offset + sum(i[k] * strides[k])`, in elements. Strides may be
/// negative or 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Where the walk starts.
    pub offset: i64,
    /// One stride per axis of the move.
    pub strides: Axes,
}

impl View {
    /// The row-major walk over all of `shape`.
    pub fn dense(shape: &[i64]) -> Self {
        Self { offset: 0, strides: dense_strides(shape) }
    }

    /// The same walk with the axes in the order `perm`.
    #[must_use]
    pub fn permuted(&self, perm: &[usize]) -> Self {
        Self { offset: self.offset, strides: perm.iter().map(|&p| self.strides[p]).collect() }
    }

    /// The walk that starts at `index` of this one.
    #[must_use]
    pub fn starting_at(mut self, index: &[i64]) -> Self {
        // Where the sizes are too large for any tensor this is not walked: the driver refuses the output's shape.
        self.offset = index.iter().zip(&self.strides).fold(self.offset, |o, (i, s)| o.saturating_add(i.saturating_mul(*s)));
        self
    }
}

/// Row-major strides, in elements.
pub fn dense_strides(shape: &[i64]) -> Axes {
    Shape::new(shape).strides()
}

/// `dst[i] = src[i]` for all `i` in `dims`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// How far the walk goes along each axis.
    pub dims: Axes,
    /// Where elements come from.
    pub src: View,
    /// Where they go to; no two indices may hit the same element.
    pub dst: View,
}

impl Move {
    /// A move over `dims`.
    pub fn new(dims: &[i64], src: View, dst: View) -> Self {
        debug_assert!(dims.len() == src.strides.len() && dims.len() == dst.strides.len());
        Self { dims: Axes::from_slice(dims), src, dst }
    }

    /// Number of elements moved.
    pub fn len(&self) -> i64 {
        Shape::new(&self.dims).num_elements()
    }

    /// The same move with axes of length 1 dropped and neighbours merged where both walks allow it.
    #[must_use]
    pub fn collapsed(&self) -> Move {
        let (mut dims, mut src, mut dst) = (Axes::new(), Axes::new(), Axes::new());
        for (i, &d) in self.dims.iter().enumerate() {
            if d == 1 {
                continue;
            }
            let (s, t) = (self.src.strides[i], self.dst.strides[i]);
            match (dims.last_mut(), src.last_mut(), dst.last_mut()) {
                (Some(ld), Some(ls), Some(lt)) if *ls == s * d && *lt == t * d => {
                    *ld *= d;
                    (*ls, *lt) = (s, t);
                }
                _ => {
                    dims.push(d);
                    src.push(s);
                    dst.push(t);
                }
            }
        }
        Move { dims, src: View { offset: self.src.offset, strides: src }, dst: View { offset: self.dst.offset, strides: dst } }
    }

    /// The same move in elements of half the size.
    #[must_use]
    pub fn halves(&self) -> Move {
        let half = |v: &View| View { offset: v.offset * 2, strides: v.strides.iter().map(|s| s * 2).chain([1]).collect() };
        Move { dims: self.dims.iter().copied().chain([2]).collect(), src: half(&self.src), dst: half(&self.dst) }
    }

    /// Carries the move out between host slices.
    pub fn on_host<T: Copy>(&self, src: &[T], dst: &mut [T]) {
        let m = self.collapsed();
        if m.len() == 0 {
            return;
        }
        let mut index: Axes = SmallVec::from_elem(0, m.dims.len());
        let (mut s, mut d) = (m.src.offset, m.dst.offset);
        loop {
            dst[d as usize] = src[s as usize];
            let mut axis = m.dims.len();
            loop {
                if axis == 0 {
                    return;
                }
                axis -= 1;
                index[axis] += 1;
                s += m.src.strides[axis];
                d += m.dst.strides[axis];
                if index[axis] < m.dims[axis] {
                    break;
                }
                s -= m.src.strides[axis] * m.dims[axis];
                d -= m.dst.strides[axis] * m.dims[axis];
                index[axis] = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collapse_merges_what_is_dense_in_both() {
        let m = Move::new(&[2, 1, 3, 4], View::dense(&[2, 1, 3, 4]), View::dense(&[2, 1, 3, 4]));
        assert_eq!(m.collapsed().dims.as_slice(), [24]);
        let t = Move::new(&[4, 2, 3], View::dense(&[2, 3, 4]).permuted(&[2, 0, 1]), View::dense(&[4, 2, 3]));
        assert_eq!(t.collapsed().dims.as_slice(), [4, 6]);
    }

    #[test]
    fn host_moves() {
        let src: Vec<i32> = (0..6).collect();
        let mut dst = vec![0; 6];
        Move::new(&[3, 2], View::dense(&[2, 3]).permuted(&[1, 0]), View::dense(&[3, 2])).on_host(&src, &mut dst);
        assert_eq!(dst, [0, 3, 1, 4, 2, 5]);
        let back = View { offset: 5, strides: Axes::from_slice(&[-1]) };
        Move::new(&[6], back, View::dense(&[6])).on_host(&src, &mut dst);
        assert_eq!(dst, [5, 4, 3, 2, 1, 0]);
        Move::new(&[], View::dense(&[]).starting_at(&[]), View::dense(&[])).on_host(&src, &mut dst);
        assert_eq!(dst[0], 0);
    }
}
