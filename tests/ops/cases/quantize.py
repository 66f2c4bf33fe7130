"""Simulated quantisation."""
from table import CLOSE, EXACT, Tol, case, const, normal, t, uniform

F32, DOUBLES = ("float32",), ("float32", "float64")
SUMS = Tol("norm", 1e-12, 2e-5)  # TensorFlow's CPU sums from end to end
RANGES = ((-1.0, 1.0), (-0.1, 2.3), (0.0, 1.0), (-3.0, 0.0), (0.5, 2.0), (-2.0, -0.5), (0.0, 0.0))


def fake():
    for low, high in RANGES:
        for bits, narrow in ((8, False), (8, True), (2, False), (16, True), (4, False)):
            attrs, tag = {"num_bits": bits, "narrow_range": narrow}, f"{low} {high} {bits} {narrow}"
            x, g, ends = t("S", dist=normal(2.0)), t("S"), {"min": const(low, None), "max": const(high, None)}
            shapes = ({"S": (3, 5)}, {"S": (1021,)}, {"S": ()}, {"S": (0, 3)})
            if low < high:
                given = {"min": low, "max": high} | attrs
                yield case("FakeQuantWithMinMaxArgs", F32, {"inputs": x}, given, tol=EXACT if bits < 16 else SUMS, special=False, shapes=shapes, tag=tag)
                yield case("FakeQuantWithMinMaxArgsGradient", F32, {"gradients": g, "inputs": x}, given, tol=EXACT, special=False, shapes=shapes, tag=tag)
            yield case("FakeQuantWithMinMaxVars", F32, {"inputs": x} | ends, attrs, tol=EXACT, special=False, shapes=shapes, tag=tag)
            yield case("FakeQuantWithMinMaxVarsGradient", F32, {"gradients": g, "inputs": x} | ends, attrs, tol=SUMS, special=False, shapes=shapes, tag=tag)
    for bits, narrow in ((8, False), (3, True)):
        attrs, ends = {"num_bits": bits, "narrow_range": narrow}, {"min": t(5, dist=uniform(-3.0, -0.1)), "max": t(5, dist=uniform(0.1, 2.0))}
        for shape in ((5,), (7, 5), (2, 3, 4, 5)):
            x = t(*shape, dist=normal(2.0))
            tag = f"{shape} {bits}"
            yield case("FakeQuantWithMinMaxVarsPerChannel", F32, {"inputs": x} | ends, attrs, tol=EXACT, special=False, tag=tag)
            yield case("FakeQuantWithMinMaxVarsPerChannelGradient", F32, {"gradients": t(*shape), "inputs": x} | ends, attrs, tol=SUMS, special=False, tag=tag)


def ranges():
    for low, high in RANGES:
        for signed, bits, narrow, mode in ((True, 8, False, "HALF_TO_EVEN"), (True, 4, True, "HALF_UP"), (False, 8, False, "HALF_UP"), (True, 16, False, "HALF_TO_EVEN")):
            for given in (True, False):
                if not given and (low, high) != RANGES[0]:
                    continue
                attrs = {"signed_input": signed, "num_bits": bits, "range_given": given, "narrow_range": narrow, "round_mode": mode}
                inputs = {"input": t("S", dist=normal(2.0)), "input_min": const(low, None), "input_max": const(high, None)}
                shapes = ({"S": (3, 5)}, {"S": (1021,)})
                tag = f"{low} {high} {signed} {bits} {given}"
                tol = EXACT if low < high else CLOSE  # all is zero then, of either sign
                for op in ("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"):
                    yield case(op, DOUBLES, inputs, attrs, tol=tol, special=False, shapes=shapes, tag=tag)
                attrs = {"signed_input": signed, "range_given": given, "narrow_range": narrow}
                yield case("QuantizeAndDequantizeV3", DOUBLES, inputs | {"num_bits": const(bits)}, attrs, tol=tol, special=False, shapes=shapes, tag=tag)
        inputs = {"gradients": t(3, 5), "input": t(3, 5), "input_min": const(low, None), "input_max": const(high, None)}
        yield case("QuantizeAndDequantizeV4Grad", DOUBLES, inputs, tol=EXACT, special=False, tag=f"{low} {high}")
    for axis in (0, 1, 2):
        n = (3, 4, 5)[axis]
        ends = {"input_min": t(n, dist=uniform(-3.0, -0.1)), "input_max": t(n, dist=uniform(0.1, 2.0))}
        # TensorFlow's CPU takes no ranges along an axis, but finds them.
        for op in ("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"):
            yield case(op, DOUBLES, {"input": t(3, 4, 5)} | ends, {"range_given": False, "axis": axis}, tol=EXACT, special=False, tag=f"axis {axis}")
        yield case("QuantizeAndDequantizeV4Grad", DOUBLES, {"gradients": t(3, 4, 5), "input": t(3, 4, 5)} | ends, {"axis": axis}, tol=EXACT, special=False, tag=f"axis {axis}")


CASES = [*fake(), *ranges()]
