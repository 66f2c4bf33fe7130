//! The weights of a recurrent network as one buffer, and as a matrix and a vector each: CudnnRNNParamsSize,
//! CudnnRNNParamsToCanonical and CudnnRNNCanonicalToParams (with their V2).

use tfvk_device::{Error, Result, Shape, Tensor};

use super::config::{Config, Sizes};
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs};

/// The sizes from the host inputs `num_layers`, `num_units` and `input_size`. Errors: one that is not positive.
fn sizes(config: &Config, inputs: &Inputs<'_>) -> Result<Sizes> {
    let get = |i: usize, name: &str| match inputs.host_int(i)? {
        n if n > 0 => Ok(n as u64),
        n => Err(Error::invalid_argument(format!("{name}: expected a positive number, got {n}"))),
    };
    let (layers, units, input) = (get(0, "num_layers")?, get(1, "num_units")?, get(2, "input_size")?);
    let (directions, gates) = (config.directions, config.mode.gates());
    let elements = u128::from(layers) * u128::from(directions * gates) * u128::from(units);
    let elements = elements * (u128::from(input) + u128::from(units) * u128::from(1 + directions) + 2);
    if elements > u128::from(i64::MAX as u64) {
        return Err(Error::invalid_argument(format!("{layers} layers of {units} units: {elements} parameters")));
    }
    Ok(Sizes { time: 0, batch: 0, input, units, layers, directions, gates, time_major: true })
}

/// CudnnRNNParamsSize.
pub struct Size {
    config: Config,
}

impl Size {
    /// The kernel.
    pub fn make(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Ok(Box::new(Self { config: Config::new(node)? }))
    }
}

impl OpKernel for Size {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        sizes(&self.config, inputs)?;
        Ok(Outputs::from_iter([Output::Shape(Shape::from([1]))]))
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let n = sizes(&self.config, &ctx.inputs())?.params();
        let mut out = ctx.output(0)?;
        if let Ok(out) = out.host_mut::<i64>() {
            out.fill(n as i64);
            return Ok(());
        }
        let n = i32::try_from(n).map_err(|_| Error::invalid_argument(format!("params_size: {n} does not fit int32")))?;
        out.host_mut::<i32>()?.fill(n);
        Ok(())
    }
}

/// Between `params` and its parts: as many matrices as vectors for each layer and direction, the input's gates, then
/// the state's.
pub struct Convert {
    config: Config,
    /// From the parts to `params`.
    joins: bool,
    /// Number of matrices, number of vectors.
    parts: (u64, u64),
}

impl Convert {
    fn make(node: &dyn OpKernelConstruction, joins: bool, names: (&str, &str)) -> Result<Box<dyn OpKernel>> {
        let parts = (node.i64(names.0)? as u64, node.i64(names.1)? as u64);
        Ok(Box::new(Self { config: Config::new(node)?, joins, parts }))
    }

    /// CudnnRNNCanonicalToParams.
    pub fn to_params(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Self::make(node, true, ("num_params", "num_params"))
    }

    /// CudnnRNNCanonicalToParamsV2.
    pub fn to_params_v2(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Self::make(node, true, ("num_params_weights", "num_params_biases"))
    }

    /// CudnnRNNParamsToCanonical.
    pub fn to_canonical(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Self::make(node, false, ("num_params", "num_params"))
    }

    /// CudnnRNNParamsToCanonicalV2.
    pub fn to_canonical_v2(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Self::make(node, false, ("num_params_weights", "num_params_biases"))
    }

    /// The parts in order, matrices first: where each begins in `params`, and its shape. Errors: another number of them.
    fn layout(&self, s: &Sizes) -> Result<Vec<(u64, Shape)>> {
        let expected = s.layers * s.directions * 2 * s.gates;
        if self.parts != (expected, expected) {
            let (weights, biases) = self.parts;
            return Err(Error::invalid_argument(format!(
                "expected {expected} weights and biases for {} layers, got {weights} and {biases}",
                s.layers
            )));
        }
        let (mut matrices, mut vectors) = (Vec::new(), Vec::new());
        for layer in 0..s.layers {
            for direction in 0..s.directions {
                let (w, b) = (s.weights_at(layer, direction), s.bias_at(layer, direction));
                let mut at = w;
                for i in 0..2 * s.gates {
                    let width = if i < s.gates { s.input_of(layer) } else { s.units };
                    matrices.push((at, Shape::from([s.units as i64, width as i64])));
                    vectors.push((b + i * s.units, Shape::from([s.units as i64])));
                    at += s.units * width;
                }
            }
        }
        matrices.extend(vectors);
        Ok(matrices)
    }
}

impl OpKernel for Convert {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let s = sizes(&self.config, inputs)?;
        let layout = self.layout(&s)?;
        if !self.joins {
            let params = inputs.shape(3)?;
            if params.rank() != 1 || params[0] as u64 != s.params() {
                let what = format!("params: expected shape [{}], got {params}", s.params());
                return Err(Error::invalid_argument(what));
            }
            return Ok(layout.into_iter().map(|(_, shape)| Output::Shape(shape)).collect());
        }
        for (i, (_, shape)) in layout.iter().enumerate() {
            let got = inputs.shape(3 + i)?;
            if got.num_elements() != shape.num_elements() {
                return Err(Error::invalid_argument(format!("weights and biases: [{i}]: expected shape {shape}, got {got}")));
            }
        }
        Ok(Outputs::from_iter([Output::Shape(Shape::from([s.params() as i64]))]))
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let s = sizes(&self.config, &ctx.inputs())?;
        for (i, (at, shape)) in self.layout(&s)?.into_iter().enumerate() {
            let (from, to): (Tensor, Tensor) = if self.joins {
                (ctx.input(3 + i)?, ctx.output(0)?.slice(at as i64, shape))
            } else {
                (ctx.input(3)?.slice(at as i64, shape), ctx.output(i)?)
            };
            ctx.stream().copy(to.device_ptr()?, from.device_ptr()?, to.bytes())?;
        }
        Ok(())
    }
}
