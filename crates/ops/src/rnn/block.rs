//! The block LSTM: LSTMBlockCell (one step), BlockLSTM and BlockLSTMV2 (a whole sequence), forward. Gates lie in one matrix
//! [input + units, 4 units], in the order input, cell, forget, output, or (V2) input, forget, cell, output.

use tfvk_device::{Args, DType, Error, Kernel, Result, Shape, Tensor};

use super::sweep::product;
use crate::matmul::product::Operand;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs, shader};

/// Threads of a workgroup.
pub const THREADS: u32 = 128;

/// The order of the gates: in which quarter cell input and forget gate stand.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// Cell input.
    pub cell: u32,
    /// Forget gate.
    pub forget: u32,
}

impl Order {
    /// That of an op.
    pub fn of(op: &str) -> Self {
        if op.ends_with("V2") { Self { cell: 2, forget: 1 } } else { Self { cell: 1, forget: 2 } }
    }

    /// The values of constants 0 to 4.
    pub fn constants(self) -> [u32; 5] {
        [THREADS, 1, 1, self.cell, self.forget]
    }
}

/// The sizes of one execution.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Steps that are computed.
    pub steps: u64,
    /// Steps in all.
    pub time: u64,
    /// Sequences.
    pub batch: u64,
    /// Elements of an input.
    pub input: u64,
    /// Elements of a state.
    pub units: u64,
}

impl Sizes {
    /// From the inputs x, cs_prev, h_prev, w, wci, wcf, wco, b, which start at `first`; before them stands `seq_len_max`
    /// where x has a time axis. Errors: shapes that do not fit each other.
    pub fn new(inputs: &Inputs<'_>, first: usize) -> Result<Self> {
        let x = inputs.shape(first)?;
        let rank = 2 + first;
        if x.rank() != rank {
            return Err(Error::invalid_argument(format!("x: expected {rank} dimensions, got shape {x}")));
        }
        let cs = inputs.shape(first + 1)?;
        if cs.rank() != 2 {
            return Err(Error::invalid_argument(format!("cs_prev: expected 2 dimensions, got shape {cs}")));
        }
        let (batch, input, units) = (x[rank - 2], x[rank - 1], cs[1]);
        let time = if first == 1 { x[0] } else { 1 };
        let expected = [
            ("cs_prev", 1, Shape::from([batch, units])),
            ("h_prev", 2, Shape::from([batch, units])),
            ("w", 3, Shape::from([input + units, 4 * units])),
            ("wci", 4, Shape::from([units])),
            ("wcf", 5, Shape::from([units])),
            ("wco", 6, Shape::from([units])),
            ("b", 7, Shape::from([4 * units])),
        ];
        for (name, i, shape) in expected {
            let got = inputs.shape(first + i)?;
            if &shape != got {
                return Err(Error::invalid_argument(format!("{name}: expected shape {shape}, got {got}")));
            }
        }
        let steps = if first == 1 { inputs.host_int(0)? } else { 1 };
        if !(0..=time).contains(&steps) {
            return Err(Error::invalid_argument(format!("seq_len_max: expected 0 to {time} steps, got {steps}")));
        }
        let elements = (time * batch).saturating_mul((4 * units).max(input));
        if elements >= i64::from(i32::MAX) {
            return Err(Error::unimplemented(format!("{time} steps of {elements} elements in all; expected fewer than 2^31")));
        }
        let [steps, time, batch, input, units] = [steps, time, batch, input, units].map(|v| v as u64);
        Ok(Self { steps, time, batch, input, units })
    }

    /// Units of all sequences.
    pub fn count(&self) -> u64 {
        self.batch * self.units
    }

    /// [time, batch, n], without the time axis for a single cell.
    pub fn shape(&self, first: usize, n: u64) -> Shape {
        let (time, batch, n) = (self.time as i64, self.batch as i64, n as i64);
        if first == 1 { Shape::from([time, batch, n]) } else { Shape::from([batch, n]) }
    }

    /// Step `t` of a [time, batch, n] tensor.
    pub fn at(&self, x: &Tensor, t: u64, n: u64) -> Tensor {
        x.slice((t * self.batch * n) as i64, [self.batch as i64, n as i64])
    }

    /// The matrices of input and state.
    pub fn weights(&self, w: &Tensor) -> (Tensor, Tensor) {
        let (input, units) = (self.input as i64, self.units as i64);
        (w.slice(0, [input, 4 * units]), w.slice(input * 4 * units, [units, 4 * units]))
    }

    /// Workgroups of a step's kernel.
    pub fn groups(&self) -> u64 {
        self.count().div_ceil(THREADS.into())
    }
}

/// Fills a tensor with zeros.
pub fn zero(ctx: &Compute<'_>, t: &Tensor) -> Result<()> {
    if t.num_elements() == 0 { Ok(()) } else { ctx.stream().fill(t.device_ptr()?, t.bytes(), 0) }
}

/// The three peephole vectors, or none.
pub fn peepholes(args: &mut Args, ctx: &Compute<'_>, first: usize, peephole: bool) -> Result<()> {
    for i in 4..7 {
        if peephole {
            args.read(&ctx.input(first + i)?)?;
        } else {
            args.null();
        }
    }
    Ok(())
}

/// Inputs (seq_len_max,) x, cs_prev, h_prev, w, wci, wcf, wco, b; outputs i, cs, f, o, ci, co, h.
pub struct Forward {
    kernel: &'static Kernel,
    order: Order,
    forget_bias: f32,
    cell_clip: f32,
    peephole: bool,
    /// The input x: behind `seq_len_max`, where there is one.
    first: usize,
}

impl Forward {
    /// LSTMBlockCell, BlockLSTM or BlockLSTMV2.
    pub fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Ok(Box::new(Self {
            kernel: shader::BLOCK_FORWARD.get(&[node.dtype("T")?.into(), DType::F32.into()])?,
            order: Order::of(node.op()),
            forget_bias: if node.has("forget_bias") { node.f32("forget_bias")? } else { 0.0 },
            cell_clip: node.f32("cell_clip")?,
            peephole: node.bool("use_peephole")?,
            first: usize::from(node.op() != "LSTMBlockCell"),
        }))
    }
}

impl OpKernel for Forward {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let s = Sizes::new(inputs, self.first)?;
        Ok((0..7).map(|_| Output::Shape(s.shape(self.first, s.units))).collect())
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let first = self.first;
        let s = Sizes::new(&ctx.inputs(), first)?;
        let n = 4 * s.units;
        let (x, b, w) = (ctx.input(first)?, ctx.input(first + 7)?, s.weights(&ctx.input(first + 3)?));
        let outputs = (0..7).map(|i| ctx.output(i)).collect::<Result<Vec<_>>>()?;
        let sums = ctx.temp(DType::F32, [(s.steps * s.batch) as i64, n as i64])?;
        let recurrent = ctx.temp(DType::F32, [s.batch as i64, n as i64])?;
        if s.steps > 0 {
            product(ctx, Operand::new(&x, true), Operand::new(&w.0, false), &sums, s.steps * s.batch, n, s.input)?;
        }
        for t in 0..s.steps {
            let before = |i: usize, given: usize| match t.checked_sub(1) {
                Some(t) => Ok(s.at(&outputs[i], t, s.units)),
                None => ctx.input(first + given),
            };
            let (cs, h) = (before(1, 1)?, before(6, 2)?);
            product(ctx, Operand::new(&h, true), Operand::new(&w.1, false), &recurrent, s.batch, n, s.units)?;
            let mut args = Args::new();
            args.read(&s.at(&sums, t, n))?.read(&recurrent)?.read(&b)?.read(&cs)?;
            peepholes(&mut args, ctx, first, self.peephole)?;
            for output in &outputs {
                args.write(&s.at(output, t, s.units))?;
            }
            args.u32(s.count() as u32).u32(s.units as u32).f32(self.forget_bias).f32(self.cell_clip);
            ctx.stream().launch_linear(self.kernel, &self.order.constants(), &args, s.groups())?;
        }
        let done = (s.steps * s.count()) as i64;
        outputs.iter().try_for_each(|o| zero(ctx, &o.slice(done, [o.num_elements() - done])))
    }
}
