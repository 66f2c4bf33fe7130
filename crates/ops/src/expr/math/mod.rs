//! Elementary and special functions, written in the expression language itself: those that shaders have are too inaccurate,
//! and absent for f64.
//!
//! Each is written for f32 and f64; float16 and bfloat16 are computed in f32 and rounded once. No f32 function needs f64.

mod bessel;
mod bits;
mod chebyshev;
mod chebyshev_integrals;
mod coefficients;
mod eft;
mod erf;
mod exp;
mod fmod;
mod gamma;
mod hyperbolic;
mod incomplete;
mod integrals;
mod inverse;
mod log;
mod pow;
mod trig;

use tfvk_device::DType;

pub use eft::two_product;
pub use fmod::fmod;

use super::graph::Unary;
use super::{Value, complex};

impl<'a> Value<'a> {
    /// `f` in f32 or f64; float16 and bfloat16 widened for it and rounded after it.
    fn real(self, name: &str, f: fn(Value<'a>) -> Value<'a>) -> Value<'a> {
        match self.dtype() {
            d @ (DType::F16 | DType::BF16) => f(self.wide()).narrowed(d),
            DType::F32 | DType::F64 => f(self),
            _ => self.unsupported(name),
        }
    }

    fn real2(self, y: Value<'a>, name: &str, f: fn(Value<'a>, Value<'a>) -> Value<'a>) -> Value<'a> {
        match self.dtype() {
            d @ (DType::F16 | DType::BF16) => f(self.wide(), y.wide()).narrowed(d),
            DType::F32 | DType::F64 => f(self, y),
            _ => self.unsupported(name),
        }
    }

    /// x^y.
    pub fn pow(self, y: Value<'a>) -> Value<'a> {
        if self.is_complex() {
            return complex::pow(self, y);
        }
        if self.dtype().is_integer() {
            return pow::pow_integer(self, y);
        }
        self.real2(y, "pow", pow::pow)
    }

    /// The angle of the point (x, self).
    pub fn atan2(self, x: Value<'a>) -> Value<'a> {
        self.real2(x, "atan2", inverse::atan2)
    }

    /// The regularised lower incomplete gamma function of `self` at `x`.
    pub fn igamma(self, x: Value<'a>) -> Value<'a> {
        self.real2(x, "igamma", incomplete::igamma)
    }

    /// The regularised upper incomplete gamma function of `self` at `x`.
    pub fn igammac(self, x: Value<'a>) -> Value<'a> {
        self.real2(x, "igammac", incomplete::igammac)
    }

    /// The derivative of `igamma` by `self`.
    pub fn igamma_grad_a(self, x: Value<'a>) -> Value<'a> {
        self.real2(x, "igamma_grad_a", incomplete::igamma_grad_a)
    }

    /// The derivative by `self` of a sample `x` of the gamma distribution.
    pub fn random_gamma_grad(self, x: Value<'a>) -> Value<'a> {
        self.real2(x, "random_gamma_grad", incomplete::random_gamma_grad)
    }

    /// Hurwitz' zeta function.
    pub fn zeta(self, q: Value<'a>) -> Value<'a> {
        self.real2(q, "zeta", incomplete::zeta)
    }

    /// The derivative of digamma of order `self` at `x`.
    pub fn polygamma(self, x: Value<'a>) -> Value<'a> {
        self.real2(x, "polygamma", incomplete::polygamma)
    }

    /// The regularised incomplete beta function of `self` and `b` at `x`; f32 or f64.
    pub fn betainc(self, b: Value<'a>, x: Value<'a>) -> Value<'a> {
        incomplete::betainc(self, b, x)
    }

    /// The next number after this one on the way to `y`; f32 or f64.
    pub fn next_after(self, y: Value<'a>) -> Value<'a> {
        let word = bits::word_of(self.dtype());
        let b = self.bitcast(word);
        let one = b.bits_of(word, 1);
        // Away from zero the bits count up. From zero it goes to the least number with y's sign.
        let away = self.lt(y) ^ self.sign_bit();
        let step = away.select(b + one, b - one);
        let sign = y.bitcast(word) & b.bits_of(word, if word == DType::U64 { 1 << 63 } else { 1 << 31 });
        let r = self.is(0.0).select(sign | one, step).bitcast(self.dtype());
        let r = self.equal(y).select(y, r);
        (self.is_nan() | y.is_nan()).select(self + y, r)
    }

    /// Whether the sign bit of a float is set.
    pub fn sign_bit(self) -> Value<'a> {
        let x = self.wide();
        if x.dtype() == DType::F64 {
            let bits = x.bitcast(DType::I64);
            return bits.lt(bits.lit(0.0));
        }
        let bits = x.bitcast(DType::I32);
        bits.lt(bits.lit(0.0))
    }
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident => $real:path $(, $complex:path)?;)*) => {
        impl<'a> Value<'a> {$(
            $(#[$doc])*
            pub fn $name(self) -> Value<'a> {
                $(if self.is_complex() {
                    return $complex(self);
                })?
                self.real(stringify!($name), $real)
            }
        )*}
    };
}
functions! {
    /// The square root, correctly rounded.
    sqrt => super::divide::square_root, complex::sqrt;
    /// e^x.
    exp => exp::exp, complex::exp;
    /// e^x - 1.
    expm1 => exp::expm1, complex::expm1;
    /// The natural logarithm.
    log => log::log, complex::log;
    /// log(1 + x).
    log1p => log::log1p, complex::log1p;
    /// The sine.
    sin => trig::sin, complex::sin;
    /// The cosine.
    cos => trig::cos, complex::cos;
    /// The tangent.
    tan => trig::tan, complex::tan;
    /// The arc sine.
    asin => inverse::asin, complex::asin;
    /// The arc cosine.
    acos => inverse::acos, complex::acos;
    /// The arc tangent.
    atan => inverse::atan, complex::atan;
    /// The hyperbolic sine.
    sinh => hyperbolic::sinh, complex::sinh;
    /// The hyperbolic cosine.
    cosh => hyperbolic::cosh, complex::cosh;
    /// The hyperbolic tangent.
    tanh => hyperbolic::tanh, complex::tanh;
    /// The inverse hyperbolic sine.
    asinh => hyperbolic::asinh, complex::asinh;
    /// The inverse hyperbolic cosine.
    acosh => hyperbolic::acosh, complex::acosh;
    /// The inverse hyperbolic tangent.
    atanh => hyperbolic::atanh, complex::atanh;
    /// 1 / (1 + e^-x).
    sigmoid => hyperbolic::sigmoid, complex::sigmoid;
    /// The error function.
    erf => erf::erf;
    /// 1 - erf(x).
    erfc => erf::erfc;
    /// The inverse of erf.
    erfinv => erf::erfinv;
    /// The quantile of the standard normal distribution.
    ndtri => erf::ndtri;
    /// log |gamma(x)|.
    lgamma => gamma::lgamma;
    /// The derivative of lgamma.
    digamma => gamma::digamma;
    /// The Bessel function I0.
    bessel_i0 => bessel::i0;
    /// exp(-|x|) I0(x).
    bessel_i0e => bessel::i0e;
    /// The Bessel function I1.
    bessel_i1 => bessel::i1;
    /// exp(-|x|) I1(x).
    bessel_i1e => bessel::i1e;
    /// The Bessel function J0.
    bessel_j0 => bessel::j0;
    /// The Bessel function J1.
    bessel_j1 => bessel::j1;
    /// The Bessel function K0.
    bessel_k0 => bessel::k0;
    /// exp(x) K0(x).
    bessel_k0e => bessel::k0e;
    /// The Bessel function K1.
    bessel_k1 => bessel::k1;
    /// exp(x) K1(x).
    bessel_k1e => bessel::k1e;
    /// The Bessel function Y0.
    bessel_y0 => bessel::y0;
    /// The Bessel function Y1.
    bessel_y1 => bessel::y1;
    /// Dawson's integral.
    dawsn => integrals::dawsn;
    /// The exponential integral Ei; NaN below 0.
    expint => integrals::expint;
    /// Fresnel's integral of the sine.
    fresnel_sin => integrals::fresnel_sin;
    /// Fresnel's integral of the cosine.
    fresnel_cos => integrals::fresnel_cos;
    /// The dilogarithm of 1 - x.
    spence => integrals::spence;
}

/// Needed by [`super::divide`].
pub(super) fn raw_sqrt(x: Value<'_>) -> Value<'_> {
    x.unary(Unary::Sqrt)
}
