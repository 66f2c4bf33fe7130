//! Bincount and DenseBincount: how often, or with what weight, each number occurs.

use smallvec::smallvec;
use tfvk_device::{Error, Result, Shape};

use super::segment::{Apply, Combine, Recipe, Rows, Scale, keys_by_row, reduce, sorted};
use super::segment_ops::Empty;
use crate::array::{fill, fill_bits};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs};

struct Bincount {
    /// Only whether a number occurs.
    binary: bool,
    /// A matrix is counted row by row.
    rows: bool,
}

/// The kernel of Bincount.
pub fn bincount(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Bincount { binary: false, rows: false }))
}

/// The kernel of DenseBincount.
pub fn dense_bincount(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Bincount { binary: node.bool("binary_output")?, rows: true }))
}

impl OpKernel for Bincount {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let (x, weights) = (inputs.shape(0)?, inputs.shape(2)?);
        let size = inputs.host_int(1)?;
        if size < 0 {
            return Err(Error::invalid_argument(format!("size ({size}) must be non-negative")));
        }
        if self.rows && x.rank() > 2 {
            return Err(Error::invalid_argument(format!("Shape must be at most rank 2 but is rank {}", x.rank())));
        }
        if weights.num_elements() != 0 && weights != x {
            return Err(Error::invalid_argument(format!(
                "`weights` must be the same shape as the input or of length 0, got {weights} and {x}"
            )));
        }
        Ok(smallvec![Output::Shape(if self.rows && x.rank() == 2 { Shape::from([x[0], size]) } else { Shape::from([size]) })])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, weights, out) = (ctx.input(0)?, ctx.input(2)?, ctx.output(0)?);
        fill(ctx, &out, None)?;
        let n = x.num_elements();
        if n == 0 {
            return Ok(());
        }
        let size = out.shape[out.shape.rank() - 1];
        let per_row = if out.shape.rank() == 2 { x.shape[1] } else { 0 };
        let limit = out.num_elements();
        let found = keys_by_row(ctx, &x, &[size], n, limit, per_row)?;
        let found = sorted(ctx, &found, limit)?;
        let counted = weights.num_elements() == 0 || self.binary;
        let values = if counted {
            let one = ctx.temp(out.dtype, [1])?;
            fill_bits(ctx, &one, &Empty::One.bits(out.dtype))?;
            one
        } else {
            weights
        };
        let combine = if self.binary { Combine::Last } else { Combine::Sum };
        let recipe = Recipe { combine, apply: Apply::Set, scale: Scale::None };
        reduce(ctx, recipe, &Rows { keys: &found.keys, order: Some(&found.order), values: &values, scalar: counted }, &out, 1)
    }
}
