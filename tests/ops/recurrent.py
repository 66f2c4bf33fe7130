"""A recurrent network of cuDNN's kinds, step by step in float64 on TensorFlow's CPU: the reference for the Cudnn* ops, which
TensorFlow's CPU does not have. Made of plain TensorFlow ops, so that its gradients come from TensorFlow too."""
import numpy as np

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def layout(mode, layers, directions, units, inputs):
    """For each layer and direction: offsets of input weights, state weights, biases, and the length of an input."""
    n, at, found = GATES[mode] * units, 0, []
    for layer in range(layers):
        width = inputs if layer == 0 else directions * units
        for _ in range(directions):
            found.append([at, at + n * width, None, width])
            at += n * (width + units)
    for f in found:
        f[2] = at
        at += 2 * n
    return found, at


def size(mode, layers, directions, units, inputs):
    return layout(mode, layers, directions, units, inputs)[1]


def network(tf, x, h, c, params, *, mode, directions=1, lengths=None, time_major=True, masks=None):
    """output, output_h, output_c of CudnnRNNV3, for tensors of any one dtype. `masks`: the factors between layers."""
    if not time_major:
        x, h = tf.transpose(x, (1, 0, 2)), tf.transpose(h, (1, 0, 2))
        c = tf.transpose(c, (1, 0, 2)) if mode == "lstm" else c
    time, batch, inputs = x.shape
    units, layers = h.shape[2], h.shape[0] // directions
    places, total = layout(mode, layers, directions, units, inputs)
    assert params.shape == (total,), (params.shape, total)
    n = GATES[mode] * units
    live = np.ones((time, batch, 1), bool) if lengths is None else (np.arange(time)[:, None] < np.asarray(lengths)[None])[..., None]
    last_h, last_c, y = [], [], x
    for layer in range(layers):
        outs = []
        for d in range(directions):
            w, r, b, width = places[layer * directions + d]
            w = tf.reshape(params[w : w + n * width], (n, width))
            r = tf.reshape(params[r : r + n * units], (n, units))
            bw, br = params[b : b + n], params[b + n : b + 2 * n]
            state, cell = h[layer * directions + d], c[layer * directions + d] if mode == "lstm" else None
            steps = [None] * time
            for t in range(time) if d == 0 else reversed(range(time)):
                p = tf.split(tf.matmul(y[t], w, transpose_b=True) + bw, GATES[mode], 1)
                q = tf.split(tf.matmul(state, r, transpose_b=True) + br, GATES[mode], 1)
                if mode == "lstm":
                    i, f, g, o = tf.sigmoid(p[0] + q[0]), tf.sigmoid(p[1] + q[1]), tf.tanh(p[2] + q[2]), tf.sigmoid(p[3] + q[3])
                    new_cell = f * cell + i * g
                    new = o * tf.tanh(new_cell)
                    cell = tf.where(live[t], new_cell, cell)
                elif mode == "gru":
                    reset, update = tf.sigmoid(p[0] + q[0]), tf.sigmoid(p[1] + q[1])
                    new = update * state + (1 - update) * tf.tanh(p[2] + reset * q[2])
                else:
                    new = (tf.tanh if mode == "rnn_tanh" else tf.nn.relu)(p[0] + q[0])
                state = tf.where(live[t], new, state)
                steps[t] = tf.where(live[t], new, tf.zeros_like(new))
            outs.append(tf.stack(steps) if time else tf.zeros((0, batch, units), x.dtype))
            last_h.append(state)
            last_c.append(cell)
        y = tf.concat(outs, 2)
        if masks is not None and layer + 1 < layers:
            y = y * masks[layer]
    h, c = tf.stack(last_h), tf.stack(last_c) if mode == "lstm" else tf.zeros(0, x.dtype)
    if not time_major:
        y, h = tf.transpose(y, (1, 0, 2)), tf.transpose(h, (1, 0, 2))
        c = tf.transpose(c, (1, 0, 2)) if mode == "lstm" else c
    return y, h, c


def forward(**attrs):
    """A case's reference for the outputs of CudnnRNN, V2 or V3 with is_training False."""
    version = attrs.pop("version", 3)

    def ref(input, input_h, input_c, params, sequence_lengths=None):
        import tensorflow as tf

        with tf.device("/CPU:0"):
            x, h, c, p = (tf.constant(v, tf.float64) for v in (input, input_h, input_c, params))
            y, h, c = network(tf, x, h, c, p, lengths=sequence_lengths, **attrs)
        out = [y.numpy(), h.numpy(), c.numpy(), np.zeros(0)]
        return out + [np.zeros(0, np.int8)] * (version > 1)

    return ref
