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
