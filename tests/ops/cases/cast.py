"""Cast between every pair of dtypes, and Bitcast between those of one size."""
from table import BOOL, COMPLEX, EXACT, FLOATS, INTS, SAME_SHAPES, case, normal, t, uniform

ALL = FLOATS + INTS + BOOL + COMPLEX
SHAPES = SAME_SHAPES[:5]
BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8, "int32": 4, "int64": 8, "int8": 1, "int16": 2, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8, "complex64": 8}


def cast(src, dst):
    # Out of range, C++ leaves float to integer open and the CPU's own kernels disagree: only values in range there.
    to_int = src in FLOATS + COMPLEX and dst in INTS
    dist = (uniform(0, 100) if dst.startswith("u") else uniform(-100, 100)) if to_int else normal(20.0)
    return case("Cast", (src,), {"x": t("S", dist=dist)}, {"DstT": dst}, tol=EXACT, shapes=SHAPES, special=not to_int, tag=f"to {dst}")


CASES = [cast(s, d) for s in ALL for d in ALL if s != d]
CASES += [case("Cast", ("float32",), {"x": t("S", dist=normal(1e5))}, {"DstT": d, "Truncate": True}, tol=EXACT, shapes=SHAPES, tag=f"to {d} truncated") for d in ("bfloat16", "float16")]
CASES += [case("Bitcast", (s,), {"input": t("N", 3)}, {"type": d}, tol=EXACT, dims={"N": 5}, tag=f"to {d}") for s in BYTES for d in BYTES if s != d and BYTES[s] == BYTES[d]]
