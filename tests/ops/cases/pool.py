"""Pooling, its gradients and second gradients."""
import numpy as np
from table import EXACT, FLOATS, REALS, case, const, distinct, t, uniform

SIZES = (
    ("SAME 3 2", (2, 7, 6, 3), (3, 3), (2, 2), "SAME"),
    ("VALID 2 2", (2, 6, 7, 4), (2, 2), (2, 2), "VALID"),
    ("SAME 2x3 1", (1, 5, 6, 2), (2, 3), (1, 1), "SAME"),
    ("VALID 2 3", (1, 8, 8, 5), (2, 2), (3, 3), "VALID"),
    ("all", (2, 5, 4, 3), (5, 4), (1, 1), "VALID"),
)
FEW = ("float32", "bfloat16")
ALLOWED = tuple(d for d in REALS if d not in ("uint32", "uint64"))


def out_size(n, k, s, padding):
    return -(-n // s) if padding == "SAME" else (n - k) // s + 1


def windows(sizes, k, s, padding):
    """Of each output position along each axis: first and one past the last input position."""
    for n, a, b in zip(sizes, k, s):
        out = out_size(n, a, b, padding)
        before = max((out - 1) * b + a - n, 0) // 2 if padding == "SAME" else 0
        yield [(max(o * b - before, 0), min(o * b - before + a, n)) for o in range(out)]


def pooled_max(x, k, s, padding):
    """The largest of each window and its place in its image."""
    n, h, w, c = x.shape
    rows, cols = windows((h, w), k, s, padding)
    y = np.zeros((n, len(rows), len(cols), c))
    where = np.zeros(y.shape, np.int64)
    places = np.arange(h * w * c).reshape(h, w, c)
    for i, (a, b) in enumerate(rows):
        for j, (d, e) in enumerate(cols):
            flat, at = x[:, a:b, d:e].reshape(n, -1, c), places[a:b, d:e].reshape(-1, c)
            y[:, i, j] = flat.max(1)
            where[:, i, j] = np.take_along_axis(at[None].repeat(n, 0), flat.argmax(1)[:, None], 1)[:, 0]
    return y, where


def pooled_max3(x, k, s, padding):
    """The largest of each window."""
    axes = list(windows(x.shape[1:4], k, s, padding))
    y = np.zeros((x.shape[0], *(len(a) for a in axes), x.shape[4]), x.dtype)
    for i, (a, b) in enumerate(axes[0]):
        for j, (c, d) in enumerate(axes[1]):
            for m, (e, f) in enumerate(axes[2]):
                y[:, i, j, m] = x[:, a:b, c:d, e:f].max((1, 2, 3))
    return y


def cases():
    for tag, shape, k, s, padding in SIZES:
        n, h, w, c = shape
        pooled = (n, out_size(h, k[0], s[0], padding), out_size(w, k[1], s[1], padding), c)
        attrs = {"ksize": [1, *k, 1], "strides": [1, *s, 1], "padding": padding, "data_format": "NHWC"}
        yield case("MaxPool", ALLOWED if tag == SIZES[0][0] else FLOATS, {"input": t(*shape)}, {**attrs, "explicit_paddings": []}, tol=EXACT, tag=tag)
        yield case("AvgPool", FLOATS, {"value": t(*shape)}, attrs, tag=tag, special=False)
        yield case("AvgPoolGrad", FLOATS, {"orig_input_shape": const(list(shape)), "grad": t(*pooled)}, attrs, tag=tag, special=False)
        yield case("MaxPoolV2", FLOATS, {"input": t(*shape), "ksize": const([1, *k, 1]), "strides": const([1, *s, 1])}, {"padding": padding, "data_format": "NHWC"}, tol=EXACT, tag=tag)
        argmax = {"ksize": attrs["ksize"], "strides": attrs["strides"], "padding": padding}
        for batch in (False, True):
            for place in ("int64", "int32"):
                yield case("MaxPoolWithArgmax", FEW, {"input": t(*shape)}, {**argmax, "Targmax": place, "include_batch_in_index": batch}, tol=EXACT, tag=f"{tag} {batch} {place}")
        for layout in ("distinct", "ties"):
            x = t(*shape, dist=distinct() if layout == "distinct" else uniform(0, 3))
            if layout == "ties":
                x = const(np.random.RandomState(7).randint(0, 3, shape).tolist(), None)
            grads = {"orig_input": x, "orig_output": t(*pooled), "grad": t(*pooled)}
            yield case("MaxPoolGrad", FLOATS, grads, {**attrs, "explicit_paddings": []}, tag=f"{tag} {layout}", special=False)
            yield case("MaxPoolGradV2", FLOATS, {**grads, "ksize": const([1, *k, 1]), "strides": const([1, *s, 1])}, {"padding": padding, "data_format": "NHWC"}, tag=f"{tag} {layout}", special=False)
        x = np.random.RandomState(8).permutation(int(np.prod(shape))).reshape(shape).astype(np.float64)
        if x.size <= 256 or tag == "all":
            types = ("float32", "float64")
            y, where = pooled_max(x, k, s, padding)
            ops = {"orig_input": const(x.tolist(), None), "orig_output": const(y.tolist(), None)}
            yield case("MaxPoolGradGrad", types, {**ops, "grad": t(*shape)}, attrs, tol=EXACT, tag=tag, special=False)
            places = {"input": ops["orig_input"], "grad": t(*pooled), "argmax": const(where.tolist(), "int64")}
            yield case("MaxPoolGradWithArgmax", types, places, {**argmax, "include_batch_in_index": False}, tag=tag, special=False)
    attrs = {"ksize": [1, 2, 3, 1], "strides": [1, 1, 2, 1], "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 0, 2, 1, 0, 0], "data_format": "NHWC"}
    yield case("MaxPool", FLOATS, {"input": t(2, 6, 5, 3)}, attrs, tol=EXACT, tag="EXPLICIT")
    yield case("MaxPool", ("float32",), {"input": t(2, 6, 5, 3)}, {**attrs, "explicit_paddings": [0, 0, 1, 2, 0, 0, 0, 0]}, tag="padding as long as the window", refused=True)
    # Longer than the input by less than a stride: an empty output; by more: an error.
    for k, s, refused in ((5, 1, False), (7, 4, False), (6, 1, True)):
        attrs = {"ksize": [1, k, 1, 1], "strides": [1, s, 1, 1], "padding": "VALID"}
        yield case("MaxPool", ("float32",), {"input": t(2, 4, 5, 3)}, attrs, tol=EXACT, tag=f"window {k} {s}", refused=refused)
        yield case("AvgPool", ("float32",), {"value": t(2, 4, 5, 3)}, attrs, tag=f"window {k} {s}", refused=refused)
    for tag, shape, k, s, padding in (("SAME 3 2", (1, 5, 6, 7, 2), (3, 2, 3), (2, 2, 2), "SAME"), ("VALID 2 1", (2, 3, 4, 4, 3), (2, 2, 2), (1, 1, 1), "VALID")):
        pooled = (shape[0], *(out_size(n, a, b, padding) for n, a, b in zip(shape[1:4], k, s)), shape[4])
        attrs = {"ksize": [1, *k, 1], "strides": [1, *s, 1], "padding": padding}
        types = ("float32", "bfloat16")
        # Where a NaN meets a number, TensorFlow's answer depends on how it vectorised.
        yield case("MaxPool3D", types, {"input": t(*shape)}, attrs, tol=EXACT, tag=tag, special="finite")
        yield case("AvgPool3D", types, {"input": t(*shape)}, attrs, tag=tag, special=False)
        x = np.random.RandomState(9).permutation(int(np.prod(shape))).reshape(shape) % 251
        y = pooled_max3(x, k, s, padding)
        yield case("MaxPool3DGrad", types, {"orig_input": const(x.tolist(), None), "orig_output": const(y.tolist(), None), "grad": t(*pooled)}, attrs, tag=tag, special=False)
        yield case("AvgPool3DGrad", types, {"orig_input_shape": const(list(shape)), "grad": t(*pooled)}, attrs, tag=tag, special=False)


def dilations():
    for tag, shape, window, stride, rate, padding, pooled in (
        ("SAME", (2, 7, 8, 3), (3, 2), (2, 1), (1, 2), "SAME", (4, 8)), ("VALID", (2, 7, 8, 3), (3, 2), (2, 1), (1, 2), "VALID", (3, 6)),
        ("one", (1, 4, 5, 1), (1, 1), (1, 1), (1, 1), "VALID", (4, 5)), ("far", (3, 20, 21, 5), (4, 3), (1, 2), (3, 4), "SAME", (20, 11)),
    ):
        attrs = {"strides": [1, *stride, 1], "rates": [1, *rate, 1], "padding": padding}
        inputs = {"input": t(*shape), "filter": t(*window, shape[-1])}
        yield case("Dilation2D", REALS, inputs, attrs, tol=EXACT, tag=tag, special=False)
        # Float16 and bfloat16 have ties; TensorFlow breaks them as the device does, but rounds before it compares.
        kinds, both = ("float32", "float64"), {**inputs, "out_backprop": t(shape[0], *pooled, shape[-1])}
        yield case("Dilation2DBackpropInput", kinds, both, attrs, tag=tag, special=False)
        yield case("Dilation2DBackpropFilter", kinds, both, attrs, tag=tag, special=False)
    attrs = {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "VALID"}
    for tag, x, w in (("depth", (1, 4, 4, 3), (2, 2, 2)), ("size", (1, 2, 4, 3), (4, 2, 3)), ("rank", (4, 4, 3), (2, 2, 3))):
        yield case("Dilation2D", ("float32",), {"input": t(*x), "filter": t(*w)}, attrs, tag=tag, special=False, refused=True)


CASES = [*cases(), *dilations()]
