"""Array ops: elements moved, repeated, joined, cut, reordered; diagonals; what is made from a shape."""
from table import BOOL, COMPLEX, EXACT, FLOATS, REALS, Tol, case, const, t, ulps, var

ALL = REALS + BOOL + COMPLEX + ("complex128",)
FEW = ("float32", "bool", "bfloat16", "complex128", "int64", "uint8", "int32")
NO_INT32 = tuple(d for d in FEW if d != "int32")
MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def masks(*values):
    return dict(zip(MASKS, values))


def transposes():
    yield case("Transpose", ALL, {"x": t("N", 5, 7), "perm": const([2, 0, 1])}, tol=EXACT, dims={"N": 3})
    for shape, perm in (
        ((65, 33), [1, 0]), ((3, 1, 4), [2, 1, 0]), ((2, 9, 130, 5), [0, 2, 1, 3]), ((2, 3, 4, 5), [0, 3, 1, 2]), ((2, 30, 40, 50), [0, 2, 3, 1]),
        ((2, 3, 4, 5, 6), [4, 2, 0, 3, 1]), ((2, 1, 3, 2, 1, 2, 3), [6, 3, 5, 0, 2, 4, 1]), ((), []), ((7,), [0]), ((4, 5), [0, 1]), ((3, 4), [-1, -2]),
    ):
        yield case("Transpose", FEW, {"x": t(*shape), "perm": const(perm, "int64" if len(perm) == 3 else "int32")}, tol=EXACT, tag=f"{shape} {perm}", special=False)
    yield case("Transpose", ("float32",), {"x": t(3, 4), "perm": const([0, 0])}, tag="repeated axis", refused=True)


def slices():
    yield case("Slice", NO_INT32, {"input": t("N", 5, 7), "begin": const([0, 1, 2]), "size": const([-1, 3, 4])}, tol=EXACT, dims={"N": 3})
    yield case("Slice", ("float32", "uint8"), {"input": t(9, 64), "begin": const([1, 0], "int64"), "size": const([7, 64], "int64")}, tol=EXACT, tag="rows")
    yield case("Slice", ("float32",), {"input": t(3, 4), "begin": const([0, 0]), "size": const([-1, -1])}, tol=EXACT, tag="all")
    yield case("Slice", ("float32",), {"input": t(3, 4), "begin": const([0, 3]), "size": const([1, 2])}, tag="outside", refused=True)
    specs = (
        ("plain", (4, 6, 8), [1, 2, 0], [3, 6, 8], [1, 2, 3], masks(0, 0, 0, 0, 0)),
        ("backwards", (4, 6, 8), [3, -1, 7], [0, -7, 1], [-1, -2, -3], masks(0, 0, 0, 0, 0)),
        ("masked", (4, 6, 8), [1, 9, 2], [3, 9, 9], [1, -1, 1], masks(2, 2, 0, 0, 0)),
        ("new axis, ellipsis, dropped", (4, 6, 8), [0, 0, 0, 2], [0, 0, 0, 3], [1, 1, 1, 1], masks(0, 0, 2, 1, 8)),
        ("index", (5, 3), [-2], [-1], [1], masks(0, 0, 0, 0, 1)),
        ("clamped", (5,), [-100], [100], [2], masks(0, 0, 0, 0, 0)),
        ("empty", (5, 3), [3, 0], [3, 3], [1, 1], masks(0, 0, 0, 0, 0)),
        ("all", (5, 3), [0, 0], [0, 0], [1, 1], masks(3, 3, 0, 0, 0)),
        ("scalar", (), [], [], [], masks(0, 0, 0, 0, 0)),
    )
    for tag, shape, begin, end, strides, m in specs:
        inputs = {"begin": const(begin), "end": const(end), "strides": const(strides)}
        if begin:
            yield case("StridedSlice", ALL if tag == "plain" else FEW, {"input": t(*shape), **inputs}, m, tol=EXACT, tag=tag)
    for tag, shape, begin, end, strides, m, dy in (
        ("plain", [4, 6, 8], [1, 2, 0], [3, 6, 8], [1, 2, 3], masks(0, 0, 0, 0, 0), (2, 2, 3)),
        ("backwards", [4, 6], [3, -1], [0, -7], [-1, -2], masks(0, 0, 0, 0, 0), (3, 3)),
        ("dropped", [4, 6], [0, 2], [0, 3], [1, 1], masks(1, 1, 0, 0, 2), (4,)),
        ("all", [4, 6], [0, 0], [0, 0], [1, 1], masks(3, 3, 0, 0, 0), (4, 6)),
        ("reversed", [4, 6], [0, 0], [0, 0], [1, -1], masks(3, 3, 0, 0, 0), (4, 6)),
    ):
        inputs = {"shape": const(shape), "begin": const(begin), "end": const(end), "strides": const(strides)}
        yield case("StridedSliceGrad", FEW, {**inputs, "dy": t(*dy)}, m, tol=EXACT, tag=tag)
        del inputs["shape"]
        yield case("TensorStridedSliceUpdate", FEW, {"input": t(*shape), **inputs, "value": t(*dy)}, m, tol=EXACT, tag=tag)
        yield case("ResourceStridedSliceAssign", ("float32", "bfloat16", "bool", "int64"), {"ref": var(t(*shape)), **inputs, "value": t(*dy)}, m, tol=EXACT, tag=tag)
    # The value broadcasts.
    for tag, shape, begin, end, m, value in (
        ("row", (4, 6), [1, 0], [3, 6], masks(0, 0, 0, 0, 0), (6,)), ("column", (4, 6), [1, 0], [3, 6], masks(0, 0, 0, 0, 0), (2, 1)),
        ("ones ahead", (4, 6), [1, 0], [3, 6], masks(0, 0, 0, 0, 0), (1, 1, 1, 6)), ("middle dropped", (3, 4, 5), [0, 2, 0], [3, 3, 5], masks(0, 0, 0, 0, 2), (3, 1)),
        ("new axis", (4, 6), [0, 0, 0], [4, 0, 6], masks(0, 0, 0, 2, 0), (1, 6)), ("scalar", (4, 6), [1, 1], [3, 5], masks(0, 0, 0, 0, 0), ()),
    ):
        inputs = {"begin": const(begin), "end": const(end), "strides": const([1] * len(begin)), "value": t(*value)}
        yield case("ResourceStridedSliceAssign", ("float32", "int64"), {"ref": var(t(*shape)), **inputs}, m, tol=EXACT, tag=f"broadcast {tag}")
        yield case("TensorStridedSliceUpdate", ("float32", "int32"), {"input": t(*shape), **inputs}, m, tol=EXACT, tag=f"broadcast {tag}")
    nothing = {"begin": const([0, 0]), "end": const([4, 0]), "strides": const([1, 1])}
    # TensorFlow looks at no value for an empty slice.
    yield case("TensorStridedSliceUpdate", ("float32",), {"input": t(4, 6), **nothing, "value": t(2, 3)}, masks(0, 0, 0, 0, 0), tol=EXACT, tag="nothing")
    yield case("ResourceStridedSliceAssign", ("float32",), {"ref": var(t(4, 6)), **nothing, "value": t(2, 3)}, masks(0, 0, 0, 0, 0), tol=EXACT, tag="nothing")
    yield case("StridedSliceGrad", ("float32",), {"shape": const([4, -6]), **nothing, "dy": t(4, 0)}, masks(0, 0, 0, 0, 0), tag="negative", refused=True)


def joins():
    for axis in (0, 1, -1):
        sizes = [[3, 4, 5], [3, 4, 5], [3, 4, 5]]
        for s, n in zip(sizes, (2, 1, 7)):
            s[axis] = n
        yield case("ConcatV2", tuple(d for d in ALL if d != "int32"), {"values": [t(*s) for s in sizes], "axis": const(axis)}, tol=EXACT, tag=f"axis {axis}")
    yield case("ConcatV2", ("float32", "uint8"), {"values": [t(0, 3), t("N", 3), t(2, 3)], "axis": const(0, "int64")}, tol=EXACT, dims={"N": 4}, tag="empty")
    yield case("ConcatV2", ("float32", "float16"), {"values": [t(65, 33 + i) for i in range(12)], "axis": const(1)}, tol=EXACT, tag="many")
    yield case("ConcatV2", ("float32",), {"values": [t(2, 3), t(3, 3)], "axis": const(1)}, tag="unequal", refused=True)
    yield case("Concat", ("float32", "int8"), {"concat_dim": const(1), "values": [t(2, 3), t(2, 4)]}, tol=EXACT)
    for axis in (0, 1, -1):
        yield case("Pack", FEW, {"values": [t("N", 5)] * 3}, {"axis": axis}, tol=EXACT, dims={"N": 4}, tag=f"axis {axis}")
        few = tuple(d for d in FEW if d not in ("int32", "int64"))
        shape = (3, 3, 3)
        yield case("Unpack", few, {"value": t(*shape)}, {"axis": axis, "num": 3}, tol=EXACT, tag=f"axis {axis}")
        yield case("Split", FEW, {"axis": const(axis), "value": t(6, "N" if axis == 0 else 6, 6)}, {"num_split": 3}, tol=EXACT, dims={"N": 4} if axis == 0 else {}, tag=f"axis {axis}")
        yield case("SplitV", FEW, {"value": t(9, 9), "size_splits": const([2, -1, 3]), "axis": const(axis)}, {"num_split": 3}, tol=EXACT, tag=f"axis {axis}")
    yield case("Pack", FEW, {"values": [t(), t(), t(), t()]}, {"axis": 0}, tol=EXACT, tag="scalars")
    yield case("Split", ("float32",), {"axis": const(0), "value": t(5)}, {"num_split": 2}, tag="uneven", refused=True)


def borders():
    pads = const([[1, 2], [0, 3]])
    yield case("Pad", ALL, {"input": t("N", 5), "paddings": pads}, tol=EXACT, dims={"N": 4})
    yield case("PadV2", ALL, {"input": t("N", 5), "paddings": pads, "constant_values": t()}, tol=EXACT, dims={"N": 4})
    yield case("Pad", FEW, {"input": t(2, 7, 6, 3), "paddings": const([[0, 0], [1, 1], [2, 0], [0, 0]], "int64")}, tol=EXACT, tag="image")
    yield case("Pad", ("float32",), {"input": t(2), "paddings": const([[-1, 0]])}, tag="negative", refused=True)
    for mode in ("REFLECT", "SYMMETRIC"):
        for tag, shape, p in (("1", (5,), [[2, 3]]), ("2", (4, 5), [[1, 2], [3, 0]]), ("image", (2, 5, 4, 3), [[0, 0], [2, 1], [1, 3], [0, 0]])):
            yield case("MirrorPad", ALL if tag == "2" else FEW, {"input": t(*shape), "paddings": const(p)}, {"mode": mode}, tol=EXACT, tag=f"{mode} {tag}")
            padded = [n + a + b for n, (a, b) in zip(shape, p)]
            yield case("MirrorPadGrad", ("float32", "float16", "bfloat16", "float64", "complex64", "int64"), {"input": t(*padded), "paddings": const(p)}, {"mode": mode}, tag=f"{mode} {tag}", special=False)
    for lower, upper in ((1, 2), (-1, 0), (0, -1), (0, 0), (-1, -1)):
        yield case("MatrixBandPart", ALL if lower == 1 else ("float32", "bool"), {"input": t(2, "N", 7), "num_lower": const(lower, "int64"), "num_upper": const(upper, "int64")}, tol=EXACT, dims={"N": (5, 2, 9)}, tag=f"{lower} {upper}")


def repeats():
    for shape, to in (((3, 1), [2, 3, 4]), ((), [5]), ((1,), [0]), ((4,), [3, 4]), ((1, 7, 1, 5), [3, 7, 2, 5]), ((3, 4), [3, 4]), ((), [])):
        yield case("BroadcastTo", ALL if to == [2, 3, 4] else FEW, {"input": t(*shape), "shape": const(to)}, tol=EXACT, tag=f"{shape} {to}")
    yield case("BroadcastTo", ("float32",), {"input": t(3), "shape": const([4])}, tag="unfit", refused=True)
    tiled = ("float32", "float16", "bfloat16", "bool", "complex64", "int16", "int32", "int64", "float64")
    for shape, by in (((3, 4), [2, 3]), ((5,), [4]), ((), []), ((2, 3, 4), [1, 2, 1]), ((2, 2), [0, 3]), ((1, 2, 1, 3), [2, 1, 3, 2])):
        yield case("Tile", tiled, {"input": t(*shape), "multiples": const(by)}, tol=EXACT, tag=f"{shape} {by}")
    for to in ([3, 5], [], [0], [1021], [7, 3, 3]):
        yield case("Fill", tuple(d for d in ALL if d != "int32" and d not in ("uint32", "uint64")), {"dims": const(to), "value": t()}, tol=EXACT, tag=f"{to}")
    yield case("Snapshot", FEW, {"input": t(3, 5)}, tol=EXACT)
    yield case("DeepCopy", ("float32", "int64", "uint8"), {"x": t(3, 5)}, tol=EXACT)
    for depth, axis in ((5, -1), (3, 0), (4, 1), (0, -1)):
        for index in ("int32", "int64", "uint8"):
            values = const([[0, 1, 4], [3, 2, 9 if index == "uint8" else -1]], index)
            few = ALL if index == "int32" and depth == 5 else ("float32", "bool")
            yield case("OneHot", few, {"indices": values, "depth": const(depth), "on_value": t(), "off_value": t()}, {"axis": axis}, tol=EXACT, tag=f"{depth} {axis} {index}")
    yield case("OneHot", ("float32",), {"indices": const([0, 127, -128, -1, 2], "int8"), "depth": const(256), "on_value": t(), "off_value": t()}, tol=EXACT, tag="int8")
    for start, limit, delta in ((0, 10, 3), (10, 0, -4), (3, 3, 1), (0, 100, 1), (5, 120, 7)):
        dtypes = FLOATS + ("int64",)
        yield case("Range", dtypes, {"start": const(start, None), "limit": const(limit, None), "delta": const(delta, None)}, tol=EXACT, tag=f"{start} {limit} {delta}")
    yield case("Range", FLOATS, {"start": const(0.3, None), "limit": const(1000.0, None), "delta": const(0.7, None)}, tol=ulps(1), tag="fractions")
    yield case("Range", ("float32",), {"start": const(0.0, None), "limit": const(1.0, None), "delta": const(0.0, None)}, tag="no step", refused=True)


def orders():
    for axes in ([0], [1], [0, 2], [-1], []):
        yield case("ReverseV2", ALL if axes == [0, 2] else FEW, {"tensor": t("N", 4, 5), "axis": const(axes)}, tol=EXACT, dims={"N": 3}, tag=f"{axes}")
    yield case("Reverse", ("float32", "int32", "bool"), {"tensor": t(3, 4, 5), "dims": const([True, False, True], "bool")}, tol=EXACT)
    for shift, axis in (([1], [0]), ([-2, 3], [1, 2]), ([5, 2], [0, 0]), ([0], [1]), ([100, -7, 2], [0, 1, 2])):
        yield case("Roll", ("float32", "bfloat16", "complex64", "int32", "int64"), {"input": t("N", 4, 5), "shift": const(shift), "axis": const(axis)}, tol=EXACT, dims={"N": 3}, tag=f"{shift} {axis}")
    for seq, batch, lengths in ((1, 0, [0, 3, 5]), (0, 1, [1, 3, 2, 0, 3]), (2, 0, [4, 2, 1]), (1, 2, [1, 5, 0, 2])):
        for index in ("int32", "int64"):
            yield case("ReverseSequence", ("float32", "bool", "float64", "int8"), {"input": t(3, 5, 4, 2), "seq_lengths": const(lengths, index)}, {"seq_dim": seq, "batch_dim": batch}, tol=EXACT, tag=f"{seq} {batch} {index}")
    space = ("float32", "float16", "bfloat16", "float64", "int32", "uint8")
    yield case("SpaceToBatchND", space, {"input": t(2, 4, 6, 3), "block_shape": const([2, 3]), "paddings": const([[0, 0], [0, 0]])}, tol=EXACT, tag="even")
    yield case("SpaceToBatchND", space, {"input": t(2, 5, 7, 3), "block_shape": const([2, 3]), "paddings": const([[1, 0], [2, 3]])}, tol=EXACT, tag="padded")
    yield case("SpaceToBatchND", space, {"input": t(2, 5), "block_shape": const([4]), "paddings": const([[1, 2]])}, tol=EXACT, tag="line")
    yield case("BatchToSpaceND", space, {"input": t(12, 2, 3, 5), "block_shape": const([2, 3]), "crops": const([[0, 0], [0, 0]])}, tol=EXACT, tag="even")
    yield case("BatchToSpaceND", space, {"input": t(12, 2, 3, 5), "block_shape": const([2, 3]), "crops": const([[1, 0], [2, 3]])}, tol=EXACT, tag="cropped")
    yield case("SpaceToBatch", space[:4], {"input": t(2, 3, 6, 3), "paddings": const([[1, 0], [0, 0]])}, {"block_size": 2}, tol=EXACT)
    yield case("BatchToSpace", space[:4], {"input": t(8, 2, 3, 5), "crops": const([[1, 0], [0, 1]])}, {"block_size": 2}, tol=EXACT)
    yield case("SpaceToDepth", space, {"input": t(2, 4, 6, 3)}, {"block_size": 2, "data_format": "NHWC"}, tol=EXACT)
    yield case("DepthToSpace", space, {"input": t(2, 2, 3, 8)}, {"block_size": 2, "data_format": "NHWC"}, tol=EXACT)


def diagonals():
    matrix = tuple(d for d in ALL if d != "complex128")
    yield case("Diag", ("float32", "float16", "complex64", "int32", "int64"), {"diagonal": t("N", 3)}, tol=EXACT, dims={"N": (2, 1, 5)})
    yield case("DiagPart", ("float32", "float16", "complex64", "int32", "int64"), {"input": t("N", 3, "N", 3)}, tol=EXACT, dims={"N": (2, 1, 5)})
    yield case("MatrixDiag", matrix, {"diagonal": t(2, "N")}, tol=EXACT, dims={"N": (4, 1, 7)})
    yield case("MatrixDiagPart", matrix, {"input": t(2, "N", 5)}, tol=EXACT, dims={"N": (4, 1, 7)})
    yield case("MatrixSetDiag", matrix, {"input": t(2, 4, 5), "diagonal": t(2, 4)}, tol=EXACT)
    for align in ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"):
        few = ("float32", "bool", "int32", "bfloat16")
        for k, shape in (([-1, 2], (2, 4, 4)), ([1, 3], (2, 3, 2)), ([-2, -1], (2, 2, 3)), ([0, 0], (2, 3)), ([1], (2, 3)), ([-2], (3,))):
            band = const(k if len(k) > 1 else k[0])
            yield case("MatrixDiagV3", few, {"diagonal": t(*shape), "k": band, "num_rows": const(-1), "num_cols": const(-1), "padding_value": t()}, {"align": align}, tol=EXACT, tag=f"{align} {k}")
        yield case("MatrixDiagV3", few, {"diagonal": t(2, 3), "k": const(-1), "num_rows": const(4), "num_cols": const(5), "padding_value": t()}, {"align": align}, tol=EXACT, tag=f"{align} sized")
        for k, diagonal in (([-1, 2], (2, 4, 4)), ([0, 0], (2, 4)), ([2], (2, 4)), ([-3, -1], (2, 3, 3)), ([-3, 5], (2, 9, 4))):
            band = const(k if len(k) > 1 else k[0])
            yield case("MatrixDiagPartV3", few, {"input": t(2, 4, 6), "k": band, "padding_value": t()}, {"align": align}, tol=EXACT, tag=f"{align} {k}")
            yield case("MatrixSetDiagV3", few, {"input": t(2, 4, 6), "diagonal": t(*diagonal), "k": band}, {"align": align}, tol=EXACT, tag=f"{align} {k}")
    yield case("MatrixDiagPartV2", ("float32",), {"input": t(4, 6), "k": const([-1, 1]), "padding_value": t()}, tol=EXACT)


def vectors():
    cubic = tuple(d for d in ALL if d not in ("bool", "complex64", "complex128"))
    yield case("Cross", cubic, {"a": t("N", 3), "b": t("N", 3)}, tol=Tol("norm", 1e-15, 1e-6, 2e-3, 1.6e-2), dims={"N": (5, 0, 1, 300)}, special=False)
    yield case("Cross", ("float32",), {"a": t(3), "b": t(3)}, tol=Tol("norm", 0, 1e-6), special=False, tag="one")
    yield case("Cross", ("float32",), {"a": t(2, 4), "b": t(2, 4)}, special=False, tag="of four", refused=True)
    yield case("Cross", ("float32",), {"a": t(3), "b": t(2, 3)}, special=False, tag="shapes", refused=True)
    for shape, perm in (((3, 5), [1, 0]), ((2, 3, 4), [2, 0, 1]), ((2, 3, 4), [0, 1, 2]), ((), []), ((70, 130), [1, 0])):
        yield case("ConjugateTranspose", ("complex64", "complex128", "float32", "bool", "int64"), {"x": t(*shape), "perm": const(perm)}, tol=EXACT, tag=str(perm) + str(shape), special=False)


CASES = [*vectors(), *transposes(), *slices(), *joins(), *borders(), *repeats(), *orders(), *diagonals()]
