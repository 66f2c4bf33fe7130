//! Division: correctly rounded for floats, total for integers.

use tfvk_device::DType;

use super::graph::{Binary, Unary};
use super::math::{raw_sqrt, two_product};
use super::{Value, complex};

/// `a / b`. Integers truncate; an integer divided by 0 gives all ones (there is no error to return from a device).
pub fn quotient<'a>(a: Value<'a>, b: Value<'a>) -> Value<'a> {
    match a.dtype() {
        DType::C64 | DType::C128 => complex::arithmetic(a, Binary::Div, b),
        d if d.is_float() => float_quotient(a.wide(), b.wide()).narrowed(d),
        _ => {
            let (safe, zero, minus_one) = guard(a, b);
            let q = a.raw(Binary::Div, safe);
            let q = if a.dtype().is_signed_integer() { minus_one.select(-a, q) } else { q };
            zero.select(all_ones(a), q)
        }
    }
}

/// The hardware's quotient, which may be wrong in its last two bits, corrected by its remainder.
fn float_quotient<'a>(a: Value<'a>, b: Value<'a>) -> Value<'a> {
    let (a, b) = if a.is_double() { (a, b) } else { near_one(a, b) };
    let rough = a.raw(Binary::Div, b);
    // Where the remainder can be computed without overflow or underflow on significands alone.
    let (x, y, scale, safe) = if a.is_double() {
        let inside = |v: Value<'a>| v.abs().gt(v.lit(2f64.powi(-400))) & v.abs().lt(v.lit(2f64.powi(400)));
        (a, b, a.lit(1.0), inside(a) & inside(b))
    } else {
        let (p, q) = (exponent(a), exponent(b));
        let (least, most) = (p.lit(1.0), p.lit(254.0));
        let normal = p.ge(least) & p.lt(p.lit(255.0)) & q.ge(least) & q.lt(p.lit(255.0));
        let e = p - q + p.lit(127.0);
        let fits = normal & e.gt(p.lit(2.0)) & e.lt(most);
        let scale = (fits.select(e, p.lit(127.0)) << 23).bitcast(DType::F32);
        (significand(a), significand(b), scale, fits)
    };
    let q = x.raw(Binary::Div, y);
    let p = two_product(q, y);
    let better = q + ((x - p.hi) - p.lo).raw(Binary::Div, y);
    safe.select(better * scale, rough)
}

/// float32 operands with the same quotient, the divisor away from the ends of its range. Vulkan promises nothing for a
/// divisor beyond 2^126 or below 2^-126: a device that multiplies by a reciprocal takes that for 0 or infinite, and
/// infinity / 2^127 for NaN. Where the dividend leaves its range by this, the quotient does so too.
fn near_one<'a>(a: Value<'a>, b: Value<'a>) -> (Value<'a>, Value<'a>) {
    let q = exponent(b);
    let (large, small) = (q.ge(q.lit(253.0)), q.lt(q.lit(3.0)));
    let scale = large.select(a.lit(0.25), small.select(a.lit(2f64.powi(64)), a.lit(1.0)));
    (a * scale, b * scale)
}

/// The biased exponent of a float32, as an int32.
fn exponent(x: Value<'_>) -> Value<'_> {
    let bits = x.bitcast(DType::I32);
    (bits >> 23) & bits.bits_of(DType::I32, 0xff)
}

/// A float32 with the exponent of 1.
fn significand(x: Value<'_>) -> Value<'_> {
    let bits = x.bitcast(DType::U32);
    let kept = bits & bits.bits_of(DType::U32, 0x807f_ffff);
    (kept | bits.bits_of(DType::U32, 0x3f80_0000)).bitcast(DType::F32)
}

/// The hardware's square root, corrected by its remainder. Of f32 and f64.
pub fn square_root(x: Value<'_>) -> Value<'_> {
    let (low, high, by) = if x.is_double() { (-600, 800, 600) } else { (-70, 100, 60) };
    let (tiny, huge) = (x.lt(x.lit(2f64.powi(low))), x.gt(x.lit(2f64.powi(high))));
    let scale = |by: i32| tiny.select(x.lit(2f64.powi(by)), huge.select(x.lit(2f64.powi(-by)), x.lit(1.0)));
    let y = x * scale(by);
    let s = raw_sqrt(y);
    let p = two_product(s, s);
    let better = (s + ((y - p.hi) - p.lo).raw(Binary::Div, s * 2.0)) * scale(-by / 2);
    (x.gt(x.lit(0.0)) & x.is_finite()).select(better, raw_sqrt(x))
}

/// Integer remainder with the dividend's sign; the dividend itself where the divisor is 0.
pub fn remainder<'a>(a: Value<'a>, b: Value<'a>) -> Value<'a> {
    let (safe, zero, _) = guard(a, b);
    zero.select(a, integer_remainder(a, safe))
}

/// `a - b * trunc(a / b)` of integers with a quotient. Vulkan leaves a remainder instruction undefined where an operand is
/// negative, and drivers make use of that.
pub(super) fn integer_remainder<'a>(a: Value<'a>, b: Value<'a>) -> Value<'a> {
    let whole = a.raw(Binary::Div, b).raw(Binary::Mul, b);
    a.raw(Binary::Sub, whole)
}

/// The divisor with 1 for 0 and -1 (whose quotient may overflow), and where those were.
fn guard<'a>(a: Value<'a>, b: Value<'a>) -> (Value<'a>, Value<'a>, Value<'a>) {
    let zero = b.is(0.0);
    let minus_one = b.equal(all_ones(a));
    let special = if a.dtype().is_signed_integer() { zero | minus_one } else { zero };
    (special.select(a.lit(1.0), b), zero, minus_one)
}

fn all_ones(x: Value<'_>) -> Value<'_> {
    !x.bits_of(x.dtype(), 0)
}

impl<'a> Value<'a> {
    /// The quotient rounded towards minus infinity; of floats, the floor of the rounded quotient.
    pub fn floor_div(self, y: Value<'a>) -> Value<'a> {
        let q = self / y;
        if self.dtype().is_float() {
            return q.floor();
        }
        if !self.dtype().is_signed_integer() {
            return q;
        }
        let r = self - q * y;
        let below = r.not_equal(r.lit(0.0)) & (r.lt(r.lit(0.0)) ^ y.lt(y.lit(0.0)));
        (below & !y.is(0.0)).select(q - q.lit(1.0), q)
    }

    /// The remainder with the divisor's sign.
    pub fn floor_mod(self, y: Value<'a>) -> Value<'a> {
        let r = self.truncate_mod(y);
        if self.dtype().is_integer() && !self.dtype().is_signed_integer() {
            return r;
        }
        let zero = r.lit(0.0);
        let wrong = r.not_equal(zero) & (r.lt(zero) ^ y.lt(zero));
        wrong.select(r + y, r)
    }

    /// The remainder with the dividend's sign; exact.
    pub fn truncate_mod(self, y: Value<'a>) -> Value<'a> {
        match self.dtype() {
            d if d.is_float() => super::math::fmod(self.wide(), y.wide()).narrowed(d),
            _ => remainder(self, y),
        }
    }

    /// -1, 0 or 1; NaN for NaN; of a complex number, `z / |z|`, or 0.
    pub fn sign(self) -> Value<'a> {
        if self.is_complex() {
            let m = self.abs();
            let zero = m.is(0.0);
            let unit = (self.re() / m).complex(self.im() / m);
            return zero.select(self.lit(0.0), unit);
        }
        let (zero, one) = (self.lit(0.0), self.lit(1.0));
        let s = self.lt(zero).select(self.lit(-1.0), zero.lt(self).select(one, zero));
        self.is_nan().select(self, s)
    }

    /// The complex conjugate; real numbers unchanged.
    pub fn conj(self) -> Value<'a> {
        if self.is_complex() { self.re().complex(-self.im()) } else { self }
    }

    /// The number of the highest set bit of a uint32; all ones for 0.
    pub fn find_msb(self) -> Value<'a> {
        self.unary(Unary::FindMsb)
    }

    /// The number of set bits of a value computed in 32 bits, as a uint32.
    pub fn bit_count(self) -> Value<'a> {
        self.unary(Unary::BitCount)
    }
}
