//! Qr.

use smallvec::smallvec;
use tfvk_device::{Args, Kernel, Result, Shape, Tensor};

use super::{Matrices, THREADS, batch_shape, matrices, number, turns};
use crate::copy::copy_bytes;
use crate::loops;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

struct Qr {
    kernel: &'static Kernel,
    full: bool,
}

pub(super) fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    let kernel = shader::QR.get(&number(node.dtype("T")?))?;
    Ok(Box::new(Qr { kernel, full: node.bool("full_matrices")? }))
}

impl OpKernel for Qr {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let shape = inputs.shape(0)?;
        let m = matrices(shape, "input")?;
        let (rows, columns) = (i64::from(m.rows), i64::from(m.columns));
        let inner = if self.full { rows } else { rows.min(columns) };
        let (q, r) = (batch_shape(shape, &[rows, inner]), batch_shape(shape, &[inner, columns]));
        Ok(smallvec![Output::Shape(q), Output::Shape(r)])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (a, q, r) = (ctx.input(0)?, ctx.output(0)?, ctx.output(1)?);
        let m = matrices(&a.shape, "input")?;
        let inner = if self.full { m.rows } else { m.rows.min(m.columns) };
        let work = ctx.temp(a.dtype, a.shape.clone())?;
        let tau = ctx.temp(a.dtype, Shape::from([i64::from(m.batch), i64::from(m.rows.min(m.columns))]))?;
        if a.num_elements() > 0 {
            copy_bytes(ctx.device(), ctx.stream(), work.device_ptr()?, a.device_ptr()?, a.bytes())?;
        }
        launch(ctx, self.kernel, [&work, &tau, &q, &r], m, inner)
    }
}

/// Factors the matrices in `a`, which is destroyed, to `q` [batch, rows, inner] and `r` [batch, inner, columns]; `tau` is scratch,
/// [batch, least of rows and columns].
pub(super) fn factor(ctx: &Compute<'_>, a: &Tensor, tau: &Tensor, q: &Tensor, r: &Tensor, m: Matrices, inner: u32) -> Result<()> {
    launch(ctx, shader::QR.get(&number(a.dtype))?, [a, tau, q, r], m, inner)
}

fn launch(ctx: &Compute<'_>, kernel: &Kernel, [a, tau, q, r]: [&Tensor; 4], m: Matrices, inner: u32) -> Result<()> {
    let steps = m.rows.min(m.columns);
    // Finds reflections, writes r and begins q, applies reflections to q.
    let part = |find: (u32, u32), write_r: bool, apply: (u32, u32)| {
        let mut args = Args::new();
        args.read_write(a)?.read_write(tau)?.read_write(q)?.read_write(r)?;
        args.u32(m.batch).u32(m.rows).u32(m.columns).u32(inner).u32(inner);
        args.u32(find.0).u32(find.1).u32(u32::from(write_r)).u32(apply.0).u32(apply.1);
        ctx.stream().launch_linear(kernel, &[THREADS, 1, 1], &args, u64::from(m.batch))
    };
    let most = loops::limit(ctx.device().adapter());
    if most == u64::MAX {
        return part((0, steps), true, (0, steps));
    }
    let (below, columns) = (|k: u32| u64::from(m.rows - k), turns(u64::from(inner)));
    for range in loops::ranges(most, steps, |k| 16 + turns(below(k)) * 2 + turns(u64::from(m.columns - k)) * 2 * below(k))? {
        part(range, false, (0, 0))?;
    }
    loops::check(ctx, turns(u64::from(inner) * u64::from(m.columns)) + columns * u64::from(m.rows), "Q and R")?;
    part((0, 0), true, (0, 0))?;
    // The last reflection first.
    for (first, end) in loops::ranges(most, steps, |i| columns * (2 * below(steps - 1 - i) + 1))? {
        part((0, 0), false, (steps - end, steps - first))?;
    }
    Ok(())
}
