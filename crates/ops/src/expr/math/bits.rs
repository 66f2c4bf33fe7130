//! Floats taken apart and put together by their bits.

use tfvk_device::DType;

use crate::expr::Value;

/// |x| = significand * 2^exponent, of a finite x; both integers, zero with the least exponent.
pub struct Split<'a> {
    /// In uint32 or uint64, as wide as the float; below 2^24 or 2^53.
    pub significand: Value<'a>,
    /// In int32.
    pub exponent: Value<'a>,
}

/// The unsigned type as wide as a float.
pub fn word_of(d: DType) -> DType {
    if d == DType::F64 { DType::U64 } else { DType::U32 }
}

/// Bits of the fraction, and the bias of the exponent.
pub fn format_of(d: DType) -> (u32, i32) {
    if d == DType::F64 { (52, 1023) } else { (23, 127) }
}

impl<'a> Split<'a> {
    /// Takes x (f32 or f64) apart; subnormal numbers are normalised.
    pub fn of(x: Value<'a>) -> Self {
        let (fraction_bits, bias) = format_of(x.dtype());
        let word = word_of(x.dtype());
        // Subnormal numbers are made normal first; a power of two changes nothing else.
        let lift = fraction_bits as i32 + 1;
        let tiny = x.abs().lt(x.lit(2f64.powi(1 - bias)));
        let y = tiny.select(x * 2f64.powi(lift), x);
        let bits = y.bitcast(word);
        let fraction = bits & bits.bits_of(word, (1 << fraction_bits) - 1);
        let biased = ((bits >> fraction_bits) & bits.bits_of(word, (1 << (63 - 52)) - 1)).convert(DType::I32);
        let mask = if word == DType::U64 { 0x7ff } else { 0xff };
        let biased = biased & biased.bits_of(DType::I32, mask);
        let zero = x.is(0.0);
        let significand = fraction | bits.bits_of(word, 1 << fraction_bits);
        let least = biased.lit(f64::from(1 - bias - fraction_bits as i32 - lift));
        let exponent = biased - f64::from(bias + fraction_bits as i32);
        let exponent = tiny.select(exponent - f64::from(lift), exponent);
        Self { significand: zero.select(bits.lit(0.0), significand), exponent: zero.select(least, exponent) }
    }
}

/// 2^n for an int32 n in the range of normal numbers.
pub fn power_of_two<'a>(dtype: DType, n: Value<'a>) -> Value<'a> {
    let (fraction_bits, bias) = format_of(dtype);
    let word = word_of(dtype);
    ((n + f64::from(bias)).convert(word) << fraction_bits).bitcast(dtype)
}

/// x * 2^n for an int32 n, rounded once, if |n| is at most twice the range of normal exponents.
pub fn scaled<'a>(x: Value<'a>, n: Value<'a>) -> Value<'a> {
    // The first two factors don't leave the range of normal numbers for results that are in it.
    let third = n >> 1;
    let a = third >> 1;
    let b = third - a;
    let c = n - third;
    let p = |n| power_of_two(x.dtype(), n);
    let lifted = n.ge(n.lit(0.0));
    let up = x * p(a) * p(b) * p(c);
    // Downwards the last product alone may be subnormal, so that it is the only one that rounds.
    let down = x * p(c) * p(a) * p(b);
    lifted.select(up, down)
}

/// |r| with the sign of x, by the bits: some compilers take `x * 0` for 0.
pub fn with_sign_of<'a>(r: Value<'a>, x: Value<'a>) -> Value<'a> {
    let word = word_of(x.dtype());
    let sign = x.bits_of(word, if word == DType::U64 { 1 << 63 } else { 1 << 31 });
    ((r.abs().bitcast(word)) | (x.bitcast(word) & sign)).bitcast(x.dtype())
}
