//! Rows of values combined into rows of an output by key: what every scatter and segment op comes down to.
//!
//! Deterministic: the keys are sorted stably, so that each output row's values are combined in the order of their
//! positions, in a tree that depends on the shapes alone. Knows no op.

use tfvk_device::{Args, DType, Error, Result, Shape, Tensor};

use super::gather::index_word;
use crate::array::{count, threads};
use crate::sort::{Sorted, sort};
use crate::{Compute, shader};

/// How values of one key are combined. The numbers are `segment.comp`'s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Combine {
    Sum = 0,
    Product = 1,
    Max = 2,
    Min = 3,
    Last = 4,
}

/// What the result does to the output row. The numbers are `segment.comp`'s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Apply {
    Set = 0,
    Add = 1,
    Sub = 2,
    Mul = 3,
    Div = 4,
    Max = 5,
    Min = 6,
}

/// What a sum is divided by. The numbers are `segment.comp`'s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Scale {
    None = 0,
    Count = 1,
    RootOfCount = 2,
}

/// A whole operation.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// Between values of one key.
    pub combine: Combine,
    /// Between the result and the output.
    pub apply: Apply,
    /// In between.
    pub scale: Scale,
}

/// The rows that `n` index tuples name, as uint32. A tuple spans `dims`; one that is out of range gives `limit`.
pub fn keys(ctx: &mut Compute<'_>, indices: &Tensor, dims: &[i64], n: i64, limit: i64) -> Result<Tensor> {
    keys_by_row(ctx, indices, dims, n, limit, 0)
}

/// The same, where each `per_row` tuples (unless 0) name rows of a block of their own.
pub fn keys_by_row(ctx: &mut Compute<'_>, indices: &Tensor, dims: &[i64], n: i64, limit: i64, per_row: i64) -> Result<Tensor> {
    const MAX_DEPTH: usize = 8;
    if dims.len() > MAX_DEPTH || limit > i64::from(i32::MAX) {
        return Err(Error::unimplemented(format!("indices into {limit} rows of {} dimensions", dims.len())));
    }
    let n = count(&Shape::from([n]))?;
    let out = ctx.temp(DType::U32, [i64::from(n)])?;
    if n == 0 {
        return Ok(out);
    }
    let mut args = Args::new();
    args.read(indices)?.write(&out)?.u32(n).u32(limit as u32).u32(per_row as u32);
    (0..MAX_DEPTH).for_each(|i| _ = args.i32(dims.get(i).map_or(1, |&d| d as i32)));
    let kernel = shader::SEGMENT_KEYS.get(&[index_word(indices.dtype)?.into()])?;
    let threads = threads(ctx);
    ctx.stream().launch_linear(kernel, &[threads, 1, 1, dims.len() as u32], &args, n.div_ceil(threads).into())?;
    Ok(out)
}

/// Keys below `limit + 1` in order.
pub fn sorted(ctx: &mut Compute<'_>, keys: &Tensor, limit: i64) -> Result<Sorted> {
    sort(ctx, keys, 64 - (limit as u64).leading_zeros())
}

/// Values to combine: rows of `inner` elements.
pub struct Rows<'a> {
    /// Sorted keys: which output row each position goes to.
    pub keys: &'a Tensor,
    /// Which row of `values` each position has; `None`: position `i` has row `i`.
    pub order: Option<&'a Tensor>,
    /// The values.
    pub values: &'a Tensor,
    /// Whether `values` is one element for all.
    pub scalar: bool,
}

/// Combines `rows` into the rows of `out` (of `inner` elements each). Rows of `out` without a key stay as they are.
pub fn reduce(ctx: &mut Compute<'_>, recipe: Recipe, rows: &Rows<'_>, out: &Tensor, inner: i64) -> Result<()> {
    let n = rows.keys.num_elements();
    if n == 0 || inner == 0 || out.num_elements() == 0 {
        return Ok(());
    }
    let small = |v: i64, what: &str| {
        u32::try_from(v).ok().filter(|v| v >> 31 == 0).ok_or_else(|| Error::unimplemented(format!("{v} {what}")))
    };
    let (n, inner) = (small(n, "indices")?, small(inner, "elements in a row")?);
    let limit = small(out.num_elements() / i64::from(inner), "output rows")?;
    let source_rows = small(rows.values.num_elements() / i64::from(inner).max(1), "rows of values")?;
    // Long enough that few partial results remain, short enough that there is work for all.
    let len = (n / 1024).next_power_of_two().clamp(8, 64);
    let chunks = n.div_ceil(len);
    small(i64::from(chunks) * 2 * i64::from(inner), "partial results")?;
    let partials = ctx.temp(computed_in(out.dtype), [if chunks > 1 { i64::from(chunks) * 2 * i64::from(inner) } else { 1 }])?;
    let threads = threads(ctx);
    let columns = inner.next_power_of_two().min(threads);
    let blocks = inner.div_ceil(columns);
    let groups = u64::from(blocks) * u64::from(chunks.div_ceil(threads / columns));
    let mut args = Args::new();
    args.read(rows.keys)?;
    match rows.order {
        Some(o) => _ = args.read(o)?,
        None => _ = args.null(),
    }
    args.read(rows.values)?.read_write(out)?.read_write(&partials)?;
    args.u32(n).u32(inner).u32(limit).u32(len).u32(chunks).u32(source_rows).u32(blocks);
    let kernel = shader::SEGMENT.get(&[out.dtype.into()])?;
    for phase in 0..if chunks > 1 { 2 } else { 1 } {
        let constants = [
            threads,
            1,
            1,
            phase,
            recipe.combine as u32,
            recipe.apply as u32,
            columns,
            recipe.scale as u32,
            u32::from(rows.scalar),
        ];
        ctx.stream().launch_linear(kernel, &constants, &args, groups)?;
    }
    Ok(())
}

/// A type of the size of what kernels compute `dtype` in.
fn computed_in(dtype: DType) -> DType {
    match dtype.size() {
        1 | 2 => DType::U32,
        _ => dtype,
    }
}
