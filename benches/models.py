#!/usr/bin/env python3
"""Whole models in TensorFlow, one training step or one inference, as JSON lines: `python benches/models.py [--only PART]`.

Plain Keras models in a `tf.function`, whatever device TensorFlow has. Times are wall-clock medians of runs of several steps,
each run ended by reading its last result, in milliseconds a step. The names are those of the peers' scripts, and so are the
models: `benches/ratio.py --ours "python3 benches/models.py" --peer "python3 ../shared/bench/torch_peer_models.py"`.
"""
import argparse
import json
import os
import statistics
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import keras
import numpy as np
import tensorflow as tf
from keras import layers

VOCABULARY, WIDTH, HEADS, DEPTH = 30522, 768, 12, 12


class Positions(layers.Layer):
    """Adds what a table has learnt of each place."""

    def build(self, shape):
        self.table = self.add_weight(shape=(512, shape[-1]), initializer="zeros")

    def call(self, x):
        return x + self.table[: x.shape[1]]


def bert_base(length=128):
    ids = keras.Input((length,), dtype="int32")
    x = Positions()(layers.Embedding(VOCABULARY, WIDTH)(ids))
    for _ in range(DEPTH):
        x = layers.LayerNormalization(epsilon=1e-5)(x + layers.MultiHeadAttention(HEADS, WIDTH // HEADS)(x, x))
        y = layers.Dense(WIDTH)(layers.Dense(4 * WIDTH, activation="gelu")(x))
        x = layers.LayerNormalization(epsilon=1e-5)(x + y)
    return keras.Model(ids, layers.Dense(VOCABULARY)(x))


def lstm(length=200):
    x = keras.Input((length,), dtype="int32")
    y = layers.LSTM(256)(layers.LSTM(256, return_sequences=True)(layers.Embedding(20000, 128)(x)))
    return keras.Model(x, layers.Dense(2)(y))


def mlp():
    hidden = [layers.Dense(300, activation="relu"), layers.Dense(100, activation="relu")]
    return keras.Sequential([keras.Input((784,)), *hidden, layers.Dense(10)])


def resnet():
    return keras.applications.ResNet50(weights=None, classifier_activation=None)


def mobilenet():
    return keras.applications.MobileNetV2(weights=None, classifier_activation=None)


def images(n):
    return np.random.rand(n, 224, 224, 3).astype(np.float32), np.random.randint(0, 1000, n)


def tokens(n, length, vocabulary, labels):
    return np.random.randint(0, vocabulary, (n, length)), np.random.randint(0, *labels)


# Name, policy, model, data, optimiser (none: inference).
def sgd():
    return keras.optimizers.SGD(1e-3, momentum=0.9)


def adam():
    return keras.optimizers.Adam(1e-3)


def text():
    return tokens(16, 128, VOCABULARY, (VOCABULARY, (16, 128)))


CASES = [
    ("mlp_784_300_100_10_train_f32_b32", "float32", mlp, lambda: (np.random.rand(32, 784), np.random.randint(0, 10, 32)), adam),
    ("resnet50_train_f32_b64", "float32", resnet, lambda: images(64), sgd),
    ("bert_base_train_f32_b16_s128_adam", "float32", bert_base, text, adam),
    ("resnet50_train_bf16_b64", "mixed_bfloat16", resnet, lambda: images(64), sgd),
    ("bert_base_train_bf16_b16_s128_adam", "mixed_bfloat16", bert_base, text, adam),
    ("mobilenet_v2_train_f32_b64", "float32", mobilenet, lambda: images(64), sgd),
    ("lstm2x256_train_f32_b64_s200", "float32", lstm, lambda: tokens(64, 200, 20000, (2, 64)), adam),
    ("resnet50_infer_f32_b1", "float32", resnet, lambda: images(1), None),
    ("mobilenet_v2_infer_f32_b1", "float32", mobilenet, lambda: images(1), None),
    ("resnet50_infer_f16_b64", "mixed_float16", resnet, lambda: images(64), None),
]


def step_of(model, data, optimizer):
    """A function of no arguments that runs one step and returns a small tensor."""
    x, y = (tf.constant(d, tf.int32 if d.dtype.kind == "i" else tf.float32) for d in data)
    if optimizer is None:
        return tf.function(lambda: model(x, training=False)[0, 0])
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = optimizer()
    optimizer.build(model.trainable_variables)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    return step


def measure(step, seconds):
    """(median ms of a step, seconds of the first step, what the last step returned)."""
    start = time.perf_counter()
    float(step())
    first = time.perf_counter() - start
    start = time.perf_counter()
    float([step() for _ in range(3)][-1])
    # As many steps a run as make it long against the wait at its end.
    steps = max(1, min(50, int(seconds / 5 / max((time.perf_counter() - start) / 3, 1e-4))))
    times = []
    for _ in range(5):
        start = time.perf_counter()
        value = float([step() for _ in range(steps)][-1])
        times.append((time.perf_counter() - start) / steps * 1e3)
    return statistics.median(times), first, value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="only names that contain this; several with commas")
    parser.add_argument("--seconds", type=float, default=4, help="time for each model, about")
    arguments = parser.parse_args()
    gpus = tf.config.list_physical_devices("GPU")
    print(json.dumps({"device": [d.name for d in gpus] or "CPU", "tensorflow": tf.__version__}), flush=True)
    for name, policy, build, data, optimizer in CASES:
        if not any(part in name for part in arguments.only.split(",")):
            continue
        keras.utils.set_random_seed(0)
        keras.mixed_precision.set_global_policy(policy)
        try:
            ms, first, value = measure(step_of(build(), data(), optimizer), arguments.seconds)
            print(json.dumps({"name": name, "ms": round(ms, 4), "first_step_s": round(first, 2), "result": value}), flush=True)
        except Exception as e:
            print(json.dumps({"name": name, "error": f"{type(e).__name__}: {e}"[:500]}), flush=True)
        keras.backend.clear_session()


if __name__ == "__main__":
    main()
