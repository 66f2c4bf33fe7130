//! Where: the coordinates of the elements that are not zero, in order. How many there are is known only to the device, so
//! the host waits for that number.

use smallvec::smallvec;
use tfvk_device::{Args, DType, Error, Result, Shape, Tensor};

use super::scan::exclusive_scan;
use crate::array::{count, threads};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

/// Dimensions that the kernel's arguments have room for.
const MAX_RANK: usize = 8;

struct Where;

/// The kernel of Where.
pub fn find(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Where))
}

/// The one uint32 of a tensor, for which the device is waited for.
pub fn read_u32(ctx: &Compute<'_>, t: &Tensor) -> Result<u32> {
    match *ctx.stream().read(t)?.as_slice() {
        [a, b, c, d] => Ok(u32::from_le_bytes([a, b, c, d])),
        _ => Err(Error::internal("expected one uint32")),
    }
}

impl OpKernel for Where {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let x = inputs.shape(0)?;
        if x.rank() > MAX_RANK {
            return Err(Error::unimplemented(format!("inputs of rank over {MAX_RANK}, got {x}")));
        }
        Ok(smallvec![if x.num_elements() == 0 { Output::Shape(Shape::from([0, x.rank() as i64])) } else { Output::Dynamic }])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let x = ctx.input(0)?;
        let n = count(&x.shape)?;
        let (threads, rank) = (threads(ctx), x.shape.rank());
        let groups = u64::from(n.div_ceil(threads));
        let flags = ctx.temp(DType::U32, [i64::from(n)])?;
        let total = ctx.temp(DType::U32, [1])?;
        let mut args = Args::new();
        args.read(&x)?.write(&flags)?.u32(n);
        ctx.stream().launch_linear(shader::WHERE_FLAGS.get(&[x.dtype.into()])?, &[threads, 1, 1], &args, groups)?;
        exclusive_scan(ctx, &flags, &flags, Some(&total))?;
        let found = read_u32(ctx, &total)?;
        let out = ctx.allocate_output(0, &Shape::from([i64::from(found), rank as i64]))?;
        if out.num_elements() == 0 {
            return Ok(());
        }
        let mut args = Args::new();
        args.read(&flags)?.read(&total)?.write(&out)?.u32(n);
        (0..MAX_RANK).for_each(|i| _ = args.u32(x.shape.get(i).map_or(1, |&d| d as u32)));
        ctx.stream().launch_linear(shader::WHERE_WRITE.get(&[])?, &[threads, 1, 1, rank as u32], &args, groups)
    }
}
