//! A prefix sum over the whole device. Deterministic (integers), for any subgroup size. Knows no op.

use tfvk_device::{Args, DType, Error, Result, Tensor};

use crate::array::threads;
use crate::{Compute, shader};

/// Elements that an invocation takes; `ITEMS` in `scan.comp`.
const ITEMS: u32 = 8;

/// Exclusive prefix sums of the uint32 elements of `src` into `dst` (which may be `src`), and their total into the one
/// uint32 of `total`. Sums wrap at 2^32.
pub fn exclusive_scan(ctx: &mut Compute<'_>, src: &Tensor, dst: &Tensor, total: Option<&Tensor>) -> Result<()> {
    let n = u32::try_from(src.num_elements())
        .ok()
        .filter(|&n| n < 1 << 31)
        .ok_or_else(|| Error::unimplemented(format!("a prefix sum of {} elements", src.num_elements())))?;
    let threads = threads(ctx);
    let blocks = n.div_ceil(threads * ITEMS).max(1);
    let sums = ctx.temp(DType::U32, [i64::from(blocks)])?;
    let launch = |phase: &'static str, n: u32, groups: u32| -> Result<()> {
        let mut args = Args::new();
        args.read(src)?.read_write(dst)?.read_write(&sums)?;
        match total {
            Some(t) => _ = args.write(t)?,
            None => _ = args.null(),
        }
        args.u32(n);
        ctx.stream().launch_linear(shader::SCAN.get(&[phase.into()])?, &[threads, 1, 1], &args, groups.into())
    };
    launch("sums", n, blocks)?;
    launch("spine", blocks, 1)?;
    launch("blocks", n, blocks)
}
