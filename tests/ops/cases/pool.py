"""Pooling, its gradients and second gradients."""
from table import ACCUM, EXACT, FLOATS, REALS, case, const, distinct, t, uniform

SIZES = (
    ("SAME 3 2", (2, 7, 6, 3), (3, 3), (2, 2), "SAME"),
    ("VALID 2 2", (2, 6, 7, 4), (2, 2), (2, 2), "VALID"),
    ("SAME 2x3 1", (1, 5, 6, 2), (2, 3), (1, 1), "SAME"),
    ("VALID 2 3", (1, 8, 8, 5), (2, 2), (3, 3), "VALID"),
    ("all", (2, 5, 4, 3), (5, 4), (1, 1), "VALID"),
)
FEW = ("float32", "bfloat16")


def out_size(n, k, s, padding):
    return -(-n // s) if padding == "SAME" else (n - k) // s + 1


def cases():
    for tag, shape, k, s, padding in SIZES:
        n, h, w, c = shape
        pooled = (n, out_size(h, k[0], s[0], padding), out_size(w, k[1], s[1], padding), c)
        attrs = {"ksize": [1, *k, 1], "strides": [1, *s, 1], "padding": padding, "data_format": "NHWC"}
        yield case("MaxPool", REALS if tag == SIZES[0][0] else FLOATS, {"input": t(*shape)}, {**attrs, "explicit_paddings": []}, tol=EXACT, tag=tag)
        yield case("AvgPool", FLOATS, {"value": t(*shape)}, attrs, tag=tag, special=False)
        yield case("AvgPoolGrad", FLOATS, {"orig_input_shape": const(list(shape)), "grad": t(*pooled)}, attrs, tag=tag, special=False)
        yield case("MaxPoolV2", FLOATS, {"input": t(*shape), "ksize": const([1, *k, 1]), "strides": const([1, *s, 1])}, {"padding": padding, "data_format": "NHWC"}, tol=EXACT, tag=tag)
        argmax = {"ksize": attrs["ksize"], "strides": attrs["strides"], "padding": padding}
        for batch in (False, True):
            for place in ("int64", "int32"):
                yield case("MaxPoolWithArgmax", FEW, {"input": t(*shape)}, {**argmax, "Targmax": place, "include_batch_in_index": batch}, tol=EXACT, tag=f"{tag} {batch} {place}")
    attrs = {"ksize": [1, 2, 3, 1], "strides": [1, 1, 2, 1], "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 0, 2, 1, 0, 0], "data_format": "NHWC"}
    yield case("MaxPool", FLOATS, {"input": t(2, 6, 5, 3)}, attrs, tol=EXACT, tag="EXPLICIT")
    for tag, shape, k, s, padding in (("SAME 3 2", (1, 5, 6, 7, 2), (3, 2, 3), (2, 2, 2), "SAME"), ("VALID 2 1", (2, 3, 4, 4, 3), (2, 2, 2), (1, 1, 1), "VALID")):
        pooled = (shape[0], *(out_size(n, a, b, padding) for n, a, b in zip(shape[1:4], k, s)), shape[4])
        attrs = {"ksize": [1, *k, 1], "strides": [1, *s, 1], "padding": padding}
        types = ("float32", "bfloat16")
        yield case("MaxPool3D", types, {"input": t(*shape)}, attrs, tol=EXACT, tag=tag)
        yield case("AvgPool3D", types, {"input": t(*shape)}, attrs, tag=tag, special=False)
        yield case("AvgPool3DGrad", types, {"orig_input_shape": const(list(shape)), "grad": t(*pooled)}, attrs, tag=tag, special=False)


CASES = [*cases()]
