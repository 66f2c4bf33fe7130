//! SelfAdjointEigV2, by Jacobi's rotations (see `eig.comp`).

use smallvec::smallvec;
use tfvk_device::{Args, DType, Result, Shape, Tensor};

use super::{THREADS, batch_shape, square, turns};
use crate::array::fill_bits;
use crate::loops;
use crate::shader::Value;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

/// Sweeps for `n` rows: they converge quadratically once the large elements are gone.
pub(super) fn sweeps(n: u32) -> u32 {
    if n > 1 { 8 + n.ilog2() } else { 0 }
}

struct SelfAdjointEig {
    dtype: DType,
    vectors: bool,
}

pub(super) fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(SelfAdjointEig { dtype: node.dtype("T")?, vectors: node.bool("compute_v")? }))
}

/// The type of a number's parts.
pub(super) fn real(dtype: DType) -> DType {
    match dtype {
        DType::C64 => DType::F32,
        DType::C128 => DType::F64,
        other => other,
    }
}

/// A number of the type that `dtype`'s parts have.
pub(super) fn put_real(args: &mut Args, dtype: DType, x: f64) {
    if real(dtype) == DType::F64 {
        args.f64(x);
    } else {
        #[allow(clippy::cast_possible_truncation)]
        args.f32(x as f32);
    }
}

/// The smallest number that counts beside 1.
pub(super) fn epsilon(dtype: DType) -> f64 {
    if real(dtype) == DType::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) }
}

impl OpKernel for SelfAdjointEig {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let shape = inputs.shape(0)?;
        let m = square(shape, "input")?;
        let vectors = if self.vectors { shape.clone() } else { Shape::scalar() };
        Ok(smallvec![Output::Shape(batch_shape(shape, &[i64::from(m.rows)])), Output::Shape(vectors)])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, e, v) = (ctx.input(0)?, ctx.output(0)?, ctx.output(1)?);
        if !self.vectors {
            fill_bits(ctx, &v, &[0; 16])?;
        }
        let m = square(&x.shape, "input")?;
        if x.num_elements() == 0 {
            return Ok(());
        }
        let n = u64::from(m.rows);
        loops::check(ctx, 2 * turns(n * n), "a matrix's start")?;
        let all = [i64::from(m.batch), i64::from(m.rows), i64::from(m.rows)];
        let (a, b) = (ctx.temp(self.dtype, all)?, ctx.temp(self.dtype, all)?);
        let turned = if self.vectors { Some(ctx.temp(self.dtype, all)?) } else { None };
        let scale = ctx.temp(real(self.dtype), [i64::from(m.batch)])?;
        let sweeps = sweeps(m.rows);
        let rotated = ctx.temp(DType::U32, [i64::from(sweeps.max(1)), i64::from(m.batch)])?;
        fill_bits(ctx, &rotated, &[0; 16])?;
        let even = m.rows.next_multiple_of(2);
        let run = |kind: &'static str, a: &Tensor, b: &Tensor, sweep: u32, round: u32, groups: u64| -> Result<()> {
            let mut args = Args::new();
            args.read_write(a)?.read_write(b)?;
            optional(&mut args, turned.as_ref())?;
            args.read_write(&scale)?.read_write(&rotated)?.write(&e)?;
            optional(&mut args, turned.as_ref().map(|_| &v))?;
            args.u32(m.batch).u32(m.rows).u32(even).u32(sweep).u32(round);
            put_real(&mut args, self.dtype, epsilon(self.dtype) * f64::from(m.rows).sqrt());
            let variant: [Value; 4] = [self.dtype.into(), real(self.dtype).into(), DType::U32.into(), kind.into()];
            ctx.stream().launch_linear(shader::EIG.get(&variant)?, &[THREADS, 1, 1], &args, groups)
        };
        run("start", &a, &x, 0, 0, m.batch.into())?;
        let pairs = u64::from(even / 2);
        let each = pairs * pairs + if self.vectors { pairs * u64::from(m.rows) } else { 0 };
        let groups = (each * u64::from(m.batch)).div_ceil(THREADS.into());
        for sweep in 0..sweeps {
            // An even number of rounds, so that every sweep ends where it began.
            for round in 0..even {
                let (from, to) = if round % 2 == 0 { (&a, &b) } else { (&b, &a) };
                run("round", from, to, sweep, round, groups)?;
            }
        }
        run("finish", &a, &b, 0, 0, u64::from(m.batch) * u64::from(m.rows))
    }
}

/// A tensor to read and write, if it is there.
pub(super) fn optional(args: &mut Args, tensor: Option<&Tensor>) -> Result<()> {
    match tensor {
        Some(t) => args.read_write(t).map(|_| ()),
        None => {
            args.null();
            Ok(())
        }
    }
}
