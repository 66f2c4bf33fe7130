//! FusedBatchNorm, V2, V3, _FusedBatchNormEx and their gradients: any data format, training and inference.
//!
//! Training takes three launches: partial moments, the per-channel outputs, the normalised elements. Statistics are f32.
//! `reserve_space_1` and `_2` are the batch's mean and biased variance, as TensorFlow's CPU kernel gives them.

use tfvk_device::{Args, DType, Error, Kernel, Result, Shape, Tensor};

use super::channels::{self, Channels, Geometry};
use super::softmax::aligned4;
use crate::{Compute, Inputs, KernelDef, OpKernel, OpKernelConstruction, Output, Outputs, TypeConstraint, shader, t, types};

/// The declarations.
pub const OPS: &[KernelDef] = &[
    KernelDef::kernel("FusedBatchNorm", F32, |n| Forward::make(n, 1)),
    KernelDef::kernel("FusedBatchNormV2", MIXED, |n| Forward::make(n, 2)),
    KernelDef::kernel("FusedBatchNormV3", MIXED, |n| Forward::make(n, 3)),
    KernelDef::kernel("_FusedBatchNormEx", MIXED, |n| Forward::make(n, 4)),
    KernelDef::kernel("FusedBatchNormGrad", F32, |n| Backward::make(n, 1)),
    KernelDef::kernel("FusedBatchNormGradV2", MIXED, |n| Backward::make(n, 2)),
    KernelDef::kernel("FusedBatchNormGradV3", MIXED, |n| Backward::make(n, 3)),
    KernelDef::kernel("_FusedBatchNormGradEx", MIXED, |n| Backward::make(n, 4)),
];

const F32: &[TypeConstraint] = &[t("T", &[DType::F32])];
const MIXED: &[TypeConstraint] = &[t("T", types::FLOAT_NN), t("U", &[DType::F32])];

/// What forward and backward have in common.
struct Common {
    /// 1 to 3; 4 is Ex.
    version: u32,
    epsilon: f32,
    first: bool,
    training: bool,
    relu: bool,
    side: bool,
    moments: &'static Kernel,
    finish: &'static Kernel,
    apply: &'static Kernel,
}

impl Common {
    fn new(node: &dyn OpKernelConstruction, version: u32, kind: &'static str) -> Result<Self> {
        let (dtype, f32, kind) = (node.dtype("T")?.into(), DType::F32.into(), kind.into());
        let activation = if version == 4 { node.string("activation_mode")? } else { "Identity".into() };
        let relu = match activation.as_str() {
            "Identity" => false,
            "Relu" => true,
            other => {
                let why = format!("activation_mode: expected Identity or Relu, got {other}");
                return Err(Error::invalid_argument(why));
            }
        };
        let sides = if version == 4 { node.i64("num_side_inputs")? } else { 0 };
        if !(0..=1).contains(&sides) {
            return Err(Error::invalid_argument(format!("num_side_inputs: expected 0 or 1, got {sides}")));
        }
        Ok(Self {
            version,
            epsilon: node.f32("epsilon")?,
            first: channels::channels_first(&node.string("data_format")?)?,
            training: node.bool("is_training")?,
            relu,
            side: sides == 1,
            moments: shader::BN_MOMENTS.get(&[dtype, f32, kind])?,
            finish: shader::BN_FINISH.get(&[f32, kind])?,
            apply: shader::BN_APPLY.get(&[dtype, f32, kind])?,
        })
    }

    /// Number of channels, and the checks that all inputs of one value a channel have it. `may_be_empty` names those
    /// that need not.
    fn check(&self, x: &Shape, vectors: &[(&str, &Shape)]) -> Result<i64> {
        if !(4..=5).contains(&x.rank()) {
            return Err(Error::invalid_argument(format!("input must be 4 or 5-dimensional{x}")));
        }
        let channels = x[channels::axis(x, self.first)];
        for (name, shape) in vectors {
            if shape.rank() != 1 {
                return Err(Error::invalid_argument(format!("{name} must be 1-dimensional{shape}")));
            }
            if shape[0] != channels {
                let same = format!("{name} must have the same number of elements as the channels of x");
                return Err(Error::invalid_argument(format!("{same}, got {} and {channels}", shape[0])));
            }
        }
        Ok(channels)
    }

    fn launch_apply(&self, ctx: &Compute<'_>, c: Channels, vector: bool, args: &Args) -> Result<()> {
        let threads = 256.min(ctx.device().adapter().limits.max_invocations);
        let pieces = c.elements() / if vector { 4 } else { 1 };
        let constants = [threads, 1, 1, c.last().into(), vector.into(), self.relu.into(), self.training.into()];
        ctx.stream().launch_linear(self.apply, &constants, args, pieces.div_ceil(threads).into())
    }

    fn launch_finish(&self, ctx: &Compute<'_>, c: Channels, splits: u32, args: &Args) -> Result<()> {
        let threads = splits.next_power_of_two().min(64);
        ctx.stream().launch_linear(self.finish, &[threads, 1, 1], args, c.channels.into())
    }
}

/// Whether all of these, of one shape, can be read in fours.
fn vector(c: Channels, tensors: &[&Tensor]) -> Result<bool> {
    Ok(c.fours() && tensors.iter().try_fold(true, |all, t| aligned4(t).map(|a| a && all))?)
}

struct Forward {
    common: Common,
    factor: f32,
}

impl Forward {
    fn make(node: &dyn OpKernelConstruction, version: u32) -> Result<Box<dyn OpKernel>> {
        let common = Common::new(node, version, "forward")?;
        Ok(Box::new(Self { common, factor: node.f32("exponential_avg_factor")? }))
    }
}

impl OpKernel for Forward {
    /// Inputs x, scale, offset, mean, variance (, side input); outputs y, batch_mean, batch_variance, reserve_space_1, _2 (, _3).
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let c = &self.common;
        let x = inputs.shape(0)?;
        let channels = c.check(x, &[("scale", inputs.shape(1)?), ("offset", inputs.shape(2)?)])?;
        for (name, i) in [("mean", 3), ("variance", 4)] {
            let when = match () {
                () if !c.training => "When is_training=false",
                () if self.factor != 1.0 => "When exponential_avg_factor != 1",
                () => continue,
            };
            let got = inputs.shape(i)?.num_elements();
            if got != channels {
                let same = format!("{when}, {name} must have the same number of elements as the channels of x");
                return Err(Error::invalid_argument(format!("{same}, got {got} and {channels}")));
            }
        }
        if c.side && inputs.shape(5)? != x {
            let why = format!("side_input must have the shape of x, got {} and {x}", inputs.shape(5)?);
            return Err(Error::invalid_argument(why));
        }
        let mut outputs = Outputs::from_iter([Output::Shape(x.clone())]);
        for input in [3, 4, 3, 4] {
            let shape = Shape::from([channels]);
            let copied = !c.training && x.num_elements() > 0;
            outputs.push(if copied { Output::Alias { input, shape } } else { Output::Shape(shape) });
        }
        if c.version >= 3 {
            outputs.push(Output::Shape(Shape::scalar()));
        }
        Ok(outputs)
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let c = &self.common;
        let (x, y) = (ctx.input(0)?, ctx.output(0)?);
        if c.version >= 3 {
            fill(ctx, &ctx.output(5)?, 0.0)?;
        }
        if x.num_elements() == 0 {
            return nothing(ctx);
        }
        let view = Channels::new(&x.shape, c.first)?;
        let side = if c.side { Some(ctx.input(5)?) } else { None };
        let vector = vector(view, &[&x, &y, side.as_ref().unwrap_or(&x)])?;
        let rest = if c.training { Some(self.moments(ctx, &x, view, vector)?) } else { None };
        let from = |i| if c.training { ctx.output(i) } else { ctx.input(i) };
        let mut args = Args::new();
        args.read(&x)?.read(&from(3)?)?.read(&from(4)?)?.read(&ctx.input(1)?)?.read(&ctx.input(2)?)?;
        for optional in [&side, &rest] {
            match optional {
                Some(tensor) => args.read(tensor)?,
                None => args.null(),
            };
        }
        args.write(&y)?.u32(view.elements() / if vector { 4 } else { 1 }).u32(view.channels).u32(view.inner).f32(c.epsilon);
        c.launch_apply(ctx, view, vector, &args)
    }
}

impl Forward {
    /// Writes outputs 1 to 4; gives what the f32 mean lacks of the mean, [channels].
    fn moments(&self, ctx: &mut Compute<'_>, x: &Tensor, view: Channels, vector: bool) -> Result<Tensor> {
        let g = Geometry::new(&ctx.device().adapter().limits, view, vector);
        let (rows, channels) = (2 * i64::from(g.splits) + 2, i64::from(view.channels));
        let parts = ctx.temp(DType::F32, [rows, channels])?;
        let mut args = Args::new();
        args.read(x)?.write(&parts)?.u32(view.channels).u32(view.inner).u32(g.total).u32(g.splits).u32(g.chunk);
        let constants = [g.threads[0], g.threads[1], 1, view.last().into(), vector.into()];
        ctx.stream().launch_linear(self.common.moments, &constants, &args, g.groups)?;

        let mut args = Args::new();
        args.read_write(&parts)?;
        if self.factor == 1.0 {
            args.null().null();
        } else {
            args.read(&ctx.input(3)?)?.read(&ctx.input(4)?)?;
        }
        for output in 1..=4 {
            args.write(&ctx.output(output)?)?;
        }
        let each = g.chunk * if vector && !view.last() { 4 } else { 1 };
        args.u32(view.channels).u32(g.splits).u32(each).u32(view.count()).f32(self.factor);
        self.common.launch_finish(ctx, view, g.splits, &args)?;
        Ok(parts.slice((rows - 1) * channels, [channels]))
    }
}

/// The per-channel outputs for an x without elements: NaN for the batch's, 0 for the saved.
fn nothing(ctx: &Compute<'_>) -> Result<()> {
    for (output, value) in [(1, f32::NAN), (2, f32::NAN), (3, 0.0), (4, 0.0)] {
        fill(ctx, &ctx.output(output)?, value)?;
    }
    Ok(())
}

fn fill(ctx: &Compute<'_>, t: &Tensor, value: f32) -> Result<()> {
    if t.num_elements() == 0 { Ok(()) } else { ctx.stream().fill_u32(t.device_ptr()?, t.bytes(), value.to_bits()) }
}

struct Backward {
    common: Common,
}

impl Backward {
    fn make(node: &dyn OpKernelConstruction, version: u32) -> Result<Box<dyn OpKernel>> {
        Ok(Box::new(Self { common: Common::new(node, version, "backward")? }))
    }
}

impl OpKernel for Backward {
    /// Inputs y_backprop, x, scale, reserve_space_1, _2 (, _3 (, offset, y)); outputs x_backprop, scale_backprop,
    /// offset_backprop, and two reserve spaces that mean nothing (, side_input_backprop).
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let (dy, x) = (inputs.shape(0)?, inputs.shape(1)?);
        let vectors = [("scale", inputs.shape(2)?), ("reserve_space_1", inputs.shape(3)?), ("reserve_space_2", inputs.shape(4)?)];
        let channels = self.common.check(x, &vectors)?;
        if dy != x {
            return Err(Error::invalid_argument(format!("y_backprop and x must have the same shape, got {dy} and {x}")));
        }
        let shape = |dims: &[i64]| Output::Shape(Shape::new(dims));
        let mut outputs =
            Outputs::from_iter([Output::Shape(x.clone()), shape(&[channels]), shape(&[channels]), shape(&[]), shape(&[])]);
        if self.common.side {
            outputs.push(Output::Shape(x.clone()));
        }
        Ok(outputs)
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let c = &self.common;
        for reserve in [3, 4] {
            fill(ctx, &ctx.output(reserve)?, 0.0)?;
        }
        let (dy, x, dx) = (ctx.input(0)?, ctx.input(1)?, ctx.output(0)?);
        let (scale, mean, variance) = (ctx.input(2)?, ctx.input(3)?, ctx.input(4)?);
        let (dscale, doffset) = (ctx.output(1)?, ctx.output(2)?);
        if x.num_elements() == 0 {
            fill(ctx, &dscale, 0.0)?;
            return fill(ctx, &doffset, 0.0);
        }
        let view = Channels::new(&x.shape, c.first)?;
        let mask = if c.relu { Some(ctx.input(7)?) } else { None };
        let dside = if c.side { Some(ctx.output(5)?) } else { None };
        let vector = vector(view, &[&dy, &x, &dx, mask.as_ref().unwrap_or(&x), dside.as_ref().unwrap_or(&x)])?;
        let masked = |args: &mut Args| match &mask {
            Some(m) => args.read(m).map(|_| ()),
            None => {
                args.null();
                Ok(())
            }
        };

        let g = Geometry::new(&ctx.device().adapter().limits, view, vector);
        let parts = ctx.temp(DType::F32, [2, g.splits.into(), view.channels.into()])?;
        let mut args = Args::new();
        args.read(&x)?.read(&dy)?.read(&mean)?;
        masked(&mut args)?;
        args.write(&parts)?.u32(view.channels).u32(view.inner).u32(g.total).u32(g.splits).u32(g.chunk);
        let constants = [g.threads[0], g.threads[1], 1, view.last().into(), vector.into()];
        ctx.stream().launch_linear(c.moments, &constants, &args, g.groups)?;

        let mut args = Args::new();
        args.read(&parts)?.read(&variance)?.write(&dscale)?.write(&doffset)?;
        args.u32(view.channels).u32(g.splits).f32(c.epsilon);
        c.launch_finish(ctx, view, g.splits, &args)?;

        let mut args = Args::new();
        args.read(&dy)?.read(&x)?.read(&mean)?.read(&variance)?.read(&scale)?.read(&dscale)?.read(&doffset)?;
        masked(&mut args)?;
        args.write(&dx)?;
        match &dside {
            Some(d) => args.write(d)?,
            None => args.null(),
        };
        args.u32(view.elements() / if vector { 4 } else { 1 }).u32(view.channels).u32(view.inner);
        args.f32(c.epsilon).f32(view.count() as f32);
        c.launch_apply(ctx, view, vector, &args)
    }
}
