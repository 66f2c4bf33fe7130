//! Launches a convolution: as a plain product where each output pixel sees one input pixel, else `conv.comp`.

use tfvk_device::{Args, Error, Result, Tensor};

use super::divide::divisor;
use super::geometry::Geometry;
use super::{columns, coop, depthwise, padded};
use crate::generic::instead_of;
use crate::matmul::choice::{Choice, Machine, Size, Tile, choose};
use crate::matmul::epilogue::{BiasAlong, Epilogue};
use crate::matmul::product::{accumulator, in_fours, sum_parts};
use crate::matmul::{Batch, Operand, Product};
use crate::{Compute, shader};

/// Which of the three; the number is the shader's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Pass {
    /// source: input, other: filter, result: output.
    Forward = 0,
    /// source: gradient of the output, other: filter, result: gradient of the input.
    InputGradient = 1,
    /// source: input, other: gradient of the output, result: gradient of the filter.
    FilterGradient = 2,
}

/// One convolution.
#[derive(Clone, Debug)]
pub struct Conv {
    /// Which pass.
    pub pass: Pass,
    /// The shapes, of the forward convolution.
    pub geometry: Geometry,
    /// The gathered operand.
    pub source: Tensor,
    /// The other operand.
    pub other: Tensor,
    /// The result.
    pub result: Tensor,
    /// What follows; a bias is one element per channel of the result.
    pub epilogue: Epilogue,
}

const MAX_ELEMENTS: i64 = i32::MAX as i64;

impl Conv {
    /// Launches it. Errors: a filter gradient of more than 2^31 elements of input.
    pub fn run(&self, ctx: &mut Compute<'_>) -> Result<()> {
        self.run_as(ctx, None)
    }

    pub(crate) fn run_as(&self, ctx: &mut Compute<'_>, choice: Option<Choice>) -> Result<()> {
        let largest = self.source.num_elements().max(self.other.num_elements()).max(self.result.num_elements());
        let long = self.operations() / 16 > ctx.device().adapter().limits.launch_work;
        if largest >= MAX_ELEMENTS || (long && self.pass != Pass::FilterGradient && self.geometry.batch > 1) {
            return self.halves(ctx, largest, choice);
        }
        if choice.is_none() {
            let g = &self.geometry;
            if g.group_channels == 1
                && g.groups() > 1
                && g.filter[0] == 1
                && g.input[0] == 1
                && self.epilogue.is_none()
                && self.result.dtype.is_float()
            {
                return depthwise::run(ctx, g, self.pass, &self.source, &self.other, &self.result);
            }
            if let Some(product) = self.as_product() {
                return product.run(ctx);
            }
            match self.on_matrix_units(ctx) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(why) => instead_of("a convolution on matrix units", why)?,
            }
            let bytes = accumulator(self.result.dtype).size() as i64;
            if self.pass == Pass::InputGradient && self.epilogue.is_none() && columns::suits(g, bytes) {
                return columns::input_gradient(ctx, g, &self.source, &self.other, &self.result);
            }
        }
        self.launch(ctx, choice)
    }

    /// Computes it on matrix units, where the device has them and it fits them; whether it did.
    fn on_matrix_units(&self, ctx: &mut Compute<'_>) -> Result<bool> {
        match coop::choice(self, Machine::of(ctx.device().adapter())) {
            Some(choice) => self.run_coop(ctx, choice).map(|()| true),
            None => padded::run(ctx, self, None),
        }
    }

    /// Cuts the batch in two, so that indices fit.
    fn halves(&self, ctx: &mut Compute<'_>, largest: i64, choice: Option<Choice>) -> Result<()> {
        let g = self.geometry;
        if self.pass == Pass::FilterGradient || g.batch < 2 {
            return Err(Error::unimplemented(format!("a tensor of {largest} elements; expected fewer than 2^31")));
        }
        let half = g.batch / 2;
        [(0, half), (half, g.batch - half)].into_iter().try_for_each(|(first, batch)| {
            let part = |t: &Tensor| {
                let one = t.num_elements() / g.batch;
                t.slice(first * one, [batch * one])
            };
            let mut conv = self.clone();
            conv.geometry.batch = batch;
            (conv.source, conv.result) = (part(&self.source), part(&self.result));
            conv.run_as(ctx, choice)
        })
    }

    /// A 1x1 convolution as a product of matrices that lie there already.
    fn as_product(&self) -> Option<Product> {
        let g = &self.geometry;
        let area = g.input.iter().product::<i64>();
        if !g.is_pointwise() || g.groups() != 1 || (g.channels_first && (self.pass == Pass::FilterGradient || area < 256)) {
            return None;
        }
        let (pixels, ci, co) = ((g.batch * area) as u64, g.in_channels as u64, g.out_channels as u64);
        let (source, other) = (&self.source, &self.other);
        let (a, b, m, n, k) = match (self.pass, g.channels_first) {
            (Pass::Forward, false) => (Operand::new(source, true), Operand::new(other, false), pixels, co, ci),
            (Pass::InputGradient, false) => (Operand::new(source, true), Operand::new(other, true), pixels, ci, co),
            (Pass::FilterGradient, _) => (Operand::new(source, false), Operand::new(other, false), ci, co, pixels),
            (Pass::Forward, true) => (Operand::new(other, false), Operand::new(source, false), co, area as u64, ci),
            (Pass::InputGradient, true) => (Operand::new(other, true), Operand::new(source, false), ci, area as u64, co),
        };
        let batch = if g.channels_first { vec![Batch { n: g.batch as u64, a: 0, b: k * n, c: m * n }] } else { Vec::new() };
        Some(Product { a, b, c: self.result.clone(), c_row: None, m, n, k, batch: batch.into(), epilogue: self.epilogue.clone() })
    }

    /// m, n, k of one group.
    pub(super) fn sizes(&self) -> (i64, i64, i64) {
        let g = &self.geometry;
        let groups = g.groups().max(1);
        let count = |s: [i64; 3]| s.iter().product::<i64>();
        let (ci, co) = (g.group_channels, g.out_channels / groups);
        let (pixels, channels, k) = match self.pass {
            Pass::Forward => (g.batch * count(g.output), co, count(g.filter) * ci),
            Pass::InputGradient => (g.batch * count(g.input), ci, count(g.filter) * co),
            Pass::FilterGradient => return (count(g.filter) * ci, co, g.batch * count(g.output)),
        };
        if g.channels_first { (channels, pixels, k) } else { (pixels, channels, k) }
    }

    /// Floating-point operations, about: padding is counted.
    fn operations(&self) -> u64 {
        let (m, n, k) = self.sizes();
        [m, n, k, self.geometry.groups().max(1)].into_iter().fold(2, |p, v| p.saturating_mul(v as u64))
    }

    fn launch(&self, ctx: &mut Compute<'_>, choice: Option<Choice>) -> Result<()> {
        let g = &self.geometry;
        let dtype = self.result.dtype;
        let (m, n, k) = self.sizes();
        let size = Size { batch: g.groups().max(1) as u64, m: m as u64, n: n as u64, k: k as u64 };
        let choice = choice.unwrap_or_else(|| choose(size, dtype, tiles(dtype), Machine::of(ctx.device().adapter())));
        let parts = choice.parts(size.k);
        if parts == 1 && self.epilogue.activation.in_tile() {
            return self.launch_tiles(ctx, choice, size, &self.result, false);
        }
        let sums = ctx.temp(accumulator(dtype), [parts as i64 * self.result.num_elements()])?;
        self.launch_tiles(ctx, choice, size, &sums, true)?;
        // The result as rows of what the bias runs along.
        let mut epilogue = self.epilogue.clone();
        let (rows, columns) = if g.channels_first && self.pass != Pass::FilterGradient {
            let channels = if self.pass == Pass::Forward { g.out_channels } else { g.in_channels };
            let area = if self.pass == Pass::Forward { g.output } else { g.input };
            (channels, area.iter().product())
        } else {
            (1, self.out_row())
        };
        if epilogue.bias.is_some() {
            epilogue.along = if g.channels_first { BiasAlong::M } else { BiasAlong::N };
        }
        sum_parts(ctx, &sums, &self.result, parts, (rows as u64, columns as u64), &epilogue)
    }

    /// Channels of the result.
    fn out_row(&self) -> i64 {
        if self.pass == Pass::InputGradient { self.geometry.in_channels } else { self.geometry.out_channels }
    }

    fn launch_tiles(&self, ctx: &mut Compute<'_>, choice: Choice, size: Size, out: &Tensor, split: bool) -> Result<()> {
        let g = &self.geometry;
        let (tm, tn) = choice.tile.shape();
        let (tiles_m, tiles_n) = (size.m.div_ceil(tm), size.n.div_ceil(tn));
        let groups = tiles_m * tiles_n * size.batch * choice.parts(size.k);
        let small =
            u32::try_from(groups).map_err(|_| Error::unimplemented(format!("{groups} workgroups; expected fewer than 2^32")))?;
        let group_out = g.out_channels / g.groups().max(1);
        let (source_size, source_channels, pixels, tap_channels) = match self.pass {
            Pass::Forward => (g.input, g.in_channels, g.output, g.group_channels),
            Pass::InputGradient => (g.output, g.out_channels, g.input, group_out),
            Pass::FilterGradient => (g.input, g.in_channels, g.output, g.group_channels),
        };
        let other_row = g.out_channels;
        let mut args = Args::new();
        args.read(&self.source)?.read(&self.other)?.write(out)?;
        match (&self.epilogue.bias, split) {
            (Some(bias), false) => args.read(bias)?,
            _ => args.null(),
        };
        args.u32(size.m as u32).u32(size.n as u32).u32(size.k as u32);
        source_size.iter().for_each(|&s| _ = args.u32(s as u32));
        args.u32(source_channels as u32);
        for p in [pixels[2], pixels[1], pixels[0], tap_channels] {
            divisor(&mut args, p as u64)?;
        }
        args.u32(other_row as u32).u32(self.out_row() as u32);
        args.u32(tiles_m as u32)
            .u32(tiles_n as u32)
            .u32(small)
            .u32(choice.k_part as u32)
            .f32(self.epilogue.alpha)
            .work(self.operations());

        let flag = u32::from;
        let mut constants = [0; 30];
        constants[..5].copy_from_slice(&[choice.tile.threads(), 1, 1, self.pass as u32, flag(g.channels_first)]);
        let fours = |t: &Tensor, row: i64, group: i64| flag(group % 4 == 0 && in_fours(t, row as u64));
        let first = g.channels_first;
        constants[5] = if first { 0 } else { fours(&self.source, source_channels, tap_channels) };
        constants[6] = match self.pass {
            Pass::FilterGradient if first => 0,
            _ => fours(&self.other, other_row, group_out),
        };
        constants[7] = match self.pass {
            Pass::FilterGradient => fours(out, g.out_channels, group_out),
            _ if first => fours(out, pixels.iter().product(), 4),
            _ => fours(out, self.out_row(), self.out_row() / g.groups().max(1)),
        };
        constants[8] = flag(tap_channels % 4 == 0);
        constants[10] = flag(split);
        if !split {
            let [_, activation] = self.epilogue.constants();
            constants[16] = flag(self.epilogue.bias.is_some());
            constants[17] = activation;
        }
        for i in 0..3 {
            constants[18 + i] = g.filter[i] as u32;
            constants[21 + i] = g.strides[i] as u32;
            constants[24 + i] = g.dilations[i] as u32;
            constants[27 + i] = g.pad[i] as u32;
        }
        let kernel = shader::CONV.get(&[dtype_word(self)?.into(), choice.tile.word().into()])?;
        ctx.stream().launch_linear(kernel, &constants, &args, groups)
    }
}

/// The element type, which source, other and result share.
fn dtype_word(conv: &Conv) -> Result<tfvk_device::DType> {
    let (s, o, r) = (conv.source.dtype, conv.other.dtype, conv.result.dtype);
    if s == r && o == r { Ok(r) } else { Err(Error::internal(format!("a convolution of {s} and {o} to {r}"))) }
}

/// The tiles that `conv.comp` has for this type.
fn tiles(dtype: tfvk_device::DType) -> &'static [Tile] {
    use tfvk_device::DType::{BF16, F16, F32, F64};
    match dtype {
        F32 | F16 | BF16 => &[Tile::T128, Tile::T64, Tile::T32],
        F64 => &[Tile::T64, Tile::T32],
        _ => &[Tile::T32],
    }
}

#[cfg(test)]
mod tests;
