//! Hyperbolic functions and their inverses, and the logistic function.

use super::exp::{exp, expm1, half_exp};
use super::log::{log, log1p};
use crate::expr::Value;

fn signed<'a>(x: Value<'a>, r: Value<'a>) -> Value<'a> {
    let r = x.lt(x.lit(0.0)).select(-r, r);
    (x.is(0.0) | x.is_nan()).select(x, r)
}

/// The hyperbolic sine.
pub fn sinh(x: Value<'_>) -> Value<'_> {
    let a = x.abs();
    let t = expm1(a);
    let r = (t + t / (t + 1.0)) * 0.5;
    signed(x, a.gt(a.lit(22.0)).select(half_exp(a), r))
}

/// The hyperbolic cosine.
pub fn cosh(x: Value<'_>) -> Value<'_> {
    let a = x.abs();
    let h = half_exp(a);
    a.gt(a.lit(22.0)).select(h, h + 0.25 / h)
}

/// The hyperbolic tangent.
pub fn tanh(x: Value<'_>) -> Value<'_> {
    let a = x.abs();
    let large = a.ge(a.lit(1.0));
    let t = expm1(large.select(a, -a) * 2.0);
    let q = large.select(a.lit(2.0), -t) / (t + 2.0);
    let r = large.select(1.0 - q, q);
    signed(x, a.gt(a.lit(22.0)).select(a.lit(1.0), r))
}

/// The inverse hyperbolic sine.
pub fn asinh(x: Value<'_>) -> Value<'_> {
    let a = x.abs();
    let large = a.gt(a.lit(if x.is_double() { 1e8 } else { 1e4 }));
    let b = large.select(a.lit(1.0), a);
    let z = b * b;
    let r = log1p(b + z / ((z + 1.0).sqrt() + 1.0));
    signed(x, large.select(log(a) + std::f64::consts::LN_2, r))
}

/// The inverse hyperbolic cosine.
pub fn acosh(x: Value<'_>) -> Value<'_> {
    let large = x.gt(x.lit(if x.is_double() { 1e8 } else { 1e4 }));
    let t = large.select(x.lit(1.0), x) - 1.0;
    let r = log1p(t + (t * 2.0 + t * t).sqrt());
    let r = large.select(log(x) + std::f64::consts::LN_2, r);
    x.lt(x.lit(1.0)).select(x.lit(f64::NAN), r)
}

/// The inverse hyperbolic tangent.
pub fn atanh(x: Value<'_>) -> Value<'_> {
    let a = x.abs();
    signed(x, log1p(a * 2.0 / (1.0 - a)) * 0.5)
}

/// 1 / (1 + e^-x).
pub fn sigmoid(x: Value<'_>) -> Value<'_> {
    let e = exp(-x.abs());
    let d = e + 1.0;
    let r = x.lt(x.lit(0.0)).select(e, x.lit(1.0)) / d;
    x.is_nan().select(x, r)
}
