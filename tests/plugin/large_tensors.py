"""Tensors of more than 4 GiB, and of more than 2^31 and 2^32 elements, against what is known of them: `python large_tensors.py
[NAME ...]`. For a GPU of 64 GB and more, with TFVK_LIMIT_ALLOCATION=200g; not one of the tests that are run by themselves.

An element is 64 times its column modulo 16, plus its row modulo 64: exact in float16 too. All are made on the device.
"""
import os
import sys
import time

os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")

import numpy as np
import tensorflow as tf

BYTES = 40000, 40003  # 1.6e9 elements: more than 4 GiB of float32
SIGNED = 50000, 50001  # 2.5e9: more than 2^31
UNSIGNED = 70000, 70001  # 4.9e9: more than 2^32


def rows(n):
    return np.arange(n) % 64


def columns(n):
    return np.arange(n) % 16 * 64


def table(shape, dtype=tf.float32):
    a, b = (tf.cast(tf.constant(v.astype(np.float32)), dtype) for v in (rows(shape[0]), columns(shape[1])))
    return a[:, None] + b[None, :]


def places(shape):
    n, m = shape
    return [(0, 0), (n - 1, m - 1), (n // 2 + 1, m // 3), (n - 2, 5), (3, m - 2)]


def element(y, i, j):
    return float(tf.cast(y[i : i + 1, j : j + 1], tf.float32)[0, 0])


def has(y, shape, to=lambda i, j: (i, j), of=lambda v: v):
    """Whether the elements of a table are where they are to be."""
    return all(element(y, *to(i, j)) == of(i % 64 + j % 16 * 64) for i, j in places(shape))


def equal(got, expected):
    return np.allclose(tf.cast(got, tf.float64).numpy(), expected, rtol=1e-5)


def scattered():
    v = tf.Variable(tf.zeros([20_000_000, 128]))
    v.scatter_add(tf.IndexedSlices(tf.ones([3, 128]), tf.constant([0, 19_999_999, 19_999_999])))
    return [float(x) for x in tf.gather(v, [0, 19_999_999, 5])[:, 127]] == [1, 2, 0]


def conv(size, channels, corner, inner):
    y = tf.nn.conv2d(tf.ones([64, 1024, 1024, 40]), tf.ones([size, size, 40, channels]), 1, "SAME")
    return float(y[0, 0, 0, 0]) == corner and float(y[-1, 5, 5, -1]) == inner


def product():
    a, b = rows(UNSIGNED[0]).astype(np.float32), columns(UNSIGNED[1]).astype(np.float32)
    y = tf.matmul(tf.constant(a[:, None].repeat(3, 1)), tf.constant(b[None, :].repeat(3, 0)))
    return all(element(y, i, j) == 3 * a[i] * b[j] for i, j in places(UNSIGNED))


N, M = BYTES
CASES = {
    "fill": lambda: equal(tf.reduce_sum(tf.ones(BYTES), 1), np.full(N, M)),
    "table": lambda: has(table(BYTES), BYTES),
    "table float16": lambda: has(table(UNSIGNED, tf.float16), UNSIGNED),
    "cast": lambda: has(tf.cast(table(UNSIGNED, tf.float16), tf.float32), UNSIGNED),
    "sum rows": lambda: equal(tf.reduce_sum(table(SIGNED), 1), SIGNED[1] * rows(SIGNED[0]) + columns(SIGNED[1]).sum()),
    "sum columns": lambda: equal(tf.reduce_sum(table(SIGNED), 0), rows(SIGNED[0]).sum() + SIGNED[0] * columns(SIGNED[1])),
    "transpose": lambda: has(tf.transpose(table(BYTES)), BYTES, lambda i, j: (j, i)),
    "transpose float16": lambda: has(tf.transpose(table(SIGNED, tf.float16)), SIGNED, lambda i, j: (j, i)),
    "concat": lambda: has(tf.concat([table(BYTES)] * 2, 0), BYTES, lambda i, j: (i + N, j)),
    "strided slice": lambda: element(table(BYTES)[::3, ::2], (N - 1) // 3, 10) == (N - 1) // 3 * 3 % 64 + 20 % 16 * 64,
    "pad": lambda: has(tf.pad(table(BYTES), [[1, 1], [2, 0]]), BYTES, lambda i, j: (i + 1, j + 2)),
    "tile": lambda: has(tf.tile(table(BYTES), [3, 1]), BYTES, lambda i, j: (i + 2 * N, j)),
    "reverse": lambda: has(tf.reverse(table(BYTES), [0]), BYTES, lambda i, j: (N - 1 - i, j)),
    "split": lambda: element(tf.split(table(BYTES), 2)[1], N // 2 - 1, M - 1) == (N - 1) % 64 + (M - 1) % 16 * 64,
    "where": lambda: has((lambda x: tf.where(x >= 0, x * 2, x))(table(BYTES)), BYTES, of=lambda v: 2 * v),
    "gather": lambda: element(tf.gather(table(SIGNED), [SIGNED[0] - 1]), 0, 1) == (SIGNED[0] - 1) % 64 + 64,
    "scatter": scattered,
    "matmul": product,
    "softmax": lambda: abs(element(tf.nn.softmax(tf.zeros(SIGNED)), SIGNED[0] - 1, SIGNED[1] - 1) * SIGNED[1] - 1) < 1e-4,
    "conv 1x1": lambda: conv(1, 40, 40, 40),
    "conv 3x3": lambda: conv(3, 8, 160, 360),
    "there and back": lambda: (lambda x: (tf.constant(x).numpy() == x).all())(np.arange(N * M, dtype=np.float32)),
}


def main(names):
    wrong = 0
    with tf.device("/GPU:0"):
        for name in names or CASES:
            start = time.perf_counter()
            try:
                said = "ok" if CASES[name]() else "WRONG"
            except tf.errors.OpError as error:
                said = f"refused: {str(error)[:200]}"
            wrong += said == "WRONG"
            print(f"{name}: {said} ({time.perf_counter() - start:.2f} s)", flush=True)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
