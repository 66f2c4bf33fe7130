#!/usr/bin/env python3
"""Writes crates/ops/src/expr/math/chebyshev.rs and chebyshev_integrals.rs: Chebyshev series of the Bessel functions, and of
functions that are integrals of elementary ones, computed with mpmath.

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


# Where the exponential integral is zero, and the edges between the pieces.
EI_ROOT = mp.findroot(mp.ei, 0.37)
DAWSON_EDGE, FRESNEL_EDGE = 4, mp.mpf(2)


def dawson(x):
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def fresnel(x, which):
    """pi x f (0) or pi^2 x^3 g (1), of C = 1/2 + f sin - g cos, S = 1/2 - f cos - g sin."""
    u, s, c = mp.pi * x * x / 2, mp.mpf(1) / 2 - mp.fresnels(x), mp.mpf(1) / 2 - mp.fresnelc(x)
    if which == 0:
        return mp.pi * x * (s * mp.cos(u) - c * mp.sin(u))
    return mp.pi**2 * x**3 * (c * mp.cos(u) + s * mp.sin(u))


def dilogarithm(w):
    """-spence(1 + w) / w."""
    return -mp.polylog(2, -w) / w if w else mp.mpf(1)


def fourth(top):
    return lambda t: ((t + 1) * top**4 / 2) ** (mp.mpf(1) / 4)


def far_fourth(low):
    return lambda t: low * (2 / (t + 1)) ** (mp.mpf(1) / 4)


INTEGRALS = [
    ("DAWSON_NEAR", "F(x) / x, t = x^2 / 8 - 1", lambda x: dawson(x) / x, square(DAWSON_EDGE**2)),
    ("DAWSON_FAR", "x F(x), t = 32 / x^2 - 1", lambda x: x * dawson(x), far_square(DAWSON_EDGE)),
    ("EI_NEAR", "(Ei(x) - log(x / r)) / (x - r), r the root, t = x / 3 - 1",
     lambda x: (mp.ei(x) - mp.log(x / EI_ROOT)) / (x - EI_ROOT), lambda t: 3 * (t + 1)),
    ("EI_MIDDLE", "x exp(-x) Ei(x), t = (120 / x - 13) / 7", lambda x: x * mp.exp(-x) * mp.ei(x), lambda t: 120 / (13 + 7 * t)),
    ("EI_FAR", "x exp(-x) Ei(x), t = 40 / x - 1", lambda x: x * mp.exp(-x) * mp.ei(x), far(20)),
    ("FRESNEL_S_NEAR", "S(x) / x^3, t = 2 (x / 2)^4 - 1", lambda x: mp.fresnels(x) / x**3, fourth(FRESNEL_EDGE)),
    ("FRESNEL_C_NEAR", "C(x) / x, t = 2 (x / 2)^4 - 1", lambda x: mp.fresnelc(x) / x, fourth(FRESNEL_EDGE)),
    ("FRESNEL_F_FAR", "pi x f(x), t = 2 (2 / x)^4 - 1", lambda x: fresnel(x, 0), far_fourth(FRESNEL_EDGE)),
    ("FRESNEL_G_FAR", "pi^2 x^3 g(x), t = 2 (2 / x)^4 - 1", lambda x: fresnel(x, 1), far_fourth(FRESNEL_EDGE)),
    ("SPENCE", "-spence(1 + w) / w, t = 2 w", dilogarithm, lambda t: t / 2),
]


def write(path, title, tables):
    text = f"//! {title} Written by scripts/expr_chebyshev.py.\n"
    for name, what, f, x_of in tables:
        c = series(f, x_of)
        body = "".join(f"    {float(v)!r},\n" for v in c)
        text += f"\n/// {what}.\npub const {name}: &[f64] = &[\n{body}];\n"
    (pathlib.Path(__file__).parent.parent / "crates/ops/src/expr/math" / path).write_text(text)


def main():
    write("chebyshev.rs", "Chebyshev series of the Bessel functions.", TABLES)
    write("chebyshev_integrals.rs", "Chebyshev series of functions that are integrals of elementary ones.", INTEGRALS)


main()
