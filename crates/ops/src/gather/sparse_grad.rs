//! The gradients of SparseSegmentSum, -Mean and -SqrtN: each row of the gradient, divided as the op divided it, goes to
//! every row of the data that its segment had.

use smallvec::smallvec;
use tfvk_device::{Error, Result, Shape};

use super::gather::{along_axis, launch};
use super::segment::{Apply, Combine, Recipe, Rows, Scale, keys, reduce, sorted};
use crate::array::fill;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs};

struct Grad {
    scale: Scale,
}

/// The kernel of SparseSegmentSumGrad, SparseSegmentMeanGrad and SparseSegmentSqrtNGrad.
pub fn sparse_segment_grad(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    let scale = match node.op() {
        "SparseSegmentMeanGrad" => Scale::Count,
        "SparseSegmentSqrtNGrad" => Scale::RootOfCount,
        _ => Scale::None,
    };
    Ok(Box::new(Grad { scale }))
}

impl OpKernel for Grad {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let (grad, indices, ids) = (inputs.shape(0)?, inputs.shape(1)?, inputs.shape(2)?);
        if grad.rank() < 1 || indices.rank() != 1 || indices != ids {
            return Err(Error::invalid_argument(format!(
                "segment_ids and indices should have same size: grad {grad}, indices {indices}, segment_ids {ids}"
            )));
        }
        let mut shape = grad.clone();
        shape[0] = inputs.host_int(3)?;
        if shape[0] < 0 {
            return Err(Error::invalid_argument(format!("output_dim0: expected a value >= 0, got {}", shape[0])));
        }
        Ok(smallvec![Output::Shape(shape)])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (mut grad, indices, ids, out) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?, ctx.output(0)?);
        fill(ctx, &out, None)?;
        let n = indices.num_elements();
        if n == 0 || grad.num_elements() == 0 {
            return Ok(());
        }
        let (segments, inner) = (grad.shape[0], Shape::new(&grad.shape[1..]).num_elements());
        if self.scale != Scale::None {
            let scaled = ctx.temp(grad.dtype, grad.shape.clone())?;
            let found = keys(ctx, &ids, &[segments], n, segments)?;
            let recipe = Recipe { combine: Combine::Last, apply: Apply::Set, scale: self.scale };
            reduce(ctx, recipe, &Rows { keys: &found, order: Some(&found), values: &grad, scalar: false }, &scaled, inner)?;
            grad = scaled;
        }
        let plan = along_axis(&grad.shape, &ids.shape, 0, 0)?;
        let rows = ctx.temp(grad.dtype, plan.shape.clone())?;
        launch(ctx, &plan, &grad, &ids, &rows)?;
        let found = keys(ctx, &indices, &[out.shape[0]], n, out.shape[0])?;
        let found = sorted(ctx, &found, out.shape[0])?;
        let recipe = Recipe { combine: Combine::Sum, apply: Apply::Set, scale: Scale::None };
        reduce(ctx, recipe, &Rows { keys: &found.keys, order: Some(&found.order), values: &rows, scalar: false }, &out, inner)
    }
}
