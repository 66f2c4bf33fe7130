//! A Fourier transform along one axis of a tensor, of any length: directly where all prime factors are small, else as a
//! convolution (Bluestein). Knows no op.

use tfvk_device::{Args, DType, Error, Result, Tensor};

use super::{pass, plan};
use crate::{Compute, shader};

const THREADS: u32 = 128;

/// What goes in and comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Complex numbers.
    Complex,
    /// Real numbers in.
    FromReal,
    /// The first half of a sequence whose second half is its conjugate in; real numbers out.
    ToReal,
}

impl Kind {
    /// The kernel of a transform in one pass, of the first and of the last of several.
    pub(super) fn whole(self) -> &'static str {
        match self {
            Kind::Complex => "c2c",
            Kind::FromReal => "r2c",
            Kind::ToReal => "c2r",
        }
    }

    pub(super) fn first(self) -> &'static str {
        if self == Kind::ToReal { "half" } else { self.whole() }
    }

    pub(super) fn last(self) -> &'static str {
        if self == Kind::ToReal { "part" } else { "c2c" }
    }
}

/// The axis of a tensor seen as [outer, axis, inner], and what to do along it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    /// Elements before and after the axis; not 0.
    pub outer: u32,
    pub inner: u32,
    /// Length of the transform; not 0.
    pub n: u32,
    /// What the input has along the axis: more is cut off, zeros follow what is missing.
    pub given: u32,
    /// What the output has along the axis.
    pub wanted: u32,
    pub kind: Kind,
    pub inverse: bool,
    /// Results are multiplied by this.
    pub scale: f64,
}

/// Transforms `x` [outer, given, inner] to `y` [outer, wanted, inner]. They may be the same memory if their shapes are the same.
pub(super) fn transform(ctx: &mut Compute<'_>, x: &Tensor, y: &Tensor, axis: &Axis) -> Result<()> {
    if plan::is_smooth(axis.n) { pass::transform(ctx, x, y, axis) } else { convolve(ctx, x, y, axis) }
}

fn convolve(ctx: &mut Compute<'_>, x: &Tensor, y: &Tensor, axis: &Axis) -> Result<()> {
    let complex = if axis.kind == Kind::ToReal { x.dtype } else { y.dtype };
    let m = plan::good_length(2 * axis.n - 1);
    let (rows, length) = (i64::from(axis.outer) * i64::from(axis.inner), i64::from(m));
    let rows32 = u32::try_from(rows * length).ok().filter(|&all| all < 1 << 31).map(|all| all / m);
    let Some(rows32) = rows32 else {
        return Err(Error::unimplemented(format!("{rows} transforms of {} elements, whose prime factors are large", axis.n)));
    };
    let chirp = ctx.temp(complex, [i64::from(axis.n)])?;
    let table = ctx.temp(complex, [length])?;
    let work = ctx.temp(complex, [rows, length])?;
    let step = Step { axis, chirp: &chirp, m, rows: rows32, complex };
    step.launch(ctx, "table", None, &table, 1.0, u64::from(m))?;
    let forward = Axis { outer: 1, inner: 1, n: m, given: m, wanted: m, kind: Kind::Complex, inverse: false, scale: 1.0 };
    pass::transform(ctx, &table, &table, &forward)?;
    let all = u64::from(rows32) * u64::from(m);
    step.launch(ctx, if axis.kind == Kind::FromReal { "before_real" } else { "before" }, Some(x), &work, 1.0, all)?;
    pass::transform(ctx, &work, &work, &Axis { outer: rows32, ..forward })?;
    step.launch(ctx, "times", Some(&table), &work, 1.0, all)?;
    pass::transform(ctx, &work, &work, &Axis { outer: rows32, inverse: true, scale: 1.0 / f64::from(m), ..forward })?;
    let wanted = u64::from(rows32) * u64::from(axis.wanted);
    step.launch(ctx, if axis.kind == Kind::ToReal { "after_real" } else { "after" }, Some(&work), y, axis.scale, wanted)
}

struct Step<'a> {
    axis: &'a Axis,
    chirp: &'a Tensor,
    m: u32,
    rows: u32,
    complex: DType,
}

impl Step<'_> {
    fn launch(&self, ctx: &Compute<'_>, kind: &'static str, x: Option<&Tensor>, y: &Tensor, scale: f64, n: u64) -> Result<()> {
        let axis = self.axis;
        let real = if self.complex == DType::C64 { DType::F32 } else { DType::F64 };
        let kernel = shader::CHIRP.get(&[self.complex.into(), real.into(), kind.into()])?;
        let mut args = Args::new();
        match x {
            Some(x) => args.read(x)?,
            None => args.null(),
        };
        args.read_write(y)?.read_write(self.chirp)?;
        if real == DType::F32 {
            #[allow(clippy::cast_possible_truncation)]
            args.f32(scale as f32);
        } else {
            args.f64(scale);
        }
        args.u32(axis.n).u32(self.m).u32(axis.inner).u32(axis.given).u32(axis.wanted).u32(self.rows);
        if args.len() % 8 != 0 {
            args.u32(0);
        }
        let mirror = axis.kind == Kind::ToReal;
        let constants = [THREADS, 1, 1, u32::from(axis.inverse), u32::from(mirror)];
        ctx.stream().launch_linear(kernel, &constants, &args, n.div_ceil(THREADS.into()))
    }
}
