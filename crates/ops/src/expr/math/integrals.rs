//! Integrals of elementary functions: Dawson's, the exponential integral, Fresnel's, the dilogarithm. Chebyshev series near 0,
//! and of what is left beyond when the growth or the wave is taken out.

use std::f64::consts::{FRAC_PI_2, PI};

use super::bessel::series;
use super::chebyshev_integrals::*;
use super::eft::two_product;
use super::exp::exp;
use super::log::{log, log1p};
use super::trig::{cos, sin};
use crate::expr::Value;

/// Dawson's integral: exp(-x^2) times the integral of exp(t^2) from 0 to x.
pub fn dawsn(x: Value<'_>) -> Value<'_> {
    let a = x.abs();
    let near = a.minimum(a.lit(4.0));
    let near = series(near * near * 0.125 - 1.0, DAWSON_NEAR) * near;
    let b = a.maximum(a.lit(4.0));
    let far = series(32.0 / b / b - 1.0, DAWSON_FAR) / b;
    let r = a.le(a.lit(4.0)).select(near, far);
    let r = x.lt(x.lit(0.0)).select(-r, r);
    (x.is_nan() | x.is(0.0)).select(x, r)
}

/// Where Ei is zero: a number of few digits, and the rest.
const ROOT: f64 = 0.372_507_423_162_460_3;
const ROOT_REST: f64 = -1.238_109_369_268_644_5e-8;
const LOG_ROOT: f64 = -0.987_498_346_645_341_9;

/// The exponential integral Ei of a positive number. Below 0 it is NaN, as TensorFlow has it.
pub fn expint(x: Value<'_>) -> Value<'_> {
    let a = x.maximum(x.lit(0.0)).minimum(x.lit(6.0));
    // From the root, so that the digits there are right.
    let d = (a - ROOT) - ROOT_REST;
    let close = d.abs().lt(d.lit(0.2));
    let logarithm = close.select(log1p(close.select(d, d.lit(0.0)) / (ROOT + ROOT_REST)), log(a) - LOG_ROOT);
    let near = logarithm + d * series(a * (1.0 / 3.0) - 1.0, EI_NEAR);
    let b = x.maximum(x.lit(6.0)).minimum(x.lit(20.0));
    let middle = series((120.0 / b - 13.0) / 7.0, EI_MIDDLE) / b;
    let c = x.maximum(x.lit(20.0));
    let far = series(40.0 / c - 1.0, EI_FAR) / c;
    // In two halves: the result may be in range where exp(x) is not.
    let half = exp(x * 0.5);
    let large = half * x.le(x.lit(20.0)).select(middle, far) * half;
    let r = x.le(x.lit(6.0)).select(near, large);
    let r = x.is(0.0).select(x.lit(f64::NEG_INFINITY), r);
    let r = x.is_inf().select(x, r);
    let r = x.lt(x.lit(0.0)).select(x.lit(f64::NAN), r);
    x.is_nan().select(x, r)
}

/// Fresnel's integrals from 0 to |x| of sin(pi t^2 / 2) and cos(pi t^2 / 2), far from 0: for |x| >= 2.
fn fresnel_far(a: Value<'_>) -> (Value<'_>, Value<'_>) {
    // Beyond, the waves are too small to show.
    let b = a.maximum(a.lit(2.0)).minimum(a.lits(1e9, 1e17));
    let square = two_product(b, b);
    // The phase in quarters of a turn, below four, exactly.
    let turns = (square.hi * 0.25).floor() * 4.0;
    let u = ((square.hi - turns) + square.lo) * FRAC_PI_2;
    let (s, c) = (sin(u), cos(u));
    let w = 4.0 / square.hi;
    let t = w * w * 2.0 - 1.0;
    let f = series(t, FRESNEL_F_FAR) / (b * PI);
    let g = series(t, FRESNEL_G_FAR) / (square.hi * b * (PI * PI));
    ((b.lit(0.5) - f * c) - g * s, (b.lit(0.5) + f * s) - g * c)
}

/// A quarter of a Fresnel integral's domain carried to the rest of it.
fn fresnel<'a>(x: Value<'a>, near: Value<'a>, far: Value<'a>) -> Value<'a> {
    let a = x.abs();
    let r = a.le(a.lit(2.0)).select(near, far);
    let r = x.is_inf().select(x.lit(0.5), r);
    let r = x.lt(x.lit(0.0)).select(-r, r);
    x.is_nan().select(x, r)
}

/// Argument and series variable near 0.
fn fresnel_near(x: Value<'_>) -> (Value<'_>, Value<'_>) {
    let a = x.abs().minimum(x.lit(2.0));
    let square = a * a;
    (a, square * square * 0.125 - 1.0)
}

/// The integral of sin(pi t^2 / 2) from 0 to x.
pub fn fresnel_sin(x: Value<'_>) -> Value<'_> {
    let (a, t) = fresnel_near(x);
    fresnel(x, series(t, FRESNEL_S_NEAR) * a * a * a, fresnel_far(x.abs()).0)
}

/// The integral of cos(pi t^2 / 2) from 0 to x.
pub fn fresnel_cos(x: Value<'_>) -> Value<'_> {
    let (a, t) = fresnel_near(x);
    fresnel(x, series(t, FRESNEL_C_NEAR) * a, fresnel_far(x.abs()).1)
}

/// The integral of log(t) / (1 - t) from 1 to x: the dilogarithm of 1 - x.
pub fn spence(x: Value<'_>) -> Value<'_> {
    let large = x.gt(x.lit(1.5));
    let y = large.select(1.0 / x.maximum(x.lit(1.0)), x.maximum(x.lit(0.0)));
    let small = y.lt(y.lit(0.5));
    let w = small.select(-y, y - 1.0);
    let d = -w * series(w * 2.0, SPENCE);
    let r = small.select((y.lit(PI * PI / 6.0) - log(y) * log1p(-y)) - d, d);
    let r = y.is(0.0).select(y.lit(PI * PI / 6.0), r);
    let l = log(x);
    let r = large.select(l * l * -0.5 - r, r);
    // As TensorFlow has it, at infinity too.
    let r = (x.lt(x.lit(0.0)) | x.is_inf()).select(x.lit(f64::NAN), r);
    x.is_nan().select(x, r)
}
