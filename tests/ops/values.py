"""Draws the inputs of a case: seeded by the case's id, so that every run and every device sees the same bits."""
import itertools
import zlib

import numpy as np
import tensorflow as tf

FLOAT_EDGES = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 1e-3, -1e-3, 17.25, -88.0, 88.0)
FLOAT_WILD = (np.inf, -np.inf, np.nan)


def np_dtype(name):
    return np.dtype(tf.dtypes.as_dtype(name).as_numpy_dtype)


def is_float(name):
    return tf.dtypes.as_dtype(name).is_floating


def generator(*words):
    return np.random.default_rng([zlib.crc32(str(w).encode()) for w in words])


def limits(name):
    """Least and largest value of an integer dtype."""
    d = tf.dtypes.as_dtype(name)
    return int(d.min), int(d.max)


def draw(spec, dtype, shape, rng):
    """An array of `shape` from the distribution of `spec`."""
    d, n = spec.dist, int(np.prod(shape, dtype=np.int64))
    kind = tf.dtypes.as_dtype(dtype)
    if kind == tf.bool:
        return (rng.integers(0, 2, n) > 0).reshape(shape)
    if kind.is_complex:
        part = lambda: draw(spec, "float64", shape, rng)
        return np.asarray(part() + 1j * part()).astype(np_dtype(dtype))
    if kind.is_integer:
        x = draw_int(d, dtype, n, rng)
    else:
        x = draw_float(d, n, rng)
    return np.asarray(x).reshape(shape).astype(np_dtype(dtype))


def draw_int(d, dtype, n, rng):
    lo, hi = limits(dtype)
    if d.name == "uniform":
        return rng.integers(int(d.a), int(d.b), n)
    if d.name == "distinct":
        return rng.permutation(n) + max(lo, -(n // 2))
    if d.name == "wide":
        return rng.integers(lo, hi, n, dtype=np_dtype(dtype), endpoint=True)
    x = rng.integers(max(lo, -50), 51, n)
    return np.where(x == 0, 7, x) if d.name == "nonzero" else x


def draw_float(d, n, rng):
    if d.name == "uniform":
        return rng.uniform(d.a, d.b, n)
    if d.name == "distinct":
        return (rng.permutation(n) - n // 2) * 0.25
    if d.name == "wide":
        return np.ldexp(rng.uniform(1, 2, n) * rng.choice((-1.0, 1.0), n), rng.integers(-12, 13, n))
    x = rng.standard_normal(n) * (d.a or 1.0) + d.b
    return np.where(np.abs(x) < 0.05, 0.5, x) if d.name == "nonzero" else x


def edge_values(dtype, dist, wild):
    """The values that break kernels, for one dtype: signed zeros, infinities and NaN (if `wild`), the extremes of the range."""
    kind = tf.dtypes.as_dtype(dtype)
    if kind == tf.bool:
        x = np.array([False, True])
    elif kind.is_complex:
        x = np.array([0, 1, -1j, 1 + 2j, -3.5 + 0.25j], np_dtype(dtype))
    elif kind.is_integer:
        lo, hi = limits(dtype)
        x = np.unique(np.array([v for v in (lo, lo + 1, -7, -2, -1, 0, 1, 2, 3, 7, hi // 2, hi - 1, hi) if lo <= v <= hi], np_dtype(dtype)))
    else:
        info = np.finfo(np_dtype(dtype)) if dtype != "bfloat16" else tf.experimental.numpy.finfo(np.float32)
        big = float(info.max) if dtype != "bfloat16" else 3.3895314e38
        x = np.array(FLOAT_EDGES + ((big, -big, float(info.tiny)) + FLOAT_WILD if wild else ()), np.float64).astype(np_dtype(dtype))
    if dist.name == "uniform":
        keep = np.ones(x.shape, bool) if kind == tf.bool else (np.asarray(x, np.float64) >= dist.a) & (np.asarray(x, np.float64) < dist.b)
        x = x[keep | ~np.isfinite(np.asarray(x, np.float64))] if kind.is_floating and wild else x[keep]
    if dist.name == "nonzero":
        x = x[x != 0]
    return x


def cross(columns, rng, most=4096):
    """Every combination of the columns' values (a random choice of them when there are too many), as one vector each."""
    if len(columns) <= 2:
        rows = list(itertools.product(*[range(len(c)) for c in columns]))
    else:
        rows = [tuple(rng.integers(0, len(c)) for c in columns) for _ in range(most)]
    rows = np.array(rows, np.int64).reshape(-1, len(columns))
    return [c[rows[:, i]] for i, c in enumerate(columns)]


def sprinkle(x, dtype, dist, wild, rng):
    """`x` with about one value in twenty (at least one) replaced by an edge value."""
    edges = edge_values(dtype, dist, wild)
    flat = x.reshape(-1).copy()
    if flat.size and edges.size:
        at = rng.choice(flat.size, max(1, flat.size // 20), replace=False)
        flat[at] = rng.choice(edges, at.size)
    return flat.reshape(x.shape)
