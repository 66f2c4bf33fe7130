//! SparseToDense: a tensor of one value with others at the places that indices name.

use smallvec::smallvec;
use tfvk_device::{Error, Result, Shape};

use super::segment::{Apply, Combine, Recipe, Rows, Scale, keys, reduce, sorted};
use crate::array::fill;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs};

struct SparseToDense;

/// The kernel of SparseToDense.
pub fn sparse_to_dense(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(SparseToDense))
}

impl OpKernel for SparseToDense {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let (indices, values) = (inputs.shape(0)?, inputs.shape(2)?);
        let shape = Shape::new(&inputs.host_ints(1)?);
        if let Some(d) = shape.iter().find(|d| **d < 0) {
            return Err(Error::invalid_argument(format!("output_shape: Dimension {d} must be >= 0")));
        }
        let (n, depth) = match *indices.dims() {
            [] => (1, 1),
            [n] => (n, 1),
            [n, d] => (n, d),
            _ => {
                return Err(Error::invalid_argument(format!(
                    "sparse_indices should be a scalar, vector, or matrix, got shape {indices}"
                )));
            }
        };
        if depth != shape.rank() as i64 {
            return Err(Error::invalid_argument(format!(
                "output_shape has incorrect number of elements: {} should be: {depth}",
                shape.rank()
            )));
        }
        if values.rank() != 0 && values.dims() != [n] {
            return Err(Error::invalid_argument(format!("sparse_values has incorrect shape {values}, should be [] or [{n}]")));
        }
        Ok(smallvec![Output::Shape(shape)])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (indices, values, out) = (ctx.input(0)?, ctx.input(2)?, ctx.output(0)?);
        fill(ctx, &out, Some(&ctx.input(3)?))?;
        let n = indices.shape.first().copied().unwrap_or(1);
        if n == 0 {
            return Ok(());
        }
        let limit = out.num_elements();
        let found = keys(ctx, &indices, &out.shape, n, limit)?;
        let found = sorted(ctx, &found, limit)?;
        let recipe = Recipe { combine: Combine::Last, apply: Apply::Set, scale: Scale::None };
        let scalar = values.shape.rank() == 0;
        reduce(ctx, recipe, &Rows { keys: &found.keys, order: Some(&found.order), values: &values, scalar }, &out, 1)
    }
}
