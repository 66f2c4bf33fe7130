//! Which neighbours, with which weights, make up each pixel of a resampled axis: by a kernel that is scaled and moved, or by
//! the area that a pixel covers. Computed on the host, in the float arithmetic of TensorFlow's kernels; `spans.comp` applies them.

use tfvk_device::{Args, DType, Error, Result, Shape, Tensor};

use super::{MAX_ELEMENTS, THREADS};
use crate::{Compute, shader};

/// Element `k` of the result is the sum over `j` of `weights[k * span + j]` times element `starts[k] + j`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Spans {
    pub starts: Vec<i32>,
    pub weights: Vec<f32>,
    pub span: usize,
}

/// A sampling kernel: its radius, and its value at a distance.
#[derive(Clone, Copy)]
pub(super) struct Sampling {
    radius: f32,
    value: fn(f32, f32) -> f32,
}

fn lanczos(x: f32, radius: f32) -> f32 {
    const PI: f32 = std::f32::consts::PI;
    if x > radius {
        0.0
    } else if x <= 1e-3 {
        1.0
    } else {
        radius * (PI * x).sin() * (PI * x / radius).sin() / (PI * PI * x * x)
    }
}

fn gaussian(x: f32, radius: f32) -> f32 {
    let sigma = radius / 3.0;
    if x >= radius { 0.0 } else { (-x * x / (2.0 * sigma * sigma)).exp() }
}

fn rectangle(x: f32, _: f32) -> f32 {
    match x.partial_cmp(&0.5) {
        Some(std::cmp::Ordering::Less) => 1.0,
        Some(std::cmp::Ordering::Equal) => 0.5,
        _ => 0.0,
    }
}

fn triangle(x: f32, _: f32) -> f32 {
    (1.0 - x).max(0.0)
}

fn keys_cubic(x: f32, _: f32) -> f32 {
    if x >= 2.0 {
        0.0
    } else if x >= 1.0 {
        ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    } else {
        ((1.5 * x - 2.5) * x) * x + 1.0
    }
}

fn mitchell_cubic(x: f32, _: f32) -> f32 {
    if x >= 2.0 {
        0.0
    } else if x >= 1.0 {
        (((-7.0 / 18.0) * x + 2.0) * x - 10.0 / 3.0) * x + 16.0 / 9.0
    } else {
        (((7.0 / 6.0) * x - 2.0) * x) * x + 8.0 / 9.0
    }
}

impl Sampling {
    /// By TensorFlow's name. Errors: there is none of that name.
    pub fn named(name: &str) -> Result<Self> {
        let of = |radius: f32, value: fn(f32, f32) -> f32| Ok(Self { radius, value });
        match name {
            "lanczos1" => of(1.0, lanczos),
            "lanczos3" => of(3.0, lanczos),
            "lanczos5" => of(5.0, lanczos),
            "gaussian" => of(1.5, gaussian),
            "box" => of(1.0, rectangle),
            "triangle" => of(1.0, triangle),
            "keyscubic" => of(2.0, keys_cubic),
            "mitchellcubic" => of(2.0, mitchell_cubic),
            other => Err(Error::invalid_argument(format!("Unrecognized kernel type: {other}"))),
        }
    }
}

impl Spans {
    /// `size` elements, scaled and then moved, as `results` elements.
    pub fn sampled(kernel: Sampling, size: usize, results: usize, scale: f32, translate: f32, antialias: bool) -> Self {
        let inverse = (1.0 / f64::from(scale)) as f32;
        let offset = -inverse * translate;
        let stretch = if antialias { inverse.max(1.0) } else { 1.0 };
        let reach = kernel.radius * stretch;
        let span = (2 * reach.ceil() as usize + 1).min(size);
        let mut spans = Self { starts: vec![0; results], weights: vec![0.0; results * span], span };
        let last = size as i64 - 1;
        for k in 0..results {
            let at = (k as f32 + 0.5) * inverse + offset;
            if at < 0.0 || at > size as f32 {
                continue;
            }
            let first = ((at - reach - 0.5).ceil() as i64).clamp(0, last);
            let end = ((at + reach - 0.5).floor() as i64).clamp(0, last) + 1;
            let weight = |i: i64| (kernel.value)(((i as f32 + 0.5 - at) * (1.0 / stretch)).abs(), kernel.radius);
            let weights: Vec<f32> = (first..end).map(weight).take(span).collect();
            let total = weights.iter().fold(0f32, |sum, w| sum + w);
            if total.abs() >= 1000.0 * f32::MIN_POSITIVE {
                let share = 1.0 / total;
                for (to, w) in spans.weights[k * span..].iter_mut().zip(&weights) {
                    *to = w * share;
                }
            }
            spans.starts[k] = first as i32;
        }
        spans
    }

    /// `size` elements as `results` elements that each average the stretch that they cover, `scale` long.
    pub fn covered(size: usize, results: usize, scale: f32) -> Self {
        let ends = |k: usize| (k as f32 * scale, (k + 1) as f32 * scale);
        let reach = |k: usize| ends(k).1.ceil() as i64 - ends(k).0.floor() as i64;
        let span = (0..results).map(reach).max().unwrap_or(0).max(1) as usize;
        let mut spans = Self { starts: vec![0; results], weights: vec![0.0; results * span], span };
        for k in 0..results {
            let (from, to) = ends(k);
            let first = from.floor() as i64;
            for i in first..to.ceil() as i64 {
                let v = i as f32;
                let covered = match (v < from, v + 1.0 > to) {
                    (true, true) => scale,
                    (true, false) => v + 1.0 - from,
                    (false, true) => to - v,
                    (false, false) => 1.0,
                };
                spans.weights[k * span + (i - first) as usize] = covered / scale;
            }
            spans.starts[k] = first.clamp(0, size as i64 - 1) as i32;
        }
        spans
    }

    /// The transposed sum: from gradients of the results to those of the `size` elements.
    pub fn transposed(&self, size: usize) -> Self {
        let results = self.starts.len();
        let mut parts: Vec<Vec<(usize, f32)>> = vec![Vec::new(); size];
        for k in 0..results {
            for (j, &w) in self.weights[k * self.span..(k + 1) * self.span].iter().enumerate() {
                let at = self.starts[k] as usize + j;
                if w != 0.0 && at < size {
                    parts[at].push((k, w));
                }
            }
        }
        let reach = |p: &Vec<(usize, f32)>| p.last().zip(p.first()).map_or(0, |(b, a)| b.0 - a.0 + 1);
        let span = parts.iter().map(reach).max().unwrap_or(0).max(1);
        let mut spans = Self { starts: vec![0; size], weights: vec![0.0; size * span], span };
        for (i, part) in parts.iter().enumerate() {
            let Some(&(first, _)) = part.first() else { continue };
            spans.starts[i] = first as i32;
            for &(k, w) in part {
                spans.weights[i * span + k - first] += w;
            }
        }
        spans
    }

    /// Applies the sums to the middle axis of `x` [outer, size, inner]; `y` is [outer, results, inner], float32.
    pub fn apply(&self, ctx: &mut Compute<'_>, x: &Tensor, y: &Tensor, [outer, size, inner]: [i64; 3]) -> Result<()> {
        let results = self.starts.len() as i64;
        let count = outer * results * inner;
        if count.max(outer * size * inner) > MAX_ELEMENTS {
            return Err(Error::unimplemented(format!("images of {count} elements")));
        }
        let starts = ctx.temp(DType::I32, Shape::from([results]))?;
        let weights = ctx.temp(DType::F32, Shape::from([self.weights.len() as i64]))?;
        let bytes: Vec<u8> = self.starts.iter().flat_map(|v| v.to_ne_bytes()).collect();
        ctx.stream().upload(starts.device_ptr()?, &bytes)?;
        let bytes: Vec<u8> = self.weights.iter().flat_map(|v| v.to_ne_bytes()).collect();
        ctx.stream().upload(weights.device_ptr()?, &bytes)?;
        let mut args = Args::new();
        args.read(x)?.read(&starts)?.read(&weights)?.write(y)?;
        args.u32(count as u32).u32(size as u32).u32(results as u32).u32(self.span as u32).u32(inner as u32);
        let kernel = shader::SPANS.get(&[x.dtype.into(), DType::F32.into(), DType::I32.into()])?;
        ctx.stream().launch_linear(kernel, &[THREADS, 1, 1], &args, (count as u64).div_ceil(THREADS.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_add_up() {
        for (size, results) in [(5usize, 2usize), (7, 7), (3, 10), (40, 13)] {
            let spans = Spans::covered(size, results, size as f32 / results as f32);
            for row in spans.weights.chunks(spans.span) {
                assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{size} {results} {row:?}");
            }
        }
    }

    #[test]
    fn a_transposed_sum_has_the_same_weights() {
        let spans = Spans::sampled(Sampling::named("triangle").unwrap(), 9, 4, 4.0 / 9.0, 0.0, true);
        let back = spans.transposed(9);
        for k in 0..4 {
            for i in 0..9usize {
                let of = |s: &Spans, row: usize, at: usize| {
                    let j = at.wrapping_sub(s.starts[row] as usize);
                    if j < s.span { s.weights[row * s.span + j] } else { 0.0 }
                };
                assert_eq!(of(&spans, k, i), of(&back, i, k), "{k} {i}");
            }
        }
    }
}
