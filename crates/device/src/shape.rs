//! A tensor's shape.

use std::fmt;
use std::ops::{Deref, DerefMut};

use smallvec::SmallVec;

use crate::{DType, Error, Result};

/// TensorFlow has no tensor of more dimensions.
const MAX_RANK: usize = 254;

/// Dimensions, outermost first; row-major, in elements. Up to 8 are stored inline.
#[derive(PartialEq, Eq, Hash, Default)]
pub struct Shape(SmallVec<[i64; 8]>);

/// One copy of memory; the derived clone would go element by element, and every launch clones shapes.
impl Clone for Shape {
    fn clone(&self) -> Self {
        Self(SmallVec::from_slice(&self.0))
    }
}

impl Shape {
    /// A shape of these dimensions.
    pub fn new(dims: &[i64]) -> Self {
        Self(SmallVec::from_slice(dims))
    }

    /// The shape of a scalar.
    pub fn scalar() -> Self {
        Self::default()
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// The dimensions.
    pub fn dims(&self) -> &[i64] {
        &self.0
    }

    /// Product of the dimensions; 1 for a scalar, `i64::MAX` on overflow.
    pub fn num_elements(&self) -> i64 {
        // A zero wins over an overflow before it.
        if self.0.contains(&0) { 0 } else { self.0.iter().fold(1, |n: i64, &d| n.saturating_mul(d)) }
    }

    /// Bytes of a tensor of this shape. An invalid argument if TensorFlow has no such tensor, and would end the process
    /// if asked for one: a negative dimension, more than 254 of them, more than 2^63 - 1 elements (before a zero, too).
    pub fn byte_size(&self, dtype: DType) -> Result<usize> {
        let invalid = |what: &str| Err(Error::invalid_argument(format!("a tensor of {dtype}{self}: {what}")));
        if self.rank() > MAX_RANK {
            return invalid("more than 254 dimensions");
        }
        if self.0.iter().any(|&d| d < 0) {
            return invalid("a negative dimension");
        }
        let elements = self.0.iter().try_fold(1i64, |n, &d| n.checked_mul(d));
        match elements.and_then(|n| n.checked_mul(dtype.size() as i64)).and_then(|n| usize::try_from(n).ok()) {
            Some(bytes) => Ok(bytes),
            None => invalid("too many elements"),
        }
    }

    /// Append a dimension at the inner end.
    pub fn push(&mut self, dim: i64) {
        self.0.push(dim);
    }

    /// Insert a dimension before `axis`.
    pub fn insert(&mut self, axis: usize, dim: i64) {
        self.0.insert(axis, dim);
    }

    /// Remove a dimension.
    pub fn remove(&mut self, axis: usize) -> i64 {
        self.0.remove(axis)
    }

    /// `axis` in `[-rank, rank)` as an index, or `None` outside.
    pub fn axis(&self, axis: i64) -> Option<usize> {
        let rank = self.rank() as i64;
        let a = if axis < 0 { axis + rank } else { axis };
        (0..rank).contains(&a).then_some(a as usize)
    }

    /// Row-major strides, in elements.
    pub fn strides(&self) -> SmallVec<[i64; 8]> {
        let mut s: SmallVec<[i64; 8]> = SmallVec::from_elem(1, self.rank());
        for i in (1..self.rank()).rev() {
            s[i - 1] = s[i].saturating_mul(self.0[i]);
        }
        s
    }
}

impl Deref for Shape {
    type Target = [i64];
    fn deref(&self) -> &[i64] {
        &self.0
    }
}

impl DerefMut for Shape {
    fn deref_mut(&mut self) -> &mut [i64] {
        &mut self.0
    }
}

impl From<&[i64]> for Shape {
    fn from(dims: &[i64]) -> Self {
        Self::new(dims)
    }
}

impl<const N: usize> From<[i64; N]> for Shape {
    fn from(dims: [i64; N]) -> Self {
        Self::new(&dims)
    }
}

impl FromIterator<i64> for Shape {
    fn from_iter<I: IntoIterator<Item = i64>>(dims: I) -> Self {
        Self(dims.into_iter().collect())
    }
}

/// As TensorFlow prints it: `[2,3]`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, d) in self.0.iter().enumerate() {
            write!(f, "{}{d}", if i > 0 { "," } else { "" })?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_axes_strides() {
        let s = Shape::from([2, 3, 4]);
        assert_eq!((s.num_elements(), s.axis(-1), s.axis(3)), (24, Some(2), None));
        assert_eq!(s.strides().as_slice(), [12, 4, 1]);
        assert_eq!(Shape::scalar().num_elements(), 1);
        assert_eq!(Shape::from([i64::MAX, 2, 0]).num_elements(), 0);
    }
    #[test]
    fn byte_sizes_of_no_tensor_are_errors() {
        let bytes = |dims: &[i64]| Shape::new(dims).byte_size(DType::F32).map_err(|e| e.message);
        assert_eq!((bytes(&[2, 3]), bytes(&[]), bytes(&[0, i64::MAX, i64::MAX])), (Ok(24), Ok(4), Ok(0)));
        for (dims, what) in [
            (&[-2, -3][..], "negative"),
            (&[0, -1], "negative"),
            (&[1 << 62, 4, 0], "too many"),
            (&[i64::MAX], "too many"),
            (&[1; 255], "more than 254"),
        ] {
            let said = bytes(dims);
            assert!(said.as_ref().is_err_and(|m| m.contains(what)), "{said:?}");
        }
    }
}
