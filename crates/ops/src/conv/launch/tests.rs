//! Convolutions on a device, against loops on the host; values are small integers, so results are exact.

use tfvk_device::{DType, Shape};

use super::super::tiles;
use super::*;
use crate::local::{Attr, Local, Node, Value};
use crate::matmul::choice::Tile;
use crate::matmul::epilogue::Activation;
use crate::test_device::{local, served};

/// A case, always 3-D; depth 1 and filter depth 1 run as Conv2D.
#[derive(Clone, Debug)]
struct Case {
    batch: i64,
    input: [i64; 3],
    ci: i64,
    co: i64,
    groups: i64,
    filter: [i64; 3],
    stride: [i64; 3],
    dilation: [i64; 3],
    padding: &'static str,
    explicit: [i64; 6],
    first: bool,
    /// An infinity in the middle of the input.
    infinite: bool,
}

fn case(input: [i64; 2], ci: i64, co: i64, filter: [i64; 2], stride: i64, padding: &'static str) -> Case {
    Case {
        batch: 2,
        input: [1, input[0], input[1]],
        ci,
        co,
        groups: 1,
        filter: [1, filter[0], filter[1]],
        stride: [1, stride, stride],
        dilation: [1; 3],
        padding,
        explicit: [0; 6],
        first: false,
        infinite: false,
    }
}

fn values(n: i64, seed: i64) -> Vec<f32> {
    (0..n).map(|i| ((i * 5 + seed + i / 3) % 7 - 3) as f32).collect()
}

struct Arrays {
    x: Vec<f32>,
    w: Vec<f32>,
    gradient: Vec<f32>,
    y: Vec<f32>,
    dx: Vec<f32>,
    dw: Vec<f32>,
    out: [i64; 3],
}

impl Case {
    fn rank(&self) -> usize {
        if self.input[0] == 1 && self.filter[0] == 1 { 2 } else { 3 }
    }

    fn out(&self) -> ([i64; 3], [i64; 3]) {
        let (mut out, mut pad) = ([1; 3], [0; 3]);
        for i in 3 - self.rank()..3 {
            let window = (self.filter[i] - 1) * self.dilation[i] + 1;
            let (before, after) = match self.padding {
                "SAME" => {
                    let o = (self.input[i] + self.stride[i] - 1) / self.stride[i];
                    let total = ((o - 1) * self.stride[i] + window - self.input[i]).max(0);
                    (total / 2, total - total / 2)
                }
                "VALID" => (0, 0),
                _ => (self.explicit[2 * i], self.explicit[2 * i + 1]),
            };
            out[i] = (self.input[i] + before + after - window) / self.stride[i] + 1;
            pad[i] = before;
        }
        (out, pad)
    }

    fn arrays(&self) -> Arrays {
        let (out, pad) = self.out();
        let count = |s: [i64; 3]| s.iter().product::<i64>();
        let gc = self.ci / self.groups;
        let (nx, nw, ny) =
            (self.batch * count(self.input) * self.ci, count(self.filter) * gc * self.co, self.batch * count(out) * self.co);
        let (mut x, w, gradient) = (values(nx, 1), values(nw, 2), values(ny, 3));
        if self.infinite {
            x[nx as usize * 3 / 4] = f32::INFINITY;
        }
        let (mut y, mut dx, mut dw) = (vec![0.0; ny as usize], vec![0.0; nx as usize], vec![0.0; nw as usize]);
        let at = |n: i64, size: [i64; 3], p: [i64; 3], channels: i64, c: i64| {
            let place = (p[0] * size[1] + p[1]) * size[2] + p[2];
            (if self.first { (n * channels + c) * count(size) + place } else { (n * count(size) + place) * channels + c })
                as usize
        };
        let each = |size: [i64; 3]| (0..count(size)).map(move |i| [i / (size[1] * size[2]), i / size[2] % size[1], i % size[2]]);
        for n in 0..self.batch {
            for o in each(out) {
                for f in each(self.filter) {
                    let i = [0, 1, 2].map(|d| o[d] * self.stride[d] - pad[d] + f[d] * self.dilation[d]);
                    if (0..3).any(|d| i[d] < 0 || i[d] >= self.input[d]) {
                        continue;
                    }
                    for co in 0..self.co {
                        for c in 0..gc {
                            let ci = co / (self.co / self.groups) * gc + c;
                            let tap = (f[0] * self.filter[1] + f[1]) * self.filter[2] + f[2];
                            let (xi, wi, yi) = (
                                at(n, self.input, i, self.ci, ci),
                                ((tap * gc + c) * self.co + co) as usize,
                                at(n, out, o, self.co, co),
                            );
                            y[yi] += x[xi] * w[wi];
                            dx[xi] += gradient[yi] * w[wi];
                            dw[wi] += x[xi] * gradient[yi];
                        }
                    }
                }
            }
        }
        Arrays { x, w, gradient, y, dx, dw, out }
    }

    fn node(&self, op: &str, dtype: DType) -> Node {
        let list = |s: [i64; 3]| {
            let mut v = vec![1];
            v.extend(&s[3 - self.rank()..]);
            v.insert(if self.first { 1 } else { v.len() }, 1);
            Attr::Ints(v)
        };
        let format = match (self.rank(), self.first) {
            (2, false) => "NHWC",
            (2, true) => "NCHW",
            (_, false) => "NDHWC",
            (_, true) => "NCDHW",
        };
        let node = Node::new(op).dtype("T", dtype).attr("strides", list(self.stride)).attr("dilations", list(self.dilation));
        let node = node.attr("padding", Attr::String(self.padding.into())).attr("data_format", Attr::String(format.into()));
        if self.padding != "EXPLICIT" {
            return node;
        }
        let mut pads = vec![0, 0];
        pads.extend(&self.explicit[2..]);
        pads.splice(if self.first { 2..2 } else { 6..6 }, [0, 0]);
        node.attr("explicit_paddings", Attr::Ints(pads))
    }

    fn shape(&self, size: [i64; 3], channels: i64) -> Vec<i64> {
        let mut v = vec![self.batch];
        v.extend(&size[3 - self.rank()..]);
        v.insert(if self.first { 1 } else { v.len() }, channels);
        v
    }
}

fn bytes(dtype: DType, v: &[f32]) -> Vec<u8> {
    v.iter()
        .flat_map(|f| match dtype {
            DType::BF16 => f.to_bits().to_le_bytes()[2..].to_vec(),
            DType::F16 => half::f16::from_f32(*f).to_le_bytes().to_vec(),
            DType::F64 => f64::from(*f).to_le_bytes().to_vec(),
            _ => f.to_le_bytes().to_vec(),
        })
        .collect()
}

/// Rounds to nearest even as bf16 does.
fn rounded(dtype: DType, v: &[f32]) -> Vec<f32> {
    let round =
        |f: &f32| if f.is_nan() { *f } else { f32::from_bits((f.to_bits() + 0x7fff + (f.to_bits() >> 16 & 1)) & 0xffff_0000) };
    if dtype == DType::BF16 { v.iter().map(round).collect() } else { v.to_vec() }
}

fn check(host: &Local, dtype: DType, case: &Case) {
    let a = case.arrays();
    let up = |shape: &[i64], v: &[f32]| host.upload(dtype, Shape::new(shape), &bytes(dtype, v)).unwrap();
    let ints = |v: &[i64]| Value::host([v.len() as i64], &v.iter().map(|&i| i as i32).collect::<Vec<_>>()).unwrap();
    let mut filter_shape = case.filter[3 - case.rank()..].to_vec();
    filter_shape.extend([case.ci / case.groups, case.co]);
    let (x_shape, y_shape) = (case.shape(case.input, case.ci), case.shape(a.out, case.co));
    let (x, w, gradient) = (up(&x_shape, &a.x), up(&filter_shape, &a.w), up(&y_shape, &a.gradient));
    let (forward, input, filter) = if case.rank() == 2 {
        ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter")
    } else {
        ("Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2")
    };
    let runs = [
        (forward, vec![x.clone(), w.clone()], &y_shape, &a.y),
        (input, vec![ints(&x_shape), w, gradient.clone()], &x_shape, &a.dx),
        (filter, vec![x, ints(&filter_shape), gradient], &filter_shape, &a.dw),
    ];
    for (op, inputs, shape, want) in runs {
        let Some(got) = served(host, &[dtype], host.run(&case.node(op, dtype), &inputs)) else { continue };
        let got = &got[0];
        assert_eq!(got.tensor().shape.dims(), shape.as_slice(), "{op} {case:?}");
        let (got, want) = (host.read(got).unwrap(), bytes(dtype, &rounded(dtype, want)));
        let first = got.iter().zip(&want).position(|(a, b)| a != b).map(|i| i / dtype.size());
        assert_eq!(first, None, "{op} {dtype} {case:?}: first wrong element");
    }
}

#[test]
fn strides_paddings_dilations_groups() {
    let Some(host) = local() else { return };
    let mut cases = vec![
        case([5, 6], 4, 8, [3, 3], 1, "SAME"),
        case([7, 5], 3, 5, [3, 2], 2, "SAME"),
        case([9, 8], 5, 4, [2, 3], 3, "VALID"),
        case([6, 5], 4, 8, [1, 1], 1, "VALID"),
        case([6, 5], 4, 4, [1, 1], 2, "SAME"),
        Case { dilation: [1, 2, 3], ..case([9, 10], 2, 3, [3, 3], 1, "SAME") },
        Case { explicit: [0, 0, 2, 1, 0, 3], ..case([6, 6], 3, 4, [3, 3], 2, "EXPLICIT") },
        Case { groups: 2, ..case([5, 5], 8, 8, [3, 3], 1, "SAME") },
        Case { groups: 6, ..case([5, 6], 6, 12, [3, 3], 1, "SAME") },
        Case { groups: 3, ..case([5, 5], 6, 9, [3, 3], 2, "VALID") },
        Case { input: [4, 5, 3], filter: [2, 3, 2], stride: [2, 1, 1], ..case([0, 0], 3, 4, [0, 0], 1, "SAME") },
    ];
    let first: Vec<Case> = cases.iter().map(|c| Case { first: true, ..c.clone() }).collect();
    cases.extend(first);
    cases.iter().for_each(|c| check(&host, DType::F32, c));
}

#[test]
fn other_types() {
    let Some(host) = local() else { return };
    for dtype in [DType::BF16, DType::F64] {
        for first in [false, true] {
            check(&host, dtype, &Case { first, ..case([5, 6], 4, 6, [3, 3], 2, "SAME") });
        }
    }
}

#[test]
fn an_empty_batch_gives_zero_filter_gradients() {
    let Some(host) = local() else { return };
    check(&host, DType::F32, &Case { batch: 0, ..case([5, 6], 4, 8, [3, 3], 1, "SAME") });
}

struct Fixed(Choice, Pass, Geometry, Shape);

impl crate::OpKernel for Fixed {
    fn outputs(&self, _: &crate::Inputs<'_>) -> Result<crate::Outputs> {
        Ok(crate::Outputs::from_iter([crate::Output::Shape(self.3.clone())]))
    }
    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (source, other, result) = (ctx.input(0)?, ctx.input(1)?, ctx.output(0)?);
        let conv = Conv { pass: self.1, geometry: self.2, source, other, result, epilogue: Epilogue::none() };
        conv.run_as(ctx, Some(self.0))
    }
}

/// Every tile and split, also those that this device would not be given.
#[test]
fn every_tile_and_split() {
    let Some(host) = local() else { return };
    let limits = host.device().adapter().limits;
    for tile in [Tile::T128, Tile::T64, Tile::T32] {
        if limits.max_invocations < tile.threads() || limits.shared_memory < 34_000 {
            continue;
        }
        for (first, k_part) in [(false, 48), (true, 32), (false, 4096)] {
            let c = Case { first, ..case([9, 9], 12, 36, [3, 3], 1, "SAME") };
            let a = c.arrays();
            let node = c.node("Conv2D", DType::F32);
            let attributes = super::super::geometry::Attributes::from_node(&node, 2).unwrap();
            let (x_shape, y_shape) = (Shape::new(&c.shape(c.input, c.ci)), Shape::new(&c.shape(a.out, c.co)));
            let w_shape = Shape::from([3, 3, c.ci, c.co]);
            let geometry = attributes.geometry(&x_shape, &w_shape).unwrap();
            let up = |s: &Shape, v: &[f32]| host.upload(DType::F32, s.clone(), &bytes(DType::F32, v)).unwrap();
            let (x, w, g) = (up(&x_shape, &a.x), up(&w_shape, &a.w), up(&y_shape, &a.gradient));
            let passes = [
                (Pass::Forward, [&x, &w], &y_shape, &a.y),
                (Pass::InputGradient, [&g, &w], &x_shape, &a.dx),
                (Pass::FilterGradient, [&x, &g], &w_shape, &a.dw),
            ];
            for (pass, inputs, shape, want) in passes {
                let fixed = Box::new(Fixed(Choice { tile, k_part }, pass, geometry, shape.clone()));
                let got = host.run_kernel(&node, fixed, &inputs.map(Value::clone)).unwrap().remove(0);
                assert!(host.read(&got).unwrap() == bytes(DType::F32, want), "{pass:?} {tile:?} {k_part} {first}");
            }
        }
    }
}

/// The last: by way of copies.
struct OnUnits(tiles::Choice, Pass, Geometry, Shape, bool);

impl crate::OpKernel for OnUnits {
    fn outputs(&self, _: &crate::Inputs<'_>) -> Result<crate::Outputs> {
        Ok(crate::Outputs::from_iter([crate::Output::Shape(self.3.clone())]))
    }
    fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
        let (source, other, result) = (ctx.input(0)?, ctx.input(1)?, ctx.output(0)?);
        let mut epilogue = Epilogue::none();
        if ctx.inputs().len() == 3 {
            let bias = Some(ctx.input(2)?);
            epilogue = Epilogue { bias, along: BiasAlong::N, activation: Activation::Relu, alpha: 0.0 };
        }
        let conv = Conv { pass: self.1, geometry: self.2, source, other, result, epilogue };
        assert!(coop::suits(&conv) != self.4);
        if self.4 {
            assert!(padded::run(ctx, &conv, Some(self.0))?);
            return Ok(());
        }
        conv.run_coop_as(ctx, self.0, true)
    }
}

/// All passes on matrix units, or the same with plain arithmetic, against the host.
fn check_on_units(host: &Local, dtype: DType, c: &Case, choices: &[tiles::Choice], copies: bool) {
    let a = c.arrays();
    let node = c.node("Conv2D", dtype);
    let attributes = super::super::geometry::Attributes::from_node(&node, 2).unwrap();
    let (x_shape, y_shape) = (Shape::new(&c.shape(c.input, c.ci)), Shape::new(&c.shape(a.out, c.co)));
    let w_shape = Shape::from([c.filter[1], c.filter[2], c.ci, c.co]);
    let geometry = attributes.geometry(&x_shape, &w_shape).unwrap();
    let up = |s: &Shape, v: &[f32]| host.upload(dtype, s.clone(), &bytes(dtype, v)).unwrap();
    let (x, w, g) = (up(&x_shape, &a.x), up(&w_shape, &a.w), up(&y_shape, &a.gradient));
    let bias = values(c.co, 4);
    let area = if c.first { a.out.iter().product::<i64>() } else { 1 };
    let relu = |(i, y): (usize, &f32)| {
        let y = y + bias[(i as i64 / area % c.co) as usize];
        if y < 0.0 { 0.0 } else { y }
    };
    let with_bias: Vec<f32> = a.y.iter().enumerate().map(relu).collect();
    let b = up(&Shape::from([c.co]), &bias);
    let passes = [
        (Pass::Forward, vec![&x, &w], &y_shape, &a.y),
        (Pass::Forward, vec![&x, &w, &b], &y_shape, &with_bias),
        (Pass::InputGradient, vec![&g, &w], &x_shape, &a.dx),
        (Pass::FilterGradient, vec![&x, &g], &w_shape, &a.dw),
    ];
    for (pass, inputs, shape, want) in &passes {
        for choice in choices {
            let kernel = Box::new(OnUnits(*choice, *pass, geometry, (*shape).clone(), copies));
            let inputs: Vec<Value> = inputs.iter().map(|v| (*v).clone()).collect();
            let got = host.run_kernel(&node, kernel, &inputs).unwrap().remove(0);
            let (got, want) = (host.read(&got).unwrap(), bytes(dtype, &rounded(dtype, want)));
            // Any NaN will do.
            let is_nan = |v: &[u8]| match dtype {
                DType::BF16 => half::bf16::from_le_bytes([v[0], v[1]]).is_nan(),
                _ => half::f16::from_le_bytes([v[0], v[1]]).is_nan(),
            };
            let same = |(a, b): (&[u8], &[u8])| a == b || (is_nan(a) && is_nan(b));
            let first = got.chunks(2).zip(want.chunks(2)).position(|p| !same(p));
            assert_eq!(first, None, "{dtype} {choice:?} {pass:?} of {} inputs {c:?}: first wrong element", inputs.len());
        }
    }
}

fn plain_choices(machine: Machine, k_parts: &[u64]) -> Vec<tiles::Choice> {
    let tile = tiles::TILES.iter().filter(|t| t.word == "64" && t.fits(machine));
    tiled(tile, false, k_parts)
}

fn tiled<'a>(tiles: impl Iterator<Item = &'a tiles::Tile>, units: bool, k_parts: &[u64]) -> Vec<tiles::Choice> {
    tiles.flat_map(|&tile| k_parts.iter().map(move |&k_part| tiles::Choice { tile, k_part, units })).collect()
}

/// The kernel for matrix units: with plain arithmetic anywhere, every tile where there are matrix units.
#[test]
fn on_matrix_units() {
    let Some(host) = local() else { return };
    let machine = Machine::of(host.device().adapter());
    let cases = [
        case([9, 9], 16, 40, [3, 3], 1, "SAME"),
        case([10, 11], 24, 16, [3, 3], 2, "SAME"),
        case([7, 9], 8, 72, [1, 1], 2, "SAME"),
        case([9, 8], 64, 8, [2, 3], 3, "VALID"),
        case([6, 7], 128, 64, [3, 2], 1, "SAME"),
        Case { infinite: true, ..case([9, 8], 8, 8, [3, 3], 1, "SAME") },
        Case { dilation: [1, 2, 3], ..case([9, 10], 8, 16, [3, 3], 1, "SAME") },
        Case { dilation: [1, 2, 2], ..case([9, 10], 8, 8, [3, 3], 4, "SAME") },
        Case { explicit: [0, 0, 2, 1, 0, 3], ..case([6, 6], 40, 48, [5, 3], 2, "EXPLICIT") },
    ];
    let large = case([20, 20], 72, 136, [3, 3], 1, "SAME");
    for dtype in [DType::BF16, DType::F16] {
        let plain = plain_choices(machine, &[4096, 64]);
        // The types differ in nothing else.
        let some = if dtype == DType::F16 { &cases[..2] } else { &cases[..] };
        some.iter().for_each(|c| check_on_units(&host, dtype, c, &plain, false));
        if machine.matrix_units[usize::from(dtype == DType::BF16)] {
            let all = tiled(tiles::TILES.iter().filter(|t| t.fits(machine)), true, &[4096, 64]);
            cases.iter().chain([&large]).for_each(|c| check_on_units(&host, dtype, c, &all, false));
        }
    }
}

/// The same by way of copies: channels first, odd channels, few channels with a row of taps as one.
#[test]
fn on_matrix_units_by_copies() {
    let Some(host) = local() else { return };
    let machine = Machine::of(host.device().adapter());
    let mut cases = vec![
        case([9, 9], 3, 8, [7, 7], 2, "SAME"),
        case([9, 12], 3, 12, [4, 4], 4, "VALID"),
        case([12, 9], 1, 5, [5, 3], 2, "SAME"),
        case([6, 7], 5, 7, [3, 3], 1, "SAME"),
        Case { dilation: [1, 2, 1], explicit: [0, 0, 2, 1, 0, 3], ..case([9, 10], 3, 9, [3, 4], 2, "EXPLICIT") },
    ];
    let first: Vec<Case> = cases.iter().map(|c| Case { first: true, ..c.clone() }).collect();
    cases.extend(first);
    cases.push(Case { infinite: true, ..case([19, 22], 3, 8, [7, 7], 2, "VALID") });
    cases.push(Case { first: true, ..case([6, 7], 16, 24, [3, 3], 1, "SAME") });
    let mut choices = plain_choices(machine, &[4096]);
    if machine.matrix_units[1] {
        choices.extend(tiled(tiles::TILES.iter().filter(|t| t.fits(machine)), true, &[4096]));
    }
    cases.iter().for_each(|c| check_on_units(&host, DType::BF16, c, &choices, true));
}
