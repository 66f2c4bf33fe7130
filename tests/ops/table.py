"""The language in which op cases are written: plain data, no TensorFlow.

A family file in `cases/` is a list `CASES` of `case(...)`, or of its short forms `unary`, `binary`, `same`.
The harness (`harness.py`) turns each case and dtype into variants: the case as written, the edge shapes that
its symbols allow, and edge values. `README.md` shows how to write one.
"""
from dataclasses import dataclass, field, replace

FLOATS = ("float32", "float16", "bfloat16", "float64")
HALVES = ("float16", "bfloat16")
SIGNED = ("int32", "int64", "int8", "int16")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTS = SIGNED + UNSIGNED
COMPLEX = ("complex64",)
BOOL = ("bool",)
REALS = FLOATS + INTS
T = "$T"  # in attrs: the dtype under test


@dataclass(frozen=True)
class Tol:
    """How close a float result must be. `kind`: exact (same bits, NaN = NaN), close (element by element),
    norm (relative to the largest element too: sums, products of matrices). One relative bound per dtype."""

    kind: str
    float64: float = 0.0
    float32: float = 0.0
    float16: float = 0.0
    bfloat16: float = 0.0

    def bound(self, dtype):
        real = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
        return getattr(self, real, 0.0)


def ulps(n):
    """Within n units in the last place of each dtype."""
    return Tol("close", n * 2.0**-52, n * 2.0**-23, n * 2.0**-10, n * 2.0**-7)


EXACT = Tol("exact")
CLOSE = Tol("close", 1e-12, 1e-5, 2e-3, 1.6e-2)
ACCUM = Tol("norm", 1e-12, 1e-5, 2e-3, 1.6e-2)


@dataclass(frozen=True)
class Dist:
    """A distribution of values, by name (`values.py` draws it)."""

    name: str
    a: float = 0.0
    b: float = 0.0


def normal(scale=1.0, mean=0.0):
    """Normal; integers: uniform between -50 and 50 (0 and 50 unsigned) whatever the scale."""
    return Dist("normal", scale, mean)


def uniform(lo, hi):
    """Uniform in [lo, hi) (integers: lo to hi - 1)."""
    return Dist("uniform", lo, hi)


def nonzero(scale=1.0):
    """Normal, never zero: divisors."""
    return Dist("nonzero", scale)


def distinct():
    """All different, shuffled: for ops where a tie would leave the answer open."""
    return Dist("distinct")


def wide():
    """Both signs, magnitudes spread evenly over many powers of two (integers: over the whole range)."""
    return Dist("wide")


@dataclass(frozen=True)
class Spec:
    """One input tensor. `shape`: a tuple of sizes and names of `dims`, or the name of a whole shape of `shapes`.
    `dtype` None: the dtype under test. `literal`: these very values. `variable`: passed as a resource variable
    that starts with these values; its value after the op counts as an output. `special` False: edge values
    (NaN, infinities, extremes) are kept out of this input."""

    shape: object = ()
    dist: Dist = field(default_factory=normal)
    dtype: str = None
    literal: object = None
    variable: bool = False
    special: bool = True


def t(*shape, dist=None, dtype=None, special=True):
    """A tensor of random values: `t("N", 5, 7)`, `t("S", dist=uniform(0, 1))`."""
    whole = shape[0] if len(shape) == 1 and isinstance(shape[0], str) and shape[0].isupper() and shape[0] in SHAPES else shape
    return Spec(whole, dist or normal(), dtype, None, False, special)


def const(values, dtype="int32"):
    """These very values: axes, shapes, indices, scalars. `dtype=None`: the dtype under test."""
    return Spec((), normal(), dtype, values, False, False)


def var(spec):
    """The same tensor, held in a resource variable."""
    return replace(spec, variable=True)


# Names for whole shapes, and what the harness puts there: first the main one, then the edges.
# S: all inputs alike. A, B (, C): broadcast against each other.
SHAPES = ("S", "A", "B", "C")
SAME_SHAPES = tuple({"S": s} for s in ((3, 5), (), (0,), (0, 3), (1,), (7,), (257,), (2, 3, 5, 7), (1021,), (2, 1, 3, 1, 2, 1, 2, 2)))
BROADCASTS = tuple(
    {"A": a, "B": b}
    for a, b in (
        ((3, 5), (3, 5)), ((), ()), ((3, 5), ()), ((), (7,)), ((3, 1), (1, 5)), ((4, 1, 3), (2, 1)), ((0, 3), (1, 3)), ((1,), (0,)),
        ((65, 33), (33,)), ((33,), (65, 33)), ((65, 33), (65, 1)), ((1021,), (1021,)), ((1,), (1, 1, 1)), ((2, 1, 3, 1, 2, 1, 2, 2), (1, 2, 1, 2, 1, 3, 1, 2)),
    )
)


@dataclass(frozen=True)
class Case:
    """One op with one set of inputs and attributes, for several dtypes. See `case`."""

    op: str
    dtypes: tuple
    inputs: dict
    attrs: dict
    tol: Tol
    dims: dict
    shapes: tuple
    special: object
    tag: str
    ref: object
    via: str
    outputs: tuple
    refused: bool


def case(op, dtypes, inputs, attrs=None, *, tol=ACCUM, dims=None, shapes=None, special=True, tag="", ref=None, via="eager", outputs=None, refused=False):
    """
    op       name in `tf.raw_ops`
    dtypes   dtypes under test; stands for `Spec.dtype` None and for T in attrs
    inputs   argument name -> Spec, or a list of Specs for a list argument
    attrs    attributes that are not inferred from the inputs
    tol      EXACT, CLOSE, ACCUM, ulps(n) or a Tol; integers, bool are always exact
    dims     name used in shapes -> (main size, edge sizes...); one number n stands for (n, 0, 1, 2 n + 1)
    shapes   for S, A, B, C in shapes: a list of {"S": shape}; the first is the main one
    special  True: also with NaN, infinities, -0 and integer extremes; "finite": without NaN and infinities; False: not
    tag      tells cases of one op apart in their ids
    ref      function of float64 numpy inputs (same names) that returns the outputs; else the op itself in float64 on the CPU
    via      "eager", or "function" (a fresh tf.function each time: stateful random ops)
    outputs  indices of the outputs that are compared; None: all
    refused  the op must be refused, on the CPU and on the device alike (an index out of range, a shape that does not fit)
    """
    return Case(op, tuple(dtypes), dict(inputs), dict(attrs or {}), tol, dict(dims or {}), tuple(shapes or ({},)), special, tag, ref, via, outputs, refused)


def same(op, dtypes, args, attrs=None, *, dist=None, dists=None, tol=CLOSE, **more):
    """An element-wise op whose inputs all have one shape: `same("ReluGrad", FLOATS, ("gradients", "features"))`."""
    inputs = {a: t("S", dist=(dists or {}).get(a, dist)) for a in args}
    return case(op, dtypes, inputs, attrs, tol=tol, shapes=more.pop("shapes", SAME_SHAPES), **more)


def unary(op, dtypes, attrs=None, *, arg="x", **more):
    """An element-wise op of one input."""
    return same(op, dtypes, (arg,), attrs, **more)


def binary(op, dtypes, attrs=None, *, args=("x", "y"), dist=None, dists=None, tol=EXACT, **more):
    """An element-wise op of two inputs that broadcast."""
    d = dists or {}
    inputs = {args[0]: t("A", dist=d.get(args[0], dist)), args[1]: t("B", dist=d.get(args[1], dist))}
    return case(op, dtypes, inputs, attrs, tol=tol, shapes=more.pop("shapes", BROADCASTS), **more)
