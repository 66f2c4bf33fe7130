//! Functions of one number.

use super::sets::*;
use crate::KernelDef;
use crate::expr::{Attr, Attrs, Value, unary, unary_attr};
use tfvk_device::DType;

/// Functions of one number.
pub const UNARY: &[KernelDef] = &[
    unary("Sqrt", FLOAT_COMPLEX, |x| x.sqrt()),
    unary("Rsqrt", FLOAT_COMPLEX, |x| x.wide().rsqrt().narrowed(x.dtype())),
    unary("Exp", FLOAT_COMPLEX, |x| x.exp()),
    unary("Expm1", FLOAT_COMPLEX, |x| x.expm1()),
    unary("Log", FLOAT_COMPLEX, |x| x.log()),
    unary("Log1p", FLOAT_COMPLEX, |x| x.log1p()),
    unary("Sin", FLOAT_COMPLEX, |x| x.sin()),
    unary("Cos", FLOAT_COMPLEX, |x| x.cos()),
    unary("Tan", FLOAT_COMPLEX, |x| x.tan()),
    unary("Asin", FLOAT_COMPLEX, |x| x.asin()),
    unary("Acos", FLOAT_COMPLEX, |x| x.acos()),
    unary("Atan", FLOAT_COMPLEX, |x| x.atan()),
    unary("Sinh", FLOAT_COMPLEX, |x| x.sinh()),
    unary("Cosh", FLOAT_COMPLEX, |x| x.cosh()),
    unary("Tanh", FLOAT_COMPLEX, |x| x.tanh()),
    unary("Asinh", FLOAT_COMPLEX, |x| x.asinh()),
    unary("Acosh", FLOAT_COMPLEX, |x| x.acosh()),
    unary("Atanh", FLOAT_COMPLEX, |x| x.atanh()),
    unary("Sigmoid", FLOAT_COMPLEX, |x| x.sigmoid()),
    unary("Erf", FLOAT, |x| x.erf()),
    unary("Erfc", FLOAT, |x| x.erfc()),
    unary("Erfinv", FLOAT_32_64, |x| x.erfinv()),
    unary("Ndtri", FLOAT_32_64, |x| x.ndtri()),
    unary("Lgamma", FLOAT, |x| x.lgamma()),
    unary("Digamma", FLOAT, |x| x.digamma()),
    unary("BesselI0", FLOAT, |x| x.bessel_i0()),
    unary("BesselI0e", FLOAT, |x| x.bessel_i0e()),
    unary("BesselI1", FLOAT, |x| x.bessel_i1()),
    unary("BesselI1e", FLOAT, |x| x.bessel_i1e()),
    unary("BesselJ0", FLOAT, |x| x.bessel_j0()),
    unary("BesselJ1", FLOAT, |x| x.bessel_j1()),
    unary("BesselK0", FLOAT, |x| x.bessel_k0()),
    unary("BesselK0e", FLOAT, |x| x.bessel_k0e()),
    unary("BesselK1", FLOAT, |x| x.bessel_k1()),
    unary("BesselK1e", FLOAT, |x| x.bessel_k1e()),
    unary("BesselY0", FLOAT, |x| x.bessel_y0()),
    unary("BesselY1", FLOAT, |x| x.bessel_y1()),
    unary("Dawsn", FLOAT, |x| x.dawsn()),
    unary("Expint", FLOAT, |x| x.expint()),
    unary("FresnelSin", FLOAT, |x| x.fresnel_sin()),
    unary("FresnelCos", FLOAT, |x| x.fresnel_cos()),
    unary("Spence", FLOAT, |x| x.spence()),
    unary("Floor", FLOAT, |x| x.floor()),
    unary("Ceil", FLOAT, |x| x.ceil()),
    unary("Rint", FLOAT_16_32_64, |x| x.round_even()),
    unary("Round", INDEX_FLOAT, |x| x.round_even()),
    unary_attr("Bucketize", BUCKETS, &[Attr::Floats("boundaries")], bucketize).forwards(&[]),
];

impl<'a> Value<'a> {
    /// 1 / sqrt(x).
    pub fn rsqrt(self) -> Value<'a> {
        self.lit(1.0) / self.sqrt()
    }
}

/// The number of boundaries that are not above x, by bisection of the table.
fn bucketize<'a>(x: Value<'a>, a: &Attrs<'a>) -> Value<'a> {
    let boundaries = a.list(0);
    let bits: Vec<u32> = boundaries.iter().map(|b| b.to_bits()).collect();
    // As TensorFlow compares: float64 with the boundary as float64, integers as float32.
    let x = if x.dtype() == DType::F64 { x } else { x.convert(DType::F32) };
    let word = |v: u32| x.bits_of(DType::U32, u64::from(v));
    let n = boundaries.len() as u32;
    let mut found = word(0);
    let mut step = if n == 0 { 0 } else { n.next_power_of_two() };
    while step > 0 {
        let next = found + word(step);
        let boundary = x.lookup(&bits, next - word(1)).bitcast(DType::F32).convert(x.dtype());
        let take = next.le(word(n)) & !x.lt(boundary);
        found = take.select(next, found);
        step /= 2;
    }
    found.convert(DType::I32)
}
