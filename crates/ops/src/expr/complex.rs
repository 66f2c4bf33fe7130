//! Complex arithmetic and functions on pairs of real values.

use super::Value;
use super::graph::Binary;

/// `a op b`.
pub fn arithmetic<'a>(a: Value<'a>, op: Binary, b: Value<'a>) -> Value<'a> {
    let (ar, ai, br, bi) = (a.re(), a.im(), b.re(), b.im());
    match op {
        Binary::Add => (ar + br).complex(ai + bi),
        Binary::Sub => (ar - br).complex(ai - bi),
        Binary::Mul => (ar * br - ai * bi).complex(ar * bi + ai * br),
        Binary::Div => quotient(ar, ai, br, bi),
        _ => a.unsupported("this operation"),
    }
}

/// Smith's method: no overflow where the result has none.
fn quotient<'a>(ar: Value<'a>, ai: Value<'a>, br: Value<'a>, bi: Value<'a>) -> Value<'a> {
    let wide = br.abs().ge(bi.abs());
    let (big, small) = (wide.select(br, bi), wide.select(bi, br));
    let (p, q) = (wide.select(ar, ai), wide.select(ai, ar));
    let r = small / big;
    let d = big + small * r;
    let re = (p + q * r) / d;
    let im = (q - p * r) / d;
    re.complex(wide.select(im, -im))
}

/// |z| without overflow.
pub fn modulus(z: Value<'_>) -> Value<'_> {
    let (a, b) = (z.re().abs(), z.im().abs());
    let (big, small) = (a.lt(b).select(b, a), a.lt(b).select(a, b));
    let r = small / big;
    let m = big * (r * r + 1.0).sqrt();
    let m = big.is(0.0).select(big, m);
    let m = (a.is_nan() | b.is_nan()).select(a + b, m);
    (a.is_inf() | b.is_inf()).select(a.lit(f64::INFINITY), m)
}

fn one(z: Value<'_>) -> Value<'_> {
    z.lit(1.0)
}

/// i z.
fn times_i(z: Value<'_>) -> Value<'_> {
    (-z.im()).complex(z.re())
}

/// -i z.
fn over_i(z: Value<'_>) -> Value<'_> {
    z.im().complex(-z.re())
}

/// e^z.
pub fn exp(z: Value<'_>) -> Value<'_> {
    let e = z.re().exp();
    (e * z.im().cos()).complex(e * z.im().sin())
}

/// e^z - 1, accurate near 0.
pub fn expm1(z: Value<'_>) -> Value<'_> {
    let (a, b) = (z.re(), z.im());
    let e = a.expm1();
    let h = (b * 0.5).sin();
    (e - (e + 1.0) * (h * h * 2.0)).complex((e + 1.0) * b.sin())
}

/// The principal logarithm.
pub fn log(z: Value<'_>) -> Value<'_> {
    let (a, b) = (z.re().abs(), z.im().abs());
    let (big, small) = (a.lt(b).select(b, a), a.lt(b).select(a, b));
    // Near the unit circle log |z| is small: log1p of |z|^2 - 1.
    let near = big.gt(a.lit(0.5)) & big.lt(a.lit(2.0));
    let close = (((big - 1.0) * (big + 1.0)) + small * small).log1p() * 0.5;
    near.select(close, modulus(z).log()).complex(z.im().atan2(z.re()))
}

/// log(1 + z).
pub fn log1p(z: Value<'_>) -> Value<'_> {
    let (a, b) = (z.re(), z.im());
    let small = a.abs().lt(a.lit(0.5)) & b.abs().lt(a.lit(0.5));
    let close = (a * (a + 2.0) + b * b).log1p() * 0.5;
    let l = log(z + one(z));
    small.select(close, l.re()).complex(b.atan2(a + 1.0))
}

/// The principal square root.
pub fn sqrt(z: Value<'_>) -> Value<'_> {
    let (a, b) = (z.re(), z.im());
    let m = modulus(z);
    let t = ((a.abs() + m) * 0.5).sqrt();
    let u = b.abs() / (t * 2.0);
    let right = a.ge(a.lit(0.0));
    let im = right.select(u, t);
    let im = b.sign_bit().select(-im, im);
    let r = right.select(t, u).complex(im);
    let zero = m.is(0.0);
    zero.select(a.lit(0.0).complex(b), r)
}

/// z^w, 0^0 = 1.
pub fn pow<'a>(z: Value<'a>, w: Value<'a>) -> Value<'a> {
    let r = exp(w * log(z));
    let zero = z.re().is(0.0) & z.im().is(0.0);
    let none = w.re().is(0.0) & w.im().is(0.0);
    none.select(one(z), zero.select(z.lit(0.0), r))
}

/// The sine.
pub fn sin(z: Value<'_>) -> Value<'_> {
    let (a, b) = (z.re(), z.im());
    (a.sin() * b.cosh()).complex(a.cos() * b.sinh())
}

/// The cosine.
pub fn cos(z: Value<'_>) -> Value<'_> {
    let (a, b) = (z.re(), z.im());
    (a.cos() * b.cosh()).complex(-(a.sin() * b.sinh()))
}

/// The hyperbolic sine.
pub fn sinh(z: Value<'_>) -> Value<'_> {
    let (a, b) = (z.re(), z.im());
    (a.sinh() * b.cos()).complex(a.cosh() * b.sin())
}

/// The hyperbolic cosine.
pub fn cosh(z: Value<'_>) -> Value<'_> {
    let (a, b) = (z.re(), z.im());
    (a.cosh() * b.cos()).complex(a.sinh() * b.sin())
}

/// The hyperbolic tangent: (sinh 2a + i sin 2b) / (cosh 2a + cos 2b), saturated where those overflow.
pub fn tanh(z: Value<'_>) -> Value<'_> {
    let (a, b) = (z.re(), z.im());
    let t = b.tan();
    let s = a.sinh();
    let c = (s * s + 1.0).sqrt();
    let beta = t * t + 1.0;
    let d = beta * s * s + 1.0;
    let usual = (beta * c * s / d).complex(t / d);
    let huge = a.abs().gt(a.lit(22.0));
    let e = (a.abs() * -2.0).exp() * 4.0;
    let edge = a.sign().complex(b.sin() * b.cos() * e);
    huge.select(edge, usual)
}

/// The tangent.
pub fn tan(z: Value<'_>) -> Value<'_> {
    over_i(tanh(times_i(z)))
}

/// The inverse hyperbolic sine, log(z + sqrt(z^2 + 1)) by Kahan's formulas.
pub fn asinh(z: Value<'_>) -> Value<'_> {
    over_i(asin(times_i(z)))
}

/// The arc sine.
pub fn asin(z: Value<'_>) -> Value<'_> {
    let p = sqrt(one(z) - z);
    let q = sqrt(one(z) + z);
    let re = z.re().atan2((p * q).re());
    let im = (p.conj() * q).im().asinh();
    re.complex(im)
}

/// The arc cosine.
pub fn acos(z: Value<'_>) -> Value<'_> {
    let p = sqrt(one(z) - z);
    let q = sqrt(one(z) + z);
    let re = p.re().atan2(q.re()) * 2.0;
    let im = (q.conj() * p).im().asinh();
    re.complex(im)
}

/// The inverse hyperbolic cosine.
pub fn acosh(z: Value<'_>) -> Value<'_> {
    let p = sqrt(z - one(z));
    let q = sqrt(z + one(z));
    let re = (p.conj() * q).re().asinh();
    let im = p.im().atan2(q.re()) * 2.0;
    re.complex(im)
}

/// The inverse hyperbolic tangent.
pub fn atanh(z: Value<'_>) -> Value<'_> {
    let (a, b) = (z.re(), z.im());
    let bb = b * b;
    // Of |a|, since log1p is inaccurate near -1.
    let m = a.abs();
    let far = 1.0 - m;
    let re = (m * 4.0 / (far * far + bb)).log1p() * 0.25;
    let re = a.lt(a.lit(0.0)).select(-re, re);
    let im = (b * 2.0).atan2((1.0 - a) * (a + 1.0) - bb) * 0.5;
    re.complex(im)
}

/// The arc tangent.
pub fn atan(z: Value<'_>) -> Value<'_> {
    over_i(atanh(times_i(z)))
}

/// 1 / (1 + e^-z).
pub fn sigmoid(z: Value<'_>) -> Value<'_> {
    one(z) / (exp(-z) + one(z))
}
