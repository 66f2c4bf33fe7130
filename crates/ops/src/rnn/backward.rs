//! CudnnRNNBackprop, V2, V3: gradients of a recurrent network's input, states and weights, from what the forward op kept.

use tfvk_device::{Error, Result, Shape, Tensor};

use super::config::{Config, Mode, Sizes};
use super::forward::{column, lengths};
use super::reserve::Reserve;
use super::sweep::{Steps, Sweep, Weights, combine, product};
use crate::matmul::product::Operand;
use crate::reduce::reducer::{Combine, First, Last, Reducer};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs};

/// Inputs input, input_h, input_c, params (, sequence_lengths), output, output_h, output_c, output_backprop,
/// output_h_backprop, output_c_backprop, reserve_space (, host_reserved); outputs input_backprop, input_h_backprop,
/// input_c_backprop, params_backprop.
pub struct Backward {
    config: Config,
    steps: Steps,
    sums: Reducer,
    /// Whether input 4 holds sequence lengths.
    lengths: bool,
}

impl Backward {
    fn make(node: &dyn OpKernelConstruction, lengths: bool) -> Result<Box<dyn OpKernel>> {
        let config = Config::new(node)?;
        let sums = Reducer::new(Combine::Sum, First::Nothing, Last::Nothing, config.dtype)?;
        Ok(Box::new(Self { config, steps: Steps::new(config)?, sums, lengths }))
    }

    /// CudnnRNNBackprop.
    pub fn v1(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Self::make(node, false)
    }

    /// CudnnRNNBackpropV2.
    pub fn v2(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Self::make(node, false)
    }

    /// CudnnRNNBackpropV3, which has sequence lengths.
    pub fn v3(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Self::make(node, true)
    }

    /// The index of an input that comes behind the sequence lengths, where there are any.
    fn index(&self, without: usize) -> usize {
        without + usize::from(self.lengths)
    }

    fn lstm(&self) -> bool {
        self.config.mode == Mode::Lstm
    }

    /// One layer's direction: the gradients of its weights and first states; the gradient of x W, [rows, gates x units].
    fn direction(&self, ctx: &mut Compute<'_>, sweep: &Sweep<'_>, x: &Tensor, dy: &Tensor, cell: &Place<'_>) -> Result<Tensor> {
        let s = sweep.sizes;
        let (layer, direction) = (cell.layer, cell.direction);
        let (size, wide) = ((s.batch, s.units), self.config.wide());
        let dense = [s.batch as i64, s.units as i64];
        let rows = |t: &Tensor| (t.clone(), s.units);
        let state = |t: Tensor| s.state(&t, layer, direction);

        let dh = ctx.temp(wide, dense)?;
        combine(ctx, &state(ctx.input(self.index(8))?), None, &rows(&dh), size, false)?;
        let (mut dc, mut c_0) = (None, None);
        if self.lstm() {
            let t = ctx.temp(wide, dense)?;
            combine(ctx, &state(ctx.input(self.index(9))?), None, &rows(&t), size, false)?;
            (dc, c_0) = (Some(t), Some(state(ctx.input(2)?)));
        }
        let kept = &cell.kept.cells[(layer * s.directions + direction) as usize];
        let w = Weights::of(s, &ctx.input(3)?, layer, direction);
        let dy = column(s, dy, direction);
        let (d_gates, d_recurrent) = self.steps.backward(ctx, sweep, &w, kept, c_0.as_ref(), &dy, (&dh, dc.as_ref()))?;
        combine(ctx, &rows(&dh), None, &state(ctx.output(1)?), size, false)?;
        if let Some(dc) = dc {
            combine(ctx, &rows(&dc), None, &state(ctx.output(2)?), size, false)?;
        }

        let dw = Weights::of(s, &ctx.output(3)?, layer, direction);
        let n = s.gates * s.units;
        let h = kept.h_before.as_ref().ok_or_else(|| Error::internal("the states before each step were not kept"))?;
        product(ctx, Operand::new(&d_gates, false), Operand::new(x, false), &dw.input, n, sweep.input, s.rows())?;
        product(ctx, Operand::new(&d_recurrent, false), Operand::new(h, false), &dw.state, n, s.units, s.rows())?;
        let bias = |k: i64| dw.bias.slice(k * n as i64, [n as i64]);
        self.sums.run(ctx, &d_gates, &[true, false], &bias(0))?;
        if self.config.mode == Mode::Gru {
            self.sums.run(ctx, &d_recurrent, &[true, false], &bias(1))?;
        } else {
            ctx.stream().copy(bias(1).device_ptr()?, bias(0).device_ptr()?, bias(0).bytes())?;
        }
        Ok(d_gates)
    }

    /// The gradient of a layer's input, [rows, input], from those of its directions.
    fn input(&self, ctx: &mut Compute<'_>, s: &Sizes, layer: u64, d_gates: &[Tensor], dx: &Tensor) -> Result<()> {
        let (n, input) = (s.gates * s.units, s.input_of(layer));
        let params = ctx.input(3)?;
        let mut parts = Vec::new();
        for (direction, d) in d_gates.iter().enumerate() {
            let w = Weights::of(s, &params, layer, direction as u64);
            let to = match d_gates.len() {
                1 => dx.clone(),
                _ => ctx.temp(self.config.wide(), [s.rows() as i64, input as i64])?,
            };
            product(ctx, Operand::new(d, true), Operand::new(&w.input, false), &to, s.rows(), input, n)?;
            parts.push((to, input));
        }
        match parts.as_slice() {
            [a, b] => combine(ctx, a, Some(b), &(dx.clone(), input), (s.rows(), input), false),
            _ => Ok(()),
        }
    }
}

/// One layer's direction, and all that was kept.
struct Place<'a> {
    layer: u64,
    direction: u64,
    kept: &'a Reserve,
}

impl OpKernel for Backward {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let s = Sizes::new(&self.config, inputs)?;
        let (output, states) = (s.output(), s.states());
        let mut like = vec![("output_backprop", 7, &output), ("output_h_backprop", 8, &states)];
        if self.lstm() {
            like.push(("output_c_backprop", 9, &states));
        }
        for (name, index, expected) in like {
            let got = inputs.shape(self.index(index))?;
            if got != expected {
                return Err(Error::invalid_argument(format!("{name}: expected shape {expected}, got {got}")));
            }
        }
        let c = if self.lstm() { states.clone() } else { Shape::from([0]) };
        let shapes = [inputs.shape(0)?.clone(), states, c, inputs.shape(3)?.clone()];
        Ok(shapes.into_iter().map(Output::Shape).collect())
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let s = Sizes::new(&self.config, &ctx.inputs())?;
        let lengths = if self.lengths { lengths(ctx, &s, 4)? } else { None };
        let kept = Reserve::of(&self.config, &s, &ctx.input(self.index(10))?)?;
        let mut dy = ctx.input(self.index(7))?;
        for layer in (0..s.layers).rev() {
            let below = layer.checked_sub(1).and_then(|l| kept.between.get(l as usize));
            let x = match below {
                Some(b) => b.y.clone(),
                None => ctx.input(0)?,
            };
            let mut d_gates = Vec::new();
            for direction in 0..s.directions {
                let sweep = Sweep { sizes: &s, input: s.input_of(layer), reverse: direction == 1, lengths: lengths.as_ref() };
                let place = Place { layer, direction, kept: &kept };
                d_gates.push(self.direction(ctx, &sweep, &x, &dy, &place)?);
            }
            let dx = match below {
                Some(_) => ctx.temp(self.config.dtype, [s.rows() as i64, s.width() as i64])?,
                None => ctx.output(0)?,
            };
            self.input(ctx, &s, layer, &d_gates, &dx)?;
            if let Some(mask) = below.and_then(|b| b.mask.as_ref()) {
                let rows = |t: &Tensor| (t.clone(), s.width());
                combine(ctx, &rows(&dx), Some(&rows(mask)), &rows(&dx), (s.rows(), s.width()), true)?;
            }
            dy = dx;
        }
        Ok(())
    }
}
