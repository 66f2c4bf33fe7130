//! Inverse trigonometric functions.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use super::coefficients::{ASIN_32, ASIN_64, ATAN_32, ATAN_64};
use super::eft::{constant, polynomial};
use crate::expr::Value;

/// What the nearest double of pi/2 leaves out.
const HALF_PI_REST: f64 = 6.123_233_995_736_766e-17;

fn asin_poly(z: Value<'_>) -> Value<'_> {
    polynomial(z, if z.is_double() { ASIN_64 } else { ASIN_32 })
}

/// `(asin a where a <= 1/2, sqrt((1 - a)/2), its arc sine)` for a = |x|.
fn parts(x: Value<'_>) -> (Value<'_>, Value<'_>) {
    let a = x.abs();
    let small = a.le(a.lit(0.5));
    let z = small.select(a * a, (1.0 - a) * 0.5);
    let t = small.select(a, z.sqrt());
    (small, t + t * z * asin_poly(z))
}

/// The arc sine.
pub fn asin(x: Value<'_>) -> Value<'_> {
    let (small, t) = parts(x);
    let half = constant(x, FRAC_PI_2, HALF_PI_REST);
    let r = small.select(t, half.hi - (t * 2.0 - half.lo));
    let r = x.lt(x.lit(0.0)).select(-r, r);
    x.is(0.0).select(x, r)
}

/// The arc cosine.
pub fn acos(x: Value<'_>) -> Value<'_> {
    let (small, t) = parts(x);
    let negative = x.lt(x.lit(0.0));
    let half = constant(x, FRAC_PI_2, HALF_PI_REST);
    let inner = negative.select(half.hi + (t + half.lo), half.hi - (t - half.lo));
    let whole = constant(x, PI, 2.0 * HALF_PI_REST);
    let outer = negative.select(whole.hi - (t * 2.0 - whole.lo), t * 2.0);
    small.select(inner, outer)
}

/// atan of a >= 0 (NaN stays).
fn atan_positive(a: Value<'_>) -> Value<'_> {
    let large = a.gt(a.lit(2.414_213_562_373_095));
    let middle = a.gt(a.lit(0.414_213_562_373_095));
    let one = a.lit(1.0);
    let n = large.select(-one, middle.select(a - 1.0, a));
    let d = large.select(a, middle.select(a + 1.0, one));
    let t = middle.select(n / d, a);
    let base = large.select(a.lit(FRAC_PI_2), middle.select(a.lit(FRAC_PI_4), a.lit(0.0)));
    let half = constant(a, FRAC_PI_2, HALF_PI_REST);
    let rest = large.select(half.lo, middle.select(half.lo * 0.5, a.lit(0.0)));
    let z = t * t;
    let p = t * z * polynomial(z, if a.is_double() { ATAN_64 } else { ATAN_32 });
    middle.select(base + (t + (p + rest)), t + p)
}

/// The arc tangent.
pub fn atan(x: Value<'_>) -> Value<'_> {
    let r = atan_positive(x.abs());
    let r = x.lt(x.lit(0.0)).select(-r, r);
    (x.is(0.0) | x.is_nan()).select(x, r)
}

/// The angle of the point (x, y).
pub fn atan2<'a>(y: Value<'a>, x: Value<'a>) -> Value<'a> {
    let (ay, ax) = (y.abs(), x.abs());
    let swap = ay.gt(ax);
    let (n, d) = (swap.select(ax, ay), swap.select(ay, ax));
    let both_infinite = n.is_inf() & d.is_inf();
    let q = both_infinite.select(x.lit(1.0), n / d);
    let q = d.is(0.0).select(x.lit(0.0), q);
    let t = atan_positive(q);
    let half = constant(x, FRAC_PI_2, HALF_PI_REST);
    let whole = constant(x, PI, 2.0 * HALF_PI_REST);
    let r = swap.select(half.hi - (t - half.lo), t);
    // -0 counts as negative: its reciprocal does.
    let left = x.lt(x.lit(0.0)) | (x.is(0.0) & x.sign_bit());
    let r = left.select(whole.hi - (r - whole.lo), r);
    let r = (y.lt(y.lit(0.0)) | (y.is(0.0) & y.sign_bit())).select(-r, r);
    (x.is_nan() | y.is_nan()).select(x + y, r)
}
