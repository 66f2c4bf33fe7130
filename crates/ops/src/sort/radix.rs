//! A stable sort of unsigned keys with their numbers as payload. Deterministic, for any subgroup size. Knows no op.

use tfvk_device::{Args, DType, Error, Result, Tensor};

use super::scan::exclusive_scan;
use crate::array::threads;
use crate::{Compute, shader};

/// Elements that an invocation takes; `ITEMS` in `radix.comp`.
const ITEMS: u32 = 8;
/// Bits of a pass, and digits.
const BITS: u32 = 4;
/// Up to this many keys, counting is cheaper than passes.
const FEW: u32 = 4096;

/// Sorted keys, and for each its number among the unsorted ones (uint32).
pub struct Sorted {
    /// The keys in order.
    pub keys: Tensor,
    /// Where each came from.
    pub order: Tensor,
}

/// Sorts uint32 or uint64 `keys` by their low `bits` bits; higher ones must be 0.
pub fn sort(ctx: &mut Compute<'_>, keys: &Tensor, bits: u32) -> Result<Sorted> {
    let n = u32::try_from(keys.num_elements())
        .ok()
        .filter(|&n| n < 1 << 31)
        .ok_or_else(|| Error::unimplemented(format!("a sort of {} keys", keys.num_elements())))?;
    let key = match keys.dtype.size() {
        4 => "4",
        8 => "8",
        _ => return Err(Error::internal(format!("sort keys of {}", keys.dtype))),
    };
    let shape = [i64::from(n)];
    let mut result = Sorted { keys: ctx.temp(keys.dtype, shape)?, order: ctx.temp(DType::U32, shape)? };
    if n == 0 {
        return Ok(result);
    }
    if n <= FEW {
        let threads = threads(ctx);
        let mut args = Args::new();
        args.read(keys)?.write(&result.keys)?.write(&result.order)?.u32(n);
        let kernel = shader::RANK_SORT.get(&[key.into()])?;
        ctx.stream().launch_linear(kernel, &[threads, 1, 1], &args, n.div_ceil(threads).into())?;
        return Ok(result);
    }
    let mut other = Sorted { keys: ctx.temp(keys.dtype, shape)?, order: ctx.temp(DType::U32, shape)? };
    let threads = threads(ctx).min(128);
    let blocks = n.div_ceil(threads * ITEMS);
    let counts = ctx.temp(DType::U32, [i64::from(blocks) << BITS])?;
    let (count, place) = (shader::RADIX.get(&[key.into(), "count".into()])?, shader::RADIX.get(&[key.into(), "move".into()])?);
    for pass in 0..bits.max(1).div_ceil(BITS) {
        let mut args = Args::new();
        args.read(if pass == 0 { keys } else { &other.keys })?;
        match pass {
            0 => _ = args.null(),
            _ => _ = args.read(&other.order)?,
        }
        args.write(&result.keys)?.write(&result.order)?.read_write(&counts)?.u32(n).u32(blocks).u32(pass * BITS);
        ctx.stream().launch_linear(count, &[threads, 1, 1], &args, blocks.into())?;
        exclusive_scan(ctx, &counts, &counts, None)?;
        ctx.stream().launch_linear(place, &[threads, 1, 1], &args, blocks.into())?;
        std::mem::swap(&mut result, &mut other);
    }
    Ok(other)
}
