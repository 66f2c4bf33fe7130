//! Logarithms: x = 2^e m, m in [sqrt(1/2), sqrt(2)), log m by the series in s = (m - 1)/(m + 1).

use tfvk_device::DType;

use super::bits::{format_of, word_of};
use super::eft::{Pair, constant, fast_two_sum, polynomial, two_product};
use super::exp::ln2;
use crate::expr::Value;

/// A positive finite number as `(m, e)`, m in [sqrt(1/2), sqrt(2)), e of m's type.
fn decompose(x: Value<'_>) -> (Value<'_>, Value<'_>) {
    let d = x.dtype();
    let word = word_of(d);
    let (fraction_bits, bias) = format_of(d);
    let tiny = x.lt(x.lit(2f64.powi(1 - bias)));
    let lift = fraction_bits as i32 + 2;
    let bits = tiny.select(x * 2f64.powi(lift), x).bitcast(word);
    // Adding what is missing from sqrt(1/2) to 1 carries into the exponent exactly for fractions from sqrt(2) on.
    let root = if d == DType::F64 { 0x3fe6_a09e_667f_3bcd } else { 0x3f35_04f3 };
    let one = if d == DType::F64 { 0x3ff0_0000_0000_0000 } else { 0x3f80_0000 };
    let shifted = bits + bits.bits_of(word, one - root);
    let mask = (1u64 << fraction_bits) - 1;
    let m = ((shifted & bits.bits_of(word, mask)) + bits.bits_of(word, root)).bitcast(d);
    let e = (shifted >> fraction_bits).convert(DType::I32) - f64::from(bias);
    let e = tiny.select(e - f64::from(lift), e);
    (m, e.convert(d))
}

/// 2 (s^2/3 + s^4/5 + ...) in z = s^2, |s| <= 0.1716, from the term of s^(2 first - 2) on.
fn series(z: Value<'_>, first: u32) -> Value<'_> {
    let terms = if z.is_double() { 11 } else { 5 };
    let c: Vec<f64> = (first..=terms).map(|k| 2.0 / f64::from(2 * k + 1)).collect();
    polynomial(z, &c)
}

/// log(1 + f) + c + e ln 2 for f in [sqrt(1/2) - 1, sqrt(2) - 1] and a small c.
fn log_of<'a>(f: Value<'a>, c: Value<'a>, e: Value<'a>) -> Value<'a> {
    let s = f / (f + 2.0);
    let z = s * s;
    let r = z * series(z, 1);
    let half = f * f * 0.5;
    let (hi, lo) = ln2(f);
    e * hi - ((half - (s * (half + r) + (e * lo + c))) - f)
}

/// What the logarithm is where the formula does not apply.
fn special<'a>(x: Value<'a>, r: Value<'a>) -> Value<'a> {
    let r = x.is(f64::INFINITY).select(x, r);
    let r = x.is(0.0).select(x.lit(f64::NEG_INFINITY), r);
    let r = x.lt(x.lit(0.0)).select(x.lit(f64::NAN), r);
    x.is_nan().select(x, r)
}

/// The natural logarithm.
pub fn log(x: Value<'_>) -> Value<'_> {
    let (m, e) = decompose(x);
    special(x, log_of(m - 1.0, x.lit(0.0), e))
}

/// log(1 + x).
pub fn log1p(x: Value<'_>) -> Value<'_> {
    let u = x + 1.0;
    let (m, e) = decompose(u);
    // Near 0 the sum's rounding is no matter if x itself is the argument.
    let direct = x.gt(x.lit(-0.292)) & x.lt(x.lit(0.414));
    let lost = x.gt(x.lit(1.0)).select(1.0 - (u - x), x - (u - 1.0)) / u;
    let zero = x.lit(0.0);
    let f = direct.select(x, m - 1.0);
    let lost = (direct | u.is(f64::INFINITY)).select(zero, lost);
    let r = special(u, log_of(f, lost, direct.select(zero, e)));
    x.is(0.0).select(x, r)
}

/// The logarithm of a positive finite number, to about 1.3 times its type's precision.
pub fn log_pair(x: Value<'_>) -> Pair<'_> {
    let (m, e) = decompose(x);
    let f = m - 1.0;
    // m + 1 with what its rounding lost.
    let d = fast_two_sum(f.lit(2.0), f);
    let q = f / d.hi;
    let p = two_product(q, d.hi);
    let s = fast_two_sum(q, (((f - p.hi) - p.lo) - q * d.lo) / d.hi);
    let z = s.mul(s);
    let cube = z.mul(s);
    // 2s + 2/3 s^3 in pairs; the rest is small.
    let third = constant(x, 2.0 / 3.0, 3.700_743_415_417_188e-17);
    let rest = cube.hi * z.hi * series(z.hi, 2);
    let two_s = Pair { hi: s.hi * 2.0, lo: s.lo * 2.0 };
    let small = cube.mul(third).plus(rest);
    let log_m = two_s.add(small);
    let (hi, lo) = ln2(x);
    let whole = fast_two_sum(e * hi, e * lo);
    whole.add(log_m)
}
