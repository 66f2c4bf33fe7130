//! CudnnRNN, CudnnRNNV2, CudnnRNNV3: all layers, directions and steps of a recurrent network.

use tfvk_device::{DType, Error, Result, Shape, Tensor};

use super::config::{Config, Mode, Sizes};
use super::reserve::{Cell, Reserve};
use super::sweep::{Rows, Steps, Sweep, Weights, combine};
use crate::random::{Distribution, Generator, Source, fill};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs};

/// Random numbers of one Philox block.
const PER_BLOCK: u64 = 4;

/// Inputs input, input_h, input_c, params (, sequence_lengths); outputs output, output_h, output_c, reserve_space
/// (, host_reserved, which holds nothing).
pub struct Forward {
    config: Config,
    steps: Steps,
    training: bool,
    lengths: bool,
    generator: Generator,
}

impl Forward {
    fn make(node: &dyn OpKernelConstruction, lengths: bool) -> Result<Box<dyn OpKernel>> {
        let config = Config::new(node)?;
        let (training, generator) = (node.bool("is_training")?, Generator::new(node)?);
        Ok(Box::new(Self { config, steps: Steps::new(config)?, training, lengths, generator }))
    }

    /// CudnnRNN.
    pub fn v1(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Self::make(node, false)
    }

    /// CudnnRNNV2.
    pub fn v2(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Self::make(node, false)
    }

    /// CudnnRNNV3, which has sequence lengths.
    pub fn v3(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Self::make(node, true)
    }

    /// What to keep, or the scratch of an inference: one set of gates for all.
    fn memory(&self, ctx: &mut Compute<'_>, s: &Sizes) -> Result<Reserve> {
        if self.training {
            return Reserve::of(&self.config, s, &ctx.output(3)?);
        }
        let gates = ctx.temp(self.config.wide(), [s.rows() as i64, (s.gates * s.units) as i64])?;
        let cell = Cell { gates, h_before: None, c_after: None, candidate: None };
        Ok(Reserve { cells: vec![cell; (s.layers * s.directions) as usize], between: Vec::new() })
    }

    /// The output of a layer that is not the last; dropped out while training.
    fn between(&self, ctx: &mut Compute<'_>, s: &Sizes, kept: &Reserve, layer: u64) -> Result<Tensor> {
        match kept.between.get(layer as usize) {
            Some(b) => Ok(b.y.clone()),
            None => ctx.temp(self.config.dtype, [s.rows() as i64, s.width() as i64]),
        }
    }

    fn drop_out(&self, ctx: &mut Compute<'_>, s: &Sizes, y: &Tensor, mask: &Tensor) -> Result<()> {
        let n = s.rows() * s.width();
        if n == 0 {
            return Ok(());
        }
        let uniform = ctx.temp(DType::F32, [n as i64])?;
        let place = self.generator.reserve(n.div_ceil(PER_BLOCK));
        fill(ctx, &uniform, Distribution::Uniform, Source::Place(place))?;
        self.steps.dropout(ctx, &uniform, mask)?;
        let rows = |t: &Tensor| (t.clone(), s.width());
        combine(ctx, &rows(y), Some(&rows(mask)), &rows(y), (s.rows(), s.width()), true)
    }

    /// A layer's direction, with its states in and out.
    fn direction(
        &self,
        ctx: &mut Compute<'_>,
        s: &Sizes,
        x: &Tensor,
        y: &Rows,
        sweep: &Sweep<'_>,
        cell: &Place<'_>,
    ) -> Result<()> {
        let w = Weights::of(s, &ctx.input(3)?, cell.layer, cell.direction);
        let dense = [s.batch as i64, s.units as i64];
        let (h, size) = (ctx.temp(self.config.dtype, dense)?, (s.batch, s.units));
        let rows = |t: &Tensor| (t.clone(), s.units);
        combine(ctx, &s.state(&ctx.input(1)?, cell.layer, cell.direction), None, &rows(&h), size, false)?;
        let c = match self.config.mode {
            Mode::Lstm => {
                let c = ctx.temp(self.config.wide(), dense)?;
                combine(ctx, &s.state(&ctx.input(2)?, cell.layer, cell.direction), None, &rows(&c), size, false)?;
                Some(c)
            }
            _ => None,
        };
        self.steps.forward(ctx, sweep, x, &w, cell.keep, (&h, c.as_ref()), y)?;
        combine(ctx, &rows(&h), None, &s.state(&ctx.output(1)?, cell.layer, cell.direction), size, false)?;
        match &c {
            Some(c) => combine(ctx, &rows(c), None, &s.state(&ctx.output(2)?, cell.layer, cell.direction), size, false),
            None => Ok(()),
        }
    }
}

/// One layer's direction and what it keeps.
struct Place<'a> {
    layer: u64,
    direction: u64,
    keep: &'a Cell,
}

/// The sequence lengths (int32 [batch] in host memory) on the device; `None` where all sequences are whole.
///
/// Errors: another shape; a length below 0 or above the number of steps.
pub fn lengths(ctx: &mut Compute<'_>, s: &Sizes, input: usize) -> Result<Option<Tensor>> {
    let t = ctx.input(input)?;
    if t.shape.dims() != [s.batch as i64] {
        let what = format!("sequence_lengths: expected shape [{}], got {}", s.batch, t.shape);
        return Err(Error::invalid_argument(what));
    }
    let host = t.host::<i32>()?;
    if let Some(bad) = host.iter().find(|&&n| n < 0 || n as u64 > s.time) {
        return Err(Error::invalid_argument(format!("sequence_lengths: expected 0 to {} steps, got {bad}", s.time)));
    }
    if host.iter().all(|&n| n as u64 == s.time) {
        return Ok(None);
    }
    let bytes: Vec<u8> = host.iter().flat_map(|n| n.to_ne_bytes()).collect();
    let device = ctx.temp(DType::I32, [s.batch as i64])?;
    ctx.stream().upload(device.device_ptr()?, &bytes)?;
    Ok(Some(device))
}

/// The part of a layer's output from a direction's column on.
pub fn column(s: &Sizes, y: &Tensor, direction: u64) -> Rows {
    let first = (direction * s.units) as i64;
    (y.slice(first, [(y.num_elements() - first).max(0)]), s.width())
}

impl OpKernel for Forward {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let s = Sizes::new(&self.config, inputs)?;
        let reserve = if self.training { Reserve::elements(&self.config, &s) } else { 0 };
        let c = if self.config.mode == Mode::Lstm { s.states() } else { Shape::from([0]) };
        let shapes = [s.output(), s.states(), c, Shape::from([reserve as i64]), Shape::from([0])];
        Ok(shapes.into_iter().take(inputs.num_outputs()).map(Output::Shape).collect())
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let s = Sizes::new(&self.config, &ctx.inputs())?;
        let lengths = if self.lengths { lengths(ctx, &s, 4)? } else { None };
        let kept = self.memory(ctx, &s)?;
        let mut x = ctx.input(0)?;
        for layer in 0..s.layers {
            let last = layer + 1 == s.layers;
            let y = if last { ctx.output(0)? } else { self.between(ctx, &s, &kept, layer)? };
            for direction in 0..s.directions {
                let sweep = Sweep { sizes: &s, input: s.input_of(layer), reverse: direction == 1, lengths: lengths.as_ref() };
                let keep = &kept.cells[(layer * s.directions + direction) as usize];
                self.direction(ctx, &s, &x, &column(&s, &y, direction), &sweep, &Place { layer, direction, keep })?;
            }
            if let Some(mask) = kept.between.get(layer as usize).and_then(|b| b.mask.as_ref()) {
                self.drop_out(ctx, &s, &y, mask)?;
            }
            x = y;
        }
        Ok(())
    }
}
