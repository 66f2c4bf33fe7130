"""An unchanged Keras script: the default `compile()`, no device scope, nothing of the plug-in's imported."""
import pytest

from process import run

FIT = """
    import sys
    tf.config.set_soft_device_placement(True)
    tf.keras.utils.set_random_seed(1)
    rng = np.random.default_rng(0)
    x = rng.random((192, 20)).astype(np.float32)
    y = (x.sum(1) > 10).astype(np.int32)
    def losses():
        tf.keras.utils.set_random_seed(1)
        model = tf.keras.Sequential([
            tf.keras.Input((20,)),
            tf.keras.layers.Dense(32, activation="relu"),
            tf.keras.layers.Dropout(0.2),
            tf.keras.layers.Dense(2, activation="softmax"),
        ])
        model.compile(optimizer=OPTIMIZER, loss="sparse_categorical_crossentropy", metrics=["accuracy"])
        history = model.fit(x, y, batch_size=32, epochs=3, verbose=0, shuffle=False)
        return history.history["loss"], model
"""


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "rmsprop"])
def test_fit_equals_the_cpu(optimizer):
    run(FIT.replace("OPTIMIZER", repr(optimizer)) + """
    on_gpu, model = losses()
    assert all("GPU:0" in w.value.device for w in model.trainable_weights)
    again, _ = losses()
    assert on_gpu == again, "two runs differ"
    with tf.device("/CPU:0"):
        on_cpu, _ = losses()
    assert np.allclose(on_gpu, on_cpu, rtol=1e-3), (on_gpu, on_cpu)
    """)


def test_a_function_that_asks_for_xla():
    run("""
        @tf.function(jit_compile=True)
        def f(x):
            return tf.reduce_sum(x * 2 + 1)

        @tf.function
        def outer(x):
            return f(x) + 1

        with tf.device("/GPU:0"):
            x = tf.constant(np.ones((3, 4), np.float32))
            assert float(f(x)) == 36 and float(outer(x)) == 37
    """)


def test_a_device_without_64_bit_types_trains():
    """Step counts and class indices are int64: the host computes them where the device cannot, and says so once."""
    out, err = run("""
        x, y = np.random.rand(32, 8, 8, 1).astype("float32"), np.random.randint(0, 4, 32)
        model = tf.keras.Sequential([tf.keras.Input([8, 8, 1]), tf.keras.layers.Conv2D(4, 3), tf.keras.layers.Flatten(), tf.keras.layers.Dense(4)])
        model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
        history = model.fit(x, y, epochs=2, verbose=0).history
        print(np.isfinite(history["loss"]).all(), history["loss"][1] < history["loss"][0], int(model.optimizer.iterations))
        try:
            tf.linalg.matmul(tf.ones([2, 2], tf.float64), tf.ones([2, 2], tf.float64))
        except tf.errors.UnimplementedError as e:
            print("shaderFloat64" in str(e) and "MatMul(float64 -> float64)" in str(e))
    """, TFVK_DISABLE="int64,f64,f16,int16,int8", TFVK_LIMIT_INVOCATIONS="256", TFVK_LIMIT_SHARED_MEMORY="16384")
    assert out.split() == ["True", "True", "2", "True"], out + err
    assert err.count("lacks 64-bit integer arithmetic") == 1, err
