//! MatrixBandPart: matrices with everything outside a band of diagonals zeroed.

use smallvec::smallvec;
use tfvk_device::{Args, Error, Result};

use super::fill::size_word;
use super::mover::threads;
use super::one_hot::count;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

struct BandPart;

/// The kernel of MatrixBandPart.
pub fn band_part(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(BandPart))
}

impl OpKernel for BandPart {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let x = inputs.shape(0)?;
        if x.rank() < 2 {
            return Err(Error::invalid_argument(format!("input must be at least 2-dim, received shape: {x}")));
        }
        for (i, name, limit) in [(1, "num_lower", x[x.rank() - 2]), (2, "num_upper", x[x.rank() - 1])] {
            let k = inputs.host_int(i)?;
            if k > limit {
                return Err(Error::invalid_argument(format!(
                    "{name} must be negative or less or equal to number of {} ({limit}) got: {k}",
                    if i == 1 { "rows" } else { "columns" }
                )));
            }
        }
        Ok(smallvec![Output::Shape(x.clone())])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        let bound = |i: usize| ctx.inputs().host_int(i).map(|k| k.max(-1) as i32);
        let (lower, upper) = (bound(1)?, bound(2)?);
        let n = count(&x.shape)?;
        let mut args = Args::new();
        args.read(&x)?.write(&y)?.u32(n);
        args.u32(x.shape[x.shape.rank() - 2] as u32).u32(x.shape[x.shape.rank() - 1] as u32).i32(lower).i32(upper);
        let threads = threads(ctx);
        let kernel = shader::BAND_PART.get(&[size_word(x.dtype)?.into()])?;
        ctx.stream().launch_linear(kernel, &[threads, 1, 1], &args, n.div_ceil(threads).into())
    }
}
