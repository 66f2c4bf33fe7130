//! Powers: e^(y log x) with the logarithm to half as many bits again as the result has; integers by squaring.

use tfvk_device::DType;

use super::bits::power_of_two;
use super::eft::{fast_two_sum, polynomial, two_sum};
use super::exp::ln2;
use super::log::log_pair;
use crate::expr::Value;

/// x^y of floats.
pub fn pow<'a>(x: Value<'a>, y: Value<'a>) -> Value<'a> {
    let a = x.abs();
    let (zero, one, inf) = (x.lit(0.0), x.lit(1.0), x.lit(f64::INFINITY));
    let usual = a.gt(zero) & a.lt(inf);
    // Products of larger exponents overflow all the same; infinite ones would make NaN.
    let most = if x.is_double() { 1e20 } else { 1e12 };
    let clamped = y.minimum(x.lit(most)).maximum(x.lit(-most));
    let l = log_pair(usual.select(a, one));
    let r = exp_pair(l.times(clamped));
    // Whole and odd exponents.
    let whole = y.trunc().equal(y);
    let half = y * 0.5;
    let odd = whole & half.trunc().not_equal(half) & y.abs().lt(x.lit(2f64.powi(if x.is_double() { 53 } else { 24 })));
    let negative = x.sign_bit() & odd;
    let up = y.gt(zero);
    let r = a.is(0.0).select(up.select(zero, inf), r);
    let r = a.is_inf().select(up.select(inf, zero), r);
    // |x|^inf.
    let grows = a.gt(one) ^ y.lt(zero);
    let r = y.is_inf().select(a.is(1.0).select(one, grows.select(inf, zero)), r);
    let r = negative.select(-r, r);
    let r = (x.lt(zero) & x.is_finite() & !whole).select(x.lit(f64::NAN), r);
    let r = (x.is_nan() | y.is_nan()).select(x + y, r);
    (y.is(0.0) | x.is(1.0)).select(one, r)
}

/// e^(hi + lo), correct to a small part of a unit in the last place.
fn exp_pair(t: super::eft::Pair<'_>) -> Value<'_> {
    let limit = if t.hi.is_double() { 760.0 } else { 110.0 };
    let hi = t.hi.minimum(t.hi.lit(limit)).maximum(t.hi.lit(-limit));
    let lo = t.hi.abs().lt(hi.lit(limit)).select(t.lo, hi.lit(0.0));
    let n = (hi * std::f64::consts::LOG2_E).round_even();
    let (l1, l2) = ln2(hi);
    let r = two_sum(hi - n * l1, -(n * l2));
    let r = fast_two_sum(r.hi, r.lo + lo);
    let (x, low) = (r.hi, r.lo);
    let terms = if x.is_double() { 14 } else { 8 };
    let mut f = 1.0;
    let mut c = Vec::new();
    for k in 2..=terms {
        f *= f64::from(k);
        c.push(1.0 / f);
    }
    let p = x * x * polynomial(x, &c) + (low + low * x);
    let s = two_sum(x.lit(1.0), x);
    let m = s.hi + (s.lo + p);
    let n = n.convert(DType::I32);
    let half = n >> 1;
    m * power_of_two(x.dtype(), half) * power_of_two(x.dtype(), n - half)
}

/// x^y of integers, modulo 2^n. Negative exponents: 0, or ±1 where |x| is 1 (TensorFlow's CPU refuses them; a device cannot).
pub fn pow_integer<'a>(x: Value<'a>, y: Value<'a>) -> Value<'a> {
    let one = x.lit(1.0);
    let [r, _, _] = x.repeat(64, [one, x, y], |[r, b, e]| {
        let odd = (e & one).is(1.0);
        (e.gt(e.lit(0.0)), [odd.select(r * b, r), b * b, e >> 1])
    });
    if !x.dtype().is_signed_integer() {
        return r;
    }
    let odd = (y & one).is(1.0);
    let inverse = x.is(1.0).select(one, x.is(-1.0).select(odd.select(-one, one), x.lit(0.0)));
    y.lt(y.lit(0.0)).select(inverse, r)
}
