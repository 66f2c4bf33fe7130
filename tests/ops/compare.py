"""Compares one result with the expected one under a tolerance. Knows numpy only."""
import numpy as np

TINY = {"float32": 2.0**-126, "bfloat16": 2.0**-126, "float64": 2.0**-1022, "float16": 2.0**-24, "complex64": 2.0**-126, "complex128": 2.0**-1022}


def same_bits(a, b):
    """Identical to the last bit (NaN payloads too)."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def difference(got, want, dtype, tol):
    """None when `got` is close enough to `want`, else a short text with the worst element."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"got {got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    if not got.size:
        return None
    if dtype not in TINY:
        bad = got != want
        return worst(got, want, bad, bad.astype(np.float64))
    if dtype.startswith("complex"):
        g, w = got.astype(np.complex128), want.astype(np.complex128)
    else:
        g, w = got.astype(np.float64), want.astype(np.float64)
    # TensorFlow's CPU flushes denormals in some kernels and keeps them in others: both are right.
    tiny = 0.0 if dtype == "float16" else TINY[dtype]
    if tol.kind == "exact":
        flushed = (np.abs(g) < tiny) & (np.abs(w) < tiny)
        equal = ((g == w) & (np.signbit(g.real) == np.signbit(w.real))) | (np.isnan(g) & np.isnan(w)) | (flushed & (g != w))
        with np.errstate(all="ignore"):
            return worst(got, want, ~equal, np.abs(g - w))
    with np.errstate(all="ignore"):
        finite = np.isfinite(w) & np.isfinite(g)
        scale = np.abs(w)
        if tol.kind == "norm" and finite.any():
            scale = scale + np.abs(w[finite]).max()
        error = np.abs(g - w)
        bad = np.where(finite, error > tol.bound(dtype) * scale + TINY[dtype], ~((g == w) | (np.isnan(g) & np.isnan(w))))
        return worst(got, want, bad, np.where(finite, error / np.maximum(scale, TINY[dtype]), np.inf))


def worst(got, want, bad, error):
    if not bad.any():
        return None
    error = np.where(bad, np.nan_to_num(error, nan=np.inf), -1.0)
    at = int(np.argmax(error))
    where = [int(i) for i in np.unravel_index(at, got.shape)]
    e = error.reshape(-1)[at]
    return f"{int(bad.sum())} of {got.size} wrong, worst (error {e:.3g}) at {where}: got {got.reshape(-1)[at]!r}, expected {want.reshape(-1)[at]!r}"
