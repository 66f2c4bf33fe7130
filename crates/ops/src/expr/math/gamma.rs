//! The logarithm of the gamma function and its derivative.

use std::f64::consts::PI;

use super::coefficients::{DIGAMMA_32, DIGAMMA_64, LGAMMA_32, LGAMMA_64};
use super::eft::{constant, polynomial, two_sum};
use super::log::log;
use super::trig::{sin, tan};
use crate::expr::Value;

/// Terms B_2k / (2k (2k - 1)) of Stirling's series.
const STIRLING: [f64; 8] =
    [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0, 1.0 / 156.0, -3617.0 / 122_400.0];

/// Terms B_2k / 2k of digamma's series.
const ASYMPTOTIC: [f64; 8] =
    [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32_760.0, 1.0 / 12.0, -3617.0 / 8160.0];

/// lgamma of x >= 1/2 or so (and of anything positive, less accurately near 0).
fn lgamma_positive(x: Value<'_>) -> Value<'_> {
    let large = x.ge(x.lit(8.0));
    // Down into [0.75, 2.5): lgamma(x) = lgamma(y) + log((x - 1) ... y).
    let below = x.lt(x.lit(0.75));
    let mut y = below.select(x + 1.0, x);
    let mut product = below.select(x, x.lit(1.0));
    let mut up = x.lit(1.0);
    for _ in 0..6 {
        let more = y.gt(y.lit(2.5));
        y = more.select(y - 1.0, y);
        up = more.select(up * y, up);
    }
    product = below.select(product, up);
    let p = (y - 1.0) * (y - 2.0) * polynomial(y - 1.625, if x.is_double() { LGAMMA_64 } else { LGAMMA_32 });
    let l = log(product);
    let near = below.select(p - l, up.is(1.0).select(p, p + l));
    let r = 1.0 / x;
    let terms = if x.is_double() { 8 } else { 3 };
    let series = r * polynomial(r * r, &STIRLING[..terms]);
    let far = (x - 0.5) * (log(x) - 1.0) + (series + 0.418_938_533_204_672_7);
    // A huge x times its logarithm may overflow where x - 0.5 is exact anyway.
    large.select(far, near)
}

/// log |gamma(x)|.
pub fn lgamma(x: Value<'_>) -> Value<'_> {
    let negative = x.lt(x.lit(0.0));
    let a = x.abs();
    let p = lgamma_positive(negative.select(a + 1.0, a).maximum(x.lit(1e-300)));
    // gamma(-a) = -pi / (sin(pi a) gamma(1 + a)), the sine of a's distance from an integer.
    let d = a - a.round_even();
    let s = sin(d * PI).abs();
    let reflected = x.lit(PI.ln()) - log(s) - p;
    let r = negative.select(d.is(0.0).select(x.lit(f64::INFINITY), reflected), p);
    let r = (x.is(0.0) | x.is_inf()).select(x.lit(f64::INFINITY), r);
    x.is_nan().select(x, r)
}

/// The derivative of lgamma.
pub fn digamma(x: Value<'_>) -> Value<'_> {
    let negative = x.le(x.lit(0.0));
    let y = negative.select(1.0 - x, x);
    let most = if x.is_double() { 10 } else { 6 };
    let zero = x.lit(0.0);
    let [y, sum, lost] = y.repeat(most + 1, [y, zero, zero], |[y, s, lost]| {
        let t = two_sum(s, -1.0 / y);
        (y.lt(y.lit(f64::from(most))), [y + 1.0, t.hi, lost + t.lo])
    });
    let r = 1.0 / y;
    let terms = if x.is_double() { 8 } else { 4 };
    let z = r * r;
    let tail = r * 0.5 + z * polynomial(z, &ASYMPTOTIC[..terms]);
    let t = two_sum(log(y), sum);
    let p = t.hi + (t.lo + (lost - tail));
    // Around its zero, where the terms above cancel.
    let root = constant(x, 1.4616321449683622, 9.549995429965697e-17);
    let c = if x.is_double() { DIGAMMA_64 } else { DIGAMMA_32 };
    let near = ((x - root.hi) - root.lo) * polynomial(x - 1.5, c);
    let p = (x.ge(x.lit(1.0)) & x.le(x.lit(2.0))).select(near, p);
    // psi(x) = psi(1 - x) - pi / tan(pi x), the tangent of x's distance from an integer.
    let d = x - x.round_even();
    let reflected = p - PI / tan(d * PI);
    let r = negative.select(d.is(0.0).select(x.lit(f64::NAN), reflected), p);
    let r = x.is(f64::INFINITY).select(x, r);
    x.is_nan().select(x, r)
}
