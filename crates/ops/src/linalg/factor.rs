//! Cholesky, Lu and what follows from LU factors at once: determinants.

use smallvec::smallvec;
use tfvk_device::{Args, DType, Kernel, Result, Shape, Tensor};

use super::eig::real;
use super::{Matrices, THREADS, batch_shape, number, square, turns};
use crate::copy::copy_bytes;
use crate::loops;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

/// Copies a tensor of matrices, so that it can be factored in place.
fn copied(ctx: &Compute<'_>, from: &Tensor, to: &Tensor) -> Result<()> {
    if from.num_elements() == 0 {
        return Ok(());
    }
    copy_bytes(ctx.device(), ctx.stream(), to.device_ptr()?, from.device_ptr()?, from.bytes())
}

/// Factors the matrices in `a` in place; `from` (int32 [batch, n]) gets the row that each row came from.
pub(super) fn factor(ctx: &Compute<'_>, a: &Tensor, from: &Tensor, m: Matrices, adjoint: bool) -> Result<()> {
    let kernel = shader::LU.get(&number(a.dtype))?;
    let n = u64::from(m.rows);
    let cost = |k: u32| {
        let left = n - u64::from(k);
        let before = if k == 0 { turns(n) + turns(n * n) } else { 0 };
        before + 16 + turns(n) + 2 * turns(left) + turns(left * left)
    };
    for (first, end) in loops::ranges(loops::limit(ctx.device().adapter()), m.rows, cost)? {
        let mut args = Args::new();
        args.read_write(a)?.read_write(from)?.u32(m.batch).u32(m.rows).u32(u32::from(adjoint)).u32(first).u32(end);
        ctx.stream().launch_linear(kernel, &[THREADS, 1, 1], &args, u64::from(m.batch))?;
    }
    Ok(())
}

/// LU factors and rows of `a`, in scratch memory.
pub(super) fn factored(ctx: &mut Compute<'_>, a: &Tensor, m: Matrices, adjoint: bool) -> Result<(Tensor, Tensor)> {
    let lu = ctx.temp(a.dtype, a.shape.clone())?;
    let from = ctx.temp(DType::I32, Shape::from([i64::from(m.batch), i64::from(m.rows)]))?;
    copied(ctx, a, &lu)?;
    factor(ctx, &lu, &from, m, adjoint)?;
    Ok((lu, from))
}

struct Cholesky(&'static Kernel);

pub(super) fn cholesky(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Cholesky(shader::CHOLESKY.get(&number(node.dtype("T")?))?)))
}

impl OpKernel for Cholesky {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        square(inputs.shape(0)?, "input")?;
        Ok(smallvec![Output::Shape(inputs.shape(0)?.clone())])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (a, out) = (ctx.input(0)?, ctx.output(0)?);
        let m = square(&a.shape, "input")?;
        copied(ctx, &a, &out)?;
        let left = |k: u32| u64::from(m.rows - k);
        let cost = |k: u32| 4 + turns(left(k)) * (2 + left(k));
        for (first, end) in loops::ranges(loops::limit(ctx.device().adapter()), m.rows, cost)? {
            let mut args = Args::new();
            args.read_write(&out)?.u32(m.batch).u32(m.rows).u32(first).u32(end);
            ctx.stream().launch_linear(self.0, &[THREADS, 1, 1], &args, u64::from(m.batch))?;
        }
        Ok(())
    }
}

struct Lu;

pub(super) fn lu(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Lu))
}

impl OpKernel for Lu {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let shape = inputs.shape(0)?;
        let m = square(shape, "input")?;
        Ok(smallvec![Output::Shape(shape.clone()), Output::Shape(batch_shape(shape, &[i64::from(m.rows)]))])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (a, out, from) = (ctx.input(0)?, ctx.output(0)?, ctx.output(1)?);
        copied(ctx, &a, &out)?;
        factor(ctx, &out, &from, square(&a.shape, "input")?, false)
    }
}

struct Determinant {
    log: bool,
}

pub(super) fn determinant(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Determinant { log: false }))
}

pub(super) fn log_determinant(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Determinant { log: true }))
}

impl OpKernel for Determinant {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let shape = inputs.shape(0)?;
        square(shape, "input")?;
        let out = Output::Shape(batch_shape(shape, &[]));
        Ok(if self.log { smallvec![out.clone(), out] } else { smallvec![out] })
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let a = ctx.input(0)?;
        let m = square(&a.shape, "input")?;
        let (lu, from) = factored(ctx, &a, m, false)?;
        let kernel =
            shader::DETERMINANT.get(&[a.dtype.into(), real(a.dtype).into(), if self.log { "log" } else { "value" }.into()])?;
        let mut args = Args::new();
        args.read(&lu)?.read(&from)?.write(&ctx.output(0)?)?;
        if self.log {
            args.write(&ctx.output(1)?)?;
        } else {
            args.null();
        }
        args.u32(m.batch).u32(m.rows);
        let n = u64::from(m.rows);
        loops::check(ctx, 2 * n + turns(n) * n, "a determinant")?;
        ctx.stream().launch_linear(kernel, &[THREADS, 1, 1], &args, u64::from(m.batch))
    }
}
