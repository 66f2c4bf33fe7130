//! Division by a number that only the host knows, as a multiplication on the device (`divide.glsl`).

use tfvk_device::{Args, Error, Result};

/// The largest divisor, exclusive.
const MAX: u64 = 1 << 26;

/// The pair that `divide()` takes for numbers below 2^31. A divisor of 0 stands for an empty range and divides as 1.
pub fn reciprocal(divisor: u64) -> Result<[u32; 2]> {
    if divisor >= MAX {
        return Err(Error::unimplemented(format!("a dimension of {divisor}; expected less than {MAX}")));
    }
    let d = divisor.max(1);
    let shift = u64::from(d.next_power_of_two().trailing_zeros());
    let multiplier = ((1 << 32) * ((1 << shift) - d)) / d + 1;
    Ok([(d | shift << 26) as u32, multiplier as u32])
}

/// Appends the pair to a launch's arguments.
pub fn divisor(args: &mut Args, d: u64) -> Result<()> {
    let [x, y] = reciprocal(d)?;
    args.u32(x).u32(y);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divide(n: u32, [x, y]: [u32; 2]) -> u32 {
        let high = ((u64::from(n) * u64::from(y)) >> 32) as u32;
        (high + n) >> (x >> 26)
    }

    #[test]
    fn exact_for_every_dividend() {
        for d in (1..300).chain([1023, 1024, 1025, 65_535, 65_537, 12_345_677, (1 << 26) - 1]) {
            let r = reciprocal(d).unwrap();
            assert_eq!(u64::from(r[0] & 0x3ff_ffff), d);
            let d = d as u32;
            for n in (0..2000)
                .chain((0..40).flat_map(|i| [i * d, (i * d).saturating_sub(1)]))
                .chain([i32::MAX as u32, i32::MAX as u32 / d * d])
            {
                let n = n.min(i32::MAX as u32);
                assert_eq!(divide(n, r), n / d, "{n} / {d}");
            }
        }
        assert!(reciprocal(1 << 26).is_err());
    }
}
