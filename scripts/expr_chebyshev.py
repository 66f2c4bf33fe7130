#!/usr/bin/env python3
"""Writes crates/ops/src/expr/math/chebyshev.rs: Chebyshev series of the Bessel functions, computed with mpmath.

A series is cut where its terms fall below 2^-58 of its largest; shorter types use a part of it (bessel.rs).
"""
import pathlib

import mpmath as mp

mp.mp.dps = 40
N = 64


def series(f, x_of):
    """Coefficients of f(x_of(t)) on t in [-1, 1]."""
    nodes = [mp.cos(mp.pi * (2 * i + 1) / (2 * N)) for i in range(N)]
    values = [f(x_of(t)) for t in nodes]
    c = [2 * sum(v * mp.cos(j * mp.pi * (2 * i + 1) / (2 * N)) for i, v in enumerate(values)) / N for j in range(N)]
    c[0] /= 2
    largest = max(abs(v) for v in c)
    last = max(j for j, v in enumerate(c) if abs(v) > largest * mp.mpf(2) ** -58)
    return c[: last + 1]


def square(top):
    return lambda t: mp.sqrt((t + 1) * top / 2)


def far(low):
    return lambda t: 2 * mp.mpf(low) / (t + 1)


def far_square(low):
    return lambda t: mp.mpf(low) * mp.sqrt(2 / (t + 1))


def phase(n, x):
    """P and x Q of the asymptotic form with phase x - (2n + 1) pi / 4."""
    chi, s = x - (2 * n + 1) * mp.pi / 4, mp.sqrt(mp.pi * x / 2)
    j, y = mp.besselj(n, x), mp.bessely(n, x)
    return s * (j * mp.cos(chi) + y * mp.sin(chi)), x * s * (y * mp.cos(chi) - j * mp.sin(chi))


two_pi = 2 / mp.pi
TABLES = [
    ("I0_NEAR", "exp(-x) I0(x), t = x / 4 - 1", lambda x: mp.exp(-x) * mp.besseli(0, x), lambda t: 4 * (t + 1)),
    ("I0_FAR", "exp(-x) sqrt(x) I0(x), t = 16 / x - 1", lambda x: mp.exp(-x) * mp.sqrt(x) * mp.besseli(0, x), far(8)),
    ("I1_NEAR", "exp(-x) I1(x) / x, t = x / 4 - 1", lambda x: mp.exp(-x) * mp.besseli(1, x) / x, lambda t: 4 * (t + 1)),
    ("I1_FAR", "exp(-x) sqrt(x) I1(x), t = 16 / x - 1", lambda x: mp.exp(-x) * mp.sqrt(x) * mp.besseli(1, x), far(8)),
    ("I0_SMALL", "I0(x), t = x^2 / 2 - 1", lambda x: mp.besseli(0, x), square(4)),
    ("I1_SMALL", "I1(x) / x, t = x^2 / 2 - 1", lambda x: mp.besseli(1, x) / x, square(4)),
    ("K0_NEAR", "K0(x) + log(x / 2) I0(x), t = x^2 / 2 - 1", lambda x: mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x), square(4)),
    ("K0_FAR", "exp(x) sqrt(x) K0(x), t = 4 / x - 1", lambda x: mp.exp(x) * mp.sqrt(x) * mp.besselk(0, x), far(2)),
    ("K1_NEAR", "x (K1(x) - log(x / 2) I1(x)), t = x^2 / 2 - 1", lambda x: x * (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x)), square(4)),
    ("K1_FAR", "exp(x) sqrt(x) K1(x), t = 4 / x - 1", lambda x: mp.exp(x) * mp.sqrt(x) * mp.besselk(1, x), far(2)),
    ("J0_NEAR", "J0(x), t = x^2 / 32 - 1", lambda x: mp.besselj(0, x), square(64)),
    ("J1_NEAR", "J1(x) / x, t = x^2 / 32 - 1", lambda x: mp.besselj(1, x) / x, square(64)),
    ("Y0_NEAR", "Y0(x) - 2 / pi log(x) J0(x), t = x^2 / 32 - 1", lambda x: mp.bessely(0, x) - two_pi * mp.log(x) * mp.besselj(0, x), square(64)),
    ("Y1_NEAR", "(Y1(x) - 2 / pi (log(x) J1(x) - 1 / x)) / x, t = x^2 / 32 - 1",
     lambda x: (mp.bessely(1, x) - two_pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x, square(64)),
    ("P0_FAR", "P of order 0, t = 128 / x^2 - 1", lambda x: phase(0, x)[0], far_square(8)),
    ("Q0_FAR", "x Q of order 0, t = 128 / x^2 - 1", lambda x: phase(0, x)[1], far_square(8)),
    ("P1_FAR", "P of order 1, t = 128 / x^2 - 1", lambda x: phase(1, x)[0], far_square(8)),
    ("Q1_FAR", "x Q of order 1, t = 128 / x^2 - 1", lambda x: phase(1, x)[1], far_square(8)),
]


def main():
    text = "//! Chebyshev series of the Bessel functions. Written by scripts/expr_chebyshev.py.\n"
    for name, what, f, x_of in TABLES:
        c = series(f, x_of)
        body = "".join(f"    {float(v)!r},\n" for v in c)
        text += f"\n/// {what}.\npub const {name}: &[f64] = &[\n{body}];\n"
    path = pathlib.Path(__file__).parent.parent / "crates/ops/src/expr/math/chebyshev.rs"
    path.write_text(text)


main()
