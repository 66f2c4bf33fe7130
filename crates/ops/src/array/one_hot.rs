//! OneHot: a row of `off` with `on` at the index.

use smallvec::smallvec;
use tfvk_device::{Args, DType, Error, Result, Shape};

use super::fill::size_word;
use super::mover::threads;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

struct OneHot {
    axis: i64,
}

/// The kernel of OneHot.
pub fn one_hot(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(OneHot { axis: node.i64("axis")? }))
}

impl OneHot {
    /// The output's shape and where the new axis is in it.
    fn shape(&self, inputs: &Inputs<'_>) -> Result<(Shape, usize)> {
        let indices = inputs.shape(0)?;
        let depth = inputs.host_int(1)?;
        if depth < 0 {
            return Err(Error::invalid_argument(format!("depth must be non-negative, got: {depth}")));
        }
        let rank = indices.rank() as i64;
        let axis = if self.axis == -1 { rank } else { self.axis };
        if !(0..=rank).contains(&axis) {
            return Err(Error::invalid_argument(format!("Expected axis to be -1 or between [0, {rank}].  But received: {axis}")));
        }
        for i in [2, 3] {
            if inputs.shape(i)?.num_elements() != 1 {
                return Err(Error::invalid_argument(format!(
                    "{} must be a scalar, got shape {}",
                    if i == 2 { "on_value" } else { "off_value" },
                    inputs.shape(i)?
                )));
            }
        }
        let mut shape = indices.clone();
        shape.insert(axis as usize, depth);
        Ok((shape, axis as usize))
    }
}

impl OpKernel for OneHot {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        Ok(smallvec![Output::Shape(self.shape(inputs)?.0)])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (shape, axis) = self.shape(&ctx.inputs())?;
        let suffix = Shape::new(&shape[axis + 1..]).num_elements();
        let indices = ctx.input(0)?;
        let (index, signed) = match indices.dtype {
            DType::U8 => ("1", 0),
            DType::I8 => ("1", 1),
            DType::I32 => ("4", 0),
            DType::I64 => ("8", 0),
            other => return Err(Error::invalid_argument(format!("indices: expected uint8, int8, int32 or int64, got {other}"))),
        };
        let out = ctx.output(0)?;
        let n = count(&out.shape)?;
        let mut args = Args::new();
        args.read(&indices)?.read(&ctx.input(2)?)?.read(&ctx.input(3)?)?.write(&out)?;
        args.u32(n).u32(shape[axis] as u32).u32(suffix as u32);
        let kernel = shader::ONE_HOT.get(&[size_word(out.dtype)?.into(), index.into()])?;
        let threads = threads(ctx);
        ctx.stream().launch_linear(kernel, &[threads, 1, 1, signed], &args, n.div_ceil(threads).into())
    }
}

/// The number of elements, which a kernel that counts them in 31 bits can take.
pub(crate) fn count(shape: &Shape) -> Result<u32> {
    let n = shape.num_elements();
    if n > i64::from(i32::MAX) {
        return Err(Error::unimplemented(format!("{shape} has {n} elements, more than the 2^31 - 1 that this kernel takes")));
    }
    Ok(n as u32)
}
