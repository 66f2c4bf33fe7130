//! The Bessel functions of order 0 and 1: Chebyshev series near 0, asymptotic forms with Chebyshev series for their factors
//! beyond. J and Y are accurate to an absolute error: near their zeros, away from 0, they have no more digits than that.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_4};

use super::chebyshev::*;
use super::exp::exp;
use super::log::log;
use super::trig::{cos, sin};
use crate::expr::Value;

/// A Chebyshev series at t in [-1, 1], by Clenshaw's recurrence. In f32 without the terms that do not show there.
pub fn series<'a>(t: Value<'a>, c: &[f64]) -> Value<'a> {
    let largest = c.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let shows = |v: &f64| t.is_double() || v.abs() > largest * 1e-9;
    let n = c.iter().rposition(shows).map_or(0, |i| i + 1);
    let (mut b, mut before) = (t.lit(0.0), t.lit(0.0));
    for &v in c[..n].iter().skip(1).rev() {
        (b, before) = (t * 2.0 * b - before + v, b);
    }
    t * b - before + c.first().copied().unwrap_or(0.0)
}

/// exp(-|x|) I0(x).
pub fn i0e(x: Value<'_>) -> Value<'_> {
    let a = x.abs();
    let near = series(a.minimum(a.lit(8.0)) * 0.25 - 1.0, I0_NEAR);
    let b = a.maximum(a.lit(8.0));
    a.le(a.lit(8.0)).select(near, series(16.0 / b - 1.0, I0_FAR) / b.sqrt())
}

/// I0(x).
pub fn i0(x: Value<'_>) -> Value<'_> {
    // In two halves: the product may be in range where exp(x) is not.
    let half = exp(x.abs() * 0.5);
    half * i0e(x) * half
}

/// exp(-|x|) I1(x).
pub fn i1e(x: Value<'_>) -> Value<'_> {
    let a = x.abs();
    let near = series(a.minimum(a.lit(8.0)) * 0.25 - 1.0, I1_NEAR) * x;
    let b = a.maximum(a.lit(8.0));
    let far = series(16.0 / b - 1.0, I1_FAR) / b.sqrt();
    a.le(a.lit(8.0)).select(near, x.lt(x.lit(0.0)).select(-far, far))
}

/// I1(x).
pub fn i1(x: Value<'_>) -> Value<'_> {
    let half = exp(x.abs() * 0.5);
    half * i1e(x) * half
}

/// K of order 0 or 1, times exp(x) where `scaled`.
fn k(x: Value<'_>, order: usize, scaled: bool) -> Value<'_> {
    let a = x.maximum(x.lit(0.0)).minimum(x.lit(2.0));
    let (t, l) = (a * a * 0.5 - 1.0, log(a * 0.5));
    let near = match order {
        0 => series(t, K0_NEAR) - l * series(t, I0_SMALL),
        _ => series(t, K1_NEAR) / a + l * (a * series(t, I1_SMALL)),
    };
    let near = if scaled { near * exp(a) } else { near };
    let b = x.maximum(x.lit(2.0));
    let far = series(4.0 / b - 1.0, if order == 0 { K0_FAR } else { K1_FAR }) / b.sqrt();
    let far = if scaled { far } else { far * exp(-b) };
    let r = x.le(x.lit(2.0)).select(near, far);
    pole(x, r, f64::INFINITY)
}

/// `r` with the value `at_zero` at 0 and NaN below it.
fn pole<'a>(x: Value<'a>, r: Value<'a>, at_zero: f64) -> Value<'a> {
    let r = x.is(0.0).select(x.lit(at_zero), r);
    let r = x.lt(x.lit(0.0)).select(x.lit(f64::NAN), r);
    x.is_nan().select(x, r)
}

/// K0(x).
pub fn k0(x: Value<'_>) -> Value<'_> {
    k(x, 0, false)
}

/// exp(x) K0(x).
pub fn k0e(x: Value<'_>) -> Value<'_> {
    k(x, 0, true)
}

/// K1(x).
pub fn k1(x: Value<'_>) -> Value<'_> {
    k(x, 1, false)
}

/// exp(x) K1(x).
pub fn k1e(x: Value<'_>) -> Value<'_> {
    k(x, 1, true)
}

/// J and Y of an order for a >= 8.
fn waves(a: Value<'_>, order: usize) -> (Value<'_>, Value<'_>) {
    let b = a.maximum(a.lit(8.0));
    let t = 128.0 / b / b - 1.0;
    let (p, q) = if order == 0 { (P0_FAR, Q0_FAR) } else { (P1_FAR, Q1_FAR) };
    let (p, q) = (series(t, p), series(t, q) / b);
    // The sine and cosine of b - pi/4 (order 0) or b - 3 pi/4, times the square root of 2.
    let (s, c) = (sin(b), cos(b));
    let (s, c) = if order == 0 { (s - c, c + s) } else { (-(s + c), s - c) };
    // sqrt(2 / (pi b)) / sqrt(2).
    let scale = 1.0 / (b * (4.0 * FRAC_PI_4)).sqrt();
    (scale * (p * c - q * s), scale * (p * s + q * c))
}

fn near_argument(a: Value<'_>) -> Value<'_> {
    a * a * (1.0 / 32.0) - 1.0
}

/// J0(x).
pub fn j0(x: Value<'_>) -> Value<'_> {
    let a = x.abs();
    let near = series(near_argument(a.minimum(a.lit(8.0))), J0_NEAR);
    let r = a.le(a.lit(8.0)).select(near, waves(a, 0).0);
    x.is_inf().select(x.lit(0.0), r)
}

/// J1(x).
pub fn j1(x: Value<'_>) -> Value<'_> {
    let a = x.abs();
    let b = a.minimum(a.lit(8.0));
    let near = series(near_argument(b), J1_NEAR) * b;
    let r = a.le(a.lit(8.0)).select(near, waves(a, 1).0);
    let r = x.is_inf().select(x.lit(0.0), r);
    x.lt(x.lit(0.0)).select(-r, r)
}

/// Y0(x).
pub fn y0(x: Value<'_>) -> Value<'_> {
    let a = x.maximum(x.lit(0.0)).minimum(x.lit(8.0));
    let t = near_argument(a);
    let near = series(t, Y0_NEAR) + log(a) * FRAC_2_PI * series(t, J0_NEAR);
    let r = x.le(x.lit(8.0)).select(near, waves(x, 0).1);
    pole(x, x.is_inf().select(x.lit(0.0), r), f64::NEG_INFINITY)
}

/// Y1(x).
pub fn y1(x: Value<'_>) -> Value<'_> {
    let a = x.maximum(x.lit(0.0)).minimum(x.lit(8.0));
    let t = near_argument(a);
    let near = series(t, Y1_NEAR) * a + (log(a) * (series(t, J1_NEAR) * a) - 1.0 / a) * FRAC_2_PI;
    let r = x.le(x.lit(8.0)).select(near, waves(x, 1).1);
    pole(x, x.is_inf().select(x.lit(0.0), r), f64::NEG_INFINITY)
}
