"""Softmax, cross-entropy, batch normalisation, bias: whatever works along rows or channels."""
import numpy as np

from table import ACCUM, CLOSE, FLOATS, INTS, case, const, normal, t, uniform

NN = ("float32", "float16", "bfloat16")

# (shape): short and long rows, rows that are no multiple of four, rows too long for registers, ranks 1 to 4.
ROWS = (("N", 10), ("N",), (3, "N"), (2, 3, "N", 5), ("N", 4096), ("N", 2500), ("N", 16400), (2, 4097))


def softmax(op):
    for i, shape in enumerate(ROWS):
        dims = {"N": 3} if i in (0, 3) else {"N": (7, 1, 64)} if i in (1, 2) else {"N": 2}
        dtypes = FLOATS if i in (0, 4, 5) else ("float32",)
        # The logarithm of a probability near 1 is as exact as the sum: to a rounding of 1.
        yield case(op, dtypes, {"logits": t(*shape, dist=normal(3.0))}, {}, tol=ACCUM if op == "LogSoftmax" else CLOSE, dims=dims if "N" in shape else {}, special=False, tag=f"{i}")
    yield case(op, FLOATS, {"logits": t(5, 64, dist=normal(2.0, 1000.0))}, {}, tol=ACCUM, special=False, tag="far from zero")
    yield case(op, ("float32",), {"logits": const([[float("-inf"), 1, 2, 3], [0, 0, 0, 0], [88, -88, 300, -300]], "float32")}, {}, tol=CLOSE, special=False, tag="minus infinity")


def dense_xent():
    for i, (a, b) in enumerate(((("N", 10), ("N", 10)), (("N", 10), (1, 10)), ((1, 10), ("N", 10)), (("N", 7), (7,)), ((7,), ("N", 7)), (("N", 1), (1, 5)), ((3, 1500), (3, 1500)))):
        yield case("SoftmaxCrossEntropyWithLogits", FLOATS if i == 0 else ("float32",), {"features": t(*a, dist=normal(2.0)), "labels": t(*b, dist=uniform(0.0, 1.0))}, {},
                   tol=ACCUM, dims={"N": 4} if "N" in a + b else {}, special=False, tag=f"{i}")
    yield case("SoftmaxCrossEntropyWithLogits", ("float32",), {"features": t(2, 3), "labels": t(2, 4)}, {}, special=False, refused=True, tag="shapes differ")
    yield case("SoftmaxCrossEntropyWithLogits", ("float32",), {"features": t(2, 3, 1), "labels": t(2, 3, 1)}, {}, special=False, refused=True, tag="rank 3")


def sparse_xent():
    for index in ("int32", "int64"):
        yield case("SparseSoftmaxCrossEntropyWithLogits", FLOATS, {"features": t(5, 10, dist=normal(2.0)), "labels": const([0, 9, 3, 3, 7], index)}, {}, tol=ACCUM, special=False, tag=index)
    yield case("SparseSoftmaxCrossEntropyWithLogits", ("float32",), {"features": t(2, 3000, dist=normal(2.0)), "labels": const([2999, 0], "int64")}, {}, tol=ACCUM, special=False, tag="long rows")
    yield case("SparseSoftmaxCrossEntropyWithLogits", ("float32",), {"features": t(2, 3), "labels": const([0, 1, 2])}, {}, special=False, refused=True, tag="rows differ")


# (shape, format): channels that are and are not a multiple of four, inner axes likewise, many rows, one element a channel.
BN = (((2, 3, 5, 4), "NHWC"), ((2, 3, 5, 7), "NHWC"), ((2, 3, 4, 4), "NCHW"), ((2, 6, 3, 5), "NCHW"), ((9, 13, 13, 16), "NHWC"), ((8, 40, 12, 12), "NCHW"), ((1, 1, 1, 3), "NHWC"), ((3, 5, 1, 1), "NCHW"))


def far_from_zero(x, scale, offset, mean, variance):
    n = x.size // x.shape[-1]
    m, v = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - m) / np.sqrt(v + 1e-3) * scale + offset, m, v * n / (n - 1), m, v


def batch_norm():
    for i, (shape, fmt) in enumerate(BN):
        c = shape[-1] if fmt == "NHWC" else shape[1]
        vec = {"scale": t(c, dtype="float32", dist=uniform(0.5, 2.0)), "offset": t(c, dtype="float32")}
        old = {"mean": t(c, dtype="float32"), "variance": t(c, dtype="float32", dist=uniform(0.5, 2.0))}
        x = {"x": t(*shape, dist=normal(2.0, 1.0))}
        for tag, attrs in (("training", {}), ("inference", {"is_training": False}), ("averaged", {"exponential_avg_factor": 0.25})):
            attrs = {"data_format": fmt, "epsilon": 1e-3, **attrs}
            # The CPU leaves the reserve spaces of inference as they are; the third's shape depends on its build.
            outputs = (0, 1, 2) if tag == "inference" else (0, 1, 2, 3, 4)
            yield case("FusedBatchNormV3", NN, {**x, **vec, **old}, attrs, tol=ACCUM, special=False, outputs=outputs, tag=f"{i} {fmt} {tag}")
        for training in (True, False) if fmt == "NHWC" else (True,):  # the CPU has no NCHW inference gradient
            saved = {"reserve_space_1": old["mean"], "reserve_space_2": old["variance"]}
            attrs = {"data_format": fmt, "epsilon": 1e-3, "is_training": training}
            args = {"y_backprop": t(*shape), **x, "scale": vec["scale"], **saved}
            yield case("FusedBatchNormGradV3", NN, {**args, "reserve_space_3": t(1, dtype="float32")}, attrs, tol=ACCUM, special=False, outputs=(0, 1, 2), tag=f"{i} {fmt} {'training' if training else 'inference'}")
            if i == 0:
                yield case("FusedBatchNormGradV2", NN, args, attrs, tol=ACCUM, special=False, outputs=(0, 1, 2), tag=f"{training}")
                yield case("FusedBatchNormGrad", ("float32",), args, attrs, tol=ACCUM, special=False, outputs=(0, 1, 2), tag=f"{training}")
    vec = {"scale": t(4, dtype="float32"), "offset": t(4, dtype="float32"), "mean": t(4, dtype="float32"), "variance": t(4, dtype="float32", dist=uniform(0.5, 2.0))}
    some = {"tol": ACCUM, "dims": {"N": 3}, "special": False, "outputs": (0, 1, 2)}
    yield case("FusedBatchNorm", ("float32",), {"x": t("N", 3, 2, 4), **vec}, {}, **some)
    yield case("FusedBatchNormV2", NN, {"x": t("N", 3, 2, 4), **vec}, {}, **some)
    yield case("FusedBatchNormV3", ("float32",), {"x": t("N", 3, 2, 4), **vec}, {"is_training": False}, **some, tag="sizes inference")
    # A variance taken about zero would be all rounding error here.
    yield case("FusedBatchNormV3", ("float32",), {"x": t(16, 9, 9, 4, dist=normal(1.0, 1e6)), **vec}, {"epsilon": 1e-3}, tol=ACCUM, special=False, outputs=(0, 1, 2, 3, 4), ref=far_from_zero, tag="far from zero")
    yield case("FusedBatchNormV3", ("float32",), {"x": t(2, 3, 2, 4), **vec, "mean": t(3, dtype="float32")}, {"is_training": False}, special=False, refused=True, tag="mean too short")


def bias():
    for i, (shape, fmt) in enumerate(((("N", 8), "NHWC"), (("N", 3, 5), "NHWC"), (("N", 3, 4, 6), "NHWC"), (("N", 3, 4, 5), "NCHW"), (("N", 4, 7), "NCHW"), (("N", 2, 3, 4, 4), "NCHW"), (("N", 5), "NCHW"))):
        c = shape[1] if fmt == "NCHW" else shape[-1]
        few = FLOATS + INTS + ("complex64",) if i in (0, 4) else ("float32", "float16")
        yield case("BiasAdd", few, {"value": t(*shape), "bias": t(c)}, {"data_format": fmt}, tol=CLOSE, dims={"N": 3}, special="finite", tag=f"{i} {fmt}")
        yield case("BiasAddGrad", FLOATS + ("int32",) if i in (0, 4) else ("float32",), {"out_backprop": t(*shape)}, {"data_format": fmt}, tol=ACCUM, dims={"N": 3}, special=False, tag=f"{i} {fmt}")
    yield case("BiasAddV1", ("float32",), {"value": t("N", 6), "bias": t(6)}, {}, tol=CLOSE, dims={"N": 3}, special=False)
    yield case("BiasAddGrad", ("float32", "float16"), {"out_backprop": t(6000, 12)}, {}, tol=ACCUM, special=False, tag="many rows")
    yield case("BiasAdd", ("float32",), {"value": t(2, 3), "bias": t(2)}, {}, special=False, refused=True, tag="wrong size")


def lrn():
    attrs = {"depth_radius": 2, "bias": 1.5, "alpha": 0.3, "beta": 0.75}
    for i, more in enumerate((attrs, {}, {**attrs, "beta": 1.0, "depth_radius": 0}, {**attrs, "depth_radius": 50})):
        x = {"input": t("N", 3, 2, 9)}
        yield case("LRN", ("float32", "float16") if i < 2 else ("float32",), x, more, tol=ACCUM, dims={"N": 2}, special=False, tag=f"{i}")
        # The gradient trusts that output_image is LRN(input_image); any values do to compare.
        args = {"input_grads": t(2, 3, 2, 9), "input_image": t(2, 3, 2, 9), "output_image": t(2, 3, 2, 9)}
        yield case("LRNGrad", ("float32", "float16") if i < 2 else ("float32",), args, more, tol=ACCUM, special=False, tag=f"{i}")
    yield case("LRN", ("float32",), {"input": t(2, 3, 4)}, {}, special=False, refused=True, tag="rank 3")


CASES = [
    *lrn(),
    *softmax("Softmax"),
    *softmax("LogSoftmax"),
    *dense_xent(),
    *sparse_xent(),
    *batch_norm(),
    *bias(),
]
