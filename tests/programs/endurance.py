"""Trains the demo's small CNN for many steps and watches memory: `python endurance.py [STEPS]` (10,000 by default).

Prints one JSON line and ends with 1 unless device memory is flat after the first 100 steps and the process grows by less than
1 kB a step, measured over the last nine tenths. Knows the plug-in only as the device GPU:0.
"""
import json
import os
import sys
import time

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import keras
import tensorflow as tf
from keras import layers


def resident():
    """Bytes of the process that are in memory."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(steps):
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [keras.Input((8, 8, 1)), layers.Conv2D(16, 3, padding="same"), layers.BatchNormalization(), layers.ReLU(), layers.MaxPooling2D(), layers.Dropout(0.25), layers.Flatten(), layers.Dense(10)]
    )
    optimizer = keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    rng = np.random.default_rng(1)
    x, y = tf.constant(rng.random((64, 8, 8, 1), np.float32)), tf.constant(rng.integers(0, 10, 64))

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        variables = [v.value for v in model.trainable_variables]
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), model.trainable_variables))
        return loss

    device = lambda: tf.config.experimental.get_memory_info("GPU:0")["current"]
    start, after, peak, first = time.time(), 0, 0, 0
    for i in range(1, steps + 1):
        loss = step()
        if i == 100:
            loss.numpy()
            after = device()
        if i == max(steps // 10, 101):
            loss.numpy()
            first, first_step = resident(), i
        if i > 100 and i % 100 == 0:
            loss.numpy()
            peak = max(peak, device())
    grown = (resident() - first) / max(steps - first_step, 1)
    print(json.dumps({"steps": steps, "ms_a_step": round((time.time() - start) * 1e3 / steps, 3), "loss": float(loss), "device_bytes_after_100": after, "most_device_bytes_later": peak, "process_bytes_a_step": round(grown, 1)}))
    return 0 if peak <= after and grown < 1024 and np.isfinite(float(loss)) else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
