"""Random functions of element-wise operators, reductions and updates of variables, run with the graph pass and without it: `python random_graphs.py FIRST COUNT`.

The two must agree to the last bit (but for the sign of a NaN, which Vulkan leaves open), and where the function is smooth, with TensorFlow's CPU within rounding. A function is
made by its number alone, so that a failure can be looked at again.
"""
import os
import random
import sys

import numpy as np
import tensorflow as tf

FLOATS = ["float32", "float32", "float16", "bfloat16", "float64"]
TOLERANCE = {"float64": 1e-4, "float32": 1e-3, "float16": 2e-2, "bfloat16": 1e-1}

SMOOTH = {
    "neg": lambda x: -x,
    "tanh": tf.tanh,
    "sigmoid": tf.sigmoid,
    "sin": lambda x: tf.sin(tf.tanh(x)),
    "exp": lambda x: tf.exp(tf.tanh(x)),
    "sqrt": lambda x: tf.sqrt(tf.square(tf.sigmoid(x)) + 1),
    "rsqrt": lambda x: tf.math.rsqrt(tf.sigmoid(x) + 1),
    "softplus": lambda x: tf.nn.softplus(tf.tanh(x)),
    "softsign": tf.nn.softsign,
    "gelu": lambda x: tf.nn.gelu(tf.tanh(x), approximate=False),
    "gelu_tanh": lambda x: tf.nn.gelu(tf.tanh(x), approximate=True),
    "silu": lambda x: tf.nn.silu(tf.tanh(x)),
    "elu": lambda x: tf.nn.elu(tf.tanh(x)),
    "log1p": lambda x: tf.math.log1p(tf.sigmoid(x)),
    "half": lambda x: x * 0.5,
}
ROUGH = {
    "abs": tf.abs,
    "square": tf.square,
    "log": lambda x: tf.math.log(tf.abs(x)),
    "relu": tf.nn.relu,
    "relu6": tf.nn.relu6,
    "leaky_relu": lambda x: tf.nn.leaky_relu(x, 0.1),
    "selu": tf.nn.selu,
    "floor": tf.floor,
    "round": tf.round,
    "sign": tf.sign,
    "expm1": tf.math.expm1,
    "rsqrt_raw": tf.math.rsqrt,
    "reciprocal": tf.math.reciprocal,
    "stop_gradient": tf.stop_gradient,
    "dropout": lambda x: tf.where(tf.sin(x * 37) > 0.2, x * 1.25, tf.zeros_like(x)),
}
SMOOTH_TWO = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "squared_difference": tf.math.squared_difference,
    "over": lambda x, y: x / (tf.sigmoid(y) + 1),
    "atan2": lambda x, y: tf.atan2(tf.tanh(x), tf.sigmoid(y) + 1),
}
ROUGH_TWO = {
    "max": tf.maximum,
    "min": tf.minimum,
    "div": lambda x, y: x / y,
    "div_no_nan": tf.math.divide_no_nan,
    "where": lambda x, y: tf.where(x > y, x * 2, y),
    "logic": lambda x, y: tf.cast((x > y) | tf.math.is_nan(x) & ~(y <= 0), x.dtype),
    "via_int64": lambda x, y: tf.cast(tf.cast(x, tf.int64) * 3 - tf.cast(y, tf.int64), x.dtype),
    "via_uint8": lambda x, y: tf.cast(tf.cast(tf.abs(tf.tanh(x)) * 100, tf.uint8) + tf.cast(tf.sigmoid(y), tf.uint8), x.dtype),
    "via_int32": lambda x, y: tf.cast(tf.cast(x, tf.int32) + tf.cast(y, tf.int32), x.dtype),
}


class Made:
    """The function of one number: `self.call(*self.inputs())` gives a list of tensors."""

    def __init__(self, seed):
        self.seed = seed
        r = random.Random(seed)
        self.smooth = r.random() < 0.5
        self.dtype = r.choice(FLOATS)
        self.gradient = r.random() < 0.5
        self.control = r.choice([None, None, None, "cond", "while", "nested"])
        self.product = self.dtype != "bfloat16" and r.random() < 0.3
        dims = [r.choice([1, 2, 3, 4, 7, 8, 16]) for _ in range(r.randint(1, 4))]
        self.shapes = [dims]
        for _ in range(r.randint(1, 3)):
            cut = dims[r.randint(0, len(dims)) :]
            self.shapes.append([1 if r.random() < 0.3 else d for d in cut])
        self.steps = r.randint(3, 40)
        self.variables = r.randint(1, 3) if self.control is None and r.random() < 0.5 else 0

    def inputs(self):
        rng = np.random.default_rng(self.seed)
        return [tf.cast(tf.constant(rng.normal(size=s)), self.dtype) for s in self.shapes]

    def chain(self, r, values, steps):
        """More values, each of one or two that came before."""
        values = list(values)
        one = list((SMOOTH if self.smooth else {**SMOOTH, **ROUGH}).values())
        two = list((SMOOTH_TWO if self.smooth else {**SMOOTH_TWO, **ROUGH_TWO}).values())
        for _ in range(steps):
            recent = values[-5:] if r.random() < 0.7 else values
            what = r.random()
            if what < 0.45:
                new = r.choice(one)(r.choice(recent))
            elif what < 0.87:
                new = r.choice(two)(r.choice(recent), r.choice(values))
            elif what < 0.89:
                reduce = r.choice([tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.reduce_min])
                x = tf.tanh(r.choice(recent))
                new = reduce(x, [r.randrange(x.shape.rank)] if x.shape.rank else [], keepdims=True)
            elif what < 0.92:
                # A normalisation, or a part of one.
                x = r.choice(recent)
                axes = r.sample(range(x.shape.rank), r.randint(0, min(2, x.shape.rank)))
                mean = tf.reduce_mean(x, axes, keepdims=True)
                new = mean if r.random() < 0.3 else (x - mean) * tf.math.rsqrt(tf.reduce_mean(tf.math.squared_difference(x, mean), axes, keepdims=True) + 0.1)
            elif what < 0.95:
                x = r.choice(recent)
                new = tf.add_n([x * 0.5, tf.tanh(x), tf.sigmoid(x)])
            else:
                new = tf.cast(tf.cast(r.choice(recent), r.choice(FLOATS)) * 1.5, self.dtype)
            # What grows without bound says nothing after a while.
            values.append(tf.tanh(new) * 2 if r.random() < 0.3 else new)
        return values

    def body(self, *inputs):
        r = random.Random(self.seed + 1)
        values = self.chain(r, inputs, self.steps)
        if self.product:
            x = tf.reshape(values[-1], [-1, tf.shape(values[-1])[-1]]) if values[-1].shape.rank else tf.reshape(values[-1], [1, 1])
            n = x.shape[-1]
            w = tf.cast(tf.reshape(tf.sin(tf.range(n * 5, dtype=tf.float32)), [n, 5]), self.dtype)
            act = r.choice([tf.nn.relu, tf.nn.relu6, tf.nn.leaky_relu, tf.tanh, tf.nn.gelu, tf.identity])
            values.append(act(tf.nn.bias_add(tf.tanh(x) @ w, w[0] * 0.5)))
        last = values[-1]
        if self.control == "cond":
            a, b = r.random(), r.random()
            go = tf.reduce_sum(tf.cast(inputs[0], tf.float32)) > 0
            last = tf.cond(go, lambda: self.chain(random.Random(a), [last, tf.cos(tf.tanh(last))], 6)[-1] * 0 + last,
                           lambda: tf.tanh(self.chain(random.Random(b), [last], 6)[-1]) * 0 - last)
        if self.control == "nested":
            # Two variables of a loop that change places, with a branch inside and updates after it.
            a, b, c = r.random(), r.random(), r.random()
            def turn(i, v, w):
                inner = tf.cond(i > 1, lambda: tf.tanh(self.chain(random.Random(a), [v], 4)[-1]) * 0 + w,
                                lambda: tf.sin(tf.tanh(self.chain(random.Random(b), [w], 3)[-1])) * 0 - v)
                shape = v.shape
                return i + 1, tf.ensure_shape(tf.reshape(tf.broadcast_to(inner, tf.shape(v)), tf.shape(v)), shape), tf.tanh(v * 0.5)
            _, v, w = tf.while_loop(lambda i, *_: i < 4, turn, (0, last, last * 0.5))
            more = self.chain(random.Random(c), [v, w], 4)
            values.append(more[-1] + values[-1])
            last = tf.tanh(v * 2 + w) - tf.reduce_mean(values[len(inputs)])
        if self.control == "while":
            seed, shape = r.random(), last.shape
            def step(i, v):
                new = tf.tanh(v * 1.5 + tf.sin(tf.tanh(self.chain(random.Random(seed), [v], 4)[-1])))
                return i + 1, tf.ensure_shape(tf.reshape(new, shape), shape) if new.shape == shape else tf.tanh(v * 0.5) - v
            _, last = tf.while_loop(lambda i, _: i < 3, step, (0, last))
        kept = [v for v in values[len(inputs):-1] if r.random() < 0.15]
        return [last, *kept]

    def updates(self, variables, values):
        """Reads and updates of the variables in a random order, each with what was read before."""
        r = random.Random(self.seed + 2)
        values, results = list(values), []
        for _ in range(r.randint(2, 10)):
            v = r.choice(variables)
            what = r.random()
            if what < 0.4:
                values.append(v.read_value())
                continue
            new = self.chain(r, values[-4:], r.randint(1, 4))[-1]
            new = tf.tanh(tf.broadcast_to(tf.reduce_mean(new), v.shape) if new.shape != v.shape else new)
            if what < 0.65:
                v.assign_add(new)
            elif what < 0.9:
                v.assign_sub(new * 0.5)
            else:
                v.assign(new)
            if r.random() < 0.2:
                results.append(v + new)
        return results

    def call(self, *inputs):
        if self.variables:
            return [*self.body(*inputs), *self.updates(self.held, inputs)]
        if not self.gradient:
            return self.body(*inputs)
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            results = self.body(*inputs)
            loss = tf.add_n([tf.reduce_sum(tf.cast(v, tf.float32) * 0.01) for v in results])
        return results + [g for g in tape.gradient(loss, inputs) if g is not None]

    def run(self, device, fusion):
        os.environ["TFVK_FUSION"] = fusion
        with tf.device(device):
            inputs = self.inputs()
            self.held = [tf.Variable(inputs[i % len(inputs)]) for i in range(self.variables)]
            function = tf.function(self.call)
            results = [v.numpy() for _ in range(2 if self.variables else 1) for v in function(*inputs)]
            return results + [v.numpy() for v in self.held]


def same(a, b):
    """To the last bit; of a NaN that it is one."""
    def bits(v):
        nan = v != v
        return np.where(nan, np.zeros((), v.dtype), v).tobytes(), nan.tobytes()
    return a.dtype == b.dtype and a.shape == b.shape and bits(a) == bits(b)


def close(a, b, tolerance):
    a, b = a.astype(np.float64), b.astype(np.float64)
    scale = max(1.0, float(np.abs(b).max(initial=0.0)))
    return a.shape == b.shape and np.allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True)


def check(seed):
    """What is wrong with the function of this number; nothing if all agree."""
    made = Made(seed)
    plain = made.run("/GPU:0", "0")
    fused = made.run("/GPU:0", "1")
    for i, (f, p) in enumerate(zip(fused, plain, strict=True)):
        if not same(f, p):
            return f"result {i} of {len(plain)} ({p.dtype}{p.shape}) differs from the unfused: {f.ravel()[:4]} {p.ravel()[:4]}"
    if made.smooth:
        cpu = made.run("/CPU:0", "0")
        for i, (f, c) in enumerate(zip(fused, cpu, strict=True)):
            if not close(f, c, TOLERANCE[made.dtype]):
                return f"result {i} of {len(plain)} ({c.dtype}{c.shape}) differs from the CPU's: {f.ravel()[:4]} {c.ravel()[:4]}"
    return None


def main(first, count):
    tf.config.set_soft_device_placement(True)
    tf.get_logger().setLevel("ERROR")
    # TensorFlow's pass reorders sums when it sees a graph for the second time, and then does not see what is fused.
    tf.config.optimizer.set_experimental_options({"arithmetic_optimization": False, "constant_folding": False})
    wrong = {seed: why for seed in range(int(first), int(first) + int(count)) if (why := check(seed))}
    for seed, why in wrong.items():
        print(f"function {seed}: {why}")
    print(f"{count} functions, {len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
