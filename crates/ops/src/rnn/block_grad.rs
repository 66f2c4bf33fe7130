//! The block LSTM's gradients: LSTMBlockCellGrad (one step: the gates' sums and the cell state), BlockLSTMGrad and
//! BlockLSTMGradV2 (a whole sequence: inputs, first states and weights too).

use tfvk_device::{Args, DType, Error, Kernel, Result, Shape, Tensor};

use super::block::{Order, Sizes, peepholes, zero};
use super::sweep::{combine, product};
use crate::matmul::product::Operand;
use crate::reduce::reducer::{Combine, First, Last, Reducer};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

/// Inputs (seq_len_max,) x, cs_prev, h_prev, w, wci, wcf, wco, b, i, cs, f, o, ci, co (, h), cs_grad, h_grad. Outputs of a
/// cell: cs_prev_grad, d_gates, wci_grad, wcf_grad, wco_grad; of a sequence: x_grad, cs_prev_grad, h_prev_grad, w_grad,
/// wci_grad, wcf_grad, wco_grad, b_grad.
pub struct Backward {
    dtype: DType,
    kernel: &'static Kernel,
    sums: Reducer,
    order: Order,
    peephole: bool,
    first: usize,
}

/// What [`Backward::sweep`] leaves.
struct Swept {
    /// [steps x batch, 4 units].
    d_gates: Tensor,
    /// [batch, units], f32: the gradient of the first cell state.
    dcs: Tensor,
    /// [batch, units], f32: the gradient of the first state.
    dh: Tensor,
}

impl Backward {
    /// LSTMBlockCellGrad, BlockLSTMGrad or BlockLSTMGradV2.
    pub fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        let dtype = node.dtype("T")?;
        Ok(Box::new(Self {
            dtype,
            kernel: shader::BLOCK_BACKWARD.get(&[dtype.into(), DType::F32.into()])?,
            sums: Reducer::new(Combine::Sum, First::Nothing, Last::Nothing, dtype)?,
            order: Order::of(node.op()),
            peephole: node.bool("use_peephole")?,
            first: usize::from(node.op() != "LSTMBlockCellGrad"),
        }))
    }

    fn sequence(&self) -> bool {
        self.first == 1
    }

    /// The indices of cs_grad and h_grad: behind h, which a cell does not have.
    fn gradients(&self) -> (usize, usize) {
        if self.sequence() { (16, 17) } else { (14, 15) }
    }

    fn check(&self, inputs: &Inputs<'_>) -> Result<Sizes> {
        let s = Sizes::new(inputs, self.first)?;
        let expected = s.shape(self.first, s.units);
        for i in self.first + 8..inputs.len() {
            if inputs.shape(i)? != &expected {
                let what = format!("input {i}: expected shape {expected}, got {}", inputs.shape(i)?);
                return Err(Error::invalid_argument(what));
            }
        }
        Ok(s)
    }

    /// The steps, last to first. `d_gates`: where the gates' gradients go.
    fn sweep(&self, ctx: &mut Compute<'_>, s: &Sizes, d_gates: Tensor) -> Result<Swept> {
        let (first, n, dense) = (self.first, 4 * s.units, [s.batch as i64, s.units as i64]);
        let (w, (cs_grad, h_grad)) = (s.weights(&ctx.input(first + 3)?), self.gradients());
        let (dcs, dh) = (ctx.temp(DType::F32, dense)?, ctx.temp(DType::F32, dense)?);
        zero(ctx, &dcs)?;
        if s.steps == 0 {
            zero(ctx, &dh)?;
        }
        for t in (0..s.steps).rev() {
            let at = |i: usize| Ok::<_, Error>(s.at(&ctx.input(i)?, t, s.units));
            let before = match t.checked_sub(1) {
                Some(t) => s.at(&ctx.input(first + 9)?, t, s.units),
                None => ctx.input(first + 1)?,
            };
            let mut args = Args::new();
            args.read(&before)?;
            for i in [8, 10, 11, 12, 13] {
                args.read(&at(first + i)?)?;
            }
            peepholes(&mut args, ctx, first, self.peephole)?;
            args.read(&at(cs_grad)?)?.read(&at(h_grad)?)?;
            if t + 1 == s.steps {
                args.null();
            } else {
                args.read(&dh)?;
            }
            let step = s.at(&d_gates, t, n);
            args.read_write(&dcs)?.write(&step)?.u32(s.count() as u32).u32(s.units as u32);
            ctx.stream().launch_linear(self.kernel, &self.order.constants(), &args, s.groups())?;
            if self.sequence() {
                product(ctx, Operand::new(&step, true), Operand::new(&w.1, true), &dh, s.batch, s.units, n)?;
            }
        }
        Ok(Swept { d_gates, dcs, dh })
    }

    /// The states before each step, [steps x batch, units], from the first and those after each step.
    fn before(&self, ctx: &mut Compute<'_>, s: &Sizes, first: &Tensor, after: &Tensor) -> Result<Tensor> {
        let all = ctx.temp(self.dtype, [(s.steps * s.batch) as i64, s.units as i64])?;
        if s.steps > 0 && s.count() > 0 {
            let (to, one) = (all.device_ptr()?, first.bytes());
            ctx.stream().copy(to, first.device_ptr()?, one)?;
            ctx.stream().copy(to.offset(one), after.device_ptr()?, one * (s.steps - 1))?;
        }
        Ok(all)
    }

    /// The gradients of the peepholes, outputs `output` on: sums over steps and sequences; zeros where there are none.
    fn peephole(&self, ctx: &mut Compute<'_>, s: &Sizes, swept: &Swept, output: usize) -> Result<()> {
        if !self.peephole {
            return (0..3).try_for_each(|i| zero(ctx, &ctx.output(output + i)?));
        }
        let (cs_prev, cs) = (ctx.input(self.first + 1)?, ctx.input(self.first + 9)?);
        let before = self.before(ctx, s, &cs_prev, &cs)?;
        let rows = s.steps * s.batch;
        let products = ctx.temp(self.dtype, [rows as i64, s.units as i64])?;
        for (i, (gate, state)) in [(0, &before), (self.order.forget, &before), (3, &cs)].into_iter().enumerate() {
            let at = (u64::from(gate) * s.units) as i64;
            let d = swept.d_gates.slice(at, [(swept.d_gates.num_elements() - at).max(0)]);
            let state = (state.slice(0, [(rows * s.units) as i64]), s.units);
            combine(ctx, &(d, 4 * s.units), Some(&state), &(products.clone(), s.units), (rows, s.units), true)?;
            self.sums.run(ctx, &products, &[true, false], &ctx.output(output + i)?)?;
        }
        Ok(())
    }

    /// What a sequence has besides a cell's gradients.
    fn weights(&self, ctx: &mut Compute<'_>, s: &Sizes, swept: &Swept) -> Result<()> {
        let (rows, n, d) = (s.steps * s.batch, 4 * s.units, &swept.d_gates);
        let (x, w, dx, dw) = (ctx.input(1)?, s.weights(&ctx.input(4)?), ctx.output(0)?, s.weights(&ctx.output(3)?));
        let h = self.before(ctx, s, &ctx.input(3)?, &ctx.input(15)?)?;
        if rows > 0 {
            product(ctx, Operand::new(d, true), Operand::new(&w.0, true), &dx, rows, s.input, n)?;
        }
        let done = (rows * s.input) as i64;
        zero(ctx, &dx.slice(done, [dx.num_elements() - done]))?;
        product(ctx, Operand::new(&x, false), Operand::new(d, false), &dw.0, s.input, n, rows)?;
        product(ctx, Operand::new(&h, false), Operand::new(d, false), &dw.1, s.units, n, rows)?;
        self.sums.run(ctx, d, &[true, false], &ctx.output(7)?)?;
        let dense = |t: &Tensor| (t.clone(), s.units);
        combine(ctx, &dense(&swept.dh), None, &dense(&ctx.output(2)?), (s.batch, s.units), false)
    }
}

impl OpKernel for Backward {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let s = self.check(inputs)?;
        let state = Shape::from([s.batch as i64, s.units as i64]);
        let mut shapes = if self.sequence() {
            vec![inputs.shape(1)?.clone(), state.clone(), state, inputs.shape(4)?.clone()]
        } else {
            vec![state, Shape::from([s.batch as i64, 4 * s.units as i64])]
        };
        for i in 4..7 {
            shapes.push(inputs.shape(self.first + i)?.clone());
        }
        if self.sequence() {
            shapes.push(inputs.shape(8)?.clone());
        }
        Ok(shapes.into_iter().map(Output::Shape).collect())
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let s = self.check(&ctx.inputs())?;
        let rows = [(s.steps * s.batch) as i64, 4 * s.units as i64];
        let d_gates = if self.sequence() { ctx.temp(self.dtype, rows)? } else { ctx.output(1)? };
        let swept = self.sweep(ctx, &s, d_gates)?;
        let dense = |t: &Tensor| (t.clone(), s.units);
        let cs_prev_grad = ctx.output(self.first)?;
        combine(ctx, &dense(&swept.dcs), None, &dense(&cs_prev_grad), (s.batch, s.units), false)?;
        self.peephole(ctx, &s, &swept, if self.sequence() { 4 } else { 2 })?;
        if self.sequence() { self.weights(ctx, &s, &swept) } else { Ok(()) }
    }
}
