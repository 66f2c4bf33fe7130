"""Random numbers: TensorFlow's own streams, so that values agree with the CPU's to the last bit (normals: to the last two)."""
import numpy as np

from table import EXACT, FLOATS, Tol, case, const, normal, t, ulps, var

INT = ("int32", "int64")
FULL = INT + ("uint32", "uint64")
# Empty, scalar, less than a group, just past one, many.
SHAPES = ([0], [], [3], [5], [2, 0, 3], [4, 3, 7], [1031], [3, 2049])
# The last has a counter that carries into its upper half.
KEYS = (([12345678901234567], [3, 4]), ([2**64 - 1], [2**64 - 2, 2**64 - 1]), ([0], [2**32 - 3, 0]))
SEEDS = (([1, 2], "int32"), ([-7, 2**31 - 1], "int32"), ([2**62, -(2**40)], "int64"))
NORMAL = Tol("close", 4e-15, 4 * 2.0**-23, 2.0**-10, 2.0**-7)


def shapes(op, dtypes, more, attrs, tol, **options):
    for i, s in enumerate(SHAPES):
        kinds = dtypes if i > 4 else dtypes[:1]
        shape = const(s, "int64" if i % 2 else "int32")
        yield case(op, kinds, {"shape": shape, **more(i)}, attrs, tol=tol, tag=f"{s}", **options)


def key(i):
    k, c = KEYS[i % len(KEYS)]
    return {"key": const(k, "uint64"), "counter": const(c, "uint64"), "alg": const(1 if i % 2 else 3)}


def seed(i):
    values, dtype = SEEDS[i % len(SEEDS)]
    return {"seed": const(values, dtype)}


def bounds(low, high):
    return {"minval": const(low, None), "maxval": const(high, None)}


def state(i):
    counter, key = [(5, 6, 7), (-1, -2, 3), (2**32 - 3, 0, -9)][i % 3], [99]
    return {"resource": var(const([counter[0], counter[1], key[0]], "int64")), "algorithm": const(1, "int64")}


def draws():
    for op, tol in (("Uniform", EXACT), ("Normal", NORMAL)):
        yield from shapes(f"StatelessRandom{op}V2", FLOATS, key, {"dtype": "$T"}, tol)
        yield from shapes(f"StatelessRandom{op}", FLOATS, seed, {"dtype": "$T"}, tol)
    yield from shapes("StatelessTruncatedNormalV2", FLOATS, key, {"dtype": "$T"}, NORMAL)
    yield from shapes("StatelessTruncatedNormal", FLOATS, seed, {"dtype": "$T"}, NORMAL)
    yield from shapes("StatelessRandomUniformFullIntV2", FULL, key, {"dtype": "$T"}, EXACT)
    yield from shapes("StatelessRandomUniformFullInt", FULL, seed, {"dtype": "$T"}, EXACT)
    ranges = {"": (-3, 1000), " one": (7, 8), " half": (-(2**31), 2**31 - 1), " power": (0, 256)}
    for name, (low, high) in ranges.items():
        for op, more in (("StatelessRandomUniformIntV2", key), ("StatelessRandomUniformInt", seed)):
            for i, s in enumerate(([5], [1031]) if name else SHAPES):
                inputs = {"shape": const(s), **more(i), **bounds(low, high)}
                yield case(op, INT, inputs, tol=EXACT, tag=f"{s}{name}")
    wide = {"shape": const([1031]), **key(0), **bounds(-(2**63), 2**63 - 1)}
    yield case("StatelessRandomUniformIntV2", ("int64",), wide, tol=EXACT, tag="all")
    wide = {"shape": const([1031]), **key(0), **bounds(-(2**40), 2**45 + 12345)}
    yield case("StatelessRandomUniformIntV2", ("int64",), wide, tol=EXACT, tag="wide")


def stateful():
    seeds = {"seed": 87654321, "seed2": 2**40 + 5}
    for op, tol in (("RandomUniform", EXACT), ("RandomStandardNormal", NORMAL), ("TruncatedNormal", NORMAL)):
        yield from shapes(op, FLOATS, lambda i: {}, {"dtype": "$T", **seeds}, tol, via="function")
    yield from shapes("RandomUniformInt", INT, lambda i: bounds(-5, 1000003), seeds, EXACT, via="function")


def generators():
    for op, tol in (("StatefulUniform", EXACT), ("StatefulStandardNormalV2", NORMAL), ("StatefulTruncatedNormal", NORMAL)):
        yield from shapes(op, FLOATS, state, {"dtype": "$T"}, tol)
    yield from shapes("StatefulUniformFullInt", FULL, state, {"dtype": "$T"}, EXACT)
    yield from shapes("StatefulUniformInt", INT, lambda i: {**state(i), **bounds(-5, 1000003)}, {}, EXACT)
    for delta in (0, 1, 2**40 + 7, 2**60):
        inputs = {"resource": state(delta)["resource"], "alg": const(1), "delta": const(delta, "uint64")}
        yield case("RngReadAndSkip", ("int64",), inputs, tol=EXACT, tag=str(delta))
        inputs = {**state(delta), "delta": const(delta, "int64")}
        yield case("RngSkip", ("int64",), inputs, tol=EXACT, tag=str(delta))


def multinomial():
    attrs = {"output_dtype": "int64"}
    for rows, classes, samples in ((3, 5, 9), (1, 1, 4), (2, 300, 129), (1, 1025, 3), (4, 6, 0)):
        logits, tag = t(rows, classes, dist=normal(2.0)), f"{rows} {classes} {samples}"
        for out in ("int32", "int64"):
            inputs = {"logits": logits, "num_samples": const(samples), **seed(rows)}
            yield case("StatelessMultinomial", FLOATS, inputs, {"output_dtype": out}, tag=f"{tag} {out}", special=False)
        inputs = {"logits": logits, "num_samples": const(samples)}
        more = {**attrs, "seed": 5, "seed2": 11}
        yield case("Multinomial", FLOATS, inputs, more, tag=tag, via="function", special=False)
    inputs = {"logits": const([[0.0, float("-inf"), 1.0, 2.0]], None), "num_samples": const(100), **seed(0)}
    yield case("StatelessMultinomial", ("float32",), inputs, attrs, tag="impossible class")


def gammas():
    """The samples of a batch of shapes; both kinds of small alpha are among them."""
    tol = Tol("close", 1e-13, 1e-5, 2.0**-10, 2.0**-7)
    alphas = const([0.1, 0.5, 0.99, 1.0, 1.5, 3.0, 50.0, 2000.0], None)
    for i, s in enumerate(([8], [3, 8], [70, 2, 8], [0, 8])):
        kinds = ("float32", "float16", "float64") if i == 1 else ("float32", "float64")
        yield case("StatelessRandomGammaV3", kinds, {"shape": const(s), **key(i), "alpha": alphas}, tol=tol, tag=f"{s}")
        yield case("StatelessRandomGammaV2", kinds, {"shape": const(s), **seed(i), "alpha": alphas}, tol=tol, tag=f"{s}")
    yield case("StatelessRandomGammaV3", ("float32",), {"shape": const([1031]), **key(0), "alpha": const(0.7, None)}, tol=tol, tag="scalar")
    yield case("StatelessRandomGammaV3", ("float32",), {"shape": const([8, 3]), **key(0), "alpha": alphas}, tag="shape", refused=True)
    for s in ([5], [], [40, 3]):
        inputs = {"shape": const(np.array(s, np.int32)), "alpha": alphas}
        yield case("RandomGamma", ("float32", "float16", "float64"), inputs, {"seed": 7, "seed2": 9}, tol=tol, tag=f"{s}", via="function")


def shuffles():
    kinds = ("float32", "float16", "int32", "int64", "bool", "complex64", "uint8", "float64", "bfloat16", "complex128")
    for s in ((10,), (1,), (0,), (), (7, 3), (1031,), (300, 2, 5), (5, 0)):
        few = kinds if s in ((10,), (7, 3)) else ("float32",)
        yield case("RandomShuffle", few, {"value": t(*s)}, {"seed": 3, "seed2": 5}, tol=EXACT, tag=f"{s}", via="function", special=False)
        yield case("StatelessShuffle", few, {"value": t(*s), **key(len(s))}, tol=EXACT, tag=f"{s}", special=False)


def poissons():
    """The samples of a batch of shapes, of rates on both sides of the one where the method changes."""
    rates = [0.0, 0.1, 1.0, 5.5, 9.9, 10.0, 33.0, 1000.0]
    for i, s in enumerate(([8], [3, 8], [70, 2, 8], [0, 8])):
        for out in ("float32", "int64", "int32", "float16", "float64") if i == 1 else ("float32", "int32"):
            attrs = {"dtype": out}
            yield case("StatelessRandomPoisson", ("float32", "float64", "float16"), {"shape": const(s), **seed(i), "lam": const(rates, None)}, attrs, tol=EXACT, tag=f"{s} {out}")
            inputs = {"shape": const(np.array(s[:-1], np.int32)), "rate": const(rates, None)}
            yield case("RandomPoissonV2", ("float32", "float64", "float16"), inputs, {"seed": 7, "seed2": 9, **attrs}, tol=EXACT, tag=f"{s} {out}", via="function")


CASES = [*poissons(), *shuffles(), *gammas(), 
    *draws(),
    *stateful(),
    *generators(),
    *multinomial(),
    *[case("StatelessRandomGetKeyCounter", ("int32",), seed(i), tol=EXACT, tag=str(i)) for i in range(3)],
    *[case("StatelessRandomGetKeyCounterAlg", ("int32",), seed(i), tol=EXACT, tag=str(i)) for i in range(3)],
    case("StatelessRandomGetAlg", ("int32",), {}, tol=EXACT),
    case("StatelessRandomUniformV2", ("float32",), {"shape": const([4]), **key(0), "alg": const(2)}, {"dtype": "$T"}, tag="ThreeFry", refused=True),
    case("StatelessRandomUniformIntV2", ("int32",), {"shape": const([4]), **key(0), **bounds(3, 3)}, tag="no range", refused=True),
    case("StatelessRandomUniform", ("float32",), {"shape": const([4]), "seed": const([1, 2, 3])}, {"dtype": "$T"}, tag="long seed", refused=True),
]
