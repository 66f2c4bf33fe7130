"""Running totals along an axis: inclusive or not, forwards or backwards; short, long and many lines."""
from table import ACCUM, COMPLEX, FLOATS, case, const, t, uniform

SHAPES = ((("N", 5), 0), (("N", 5), 1), ((3, "N", 4), -2), (("N",), 0), ((2, 2500), 1), ((3000, 2), 0), ((2, 9, 2100), 1))


def cumulative(op, dtypes, arg, dist=None):
    for i, (shape, axis) in enumerate(SHAPES):
        for exclusive, reverse in ((False, False), (True, False), (False, True), (True, True)) if i < 4 else ((False, False), (True, True)):
            attrs = {"exclusive": exclusive, "reverse": reverse}
            dims = {"N": (6, 0, 1)} if "N" in shape else {}
            few = dtypes if i == 0 else dtypes[:2]
            yield case(op, few, {arg: t(*shape, dist=dist), "axis": const(axis)}, attrs, tol=ACCUM, dims=dims, special=False, tag=f"{i} {axis} {exclusive} {reverse}")
    yield case(op, dtypes[:1], {arg: t(3, 4, dist=dist), "axis": const(2)}, {"exclusive": False, "reverse": False}, refused=True, tag="axis out of range")


CASES = [
    *cumulative("Cumsum", FLOATS + ("int32", "int64", "int8", "uint16") + COMPLEX, "x"),
    *cumulative("Cumprod", FLOATS + ("int32", "int64") + COMPLEX, "x", uniform(0.9, 1.1)),
    *cumulative("CumulativeLogsumexp", FLOATS, "x"),
]
