//! TridiagonalSolve and TridiagonalMatMul.

use smallvec::smallvec;
use tfvk_device::{Args, DType, Error, Result, Shape, Tensor};

use super::eig::{optional, real};
use super::{Matrices, THREADS, matrices};
use crate::loops;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

struct Solve {
    dtype: DType,
    pivoting: bool,
}

pub(super) fn solve(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    // As TensorFlow's kernel for GPUs.
    if node.bool("perturb_singular").unwrap_or(false) {
        return Err(Error::unimplemented("perturb_singular on a GPU"));
    }
    Ok(Box::new(Solve { dtype: node.dtype("T")?, pivoting: node.bool("partial_pivoting")? }))
}

/// The matrices of an input; their batch dimensions must be those of `like`.
fn like(inputs: &Inputs<'_>, index: usize, name: &str, like: &Shape) -> Result<Matrices> {
    let shape = inputs.shape(index)?;
    let m = matrices(shape, name)?;
    if shape.rank() != like.rank() || shape[..shape.rank() - 2] != like[..like.rank() - 2] {
        let what = format!("all input tensors must have the same outer dimensions: {name} has {shape}, rhs {like}");
        return Err(Error::invalid_argument(what));
    }
    Ok(m)
}

impl OpKernel for Solve {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let rhs = matrices(inputs.shape(1)?, "rhs")?;
        let diagonals = like(inputs, 0, "diagonals", inputs.shape(1)?)?;
        if diagonals.rows != 3 {
            let what = format!("Expected diagonals to be provided as a matrix with 3 rows, got {} rows.", diagonals.rows);
            return Err(Error::invalid_argument(what));
        }
        if diagonals.columns != rhs.rows {
            let (a, b) = (diagonals.columns, rhs.rows);
            let what = format!("Expected the same number of left-hand sides and right-hand sides, got {a} and {b}.");
            return Err(Error::invalid_argument(what));
        }
        Ok(smallvec![Output::Shape(inputs.shape(1)?.clone())])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (d, b, x) = (ctx.input(0)?, ctx.input(1)?, ctx.output(0)?);
        let m = matrices(&b.shape, "rhs")?;
        loops::check(ctx, 2 * u64::from(m.rows), "a tridiagonal system")?;
        let factors = ctx.temp(self.dtype, [i64::from(m.batch), 5, i64::from(m.rows)])?;
        for (kind, threads) in [("factor", u64::from(m.batch)), ("solve", u64::from(m.batch) * u64::from(m.columns))] {
            launch(ctx, kind, [Some(&d), None, None, Some(&b), Some(&factors)], &x, m, self.pivoting, threads)?;
        }
        Ok(())
    }
}

/// `inputs`: the diagonals, the right-hand sides, the factors.
fn launch(
    ctx: &Compute<'_>,
    kind: &'static str,
    inputs: [Option<&Tensor>; 5],
    x: &Tensor,
    m: Matrices,
    pivoting: bool,
    threads: u64,
) -> Result<()> {
    let mut args = Args::new();
    for input in &inputs[..4] {
        match input {
            Some(t) => args.read(t)?,
            None => args.null(),
        };
    }
    args.write(x)?;
    optional(&mut args, inputs[4])?;
    args.u32(m.batch).u32(m.rows).u32(m.columns).u32(0);
    let kernel = shader::TRIDIAGONAL.get(&[x.dtype.into(), real(x.dtype).into(), kind.into()])?;
    ctx.stream().launch_linear(kernel, &[THREADS, 1, 1, u32::from(pivoting)], &args, threads.div_ceil(THREADS.into()))
}

struct Product;

pub(super) fn product(_: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Product))
}

impl OpKernel for Product {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let rhs = matrices(inputs.shape(3)?, "rhs")?;
        for (i, name) in ["superdiag", "maindiag", "subdiag"].into_iter().enumerate() {
            let m = like(inputs, i, name, inputs.shape(3)?)?;
            if m.rows != 1 || m.columns != rhs.rows {
                let what = format!("{name} must have one row of {} elements a matrix, got {} x {}", rhs.rows, m.rows, m.columns);
                return Err(Error::invalid_argument(what));
            }
        }
        Ok(smallvec![Output::Shape(inputs.shape(3)?.clone())])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let inputs = [ctx.input(0)?, ctx.input(1)?, ctx.input(2)?, ctx.input(3)?];
        let x = ctx.output(0)?;
        let m = matrices(&x.shape, "rhs")?;
        let [above, main, below, rhs] = &inputs;
        launch(ctx, "product", [Some(above), Some(main), Some(below), Some(rhs), None], &x, m, false, x.num_elements() as u64)
    }
}
