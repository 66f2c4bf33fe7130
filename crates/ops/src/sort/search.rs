//! LowerBound and UpperBound: where values belong in sorted rows.

use smallvec::smallvec;
use tfvk_device::{Args, Error, Result, Tensor};

use crate::array::{count, threads};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

struct Bound {
    upper: bool,
}

/// The kernel of LowerBound.
pub fn lower_bound(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Bound { upper: false }))
}

/// The kernel of UpperBound.
pub fn upper_bound(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Bound { upper: true }))
}

/// Places of `values` (`[rows, n]`) in `numbers` (`[rows, width]`, sorted) into `out` (`[rows, n]`, 4 or 8 bytes each).
pub fn search(
    ctx: &Compute<'_>,
    numbers: &Tensor,
    values: &Tensor,
    out: &Tensor,
    width: i64,
    per_row: i64,
    upper: bool,
) -> Result<()> {
    let n = count(&values.shape)?;
    if n == 0 {
        return Ok(());
    }
    let mut args = Args::new();
    args.read(numbers)?.read(values)?.write(out)?.u32(n).u32(width as u32).u32(per_row as u32);
    let threads = threads(ctx);
    let constants = [threads, 1, 1, u32::from(upper), out.dtype.size() as u32];
    ctx.stream().launch_linear(shader::SEARCH.get(&[values.dtype.into()])?, &constants, &args, n.div_ceil(threads).into())
}

impl OpKernel for Bound {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let (numbers, values) = (inputs.shape(0)?, inputs.shape(1)?);
        if numbers.rank() != 2 || values.rank() != 2 || numbers[0] != values[0] {
            return Err(Error::invalid_argument(format!("expected two matrices of as many rows, got {numbers} and {values}")));
        }
        Ok(smallvec![Output::Shape(values.clone())])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (numbers, values, out) = (ctx.input(0)?, ctx.input(1)?, ctx.output(0)?);
        search(ctx, &numbers, &values, &out, numbers.shape[1], values.shape[1], self.upper)
    }
}
