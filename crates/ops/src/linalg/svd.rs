//! Svd, by one-sided Jacobi rotations (see `svd.comp`).

use smallvec::smallvec;
use tfvk_device::{Args, DType, Result, Shape, Tensor};

use super::eig::{epsilon, optional, put_real, sweeps};
use super::{Matrices, THREADS, batch_shape, matrices, turns};
use crate::array::fill_bits;
use crate::loops;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

struct Svd {
    dtype: DType,
    vectors: bool,
    full: bool,
}

pub(super) fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Svd { dtype: node.dtype("T")?, vectors: node.bool("compute_uv")?, full: node.bool("full_matrices")? }))
}

impl OpKernel for Svd {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let shape = inputs.shape(0)?;
        let m = matrices(shape, "input")?;
        let (rows, columns) = (i64::from(m.rows), i64::from(m.columns));
        let few = rows.min(columns);
        let s = Output::Shape(batch_shape(shape, &[few]));
        if !self.vectors {
            return Ok(smallvec![s, Output::Shape(Shape::scalar()), Output::Shape(Shape::scalar())]);
        }
        let width = |n: i64| if self.full { n } else { few };
        let vectors = |n: i64| Output::Shape(batch_shape(shape, &[n, width(n)]));
        Ok(smallvec![s, vectors(rows), vectors(columns)])
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (x, s, u, v) = (ctx.input(0)?, ctx.output(0)?, ctx.output(1)?, ctx.output(2)?);
        let m = matrices(&x.shape, "input")?;
        if !self.vectors {
            fill_bits(ctx, &u, &[0; 16])?;
            fill_bits(ctx, &v, &[0; 16])?;
        }
        loops::check(ctx, 3 * turns(u64::from(m.rows) * u64::from(m.columns)), "a matrix's start")?;
        let tall = m.rows >= m.columns;
        let (length, n) = (m.rows.max(m.columns), m.rows.min(m.columns));
        if m.batch == 0 || length == 0 {
            return Ok(());
        }
        let (left, right) = if tall { (&u, &v) } else { (&v, &u) };
        let columns = if self.full { length } else { n };
        let rows_of_w = [i64::from(m.batch), i64::from(n.max(1)), i64::from(length)];
        let w = ctx.temp(self.dtype, rows_of_w)?;
        let vectors =
            if self.vectors && n > 0 { Some(Vectors::new(ctx, self.dtype, [m.batch, n, length, columns])?) } else { None };
        let per_matrix = |k: u32| [i64::from(m.batch), i64::from(k.max(1))];
        let scale = ctx.temp(self.dtype, per_matrix(1))?;
        let sizes = ctx.temp(self.dtype, per_matrix(n))?;
        let sweeps = sweeps(n);
        let rotated = ctx.temp(DType::U32, per_matrix(sweeps))?;
        fill_bits(ctx, &rotated, &[0; 16])?;
        let ctx = &*ctx;
        let even = n.next_multiple_of(2);
        // Rounding makes a dot product of orthogonal rows this large.
        let least = epsilon(self.dtype) * f64::from(length).sqrt();
        let run = |kind: &'static str, x: Option<&Tensor>, right: Option<&Tensor>, at: [u32; 3], groups: u64| -> Result<()> {
            let mut args = Args::new();
            args.read_write(&w)?;
            optional(&mut args, x)?;
            optional(&mut args, vectors.as_ref().map(|v| &v.turns))?;
            args.read_write(&scale)?.read_write(&sizes)?.read_write(&rotated)?;
            optional(&mut args, (s.num_elements() > 0).then_some(&s))?;
            optional(&mut args, right)?;
            let [sweep, round, m_or_rows] = at;
            args.u32(m.batch).u32(n).u32(length).u32(m_or_rows).u32(sweep).u32(round).u32(columns).u32(u32::from(tall));
            put_real(&mut args, self.dtype, least);
            let kernel = shader::SVD.get(&[self.dtype.into(), DType::U32.into(), kind.into()])?;
            ctx.stream().launch_linear(kernel, &[THREADS, 1, 1], &args, groups)
        };
        let (batch, rows) = (u64::from(m.batch), u64::from(m.batch) * u64::from(n));
        if n > 0 {
            run("start", Some(&x), None, [0, 0, even], batch)?;
            for sweep in 0..sweeps {
                for round in 0..even - 1 {
                    run("round", None, None, [sweep, round, even], batch * u64::from(even / 2))?;
                }
            }
            run("lengths", None, None, [0, 0, even], rows)?;
            run("finish", vectors.as_ref().map(|v| &v.left), Some(right).filter(|_| self.vectors), [0, 0, even], rows)?;
        }
        if !self.vectors || left.num_elements() == 0 {
            return Ok(());
        }
        let Some(vectors) = &vectors else { return identity(ctx, left, length) };
        let factored = Matrices { batch: m.batch, rows: length, columns: n };
        super::qr::factor(ctx, &vectors.left, &vectors.tau, left, &vectors.r, factored, columns)?;
        let each = u64::from(length) * u64::from(columns) * batch;
        run("signs", Some(&vectors.r), Some(left), [0, 0, columns], each.div_ceil(THREADS.into()))
    }
}

/// What is needed for singular vectors.
struct Vectors {
    turns: Tensor,
    left: Tensor,
    /// Of the QR factorisation that completes `left`.
    r: Tensor,
    tau: Tensor,
}

impl Vectors {
    fn new(ctx: &mut Compute<'_>, dtype: DType, sizes: [u32; 4]) -> Result<Self> {
        let [batch, n, length, columns] = sizes.map(i64::from);
        Ok(Self {
            turns: ctx.temp(dtype, [batch, n, n])?,
            left: ctx.temp(dtype, [batch, length, n])?,
            r: ctx.temp(dtype, [batch, columns, n])?,
            tau: ctx.temp(dtype, [batch, n])?,
        })
    }
}

/// A matrix without columns, completed.
fn identity(ctx: &Compute<'_>, left: &Tensor, length: u32) -> Result<()> {
    fill_bits(ctx, left, &[0; 16])?;
    let one = if left.dtype == DType::F64 { 1f64.to_ne_bytes().to_vec() } else { 1f32.to_ne_bytes().to_vec() };
    let (length, matrices) = (i64::from(length), left.num_elements() / (i64::from(length) * i64::from(length)));
    for matrix in 0..matrices {
        for i in 0..length {
            let element = left.slice(matrix * length * length + i * (length + 1), [1]);
            ctx.stream().upload(element.device_ptr()?, &one)?;
        }
    }
    Ok(())
}
