//! Convolutions whose layout is not for matrix units, by way of copies that are: channels last, to the next eight with zeros;
//! a few channels together with the filter's columns, which follow each other in memory (the first layer of most networks,
//! three channels). The copies cost bandwidth alone. `coop.rs` has the rest.

use tfvk_device::{DType, Result, Tensor};

use super::coop::{self, Launch};
use super::geometry::Geometry;
use super::launch::{Conv, Pass};
use super::tiles::{Choice, choose};
use crate::Compute;
use crate::copy::{View, strided_copy};
use crate::matmul::choice::{Machine, Size};

/// Bytes of copies that take as long as a launch.
const LAUNCH: i64 = 8 << 20;
/// Operations (two a multiplication) that plain arithmetic does in the time that memory moves a byte.
const PLAIN: i64 = 10;

/// Copies of more than this are not made.
const MAX_BYTES: i64 = 1 << 30;

fn eights(n: i64) -> i64 {
    (n + 7) / 8 * 8
}

/// A copy of images: channels last, of `channels` each, rows of `width` pixels, the first one after `before` of zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Images {
    height: i64,
    width: i64,
    channels: i64,
    before: i64,
}

/// How a convolution of few channels is done: as one of a column of taps, whose channels are a row of taps' channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Folded {
    images: Images,
    /// Channels of a row of taps, to the next eight.
    row: i64,
}

/// Whether and how to fold a row of taps: where pixels a stride apart are whole eights of few channels apart.
fn folded(g: &Geometry, pass: Pass) -> Option<Folded> {
    let (stride, taps) = (g.strides[2], g.filter[2]);
    let channels = (g.in_channels..8).find(|c| stride * c % 8 == 0)?;
    let row = eights(taps * channels);
    // The last pixel's row of taps, zeros included, must lie in its image's row; rows are whole eights.
    let last = (g.output[2] - 1) * stride * channels + row;
    let mut width = (g.pad[2] + g.input[2]).max((last + channels - 1) / channels);
    while width * channels % 8 != 0 {
        width += 1;
    }
    let images = Images { height: g.input[1], width, channels, before: g.pad[2] };
    let better = row < taps * eights(g.in_channels);
    (pass != Pass::InputGradient && g.dilations[2] == 1 && better).then_some(Folded { images, row })
}

/// Launches it so; `false`, and nothing is done, where that is not the better way. `forced` is for tests: all are taken, by
/// this choice.
pub fn run(ctx: &mut Compute<'_>, conv: &Conv, forced: Option<Choice>) -> Result<bool> {
    let g = &conv.geometry;
    let machine = Machine::of(ctx.device().adapter());
    let sixteen = matches!(conv.result.dtype, DType::F16 | DType::BF16);
    let some = conv.result.num_elements() > 0 && conv.source.num_elements() > 0;
    if !sixteen || !some || !coop::is_flat(g) || !conv.epilogue.activation.in_tile() {
        return Ok(false);
    }
    if let Some(f) = folded(g, conv.pass) {
        let (pixels, k) = (g.batch * g.output[1] * g.output[2], g.filter[1] * f.row);
        let n = eights(g.out_channels);
        let (m, n, k) = if conv.pass == Pass::FilterGradient { (k, n, pixels) } else { (pixels, n, k) };
        let size = Size { batch: 1, m: m as u64, n: n as u64, k: k as u64 };
        let choice = forced.or_else(|| choose(size, conv.pass, false, conv.result.dtype, machine));
        let bytes = g.batch * f.images.height * f.images.width * f.images.channels * 2;
        let Some(choice) = choice.filter(|_| forced.is_some() || conv.worth(bytes, 2 * m * n.max(64) * k)) else {
            return Ok(false);
        };
        return conv.run_folded(ctx, choice, &f, size).map(|()| true);
    }
    let inner = Geometry {
        channels_first: false,
        in_channels: eights(g.in_channels),
        group_channels: eights(g.in_channels),
        out_channels: eights(g.out_channels),
        ..*g
    };
    let (input, output) = (g.batch * g.input[1] * g.input[2], g.batch * g.output[1] * g.output[2]);
    let bytes = 2 * (input * inner.in_channels + output * inner.out_channels);
    let across = if conv.pass == Pass::InputGradient { inner.in_channels } else { inner.out_channels };
    let operations = 2 * output * inner.in_channels * inner.out_channels * g.filter[1] * g.filter[2] / across * across.max(64);
    let units = machine.matrix_units[usize::from(conv.result.dtype == DType::BF16)];
    if forced.is_none() && !(units && conv.worth(bytes, operations)) {
        return Ok(false);
    }
    conv.run_padded(ctx, &inner, machine, forced)
}

impl Conv {
    /// Whether copies of so many bytes are worth it, for so many operations on matrix units.
    fn worth(&self, bytes: i64, operations: i64) -> bool {
        let g = &self.geometry;
        let all = [g.output[1], g.output[2], g.in_channels, g.out_channels, g.filter[1], g.filter[2]];
        let plain = all.iter().fold(2 * g.batch, |p, &v| p.saturating_mul(v)) / PLAIN;
        // Each is written and read; matrix units are five times as fast.
        bytes < MAX_BYTES && plain > 2 * bytes + operations / (5 * PLAIN) + 2 * LAUNCH
    }

    fn run_padded(&self, ctx: &mut Compute<'_>, inner: &Geometry, machine: Machine, forced: Option<Choice>) -> Result<bool> {
        let g = &self.geometry;
        let plain = |size: [i64; 3], channels| Images { height: size[1], width: size[2], channels, before: 0 };
        let (input, output) = (plain(g.input, inner.in_channels), plain(g.output, inner.out_channels));
        let mut conv = Conv { geometry: *inner, ..self.clone() };
        let filter = [g.filter[1] * g.filter[2], inner.in_channels, inner.out_channels];
        (conv.source, conv.other) = match self.pass {
            Pass::Forward => {
                (self.images(ctx, &self.source, g.input, g.in_channels, input)?, self.filter(ctx, &self.other, filter)?)
            }
            Pass::InputGradient => {
                (self.images(ctx, &self.source, g.output, g.out_channels, output)?, self.filter(ctx, &self.other, filter)?)
            }
            Pass::FilterGradient => (
                self.images(ctx, &self.source, g.input, g.in_channels, input)?,
                self.images(ctx, &self.other, g.output, g.out_channels, output)?,
            ),
        };
        let padded_bias = self.bias(ctx, inner.out_channels)?;
        conv.epilogue.bias = padded_bias;
        let count = match self.pass {
            Pass::Forward => g.batch * g.output[1] * g.output[2] * inner.out_channels,
            Pass::InputGradient => g.batch * g.input[1] * g.input[2] * inner.in_channels,
            Pass::FilterGradient => filter.iter().product(),
        };
        let same = count == self.result.num_elements() && (!g.channels_first || self.pass == Pass::FilterGradient);
        if !same {
            conv.result = ctx.temp(self.result.dtype, [count])?;
        }
        let Some(choice) = forced.filter(|_| coop::suits(&conv)).or_else(|| coop::choice(&conv, machine)) else {
            return Ok(false);
        };
        conv.run_coop_as(ctx, choice, forced.is_some())?;
        if same {
            return Ok(true);
        }
        match self.pass {
            Pass::FilterGradient => self.copy_filter(ctx, &conv.result, filter)?,
            _ => {
                let (size, channels, wide) = match self.pass {
                    Pass::Forward => (g.output, g.out_channels, output),
                    _ => (g.input, g.in_channels, input),
                };
                let dims = [g.batch, size[1], size[2], channels];
                let from = View { tensor: &conv.result, offset: 0, strides: &wide.strides() };
                let to = View { tensor: &self.result, offset: 0, strides: &layout(g.channels_first, size, channels) };
                strided_copy(ctx.device(), ctx.stream(), &dims, from, to)?;
            }
        }
        Ok(true)
    }

    fn run_folded(&self, ctx: &mut Compute<'_>, choice: Choice, f: &Folded, size: Size) -> Result<()> {
        let g = &self.geometry;
        let n = eights(g.out_channels);
        let c = f.images.channels;
        let steps = f.images.strides();
        let launch = Launch {
            size,
            // Along a row every pixel is inside: the copy has the padding.
            source_size: [g.input[1], g.output[2]],
            source_steps: [g.strides[2] * c, steps[1], steps[0]],
            pixels: [g.output[1], g.output[2]],
            tap_channels: f.row,
            taps_w: 1,
            stride: [g.strides[1], 1],
            first: [-g.pad[1], 0],
            tap_step: [g.dilations[1], 1],
            filter_tap: 0,
            filter_tap_step: [0; 2],
            last_eight: (g.filter[2] * c - 1) % 8 + 1,
            apart: None,
        };
        let mut conv = self.clone();
        conv.source = self.images(ctx, &self.source, g.input, g.in_channels, f.images)?;
        conv.epilogue.bias = self.bias(ctx, n)?;
        // Filter[row, column, in channel, out channel] and the same with the inner three as they are folded.
        let dims = [g.filter[1], g.filter[2], g.in_channels, g.out_channels];
        let plain = [g.filter[2] * g.in_channels * g.out_channels, g.in_channels * g.out_channels, g.out_channels, 1];
        let wide = [f.row * n, c * n, n, 1];
        let filter = self.zeros(ctx, g.filter[1] * f.row * n)?;
        if self.pass == Pass::Forward {
            let from = View { tensor: &self.other, offset: 0, strides: &plain };
            strided_copy(ctx.device(), ctx.stream(), &dims, from, View { tensor: &filter, offset: 0, strides: &wide })?;
            conv.other = filter;
            let output = Images { height: g.output[1], width: g.output[2], channels: n, before: 0 };
            let count = g.batch * g.output[1] * g.output[2] * n;
            let same = count == self.result.num_elements() && !g.channels_first;
            if !same {
                conv.result = ctx.temp(self.result.dtype, [count])?;
            }
            conv.launch_coop(ctx, choice, &launch, &conv.result)?;
            if same {
                return Ok(());
            }
            let dims = [g.batch, g.output[1], g.output[2], g.out_channels];
            let from = View { tensor: &conv.result, offset: 0, strides: &output.strides() };
            let to = View { tensor: &self.result, offset: 0, strides: &layout(g.channels_first, g.output, g.out_channels) };
            return strided_copy(ctx.device(), ctx.stream(), &dims, from, to);
        }
        let output = Images { height: g.output[1], width: g.output[2], channels: n, before: 0 };
        conv.other = self.images(ctx, &self.other, g.output, g.out_channels, output)?;
        conv.launch_coop(ctx, choice, &launch, &filter)?;
        let from = View { tensor: &filter, offset: 0, strides: &wide };
        strided_copy(ctx.device(), ctx.stream(), &dims, from, View { tensor: &self.result, offset: 0, strides: &plain })
    }

    fn zeros(&self, ctx: &mut Compute<'_>, elements: i64) -> Result<Tensor> {
        let t = ctx.temp(self.result.dtype, [elements])?;
        ctx.stream().fill(t.device_ptr()?, t.bytes(), 0)?;
        Ok(t)
    }

    /// Images of this size as `to`; themselves where they are so already.
    fn images(&self, ctx: &mut Compute<'_>, t: &Tensor, size: [i64; 3], channels: i64, to: Images) -> Result<Tensor> {
        let g = &self.geometry;
        let dims = [g.batch, size[1], size[2], channels];
        let aligned = t.device_ptr().is_ok_and(|p| p.0 % 16 == 0);
        let whole = (to.width, to.channels) == (size[2], channels);
        if whole && !g.channels_first && aligned {
            return Ok(t.clone());
        }
        let elements = g.batch * to.height * to.width * to.channels;
        let copy = if whole { ctx.temp(t.dtype, [elements])? } else { self.zeros(ctx, elements)? };
        let from = View { tensor: t, offset: 0, strides: &layout(g.channels_first, size, channels) };
        let to = View { tensor: &copy, offset: to.before * to.channels, strides: &to.strides() };
        strided_copy(ctx.device(), ctx.stream(), &dims, from, to)?;
        Ok(copy)
    }

    /// A filter with as many taps, in and out channels as `to`.
    fn filter(&self, ctx: &mut Compute<'_>, t: &Tensor, to: [i64; 3]) -> Result<Tensor> {
        let count = to.iter().product::<i64>();
        let aligned = t.device_ptr().is_ok_and(|p| p.0 % 16 == 0);
        if count == t.num_elements() && aligned {
            return Ok(t.clone());
        }
        let copy = self.zeros(ctx, count)?;
        let (dims, plain, wide) = self.filters(to);
        let from = View { tensor: t, offset: 0, strides: &plain };
        strided_copy(ctx.device(), ctx.stream(), &dims, from, View { tensor: &copy, offset: 0, strides: &wide })?;
        Ok(copy)
    }

    /// The way back, to the result.
    fn copy_filter(&self, ctx: &mut Compute<'_>, from: &Tensor, size: [i64; 3]) -> Result<()> {
        let (dims, plain, wide) = self.filters(size);
        let from = View { tensor: from, offset: 0, strides: &wide };
        strided_copy(ctx.device(), ctx.stream(), &dims, from, View { tensor: &self.result, offset: 0, strides: &plain })
    }

    /// The filter's size, its strides, and those of one of the size `wide`.
    fn filters(&self, wide: [i64; 3]) -> ([i64; 3], [i64; 3], [i64; 3]) {
        let g = &self.geometry;
        let dims = [g.filter[1] * g.filter[2], g.in_channels, g.out_channels];
        (dims, [dims[1] * dims[2], dims[2], 1], [wide[1] * wide[2], wide[2], 1])
    }

    /// The bias of so many channels, the last ones zero.
    fn bias(&self, ctx: &mut Compute<'_>, channels: i64) -> Result<Option<Tensor>> {
        let Some(bias) = &self.epilogue.bias else { return Ok(None) };
        if bias.num_elements() == channels {
            return Ok(Some(bias.clone()));
        }
        let copy = self.zeros(ctx, channels)?;
        let dims = [bias.num_elements()];
        let (from, to) = (View { tensor: bias, offset: 0, strides: &[1] }, View { tensor: &copy, offset: 0, strides: &[1] });
        strided_copy(ctx.device(), ctx.stream(), &dims, from, to)?;
        Ok(Some(copy))
    }
}

/// Strides of image, row, column, channel.
fn layout(channels_first: bool, size: [i64; 3], channels: i64) -> [i64; 4] {
    let area = size[1] * size[2];
    if channels_first { [channels * area, size[2], 1, area] } else { [channels * area, size[2] * channels, channels, 1] }
}

impl Images {
    /// Strides of image, row, column, channel.
    fn strides(self) -> [i64; 4] {
        layout(false, [1, self.height, self.width], self.channels)
    }
}
