//! Error-free transformations and pairs `high + low`, for results whose last bits matter. No fused multiply-add: not
//! every device has one, and those that say so may round twice.

use crate::expr::Value;

/// An unevaluated sum, `|lo|` at most half a unit in the last place of `hi`.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    pub hi: Value<'a>,
    pub lo: Value<'a>,
}

/// `a + b` exactly.
pub fn two_sum<'a>(a: Value<'a>, b: Value<'a>) -> Pair<'a> {
    let hi = a + b;
    let t = hi - a;
    Pair { hi, lo: (a - (hi - t)) + (b - t) }
}

/// `a + b` exactly, where `|a| >= |b|` or a is 0.
pub fn fast_two_sum<'a>(a: Value<'a>, b: Value<'a>) -> Pair<'a> {
    let hi = a + b;
    Pair { hi, lo: b - (hi - a) }
}

/// Two halves of a significand, whose products are exact.
pub fn split(a: Value<'_>) -> Pair<'_> {
    let c = a * if a.is_double() { 134_217_729.0 } else { 4097.0 };
    let hi = c - (c - a);
    Pair { hi, lo: a - hi }
}

/// `a * b` exactly, where nothing overflows or underflows.
pub fn two_product<'a>(a: Value<'a>, b: Value<'a>) -> Pair<'a> {
    let hi = a * b;
    let (x, y) = (split(a), split(b));
    let lo = ((x.hi * y.hi - hi) + x.hi * y.lo + x.lo * y.hi) + x.lo * y.lo;
    Pair { hi, lo }
}

impl<'a> Pair<'a> {
    /// The sum with a number.
    pub fn plus(self, b: Value<'a>) -> Pair<'a> {
        let s = two_sum(self.hi, b);
        fast_two_sum(s.hi, s.lo + self.lo)
    }

    /// The sum of two pairs.
    pub fn add(self, b: Pair<'a>) -> Pair<'a> {
        let s = two_sum(self.hi, b.hi);
        fast_two_sum(s.hi, s.lo + (self.lo + b.lo))
    }

    /// The product with a number.
    pub fn times(self, b: Value<'a>) -> Pair<'a> {
        let p = two_product(self.hi, b);
        fast_two_sum(p.hi, p.lo + self.lo * b)
    }

    /// The product of two pairs.
    pub fn mul(self, b: Pair<'a>) -> Pair<'a> {
        let p = two_product(self.hi, b.hi);
        fast_two_sum(p.hi, p.lo + (self.hi * b.lo + self.lo * b.hi))
    }
}

/// A constant as a pair in `x`'s type: `hi + lo` to about twice its precision.
pub fn constant<'a>(x: Value<'a>, hi: f64, lo: f64) -> Pair<'a> {
    if x.is_double() {
        return Pair { hi: x.lit(hi), lo: x.lit(lo) };
    }
    let single = f64::from(hi as f32);
    Pair { hi: x.lit(single), lo: x.lit(hi - single) }
}

/// A polynomial, lowest degree first, by Horner's rule.
pub fn polynomial<'a>(x: Value<'a>, coefficients: &[f64]) -> Value<'a> {
    let Some((&last, rest)) = coefficients.split_last() else { return x.lit(0.0) };
    rest.iter().rev().fold(x.lit(last), |p, &c| p * x + c)
}
