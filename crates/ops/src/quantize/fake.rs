//! FakeQuantWithMinMaxArgs, -Vars and -VarsPerChannel, with their gradients: a range that is nudged so that 0 is a level, and
//! values clamped to it and rounded to its levels. All float32.

use std::sync::Arc;

use tfvk_device::DType::F32;
use tfvk_device::{Error, Result, Shape};

use crate::expr::{Program, Value, launch};
use crate::reduce::reducer::{Combine, First, Last, Reducer};
use crate::variable::shared_with;
use crate::{Compute, Inputs, OpKernel, OpKernelConstruction, Output, Outputs};

/// The first and last level as TensorFlow counts them.
fn levels(node: &dyn OpKernelConstruction) -> Result<[f32; 2]> {
    let bits = node.i64("num_bits")?;
    if !(2..=16).contains(&bits) {
        return Err(Error::invalid_argument(format!("num_bits must be between 2 and 16, inclusive, got {bits}")));
    }
    let first = if node.bool("narrow_range")? { 1.0 } else { 0.0 };
    Ok([first, ((1u32 << bits) - 1) as f32])
}

/// A range whose 0 is a level.
#[derive(Clone, Copy)]
struct Nudged<T> {
    low: T,
    high: T,
    scale: T,
}

fn nudge_number(min: f32, max: f32, [first, last]: [f32; 2]) -> Nudged<f32> {
    let scale = (max - min) / (last - first);
    let zero = first - min / scale;
    let zero = if zero < first {
        first
    } else if zero > last {
        last
    } else {
        zero.round()
    };
    Nudged { low: (first - zero) * scale, high: (last - zero) * scale, scale }
}

fn nudge<'a>(min: Value<'a>, max: Value<'a>, first: Value<'a>, last: Value<'a>) -> Nudged<Value<'a>> {
    let scale = (max - min) / (last - first);
    let zero = first - min / scale;
    // Ties away from 0.
    let whole = zero.trunc();
    let rounded = (zero - whole).ge(zero.lit(0.5)).select(whole + 1.0, whole);
    let zero = zero.lt(first).select(first, zero.gt(last).select(last, rounded));
    Nudged { low: (first - zero) * scale, high: (last - zero) * scale, scale }
}

/// x at its level. TensorFlow divides by a range's scale that is a tensor, and multiplies by the inverse of one that is an
/// attribute; at 16 bits that shows.
fn level<'a>(x: Value<'a>, r: Nudged<Value<'a>>, divides: bool) -> Value<'a> {
    let inverse = 1.0 / r.scale;
    let zero = (-r.low * inverse + 0.5).floor();
    let shifted = x.minimum(r.high).maximum(r.low) - r.low;
    let level = if divides { shifted / r.scale } else { shifted * inverse };
    (level - zero + 0.5).floor() * r.scale
}

/// 1 where the condition holds, times the gradient.
fn where_<'a>(condition: Value<'a>, g: Value<'a>) -> Value<'a> {
    g * condition.select(g.lit(1.0), g.lit(0.0))
}

fn inside<'a>(x: Value<'a>, r: Nudged<Value<'a>>) -> Value<'a> {
    x.ge(r.low) & x.le(r.high)
}

/// A range given as attributes. Inputs (gradients,) inputs.
pub struct Args {
    range: Nudged<f32>,
    gradient: bool,
}

impl Args {
    fn make(node: &dyn OpKernelConstruction, gradient: bool) -> Result<Box<dyn OpKernel>> {
        let (min, max) = (node.f32("min")?, node.f32("max")?);
        if min >= max {
            return Err(Error::invalid_argument(format!("min has to be smaller than max, was: {min} >= {max}")));
        }
        Ok(Box::new(Self { range: nudge_number(min, max, levels(node)?), gradient }))
    }

    /// FakeQuantWithMinMaxArgs.
    pub fn forward(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Self::make(node, false)
    }

    /// FakeQuantWithMinMaxArgsGradient.
    pub fn gradient(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Self::make(node, true)
    }

    fn program(&self) -> Result<Arc<Program>> {
        if self.gradient {
            shared_with("FakeQuantArgsGradient", false, &[F32, F32], &[F32; 3], |x, n| {
                vec![where_(inside(x[1], Nudged { low: n[0], high: n[1], scale: n[2] }), x[0])]
            })
        } else {
            shared_with("FakeQuantArgs", false, &[F32], &[F32; 3], |x, n| {
                vec![level(x[0], Nudged { low: n[0], high: n[1], scale: n[2] }, false)]
            })
        }
    }
}

impl OpKernel for Args {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let x = inputs.shape(0)?;
        if self.gradient && inputs.shape(1)? != x {
            let what = format!("gradient and input must be the same size, got {x} and {}", inputs.shape(1)?);
            return Err(Error::invalid_argument(what));
        }
        Ok(Outputs::from_iter([Output::Shape(x.clone())]))
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let numbers = [self.range.low, self.range.high, self.range.scale].map(f64::from);
        launch(ctx.stream(), &*self.program()?, ctx.inputs().all(), &numbers, &[ctx.output(0)?])
    }
}

/// A range given as tensors: one for all, or one for each element of the last axis. Inputs (gradients,) inputs, min, max.
pub struct Vars {
    levels: [f32; 2],
    channels: bool,
    gradient: bool,
    sums: Reducer,
}

impl Vars {
    fn make(node: &dyn OpKernelConstruction, gradient: bool) -> Result<Box<dyn OpKernel>> {
        let sums = Reducer::new(Combine::Sum, First::Nothing, Last::Nothing, F32)?;
        Ok(Box::new(Self { levels: levels(node)?, channels: node.op().contains("PerChannel"), gradient, sums }))
    }

    /// FakeQuantWithMinMaxVars, FakeQuantWithMinMaxVarsPerChannel.
    pub fn forward(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Self::make(node, false)
    }

    /// FakeQuantWithMinMaxVarsGradient, FakeQuantWithMinMaxVarsPerChannelGradient.
    pub fn gradient(node: &dyn OpKernelConstruction) -> Result<Box<dyn OpKernel>> {
        Self::make(node, true)
    }

    /// A range of 0 to 0 that is one for all means no quantisation at all.
    fn program(&self) -> Result<Arc<Program>> {
        let channels = self.channels;
        if self.gradient {
            return shared_with("FakeQuantVarsGradient", channels, &[F32; 4], &[F32; 2], move |x, n| {
                let (g, r) = (x[0], nudge(x[2], x[3], n[0], n[1]));
                let parts = [where_(inside(x[1], r), g), where_(x[1].lt(r.low), g), where_(x[1].gt(r.high), g)];
                let none = x[2].is(0.0) & x[3].is(0.0);
                let kept = [g, g.lit(0.0), g.lit(0.0)];
                parts.into_iter().zip(kept).map(|(p, k)| if channels { p } else { none.select(k, p) }).collect()
            });
        }
        shared_with("FakeQuantVars", channels, &[F32; 3], &[F32; 2], move |x, n| {
            let y = level(x[0], nudge(x[1], x[2], n[0], n[1]), true);
            let none = x[1].is(0.0) & x[2].is(0.0);
            vec![if channels { y } else { none.select(y.lit(0.0), y) }]
        })
    }
}

impl OpKernel for Vars {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let x = inputs.shape(0)?;
        let first = usize::from(self.gradient);
        if self.gradient && inputs.shape(1)? != x {
            let what = format!("gradient and input must be the same size, got {x} and {}", inputs.shape(1)?);
            return Err(Error::invalid_argument(what));
        }
        let range = match (self.channels, x.last()) {
            (false, _) => Shape::scalar(),
            (true, Some(&n)) => Shape::from([n]),
            (true, None) => return Err(Error::invalid_argument("inputs: expected at least 1 dimension, got a scalar")),
        };
        for (name, i) in [("min", first + 1), ("max", first + 2)] {
            let got = inputs.shape(i)?;
            // TensorFlow's kernels take a vector of one element for a scalar.
            if got != &range && !(range.is_empty() && got.dims() == [1]) {
                return Err(Error::invalid_argument(format!("{name}: expected shape {range}, got {got}")));
            }
        }
        let shapes = if self.gradient { vec![x.clone(), range.clone(), range] } else { vec![x.clone()] };
        Ok(shapes.into_iter().map(Output::Shape).collect())
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let mut inputs = ctx.inputs().all().to_vec();
        if !self.channels {
            let first = inputs.len() - 2;
            inputs[first..].iter_mut().for_each(|t| t.shape = Shape::scalar());
        }
        let numbers = self.levels.map(f64::from);
        let shape = inputs[0].shape.clone();
        let mut outputs = vec![ctx.output(0)?];
        if self.gradient {
            outputs.push(ctx.temp(F32, shape.clone())?);
            outputs.push(ctx.temp(F32, shape.clone())?);
        }
        launch(ctx.stream(), &*self.program()?, &inputs, &numbers, &outputs)?;
        let reduced: Vec<bool> = (0..shape.rank()).map(|i| !self.channels || i + 1 < shape.rank()).collect();
        for (i, masked) in outputs.iter().enumerate().skip(1) {
            let y = ctx.output(i)?;
            self.sums.run(ctx, masked, &reduced, &y)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_a_level() {
        let r = nudge_number(-0.1, 0.9, [0.0, 255.0]);
        let steps = -r.low / r.scale;
        assert_eq!(steps, steps.round());
        assert!(((r.high - r.low) - 1.0).abs() < 1e-6);
    }
}
