//! Rounding of float32 to float16 and bfloat16 (to nearest, ties to even; NaN kept), with integer arithmetic: some drivers
//! take a conversion there and back for the identity, and the rounding of one is the implementation's choice.

use tfvk_device::DType;

use super::Value;

fn word(x: Value<'_>, bits: u32) -> Value<'_> {
    x.bits_of(DType::U32, u64::from(bits))
}

/// A float32 that is a float16's value.
pub fn to_f16(x: Value<'_>) -> Value<'_> {
    let bits = x.bitcast(DType::U32);
    let magnitude = bits & word(x, 0x7fff_ffff);
    let even = (magnitude >> 13) & word(x, 1);
    let r = (magnitude + word(x, 0xfff) + even) & word(x, 0xffff_e000);
    // From 65520 on it rounds to 65536, which is infinity.
    let r = r.ge(word(x, 0x4780_0000)).select(word(x, 0x7f80_0000), r);
    // Below 2^-14 float16's steps are 2^-24, whatever the exponent.
    let small = (magnitude.bitcast(DType::F32) * f64::from(1 << 24)).round_even() * 0.5f64.powi(24);
    let r = magnitude.lt(word(x, 0x3880_0000)).select(small.bitcast(DType::U32), r);
    let nan = magnitude | word(x, 0x0040_0000);
    let r = magnitude.gt(word(x, 0x7f80_0000)).select(nan, r);
    (r | (bits & word(x, 0x8000_0000))).bitcast(DType::F32)
}

/// A float32 that is a bfloat16's value.
pub fn to_bf16(x: Value<'_>) -> Value<'_> {
    let bits = x.bitcast(DType::U32);
    let even = (bits >> 16) & word(x, 1);
    let r = (bits + word(x, 0x7fff) + even) & word(x, 0xffff_0000);
    let nan = (bits | word(x, 0x0040_0000)) & word(x, 0xffff_0000);
    (bits & word(x, 0x7fff_ffff)).gt(word(x, 0x7f80_0000)).select(nan, r).bitcast(DType::F32)
}
