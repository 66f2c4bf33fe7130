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
