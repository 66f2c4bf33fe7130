"""The graph pass: what it fuses, and that results are those without it, to the last bit."""
from pathlib import Path

import pytest

from process import run

HERE = Path(__file__).parent


def both(program):
    """The program's output with fusion and without."""
    out, err = run(program, TFVK_LOG="debug")
    plain, plain_err = run(program, TFVK_LOG="debug", TFVK_FUSION="0")
    assert "element-wise chains:" not in plain_err
    return out, plain, [line for line in err.splitlines() if "element-wise chains:" in line]


def test_a_chain_is_one_op_with_the_same_bits():
    out, plain, told = both("""
        rng = np.random.default_rng(0)
        @tf.function
        def f(x, y, b):
            z = tf.tanh(x * y + b) * tf.sigmoid(x - b)
            z = tf.where(z > 0.1, tf.sqrt(tf.abs(z)), -z * 0.5)
            return tf.cast(z, tf.float16) * tf.constant(3, tf.float16)
        with tf.device("/GPU:0"):
            x, y = (tf.constant(rng.normal(size=(50, 70)).astype(np.float32)) for _ in range(2))
            b = tf.constant(rng.normal(size=(70,)).astype(np.float32))
            print(f(x, y, b).numpy().tobytes().hex())
            print(f(x[:0], y[:0], b).shape, f(x[:1], y[:1], b).numpy().tobytes().hex())
    """)
    assert out == plain and told and " 0 element-wise" not in told[0], told


def test_what_is_fetched_or_used_elsewhere_stays():
    out, plain, told = both("""
        @tf.function
        def f(x):
            a = x + 1.0
            b = a * 2.0
            c = tf.exp(-b)
            return a, c, tf.reduce_sum(b)
        with tf.device("/GPU:0"):
            x = tf.constant(np.linspace(-1, 1, 33, dtype=np.float32))
            print([t.numpy().tobytes().hex() for t in f(x)])
    """)
    assert out == plain


def test_the_gradient_of_a_dense_net():
    out, plain, told = both("""
        rng = np.random.default_rng(0)
        w = [tf.constant(rng.normal(size=s).astype(np.float32) * 0.3) for s in [(20, 32), (32,), (32, 5), (5,)]]
        @tf.function
        def f(x, *w):
            with tf.GradientTape() as tape:
                tape.watch(w)
                h = tf.nn.relu(tf.nn.bias_add(x @ w[0], w[1]))
                y = tf.nn.bias_add(h @ w[2], w[3])
                loss = tf.reduce_mean(tf.square(y))
            return (loss, *tape.gradient(loss, w))
        with tf.device("/GPU:0"):
            x = tf.constant(rng.normal(size=(64, 20)).astype(np.float32))
            results = f(x, *w)
            print([t.numpy().tobytes().hex() for t in results])
        with tf.device("/CPU:0"):
            for a, b in zip(results, f(x, *w)):
                assert np.allclose(a, b, rtol=1e-4, atol=1e-5)
    """)
    assert out == plain and any("fused 2 products" in line for line in told), told


@pytest.mark.parametrize("activation", ["relu", "relu6", "leaky_relu"])
def test_products_with_bias_and_activation(activation):
    out, plain, told = both(f"""
        rng = np.random.default_rng(0)
        @tf.function
        def f(x, w, b):
            return tf.nn.{activation}(tf.nn.bias_add(tf.matmul(x, w), b))
        for m, k, n in [(33, 20, 47), (1, 300, 64), (128, 2000, 3)]:
            x, w, b = (rng.normal(size=s).astype(np.float32) for s in [(m, k), (k, n), (n,)])
            with tf.device("/GPU:0"):
                got = f(tf.constant(x), tf.constant(w), tf.constant(b)).numpy()
            with tf.device("/CPU:0"):
                expected = tf.nn.{activation}(tf.nn.bias_add(tf.matmul(x, w), b)).numpy()
            assert np.allclose(got, expected, rtol=1e-4, atol=1e-3)
            print(got.tobytes().hex())
    """)
    assert out == plain and "fused 1 products" in told[0]


OPTIMIZERS = ["SGD(momentum=0.9, nesterov=True)", "AdamW()", "Adam(amsgrad=True, clipnorm=1.0, use_ema=True)", "RMSprop(centered=True)"]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_training_steps_and_all_variables_are_the_same(optimizer):
    """An optimiser's arithmetic goes into the updates of its variables."""
    out, plain, told = both(f"""
        import keras
        tf.config.set_soft_device_placement(True)
        keras.utils.set_random_seed(1)
        x = np.random.default_rng(0).random((48, 20)).astype(np.float32)
        y = (x.sum(1) > 10).astype(np.int32)
        net = [keras.layers.Dense(32, activation="relu"), keras.layers.Dropout(0.2), keras.layers.Dense(2)]
        model = keras.Sequential([keras.Input((20,)), *net])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(optimizer=keras.optimizers.{optimizer}, loss=loss, metrics=["accuracy"])
        history = model.fit(x, y, batch_size=16, epochs=2, verbose=0, shuffle=False)
        print(history.history)
        print([v.numpy().tobytes().hex() for v in [*model.variables, *model.optimizer.variables]])
    """)
    assert out == plain and told


def test_updates_keep_their_order():
    """What is read before, between and after updates, in one function, by operators that are fused with them."""
    out, plain, told = both("""
        with tf.device("/GPU:0"):
            a, b = (tf.Variable(tf.constant([1.0, 2.0, 3.0]) * s) for s in (1, 10))
            scalar = tf.Variable(2.0)
        @tf.function
        def f(x):
            first = a * 2 + x
            a.assign_add(tf.tanh(first) * b)
            between = a - first
            b.assign_sub(between * a)
            scalar.assign_add(scalar * 2 - 1)
            a.assign_sub(b * scalar)
            scalar.assign_sub(0.5)
            return first, between, a + b, tf.exp(-a) * scalar
        with tf.device("/GPU:0"):
            x = tf.constant([0.1, 0.2, 0.3])
            got = [v.numpy() for _ in range(3) for v in f(x)] + [v.numpy() for v in (a, b, scalar)]
            print([v.tobytes().hex() for v in got])
        A, B, S, expected = np.float64([1, 2, 3]), np.float64([10, 20, 30]), 2.0, []
        for _ in range(3):
            first = A * 2 + x.numpy()
            A = A + np.tanh(first) * B
            between = A - first
            B = B - between * A
            S = S + S * 2 - 1
            A = A - B * S
            S = S - 0.5
            expected += [first, between, A + B, np.exp(-A) * S]
        for g, e in zip(got, expected + [A, B, S]):
            assert np.allclose(g, e, rtol=1e-4, equal_nan=True), (got, expected)
    """)
    assert out == plain and told


def test_updates_of_many_small_variables_are_one_node():
    out, plain, told = both("""
        from tensorflow.python.eager import context
        with tf.device("/GPU:0"):
            variables = [tf.Variable(tf.ones([i + 1]) * i) for i in range(40)]
        @tf.function
        def f(x):
            for v in variables:
                v.assign_sub(tf.tanh(v * x) * 0.5)
        context.context().enable_run_metadata()
        with tf.device("/GPU:0"):
            f(tf.constant(0.3))
        nodes = [n for g in context.context().export_run_metadata().function_graphs for p in g.partition_graphs for n in p.node]
        import os
        if os.environ.get("TFVK_FUSION") != "0":
            assert [n.op for n in nodes if "Update" in n.op or "Assign" in n.op] == ["_VkUpdate"] * 2, [n.op for n in nodes]
        for i, v in enumerate(variables):
            assert np.allclose(v.numpy(), i - np.tanh(i * 0.3) * 0.5, rtol=1e-5)
        print([v.numpy().tobytes().hex() for v in variables])
    """)
    assert out == plain and told


def test_a_layer_normalization_is_one_node_each_way():
    out, plain, told = both("""
        import os
        from tensorflow.python.eager import context
        rng = np.random.default_rng(0)
        @tf.function
        def f(x, gamma, beta, w):
            with tf.GradientTape() as tape:
                tape.watch([x, gamma, beta])
                mean, variance = tf.nn.moments(x, [-1], keepdims=True)
                scale = tf.math.rsqrt(variance + 1e-5) * gamma
                y = x * scale + (beta - mean * scale)
                loss = tf.reduce_sum(y * w)
            return (y, *tape.gradient(loss, [x, gamma, beta]))
        values = [rng.normal(size=s).astype(np.float32) for s in [(8, 5, 64), (64,), (64,), (8, 5, 64)]]
        context.context().enable_run_metadata()
        with tf.device("/GPU:0"):
            got = f(*[tf.constant(v) for v in values])
            print([t.numpy().tobytes().hex() for t in got])
        nodes = [n for g in context.context().export_run_metadata().function_graphs for p in g.partition_graphs for n in p.node]
        if os.environ.get("TFVK_FUSION") != "0":
            assert not [n.op for n in nodes if n.op in ("Mean", "SquaredDifference", "Rsqrt", "RsqrtGrad")], [n.op for n in nodes]
            assert len([n for n in nodes if n.op == "_VkElementwise"]) <= 4, [n.op for n in nodes]
        with tf.device("/CPU:0"):
            for a, b in zip(got, f(*values)):
                assert np.allclose(a, b, rtol=1e-4, atol=1e-4)
    """)
    assert out == plain and told


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_random_functions(first):
    """With fusion and without, to the last bit; see random_graphs.py."""
    run(f"""
        import sys
        sys.path.insert(0, {str(HERE)!r})
        import random_graphs
        sys.exit(random_graphs.main({first}, 10))
    """, timeout=900)


def test_the_comparison_of_random_functions_can_fail():
    run(f"""
        import sys
        sys.path.insert(0, {str(HERE)!r})
        import random_graphs
        nan = np.array([np.nan, 1], np.float32)
        assert random_graphs.same(nan, nan * np.float32([-1, 1]))
        assert not random_graphs.same(np.float32([0.0]), np.float32([-0.0]))
        assert not random_graphs.same(np.float32([1]), np.nextafter(np.float32([1]), np.float32([2])))
        assert not random_graphs.close(np.float32([1]), np.float32([1.01]), 1e-3)
    """, TFVK_VISIBLE_DEVICES="-1")
