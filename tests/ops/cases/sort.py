"""Where, TopK, search in sorted rows, partitions and stitches."""
from table import BOOL, EXACT, FLOATS, REALS, case, const, distinct, t, uniform

NO_INT32 = tuple(d for d in REALS if d != "int32")


def cases():
    for shape in (("N",), (3, "N"), (2, "N", 5)):
        yield case("Where", BOOL, {"condition": t(*shape)}, tol=EXACT, dims={"N": (7, 0, 1, 300)}, tag=f"{len(shape)}")
    yield case("Where", BOOL, {"condition": t(30011)}, tol=EXACT, tag="long")
    yield case("Where", ("float32", "int64", "int8", "complex64", "float64", "uint8"), {"condition": t(5, 7, dist=uniform(0, 3))}, tol=EXACT, tag="numbers", special="finite")
    for width, k in ((9, 3), (300, 300), (1, 1), (700, 5), (12, 0)):
        few = REALS if width == 9 else ("float32", "bfloat16", "int64")
        yield case("TopKV2", few, {"input": t(3, width), "k": const(k)}, {"sorted": True}, tol=EXACT, tag=f"{width} {k}", special="finite")
    yield case("TopKV2", REALS, {"input": t(2, 5000), "k": const(40)}, {"sorted": True}, tol=EXACT, tag="long", special="finite")
    yield case("TopKV2", ("float32",), {"input": t(9001, dist=distinct()), "k": const(9001)}, {"sorted": True}, tol=EXACT, tag="all", special=False)
    yield case("TopKV2", ("float32",), {"input": t(3), "k": const(4)}, {"sorted": True}, tag="too many", refused=True)
    rows = const([[1, 2, 2, 5, 9], [0, 3, 4, 4, 4]], None)
    for op in ("LowerBound", "UpperBound"):
        for out in ("int32", "int64"):
            yield case(op, REALS if out == "int32" else ("float32",), {"sorted_inputs": rows, "values": t(2, 6, dist=uniform(0, 11))}, {"out_type": out}, tol=EXACT, tag=out, special=False)
    for dtype in ("int32", "int64"):
        for k in (1, 3):
            yield case("InTopKV2", (dtype,), {"predictions": t(6, 9, dtype="float32"), "targets": const([0, 8, 3, 9, -1, 4], None), "k": const(k, None)}, tag=f"{dtype} {k}")
    moved = ("float32", "int64", "bool", "bfloat16", "complex64", "int32")
    yield case("DynamicPartition", moved, {"data": t(7, 3), "partitions": const([2, 0, 0, 3, 2, 2, 0])}, {"num_partitions": 5}, tol=EXACT)
    yield case("DynamicPartition", ("float32",), {"data": t(2, 3, 2), "partitions": const([[1, 0, 1], [1, 1, 0]])}, {"num_partitions": 2}, tol=EXACT, tag="matrix")
    yield case("DynamicStitch", moved, {"indices": [const([0, 3, 1]), const([[2, 5], [3, 4]])], "data": [t(3, 4), t(2, 2, 4)]}, tol=EXACT)
    yield case("DynamicStitch", ("float32",), {"indices": [const(1), const([0, 2])], "data": [t(), t(2)]}, tol=EXACT, tag="scalars")


CASES = [*cases()]
