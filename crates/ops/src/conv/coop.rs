//! Convolutions on matrix units: which ones `conv_coop.comp` takes, and its launches. `launch.rs` has all the others.

use tfvk_device::{Args, DType, Error, Result, Tensor};

use super::divide::divisor;
use super::geometry::Geometry;
use super::launch::{Conv, Pass};
use super::tiles::{Choice, choose};
use crate::matmul::choice::{Machine, Size};
use crate::matmul::epilogue::{BiasAlong, Epilogue};
use crate::matmul::product::sum_parts;
use crate::{Compute, shader};

/// Of the input pixels along one dimension those `stride` apart that see the same taps of a strided convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Phase {
    /// Their first one, and how many there are.
    pixel: i64,
    pixels: i64,
    /// Taps: the first one, from one to the next, and how many there are.
    tap: i64,
    tap_step: i64,
    taps: i64,
    /// The output pixel that the first pixel's first tap sees, and from tap to tap.
    first: i64,
    first_step: i64,
}

/// The phases along one dimension. Input pixel x sees output pixel q through tap t where x + pad = q * stride + t * dilation.
fn phases(g: &Geometry, d: usize) -> Vec<Phase> {
    let (stride, dilation, pad) = (g.strides[d], g.dilations[d], g.pad[d]);
    let common = gcd(stride, dilation);
    let of = |pixel: i64| {
        let tap_step = stride / common;
        let pixels = (g.input[d] - pixel + stride - 1) / stride;
        let tap = (0..tap_step.min(g.filter[d])).find(|t| (pixel + pad - t * dilation).rem_euclid(stride) == 0);
        let (tap, taps) = tap.map_or((0, 0), |t| (t, (g.filter[d] - t + tap_step - 1) / tap_step));
        let first = (pixel + pad - tap * dilation).div_euclid(stride);
        Phase { pixel, pixels, tap, tap_step, taps, first, first_step: -(dilation / common) }
    };
    (0..stride.min(g.input[d])).map(of).collect()
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Whether it is 2-D, in one group, and its sizes fit 16 bits.
pub(super) fn is_flat(g: &Geometry) -> bool {
    let small = |list: &[i64; 3]| list.iter().all(|&v| v < 1 << 15);
    (g.input[0], g.filter[0], g.output[0], g.pad[0]) == (1, 1, 1, 0)
        && g.groups() == 1
        && [&g.input, &g.output, &g.strides, &g.pad].into_iter().all(small)
        && (0..3).all(|d| g.filter[d] * g.dilations[d] < 1 << 15)
        && g.filter.iter().product::<i64>() < 1 << 15
}

/// Whether this is a convolution for matrix units, had the device any.
pub(super) fn suits(conv: &Conv) -> bool {
    let g = &conv.geometry;
    let aligned = |t: &Tensor| t.device_ptr().is_ok_and(|p| p.0 % 16 == 0);
    let tensors = [&conv.source, &conv.other, &conv.result];
    is_flat(g)
        && !g.channels_first
        && matches!(conv.result.dtype, DType::F16 | DType::BF16)
        && tensors.iter().all(|t| t.dtype == conv.result.dtype && aligned(t))
        && g.in_channels % 8 == 0
        && g.out_channels % 8 == 0
        && conv.result.num_elements() > 0
        && conv.epilogue.activation.in_tile()
}

/// The choice for this convolution, if the device has matrix units for it.
pub fn choice(conv: &Conv, machine: Machine) -> Option<Choice> {
    let (m, n, k) = conv.sizes();
    let size = Size { batch: 1, m: m as u64, n: n as u64, k: k as u64 };
    let apart = conv.pass == Pass::InputGradient && conv.geometry.strides != [1; 3];
    if suits(conv) { choose(size, conv.pass, apart, conv.result.dtype, machine) } else { None }
}

/// Elements from a pixel to the next, from row to row, from image to image, channels last.
fn steps(size: [i64; 3], channels: i64) -> [i64; 3] {
    [channels, size[2] * channels, size[1] * size[2] * channels]
}

/// What one launch computes.
pub(super) struct Launch {
    pub size: Size,
    /// Height and width.
    pub source_size: [i64; 2],
    /// Elements from a gathered pixel to the next in the row, from row to row, from image to image.
    pub source_steps: [i64; 3],
    pub pixels: [i64; 2],
    pub tap_channels: i64,
    pub taps_w: i64,
    pub stride: [i64; 2],
    pub first: [i64; 2],
    pub tap_step: [i64; 2],
    pub filter_tap: i64,
    pub filter_tap_step: [i64; 2],
    /// How many channels of a tap's last eight count.
    pub last_eight: i64,
    /// The result's pixels, where they lie apart.
    pub apart: Option<[i64; 3]>,
}

impl Conv {
    /// Launches it so. The caller made sure that it suits.
    pub(super) fn run_coop(&self, ctx: &mut Compute<'_>, choice: Choice) -> Result<()> {
        self.run_coop_as(ctx, choice, false)
    }

    /// The same; `forced` (for tests) if nothing may be chosen anew for a part of it.
    pub(super) fn run_coop_as(&self, ctx: &mut Compute<'_>, choice: Choice, forced: bool) -> Result<()> {
        let g = &self.geometry;
        let flat = |s: [i64; 3]| [s[1], s[2]];
        let (m, n, k) = self.sizes();
        let size = Size { batch: 1, m: m as u64, n: n as u64, k: k as u64 };
        if self.pass != Pass::InputGradient {
            let launch = Launch {
                size,
                source_size: flat(g.input),
                source_steps: steps(g.input, g.in_channels),
                pixels: flat(g.output),
                tap_channels: g.in_channels,
                taps_w: g.filter[2],
                stride: flat(g.strides),
                first: [-g.pad[1], -g.pad[2]],
                tap_step: flat(g.dilations),
                filter_tap: 0,
                filter_tap_step: [0; 2],
                last_eight: 8,
                apart: None,
            };
            return self.launch_coop(ctx, choice, &launch, &self.result);
        }
        let machine = Machine::of(ctx.device().adapter());
        let (rows, columns) = (phases(g, 1), phases(g, 2));
        let whole = rows.len() == 1 && columns.len() == 1;
        if rows.iter().chain(&columns).any(|p| p.taps == 0) {
            ctx.stream().fill(self.result.device_ptr()?, self.result.bytes(), 0)?;
        }
        for (h, w) in rows.iter().flat_map(|h| columns.iter().map(move |w| (h, w))) {
            if h.taps * w.taps == 0 {
                continue;
            }
            let size = Size { m: (g.batch * h.pixels * w.pixels) as u64, k: (h.taps * w.taps * g.out_channels) as u64, ..size };
            let launch = Launch {
                size,
                source_size: flat(g.output),
                source_steps: steps(g.output, g.out_channels),
                pixels: [h.pixels, w.pixels],
                tap_channels: g.out_channels,
                taps_w: w.taps,
                stride: [1, 1],
                first: [h.first, w.first],
                tap_step: [h.first_step, w.first_step],
                filter_tap: h.tap * g.filter[2] + w.tap,
                filter_tap_step: [h.tap_step * g.filter[2], w.tap_step],
                last_eight: 8,
                apart: (!whole).then(|| {
                    let row = g.input[2] * g.in_channels;
                    [g.strides[2] * g.in_channels, g.strides[1] * row, g.input[1] * row]
                }),
            };
            let first = (h.pixel * g.input[2] + w.pixel) * g.in_channels;
            let result = self.result.slice(first, [self.result.num_elements() - first]);
            let one = Choice { k_part: size.k.next_multiple_of(choice.tile.shape[2]), ..choice };
            let choice = match whole {
                true => choice,
                false if forced => one,
                false => choose(size, self.pass, true, self.result.dtype, machine).unwrap_or(one),
            };
            self.launch_coop(ctx, choice, &launch, &result)?;
        }
        Ok(())
    }

    pub(super) fn launch_coop(&self, ctx: &mut Compute<'_>, choice: Choice, launch: &Launch, result: &Tensor) -> Result<()> {
        let size = launch.size;
        let parts = size.k.div_ceil(choice.k_part.max(1)).max(1);
        if parts == 1 {
            return self.launch_coop_tiles(ctx, choice, launch, result, 1);
        }
        let sums = ctx.temp(DType::F32, [(parts * size.m * size.n) as i64])?;
        self.launch_coop_tiles(ctx, choice, launch, &sums, parts)?;
        let mut epilogue = self.epilogue.clone();
        if epilogue.bias.is_some() {
            epilogue.along = BiasAlong::N;
        }
        sum_parts(ctx, &sums, result, parts, (size.m, size.n), &epilogue)
    }

    fn launch_coop_tiles(&self, ctx: &mut Compute<'_>, choice: Choice, l: &Launch, out: &Tensor, parts: u64) -> Result<()> {
        let split = parts > 1;
        let none = Epilogue::none();
        let epilogue = if split { &none } else { &self.epilogue };
        let mut args = Args::new();
        args.read(&self.source)?.read(&self.other)?.write(out)?;
        match &epilogue.bias {
            Some(bias) => args.read(bias)?,
            None => args.null(),
        };
        args.u32(l.size.m as u32).u32(l.size.n as u32).u32(l.size.k as u32).u32(choice.k_part as u32);
        args.i32(pair(l.source_size)?);
        l.source_steps.iter().for_each(|&s| _ = args.i32(s as i32));
        for d in [l.pixels[1], l.pixels[0], l.tap_channels, l.taps_w] {
            divisor(&mut args, d as u64)?;
        }
        args.i32(pair(l.stride)?).i32(pair(l.first)?).i32(pair(l.tap_step)?);
        args.i32(pair([l.filter_tap, l.filter_tap_step[0]])?).u32(l.filter_tap_step[1] as u32);
        l.apart.unwrap_or_default().iter().for_each(|&s| _ = args.i32(s as i32));
        args.work([l.size.m, l.size.n, l.size.k].into_iter().fold(2, u64::saturating_mul));

        let [_, activation] = epilogue.constants();
        let mut constants = [0; 19];
        constants[..3].copy_from_slice(&[choice.tile.threads, 1, 1]);
        constants[3] = self.pass as u32;
        constants[4] = u32::from(l.apart.is_some());
        let steps = l.tap_channels as u64 % choice.tile.shape[2] == 0;
        constants[5] = u32::from(steps && self.pass != Pass::FilterGradient && l.size.k > 0);
        constants[6] = l.last_eight as u32;
        constants[10] = u32::from(split);
        constants[16] = u32::from(epilogue.bias.is_some());
        constants[17] = activation;
        constants[18] = epilogue.alpha.to_bits();
        let units = if choice.units { "matrix" } else { "none" };
        let kernel = shader::CONV_COOP.get(&[self.result.dtype.into(), choice.tile.word.into(), units.into()])?;
        ctx.stream().launch_linear(kernel, &constants, &args, choice.tile.groups(l.size) * parts)
    }
}

/// Two signed numbers of 16 bits.
fn pair([low, high]: [i64; 2]) -> Result<i32> {
    let short = |v: i64| i16::try_from(v).map_err(|_| Error::internal(format!("a convolution's {v}; expected 16 bits")));
    Ok(i32::from(short(low)? as u16) | i32::from(short(high)?) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(stride: i64, filter: i64, dilation: i64) -> Geometry {
        let one = |v| [1, v, v];
        Geometry {
            channels_first: false,
            batch: 1,
            input: one(13),
            in_channels: 8,
            filter: one(filter),
            group_channels: 8,
            output: one(12),
            out_channels: 8,
            strides: one(stride),
            dilations: one(dilation),
            pad: [0, 2, 2],
        }
    }

    /// Every pair of an input pixel and a tap that meet an output position is in one phase, at that position.
    #[test]
    fn phases_see_what_the_convolution_sees() {
        for (stride, filter, dilation) in [(1, 3, 1), (2, 3, 1), (2, 1, 1), (3, 5, 2), (4, 5, 2), (2, 3, 2), (5, 2, 1)] {
            let g = geometry(stride, filter, dilation);
            let mut seen = Vec::new();
            for p in phases(&g, 1) {
                for (i, u) in (0..p.pixels).flat_map(|i| (0..p.taps).map(move |u| (i, u))) {
                    seen.push((p.pixel + i * stride, p.tap + u * p.tap_step, p.first + i + u * p.first_step));
                }
            }
            let all = (0..13).flat_map(|x| (0..filter).map(move |t| (x, t, x + 2 - t * dilation)));
            let mut want: Vec<_> = all.filter(|(.., q)| q % stride == 0).map(|(x, t, q)| (x, t, q / stride)).collect();
            seen.sort_unstable();
            want.sort_unstable();
            assert_eq!(seen, want, "{stride} {filter} {dilation}");
        }
    }
}
