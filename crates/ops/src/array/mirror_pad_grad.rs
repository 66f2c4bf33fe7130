//! MirrorPadGrad: a mirrored border's gradient folded back onto the tensor.

use smallvec::smallvec;
use tfvk_device::{Args, Error, Result, Shape};

use super::mover::threads;
use super::one_hot::count;
use super::pad::{mirror_offset, pairs};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

/// Dimensions that the kernel's arguments have room for.
const MAX_RANK: usize = 6;

struct MirrorPadGrad {
    offset: i64,
}

/// The kernel of MirrorPadGrad.
pub fn mirror_pad_grad(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(MirrorPadGrad { offset: mirror_offset(node)? }))
}

impl OpKernel for MirrorPadGrad {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let dy = inputs.shape(0)?;
        if dy.rank() > MAX_RANK {
            return Err(Error::unimplemented(format!("inputs of rank over {MAX_RANK}, got {dy}")));
        }
        let pads = pairs(inputs, 1, dy.rank(), "paddings")?;
        let mut shape = Shape::scalar();
        for (&d, &(before, after)) in dy.iter().zip(&pads) {
            let inner = d - before - after;
            if inner < 1 || before.max(after) > inner - self.offset {
                return Err(Error::invalid_argument(format!(
                    "paddings must be no greater than the output dimension size: {before}, {after} greater than {}",
                    inner - self.offset
                )));
            }
            shape.push(inner);
        }
        Ok(smallvec![Output::Shape(shape)])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (dy, dx) = (ctx.input(0)?, ctx.output(0)?);
        let rank = dy.shape.rank();
        let pads = pairs(&ctx.inputs(), 1, rank, "paddings")?;
        count(&dy.shape)?;
        let n = count(&dx.shape)?;
        let mut args = Args::new();
        args.read(&dy)?.write(&dx)?.u32(n);
        (0..MAX_RANK).for_each(|i| _ = args.i32(dx.shape.get(i).map_or(1, |&d| d as i32)));
        (0..MAX_RANK).for_each(|i| _ = args.i32(pads.get(i).map_or(0, |p| p.0 as i32)));
        (0..MAX_RANK).for_each(|i| _ = args.i32(pads.get(i).map_or(0, |p| p.1 as i32)));
        let threads = threads(ctx);
        let kernel = shader::MIRROR_PAD_GRAD.get(&[dy.dtype.into()])?;
        ctx.stream().launch_linear(kernel, &[threads, 1, 1, rank as u32, self.offset as u32], &args, n.div_ceil(threads).into())
    }
}
