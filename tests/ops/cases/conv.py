"""Convolutions: Conv2D, Conv3D, DepthwiseConv2dNative, each with both gradients."""
from table import FLOATS, case, const, t


def out_size(n, k, s, d, padding, before=0, after=0):
    window = (k - 1) * d + 1
    return -(-n // s) if padding == "SAME" else (n + before + after - window) // s + 1


def conv(dtypes, size, ci, co, k, s=1, d=1, padding="SAME", pads=None, groups=1, batch=2, rank=2, depthwise=False):
    """The forward op and both gradients; `size`, `k` lists over the spatial dimensions; `pads` pairs for EXPLICIT."""
    flat = pads or [(0, 0)] * rank
    out = [out_size(size[i], k[i], s, d, "EXPLICIT" if pads else padding, *flat[i]) for i in range(rank)]
    name = "DepthwiseConv2dNative" if depthwise else f"Conv{rank}D"
    version = "V2" if rank == 3 else ""
    w = (*k, ci, co) if depthwise else (*k, ci // groups, co)
    channels = ci * co if depthwise else co
    attrs = {"strides": [1] + [s] * rank + [1], "padding": "EXPLICIT" if pads else padding, "dilations": [1] + [d] * rank + [1]}
    attrs["data_format"] = "NHWC" if rank == 2 else "NDHWC"
    if pads:
        attrs["explicit_paddings"] = [0, 0, *(p for pair in pads for p in pair), 0, 0]
    x, y = (batch, *size, ci), (batch, *out, channels)
    tag = f"{list(size)}x{ci} to {co} k{list(k)} s{s} d{d} g{groups} {attrs['padding']}"
    return [
        case(name, dtypes, {"input": t(*x), "filter": t(*w)}, attrs, tag=tag, special=False),
        case(f"{name}BackpropInput{version}", dtypes, {"input_sizes": const(x), "filter": t(*w), "out_backprop": t(*y)}, attrs, tag=tag, special=False),
        case(f"{name}BackpropFilter{version}", dtypes, {"input": t(*x), "filter_sizes": const(w), "out_backprop": t(*y)}, attrs, tag=tag, special=False),
    ]


CASES = [
    *conv(FLOATS, (7, 6), 3, 5, (3, 3)),
    *conv(FLOATS, (8, 8), 4, 8, (3, 3), s=2),
    *conv(("float32",), (9, 8), 5, 4, (2, 3), s=3, padding="VALID"),
    *conv(("float32", "float16"), (6, 5), 8, 12, (1, 1)),
    *conv(("float32",), (7, 7), 4, 4, (1, 1), s=2),
    *conv(("float32",), (8, 9), 3, 4, (3, 3), pads=[(2, 1), (0, 3)]),
    *conv(("float32",), (20, 19), 16, 33, (3, 3)),
    *conv(("float32",), (12, 12), 3, 16, (7, 7), s=2),
    *conv(("float32",), (5, 5), 3, 4, (3, 3), batch=0),
    *conv(("float32", "float64"), (4, 5, 6), 3, 4, (2, 3, 3), rank=3),
    *conv(("float32",), (5, 5, 5), 4, 4, (3, 3, 3), s=2, rank=3, padding="VALID"),
]
# The CPU has no gradients of dilated and of grouped convolutions to compare with.
CASES += conv(("float32",), (9, 10), 4, 3, (3, 3), d=2)[:1]
CASES += conv(("float32",), (5, 5), 8, 12, (3, 3), groups=2)[:1]
CASES += [
    case("Conv2D", ("float32",), {"input": t(1, 4, 4, 3), "filter": t(3, 3, 2, 4)}, {"strides": [1, 1, 1, 1], "padding": "SAME"}, tag="depth", refused=True),
    case("Conv2D", ("float32",), {"input": t(1, 1, 1, 3), "filter": t(3, 3, 3, 4)}, {"strides": [1, 1, 1, 1], "padding": "VALID"}, tag="negative", refused=True),
    case("Conv2D", ("float32",), {"input": t(1, 1, 5, 3), "filter": t(6, 1, 3, 4)}, {"strides": [1, 4, 4, 1], "padding": "VALID"}, tag="longer by less than a stride"),
]
for padding in ("SAME", "VALID"):
    for s in (1, 2):
        CASES += conv(FLOATS if s == 1 else ("float32",), (7, 6), 5, 1, (3, 3), s=s, padding=padding, depthwise=True)
CASES += conv(("float32",), (9, 8), 3, 4, (3, 2), padding="SAME", depthwise=True)
CASES += conv(("float32",), (8, 8), 8, 1, (5, 5), padding="SAME", depthwise=True)
