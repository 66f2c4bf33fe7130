//! GRUBlockCell and its gradient: one step of a GRU whose reset gate applies before the product. Gates reset and update lie
//! in one matrix [input + units, 2 units], the candidate in another [input + units, units].

use tfvk_device::{Args, DType, Error, Kernel, Result, Shape, Tensor};

use super::block::THREADS;
use super::sweep::{combine, product};
use crate::matmul::product::Operand;
use crate::shader::Value;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

/// The sizes of one execution.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    batch: u64,
    input: u64,
    units: u64,
}

impl Sizes {
    /// From the inputs x, h_prev, w_ru, w_c, b_ru, b_c, and others of h_prev's shape. Errors: shapes that do not fit.
    fn new(inputs: &Inputs<'_>) -> Result<Self> {
        let (x, h) = (inputs.shape(0)?, inputs.shape(1)?);
        for (name, s) in [("x", x), ("h_prev", h)] {
            if s.rank() != 2 {
                return Err(Error::invalid_argument(format!("{name}: expected 2 dimensions, got shape {s}")));
            }
        }
        let (batch, input, units) = (x[0], x[1], h[1]);
        let state = Shape::from([batch, units]);
        let expected = [
            ("h_prev", 1, state.clone()),
            ("w_ru", 2, Shape::from([input + units, 2 * units])),
            ("w_c", 3, Shape::from([input + units, units])),
            ("b_ru", 4, Shape::from([2 * units])),
            ("b_c", 5, Shape::from([units])),
        ];
        let rest = (6..inputs.len()).map(|i| ("r, u, c and d_h", i, state.clone()));
        for (name, i, shape) in expected.into_iter().chain(rest) {
            if inputs.shape(i)? != &shape {
                return Err(Error::invalid_argument(format!("{name}: expected shape {shape}, got {}", inputs.shape(i)?)));
            }
        }
        if batch.saturating_mul((2 * units).max(input)) >= i64::from(i32::MAX) {
            return Err(Error::unimplemented(format!(
                "{batch} sequences of {input} and {units} elements: fewer than 2^31 are served"
            )));
        }
        Ok(Self { batch: batch as u64, input: input as u64, units: units as u64 })
    }

    /// The rows of a matrix that belong to x, and to the state.
    fn split(&self, w: &Tensor, n: u64) -> (Tensor, Tensor) {
        let (input, units, n) = (self.input as i64, self.units as i64, n as i64);
        (w.slice(0, [input, n]), w.slice(input * n, [units, n]))
    }

    fn state(&self) -> Shape {
        Shape::from([self.batch as i64, self.units as i64])
    }
}

/// The tensors of a step, in the shader's order; those that it does not use are absent.
#[derive(Default)]
struct Step<'a> {
    read: [Option<&'a Tensor>; 4],
    gates: [Option<&'a Tensor>; 3],
    dh: Option<&'a Tensor>,
}

fn launch(ctx: &Compute<'_>, kernel: &Kernel, s: &Sizes, step: &Step<'_>, y: &Tensor) -> Result<()> {
    let mut args = Args::new();
    for t in step.read {
        match t {
            Some(t) => args.read(t)?,
            None => args.null(),
        };
    }
    for t in step.gates {
        match t {
            Some(t) => args.read_write(t)?,
            None => args.null(),
        };
    }
    match step.dh {
        Some(t) => args.read(t)?,
        None => args.null(),
    };
    args.write(y)?;
    let count = s.batch * s.units;
    args.u32(count as u32).u32(s.units as u32);
    ctx.stream().launch_linear(kernel, &[THREADS, 1, 1], &args, count.div_ceil(THREADS.into()))
}

fn kernel(dtype: DType, step: &'static str) -> Result<&'static Kernel> {
    shader::GRU_CELL.get(&[dtype.into(), DType::F32.into(), Value::Word(step)])
}

/// Inputs x, h_prev, w_ru, w_c, b_ru, b_c; outputs r, u, c, h.
pub struct Forward {
    dtype: DType,
    reset: &'static Kernel,
    update: &'static Kernel,
}

impl Forward {
    /// GRUBlockCell.
    pub fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        let dtype = node.dtype("T")?;
        Ok(Box::new(Self { dtype, reset: kernel(dtype, "reset")?, update: kernel(dtype, "update")? }))
    }
}

impl OpKernel for Forward {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let s = Sizes::new(inputs)?;
        Ok((0..4).map(|_| Output::Shape(s.state())).collect())
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let s = Sizes::new(&ctx.inputs())?;
        let (x, h) = (ctx.input(0)?, ctx.input(1)?);
        let (r, u, c) = (ctx.output(0)?, ctx.output(1)?, ctx.output(2)?);
        let reset_state = ctx.temp(self.dtype, s.state())?;
        for (kernel, state, w, n, y) in
            [(self.reset, &h, 2, 2 * s.units, &reset_state), (self.update, &reset_state, 3, s.units, &ctx.output(3)?)]
        {
            let (w, b) = (s.split(&ctx.input(w)?, n), ctx.input(w + 2)?);
            let sums = [s.batch as i64, n as i64];
            let (from_x, from_h) = (ctx.temp(DType::F32, sums)?, ctx.temp(DType::F32, sums)?);
            product(ctx, Operand::new(&x, true), Operand::new(&w.0, false), &from_x, s.batch, n, s.input)?;
            product(ctx, Operand::new(state, true), Operand::new(&w.1, false), &from_h, s.batch, n, s.units)?;
            let read = [Some(&from_x), Some(&from_h), Some(&b), Some(&h)];
            launch(ctx, kernel, &s, &Step { read, gates: [Some(&r), Some(&u), Some(&c)], dh: None }, y)?;
        }
        Ok(())
    }
}

/// Inputs x, h_prev, w_ru, w_c, b_ru, b_c, r, u, c, d_h; outputs d_x, d_h_prev, d_c_bar, d_r_bar_u_bar.
pub struct Backward {
    candidate: &'static Kernel,
    gates: &'static Kernel,
    past: &'static Kernel,
}

impl Backward {
    /// GRUBlockCellGrad.
    pub fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        let dtype = node.dtype("T")?;
        let (candidate, gates, past) = (kernel(dtype, "candidate")?, kernel(dtype, "gates")?, kernel(dtype, "past")?);
        Ok(Box::new(Self { candidate, gates, past }))
    }
}

impl OpKernel for Backward {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let s = Sizes::new(inputs)?;
        let both = Shape::from([s.batch as i64, 2 * s.units as i64]);
        let shapes = [inputs.shape(0)?.clone(), s.state(), s.state(), both];
        Ok(shapes.into_iter().map(Output::Shape).collect())
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let s = Sizes::new(&ctx.inputs())?;
        let (h, r, u, c, dh) = (ctx.input(1)?, ctx.input(6)?, ctx.input(7)?, ctx.input(8)?, ctx.input(9)?);
        let (d_candidate, d_gates) = (ctx.output(2)?, ctx.output(3)?);
        let (w_ru, w_c) = (s.split(&ctx.input(2)?, 2 * s.units), s.split(&ctx.input(3)?, s.units));
        let gates = [Some(&r), Some(&u), Some(&c)];
        let all = Step { gates, dh: Some(&dh), ..Step::default() };
        launch(ctx, self.candidate, &s, &all, &d_candidate)?;

        let back = |ctx: &mut Compute<'_>, d: &Tensor, w: &Tensor, k: u64, n: u64| -> Result<Tensor> {
            let to = ctx.temp(DType::F32, [s.batch as i64, n as i64])?;
            product(ctx, Operand::new(d, true), Operand::new(w, true), &to, s.batch, n, k)?;
            Ok(to)
        };
        // The gradient of h_prev times the reset gate.
        let d_reset = back(ctx, &d_candidate, &w_c.1, s.units, s.units)?;
        launch(ctx, self.gates, &s, &Step { read: [Some(&d_reset), None, None, Some(&h)], ..all }, &d_gates)?;
        let through = back(ctx, &d_gates, &w_ru.1, 2 * s.units, s.units)?;
        let all = Step { read: [Some(&d_reset), Some(&through), None, None], gates, dh: Some(&dh) };
        launch(ctx, self.past, &s, &all, &ctx.output(1)?)?;

        let x = (back(ctx, &d_candidate, &w_c.0, s.units, s.input)?, s.input);
        let z = (back(ctx, &d_gates, &w_ru.0, 2 * s.units, s.input)?, s.input);
        combine(ctx, &x, Some(&z), &(ctx.output(0)?, s.input), (s.batch, s.input), false)
    }
}
