//! The remainder of a division of floats, exact for all operands, by long division of the significands.

use tfvk_device::DType;

use super::bits::Split;
use crate::expr::Value;
use crate::expr::divide::integer_remainder;

/// `x - y * trunc(x / y)`, exactly. NaN for infinite `x` or zero `y`; `x` for infinite `y`.
pub fn fmod<'a>(x: Value<'a>, y: Value<'a>) -> Value<'a> {
    let (a, b) = (Split::of(x), Split::of(y));
    // As many bits of the quotient at a time as fit beside a remainder in a word.
    let step = if x.dtype() == DType::F64 { 10 } else { 7 };
    let zero_divisor = b.significand.is(0.0);
    let divisor = zero_divisor.select(b.significand.lit(1.0), b.significand);
    let start = integer_remainder(a.significand, divisor);
    let start = a.exponent.lt(b.exponent).select(a.significand, start);
    let left = a.exponent - b.exponent;
    let [r, _] = left.repeat(400, [start, left], |[r, left]| {
        let by = left.minimum(left.lit(f64::from(step))).maximum(left.lit(0.0));
        let shifted = r << by.convert(r.dtype());
        (left.gt(left.lit(0.0)), [integer_remainder(shifted, divisor), left - by])
    });
    let r = a.exponent.lt(b.exponent).select(x.abs(), super::bits::scaled(r.convert(x.dtype()), b.exponent));
    let signed = super::bits::with_sign_of(r, x);
    let finite = x.is_finite() & !zero_divisor;
    let r = finite.select(signed, x.lit(f64::NAN));
    (y.is_inf() & x.is_finite()).select(x, (x.is_nan() | y.is_nan()).select(x + y, r))
}
