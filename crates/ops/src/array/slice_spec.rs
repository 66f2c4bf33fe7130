//! TensorFlow's strided-slice specification (the five masks), resolved against a shape. Pure arithmetic; what
//! `ValidateStridedSliceOp` does.

use smallvec::SmallVec;
use tfvk_device::{Error, Result, Shape};

use super::view::{Axes, View, dense_strides};
use crate::OpKernelConstruction;

/// The masks of a strided slice.
#[derive(Clone, Copy, Debug, Default)]
pub struct Masks {
    /// Axes whose begin is ignored.
    pub begin: i64,
    /// Axes whose end is ignored.
    pub end: i64,
    /// Where the ellipsis stands.
    pub ellipsis: i64,
    /// Where a new axis stands.
    pub new_axis: i64,
    /// Axes taken at one index and dropped.
    pub shrink: i64,
}

impl Masks {
    /// A node's masks.
    pub fn of(node: &dyn OpKernelConstruction) -> Result<Self> {
        Ok(Self {
            begin: node.i64("begin_mask")?,
            end: node.i64("end_mask")?,
            ellipsis: node.i64("ellipsis_mask")?,
            new_axis: node.i64("new_axis_mask")?,
            shrink: node.i64("shrink_axis_mask")?,
        })
    }
}

/// A resolved slice of a tensor of `input` dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// First index along each axis of the input.
    pub begin: Axes,
    /// Step along each axis; never 0.
    pub stride: Axes,
    /// Number of elements taken along each axis.
    pub dims: Axes,
    /// The slice's shape as the user sees it, with dropped and new axes.
    pub shape: Shape,
}

impl Slice {
    /// The slice's walk over the input, with one axis per axis of the input.
    pub fn view(&self, input: &[i64]) -> View {
        let dense = dense_strides(input);
        let strides = dense.iter().zip(&self.stride).map(|(d, s)| d.saturating_mul(*s)).collect();
        // An empty slice may begin outside.
        let offset = if self.dims.contains(&0) { 0 } else { dense.iter().zip(&self.begin).map(|(d, b)| d * b).sum() };
        View { offset, strides }
    }

    /// Whether it is the whole input in order.
    pub fn is_all(&self, input: &[i64]) -> bool {
        self.dims.as_slice() == input && self.dims.iter().zip(&self.stride).all(|(&d, &s)| s == 1 || d == 1)
    }
}

/// Resolves a slice. `begin`, `end` and `stride` have one element per written subscript.
pub fn resolve(input: &[i64], begin: &[i64], end: &[i64], stride: &[i64], masks: Masks) -> Result<Slice> {
    let sparse = begin.len();
    if end.len() != sparse || stride.len() != sparse {
        return Err(Error::invalid_argument(format!(
            "begin, end and strides must have as many elements; got {sparse}, {}, {}",
            end.len(),
            stride.len()
        )));
    }
    if masks.ellipsis.count_ones() > 1 {
        return Err(Error::invalid_argument("ellipsis_mask: multiple ellipses in slice spec not allowed"));
    }
    if sparse >= 32 {
        return Err(Error::invalid_argument(format!("at most 31 subscripts are supported, got {sparse}")));
    }
    let bit = |mask: i64, i: usize| mask & (1 << i) != 0;
    // An implicit ellipsis stands at the end.
    let (ellipsis, subscripts) = (0..sparse).find(|&i| bit(masks.ellipsis, i)).map_or((sparse, sparse + 1), |e| (e, sparse));
    let new_axes_after = (ellipsis + 1..sparse).filter(|&i| bit(masks.new_axis, i)).count();
    let rank = input.len();
    let mut out = Slice { begin: Axes::new(), stride: Axes::new(), dims: Axes::new(), shape: Shape::scalar() };
    for i in 0..subscripts {
        if i == ellipsis {
            let rest = sparse.saturating_sub(i + 1).saturating_sub(new_axes_after);
            let upto = rank.saturating_sub(rest);
            while out.dims.len() < upto {
                let d = input[out.dims.len()];
                out.begin.push(0);
                out.stride.push(1);
                out.dims.push(d);
                out.shape.push(d);
            }
            continue;
        }
        if bit(masks.new_axis, i) {
            out.shape.push(1);
            continue;
        }
        let axis = out.dims.len();
        let Some(&d) = input.get(axis) else {
            return Err(Error::invalid_argument(format!(
                "Index out of range using input dim {axis}; input has only {rank} dims"
            )));
        };
        let step = stride[i];
        if step == 0 {
            return Err(Error::invalid_argument(format!("strides[{i}] must be non-zero")));
        }
        if bit(masks.shrink, i) {
            if step < 0 {
                return Err(Error::invalid_argument("only stride 1 allowed on non-range indexing."));
            }
            // TensorFlow ignores the begin and end masks of a dropped axis.
            let b = begin[i];
            let at = if b < 0 { b + d } else { b };
            if !(0..d).contains(&at) {
                return Err(Error::invalid_argument(format!("slice index {b} of dimension {axis} out of bounds.")));
            }
            out.begin.push(at);
            out.stride.push(1);
            out.dims.push(1);
            continue;
        }
        let (low, high) = if step > 0 { (0, d) } else { (-1, d - 1) };
        let canonical = |x: i64| if x < 0 { x.saturating_add(d) } else { x }.clamp(low, high);
        let b = if bit(masks.begin, i) { if step > 0 { low } else { high } } else { canonical(begin[i]) };
        let e = if bit(masks.end, i) { if step > 0 { high } else { low } } else { canonical(end[i]) };
        let length = e - b;
        let n = if length == 0 || (length < 0) != (step < 0) { 0 } else { length / step + i64::from(length % step != 0) };
        out.begin.push(b);
        out.stride.push(step);
        out.dims.push(n);
        out.shape.push(n);
    }
    Ok(out)
}

/// The inputs `begin`, `end`, `strides` of a node, from `first` on, resolved against `input`.
pub fn from_inputs(inputs: &crate::Inputs<'_>, first: usize, input: &[i64], masks: Masks) -> Result<Slice> {
    let read = |i: usize| -> Result<SmallVec<[i64; 8]>> { inputs.host_ints(first + i) };
    resolve(input, &read(0)?, &read(1)?, &read(2)?, masks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_negative_steps() {
        let s = resolve(&[5, 6], &[1, -1], &[4, -7], &[2, -2], Masks::default()).unwrap();
        assert_eq!((s.begin.as_slice(), s.dims.as_slice()), ([1, 5].as_slice(), [2, 3].as_slice()));
        assert_eq!(s.view(&[5, 6]), View { offset: 11, strides: Axes::from_slice(&[12, -2]) });
    }

    #[test]
    fn ellipsis_new_axis_shrink() {
        // x[0, ..., tf.newaxis, 2:]
        let m = Masks { ellipsis: 2, new_axis: 4, shrink: 1, end: 8, ..Masks::default() };
        let s = resolve(&[2, 3, 4, 5], &[0, 0, 0, 2], &[1, 0, 0, 0], &[1, 1, 1, 1], m).unwrap();
        assert_eq!(s.shape.dims(), [3, 4, 1, 3]);
        assert_eq!(s.begin.as_slice(), [0, 0, 0, 2]);
    }

    #[test]
    fn errors_name_the_axis() {
        let m = Masks { shrink: 1, ..Masks::default() };
        assert!(resolve(&[2], &[2], &[3], &[1], m).unwrap_err().message.contains("slice index 2 of dimension 0"));
        assert!(resolve(&[2], &[0, 0], &[1, 1], &[1, 1], Masks::default()).is_err());
        assert!(resolve(&[2], &[0], &[1], &[0], Masks::default()).is_err());
    }

    #[test]
    fn masks_and_clamps() {
        let m = Masks { begin: 1, end: 1, ..Masks::default() };
        let s = resolve(&[4], &[9], &[9], &[-1], m).unwrap();
        assert_eq!((s.begin[0], s.dims[0]), (3, 4));
        let s = resolve(&[4], &[-100], &[i64::MAX], &[3], Masks::default()).unwrap();
        assert_eq!((s.begin[0], s.dims[0]), (0, 2));
        let s = resolve(&[4], &[3], &[1], &[1], Masks::default()).unwrap();
        assert_eq!(s.dims[0], 0);
        assert!(!s.is_all(&[4]));
    }
}
