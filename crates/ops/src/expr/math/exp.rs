//! exp and expm1: x = n ln 2 + r, |r| <= ln 2 / 2, e^x = 2^n e^r, e^r by its Taylor series.

use tfvk_device::DType;

use super::bits::power_of_two;
use super::eft::polynomial;
use crate::expr::Value;

/// The upper bits of ln 2, with zeros below so that a product with an exponent is exact, and the rest.
pub const LN2_SINGLE: (f64, f64) = (0.693_145_751_953_125, 1.428_606_820_309_417_2e-6);
/// The same for f64.
pub const LN2_DOUBLE: (f64, f64) = (0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10);
const LOG2_E: f64 = std::f64::consts::LOG2_E;

/// ln 2 in two parts for x's type.
pub fn ln2(x: Value<'_>) -> (f64, f64) {
    if x.is_double() { LN2_DOUBLE } else { LN2_SINGLE }
}

/// (e^r - 1 - r) / r^2 for |r| <= 0.36.
fn tail(r: Value<'_>) -> Value<'_> {
    let terms = if r.is_double() { 14 } else { 7 };
    let mut factorial = 1.0;
    let mut c = Vec::new();
    for k in 2..=terms {
        factorial *= f64::from(k);
        c.push(1.0 / factorial);
    }
    polynomial(r, &c)
}

/// `(n, e^r - 1)` with x = n ln 2 + r, of an x that is clamped to where 2^n makes sense; NaN as the upper limit.
fn reduced(x: Value<'_>) -> (Value<'_>, Value<'_>) {
    let limit = if x.is_double() { 760.0 } else { 110.0 };
    let x = x.lt(x.lit(limit)).select(x, x.lit(limit)).maximum(x.lit(-limit));
    let n = (x * LOG2_E).round_even();
    let (hi, lo) = ln2(x);
    let (a, b) = (x - n * hi, n * lo);
    let r = a - b;
    // What the rounding of r lost; of second order for everything but the linear term.
    let lost = (a - r) - b;
    let p = r + (lost + r * r * tail(r));
    (n.convert(DType::I32), p)
}

/// x * 2^n, |n| at most twice the range of normal exponents less a few, x near 1; rounded once.
fn times_power<'a>(x: Value<'a>, n: Value<'a>) -> Value<'a> {
    let half = n >> 1;
    x * power_of_two(x.dtype(), half) * power_of_two(x.dtype(), n - half)
}

/// e^x.
pub fn exp(x: Value<'_>) -> Value<'_> {
    let (n, p) = reduced(x);
    let r = times_power(p + 1.0, n);
    x.is_nan().select(x, r)
}

/// e^x / 2, without overflow where that has none.
pub fn half_exp(x: Value<'_>) -> Value<'_> {
    let (n, p) = reduced(x);
    let r = times_power(p + 1.0, n - 1.0);
    x.is_nan().select(x, r)
}

/// e^(a + b) for a small b.
pub fn exp_sum<'a>(a: Value<'a>, b: Value<'a>) -> Value<'a> {
    let (n, p) = reduced(a);
    let r = times_power(1.0 + (p + b * (p + 1.0)), n);
    a.is_nan().select(a, r)
}

/// e^x - 1.
pub fn expm1(x: Value<'_>) -> Value<'_> {
    let (n, p) = reduced(x);
    let most = x.lit(if x.is_double() { 56.0 } else { 26.0 });
    let large = x.gt(most);
    let full = times_power(p + 1.0, n);
    let least = if x.is_double() { -60.0 } else { -30.0 };
    let s = power_of_two(x.dtype(), n.minimum(n.lit(100.0)).maximum(n.lit(least)));
    let r = p * s + (s - 1.0);
    let r = x.lt(x.lit(least * 0.7)).select(x.lit(-1.0), r);
    let r = large.select(full, r);
    // Also keeps -0 and what is too small to have a square.
    let tiny = x.abs().lt(x.lit(if x.is_double() { 1e-17 } else { 1e-9 }));
    (tiny | x.is_nan()).select(x, r)
}
