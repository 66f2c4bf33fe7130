//! DepthwiseConv2dNative and its gradients.

use tfvk_device::{Args, Error, Result, Shape, Tensor};

use super::divide::divisor;
use super::geometry::{Attributes, Geometry};
use super::launch::Pass;
use super::ops::sizes;
use crate::loops;
use crate::matmul::epilogue::Epilogue;
use crate::matmul::product::{accumulator, in_fours, sum_parts};
use crate::{Compute, Inputs, KernelDef, OpKernel, OpKernelConstruction, Output, Outputs, shader, t, types};

/// The declarations.
pub const KERNELS: &[KernelDef] = &[
    KernelDef::kernel("DepthwiseConv2dNative", &[t("T", types::FLOAT)], |n| make(n, Pass::Forward)),
    KernelDef::kernel("DepthwiseConv2dNativeBackpropInput", &[t("T", types::FLOAT)], |n| make(n, Pass::InputGradient))
        .host(&["input_sizes"]),
    KernelDef::kernel("DepthwiseConv2dNativeBackpropFilter", &[t("T", types::FLOAT)], |n| make(n, Pass::FilterGradient))
        .host(&["filter_sizes"]),
];

struct Depthwise {
    pass: Pass,
    attributes: Attributes,
}

fn make(node: &dyn OpKernelConstruction, pass: Pass) -> Result<Box<dyn OpKernel>> {
    Ok(Box::new(Depthwise { pass, attributes: Attributes::from_node(node, 2)? }))
}

impl Depthwise {
    /// The forward convolution, the result's shape, and the two tensors that are read.
    fn plan(&self, inputs: &Inputs<'_>) -> Result<(Geometry, Shape, [usize; 2])> {
        match self.pass {
            Pass::Forward => {
                let g = self.attributes.depthwise(inputs.shape(0)?, inputs.shape(1)?)?;
                Ok((g, g.output_shape(2), [0, 1]))
            }
            Pass::InputGradient => {
                let input = sizes(inputs, 0, "input_sizes")?;
                let g = self.attributes.depthwise(&input, inputs.shape(1)?)?;
                g.check_gradient(2, inputs.shape(2)?)?;
                Ok((g, input, [2, 1]))
            }
            Pass::FilterGradient => {
                let filter = sizes(inputs, 1, "filter_sizes")?;
                let g = self.attributes.depthwise(inputs.shape(0)?, &filter)?;
                g.check_gradient(2, inputs.shape(2)?)?;
                Ok((g, filter, [0, 2]))
            }
        }
    }
}

impl OpKernel for Depthwise {
    fn outputs(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        let (_, shape, _) = self.plan(inputs)?;
        Ok(Outputs::from_iter([Output::Shape(shape)]))
    }

    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (g, _, [source, other]) = self.plan(&ctx.inputs())?;
        let (source, other, result) = (ctx.input(source)?, ctx.input(other)?, ctx.output(0)?);
        let largest = source.num_elements().max(other.num_elements()).max(result.num_elements());
        if largest >= i64::from(i32::MAX) {
            return Err(Error::unimplemented(format!("a tensor of {largest} elements; expected fewer than 2^31")));
        }
        run(ctx, &g, self.pass, &source, &other, &result)
    }
}

/// Launches a convolution whose groups have one input channel each; operands as in [`super::launch::Conv`], below 2^31
/// elements.
pub fn run(ctx: &mut Compute<'_>, g: &Geometry, pass: Pass, source: &Tensor, other: &Tensor, result: &Tensor) -> Result<()> {
    match pass {
        Pass::FilterGradient => filter_gradient(ctx, g, source, other, result),
        _ => elements(ctx, g, pass, source, other, result),
    }
}

/// The constants that all depthwise kernels have, numbered as in `conv.comp`.
fn constants(threads: u32, third: u32, g: &Geometry) -> [u32; 30] {
    let mut c = [0; 30];
    c[..5].copy_from_slice(&[threads, 1, 1, third, u32::from(g.channels_first)]);
    for i in 1..3 {
        c[18 + i] = g.filter[i] as u32;
        c[21 + i] = g.strides[i] as u32;
        c[24 + i] = g.dilations[i] as u32;
        c[27 + i] = g.pad[i] as u32;
    }
    c
}

fn elements(ctx: &mut Compute<'_>, g: &Geometry, pass: Pass, source: &Tensor, filter: &Tensor, result: &Tensor) -> Result<()> {
    loops::check(ctx, g.filter.iter().map(|&n| if n > 1 { n as u64 + 1 } else { 1 }).product(), "a depthwise convolution")?;
    let threads = ctx.device().adapter().limits.max_invocations.min(256);
    let multiplier = g.out_channels / g.in_channels.max(1);
    let (from, from_channels, to, to_channels) = match pass {
        Pass::Forward => (g.input, g.in_channels, g.output, g.out_channels),
        _ => (g.output, g.out_channels, g.input, g.in_channels),
    };
    let row = g.in_channels as u64;
    let fours = !g.channels_first && multiplier == 1 && [source, filter, result].iter().all(|t| in_fours(t, row));
    let per = if fours { 4 } else { 1 };
    let count = (result.num_elements() / per) as u32;
    let mut args = Args::new();
    args.read(source)?.read(filter)?.write(result)?;
    args.u32(count).u32(from[1] as u32).u32(from[2] as u32);
    for d in [to[2], to[1], to_channels / per, multiplier] {
        divisor(&mut args, d as u64)?;
    }
    args.u32((from_channels / per) as u32).u32((g.out_channels / per) as u32);
    let kernel = shader::DEPTHWISE.get(&[result.dtype.into(), fours.into()])?;
    let constants = constants(threads, u32::from(pass == Pass::InputGradient), g);
    ctx.stream().launch_linear(kernel, &constants, &args, count.div_ceil(threads).into())
}

fn filter_gradient(ctx: &mut Compute<'_>, g: &Geometry, image: &Tensor, gradient: &Tensor, result: &Tensor) -> Result<()> {
    // The shader halves the rows of its workgroup, so their number is a power of two.
    let threads = if ctx.device().adapter().limits.max_invocations < 256 { 128 } else { 256 };
    let lanes: u32 = if g.channels_first { 1 } else { 32 };
    let pixels = (g.batch * g.output[1] * g.output[2]) as u64;
    let taps = (g.filter[1] * g.filter[2]) as u64;
    let blocks = (g.out_channels as u64).div_ceil(lanes.into()) * taps;
    // Enough workgroups for a large device, but at least eight rounds each.
    let parts = (1024 / blocks.max(1)).min(pixels / u64::from(threads / lanes * 8)).clamp(1, 64);
    let part = pixels.div_ceil(parts).max(1);
    let parts = pixels.div_ceil(part).max(1);
    let sums = ctx.temp(accumulator(result.dtype), [parts as i64 * result.num_elements()])?;
    let groups = blocks * parts;
    let mut args = Args::new();
    args.read(image)?.read(gradient)?.write(&sums)?;
    args.u32(groups as u32).u32(g.input[1] as u32).u32(g.input[2] as u32).u32(g.in_channels as u32);
    for d in [g.output[2], g.output[1], g.out_channels / g.in_channels.max(1)] {
        divisor(&mut args, d as u64)?;
    }
    args.u32(g.out_channels as u32).u32(pixels as u32).u32(part as u32);
    let kernel = shader::DEPTHWISE_FILTER.get(&[result.dtype.into()])?;
    ctx.stream().launch_linear(kernel, &constants(threads, lanes, g), &args, groups)?;
    sum_parts(ctx, &sums, result, parts, (1, g.out_channels as u64), &Epilogue::none())
}
