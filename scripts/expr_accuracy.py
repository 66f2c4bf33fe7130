#!/usr/bin/env python3
"""Measures the math library against scipy (float32) and mpmath (float64), in units in the last place, on the host.

    cargo build -p tfvk-ops --example expr_eval && python scripts/expr_accuracy.py [NAME...]
"""
import pathlib
import subprocess
import sys

import mpmath as mp
import numpy as np
from scipy import special as sp

ROOT = pathlib.Path(__file__).parent.parent
EVAL = ROOT / "target/debug/examples/expr_eval"


def run(op, dtype, *operands):
    name = np.dtype(dtype).name
    args = " ".join(f"%{i}" for i in range(len(operands)))
    chain = "inputs " + " ".join([name] * len(operands)) + f"; {op} {args}; outputs 0"
    data = b"".join(np.ascontiguousarray(o, dtype).tobytes() for o in operands)
    p = subprocess.run([EVAL, chain], input=data, capture_output=True)
    if p.returncode:
        raise SystemExit(p.stderr.decode())
    return np.frombuffer(p.stdout, dtype), p.stderr.decode().split(":")[-1].strip()


def ulps(got, want, dtype):
    want = np.asarray(want, np.longdouble)
    rounded = want.astype(dtype)
    spacing = np.spacing(np.maximum(np.abs(rounded), np.finfo(dtype).tiny)).astype(np.longdouble)
    with np.errstate(invalid="ignore"):
        e = np.abs(got.astype(np.longdouble) - want) / spacing
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    return np.where(same & ~np.isfinite(e), 0, e)


def logspace(lo, hi, n, rng):
    return np.exp(rng.uniform(np.log(lo), np.log(hi), n)) * rng.choice([-1, 1], n)


R = np.random.default_rng(1)
N = 20000


def u(lo, hi):
    return lambda n: R.uniform(lo, hi, n)


def ls(lo, hi, positive=False):
    return lambda n: np.abs(logspace(lo, hi, n, R)) if positive else logspace(lo, hi, n, R)


CASES = [
    ("Exp", np.exp, mp.exp, [u(-87, 88), ls(1e-8, 1)]),
    ("Expm1", np.expm1, mp.expm1, [u(-20, 88), ls(1e-10, 1)]),
    ("Log", np.log, mp.log, [ls(1e-37, 1e37, True), u(0.5, 2)]),
    ("Log1p", np.log1p, mp.log1p, [ls(1e-10, 0.9), u(-0.999, 3), ls(1, 1e30, True)]),
    ("Sqrt", np.sqrt, mp.sqrt, [ls(1e-37, 1e37, True)]),
    ("Rsqrt", lambda x: 1 / np.sqrt(x), lambda x: 1 / mp.sqrt(x), [ls(1e-37, 1e37, True)]),
    ("Reciprocal", lambda x: 1 / x, lambda x: 1 / x, [ls(1e-37, 1e37)]),
    ("Sin", np.sin, mp.sin, [u(-10, 10), ls(1e-6, 1e9), ls(1e9, 1e30)]),
    ("Cos", np.cos, mp.cos, [u(-10, 10), ls(1e-6, 1e9), ls(1e9, 1e30)]),
    ("Tan", np.tan, mp.tan, [u(-10, 10), ls(1e-6, 1e9)]),
    ("Asin", np.arcsin, mp.asin, [u(-1, 1), ls(1e-6, 1)]),
    ("Acos", np.arccos, mp.acos, [u(-1, 1), lambda n: 1 - ls(1e-7, 1e-2, True)(n)]),
    ("Atan", np.arctan, mp.atan, [u(-5, 5), ls(1e-6, 1e6)]),
    ("Sinh", np.sinh, mp.sinh, [u(-80, 80), ls(1e-6, 1)]),
    ("Cosh", np.cosh, mp.cosh, [u(-80, 80), u(-1, 1)]),
    ("Tanh", np.tanh, mp.tanh, [u(-10, 10), ls(1e-6, 1)]),
    ("Asinh", np.arcsinh, mp.asinh, [u(-10, 10), ls(1e-6, 1e20)]),
    ("Acosh", np.arccosh, mp.acosh, [u(1, 10), ls(1.0001, 1e20, True)]),
    ("Atanh", np.arctanh, mp.atanh, [u(-0.999, 0.999), ls(1e-6, 1)]),
    ("Sigmoid", sp.expit, lambda x: 1 / (1 + mp.exp(-x)), [u(-80, 30)]),
    ("Softplus", lambda x: np.logaddexp(0, x), lambda x: mp.log1p(mp.exp(x)), [u(-80, 30)]),
    ("Erf", sp.erf, mp.erf, [u(-5, 5), ls(1e-6, 1)]),
    ("Erfc", sp.erfc, mp.erfc, [u(-3, 9), u(0, 1)]),
    ("Erfinv", sp.erfinv, mp.erfinv, [u(-1, 1), ls(1e-6, 1), lambda n: 1 - ls(1e-7, 1e-1, True)(n)]),
    ("Ndtri", sp.ndtri, None, [u(0.001, 0.999), ls(1e-30, 0.4, True)]),
    ("Lgamma", sp.gammaln, lambda x: mp.log(abs(mp.gamma(x))), [u(0.01, 20), ls(1e-6, 1e6, True), u(0.9, 2.1)]),
    ("Digamma", sp.psi, mp.digamma, [u(2, 30), ls(1e-6, 1, True), u(-10, 0)]),
]


def pow_case(dtype):
    x = np.concatenate([R.uniform(0, 10, N), logspace(1e-20, 1e20, N, R).__abs__()]).astype(dtype)
    y = np.concatenate([R.uniform(-30, 30, N), R.uniform(-1.5, 1.5, N)]).astype(dtype)
    return x, y


def main():
    only = sys.argv[1:]
    for dtype in (np.float32, np.float64):
        for name, f, exact, dists in CASES + [("Pow", None, None, [])]:
            if only and name not in only:
                continue
            double = dtype == np.float64
            mp.mp.prec = 120
            if name == "Pow":
                x, y = pow_case(dtype)
                if double:
                    x, y = x[::25], y[::25]
                    want = [np.longdouble(mp.nstr(mp.power(mp.mpf(float(a)), mp.mpf(float(b))), 25)) for a, b in zip(x, y)]
                else:
                    want = np.power(x.astype(np.float64), y.astype(np.float64))
                got, nodes = run(name, dtype, x, y)
                e = ulps(got, want, dtype)
                i = int(np.nanargmax(e))
                print(f"{name:10} {np.dtype(dtype).name} {nodes:11} max {e[i]:.3g} ulp at {x[i]!r}, {y[i]!r}: {got[i]!r} vs {want[i]!r}")
                continue
            worst = []
            for d in dists:
                x = d(600 if double else N).astype(dtype)
                if double:
                    if exact is None:
                        continue
                    want = np.array([np.longdouble(mp.nstr(exact(mp.mpf(float(v))), 25)) for v in x])
                else:
                    want = f(x.astype(np.float64))
                got, nodes = run(name, dtype, x)
                e = ulps(got, want, dtype)
                e = np.where(np.isnan(e), np.inf, e)
                i = int(np.argmax(e))
                worst.append((e[i], x[i], got[i], want[i]))
            if worst:
                print(f"{name:10} {np.dtype(dtype).name} {nodes:11} max "
                      + " ".join(f"{w[0]:.3g}" for w in worst) + f" ulp; worst at {max(worst)[1]!r}: {max(worst)[2]!r} vs {max(worst)[3]!r}", flush=True)


main()
