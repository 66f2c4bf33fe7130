//! The launches: one direction of one layer over all its steps, forward and backward, and the moves of states between
//! TensorFlow's tensors and the dense ones that the steps work on. Knows no op.

use tfvk_device::{Args, DType, Kernel, Result, Tensor};

use super::config::{Config, Mode, Sizes};
use super::reserve::Cell;
use crate::matmul::epilogue::Epilogue;
use crate::matmul::product::{Operand, Product};
use crate::{Compute, shader};

const THREADS: u32 = 128;

/// The kernels of one node.
#[derive(Clone, Copy)]
pub struct Steps {
    config: Config,
    forward: &'static Kernel,
    backward: &'static Kernel,
    dropout: &'static Kernel,
}

/// The weights of one direction of one layer, or their gradients.
#[derive(Clone, Debug)]
pub struct Weights {
    /// [gates x units, input].
    pub input: Tensor,
    /// [gates x units, units].
    pub state: Tensor,
    /// [2, gates x units].
    pub bias: Tensor,
}

impl Weights {
    /// Those of `layer` and `direction` in `params`.
    pub fn of(s: &Sizes, params: &Tensor, layer: u64, direction: u64) -> Self {
        let n = (s.gates * s.units) as i64;
        let (input, units) = (s.input_of(layer) as i64, s.units as i64);
        let at = s.weights_at(layer, direction) as i64;
        Self {
            input: params.slice(at, [n, input]),
            state: params.slice(at + n * input, [n, units]),
            bias: params.slice(s.bias_at(layer, direction) as i64, [2, n]),
        }
    }
}

/// A product without batch or epilogue.
pub fn product(ctx: &mut Compute<'_>, a: Operand, b: Operand, c: &Tensor, m: u64, n: u64, k: u64) -> Result<()> {
    Product { a, b, c: c.clone(), c_row: None, m, n, k, batch: Default::default(), epilogue: Epilogue::none() }.run(ctx)
}

/// Rows with gaps: a tensor and the elements from one row to the next.
pub type Rows = (Tensor, u64);

/// `y = x (+ z)`, or `x * z` where `product`, for `rows` rows of `n` elements, from x's element type to y's.
pub fn combine(ctx: &Compute<'_>, x: &Rows, z: Option<&Rows>, y: &Rows, (rows, n): (u64, u64), product: bool) -> Result<()> {
    let kernel = shader::RNN_STATE.get(&[x.0.dtype.into(), y.0.dtype.into()])?;
    let mut args = Args::new();
    args.read(&x.0)?;
    match z {
        Some(z) => args.read(&z.0)?,
        None => args.null(),
    };
    args.write(&y.0)?.u32(rows as u32).u32(n as u32);
    args.u32(x.1 as u32).u32(z.map_or(0, |z| z.1) as u32).u32(y.1 as u32);
    ctx.stream().launch_linear(kernel, &[THREADS, 1, 1, product.into()], &args, (rows * n).div_ceil(THREADS.into()))
}

fn optional<'a>(args: &'a mut Args, t: Option<&Tensor>, write: bool) -> Result<&'a mut Args> {
    match t {
        Some(t) if write => args.write(t),
        Some(t) => args.read(t),
        None => Ok(args.null()),
    }
}

/// One direction of one layer.
pub struct Sweep<'a> {
    /// Sizes of the whole.
    pub sizes: &'a Sizes,
    /// Elements of an input.
    pub input: u64,
    /// Whether it runs from the last step to the first.
    pub reverse: bool,
    /// Sequence lengths (int32 [batch] on the device), where not all are whole.
    pub lengths: Option<&'a Tensor>,
}

impl Sweep<'_> {
    /// The steps in order, or in the reverse of it.
    fn steps(&self, backward: bool) -> impl Iterator<Item = u64> + use<> {
        let (n, down) = (self.sizes.time, self.reverse != backward);
        (0..n).map(move |i| if down { n - 1 - i } else { i })
    }

    fn args(&self, args: &mut Args, t: u64) {
        let s = self.sizes;
        args.u32(s.batch as u32).u32(s.units as u32).u32(t as u32);
        args.u32((t * s.step()) as u32).u32(s.sequence() as u32);
    }

    fn groups(&self) -> u64 {
        (self.sizes.batch * self.sizes.units).div_ceil(THREADS.into())
    }
}

impl Steps {
    /// The kernels for a node.
    pub fn new(config: Config) -> Result<Self> {
        let types = [config.dtype.into(), config.wide().into(), DType::I32.into()];
        Ok(Self {
            config,
            forward: shader::RNN_FORWARD.get(&types)?,
            backward: shader::RNN_BACKWARD.get(&types)?,
            dropout: shader::RNN_DROPOUT.get(&[config.dtype.into(), DType::F32.into()])?,
        })
    }

    fn constants(&self) -> [u32; 5] {
        [THREADS, 1, 1, self.config.mode as u32, self.config.mode.gates() as u32]
    }

    /// Runs `x` ([rows, input]) through a layer's direction into `y` (rows of `y.1` elements from this direction's column
    /// on), updating the states `h` and (an LSTM's) `c`, dense [batch, units].
    #[allow(clippy::too_many_arguments)]
    pub fn forward(
        &self,
        ctx: &mut Compute<'_>,
        sweep: &Sweep<'_>,
        x: &Tensor,
        w: &Weights,
        keep: &Cell,
        (h, c): (&Tensor, Option<&Tensor>),
        y: &Rows,
    ) -> Result<()> {
        let s = sweep.sizes;
        let n = s.gates * s.units;
        product(ctx, Operand::new(x, true), Operand::new(&w.input, true), &keep.gates, s.rows(), n, sweep.input)?;
        let recurrent = ctx.temp(self.config.wide(), [s.batch as i64, n as i64])?;
        for t in sweep.steps(false) {
            product(ctx, Operand::new(h, true), Operand::new(&w.state, true), &recurrent, s.batch, n, s.units)?;
            let mut args = Args::new();
            args.read_write(&keep.gates)?.read(&recurrent)?.read(&w.bias)?.read_write(h)?;
            match c {
                Some(c) => args.read_write(c)?,
                None => args.null(),
            };
            optional(&mut args, keep.h_before.as_ref(), true)?;
            optional(&mut args, keep.c_after.as_ref(), true)?;
            optional(&mut args, keep.candidate.as_ref(), true)?;
            args.write(&y.0)?;
            optional(&mut args, sweep.lengths, false)?;
            sweep.args(&mut args, t);
            args.u32(y.1 as u32);
            ctx.stream().launch_linear(self.forward, &self.constants(), &args, sweep.groups())?;
        }
        Ok(())
    }

    /// From `dy` (rows of `dy.1` elements from this direction's column on) and the gradients `dh` and `dc` of the last
    /// state, dense [batch, units] and wide, to those of the first state (added up in `dh`; `dc`) and of the gates' sums:
    /// of x W and of h R, both [rows, gates x units]. `c_0`: the first cell state.
    #[allow(clippy::too_many_arguments)]
    pub fn backward(
        &self,
        ctx: &mut Compute<'_>,
        sweep: &Sweep<'_>,
        w: &Weights,
        kept: &Cell,
        c_0: Option<&Rows>,
        dy: &Rows,
        (dh, dc): (&Tensor, Option<&Tensor>),
    ) -> Result<(Tensor, Tensor)> {
        let s = sweep.sizes;
        let n = s.gates * s.units;
        let rows = [s.rows() as i64, n as i64];
        let d_gates = ctx.temp(self.config.dtype, rows)?;
        let own = self.config.mode == Mode::Gru;
        let d_recurrent = if own { ctx.temp(self.config.dtype, rows)? } else { d_gates.clone() };
        let through = ctx.temp(self.config.wide(), [s.batch as i64, s.units as i64])?;
        let first = if sweep.reverse { s.time.saturating_sub(1) } else { 0 };
        let back = if sweep.reverse { s.step() as u32 } else { (s.step() as u32).wrapping_neg() };
        for (i, t) in sweep.steps(true).enumerate() {
            let mut args = Args::new();
            args.read(&kept.gates)?;
            optional(&mut args, kept.c_after.as_ref(), false)?;
            optional(&mut args, c_0.filter(|_| t == first).map(|c| &c.0), false)?;
            optional(&mut args, kept.h_before.as_ref(), false)?;
            optional(&mut args, kept.candidate.as_ref(), false)?;
            args.read(&dy.0)?;
            optional(&mut args, Some(&through).filter(|_| i > 0), false)?;
            args.read_write(dh)?;
            match dc {
                Some(dc) => args.read_write(dc)?,
                None => args.null(),
            };
            args.write(&d_gates)?;
            optional(&mut args, Some(&d_recurrent).filter(|_| own), true)?;
            optional(&mut args, sweep.lengths, false)?;
            sweep.args(&mut args, t);
            args.u32(back).u32(dy.1 as u32).u32(c_0.map_or(0, |c| c.1) as u32);
            ctx.stream().launch_linear(self.backward, &self.constants(), &args, sweep.groups())?;

            let at = t * s.step() * n;
            let left = (s.rows() * n - at) as i64;
            let step = Operand { row: Some(s.sequence() * n), ..Operand::new(&d_recurrent.slice(at as i64, [left]), true) };
            product(ctx, step, Operand::new(&w.state, false), &through, s.batch, s.units, n)?;
        }
        if s.time > 0 {
            let dense = |t: &Tensor| (t.clone(), s.units);
            combine(ctx, &dense(dh), Some(&dense(&through)), &dense(dh), (s.batch, s.units), false)?;
        }
        Ok((d_gates, d_recurrent))
    }

    /// The factors of a dropout from uniform numbers, both of as many elements.
    pub fn dropout(&self, ctx: &Compute<'_>, uniform: &Tensor, mask: &Tensor) -> Result<()> {
        let n = mask.num_elements() as u32;
        let mut args = Args::new();
        args.read(uniform)?.write(mask)?.u32(n).f32(self.config.dropout);
        ctx.stream().launch_linear(self.dropout, &[THREADS, 1, 1], &args, n.div_ceil(THREADS).into())
    }
}
