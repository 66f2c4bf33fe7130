"""Images: resizing, cropping, projective transforms, colours, patches. Positions are exact, so few tolerances are needed."""
import numpy as np

from table import EXACT, FLOATS, REALS, Tol, case, const, t, ulps, uniform

RESIZED = tuple(d for d in REALS if d not in ("uint32", "uint64"))
CROPPED = tuple(d for d in RESIZED if d != "bfloat16")
CLOSE = Tol("norm", 1e-6, 2e-6, 4e-3, 1.6e-2)
# Height and width of input and output: up, down, odd ratios, one pixel, the same.
SIZES = (((5, 7), (10, 14)), ((9, 8), (4, 3)), ((4, 6), (7, 5)), ((1, 1), (3, 4)), ((6, 5), (1, 1)), ((5, 5), (5, 5)), ((3, 40), (37, 3)))
MODES = ({"align_corners": False, "half_pixel_centers": True}, {"align_corners": False, "half_pixel_centers": False}, {"align_corners": True, "half_pixel_centers": False})


def resizes():
    for i, (a, b) in enumerate(SIZES):
        for m, attrs in enumerate(MODES):
            tag, dims = f"{a} {b} {m}", {"B": (2, 0, 1), "C": (3, 1, 5)} if i == 0 else {"B": (2,), "C": (3,)}
            every = i < 2
            images, size = t("B", *a, "C"), const(list(b))
            yield case("ResizeBilinear", RESIZED if every else ("float32",), {"images": images, "size": size}, attrs, tol=ulps(2), dims=dims, tag=tag, special=False)
            yield case("ResizeBicubic", RESIZED if every else ("float32",), {"images": images, "size": size}, attrs, tol=CLOSE, dims=dims, tag=tag, special=False)
            yield case("ResizeNearestNeighbor", RESIZED if every else ("float32",), {"images": images, "size": size}, attrs, tol=EXACT, dims=dims, tag=tag)
            grads = t("B", *b, "C", dtype="float32")
            yield case("ResizeBilinearGrad", FLOATS if every else ("float32",), {"grads": grads, "original_image": images}, attrs, tol=CLOSE, dims=dims, tag=tag, special=False)
            yield case("ResizeBicubicGrad", ("float32", "float64"), {"grads": grads, "original_image": images}, attrs, tol=CLOSE, dims=dims, tag=tag, special=False)
            of_size = {"grads": t("B", *b, "C"), "size": const(list(a))}
            kinds = tuple(d for d in REALS if d not in ("int16", "uint16", "uint32", "uint64", "int64")) if every else ("float32",)
            yield case("ResizeNearestNeighborGrad", kinds, of_size, attrs, tol=CLOSE, dims=dims, tag=tag, special=False)
    both = {"align_corners": True, "half_pixel_centers": True}  # which only this gradient takes
    yield case("ResizeNearestNeighborGrad", ("float32",), {"grads": t(2, 4, 3, 2), "size": const([9, 8])}, both, tol=CLOSE, tag="both up", special=False)
    yield case("ResizeNearestNeighborGrad", ("float32",), {"grads": t(2, 7, 9, 2), "size": const([3, 4])}, both, tol=CLOSE, tag="both down", special=False)
    yield case("ResizeBilinearGrad", ("float32",), {"grads": t(2, 4, 3, 2), "original_image": t(2, 7, 9, 2)}, both, tag="both", refused=True)


BOXES = [[0.0, 0.0, 1.0, 1.0], [0.1, 0.2, 0.8, 0.9], [-0.2, 0.3, 0.5, 1.3], [0.9, 0.8, 0.1, 0.2], [0.5, 0.5, 0.5, 0.5]]
OWNERS = [0, 1, 1, 0, 1]


def crops():
    boxes, owners = const(BOXES, "float32"), const(OWNERS)
    for method in ("bilinear", "nearest"):
        for size in ([4, 5], [1, 1], [1, 6], [9, 3]):
            inputs = {"image": t(2, 7, 6, "C"), "boxes": boxes, "box_ind": owners, "crop_size": const(size)}
            attrs = {"method": method, "extrapolation_value": -1.5}
            few = CROPPED if size == [4, 5] else ("float32",)
            yield case("CropAndResize", few, inputs, attrs, tol=CLOSE, dims={"C": (3, 1)}, tag=f"{method} {size}", special=False)
            inputs = {"grads": t(5, *size, 3, dtype="float32"), "boxes": boxes, "box_ind": owners, "image_size": const([2, 7, 6, 3])}
            yield case("CropAndResizeGradImage", ("float32", "float16", "float64"), inputs, {"method": method, "T": "$T"}, tol=CLOSE, tag=f"{method} {size}", special=False)
            if method == "bilinear":
                inputs = {"grads": t(5, *size, 3, dtype="float32"), "image": t(2, 7, 6, 3), "boxes": boxes, "box_ind": owners}
                few = ("float32", "float16", "float64", "uint8") if size == [4, 5] else ("float32",)
                yield case("CropAndResizeGradBoxes", few, inputs, {"method": method}, tol=Tol("norm", 1e-5, 1e-5, 1e-5, 1e-5), tag=f"{size}", special=False)


TRANSFORMS = {
    "shift": [[1, 0, 1.25, 0, 1, -0.5, 0, 0]],
    "turn": [[0.8, -0.6, 2.0, 0.6, 0.8, -1.0, 0, 0], [1.5, 0.25, -3.0, 0.125, 0.75, 1.0, 0, 0]],
    "far": [[1, 0, -17.5, 0, 1, 33.0, 0, 0]],
    "perspective": [[1, 0.1, 0, 0.2, 1, 0.3, 0.01, 0.02]],
}


def projections():
    for name, rows in TRANSFORMS.items():
        for mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST"):
            for how in ("NEAREST", "BILINEAR"):
                kinds = ("float32", "float16", "bfloat16", "float64", "uint8", "int32", "int64") if name == "turn" else ("float32",)
                attrs = {"interpolation": how, "fill_mode": mode}
                inputs = {"images": t(2, 5, 6, 3), "transforms": const(rows, "float32"), "output_shape": const([7, 4])}
                yield case("ImageProjectiveTransformV2", kinds, inputs, attrs, tol=CLOSE, tag=f"{name} {mode} {how}", special=False)
                inputs = {**inputs, "fill_value": const(2.0, "float32")}
                yield case("ImageProjectiveTransformV3", kinds[:1], inputs, attrs, tol=CLOSE, tag=f"{name} {mode} {how}", special=False)
    for mode in ("CONSTANT", "REFLECT", "NEAREST"):
        inputs = {"images": t(2, 5, 0, 3), "transforms": const(TRANSFORMS["turn"], "float32"), "output_shape": const([7, 4]), "fill_value": const(2.0, "float32")}
        yield case("ImageProjectiveTransformV3", ("float32", "uint8"), inputs, {"interpolation": "BILINEAR", "fill_mode": mode}, tol=CLOSE, tag=f"no pixels {mode}", special=False)


def colours():
    pixels = t("N", 5, 3, dist=uniform(0, 1))
    for amount in (0.3, -0.7, 0.0):
        yield case("AdjustHue", ("float32",), {"images": pixels, "delta": const(amount, "float32")}, tol=CLOSE, dims={"N": 4}, tag=str(amount), special=False)
    for amount in (0.3, 2.5, 0.0):
        yield case("AdjustSaturation", ("float32",), {"images": pixels, "scale": const(amount, "float32")}, tol=CLOSE, dims={"N": 4}, tag=str(amount), special=False)
        images = {"images": t("B", 5, 7, "C"), "contrast_factor": const(amount, "float32")}
        yield case("AdjustContrastv2", ("float32",), images, tol=CLOSE, dims={"B": 2, "C": (3, 1)}, tag=str(amount), special=False)
    yield case("RGBToHSV", FLOATS, {"images": pixels}, tol=CLOSE, dims={"N": (4, 1, 200)}, special=False)
    yield case("HSVToRGB", FLOATS, {"images": pixels}, tol=CLOSE, dims={"N": (4, 1, 200)}, special=False)
    grey = const([[[0.5, 0.5, 0.5], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]], None)
    for op, name, value in (("AdjustHue", "delta", 0.4), ("AdjustSaturation", "scale", 0.5), ("RGBToHSV", None, 0), ("HSVToRGB", None, 0)):
        yield case(op, ("float32",), {"images": grey, **({name: const(value, "float32")} if name else {})}, tol=CLOSE, tag="corners")


def patches():
    for padding in ("SAME", "VALID"):
        for k, s, r in (((3, 3), (1, 1), (1, 1)), ((2, 3), (2, 1), (1, 2)), ((1, 1), (3, 2), (1, 1)), ((4, 4), (4, 4), (1, 1))):
            attrs = {n: [1, *v, 1] for n, v in (("ksizes", k), ("strides", s), ("rates", r))}
            kinds = REALS + ("complex64",) if k == (3, 3) else ("float32",)
            yield case("ExtractImagePatches", kinds, {"images": t("B", 9, 8, "C")}, {**attrs, "padding": padding}, tol=EXACT, dims={"B": (2, 0, 1), "C": (3, 1)}, tag=f"{padding} {k} {s} {r}", special=False)
    yield case("ExtractImagePatches", ("float32",), {"images": t(1, 2, 5, 3)}, {"ksizes": [1, 4, 1, 1], "strides": [1, 1, 1, 1], "rates": [1] * 4, "padding": "VALID"}, tag="larger than the image", refused=True)


def suppressions():
    r = np.random.default_rng(1)
    for n in (1, 7, 60, 300, 5000):
        corners = r.uniform(0, 1, (n, 2))
        sizes = r.uniform(-0.3, 0.3, (n, 2))
        boxes = const(np.concatenate([corners, corners + sizes], 1).round(4).tolist(), None)
        # Few different scores: of equal ones the first comes first.
        scores = const((r.integers(0, 40, n) / 40).tolist(), None)
        for most, overlap, least in ((5, 0.5, 0.0), (1000, 0.3, 0.25), (1000, 0.0, float("-inf")), (20, 1.0, 0.5), (0, 0.5, 0.0), (3, 0.5, 2.0)):
            if n > 1000 and most > 100 and overlap > 0.5:
                continue
            inputs = {"boxes": boxes, "scores": scores, "max_output_size": const(most), "iou_threshold": const(overlap, "float32")}
            tag = f"{n} {most} {overlap} {least}"
            yield case("NonMaxSuppressionV2", ("float32",), inputs, tol=EXACT, tag=tag)
            inputs = {**inputs, "score_threshold": const(least, "float32")}
            yield case("NonMaxSuppressionV3", ("float32",), inputs, tol=EXACT, tag=tag)
            for pad in (False, True):
                yield case("NonMaxSuppressionV4", ("float32",), inputs, {"pad_to_max_output_size": pad}, tol=EXACT, tag=f"{tag} {pad}")
    none = {"boxes": t(0, 4), "scores": t(0), "max_output_size": const(3), "iou_threshold": const(0.5, "float32"), "score_threshold": const(0.0, "float32")}
    yield case("NonMaxSuppressionV3", ("float32",), none, tag="none")
    yield case("NonMaxSuppressionV4", ("float32",), none, {"pad_to_max_output_size": True}, tag="none")
    for tag, other in (("overlap", {"iou_threshold": const(1.5, "float32")}), ("boxes", {"boxes": t(3, 5)}), ("scores", {"scores": t(4)}), ("size", {"max_output_size": const(-1)})):
        yield case("NonMaxSuppressionV3", ("float32",), {**none, "boxes": t(3, 4), "scores": t(3), **other}, tag=tag, special=False, refused=True)


def volumes():
    for padding in ("SAME", "VALID"):
        for k, s in (((2, 3, 2), (2, 1, 3)), ((1, 1, 1), (1, 1, 1)), ((4, 4, 4), (4, 4, 4))):
            attrs = {"ksizes": [1, *k, 1], "strides": [1, *s, 1], "padding": padding}
            kinds = REALS if k == (2, 3, 2) else ("float32",)
            yield case("ExtractVolumePatches", kinds, {"input": t("B", 5, 6, 7, "C")}, attrs, tol=EXACT, dims={"B": (2, 0, 1), "C": (3, 1)}, tag=f"{padding} {k} {s}", special=False)


KERNELS = ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic")


def scales():
    near = Tol("norm", 1e-6, 4e-6)
    sized = tuple(d for d in RESIZED if d != "uint64")
    for i, (a, b) in enumerate(SIZES):
        for kernel in KERNELS:
            for antialias in (False, True):
                for scale, moved in (((b[0] / a[0], b[1] / a[1]), (0.0, 0.0)), ((0.7, 1.4), (1.25, -0.5))):
                    if i > 2 and (kernel != "lanczos3" or scale[0] == 0.7):
                        continue
                    attrs = {"kernel_type": kernel, "antialias": antialias}
                    tag = f"{a} {b} {kernel} {antialias} {scale[0] == 0.7}"
                    place = {"scale": const(list(scale), "float32"), "translation": const(list(moved), "float32")}
                    kinds = sized if kernel == "lanczos3" and i == 0 and antialias else ("float32",)
                    yield case("ScaleAndTranslate", kinds, {"images": t(2, *a, 3), "size": const(list(b)), **place}, attrs, tol=near, tag=tag, special=False)
                    if i < 3:
                        yield case("ScaleAndTranslateGrad", ("float32",), {"grads": t(2, *b, 3), "original_image": t(2, *a, 3), **place}, attrs, tol=near, tag=tag, special=False)
        for align in (False, True):
            if align and 1 in a:
                continue
            inputs = {"images": t("B", *a, 3), "size": const(list(b))}
            yield case("ResizeArea", sized if i < 2 else ("float32",), inputs, {"align_corners": align}, tol=near, tag=f"{a} {b} {align}", dims={"B": (2, 1)}, special=False)


CASES = [*scales(), *volumes(), *suppressions(), *resizes(), *crops(), *projections(), *colours(), *patches()]
