//! The error function, its complement and inverse, and the quantiles of the normal distribution.

use std::f64::consts::SQRT_2;

use super::coefficients::*;
use super::eft::{polynomial, two_product};
use super::exp::exp_sum;
use super::log::{log, log1p};
use crate::expr::Value;

fn by_type<'a>(x: Value<'a>, single: &[f64], double: &[f64]) -> Value<'a> {
    polynomial(x, if x.is_double() { double } else { single })
}

/// erf(a) for |a| <= 1.
fn erf_small(x: Value<'_>) -> Value<'_> {
    x + x * by_type(x * x, ERF_32, ERF_64)
}

/// erfc(a) for a >= 1/2.
fn erfc_large(a: Value<'_>) -> Value<'_> {
    // Beyond this it is 0; a product of infinities would be NaN.
    let a = a.minimum(a.lit(if a.is_double() { 28.0 } else { 11.0 }));
    let t = (a - 4.0) / (a + 4.0);
    let s = two_product(a, a);
    exp_sum(-s.hi, -s.lo) * (by_type(t, ERFCX_32, ERFCX_64) / (a * 2.0 + 1.0))
}

/// The error function.
pub fn erf(x: Value<'_>) -> Value<'_> {
    let a = x.abs();
    let small = a.lt(a.lit(1.0));
    let big = 1.0 - erfc_large(a);
    let r = small.select(erf_small(x), x.lt(x.lit(0.0)).select(-big, big));
    x.is_nan().select(x, r)
}

/// The complementary error function, 1 - erf(x).
pub fn erfc(x: Value<'_>) -> Value<'_> {
    let a = x.abs();
    let small = a.lt(a.lit(0.5));
    let big = erfc_large(a);
    let r = small.select(1.0 - erf_small(x), x.lt(x.lit(0.0)).select(2.0 - big, big));
    x.is_nan().select(x, r)
}

/// erfinv(x) given x and w = -log(1 - x^2).
fn erfinv_of<'a>(x: Value<'a>, w: Value<'a>) -> Value<'a> {
    let s = w.maximum(w.lit(1.0)).sqrt();
    let a = by_type(w - 2.5, ERFINV_A_32, ERFINV_A_64);
    let b = by_type(s - 3.0, ERFINV_B_32, ERFINV_B_64);
    let c = s * by_type(1.0 / s - 0.14, ERFINV_C_32, ERFINV_C_64);
    let p = w.le(w.lit(5.0)).select(a, w.le(w.lit(16.0)).select(b, c));
    x * p
}

/// The inverse of the error function.
pub fn erfinv(x: Value<'_>) -> Value<'_> {
    let w = -log1p(-(x * x));
    // Near 1, 1 - x^2 has lost bits in x^2.
    let a = x.abs();
    let w = a.gt(a.lit(0.7)).select(-log((1.0 - a) * (a + 1.0)), w);
    let r = erfinv_of(x, w);
    let edge = (x * f64::INFINITY).bitcast(x.dtype());
    let r = a.is(1.0).select(edge, r);
    a.gt(a.lit(1.0)).select(x.lit(f64::NAN), r)
}

/// The quantile of the standard normal distribution.
pub fn ndtri(p: Value<'_>) -> Value<'_> {
    let x = p * 2.0 - 1.0;
    let q = 1.0 - p;
    let w = -log(p * 4.0 * q);
    let w = x.abs().lt(x.lit(0.7)).select(-log1p(-(x * x)), w);
    let r = erfinv_of(x, w) * SQRT_2;
    let r = p.is(0.0).select(p.lit(f64::NEG_INFINITY), r);
    let r = p.is(1.0).select(p.lit(f64::INFINITY), r);
    (p.lt(p.lit(0.0)) | p.gt(p.lit(1.0))).select(p.lit(f64::NAN), r)
}
