"""Reductions over any axes, and the arg reductions."""
from table import ACCUM, COMPLEX, EXACT, FLOATS, INTS, REALS, BOOL, case, const, distinct, normal, t, uniform

# (input shape, axes): none, all, inner, outer, middle, several, negative; long rows, long columns; empty axis list.
AXES = (
    (("N", 5, 7), [2]), (("N", 5, 7), [0]), (("N", 5, 7), [1]), (("N", 5, 7), [0, 2]), (("N", 5, 7), [0, 1, 2]), (("N", 5, 7), [-1, 0]), (("N", 5, 7), []),
    (("N",), [0]), ((), []), (("N", 1030), [1]), ((1030, "N"), [0]), ((2, 3, "N", 2, 3), [1, 3]),
)


def reduction(op, dtypes, tol, dist=None, special=True, arg="input"):
    for i, (shape, axes) in enumerate(AXES):
        for keep in (False, True) if i < 5 else (i % 2 == 0,):
            few = dtypes if i < 3 else dtypes[:2]
            tag = f"{i} axes {axes}{' keep' if keep else ''}"
            dims = {"N": 3} if "N" in shape else {}
            yield case(op, few, {arg: t(*shape, dist=dist), "axis": const(axes)}, {"keep_dims": keep}, tol=tol, dims=dims, special=special, tag=tag)
    yield case(op, dtypes[:2], {arg: t("N", dist=dist), "axis": const(0, "int64")}, {}, tol=tol, dims={"N": (10007, 0, 1, 255, 256, 257, 65537)}, special=special, tag="long")


def arg_reduction(op):
    for i, (shape, axis) in enumerate(((("N", 5, 7), 2), (("N", 5, 7), 0), (("N", 5, 7), -2), (("N",), 0), (("N", 1030), 1), ((1030, "N"), 0))):
        sizes = {"N": 3} if axis not in (0,) else {"N": (3, 1, 7)}
        outs = ("int64", "int32") + (("int16", "uint16") if op == "ArgMax" else ())
        for out in outs if i == 0 else ("int64",):
            yield case(op, REALS if i < 2 else ("float32",), {"input": t(*shape), "dimension": const(axis)}, {"output_type": out}, dims=sizes, tag=f"{i} axis {axis} {out}", special="finite")
    yield case(op, ("float32", "float16", "int32"), {"input": t(6, 9), "dimension": const(1)}, {"output_type": "int64"}, tag="NaN")
    yield case(op, BOOL, {"input": t(6, 9), "dimension": const(1)}, {"output_type": "int64"}, tag="bool")


def checks():
    """Numbers that are refused, and counted."""
    for op in ("CheckNumerics", "CheckNumericsV2"):
        yield case(op, FLOATS, {"tensor": t("N", 7)}, {"message": "these"}, tol=EXACT, dims={"N": (5, 0, 1, 4099)}, special=False)
        for tag, bad in (("infinity", [1.0, float("inf")]), ("NaN", [float("nan"), 1.0]), ("both", [float("-inf"), float("nan"), float("inf")])):
            yield case(op, FLOATS, {"tensor": const(bad, None)}, {"message": "these"}, tag=tag, refused=True)
    for dist in (normal(), uniform(-10.0, 10.0)):
        for bins in (1, 5, 1000, 3000):
            inputs = {"values": t("N", dist=dist), "value_range": const([-1.5, 1.7], None), "nbins": const(bins)}
            yield case("HistogramFixedWidth", ("float32", "float64"), inputs, dims={"N": (5, 0, 1, 40999)}, special=False, tag=f"{dist.name} {bins}")
    infinite = {"values": const([float("inf"), float("-inf"), 0.0, 1.0, 5.0, -0.0], None), "value_range": const([0, 5], None), "nbins": const(5)}
    yield case("HistogramFixedWidth", ("float32", "float64"), infinite, tag="infinities")
    for tag, ends, bins in (("range", [5, 5], 5), ("bins", [1, 5], 0)):
        yield case("HistogramFixedWidth", ("float32",), {"values": t(3), "value_range": const(ends, None), "nbins": const(bins)}, tag=tag, special=False, refused=True)


CASES = [
    *checks(),
    *reduction("Sum", FLOATS + ("int32", "int64") + COMPLEX, ACCUM, special="finite"),
    *reduction("Mean", FLOATS + ("int32", "int64"), ACCUM, special="finite"),
    *reduction("Prod", FLOATS + ("int32", "int64"), ACCUM, dist=uniform(0.9, 1.1), special=False),
    *reduction("Max", REALS, EXACT),
    *reduction("Min", REALS, EXACT),
    *reduction("Any", BOOL, EXACT),
    *reduction("All", BOOL, EXACT),
    *arg_reduction("ArgMax"),
    *arg_reduction("ArgMin"),
    case("EuclideanNorm", FLOATS, {"input": t("N", 5, 7), "axis": const([1])}, {"keep_dims": False}, dims={"N": 3}, special=False),
    case("L2Loss", FLOATS, {"t": t("N", 7)}, dims={"N": (5, 0, 1, 4099)}, special=False),
    case("Sum", INTS, {"input": t("N", 5, 7), "axis": const([0, 2])}, {"keep_dims": False}, dims={"N": 3}, tag="all integers"),
    case("Sum", ("float32",), {"input": t(4096, dist=normal(1.0, 1000.0)), "axis": const([0])}, {"keep_dims": False}, tag="far from zero", special=False),
    case("Max", ("float32",), {"input": t("N", 33, dist=distinct()), "axis": const([1])}, {"keep_dims": False}, tol=EXACT, dims={"N": 300}, tag="rows"),
]
