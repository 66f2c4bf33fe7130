"""Recurrent layers: cuDNN's ops against a float64 network step by step, and unchanged Keras layers against the CPU's."""
import pytest

from process import run

CHECK = """
    import sys
    sys.path.insert(0, OPS)
    import recurrent

    def compare(mode, directions=1, layers=1, time_major=True, ragged=False, dtype="float32", dropout=0.0, seed=3, version=3, bound=1e-5):
        time, batch, inputs, units = 5, 3, 4, 6
        rng = np.random.default_rng(0)
        n = recurrent.size(mode, layers, directions, units, inputs)
        x, h = rng.normal(size=(time, batch, inputs)), rng.normal(size=(layers * directions, batch, units))
        c, p = rng.normal(size=h.shape), rng.normal(size=n) * 0.5
        lengths = np.array([5, 2, 4] if ragged else [5, 5, 5], np.int32)
        if not time_major:
            x, h, c = (v.transpose(1, 0, 2) for v in (x, h, c))

        def results(device, dtype, op):
            with tf.device(device):
                with tf.GradientTape() as tape:
                    given = [tf.constant(v, dtype) for v in (x, h, c, p)]
                    tape.watch(given)
                    y, last_h, last_c = op(*given)
                    factors = np.cos(np.arange(np.prod(y.shape))).reshape(y.shape)
                    loss = tf.reduce_sum(y * tf.constant(factors, dtype)) + tf.reduce_sum(last_h * last_h)
                    if mode == "lstm":
                        loss += tf.reduce_sum(tf.sin(last_c))
                grads = tape.gradient(loss, given if mode == "lstm" else [given[0], given[1], given[3]])
                return [v.numpy().astype(np.float64) for v in [y, last_h] + [last_c] * (mode == "lstm") + grads]

        def ours(x, h, c, p):
            attrs = dict(rnn_mode=mode, direction="bidirectional" if directions == 2 else "unidirectional", dropout=dropout, seed=seed, seed2=5)
            c = c if mode == "lstm" else tf.zeros((), x.dtype)
            if version == 3:
                attrs |= dict(sequence_lengths=lengths, time_major=time_major)
            op = {1: tf.raw_ops.CudnnRNN, 2: tf.raw_ops.CudnnRNNV2, 3: tf.raw_ops.CudnnRNNV3}[version]
            return op(input=x, input_h=h, input_c=c, params=p, is_training=True, **attrs)[:3]

        masks = None
        if dropout:  # the same stream as a plain random op's with these seeds
            shape = (time, batch, directions * units) if time_major else (batch, time, directions * units)
            with tf.device("/CPU:0"):
                u = tf.raw_ops.RandomUniform(shape=shape, dtype="float32", seed=seed, seed2=5).numpy()
            mask = (u >= dropout) / (1 - dropout)
            masks = [mask if time_major else mask.transpose(1, 0, 2)]
        got = results("/GPU:0", dtype, ours)
        want = results("/CPU:0", "float64", lambda x, h, c, p: recurrent.network(
            tf, x, h, c, p, mode=mode, directions=directions, lengths=lengths, time_major=time_major, masks=masks))
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            error = np.abs(g - w).max() / np.abs(w).max()
            assert error <= bound, (mode, directions, layers, time_major, ragged, dtype, version, i, error)
"""


def checks(program):
    from pathlib import Path

    run(CHECK.replace("OPS", repr(str(Path(__file__).resolve().parents[1] / "ops"))) + program)


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_gradients_equal_those_of_single_steps(mode):
    checks(f"""
    mode = {mode!r}
    for directions in (1, 2):
        for layers in (1, 2):
            for time_major in (True, False):
                for ragged in (False, True):
                    compare(mode, directions, layers, time_major, ragged)
    for version in (1, 2):
        compare(mode, 2, 2, version=version)
    for dtype, bound in (("float64", 1e-12), ("float16", 1e-2), ("bfloat16", 6e-2)):
        compare(mode, 2, 2, False, True, dtype, bound=bound)
    compare(mode, 2, 2, dropout=0.5)
    compare(mode, 1, 2, False, True, dropout=0.25, seed=4)
    """)


def test_weights_to_parts_and_back():
    checks("""
    with tf.device("/GPU:0"):
        for mode, gates in (("lstm", 4), ("gru", 3), ("rnn_relu", 1)):
            for direction, directions in (("unidirectional", 1), ("bidirectional", 2)):
                sizes = dict(num_layers=2, num_units=3, input_size=5)
                attrs = dict(rnn_mode=mode, direction=direction)
                n = recurrent.size(mode, 2, directions, 3, 5)
                assert int(tf.raw_ops.CudnnRNNParamsSize(**sizes, **attrs, T="float32", S="int32")[0]) == n
                params, parts = tf.range(float(n)), 2 * directions * 2 * gates
                w, b = tf.raw_ops.CudnnRNNParamsToCanonical(**sizes, **attrs, params=params, num_params=parts)
                assert [int(v[0, 0]) for v in w[: gates + 1]] == [15 * i for i in range(gates + 1)]
                assert w[0].shape == (3, 5) and w[gates].shape == (3, 3) and w[-1].shape == (3, 3) and b[0].shape == (3,)
                assert float(b[-1][-1]) == n - 1
                back = tf.raw_ops.CudnnRNNCanonicalToParams(**sizes, **attrs, weights=w, biases=b)
                assert np.array_equal(back, params)
                w2, b2 = tf.raw_ops.CudnnRNNParamsToCanonicalV2(**sizes, **attrs, params=params, num_params_weights=parts, num_params_biases=parts)
                back = tf.raw_ops.CudnnRNNCanonicalToParamsV2(**sizes, **attrs, weights=w2, biases=b2)
                assert np.array_equal(back, params)
    """)


def test_what_is_not_served_is_said():
    checks("""
    def refused(error, **changed):
        given = dict(input=tf.zeros((2, 3, 4)), input_h=tf.zeros((1, 3, 4)), input_c=tf.zeros((1, 3, 4)), params=tf.zeros(8 * 16 + 32),
                     sequence_lengths=[2, 2, 2], rnn_mode="lstm") | changed
        with tf.device("/GPU:0"):
            try:
                tf.raw_ops.CudnnRNNV3(**given)[0].numpy()
            except (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError) as e:
                assert error in e.message, e.message
            else:
                raise AssertionError(f"accepted: {changed}")

    refused("input_mode", input_mode="skip_input")
    refused("num_proj", num_proj=2)
    refused("params: expected 160 elements, got 159", params=tf.zeros(159))
    refused("sequence_lengths: expected 0 to 2 steps, got 3", sequence_lengths=[2, 3, 1])
    refused("input_c", input_c=tf.zeros((1, 2, 4)))
    """)


TRAIN = """
    from tensorflow.python.eager import context
    from tensorflow_vulkan import placement
    tf.config.set_soft_device_placement(True)
    L = tf.keras.layers
    rng = np.random.default_rng(0)
    words = np.where(np.arange(7) < rng.integers(1, 8, (16, 1)), rng.integers(1, 20, (16, 7)), 0)
    series, frames = rng.normal(size=(16, 7, 5)).astype(np.float32), rng.normal(size=(4, 3, 6, 6, 2)).astype(np.float32)

    def train(layers, x, steps=4):
        tf.keras.utils.set_random_seed(1)
        model = tf.keras.Sequential([tf.keras.Input(x.shape[1:]), *layers(), L.Flatten(), L.Dense(1)])
        y = np.sin(np.arange(len(x)))[:, None].astype(np.float32)
        model.compile(optimizer="adam", loss="mse")
        context.context().enable_run_metadata()
        losses = [model.train_on_batch(x, y)]
        ran = context.context().export_run_metadata()
        rows = placement.rows(ran, only_with="_VkUpdate") or placement.rows(ran, only_with="AssignSubVariableOp")
        context.context().disable_run_metadata()
        losses += [model.train_on_batch(x, y) for _ in range(steps - 1)]
        return np.array(losses, np.float64), rows, model.predict(x, verbose=0)

    def same(name, layers, x, cpu, op=None, strays_allowed=False):
        print(name, flush=True)
        got, rows, predicted = train(layers, x)
        used = {r[0] for r in rows}
        assert "MatMul" in used and (op is None or op in used), sorted(used)
        strays = placement.strays(rows)
        assert strays_allowed or not strays, strays
        with tf.device("/CPU:0"):
            want, _, expected = train(cpu, x)
        assert np.allclose(got, want, rtol=1e-4, atol=0), (got, want)
        assert np.allclose(predicted, expected, rtol=1e-3, atol=1e-4)
"""

# layers, data, the cuDNN op that the step must hold
KERAS = {
    "LSTM": ("[L.LSTM(6, use_cudnn=CUDNN)]", "series", True),
    "LSTM sequences": ("[L.LSTM(6, return_sequences=True, use_cudnn=CUDNN), L.LSTM(5, go_backwards=True, use_cudnn=CUDNN)]", "series", True),
    "GRU": ("[L.GRU(6, use_cudnn=CUDNN)]", "series", True),
    "GRU sequences": ("[L.GRU(6, return_sequences=True, use_cudnn=CUDNN), L.GRU(5, go_backwards=True, use_cudnn=CUDNN)]", "series", True),
    "Bidirectional LSTM": ("[L.Bidirectional(L.LSTM(6, return_sequences=True, use_cudnn=CUDNN))]", "series", True),
    "Bidirectional GRU": ("[L.Bidirectional(L.GRU(6, use_cudnn=CUDNN))]", "series", True),
    "masked LSTM": ("[L.Embedding(20, 4, mask_zero=True), L.LSTM(6, use_cudnn=CUDNN)]", "words", True),
    "masked GRU": ("[L.Embedding(20, 4, mask_zero=True), L.Bidirectional(L.GRU(6, use_cudnn=CUDNN))]", "words", True),
    "LSTM without cuDNN": ("[L.LSTM(6, use_cudnn=False, dropout=0.1)]", "series", False),
    "SimpleRNN": ("[L.SimpleRNN(6)]", "series", False),
    "masked SimpleRNN": ("[L.Embedding(20, 4, mask_zero=True), L.SimpleRNN(6)]", "words", False),
    "RNN of a cell": ("[L.RNN([L.GRUCell(5), L.LSTMCell(6)])]", "series", False),
    "unrolled LSTM": ("[L.LSTM(6, unroll=True)]", "series", False),
    "TimeDistributed": ("[L.TimeDistributed(L.Dense(4, activation='relu')), L.SimpleRNN(6)]", "series", False),
    "ConvLSTM2D": ("[L.ConvLSTM2D(3, 3, padding='same')]", "frames", False),
}

# A mask that a loop walks is a list of bool, which TensorFlow has on the CPU (and for CUDA) alone.
BOOL_LISTS = {"masked SimpleRNN"}


@pytest.mark.parametrize("cudnn", [True, False], ids=["cudnn", "steps"])
def test_keras_layers_train_as_on_the_cpu(cudnn):
    program = TRAIN
    for name, (layers, data, with_cudnn) in KERAS.items():
        if with_cudnn == cudnn:
            auto, never = (layers.replace("CUDNN", value) for value in ("'auto'", "False"))
            op = "CudnnRNNV3" if cudnn else None
            program += f"""
    same({name!r}, lambda: {auto}, {data}, lambda: {never}, {op!r}, {name in BOOL_LISTS})
"""
    run(program, timeout=900)
