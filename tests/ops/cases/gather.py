"""Gather, scatter and segment ops."""
import numpy as np

from table import BOOL, COMPLEX, EXACT, FLOATS, REALS, case, const, t, uniform, var

ALL = REALS + BOOL + COMPLEX
FEW = ("float32", "bfloat16", "float64", "int64", "uint8", "complex64")
NO_INT32 = tuple(d for d in ALL if d != "int32")


def without(dtypes, *names):
    return tuple(d for d in dtypes if d not in names)


def index(*shape, high, dtype="int32"):
    return t(*shape, dist=uniform(0, high), dtype=dtype, special=False)


def gathers():
    for dtype in ("int32", "int64"):
        for i, (params, indices, axis, batch) in enumerate((
            ((9, "N"), (7,), 0, 0), (("N", 9, 5), (4, 3), 1, 0), (("N", 9), (), 1, 0), ((3, 9, 4), (3, 5), 1, 1),
            ((3, 4, 9, 2), (3, 5, 2), 2, 1), ((2, 3, 9), (2, 3, 6), -1, 2), ((9, 1030), (70,), 0, 0), ((300,), (1000,), 0, 0),
        )):
            few = ALL if i == 0 and dtype == "int32" else FEW
            yield case("GatherV2", few, {"params": t(*params), "indices": index(*indices, high=9, dtype=dtype), "axis": const(axis)}, {"batch_dims": batch}, tol=EXACT, dims={"N": 6} if "N" in params else {}, tag=f"{i} {dtype}")
        yield case("Gather", FEW, {"params": t(9, 5), "indices": index(4, 3, high=9, dtype=dtype)}, tol=EXACT, tag=dtype)
        for i, (params, indices) in enumerate((((9, 9, 4), (5, 2)), ((9, 4), (5, 1)), ((9, 9, 9), (2, 3, 3)), ((9,), (4, 1)))):
            yield case("GatherNd", ALL if i == 0 else FEW, {"params": t(*params), "indices": index(*indices, high=9, dtype=dtype)}, tol=EXACT, tag=f"{i} {dtype}")
        resource = without(FEW, "uint8")
        yield case("ResourceGather", resource, {"resource": var(t(9, 5)), "indices": index(4, 3, high=9, dtype=dtype)}, {"dtype": "$T"}, tol=EXACT, tag=dtype)
        yield case("ResourceGather", ("float32",), {"resource": var(t(9, 5)), "indices": index(4, 3, high=9, dtype=dtype)}, {"dtype": "$T", "batch_dims": -1}, tag=f"{dtype} negative", refused=True)
        yield case("ResourceGatherNd", without(resource, "complex64"), {"resource": var(t(9, 9, 5)), "indices": index(4, 2, high=9, dtype=dtype)}, {"dtype": "$T"}, tol=EXACT, tag=dtype)


def scatters():
    numbers = without(NO_INT32, "bool")
    for dtype in ("int32", "int64"):
        yield case("ScatterNd", NO_INT32, {"indices": index("N", 1, high=4, dtype=dtype), "updates": t("N", 3), "shape": const([6, 3], dtype)}, dims={"N": 9}, special=False, tag=f"rows {dtype}")
        yield case("ScatterNd", FEW, {"indices": index(50, 2, high=4, dtype=dtype), "updates": t(50), "shape": const([4, 5], dtype)}, special=False, tag=f"elements {dtype}")
    yield case("ScatterNd", ("float32", "int64"), {"indices": index(9000, 1, high=300), "updates": t(9000, 3), "shape": const([400, 3])}, special=False, tag="many")
    yield case("ScatterNd", ("float32",), {"indices": index(5000, 1, high=1), "updates": t(5000), "shape": const([1])}, special=False, tag="one row")
    yield case("ScatterNdNonAliasingAdd", FEW, {"input": t(6, 3), "indices": index(9, 1, high=6), "updates": t(9, 3)}, special=False)
    for op in ("Update", "Add", "Sub", "Max", "Min"):
        types = numbers if op in ("Add", "Update") else without(numbers, "complex64") if op in ("Max", "Min") else FEW
        types = types + (BOOL if op == "Update" else ())
        inputs = {"indices": index("N", 1, high=6), "updates": t("N", 3)}
        yield case(f"TensorScatter{op}", types, {"tensor": t(6, 3), **inputs}, dims={"N": 9}, special=False)
        yield case(f"TensorScatter{op}", ("float32", "int64"), {"tensor": t(6, 5), "indices": index(70, 2, high=5, dtype="int64"), "updates": t(70)}, special=False, tag="elements")
        small = ("float32", "bfloat16", "float64", "int64")
        yield case(f"ResourceScatterNd{op}", small, {"ref": var(t(6, 3)), **inputs}, dims={"N": 9}, special=False)
    for op in ("Update", "Add", "Sub", "Mul", "Div", "Max", "Min"):
        small = ("float32", "bfloat16", "float64", "int64") if op != "Div" else ("float32", "bfloat16", "float64")
        value = uniform(0.5, 1.5) if op in ("Mul", "Div") else None
        for dtype in ("int32", "int64"):
            yield case(f"ResourceScatter{op}", small, {"resource": var(t(6, 3)), "indices": index("N", high=6, dtype=dtype), "updates": t("N", 3, dist=value)}, dims={"N": 9}, special=False, tag=dtype)
        yield case(f"ResourceScatter{op}", ("float32", "int64") if op != "Div" else ("float32",), {"resource": var(t(6, 3)), "indices": const([4, 0, 2]), "updates": t(dist=value)}, special=False, tag="scalar")


def segments():
    numbers = without(ALL, "bool")
    for op in ("Sum", "Prod", "Max", "Min"):
        types = numbers if op in ("Sum", "Prod") else without(numbers, "complex64")
        value = uniform(0.5, 1.5) if op == "Prod" else None
        for dtype in ("int32", "int64"):
            ids = t("N", dist=uniform(0, 5), dtype=dtype, special=False)
            few = types if dtype == "int32" else FEW[:4]
            yield case(f"UnsortedSegment{op}", few, {"data": t("N", 3, dist=value), "segment_ids": ids, "num_segments": const(7)}, dims={"N": 9}, special=False, tag=dtype)
        yield case(f"UnsortedSegment{op}", ("float32", "bfloat16"), {"data": t(4, 5, 33, dist=value), "segment_ids": index(4, 5, high=3), "num_segments": const(3, "int64")}, special=False, tag="matrix")
        yield case(f"UnsortedSegment{op}", ("float32",), {"data": t(6, 4, dist=value), "segment_ids": const([0, -1, 2, -1, 0, 2]), "num_segments": const(3)}, special=False, tag="dropped")
    yield case("UnsortedSegmentSum", ("float32", "float16"), {"data": t(6000, 5), "segment_ids": index(6000, high=40), "num_segments": const(50)}, special=False, tag="many")
    yield case("UnsortedSegmentMax", ("float32", "float16"), {"data": t(70, 5), "segment_ids": index(70, high=4), "num_segments": const(5)}, tol=EXACT, tag="special")
    for op in ("Sum", "Mean", "Prod", "Max", "Min"):
        types = without(numbers, "complex64") if op in ("Max", "Min") else numbers
        types = FLOATS if op == "Mean" else types
        value = uniform(0.5, 1.5) if op == "Prod" else None
        for i, ids in enumerate(([0, 0, 1, 3, 3, 3], [2, 2, 2, 2, 5, 5])):
            yield case(f"Segment{op}", types if i == 0 else ("float32", "int32") if op != "Mean" else ("float32",), {"data": t(6, "N", dist=value), "segment_ids": const(ids, ("int32", "int64")[i])}, dims={"N": 4} if i == 0 else {"N": (33,)}, special=False, tag=f"{i}")
    for op in ("Sum", "Mean", "SqrtN"):
        inputs = {"data": t(9, "N"), "indices": const([3, 8, 0, 3, 1, 7]), "segment_ids": const([0, 0, 1, 3, 3, 3])}
        yield case(f"SparseSegment{op}", FLOATS, inputs, dims={"N": 4}, special=False)
        grad = {"grad": t(4, "N"), "indices": const([3, 8, 0, 3, 1, 7]), "segment_ids": const([0, 0, 1, 3, 3, 3]), "output_dim0": const(10)}
        yield case(f"SparseSegment{op}Grad", FLOATS, grad, dims={"N": 4}, special=False)
        yield case(f"SparseSegment{op}WithNumSegments", FLOATS, {**inputs, "num_segments": const(6)}, dims={"N": 4}, special=False)

    for dtype in ("int32", "int64"):
        for i, (indices, shape, values) in enumerate((([1, 3, 4], [6], (3,)), ([[0, 1], [2, 3]], [3, 4], (2,)), ([[0, 1], [2, 3]], [3, 4], ()), (2, [5], ()))):
            yield case("SparseToDense", ALL if i == 1 and dtype == "int32" else FEW, {"sparse_indices": const(indices, dtype), "output_shape": const(shape, dtype), "sparse_values": t(*values), "default_value": t()}, {"validate_indices": True}, tol=EXACT, tag=f"{i} {dtype}")
        counted = ("float32", "float64", "int32", "int64")
        for shape in ((50,), (4, 30)):
            for binary in (False, True):
                weights = {"weights": t(*shape, special=False)} if not binary else {"weights": const([], None)}
                yield case("DenseBincount", counted, {"input": index(*shape, high=9, dtype=dtype), "size": const(7, dtype), **weights}, {"binary_output": binary}, tag=f"{shape} {binary} {dtype}")
            yield case("DenseBincount", counted, {"input": index(*shape, high=9, dtype=dtype), "size": const(7, dtype), "weights": const([], None)}, {"binary_output": False}, tag=f"{shape} counts {dtype}")
    yield case("Bincount", counted, {"arr": index(5, 60, high=9), "size": const(8), "weights": t(5, 60, special=False)})
    yield case("Bincount", counted, {"arr": index(300, high=9), "size": const(8), "weights": const([], None)}, tag="counts")


def sparse_products():
    kinds = FLOATS + ("complex64", "complex128")
    for rows, inner, columns, n in ((3, 4, 5, 7), (1, 1, 1, 1), (50, 40, 33, 300), (7, 9, 0, 5), (5, 6, 3, 0), (300, 2, 1, 5000), (2, 300, 70, 5000), (2, 3, 1, 200000)):
        r = np.random.default_rng(n)
        # Unordered, and some places twice.
        places = np.stack([r.integers(0, rows, n), r.integers(0, inner, n)], 1)
        for a in (False, True):
            for b in (False, True):
                for dtype in ("int32", "int64"):
                    if n > 10 and (a != b or dtype == "int32"):
                        continue
                    inputs = {
                        "a_indices": const((places[:, ::-1] if a else places).reshape(n, 2), dtype), "a_values": t(n, special=False),
                        "a_shape": const([inner, rows] if a else [rows, inner], "int64"), "b": t(*((columns, inner) if b else (inner, columns)), special=False),
                    }
                    few = kinds if n < 1000 else ("float32", "complex64")
                    yield case("SparseTensorDenseMatMul", few, inputs, {"adjoint_a": a, "adjoint_b": b}, tag=f"{rows} {inner} {columns} {n} {a} {b} {dtype}")
    right = {"a_indices": const([[0, 1], [2, 0]], "int64"), "a_values": t(2), "a_shape": const([3, 2], "int64"), "b": t(2, 4)}
    for tag, other in (("inner", {"b": t(3, 4)}), ("shape", {"a_shape": const([3], "int64")}), ("vector", {"b": t(2)}), ("count", {"a_values": t(3)})):
        yield case("SparseTensorDenseMatMul", ("float32",), {**right, **other}, tag=tag, special=False, refused=True)


CASES = [*gathers(), *scatters(), *segments(), *sparse_products()]
