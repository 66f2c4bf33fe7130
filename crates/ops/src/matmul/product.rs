//! A product of two matrices, or of a batch of them: the description that MatMul, Einsum and 1x1 convolutions make, and
//! its launch. Knows no op.

use smallvec::SmallVec;
use tfvk_device::{Args, DType, Error, Kernel, Result, Tensor};

use super::choice::{Choice, Machine, Size, Tile, choose};
use super::epilogue::{BiasAlong, Epilogue};
use crate::copy::{View, strided_copy};
use crate::generic::instead_of;
use crate::{Compute, shader};

/// One operand.
#[derive(Clone, Debug)]
pub struct Operand {
    /// All its matrices.
    pub tensor: Tensor,
    /// Whether elements along k lie together: A as [m, k], B as [n, k]; otherwise A is [k, m], B [k, n].
    pub along_k: bool,
    /// Whether its complex conjugate is meant.
    pub conj: bool,
    /// Elements from one row (as it lies) to the next; `None`: no gaps.
    pub row: Option<u64>,
    /// Whether the gaps are zeros.
    pub zeros_between: bool,
}

impl Operand {
    /// An operand without gaps between rows, not conjugated.
    pub fn new(tensor: &Tensor, along_k: bool) -> Self {
        Self { tensor: tensor.clone(), along_k, conj: false, row: None, zeros_between: false }
    }

    /// Whether rows of `inner` elements, `row` apart, can be read eight elements of 16 bits at a time.
    fn in_eights(&self, inner: u64, row: u64) -> bool {
        let t = &self.tensor;
        let whole = inner % 8 == 0 || self.zeros_between;
        whole && row % 8 == 0 && t.dtype.size() == 2 && t.device_ptr().is_ok_and(|p| p.0 % 16 == 0)
    }
}

/// A batch dimension: its size, and how many elements further the next matrix lies (0: it is the same one).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Size.
    pub n: u64,
    /// Stride of A.
    pub a: u64,
    /// Stride of B.
    pub b: u64,
    /// Stride of C.
    pub c: u64,
}

/// `c[batch, m, n] = epilogue(sum over k of a[m, k] * b[k, n])`. The elements of c fill its tensor.
#[derive(Clone, Debug)]
pub struct Product {
    /// Left operand.
    pub a: Operand,
    /// Right operand.
    pub b: Operand,
    /// Result; of f16 and bf16 it may be f32, the sums before they are rounded.
    pub c: Tensor,
    /// Elements from one row of the result to the next; `None`: n.
    pub c_row: Option<u64>,
    /// Rows.
    pub m: u64,
    /// Columns.
    pub n: u64,
    /// Length of the sums; 0 gives zeros.
    pub k: u64,
    /// Batch dimensions, outermost first.
    pub batch: SmallVec<[Batch; 4]>,
    /// What follows.
    pub epilogue: Epilogue,
}

/// SPIR-V's indices are signed.
const MAX_ELEMENTS: u64 = i32::MAX as u64;

impl Product {
    /// Launches it.
    ///
    /// Errors: no kernel for these element types; one matrix of 2^31 elements or more that cannot be cut into rows.
    pub fn run(&self, ctx: &mut Compute<'_>) -> Result<()> {
        self.run_as(ctx, None)
    }

    /// Launches it with a given kernel, for tests.
    pub(crate) fn run_as(&self, ctx: &mut Compute<'_>, choice: Option<Choice>) -> Result<()> {
        let mut p = self.clone();
        p.simplify();
        if p.n == 1 && p.m > 1 && p.c_row() == 1 {
            p.transpose();
        }
        p.launch_all(ctx, choice)
    }

    /// A single column as a single row, for which there is a kernel.
    fn transpose(&mut self) {
        let (a_row, b_row) = (self.a_row(), self.b_row());
        std::mem::swap(&mut self.a, &mut self.b);
        (self.a.row, self.b.row) = (Some(b_row), Some(a_row));
        (self.m, self.n, self.c_row) = (1, self.m, None);
        self.batch.iter_mut().for_each(|d| std::mem::swap(&mut d.a, &mut d.b));
        self.epilogue.along = match self.epilogue.along {
            BiasAlong::M => BiasAlong::N,
            BiasAlong::N => BiasAlong::M,
            BiasAlong::None => BiasAlong::None,
        };
    }

    fn a_row(&self) -> u64 {
        self.a.row.unwrap_or(if self.a.along_k { self.k } else { self.m })
    }

    fn b_row(&self) -> u64 {
        self.b.row.unwrap_or(if self.b.along_k { self.k } else { self.n })
    }

    fn c_row(&self) -> u64 {
        self.c_row.unwrap_or(self.n)
    }

    /// Merges batch dimensions with each other and, where B is one matrix, with the rows.
    fn simplify(&mut self) {
        self.batch = merge(&self.batch);
        let (a_row, c_row) = (self.a_row(), self.c_row());
        if let [d] = self.batch.as_slice() {
            let rows = self.m * d.n;
            let follows = d.a == self.m * a_row && d.b == 0 && d.c == self.m * c_row;
            if follows && self.a.along_k && self.epilogue.along != BiasAlong::M && rows * a_row.max(c_row) < MAX_ELEMENTS {
                self.m = rows;
                self.batch.clear();
            }
        }
    }

    fn launch_all(&self, ctx: &mut Compute<'_>, choice: Option<Choice>) -> Result<()> {
        let dense = self.c_row() == self.n;
        if self.batch.len() > 3 && dense {
            let outer = self.batch[0];
            return (0..outer.n).try_for_each(|i| {
                let mut p = self.clone();
                p.batch.remove(0);
                p.a.tensor = part(&self.a.tensor, i * outer.a, None);
                p.b.tensor = part(&self.b.tensor, i * outer.b, None);
                p.c = part(&self.c, i * outer.c, Some(outer.c));
                p.launch_all(ctx, choice)
            });
        }
        let (a_row, b_row, c_row) = (self.a_row(), self.b_row(), self.c_row());
        let a = a_row * if self.a.along_k { self.m } else { self.k };
        let b = b_row * if self.b.along_k { self.n } else { self.k };
        let c = c_row * self.m;
        let long = self.operations() / 16 > ctx.device().adapter().limits.launch_work;
        // Each half must fill its part of the result.
        let halved = |d: &&Batch| long && d.n > 1 && d.n * d.c == self.c.num_elements() as u64;
        if let Some(outer) = self.batch.first().filter(halved) {
            return halves(outer.n).into_iter().try_for_each(|(first, n)| {
                let mut p = self.clone();
                p.batch[0].n = n;
                p.a.tensor = part(&self.a.tensor, first * outer.a, None);
                p.b.tensor = part(&self.b.tensor, first * outer.b, None);
                p.c = part(&self.c, first * outer.c, Some(n * outer.c));
                p.launch_all(ctx, choice)
            });
        }
        if (a.max(c) >= MAX_ELEMENTS || long) && self.a.along_k && self.m > 1 && self.batch.is_empty() && dense {
            return halves(self.m).into_iter().try_for_each(|(first, rows)| {
                let mut p = self.clone();
                p.m = rows;
                p.a.tensor = part(&self.a.tensor, first * a_row, None);
                p.c = part(&self.c, first * c_row, Some(rows * c_row));
                if let (BiasAlong::M, Some(bias)) = (self.epilogue.along, &self.epilogue.bias) {
                    p.epilogue.bias = Some(part(bias, first, Some(rows)));
                }
                p.launch_all(ctx, choice)
            });
        }
        let largest = a.max(b).max(c);
        if largest >= MAX_ELEMENTS || self.batch.len() > 3 {
            return Err(Error::unimplemented(format!(
                "a matrix that spans {largest} elements, in {} batch dimensions; expected fewer than 2^31 and at most 3",
                self.batch.len()
            )));
        }
        self.launch(ctx, choice)
    }

    /// Floating-point operations of it all.
    fn operations(&self) -> u64 {
        let sizes = [self.m, self.n, self.k].into_iter().chain(self.batch.iter().map(|d| d.n));
        sizes.fold(2, u64::saturating_mul)
    }

    /// Whether rows of A can be read eight elements of 16 bits at a time.
    fn a_in_eights(&self) -> bool {
        let inner = if self.a.along_k { self.k } else { self.m };
        self.a.in_eights(inner, self.a_row()) && self.batch.iter().all(|d| d.a % 8 == 0)
    }

    /// The same of B.
    fn b_in_eights(&self) -> bool {
        let inner = if self.b.along_k { self.k } else { self.n };
        self.b.in_eights(inner, self.b_row()) && self.batch.iter().all(|d| d.b % 8 == 0)
    }

    /// The same product with operands whose rows matrix units can read, as copies where they are not such.
    fn in_eights(&self, ctx: &mut Compute<'_>) -> Result<Product> {
        let mut p = self.clone();
        let strides = |f: fn(&Batch) -> u64| self.batch.iter().map(|d| (d.n, f(d))).collect::<SmallVec<[(u64, u64); 4]>>();
        if !self.a_in_eights() {
            let (rows, inner) = if self.a.along_k { (self.m, self.k) } else { (self.k, self.m) };
            let steps = padded(ctx, &mut p.a, (rows, inner, self.a_row()), &strides(|d| d.a))?;
            p.batch.iter_mut().zip(steps).for_each(|(d, step)| d.a = step);
        }
        if !self.b_in_eights() {
            let (rows, inner) = if self.b.along_k { (self.n, self.k) } else { (self.k, self.n) };
            let steps = padded(ctx, &mut p.b, (rows, inner, self.b_row()), &strides(|d| d.b))?;
            p.batch.iter_mut().zip(steps).for_each(|(d, step)| d.b = step);
        }
        Ok(p)
    }

    fn launch(&self, ctx: &mut Compute<'_>, choice: Option<Choice>) -> Result<()> {
        match choice {
            Some(choice) => self.launch_as(ctx, choice),
            None => self.launch_first(ctx, self.choice(Machine::of(ctx.device().adapter()))),
        }
    }

    /// With this kernel, or, if the driver makes none of it for matrix units, with one for any device.
    fn launch_first(&self, ctx: &mut Compute<'_>, choice: Choice) -> Result<()> {
        match self.launch_as(ctx, choice) {
            Err(why) if choice.tile.on_matrix_units() => {
                instead_of("a product on matrix units", why)?;
                self.launch_as(ctx, self.choice(Machine::of(ctx.device().adapter()).without_matrix_units()))
            }
            other => other,
        }
    }

    /// Elements of the operands and of the result, as a kernel is to treat it; whether the result is sums before rounding.
    fn types(&self) -> ([DType; 3], bool) {
        let (ta, tb) = (self.a.tensor.dtype, self.b.tensor.dtype);
        let unrounded = matches!(ta, DType::F16 | DType::BF16) && self.c.dtype == DType::F32 && self.epilogue.is_none();
        ([ta, tb, if unrounded { ta } else { self.c.dtype }], unrounded)
    }

    fn size(&self) -> Size {
        Size { batch: self.batch.iter().map(|d| d.n).product(), m: self.m, n: self.n, k: self.k }
    }

    /// The kernel for it on this machine.
    fn choice(&self, machine: Machine) -> Choice {
        let ([ta, tb, tc], _) = self.types();
        let size = self.size();
        let vector = machine.vector_tile(size, tc, self.b.along_k);
        let eights = (ta, tb) == (tc, tc) && self.a_in_eights() && self.b_in_eights();
        let matrix = || machine.matrix_tile(size, tc).filter(|_| eights || self.operations() >= WORTH_COPIES);
        vector.or_else(matrix).unwrap_or_else(|| choose(size, tc, tiles(ta, tc), machine))
    }

    fn launch_as(&self, ctx: &mut Compute<'_>, choice: Choice) -> Result<()> {
        let ([ta, tb, tc], unrounded) = self.types();
        let size = self.size();
        if choice.tile.on_matrix_units() && !(self.a_in_eights() && self.b_in_eights()) {
            return self.in_eights(ctx)?.launch_as(ctx, choice);
        }
        let types = [ta.into(), tb.into(), tc.into()];
        let kernel = match choice.tile {
            tile if tile.is_vector() => shader::MATVEC.get(&types)?,
            tile => {
                let shader = if tile.on_matrix_units() { &shader::MATMUL_COOP } else { &shader::MATMUL };
                shader.get(&[types[0], types[1], types[2], tile.word().into()])?
            }
        };
        let parts = choice.parts(self.k);
        let split = parts > 1 || !self.epilogue.activation.in_tile();
        if !split {
            return self.launch_tiles(ctx, kernel, choice, size, &self.c, parts, unrounded);
        }
        let partial = accumulator(tc);
        let sums = ctx.temp(partial, [(parts * size.batch * self.m * self.n) as i64])?;
        self.launch_tiles(ctx, kernel, choice, size, &sums, parts, true)?;
        sum_parts(ctx, &sums, &self.c, parts, (self.m, self.n), &self.epilogue)
    }

    #[allow(clippy::too_many_arguments)]
    fn launch_tiles(
        &self,
        ctx: &mut Compute<'_>,
        kernel: &Kernel,
        choice: Choice,
        size: Size,
        out: &Tensor,
        parts: u64,
        split: bool,
    ) -> Result<()> {
        let (a_row, b_row, c_row) = (self.a_row(), self.b_row(), self.c_row());
        let groups = choice.tile.groups(size) * parts;
        let small =
            u32::try_from(groups).map_err(|_| Error::unimplemented(format!("{groups} workgroups; expected fewer than 2^32")))?;

        let mut args = Args::new();
        args.read(&self.a.tensor)?.read(&self.b.tensor)?.write(out)?;
        match (&self.epilogue.bias, split) {
            (Some(bias), false) => args.read(bias)?,
            _ => args.null(),
        };
        args.u32(self.m as u32).u32(self.n as u32).u32(self.k as u32);
        args.u32(a_row as u32).u32(b_row as u32).u32(c_row as u32).u32(small).u32(choice.k_part as u32);
        let none = Batch { n: 1, a: 0, b: 0, c: 0 };
        let mut dims = [none; 3];
        dims[3 - self.batch.len()..].copy_from_slice(&self.batch);
        let unit = |f: fn(&Batch) -> u64| dims.iter().map(f).fold(0, gcd).max(1);
        let units = [unit(|d| d.a), unit(|d| d.b), unit(|d| d.c)];
        args.u32(dims[1].n as u32).u32(dims[2].n as u32);
        for unit in units {
            args.u32(u32::try_from(unit).map_err(|_| Error::unimplemented(format!("a batch stride of {unit} elements")))?);
        }
        dims.iter().for_each(|d| _ = args.u32((d.a / units[0]) as u32));
        dims.iter().for_each(|d| _ = args.u32((d.b / units[1]) as u32));
        dims.iter().for_each(|d| _ = args.u32((d.c / units[2]) as u32));
        args.f32(self.epilogue.alpha).work(self.operations());

        let flag = u32::from;
        let mut constants = [
            choice.tile.threads(),
            1,
            1,
            flag(self.a.along_k),
            flag(self.b.along_k),
            0,
            0,
            0,
            0,
            0,
            flag(split),
            0,
            0,
            0,
            0,
            0,
            0,
            0,
        ];
        let fours = |t: &Tensor, row, inner: u64, unit: u64| flag(inner % 4 == 0 && unit % 4 == 0 && in_fours(t, row));
        // Without a batch the unit is 1 and plays no part.
        let unit = |i: usize| if self.batch.is_empty() { 0 } else { units[i] };
        constants[5] = fours(&self.a.tensor, a_row, if self.a.along_k { self.k } else { self.m }, unit(0));
        constants[6] = fours(&self.b.tensor, b_row, if self.b.along_k { self.k } else { self.n }, unit(1));
        constants[7] = fours(out, c_row, self.n, unit(2));
        if choice.tile.on_matrix_units() {
            // Sixteen bytes are eight elements there.
            let aligned = out.device_ptr().is_ok_and(|p| p.0 % 16 == 0);
            constants[7] = flag(aligned && [c_row, self.n, unit(2)].iter().all(|v| v % 8 == 0));
            let (bm, bn) = choice.tile.shape();
            let whole = self.m % bm == 0 && self.n % bn == 0 && self.k % choice.tile.step(self.a.tensor.dtype) == 0;
            constants[11] = flag(whole && constants[7] == 1);
        }
        constants[8] = flag(self.a.conj);
        constants[9] = flag(self.b.conj);
        if !split {
            constants[16..].copy_from_slice(&self.epilogue.constants());
        }
        ctx.stream().launch_linear(kernel, &constants, &args, groups)
    }
}

/// The element type that products of `dtype` are accumulated in.
pub fn accumulator(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        DType::I8 | DType::I16 => DType::I32,
        DType::U8 | DType::U16 => DType::U32,
        other => other,
    }
}

/// Adds `parts` results, in order, into `c` ([.., m, n]), with what follows.
pub fn sum_parts(
    ctx: &mut Compute<'_>,
    sums: &Tensor,
    c: &Tensor,
    parts: u64,
    (m, n): (u64, u64),
    epilogue: &Epilogue,
) -> Result<()> {
    const THREADS: u32 = 128;
    let count = c.num_elements() as u64;
    if count >= MAX_ELEMENTS {
        return Err(Error::unimplemented(format!("partial sums of {count} elements; expected fewer than 2^31")));
    }
    let mut args = Args::new();
    args.read(sums)?.write(c)?;
    match &epilogue.bias {
        Some(bias) => args.read(bias)?,
        None => args.null(),
    };
    args.u32(count as u32).u32(parts as u32).u32(n as u32).u32(m as u32).f32(epilogue.alpha);
    let mut constants = [0; 18];
    constants[..3].copy_from_slice(&[THREADS, 1, 1]);
    constants[16..].copy_from_slice(&epilogue.constants());
    let kernel = shader::SUM_PARTS.get(&[c.dtype.into()])?;
    ctx.stream().launch_linear(kernel, &constants, &args, count.div_ceil(THREADS.into()))
}

/// The tiles that `matmul.comp` has for operands and results of these types.
fn tiles(operands: DType, result: DType) -> &'static [Tile] {
    match result {
        _ if operands != result => &[Tile::T32],
        DType::F32 | DType::F16 | DType::BF16 => &[Tile::T128, Tile::T64, Tile::T32],
        DType::F64 | DType::I32 | DType::I64 | DType::C64 => &[Tile::T64, Tile::T32],
        _ => &[Tile::T32],
    }
}

/// From so many operations on, matrix units are worth copying the operands for.
const WORTH_COPIES: u64 = 1 << 27;

/// Replaces an operand of `rows` x `inner` elements, rows `row` apart, by a copy with zeros to the next eight; `batch` are
/// sizes and strides. Returns the copy's batch strides.
fn padded(
    ctx: &mut Compute<'_>,
    operand: &mut Operand,
    (rows, inner, row): (u64, u64, u64),
    batch: &[(u64, u64)],
) -> Result<SmallVec<[u64; 4]>> {
    let wide = inner.next_multiple_of(8);
    // Matrices that are one and the same are copied once.
    let sizes = batch.iter().map(|&(n, stride)| if stride == 0 { 1 } else { n }).collect::<SmallVec<[u64; 4]>>();
    let mut steps: SmallVec<[u64; 4]> = SmallVec::from_elem(0, batch.len());
    let mut step = rows * wide;
    for (i, &n) in sizes.iter().enumerate().rev() {
        steps[i] = if batch[i].1 == 0 { 0 } else { step };
        step *= n;
    }
    let copy = ctx.temp(operand.tensor.dtype, [step as i64])?;
    if wide > inner {
        ctx.stream().fill(copy.device_ptr()?, copy.bytes(), 0)?;
    }
    let list = |inner: &[u64], outer: &mut dyn Iterator<Item = u64>| -> Vec<i64> {
        outer.chain(inner.iter().copied()).map(|v| v as i64).collect()
    };
    let dims = list(&[rows, inner], &mut sizes.iter().copied());
    let from = list(&[row, 1], &mut batch.iter().map(|&(_, stride)| stride));
    let to = list(&[wide, 1], &mut steps.iter().copied());
    let (src, dst) =
        (View { tensor: &operand.tensor, offset: 0, strides: &from }, View { tensor: &copy, offset: 0, strides: &to });
    strided_copy(ctx.device(), ctx.stream(), &dims, src, dst)?;
    (operand.tensor, operand.row, operand.zeros_between) = (copy, Some(wide), true);
    Ok(steps)
}

/// Whether rows of `row` elements can be read four at a time.
pub fn in_fours(t: &Tensor, row: u64) -> bool {
    let align = (4 * t.dtype.size() as u64).min(16);
    row % 4 == 0 && t.device_ptr().is_ok_and(|p| p.0 % align == 0)
}

/// The tensor from element `first` on, all of it or `len` elements.
fn part(t: &Tensor, first: u64, len: Option<u64>) -> Tensor {
    let left = (t.num_elements() as u64).saturating_sub(first);
    t.slice(first as i64, [len.unwrap_or(left).min(left) as i64])
}

/// A range in two halves: where each begins and how long it is.
fn halves(n: u64) -> [(u64, u64); 2] {
    [(0, n / 2), (n / 2, n - n / 2)]
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The dimensions without those of size 1, neighbours merged where all three strides allow.
pub fn merge(batch: &[Batch]) -> SmallVec<[Batch; 4]> {
    let mut merged: SmallVec<[Batch; 4]> = SmallVec::new();
    for d in batch.iter().filter(|d| d.n != 1) {
        match merged.last_mut() {
            Some(o) if o.a == d.n * d.a && o.b == d.n * d.b && o.c == d.n * d.c => *o = Batch { n: o.n * d.n, ..*d },
            _ => merged.push(*d),
        }
    }
    merged
}

#[cfg(test)]
mod tests;
