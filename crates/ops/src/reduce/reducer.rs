//! Reducing any axes of a device tensor, as a sequence of row and column passes. Used by the reduction ops and by whatever
//! else needs sums over axes (bias gradients, norms). The elements may be those that a program computes: then the first pass
//! computes them while it reads.
//!
//! Deterministic: the tree depends on the shape and on the adapter's thread limit alone.

use smallvec::SmallVec;
use tfvk_device::{Args, DType, Error, Kernel, Result, Shape, Tensor};

use super::axes::{self, Run};
use crate::expr::{Fetch, Memo, Program, launch};
use crate::{Compute, shader};

/// How two elements become one. The numbers are the shaders' constant `OP`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Combine {
    /// Addition; integers wrap.
    Sum = 0,
    /// Multiplication; integers wrap.
    Prod = 1,
    /// The larger; a NaN wins. For bool: any.
    Max = 2,
    /// The smaller; a NaN wins. For bool: all.
    Min = 3,
}

/// What is done to each element first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum First {
    /// Nothing.
    Nothing = 0,
    /// Its square; of a complex number the squared magnitude.
    Square = 1,
}

/// What is done to each result at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Last {
    /// Nothing.
    Nothing = 0,
    /// Division by the number of elements combined.
    Mean = 1,
    /// The square root.
    Root = 2,
    /// Division by two.
    Half = 3,
}

/// Threads of a workgroup, where the adapter allows.
const THREADS: u32 = 256;
/// Workgroups that keep a large GPU busy. A constant, so that results do not depend on the adapter's size.
const BUSY: u64 = 2048;
/// The fewest elements worth a workgroup of their own.
const SHARE: u64 = 16384;

/// A reduction whose kernels are chosen.
pub struct Reducer {
    combine: Combine,
    first: First,
    last: Last,
    /// What partial results are kept in.
    partial: DType,
    /// Even a single pass must go through partial results: its own type would overflow.
    widen: bool,
    passes: [Pair; 4],
    /// For elements that a program computes: where the first pass is the last, and where not.
    chains: Option<[Pair; 2]>,
}

/// The elements that are reduced.
#[derive(Clone, Copy)]
enum Source<'a> {
    Memory(&'a Tensor),
    Program { fetch: &'a Fetch, inputs: &'a [Tensor] },
}

#[derive(Clone, Copy)]
struct Pair {
    row: &'static Kernel,
    column: &'static Kernel,
}

/// One pass: x [outer, n, columns] to y [outer, columns].
#[derive(Clone, Copy, Debug)]
struct Pass {
    outer: i64,
    n: i64,
    columns: i64,
}

impl Reducer {
    /// A reduction of elements of type `dtype`.
    pub fn new(combine: Combine, first: First, last: Last, dtype: DType) -> Result<Self> {
        let widen = last == Last::Mean && dtype.is_integer() && !matches!(dtype, DType::I64 | DType::U64);
        let partial = match dtype {
            _ if widen => DType::I64,
            DType::F16 | DType::BF16 => DType::F32,
            same => same,
        };
        let pair = |i: DType, o: DType, source: &'static str| -> Result<Pair> {
            let types = [i.into(), o.into(), source.into()];
            Ok(Pair { row: shader::REDUCE_ROW.get(&types)?, column: shader::REDUCE_COLUMN.get(&types)? })
        };
        let memory = |i, o| pair(i, o, "memory");
        let passes = [memory(dtype, dtype)?, memory(dtype, partial)?, memory(partial, partial)?, memory(partial, dtype)?];
        let chains = match dtype {
            DType::F32 | DType::F16 | DType::BF16 => Some([pair(dtype, dtype, "chain")?, pair(dtype, partial, "chain")?]),
            _ => None,
        };
        Ok(Self { combine, first, last, partial, widen, passes, chains })
    }

    /// Reduces the axes marked in `reduced` of the (one) result of `program`, which has shape `shape`, into `y`. It is written
    /// to memory only where no kernel can compute it while it reads. `memo` is for this program and this reducer alone.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn run_program(
        &self,
        ctx: &mut Compute<'_>,
        program: &Program,
        inputs: &[Tensor],
        shape: &Shape,
        reduced: &[bool],
        y: &Tensor,
        memo: &Memo,
    ) -> Result<()> {
        if let Some(fetch) = self.fetch(ctx, program, inputs, shape, reduced, memo)? {
            return self.run_from(ctx, Source::Program { fetch: &fetch, inputs }, shape, reduced, y);
        }
        let [out] = program.outputs() else { return Err(Error::internal("a reduction of several results")) };
        let x = ctx.temp(out.dtype, shape.clone())?;
        launch(ctx.stream(), program, inputs, &[], std::slice::from_ref(&x))?;
        self.run(ctx, &x, reduced, y)
    }

    fn fetch(
        &self,
        ctx: &Compute<'_>,
        program: &Program,
        inputs: &[Tensor],
        shape: &Shape,
        reduced: &[bool],
        memo: &Memo,
    ) -> Result<Option<Fetch>> {
        let Some(chains) = self.chains.filter(|_| shape.num_elements() > 0) else { return Ok(None) };
        let mut runs = axes::runs(shape, reduced);
        let pass = next_pass(&mut runs);
        let l = Launch::new(ctx, true, pass)?;
        let pair = chains[usize::from(l.splits > 1 || runs.iter().any(|r| r.reduced))];
        let kernel = if l.columns > 1 { pair.column } else { pair.row };
        let four = l.vector && (l.columns > 1 || l.n % 4 == 0);
        Fetch::new(program, inputs, shape, kernel, four, memo)
    }

    /// Reduces the axes of `x` marked in `reduced` into `y`, whose elements are those of the remaining axes in order.
    pub fn run(&self, ctx: &mut Compute<'_>, x: &Tensor, reduced: &[bool], y: &Tensor) -> Result<()> {
        if x.num_elements() == 0 {
            let nothing = Pass { outer: y.num_elements(), n: 0, columns: 1 };
            return self.launch(ctx, &Launch::new(ctx, false, nothing)?, Source::Memory(x), y, true, true, 0);
        }
        self.run_from(ctx, Source::Memory(x), &x.shape, reduced, y)
    }

    fn run_from(&self, ctx: &mut Compute<'_>, x: Source<'_>, shape: &Shape, reduced: &[bool], y: &Tensor) -> Result<()> {
        let mut runs = axes::runs(shape, reduced);
        let count: i64 = runs.iter().filter(|r| r.reduced).map(|r| r.size).product();
        let mut from: Option<Tensor> = None;
        loop {
            let (pass, first) = (next_pass(&mut runs), from.is_none());
            let more = runs.iter().any(|r| r.reduced) || (first && self.widen);
            let to = if more { ctx.temp(self.partial, [pass.outer * pass.columns])? } else { y.clone() };
            self.pass(ctx, from.as_ref().map_or(x, Source::Memory), &to, pass, first, !more, count)?;
            if !more {
                return Ok(());
            }
            from = Some(to);
        }
    }

    /// One pass, split in two where its results alone would not keep the device busy.
    #[allow(clippy::too_many_arguments)]
    fn pass(&self, ctx: &mut Compute<'_>, x: Source<'_>, y: &Tensor, p: Pass, first: bool, last: bool, count: i64) -> Result<()> {
        let launch = Launch::new(ctx, x.in_fours(), p)?;
        if launch.splits == 1 {
            return self.launch(ctx, &launch, x, y, first, last, count);
        }
        let parts = ctx.temp(self.partial, [p.outer, i64::from(launch.splits), p.columns])?;
        self.launch(ctx, &launch, x, &parts, first, false, count)?;
        let p = Pass { n: launch.splits.into(), ..p };
        let parts = Source::Memory(&parts);
        let launch = Launch { splits: 1, chunk: launch.splits, ..Launch::new(ctx, parts.in_fours(), p)? };
        self.launch(ctx, &launch, parts, y, false, last, count)
    }

    #[allow(clippy::too_many_arguments)]
    fn launch(
        &self,
        ctx: &Compute<'_>,
        l: &Launch,
        x: Source<'_>,
        y: &Tensor,
        first: bool,
        last: bool,
        count: i64,
    ) -> Result<()> {
        let pair = self.passes[match (first, last) {
            (true, true) => 0,
            (true, false) => 1,
            (false, false) => 2,
            (false, true) => 3,
        }];
        let before = if first { self.first } else { First::Nothing };
        let after = if last { self.last } else { Last::Nothing };
        let vector = x.vector(l.vector)?;
        let constants = [l.threads[0], l.threads[1], 1, before as u32, after as u32, vector, self.combine as u32];
        let mut args = Args::new();
        if let Source::Memory(x) = x {
            args.read(x)?;
        }
        args.write(y)?.u32(l.outer).u32(l.n);
        match l.columns > 1 {
            true => args.u32(l.columns).u32(l.splits).u32(l.chunk),
            false => args.u32(l.splits),
        };
        args.u32(small(count)?);
        let kernel = match x {
            Source::Memory(_) => {
                if l.columns > 1 {
                    pair.column
                } else {
                    pair.row
                }
            }
            Source::Program { fetch, inputs } => {
                fetch.arguments(inputs, &mut args)?;
                fetch.kernel()
            }
        };
        ctx.stream().launch_linear(kernel, &constants, &args, l.groups())
    }
}

impl Source<'_> {
    /// Whether elements are taken four at a time, wherever that is of use.
    fn in_fours(&self) -> bool {
        match self {
            Source::Memory(x) => !x.dtype.is_complex() && x.bytes() > 0,
            Source::Program { .. } => true,
        }
    }

    /// The shaders' constant `VECTOR`. Four elements that do not lie where they can be read at once are read one by one: the
    /// tree is not to depend on an address.
    fn vector(&self, in_fours: bool) -> Result<u32> {
        match self {
            _ if !in_fours => Ok(0),
            Source::Memory(x) if x.device_ptr()?.0 % (4 * x.dtype.size() as u64).min(16) != 0 => Ok(2),
            _ => Ok(1),
        }
    }
}

/// The innermost reduced run as a pass; it is taken out of `runs`. Without one, a copy.
fn next_pass(runs: &mut SmallVec<[Run; 8]>) -> Pass {
    let total = |r: &[Run]| r.iter().map(|r| r.size).product::<i64>();
    let Some(at) = runs.iter().rposition(|r| r.reduced) else {
        return Pass { outer: total(runs), n: 1, columns: 1 };
    };
    let pass = Pass { outer: total(&runs[..at]), n: runs[at].size, columns: total(&runs[at + 1..]) };
    runs.remove(at);
    pass
}

/// The geometry of one launch.
#[derive(Debug)]
struct Launch {
    outer: u32,
    n: u32,
    columns: u32,
    splits: u32,
    chunk: u32,
    threads: [u32; 2],
    vector: bool,
}

impl Launch {
    fn new(ctx: &Compute<'_>, in_fours: bool, p: Pass) -> Result<Self> {
        let limit = THREADS.min(ctx.device().adapter().limits.max_invocations);
        let limit = if limit.is_power_of_two() { limit } else { limit.next_power_of_two() / 2 };
        let (outer, n, columns) = (small(p.outer)?, small(p.n)?, small(p.columns)?);
        if columns > 1 { Self::columns(limit, in_fours, outer, n, columns) } else { Self::rows(limit, in_fours, outer, n) }
    }

    fn rows(limit: u32, in_fours: bool, outer: u32, n: u32) -> Result<Self> {
        let vector = in_fours && (n % 4 == 0 || outer == 1);
        let splits = (u64::from(n) / SHARE).min(BUSY.div_ceil(outer.max(1).into())).max(1) as u32;
        // A whole number of rounds of all threads.
        let chunk = if splits == 1 { n } else { n.div_ceil(splits).next_multiple_of(4 * limit) };
        let units = if vector { chunk / 4 } else { chunk };
        let wide = (units / 4).max(1).next_power_of_two().min(limit);
        let splits = if n == 0 { 1 } else { n.div_ceil(chunk) };
        Ok(Self { outer, n, columns: 1, splits, chunk, threads: [wide, limit / wide], vector })
    }

    fn columns(limit: u32, in_fours: bool, outer: u32, n: u32, columns: u32) -> Result<Self> {
        let vector = in_fours && columns % 4 == 0;
        let units = if vector { columns / 4 } else { columns };
        let wide = units.next_power_of_two().min(if vector { 32 } else { 64 }).min(limit);
        let high = (limit / wide).min(n.max(1).next_power_of_two());
        let groups = u64::from(outer.max(1)) * u64::from(units.div_ceil(wide));
        let most = u64::from(n) * u64::from(columns.min(wide * 4)) / SHARE;
        let least = (u64::from(n) * u64::from(columns)).div_ceil(1 << 31);
        let splits = most.min(BUSY.div_ceil(groups)).min(u64::from(n.div_ceil(high))).max(least).max(1);
        let chunk = n.div_ceil(splits as u32).max(1);
        let splits = n.div_ceil(chunk).max(1);
        if u64::from(chunk) * u64::from(columns) > 1 << 31 {
            return Err(Error::unimplemented(format!("a reduction over {n} rows of {columns} elements is too large")));
        }
        Ok(Self { outer, n, columns, splits, chunk, threads: [wide, high], vector })
    }

    fn groups(&self) -> u64 {
        let splits = u64::from(self.splits);
        if self.columns > 1 {
            let width = self.threads[0] * if self.vector { 4 } else { 1 };
            u64::from(self.outer) * splits * u64::from(self.columns.div_ceil(width))
        } else {
            (u64::from(self.outer) * splits).div_ceil(self.threads[1].into())
        }
    }
}

/// Threads, groups, and whether four elements are read at once, of a launch that reduces each row of `n` elements as
/// [`Reducer`] does. Errors: rows that are split.
pub(crate) fn row_launch(ctx: &Compute<'_>, rows: i64, n: i64) -> Result<([u32; 2], u64, bool)> {
    let l = Launch::new(ctx, true, Pass { outer: rows, n, columns: 1 })?;
    match l.splits {
        1 => Ok((l.threads, l.groups(), l.vector)),
        _ => Err(Error::internal(format!("rows of {n} elements are split"))),
    }
}

fn small(n: i64) -> Result<u32> {
    u32::try_from(n)
        .ok()
        .filter(|&v| v <= 1 << 31)
        .ok_or_else(|| Error::unimplemented(format!("a reduction axis of {n} elements; at most 2^31 are served")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_go_inside_out() {
        let mut r = axes::runs(&[2, 3, 4, 5], &[true, false, true, false]);
        let p = next_pass(&mut r);
        assert_eq!((p.outer, p.n, p.columns), (6, 4, 5));
        let p = next_pass(&mut r);
        assert_eq!((p.outer, p.n, p.columns), (1, 2, 15));
        let p = next_pass(&mut r);
        assert_eq!((p.outer, p.n, p.columns), (15, 1, 1));
    }

    /// Sums of the same elements, from where four can be read at once and from where they cannot, have the same bits.
    #[test]
    fn an_address_does_not_change_a_sum() {
        struct Sums(usize, Vec<bool>);
        impl crate::OpKernel for Sums {
            fn outputs(&self, _: &crate::Inputs<'_>) -> Result<crate::Outputs> {
                let kept = SHAPE.iter().zip(&self.1).filter(|(_, r)| !**r).map(|(d, _)| *d).collect();
                Ok(crate::Outputs::from_iter([crate::Output::Shape(kept)]))
            }
            fn compute(&self, ctx: &mut Compute<'_>) -> Result<()> {
                let x = ctx.input(0)?.slice(self.0 as i64, SHAPE);
                Reducer::new(Combine::Sum, First::Nothing, Last::Nothing, x.dtype)?.run(ctx, &x, &self.1, &ctx.output(0)?)
            }
        }
        const SHAPE: [i64; 2] = [300, 1024];
        let Some(host) = crate::test_device::local() else { return };
        let n = SHAPE.iter().product::<i64>() as usize;
        let element = |i: usize| ((i * 7919 % 10007) as f32 * 0.37 - 1800.0).to_le_bytes();
        for reduced in [vec![false, true], vec![true, false], vec![true, true]] {
            let sums = [0, 1, 3].map(|start| {
                let bytes: Vec<u8> = (0..start).chain(0..n).flat_map(element).collect();
                let x = host.upload(DType::F32, [(start + n) as i64], &bytes).unwrap();
                let node = crate::local::Node::new("Sum").dtype("T", DType::F32);
                let y = host.run_kernel(&node, Box::new(Sums(start, reduced.clone())), &[x]).unwrap().remove(0);
                host.read(&y).unwrap()
            });
            assert!(sums[0] == sums[1] && sums[0] == sums[2], "{reduced:?}");
        }
    }

    #[test]
    fn chunks_cover_everything() {
        for limit in [128, 256] {
            for n in [0, 1, 5, 4096, 16384, 65537, 1 << 28, (1 << 31) - 1] {
                for outer in [0, 1, 7, 65536] {
                    let l = Launch::rows(limit, true, outer, n).unwrap();
                    assert!(
                        u64::from(l.splits) * u64::from(l.chunk) >= n.into() && l.threads[0] * l.threads[1] <= limit,
                        "{l:?}"
                    );
                    assert!(l.splits == 1 || (l.splits - 1) * l.chunk < n, "no empty chunk: {l:?}");
                    for columns in [2, 3, 4, 64, 1000] {
                        let Ok(l) = Launch::columns(limit, true, outer, n, columns) else { continue };
                        assert!(
                            u64::from(l.splits) * u64::from(l.chunk) >= n.into() && l.threads[0] * l.threads[1] <= limit,
                            "{l:?}"
                        );
                    }
                }
            }
        }
    }
}
