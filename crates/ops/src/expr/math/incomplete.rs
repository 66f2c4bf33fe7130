//! Functions of two and three numbers that belong to gamma: the incomplete gamma (with its derivative) and beta functions,
//! Hurwitz' zeta function and the polygamma functions.

use super::exp::exp;
use super::gamma::{digamma, lgamma};
use super::log::{log, log1p};
use super::pow::pow;
use crate::expr::Value;

/// Terms after which a sum is given up: enough for arguments up to about 10^6.
const MOST: u32 = 5000;

fn epsilon(x: Value<'_>) -> f64 {
    if x.is_double() { f64::EPSILON } else { f64::from(f32::EPSILON) }
}

/// 1 / gamma(a) minus its Stirling form, as the exponent's correction: lgamma(a + 1) - (a log a - a + log(2 pi a) / 2).
fn stirling(a: Value<'_>) -> Value<'_> {
    let r = 1.0 / a;
    let z = r * r;
    r * (((z * (1.0 / 1260.0) - 1.0 / 360.0) * z) + 1.0 / 12.0)
        - if a.is_double() { z * z * z * r * (1.0 / 1680.0) } else { a.lit(0.0) }
}

/// x^a e^-x / gamma(a + 1). For large a from the distance of x and a, lest large terms cancel.
fn factor<'a>(a: Value<'a>, x: Value<'a>) -> Value<'a> {
    let small = exp(a * log(x) - x - lgamma(a + 1.0));
    let from = if a.is_double() { 40.0 } else { 10.0 };
    let d = (x - a) / a;
    let l = d.lt(d.lit(-0.5)).select(log(x / a), log1p(d));
    let large = exp(-(a * (d - l)) - stirling(a)) / (a * std::f64::consts::TAU).sqrt();
    a.gt(a.lit(from)).select(large, small)
}

/// Both incomplete gamma functions, lower and upper, of a > 0 and x > 0.
fn both<'a>(a: Value<'a>, x: Value<'a>) -> (Value<'a>, Value<'a>) {
    let (one, zero, eps) = (x.lit(1.0), x.lit(0.0), epsilon(x));
    let front = factor(a, x);
    let by_series = x.le(one) | x.lt(a);
    // The lower one by its series: 1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) ...
    let start = by_series.select(one, zero);
    let [_, _, sum] = x.repeat(MOST, [a, start, start], |[r, term, sum]| {
        let next = r + 1.0;
        let term_next = term * (x / next);
        (term.gt(sum * eps), [next, term_next, sum + term_next])
    });
    let lower = front * sum;
    // The upper one by its continued fraction, Lentz' way: 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)).
    let tiny = if x.is_double() { 1e-290 } else { 1e-30 };
    let b = by_series.select(one, x + 1.0 - a);
    let b = b.is(0.0).select(b.lit(tiny), b);
    let d = 1.0 / b;
    let unfinished = by_series.select(zero, one);
    let [_, _, _, _, h, _] = x.repeat(MOST, [zero, b, x.lit(1.0 / tiny), d, d, unfinished], |[n, b, c, d, h, left]| {
        let (n, b) = (n + 1.0, b + 2.0);
        let an = n * (a - n);
        let guard = |v: Value<'a>| v.abs().lt(v.lit(tiny)).select(v.lit(tiny), v);
        let (d, c) = (1.0 / guard(an * d + b), guard(b + an / c));
        let step = d * c;
        (left.gt(zero), [n, b, c, d, h * step, (step - 1.0).abs().gt(step.lit(eps)).select(one, zero)])
    });
    let upper = front * a * h;
    (by_series.select(lower, 1.0 - upper), by_series.select(1.0 - lower, upper))
}

/// The regularised lower incomplete gamma function.
pub fn igamma<'a>(a: Value<'a>, x: Value<'a>) -> Value<'a> {
    let (lower, _) = both(a, x);
    ends(a, x, lower, 0.0, 1.0)
}

/// The regularised upper incomplete gamma function.
pub fn igammac<'a>(a: Value<'a>, x: Value<'a>) -> Value<'a> {
    let (_, upper) = both(a, x);
    ends(a, x, upper, 1.0, 0.0)
}

fn ends<'a>(a: Value<'a>, x: Value<'a>, r: Value<'a>, at_zero: f64, at_infinity: f64) -> Value<'a> {
    let r = x.is(0.0).select(x.lit(at_zero), r);
    let r = x.is_inf().select(x.lit(at_infinity), r);
    outside(a, x).select(x.lit(f64::NAN), r)
}

/// x^a e^-x / gamma(a + 1), and the derivative by a of the lower incomplete gamma function divided by it: the sums of
/// [`both`], each step with its derivative.
fn derivative<'a>(a: Value<'a>, x: Value<'a>) -> (Value<'a>, Value<'a>) {
    let (one, zero, eps) = (x.lit(1.0), x.lit(0.0), epsilon(x));
    let by_series = x.le(one) | x.lt(a);
    let start = by_series.select(one, zero);
    let [_, _, _, sum, slope] = x.repeat(MOST, [a, start, zero, start, zero], |[r, term, of_term, sum, slope]| {
        let next = r + 1.0;
        let part = x / next;
        let of_next = part * (of_term - term / next);
        let (more, steeper) = (term.gt(sum * eps), of_term.abs().gt(slope.abs() * eps));
        (more | steeper, [next, term * part, of_next, sum + term * part, slope + of_next])
    });
    let lower = slope + sum * (log(x) - digamma(a + 1.0));

    let tiny = if x.is_double() { 1e-290 } else { 1e-30 };
    let guard = |v: Value<'a>| v.abs().lt(v.lit(tiny)).select(v.lit(tiny), v);
    let b = by_series.select(one, guard(x + 1.0 - a));
    let d = 1.0 / b;
    let init = [zero, b, x.lit(1.0 / tiny), zero, d, d * d, d, d * d, by_series.select(zero, one)];
    let [_, _, _, _, _, _, h, of_h, _] = x.repeat(MOST, init, |[n, b, c, of_c, d, of_d, h, of_h, left]| {
        let (n, b) = (n + 1.0, b + 2.0);
        let an = n * (a - n);
        let new_d = 1.0 / guard(an * d + b);
        let of_new_d = -(new_d * new_d) * (n * d + an * of_d - 1.0);
        let new_c = guard(b + an / c);
        let of_new_c = n / c - an / c * (of_c / c) - 1.0;
        let (step, of_step) = (new_d * new_c, of_new_d * new_c + new_d * of_new_c);
        let (new_h, of_new_h) = (h * step, of_h * step + h * of_step);
        let moved = (step - 1.0).abs().gt(step.lit(eps)) | (of_new_h - of_h).abs().gt(of_new_h.abs() * eps);
        (left.gt(zero), [n, b, new_c, of_new_c, new_d, of_new_d, new_h, of_new_h, moved.select(one, zero)])
    });
    let upper = a * (of_h + h * (log(x) - digamma(a)));
    (factor(a, x), by_series.select(lower, -upper))
}

fn outside<'a>(a: Value<'a>, x: Value<'a>) -> Value<'a> {
    a.le(a.lit(0.0)) | x.lt(x.lit(0.0)) | a.is_nan() | x.is_nan()
}

/// The derivative of the lower incomplete gamma function by `a`.
pub fn igamma_grad_a<'a>(a: Value<'a>, x: Value<'a>) -> Value<'a> {
    let (front, slope) = derivative(a, x);
    let r = (x.is(0.0) | x.is_inf()).select(x.lit(0.0), front * slope);
    outside(a, x).select(x.lit(f64::NAN), r)
}

/// The derivative by `a` of a sample of the gamma distribution, its place in the distribution kept.
pub fn random_gamma_grad<'a>(a: Value<'a>, x: Value<'a>) -> Value<'a> {
    let (_, slope) = derivative(a, x);
    let r = x.is(0.0).select(x.lit(0.0), -slope * x / a);
    outside(a, x).select(x.lit(f64::NAN), r)
}

/// B_2k / (2k)!.
const BERNOULLI: [f64; 9] = [
    1.0 / 12.0,
    -1.0 / 720.0,
    1.0 / 30_240.0,
    -1.0 / 1_209_600.0,
    1.0 / 47_900_160.0,
    -691.0 / 1_307_674_368_000.0,
    1.0 / 74_724_249_600.0,
    -3617.0 / 10_670_622_842_880_000.0,
    43867.0 / 5_109_094_217_170_944_000.0,
];

/// The sum over k >= 0 of (q + k)^-x, for x > 1: the first terms one by one, the rest by Euler and Maclaurin.
pub fn zeta<'a>(x: Value<'a>, q: Value<'a>) -> Value<'a> {
    let from = if x.is_double() { 10.0 } else { 6.0 };
    let zero = x.lit(0.0);
    let (negative, whole) = (q.le(zero), q.equal(q.floor()));
    let start = (negative & whole).select(q.lit(1.0), q);
    // Euler and Maclaurin's series serves where a is not below x; of a large x few terms count at all.
    let to = (if x.is_double() { x * 1.5 } else { x }).maximum(x.lit(from));
    let (lost, hidden) = (epsilon(x) / 16.0, |sum: Value<'a>, lost: f64| sum.abs() * lost);
    let [a, sum] = x.repeat(1 << 20, [start, zero], |[a, sum]| {
        let term = pow(a, -x);
        (a.lt(to) & term.abs().gt(hidden(sum, lost)), [a + 1.0, sum + term])
    });
    let last = pow(a, -x);
    let r = 1.0 / (a * a);
    let mut tail = a * last / (x - 1.0) + last * 0.5;
    let mut rise = x * last / a;
    let terms = if x.is_double() { 9 } else { 4 };
    for (k, &b) in BERNOULLI.iter().enumerate().take(terms) {
        tail = tail + rise * b;
        let n = 2.0 * k as f64 + 1.0;
        rise = rise * (x + n) * (x + (n + 1.0)) * r;
    }
    let all = last.abs().le(hidden(sum, lost)).select(sum, sum + tail);
    let pole = x.is(1.0) | (negative & whole);
    let all = pole.select(x.lit(f64::INFINITY), all);
    let nan = x.lt(x.lit(1.0)) | (negative & !whole & x.not_equal(x.floor())) | x.is_nan() | q.is_nan();
    nan.select(x.lit(f64::NAN), all)
}

/// The n-th derivative of digamma.
pub fn polygamma<'a>(n: Value<'a>, x: Value<'a>) -> Value<'a> {
    let next = n + 1.0;
    let r = exp(lgamma(next)) * zeta(next, x);
    let odd = (next * 0.5).not_equal((next * 0.5).floor());
    let r = odd.select(-r, r);
    let r = n.is(0.0).select(digamma(x), r);
    (n.lt(n.lit(0.0)) | n.not_equal(n.floor())).select(x.lit(f64::NAN), r)
}

/// The regularised incomplete beta function.
pub fn betainc<'a>(a: Value<'a>, b: Value<'a>, x: Value<'a>) -> Value<'a> {
    let (one, zero, eps) = (x.lit(1.0), x.lit(0.0), epsilon(x));
    // The fraction converges fast below the mean; beyond it, from the other end.
    let swap = x.gt((a + 1.0) / (a + b + 2.0));
    let front = exp(a * log(x) + b * log1p(-x) + (lgamma(a + b) - lgamma(a) - lgamma(b)));
    let (p, q, y) = (swap.select(b, a), swap.select(a, b), swap.select(1.0 - x, x));
    let tiny = if x.is_double() { 1e-290 } else { 1e-30 };
    let guard = |v: Value<'a>| v.abs().lt(v.lit(tiny)).select(v.lit(tiny), v);
    let d = 1.0 / guard(1.0 - (p + q) * y / (p + 1.0));
    let [_, _, _, h, _] = x.repeat(MOST, [one, one, d, d, one], |[m, c, d, h, left]| {
        let two = m * 2.0;
        let even = m * (q - m) * y / ((p + two - 1.0) * (p + two));
        let (d, c) = (1.0 / guard(even * d + 1.0), guard(even / c + 1.0));
        let h = h * (d * c);
        let odd = -((p + m) * (p + q + m) * y) / ((p + two) * (p + two + 1.0));
        let (d, c) = (1.0 / guard(odd * d + 1.0), guard(odd / c + 1.0));
        let step = d * c;
        (left.gt(zero), [m + 1.0, c, d, h * step, (step - 1.0).abs().gt(step.lit(eps)).select(one, zero)])
    });
    let part = front * h / p;
    let r = swap.select(1.0 - part, part);
    let r = x.is(0.0).select(zero, x.is(1.0).select(one, r));
    let bad = a.le(zero) | b.le(zero) | x.lt(zero) | x.gt(one) | a.is_nan() | b.is_nan() | x.is_nan();
    bad.select(x.lit(f64::NAN), r)
}
