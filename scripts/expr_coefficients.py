#!/usr/bin/env python3
"""Writes crates/ops/src/expr/math/coefficients.rs: the polynomials of the math library, fitted with mpmath.

Each is the Chebyshev interpolant of the function named beside it, which is within a small factor of the best polynomial;
the degree is the least that reaches the error asked for.
"""
import pathlib

import mpmath as mp

mp.mp.dps = 60


def fit(f, lo, hi, bits):
    """Monomial coefficients, lowest first, about the origin, of relative error 2^-bits."""
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    for n in range(3, 60):
        k = n + 1
        nodes = [mp.cos(mp.pi * (2 * i + 1) / (2 * k)) for i in range(k)]
        values = [f((hi - lo) / 2 * u + (hi + lo) / 2) for u in nodes]
        c = [2 / mp.mpf(k) * sum(v * mp.cos(j * mp.pi * (2 * i + 1) / (2 * k)) for i, v in enumerate(values)) for j in range(k)]
        c[0] /= 2

        def at(x):
            u = (2 * x - lo - hi) / (hi - lo)
            return sum(cj * mp.chebyt(j, u) for j, cj in enumerate(c))

        worst = max(abs(at(x) / f(x) - 1) for x in (lo + (hi - lo) * (i + mp.mpf("0.37")) / 61 for i in range(61)))
        if worst < mp.mpf(2) ** -bits:
            break
    # To monomials in x.
    a, b = 2 / (hi - lo), -(hi + lo) / (hi - lo)
    t0, t1 = [mp.mpf(1)], [b, a]
    out = [mp.mpf(0)] * (n + 1)

    def add(p, scale):
        for i, v in enumerate(p):
            out[i] += scale * v

    add(t0, c[0])
    if n >= 1:
        add(t1, c[1])
    for j in range(2, n + 1):
        t2 = [mp.mpf(0)] * (j + 1)
        for i, v in enumerate(t1):
            t2[i] += 2 * b * v
            t2[i + 1] += 2 * a * v
        for i, v in enumerate(t0):
            t2[i] -= v
        add(t2, c[j])
        t0, t1 = t1, t2
    return out, worst


def erfinv(y_complement_log):
    """erfinv(x) for w = -log(1 - x^2), by Newton on log erfc."""
    w = mp.mpf(y_complement_log)
    x = mp.sqrt(-mp.expm1(-w))
    q = mp.exp(-w) / (1 + x)  # 1 - x
    z = mp.sqrt(w) if w > 1 else x * mp.mpf("0.886")
    for _ in range(100):
        e = mp.erfc(z)
        step = (mp.log(e) - mp.log(q)) * e / (2 / mp.sqrt(mp.pi) * mp.exp(-z * z))
        z += step
        if abs(step) < mp.mpf(10) ** -45 * abs(z):
            break
    return z / x


def g(k, t):
    if t == 1:
        return 2 / mp.sqrt(mp.pi)
    x = k * (1 + t) / (1 - t)
    if x < 1000:
        return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)
    u = 1 / (2 * x * x)
    return (1 + 2 * x) / (x * mp.sqrt(mp.pi)) * (1 - u + 3 * u**2 - 15 * u**3 + 105 * u**4 - 945 * u**5)


K = 4
EULER = mp.euler


def lg(x):
    x = mp.mpf(x)
    if abs(x - 1) < mp.mpf(10) ** -25:
        return EULER
    if abs(x - 2) < mp.mpf(10) ** -25:
        return 1 - EULER
    return mp.loggamma(x) / ((x - 1) * (x - 2))


FITS = [
    ("ASIN", "(asin(x)/x - 1)/z on z = x^2 in [0, 1/4]",
     lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 0, "0.2501", 25, 52),
    ("ATAN", "(atan(x)/x - 1)/z on z = x^2 in [0, tan(pi/8)^2]",
     lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 0, "0.1717", 25, 53),
    ("ERF", "erf(x)/x - 1 on z = x^2 in [0, 1]", lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, 0, 1, 27, 56),
    ("ERFCX", f"(1 + 2x) exp(x^2) erfc(x) on t = (x - {K})/(x + {K}), x in [1/2, inf)",
     lambda t: g(K, t), (mp.mpf("0.5") - K) / (mp.mpf("0.5") + K), 1, 26, 55),
    ("ERFINV_A", "erfinv(x)/x on v = w - 2.5, w = -log(1 - x^2) in [0, 5]", lambda v: erfinv(v + mp.mpf("2.5")), "-2.4999999999", "2.5", 26, 55),
    ("ERFINV_B", "erfinv(x)/x on v = sqrt(w) - 3, w in [5, 16]", lambda v: erfinv((v + 3) ** 2), mp.sqrt(5) - 3, 1, 26, 55),
    ("ERFINV_C", "erfinv(x)/(x sqrt(w)) on v = 1/sqrt(w) - 0.14, w in [16, 746]",
     lambda v: erfinv(1 / (v + mp.mpf("0.14")) ** 2) * (v + mp.mpf("0.14")), 1 / mp.sqrt(746) - mp.mpf("0.14"), mp.mpf("0.25") - mp.mpf("0.14"), 26, 55),
    ("LGAMMA", "lgamma(x)/((x-1)(x-2)) on v = x - 1.625, x in [0.75, 2.5]", lambda v: lg(v + mp.mpf("1.625")), "-0.875", "0.875", 26, 55),
]

# The positive zero of digamma.
ROOT = mp.findroot(mp.digamma, mp.mpf("1.46163"))
print("root", mp.nstr(ROOT, 40))


def near_root(v):
    x = v + mp.mpf("1.5")
    return mp.digamma(x) / (x - ROOT) if abs(x - ROOT) > mp.mpf(10) ** -25 else mp.psi(1, ROOT)


FITS.append(("DIGAMMA", "digamma(x)/(x - root) on v = x - 1.5, x in [1, 2]", near_root, "-0.5", "0.5", 26, 55))

OUT = pathlib.Path(__file__).parent.parent / "crates/ops/src/expr/math/coefficients.rs"
lines = ["//! Polynomials of the math library, lowest degree first. Written by scripts/expr_coefficients.py.", ""]
for name, what, f, lo, hi, bits32, bits64 in FITS:
    for suffix, bits in (("32", bits32), ("64", bits64)):
        coefficients, worst = fit(f, lo, hi, bits)
        lines.append(f"/// {what}; relative error {mp.nstr(worst, 2)}.")
        lines.append(f"pub const {name}_{suffix}: &[f64] = &[")
        for c in coefficients:
            lines.append(f"    {float(c)!r},")
        lines.append("];")
        lines.append("")
        print(name, suffix, len(coefficients), mp.nstr(worst, 3), "largest", mp.nstr(max(abs(c) for c in coefficients), 3), flush=True)
OUT.write_text("\n".join(lines[:-1]) + "\n")
