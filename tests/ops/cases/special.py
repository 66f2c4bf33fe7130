"""Special functions, over wide ranges. TensorFlow's CPU is itself off by more than a few units in the last place: the other
reference is scipy's float64."""
import numpy as np
from scipy import special as sp

from table import FLOATS, SAME_SHAPES, Tol, binary, case, same, t, uniform, unary

DOUBLES = ("float32", "float64")
NEAR = Tol("close", 1e-12, 1e-5, 4e-3, 3e-2)
# J and Y have an absolute error near their zeros.
WAVES = Tol("norm", 1e-12, 1e-5, 4e-3, 3e-2)
# Where 1 - P is small, or large logarithms cancel.
LOOSE = Tol("norm", 1e-10, 1e-4, 8e-3, 4e-2)
# Each kind of broadcast is a shader of thousands of operations of its own.
FEW = ({"A": (3, 5), "B": (3, 5)}, {"A": (), "B": (7,)}, {"A": (4, 1, 3), "B": (2, 1)}, {"A": (1021,), "B": (1021,)})
SMALL, WIDE = uniform(0.01, 8.0), uniform(0.1, 80.0)


def one(f):
    return lambda x: f(x)


def bessel():
    for name, f, tol, negative in (
        ("I0e", sp.i0e, NEAR, True), ("I1e", sp.i1e, NEAR, True), ("I0", sp.i0, NEAR, True), ("I1", sp.i1, NEAR, True),
        ("K0", sp.k0, NEAR, False), ("K0e", sp.k0e, NEAR, False), ("K1", sp.k1, NEAR, False), ("K1e", sp.k1e, NEAR, False),
        ("J0", sp.j0, WAVES, True), ("J1", sp.j1, WAVES, True), ("Y0", sp.y0, WAVES, False), ("Y1", sp.y1, WAVES, False),
    ):
        dtypes = ("float32", "float16", "float64")
        yield unary("Bessel" + name, dtypes, dist=uniform(-8.0, 8.0) if negative else SMALL, tol=tol, special=False, ref=one(f))
        yield unary("Bessel" + name, DOUBLES, dist=uniform(-60.0, 60.0) if negative else WIDE, tol=tol, special=False, ref=one(f), tag="wide")


def gammas():
    for name, f in (("Igamma", sp.gammainc), ("Igammac", sp.gammaincc)):
        ref = lambda a, x, f=f: f(a, x)
        for tag, d in (("small", uniform(0.01, 3.0)), ("", uniform(0.1, 40.0)), ("large", uniform(500.0, 1000.0))):
            yield binary(name, DOUBLES, args=("a", "x"), dist=d, tol=LOOSE, special=False, ref=ref, tag=tag, shapes=FEW)
        yield binary(name, ("float16",), args=("a", "x"), dist=uniform(0.5, 9.0), tol=LOOSE, special=False, ref=ref, shapes=FEW)
    for tag, d in (("small", uniform(0.05, 3.0)), ("", uniform(0.5, 30.0))):
        yield binary("IgammaGradA", DOUBLES, args=("a", "x"), dist=d, tol=LOOSE, special=False, tag=tag, shapes=FEW)
        yield binary("RandomGammaGrad", DOUBLES, args=("alpha", "sample"), dist=d, tol=LOOSE, special=False, tag=tag, shapes=FEW)
    yield binary("Zeta", DOUBLES, args=("x", "q"), dists={"x": uniform(1.1, 20.0), "q": uniform(0.2, 50.0)}, tol=NEAR, special=False, ref=lambda x, q: sp.zeta(x, q), shapes=FEW)
    for n in (0.0, 1.0, 2.0, 5.0, 0.5, -1.0):
        inputs = {"a": t("S", dist=uniform(n, n + 1e-9)), "x": t("S", dist=uniform(0.2, 30.0))}
        yield case("Polygamma", DOUBLES, inputs, tol=LOOSE, special=False, shapes=SAME_SHAPES[:5], tag=str(n))
    beta = {"a": uniform(0.1, 20.0), "b": uniform(0.1, 20.0), "x": uniform(0.0, 1.0)}
    yield same("Betainc", DOUBLES, ("a", "b", "x"), dists=beta, tol=LOOSE, special=False, ref=lambda a, b, x: sp.betainc(a, b, x))


def integrals():
    """Fresnel's far from 0 have an absolute error, as what is added to 1/2 has."""
    cut = lambda f, x: np.where(x < 0, np.nan, f(x))
    for name, f, tol, small, wide in (
        ("Dawsn", sp.dawsn, NEAR, uniform(-6.0, 6.0), uniform(-300.0, 300.0)), ("Expint", lambda x: cut(sp.expi, x), NEAR, uniform(0.01, 25.0), uniform(0.36, 0.39)),
        ("FresnelSin", lambda x: sp.fresnel(x)[0], NEAR, uniform(-3.0, 3.0), uniform(-100.0, 100.0)),
        ("FresnelCos", lambda x: sp.fresnel(x)[1], NEAR, uniform(-3.0, 3.0), uniform(-100.0, 100.0)),
        ("Spence", sp.spence, WAVES, uniform(0.0, 3.0), uniform(1.0, 1000.0)),
    ):
        yield unary(name, FLOATS, dist=small, tol=tol, ref=one(f))
        yield unary(name, DOUBLES, dist=wide, tol=Tol("close", 1e-11, 1e-4), special=False, ref=one(f), tag="wide")


CASES = [*bessel(), *gammas(), *integrals()]
