//! MatrixInverse, MatrixSolve and MatrixTriangularSolve.

use smallvec::smallvec;
use tfvk_device::{Args, Error, Result, Shape, Tensor};

use super::factor::factored;
use super::{Matrices, THREADS, batch_shape, matrices, number, square, turns};
use crate::loops;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

/// What the triangular kernel is told.
struct Triangle<'a> {
    a: &'a Tensor,
    lower: bool,
    adjoint: bool,
    unit: bool,
}

/// Where the right-hand side comes from.
enum Start<'a> {
    /// The identity, with its rows permuted.
    Identity(&'a Tensor),
    /// A tensor; with the rows permuted, where there is a permutation.
    Rows(&'a Tensor, Option<&'a Tensor>),
    /// The output holds it.
    InPlace,
}

fn substitute(ctx: &Compute<'_>, triangle: &Triangle<'_>, start: &Start<'_>, x: &Tensor, m: Matrices) -> Result<()> {
    let columns = u64::from(m.columns);
    let cost = |s: u32| {
        let left = u64::from(m.rows - s);
        4 + turns(columns) + turns(left * columns) + if s == 0 { turns(u64::from(m.rows) * columns) } else { 0 }
    };
    let flags = [triangle.lower, triangle.adjoint, triangle.unit].map(u32::from);
    let constants = [THREADS, 1, 1, flags[0], flags[1], flags[2]];
    let kernel = shader::TRIANGULAR.get(&number(x.dtype))?;
    for (first, end) in loops::ranges(loops::limit(ctx.device().adapter()), m.rows, cost)? {
        let mut args = Args::new();
        args.read(triangle.a)?;
        match start {
            Start::Identity(from) => args.null().read(from)?,
            Start::Rows(rhs, Some(from)) => args.read(rhs)?.read(from)?,
            Start::Rows(rhs, None) => args.read(rhs)?.null(),
            Start::InPlace => args.null().null(),
        };
        let fresh = first == 0 && !matches!(start, Start::InPlace);
        args.read_write(x)?.u32(m.batch).u32(m.rows).u32(m.columns).u32(u32::from(fresh)).u32(first).u32(end);
        ctx.stream().launch_linear(kernel, &constants, &args, u64::from(m.batch))?;
    }
    Ok(())
}

/// x = a^-1 (right-hand side), by LU factors.
fn solve_by_lu(ctx: &mut Compute<'_>, a: &Tensor, rhs: Option<&Tensor>, x: &Tensor, adjoint: bool) -> Result<()> {
    let m = Matrices { columns: matrices(&x.shape, "output")?.columns, ..square(&a.shape, "matrix")? };
    let (lu, from) = factored(ctx, a, m, adjoint)?;
    let start = match rhs {
        Some(rhs) => Start::Rows(rhs, Some(&from)),
        None => Start::Identity(&from),
    };
    substitute(ctx, &Triangle { a: &lu, lower: true, adjoint: false, unit: true }, &start, x, m)?;
    substitute(ctx, &Triangle { a: &lu, lower: false, adjoint: false, unit: false }, &Start::InPlace, x, m)
}

struct Inverse {
    adjoint: bool,
}

pub(super) fn inverse(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Inverse { adjoint: node.bool("adjoint")? }))
}

impl OpKernel for Inverse {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        square(inputs.shape(0)?, "input")?;
        Ok(smallvec![Output::Shape(inputs.shape(0)?.clone())])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (a, x) = (ctx.input(0)?, ctx.output(0)?);
        solve_by_lu(ctx, &a, None, &x, self.adjoint)
    }
}

struct Solve {
    adjoint: bool,
}

pub(super) fn solve(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Solve { adjoint: node.bool("adjoint")? }))
}

impl OpKernel for Solve {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let (a, rhs) = (inputs.shape(0)?, inputs.shape(1)?);
        let (m, n) = (square(a, "matrix")?, matrices(rhs, "rhs")?);
        if m.rows != n.rows || batch_shape(a, &[]) != batch_shape(rhs, &[]) {
            return Err(Error::invalid_argument(format!("matrix and rhs do not fit together: {a} and {rhs}")));
        }
        Ok(smallvec![Output::Shape(rhs.clone())])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (a, rhs, x) = (ctx.input(0)?, ctx.input(1)?, ctx.output(0)?);
        solve_by_lu(ctx, &a, Some(&rhs), &x, self.adjoint)
    }
}

struct Triangular {
    lower: bool,
    adjoint: bool,
}

pub(super) fn triangular(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Triangular { lower: node.bool("lower")?, adjoint: node.bool("adjoint")? }))
}

impl OpKernel for Triangular {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let (a, rhs) = (inputs.shape(0)?, inputs.shape(1)?);
        let (m, n) = (square(a, "matrix")?, matrices(rhs, "rhs")?);
        if m.rows != n.rows {
            return Err(Error::invalid_argument(format!("matrix and rhs do not fit together: {a} and {rhs}")));
        }
        let batch = crate::expr::broadcast(&batch_shape(a, &[]), &batch_shape(rhs, &[]))?;
        let shape: Shape = batch.iter().copied().chain([i64::from(n.rows), i64::from(n.columns)]).collect();
        Ok(smallvec![Output::Shape(shape)])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (a, rhs, x) = (ctx.input(0)?, ctx.input(1)?, ctx.output(0)?);
        let m = matrices(&x.shape, "output")?;
        if batch_shape(&a.shape, &[]) == batch_shape(&rhs.shape, &[]) {
            return self.launch(ctx, &a, &rhs, &x, m);
        }
        // One launch a matrix: broadcasting is rare here.
        let batch = batch_shape(&x.shape, &[]);
        let one = Matrices { batch: 1, ..m };
        for i in 0..i64::from(m.batch) {
            let part = |t: &Tensor| {
                let inner: i64 = t.shape[t.shape.rank() - 2..].iter().product();
                t.slice(broadcast_index(&batch, &batch_shape(&t.shape, &[]), i) * inner, [inner])
            };
            self.launch(ctx, &part(&a), &part(&rhs), &part(&x), one)?;
        }
        Ok(())
    }
}

impl Triangular {
    fn launch(&self, ctx: &Compute<'_>, a: &Tensor, rhs: &Tensor, x: &Tensor, m: Matrices) -> Result<()> {
        let triangle = Triangle { a, lower: self.lower, adjoint: self.adjoint, unit: false };
        substitute(ctx, &triangle, &Start::Rows(rhs, None), x, m)
    }
}

/// The element of a tensor of shape `small` that element `i` of one of shape `large` broadcasts from.
fn broadcast_index(large: &Shape, small: &Shape, mut i: i64) -> i64 {
    let (mut index, mut stride) = (0, 1);
    for (back, &dim) in large.iter().rev().enumerate() {
        let at = i % dim;
        i /= dim;
        if let Some(&own) = small.rank().checked_sub(back + 1).and_then(|axis| small.get(axis)) {
            index += if own == 1 { 0 } else { at * stride };
            stride *= own;
        }
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasts_by_axis() {
        let (large, small) = (Shape::from([2, 3, 4]), Shape::from([3, 1]));
        let got: Vec<i64> = (0..24).map(|i| broadcast_index(&large, &small, i)).collect();
        let want: Vec<i64> = (0..24).map(|i| i / 4 % 3).collect();
        assert_eq!(got, want);
    }
}
