//! The gradient of a convolution's input as a plain product, gradient times transposed filter, whose rows (one value per
//! tap and channel) are then added to the pixels that the taps see. With strides most taps of a pixel meet no output pixel;
//! with few channels a product of pixels by channels leaves most of its tile empty. This does neither, for memory.

use tfvk_device::{Args, Error, Result, Tensor};

use super::divide::divisor;
use super::geometry::Geometry;
use crate::matmul::epilogue::Epilogue;
use crate::matmul::product::accumulator;
use crate::matmul::{Batch, Operand, Product};
use crate::{Compute, shader};

/// Bytes that the columns may take at a time.
const MAX_BYTES: i64 = 256 << 20;

fn count(size: [i64; 3]) -> i64 {
    size.iter().product()
}

/// Elements of one image's columns.
fn image_columns(g: &Geometry) -> i64 {
    count(g.output) * count(g.filter) * g.in_channels
}

/// Whether this way is the better one.
pub fn suits(g: &Geometry, bytes: i64) -> bool {
    let strided = g.strides.iter().any(|s| *s > 1);
    let narrow = g.in_channels < 16 && count(g.filter) > 1;
    g.groups() == 1 && (strided || narrow) && image_columns(g).saturating_mul(bytes) <= MAX_BYTES
}

/// Launches it; operands as in [`super::launch::Conv`], below 2^31 elements. Adds in the accumulator's type.
pub fn input_gradient(ctx: &mut Compute<'_>, g: &Geometry, gradient: &Tensor, filter: &Tensor, result: &Tensor) -> Result<()> {
    let dtype = accumulator(result.dtype);
    let one = image_columns(g);
    let images = (MAX_BYTES / (one * dtype.size() as i64).max(1)).clamp(1, g.batch.max(1));
    let columns = ctx.temp(dtype, [images * one])?;
    let (from, to) = (count(g.output) * g.out_channels, count(g.input) * g.in_channels);
    for first in (0..g.batch).step_by(images as usize) {
        let n = images.min(g.batch - first);
        let part = |t: &Tensor, one: i64| t.slice(first * one, [n * one]);
        let columns = columns.slice(0, [n * one]);
        products(g, n, &part(gradient, from), filter, &columns).run(ctx)?;
        add(ctx, g, &columns, &part(result, to))?;
    }
    Ok(())
}

/// columns[image, pixel, tap and channel] = gradient[image, pixel, :] . filter[tap and channel, :]
fn products(g: &Geometry, images: i64, gradient: &Tensor, filter: &Tensor, columns: &Tensor) -> Product {
    let (area, n, k) = (count(g.output) as u64, (count(g.filter) * g.in_channels) as u64, g.out_channels as u64);
    let first = g.channels_first;
    let batch = if first { vec![Batch { n: images as u64, a: area * k, b: 0, c: area * n }] } else { Vec::new() };
    Product {
        a: Operand::new(gradient, !first),
        b: Operand::new(filter, true),
        c: columns.clone(),
        c_row: None,
        m: if first { area } else { images as u64 * area },
        n,
        k,
        batch: batch.into(),
        epilogue: Epilogue::none(),
    }
}

fn add(ctx: &mut Compute<'_>, g: &Geometry, columns: &Tensor, result: &Tensor) -> Result<()> {
    let threads = ctx.device().adapter().limits.max_invocations.min(256);
    let elements = result.num_elements();
    let small = u32::try_from(elements).map_err(|_| Error::unimplemented(format!("a gradient of {elements} elements")))?;
    let mut args = Args::new();
    args.read(columns)?.write(result)?.u32(small);
    for d in [g.input[2], g.input[1], g.input[0], g.in_channels] {
        divisor(&mut args, d as u64)?;
    }
    args.u32(g.output[2] as u32).u32(g.output[1] as u32).u32(g.output[0] as u32);
    let mut constants = [0; 30];
    constants[..5].copy_from_slice(&[threads, 1, 1, 0, u32::from(g.channels_first)]);
    for i in 0..3 {
        constants[18 + i] = g.filter[i] as u32;
        constants[21 + i] = g.strides[i] as u32;
        constants[24 + i] = g.dilations[i] as u32;
        constants[27 + i] = g.pad[i] as u32;
    }
    let kernel = shader::COLUMNS.get(&[result.dtype.into()])?;
    ctx.stream().launch_linear(kernel, &constants, &args, u64::from(small.div_ceil(threads)))
}
