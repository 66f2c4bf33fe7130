//! sin, cos, tan: reduction by pi/2 with as many bits of 2/pi as the argument needs (Payne and Hanek), then Taylor series.

use tfvk_device::DType;

use super::bits::{Split, power_of_two};
use super::eft::{Pair, constant, fast_two_sum, polynomial};
use crate::expr::Value;

/// 2/pi in 32-bit words, most significant first, after two words of zeros (for arguments below 1).
const TWO_OVER_PI: [u32; 43] = [
    0,
    0,
    0xa2f9_836e,
    0x4e44_1529,
    0xfc27_57d1,
    0xf534_ddc0,
    0xdb62_9599,
    0x3c43_9041,
    0xfe51_63ab,
    0xdebb_c561,
    0xb724_6e3a,
    0x424d_d2e0,
    0x0649_2eea,
    0x09d1_921c,
    0xfe1d_eb1c,
    0xb129_a73e,
    0xe882_35f5,
    0x2ebb_4484,
    0xe99c_7026,
    0xb45f_7e41,
    0x3991_d639,
    0x8353_39f4,
    0x9c84_5f8b,
    0xbdf9_283b,
    0x1ff8_97ff,
    0xde05_980f,
    0xef2f_118b,
    0x5a0a_6d1f,
    0x6d36_7ecf,
    0x27cb_09b7,
    0x4f46_3f66,
    0x9e5f_ea2d,
    0x7527_bac7,
    0xebe5_f17b,
    0x3d07_39f7,
    0x8a52_92ea,
    0x6bfb_5fb1,
    0x1f8d_5d08,
    0x5603_3046,
    0xfc7b_6bab,
    0xf0cf_bc20,
    0x9af4_361d,
    0xa9e3_9161,
];

/// x = quadrant * pi/2 + r, |r| <= pi/4.
struct Reduced<'a> {
    /// uint32, modulo 4.
    quadrant: Value<'a>,
    r: Pair<'a>,
}

fn zero(x: Value<'_>) -> Value<'_> {
    x.bits_of(DType::U32, 0)
}

/// `a + b + carry`, and the carry out (0 or 1).
fn add_carry<'a>(a: Value<'a>, b: Value<'a>, carry: Value<'a>) -> (Value<'a>, Value<'a>) {
    let s = a + b;
    let t = s + carry;
    let one = a.bits_of(DType::U32, 1);
    (t, s.lt(a).select(one, zero(a)) | t.lt(s).select(one, zero(a)))
}

/// `words` (least significant first) += m * w, starting at word `at`; what leaves at the top is dropped.
fn accumulate<'a>(words: &mut [Value<'a>], m: Value<'a>, w: Value<'a>, at: usize) {
    let mut carry = zero(m);
    for (i, part) in [m * w, m.mul_hi(w)].into_iter().enumerate() {
        if let Some(word) = words.get_mut(at + i) {
            (*word, carry) = add_carry(*word, part, carry);
        }
    }
    for word in words.iter_mut().skip(at + 2) {
        let sum = *word + carry;
        carry = sum.lt(*word).select(word.bits_of(DType::U32, 1), zero(m));
        *word = sum;
    }
}

/// `high:low << by` (0 to 31), the upper word.
fn funnel<'a>(high: Value<'a>, low: Value<'a>, by: Value<'a>) -> Value<'a> {
    let back = by.bits_of(DType::U32, 31) - by;
    (high << by) | ((low >> 1) >> back)
}

/// Reduces |x|, x finite.
fn reduce(x: Value<'_>) -> Reduced<'_> {
    let double = x.is_double();
    let n = if double { 6 } else { 3 };
    let s = Split::of(x);
    // Where in 2/pi the product's quadrant begins: bits before it contribute whole turns.
    let start = (s.exponent + 62.0).maximum(s.exponent.lit(0.0)).convert(DType::U32);
    let (first, by) = (start >> 5, start & start.bits_of(DType::U32, 31));
    let table: Vec<Value<'_>> = (0..=n).map(|i| x.lookup(&TWO_OVER_PI, first + first.bits_of(DType::U32, i))).collect();
    let window: Vec<Value<'_>> = (0..n as usize).map(|i| funnel(table[i], table[i + 1], by)).collect();
    let mut words = vec![zero(x); n as usize];
    let significand: Vec<Value<'_>> = if double {
        vec![s.significand.convert(DType::U32), (s.significand >> 32).convert(DType::U32)]
    } else {
        vec![s.significand]
    };
    for (i, &m) in significand.iter().enumerate() {
        for (j, &w) in window.iter().rev().enumerate() {
            if i + j < n as usize {
                accumulate(&mut words, m, w, i + j);
            }
        }
    }
    words.reverse();
    // Two bits of quadrant; the rest is a fraction, taken as signed.
    let top = words[0];
    let quadrant = (top + top.bits_of(DType::U32, 1 << 29)) >> 30;
    words[0] = top - (quadrant << 30);
    let negative = words[0].ge(top.bits_of(DType::U32, 1 << 31));
    let all = negative.select(top.bits_of(DType::U32, u64::from(u32::MAX)), zero(x));
    let mut carry = all & all.bits_of(DType::U32, 1);
    for w in words.iter_mut().rev() {
        (*w, carry) = add_carry(*w ^ all, zero(x), carry);
    }
    let r = fraction(x, &words);
    let r = Pair { hi: negative.select(-r.hi, r.hi), lo: negative.select(-r.lo, r.lo) };
    // Small arguments are their own remainder, to the last bit.
    let small = x.abs().lt(x.lit(0.785));
    let r = Pair { hi: small.select(x.abs(), r.hi), lo: small.select(x.lit(0.0), r.lo) };
    Reduced { quadrant: small.select(zero(x), quadrant), r }
}

/// The words, as a fraction of which the first word's bit 30 is 1 quadrant, times pi/2.
fn fraction<'a>(x: Value<'a>, words: &[Value<'a>]) -> Pair<'a> {
    let mut words = words.to_vec();
    let mut exponent = x.bits_of(DType::I32, (-30i32) as u32 as u64);
    for _ in 0..if x.is_double() { 2 } else { 1 } {
        let empty = words[0].is(0.0);
        for i in 0..words.len() {
            let next = words.get(i + 1).copied().unwrap_or(zero(x));
            words[i] = empty.select(next, words[i]);
        }
        exponent = empty.select(exponent - 32.0, exponent);
    }
    let msb = words[0].find_msb();
    let by = (msb.bits_of(DType::U32, 31) - msb) & msb.bits_of(DType::U32, 31);
    let a = funnel(words[0], words[1], by);
    let b = funnel(words[1], words[2], by);
    let half = |w: Value<'a>| (w >> 16, w & w.bits_of(DType::U32, 0xffff));
    let d = x.dtype();
    let f = if x.is_double() {
        let (hi, lo) = (a.convert(d) * 2f64.powi(32), b.convert(d));
        fast_two_sum(hi, lo)
    } else {
        let ((a1, a0), (b1, _)) = (half(a), half(b));
        let s = fast_two_sum(a1.convert(d) * 65536.0, a0.convert(d));
        Pair { hi: s.hi, lo: s.lo + b1.convert(d) * 2f64.powi(-16) }
    };
    let units = if x.is_double() { 32.0 } else { 0.0 };
    let scale = power_of_two(d, exponent - units - by.convert(DType::I32));
    let p = f.mul(constant(x, std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17));
    Pair { hi: p.hi * scale, lo: p.lo * scale }
}

/// sin of r, |r| <= pi/4.
fn sin_core(r: Pair<'_>) -> Value<'_> {
    let x = r.hi;
    let terms = if x.is_double() { 8 } else { 5 };
    let mut c = Vec::new();
    let mut f = 1.0;
    for k in 1..=terms {
        f *= -f64::from(2 * k) * f64::from(2 * k + 1);
        c.push(1.0 / f);
    }
    let z = x * x;
    x + (r.lo * (1.0 - z * 0.5) + x * z * polynomial(z, &c))
}

/// cos of r, |r| <= pi/4.
fn cos_core(r: Pair<'_>) -> Value<'_> {
    let x = r.hi;
    let terms = if x.is_double() { 9 } else { 5 };
    let mut c = Vec::new();
    let mut f = -2.0;
    for k in 2..=terms {
        f *= -f64::from(2 * k - 1) * f64::from(2 * k);
        c.push(1.0 / f);
    }
    let z = x * x;
    let half = z * 0.5;
    let w = 1.0 - half;
    w + (((1.0 - w) - half) + (z * z * polynomial(z, &c) - x * r.lo))
}

fn odd<'a>(q: Value<'a>) -> Value<'a> {
    (q & q.bits_of(DType::U32, 1)).not_equal(zero(q))
}

fn second_half<'a>(q: Value<'a>) -> Value<'a> {
    (q & q.bits_of(DType::U32, 2)).not_equal(zero(q))
}

fn finite_or_nan<'a>(x: Value<'a>, r: Value<'a>) -> Value<'a> {
    x.is_finite().select(r, x.lit(f64::NAN))
}

/// The sine.
pub fn sin(x: Value<'_>) -> Value<'_> {
    let p = reduce(x);
    let r = odd(p.quadrant).select(cos_core(p.r), sin_core(p.r));
    let negative = second_half(p.quadrant) ^ x.lt(x.lit(0.0));
    let r = negative.select(-r, r);
    finite_or_nan(x, x.is(0.0).select(x, r))
}

/// The cosine.
pub fn cos(x: Value<'_>) -> Value<'_> {
    let p = reduce(x);
    let r = odd(p.quadrant).select(sin_core(p.r), cos_core(p.r));
    let negative = second_half(p.quadrant) ^ odd(p.quadrant);
    finite_or_nan(x, negative.select(-r, r))
}

/// The tangent.
pub fn tan(x: Value<'_>) -> Value<'_> {
    let p = reduce(x);
    let (s, c) = (sin_core(p.r), cos_core(p.r));
    let o = odd(p.quadrant);
    let r = o.select(-c, s) / o.select(s, c);
    let r = x.lt(x.lit(0.0)).select(-r, r);
    finite_or_nan(x, x.is(0.0).select(x, r))
}
