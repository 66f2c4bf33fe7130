//! Cross: products of vectors of three along the last axis.

use smallvec::smallvec;
use tfvk_device::{Args, Code, Error, Kernel, Result};

use super::mover::threads;
use super::one_hot::count;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

struct Cross(&'static Kernel);

/// The kernel of Cross.
pub fn cross(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Cross(shader::CROSS.get(&[node.dtype("T")?.into()])?)))
}

impl OpKernel for Cross {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let (a, b) = (inputs.shape(0)?, inputs.shape(1)?);
        if a != b {
            return Err(Error::invalid_argument(format!("Both inputs must be of same shape: {a} vs. {b}")));
        }
        if a.last() != Some(&3) {
            let what = format!("Cross-products are only defined for 3-element vectors, got {a}");
            return Err(Error::new(Code::FailedPrecondition, what));
        }
        Ok(smallvec![Output::Shape(a.clone())])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (a, b, y) = (ctx.input(0)?, ctx.input(1)?, ctx.output(0)?);
        let n = count(&y.shape)? / 3;
        let threads = threads(ctx);
        let mut args = Args::new();
        args.read(&a)?.read(&b)?.write(&y)?.u32(n).u32(0);
        ctx.stream().launch_linear(self.0, &[threads, 1, 1], &args, n.div_ceil(threads).into())
    }
}
