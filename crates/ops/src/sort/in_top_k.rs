//! InTopKV2: whether the target is among the k largest predictions.

use smallvec::smallvec;
use tfvk_device::{Args, DType, Error, Result};

use crate::array::{count, threads};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

struct InTopK;

/// The kernel of InTopKV2.
pub fn in_top_k_v2(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(InTopK))
}

impl OpKernel for InTopK {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let (predictions, targets) = (inputs.shape(0)?, inputs.shape(1)?);
        if predictions.rank() != 2 || targets.rank() != 1 || predictions[0] != targets[0] {
            return Err(Error::invalid_argument(format!(
                "predictions must be a matrix with a row for each target, got {predictions} and {targets}"
            )));
        }
        Ok(smallvec![Output::Shape(targets.clone())])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (predictions, targets, out) = (ctx.input(0)?, ctx.input(1)?, ctx.output(0)?);
        let k = ctx.inputs().host_int(2)?.clamp(-1, i64::from(i32::MAX));
        count(&predictions.shape)?;
        let rows = count(&targets.shape)?;
        let mut args = Args::new();
        args.read(&predictions)?.read(&targets)?.write(&out)?;
        args.u32(rows).u32(predictions.shape[1] as u32).i32(k as i32);
        let index = if targets.dtype == DType::I64 { "8" } else { "4" };
        let threads = threads(ctx).min(64);
        ctx.stream().launch_linear(shader::IN_TOP_K.get(&[index.into()])?, &[threads, 1, 1], &args, rows.div_ceil(threads).into())
    }
}
