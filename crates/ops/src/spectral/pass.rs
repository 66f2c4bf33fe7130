//! Launches the passes of a Fourier transform along one axis whose length has small prime factors only.

use tfvk_device::{Args, DType, Error, Result, Tensor};

use super::axis::{Axis, Kind};
use super::plan::{self, Passes};
use crate::{Compute, shader};

/// More than any index: a sequence's first coordinate is not split, nothing is cut off.
const NO_LIMIT: u32 = 0x7fff_ffff;

/// The arguments of one launch, as `fft.comp` describes them.
#[derive(Clone, Copy)]
struct Pass {
    length: u32,
    axis: u32,
    load_step: u32,
    split: u32,
    given: u32,
    in_e: u32,
    in_0: u32,
    out_e: u32,
    out_j: u32,
    out_0: u32,
    n0: u32,
    /// Count, stride in x, stride in y of the second to fourth coordinate.
    outer: [[u32; 3]; 3],
    wanted: u32,
    at: [u32; 4],
    load_lanes: bool,
    store_lanes: bool,
    twiddle: u32,
    scale: f64,
    kind: &'static str,
}

/// Elements of shared memory that a sequence takes (see `fft.comp`), both copies.
fn footprint(length: u32) -> u32 {
    2 * (length + (length >> 4) + 1)
}

/// The longest pass of which `lanes` fit.
fn longest(ctx: &Compute<'_>, size: u32, lanes: u32) -> u32 {
    let elements = ctx.device().adapter().limits.shared_memory / size / lanes;
    (elements / 2).saturating_sub(1) / 17 * 16
}

/// The passes for this axis: short enough for lanes that fill memory transactions, if that can be.
fn plan(ctx: &Compute<'_>, axis: &Axis, size: u32) -> Result<Passes> {
    let n = axis.n;
    let whole = longest(ctx, size, 1);
    if n <= whole && axis.inner == 1 {
        if let Some(one) = plan::passes(n, whole) {
            return Ok(one);
        }
    }
    let plan = [4, 2, 1].iter().find_map(|&lanes| plan::passes(n, longest(ctx, size, lanes.min(axis.inner.max(2)))));
    plan.ok_or_else(|| Error::unimplemented(format!("a transform of {n} elements on this device")))
}

/// Transforms `x` [outer, given, inner] to `y` [outer, wanted, inner] along the axis. They may be the same memory if their
/// shapes are the same.
pub(super) fn transform(ctx: &mut Compute<'_>, x: &Tensor, y: &Tensor, axis: &Axis) -> Result<()> {
    let complex = if axis.kind == Kind::ToReal { x.dtype } else { y.dtype };
    let size = if complex == DType::C64 { 8 } else { 16 };
    let lengths = plan(ctx, axis, size)?;
    let (n, s, outer) = (axis.n, axis.inner, axis.outer);
    let (input, output) = (axis.given * s, axis.wanted * s);
    let first_step = n / lengths[0];
    let mut pass = Pass {
        length: lengths[0],
        axis: n,
        load_step: 1,
        split: NO_LIMIT,
        given: axis.given,
        in_e: s,
        in_0: 1,
        out_e: s,
        out_j: 0,
        out_0: 1,
        n0: s,
        outer: [[outer, input, output], [1, 0, 0], [1, 0, 0]],
        wanted: axis.wanted,
        at: [1, 0, 0, 0],
        load_lanes: true,
        store_lanes: true,
        twiddle: 0,
        scale: axis.scale,
        kind: axis.kind.whole(),
    };
    if lengths.len() == 1 {
        if s == 1 {
            pass = Pass { in_0: axis.given, out_0: axis.wanted, n0: outer, outer: [[1, 0, 0]; 3], ..pass };
            pass = Pass { load_lanes: false, store_lanes: false, ..pass };
        }
        return launch(ctx, x, y, axis, &pass, complex);
    }
    let elements = [i64::from(outer), i64::from(n), i64::from(s)];
    let scratch = ctx.temp(complex, elements)?;
    let block = n * s;
    let inner_pass = Pass { split: s, out_j: s, wanted: NO_LIMIT, at: [0; 4], scale: 1.0, ..pass };
    let first = Pass {
        load_step: first_step,
        n0: first_step * s,
        out_e: first_step * s,
        outer: [[outer, input, block], [1, 0, 0], [1, 0, 0]],
        twiddle: n,
        kind: axis.kind.first(),
        ..inner_pass
    };
    launch(ctx, x, &scratch, axis, &first, complex)?;
    let l0 = lengths[0];
    let last_length = lengths[lengths.len() - 1];
    if let [_, l1, l2] = lengths[..] {
        let middle = Pass {
            length: l1,
            load_step: l2,
            given: NO_LIMIT,
            n0: l2 * s,
            out_e: l2 * s,
            outer: [[l0, first_step * s, first_step * s], [outer, block, block], [1, 0, 0]],
            twiddle: first_step,
            kind: Kind::Complex.whole(),
            ..inner_pass
        };
        launch(ctx, &scratch, &scratch, axis, &middle, complex)?;
    }
    // The last pass's results are the axis's elements k * (n / length) + k1 (+ k2 * l0).
    let apart = n / last_length;
    let last = Pass { length: last_length, given: NO_LIMIT, out_e: apart * s, kind: axis.kind.last(), ..pass };
    let l1 = if lengths.len() == 3 { lengths[1] } else { 1 };
    let second = [l1, last_length * s, l0 * s];
    let last = if s == 1 {
        let outer = [second, [outer, block, output], [1, 0, 0]];
        Pass { n0: l0, in_0: first_step, outer, at: [apart, 1, l0, 0], load_lanes: false, ..last }
    } else {
        let outer = [[l0, first_step * s, s], second, [outer, block, output]];
        Pass { outer, at: [apart, 0, 1, l0], ..last }
    };
    launch(ctx, &scratch, y, axis, &last, complex)
}

fn launch(ctx: &Compute<'_>, x: &Tensor, y: &Tensor, axis: &Axis, p: &Pass, complex: DType) -> Result<()> {
    let limits = &ctx.device().adapter().limits;
    let (real, size) = if complex == DType::C64 { (DType::F32, 8) } else { (DType::F64, 16) };
    let kernel = shader::FFT.get(&[complex.into(), real.into(), p.kind.into()])?;
    let radices =
        plan::radices(p.length).ok_or_else(|| Error::internal(format!("a pass of {} elements has no radices", p.length)))?;
    let full = limits.shared_memory / size / footprint(p.length);
    let filling = if p.load_lanes || p.store_lanes { 128 / size } else { 1 };
    // A power of two, so that neighbours fill whole memory transactions.
    let lanes = filling.max(1024 / p.length).min(p.n0.next_power_of_two()).min(full).max(1);
    let lanes = 1 << lanes.ilog2();
    let threads = (p.length * lanes / 8).next_power_of_two().clamp(32, limits.max_invocations.min(256));
    let mut args = Args::new();
    args.read(x)?.write(y)?;
    if complex == DType::C64 {
        #[allow(clippy::cast_possible_truncation)]
        args.f32(p.scale as f32);
    } else {
        args.f64(p.scale);
    }
    for v in [p.axis, p.load_step, p.split, p.given, p.in_e, p.in_0, p.out_e, p.out_j, p.out_0, p.n0] {
        args.u32(v);
    }
    for v in p.outer.iter().flatten().chain([&p.wanted]).chain(&p.at) {
        args.u32(*v);
    }
    if args.len() % 8 != 0 {
        args.u32(0);
    }
    let groups = u64::from(p.n0.div_ceil(lanes)) * p.outer.iter().map(|o| u64::from(o[0])).product::<u64>();
    args.work(groups * u64::from(lanes) * u64::from(p.length) * 40);
    let flag = u32::from;
    let constants =
        [threads, 1, 1, p.length, lanes, radices, flag(axis.inverse), flag(p.load_lanes), flag(p.store_lanes), p.twiddle];
    ctx.stream().launch_linear(kernel, &constants, &args, groups)
}
