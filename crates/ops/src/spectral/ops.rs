//! The ops: which axes, which lengths, real or complex, forward or inverse. An op is a transform along each of its axes in
//! turn; the axis with real numbers on one side comes first when they go in, and last when they come out.

use smallvec::{SmallVec, smallvec};
use tfvk_device::{Error, Result, Tensor};

use super::axis::{Axis, Kind, transform};
use super::plan::LONGEST;
use crate::array::fill_bits;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs};

struct Fft {
    /// Number of innermost axes; `None`: inputs say which axes.
    rank: Option<usize>,
    real: bool,
    inverse: bool,
}

pub(super) fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    let name = node.op();
    let rank = match name {
        _ if name.ends_with("ND") => None,
        _ if name.ends_with("3D") => Some(3),
        _ if name.ends_with("2D") => Some(2),
        _ => Some(1),
    };
    Ok(Box::new(Fft { rank, real: name.contains("RFFT"), inverse: name.contains('I') }))
}

/// An axis and its length.
type Lengths = SmallVec<[(usize, i64); 3]>;

impl Fft {
    /// The axes in the op's order, each with the length of its transform. Errors: as TensorFlow's.
    fn lengths(&self, inputs: &Inputs<'_>) -> Result<Lengths> {
        let shape = inputs.shape(0)?;
        let axes = match self.rank {
            None => inputs.host_ints(2)?,
            Some(rank) => (0..rank).map(|i| i as i64 - rank as i64).collect(),
        };
        let rank = axes.len();
        if shape.rank() < rank {
            return Err(Error::invalid_argument(format!("Input must have rank of at least {rank} but got: {shape}")));
        }
        let mut lengths = Lengths::new();
        for &a in &axes {
            let axis = shape.axis(a).filter(|axis| lengths.iter().all(|(other, _)| other != axis));
            let why =
                || Error::invalid_argument(format!("axes must be different ones of the input's {}, got {axes:?}", shape.rank()));
            let axis = axis.ok_or_else(why)?;
            lengths.push((axis, shape[axis]));
        }
        if self.rank.is_some() && !self.real {
            return Ok(lengths);
        }
        let given = inputs.get(1)?;
        if given.shape.rank() != 1 || given.num_elements() != rank as i64 {
            return Err(Error::invalid_argument(format!("fft_length must have shape [{rank}], got {}", given.shape)));
        }
        for (i, &n) in inputs.host_ints(1)?.iter().enumerate() {
            if n < 0 {
                return Err(Error::invalid_argument(format!("fft_length[{i}] must >= 0, but got: {n}")));
            }
            let (axis, present) = lengths[i];
            let least = if self.inverse && i + 1 == rank { n / 2 + 1 } else { n };
            if self.real && present != 0 && present < least {
                let what = format!("Input dimension {axis} must have length of at least {least} but got: {present}");
                return Err(Error::invalid_argument(what));
            }
            lengths[i].1 = n;
        }
        Ok(lengths)
    }

    /// What comes out along the axis that is number `i` of `lengths`.
    fn wanted(&self, lengths: &Lengths, i: usize) -> i64 {
        let n = lengths[i].1;
        if self.real && !self.inverse && i + 1 == lengths.len() && n != 0 { n / 2 + 1 } else { n }
    }
}

impl OpKernel for Fft {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let lengths = self.lengths(inputs)?;
        let mut shape = inputs.shape(0)?.clone();
        for i in 0..lengths.len() {
            shape[lengths[i].0] = self.wanted(&lengths, i);
        }
        if lengths.is_empty() && self.real {
            return Err(Error::invalid_argument("axes must name at least one axis, got none"));
        }
        if lengths.is_empty() {
            return Ok(smallvec![Output::Alias { input: 0, shape }]);
        }
        Ok(smallvec![Output::Shape(shape)])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let lengths = self.lengths(&ctx.inputs())?;
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        if x.num_elements() == 0 {
            return fill_bits(ctx, &y, &[0; 16]);
        }
        let complex = if self.real && self.inverse { x.dtype } else { y.dtype };
        let steps = lengths.len();
        let mut current = x.clone();
        for step in 0..steps {
            // Forward the real axis, the last, goes first; back it goes last.
            let i = if self.inverse { step } else { steps - 1 - step };
            let (axis, n) = lengths[i];
            let kind = match (self.real && i + 1 == steps, self.inverse) {
                (false, _) => Kind::Complex,
                (true, false) => Kind::FromReal,
                (true, true) => Kind::ToReal,
            };
            let mut shape = current.shape.clone();
            shape[axis] = self.wanted(&lengths, i);
            let dtype = if kind == Kind::ToReal { y.dtype } else { complex };
            let target = if shape == y.shape && dtype == y.dtype {
                y.clone()
            } else if shape == current.shape && dtype == current.dtype && step > 0 {
                current.clone()
            } else {
                ctx.temp(dtype, shape.clone())?
            };
            let scale = if self.inverse { 1.0 / n as f64 } else { 1.0 };
            transform(ctx, &current, &target, &view(&current, &target, axis, n, kind, self.inverse, scale)?)?;
            current = target;
        }
        Ok(())
    }
}

/// The axis of `x` and `y` as the transform wants it. Errors: too long.
fn view(x: &Tensor, y: &Tensor, axis: usize, n: i64, kind: Kind, inverse: bool, scale: f64) -> Result<Axis> {
    let too_large = || Error::unimplemented(format!("a transform of {n} elements along axis {axis} of {}", x.shape));
    if n > LONGEST || x.num_elements().max(y.num_elements()) >= 1 << 31 {
        return Err(too_large());
    }
    let part = |shape: &[i64]| u32::try_from(shape.iter().product::<i64>()).map_err(|_| too_large());
    Ok(Axis {
        outer: part(&x.shape[..axis])?,
        inner: part(&x.shape[axis + 1..])?,
        n: part(&[n])?,
        given: part(&x.shape[axis..=axis])?,
        wanted: part(&y.shape[axis..=axis])?,
        kind,
        inverse,
        scale,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_real_axis_comes_out_halved() {
        let op = Fft { rank: Some(2), real: true, inverse: false };
        let lengths: Lengths = smallvec![(1, 4), (2, 9)];
        assert_eq!((op.wanted(&lengths, 0), op.wanted(&lengths, 1)), (4, 5));
    }
}
