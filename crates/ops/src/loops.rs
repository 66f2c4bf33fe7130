//! How long a shader may loop: a software driver ends it early.
//!
//! Mesa's llvmpipe gives all loops of a few neighbouring invocations 65,535 iterations together and then goes on as if each
//! had come to its end, so results are silently wrong. A kernel whose loops grow with its input is cut into several launches
//! ([`ranges`]), or refused ([`check`]). On a GPU nothing changes.

use tfvk_device::{Adapter, AdapterKind, Error, Result};

use crate::Compute;

/// Iterations that all loops of an invocation may make together.
pub fn limit(adapter: &Adapter) -> u64 {
    if adapter.kind == AdapterKind::Software { 60_000 } else { u64::MAX }
}

/// Errors: `iterations` are too many for this adapter; `what` says of what.
pub fn check(ctx: &Compute<'_>, iterations: u64, what: &str) -> Result<()> {
    let most = limit(ctx.device().adapter());
    if iterations <= most {
        return Ok(());
    }
    Err(Error::unimplemented(format!("{what}: {iterations} steps of one invocation; a software driver ends it after {most}")))
}

/// Cuts the steps `0..n` into ranges `(first, end)` of at most `limit` iterations; step `i` has `cost(i)`. At least one range.
///
/// Errors: a step alone is too long.
pub fn ranges(limit: u64, n: u32, cost: impl Fn(u32) -> u64) -> Result<Vec<(u32, u32)>> {
    if limit == u64::MAX {
        return Ok(vec![(0, n)]);
    }
    let (mut out, mut first, mut sum) = (Vec::new(), 0, 0);
    for i in 0..n {
        let own = cost(i);
        if own > limit {
            return Err(Error::unimplemented(format!("a step of {own} iterations; a software driver ends it after {limit}")));
        }
        if sum + own > limit {
            out.push((first, i));
            (first, sum) = (i, 0);
        }
        sum += own;
    }
    out.push((first, n));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_all_steps_within_the_limit() {
        assert_eq!(ranges(u64::MAX, 7, |_| 100).unwrap(), [(0, 7)]);
        assert_eq!(ranges(10, 0, |_| 1).unwrap(), [(0, 0)]);
        assert_eq!(ranges(10, 5, |i| u64::from(i) + 3).unwrap(), [(0, 2), (2, 3), (3, 4), (4, 5)]);
        assert!(ranges(10, 5, |i| u64::from(i) + 7).is_err());
    }
}
