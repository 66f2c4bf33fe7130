"""Recurrent networks. TensorFlow's CPU has no Cudnn* ops: the reference is a network step by step in float64. Gradients, and
what the forward op keeps for them, are tested in tests/plugin/test_e_recurrent.py."""
import recurrent
from recurrent import forward
from table import Tol, case, const, normal, t, uniform

FLOATS = ("float32", "float16", "bfloat16", "float64")
BLOCK = ("float32", "float16")
NEAR = Tol("norm", 1e-12, 1e-5, 4e-3, 3e-2)
# TensorFlow's CPU sums float16 in float16, and has no float64 of these ops to ask.
ROUGH = Tol("norm", 1e-12, 1e-5, 2e-2)
TIME, BATCH, INPUT, UNITS = 5, 3, 4, 6


def networks():
    for mode in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        for directions, layers in ((1, 1), (2, 2)):
            direction = "bidirectional" if directions == 2 else "unidirectional"
            for time_major, lengths in ((True, [5, 5, 5]), (False, [5, 5, 5]), (True, [2, 5, 0]), (False, [1, 3, 4])):
                swap = lambda a, b: (a, b) if time_major else (b, a)
                states = t(*swap(layers * directions, BATCH), UNITS)
                given = {
                    "input": t(*swap(TIME, BATCH), INPUT),
                    "input_h": states,
                    "input_c": states if mode == "lstm" else const(0.0, None),
                    "params": t(recurrent.size(mode, layers, directions, UNITS, INPUT), dist=normal(0.5)),
                    "sequence_lengths": const(lengths),
                }
                attrs = {"rnn_mode": mode, "direction": direction, "time_major": time_major, "is_training": False}
                ref = forward(mode=mode, directions=directions, time_major=time_major)
                tag = f"{mode} {directions}x{layers} {'TB' if time_major else 'BT'} {lengths}"
                yield case("CudnnRNNV3", FLOATS, given, attrs, tol=NEAR, special=False, ref=ref, tag=tag)
    # One step, one sequence, no step, no sequence; one that fills more than a workgroup.
    for time, batch, inputs, units in ((1, 1, 1, 1), (3, 1, 2, 5), (0, 2, 3, 4), (2, 0, 3, 4), (4, 33, 20, 65)):
        n = recurrent.size("lstm", 1, 1, units, inputs)
        given = {"input": t(time, batch, inputs), "input_h": t(1, batch, units), "input_c": t(1, batch, units), "params": t(n, dist=normal(0.2))}
        for op, version in (("CudnnRNN", 1), ("CudnnRNNV2", 2)):
            ref = forward(mode="lstm", version=version)
            yield case(op, FLOATS[:1], given, {"rnn_mode": "lstm", "is_training": False}, tol=NEAR, special=False, ref=ref, tag=f"{time} {batch} {inputs} {units}")


def blocks():
    """The block ops. Their gradients take what the forward op gave: any gates between 0 and 1 do."""
    for batch, inputs, units in ((3, 4, 5), (1, 1, 1), (33, 7, 40)):
        gate, inner, state = t(batch, units, dist=uniform(0.1, 0.9)), t(batch, units, dist=uniform(-0.9, 0.9)), t(batch, units)
        for peephole in (False, True):
            peep = t(units)
            weights = {"cs_prev": state, "h_prev": state, "w": t(inputs + units, 4 * units, dist=normal(0.3)), "wci": peep, "wcf": peep, "wco": peep, "b": t(4 * units)}
            tag = f"{batch} {inputs} {units} {peephole}"
            cell = {"x": t(batch, inputs)} | weights
            for clip in (0.5, -1.0):
                attrs = {"use_peephole": peephole, "cell_clip": clip, "forget_bias": 0.3}
                yield case("LSTMBlockCell", BLOCK, cell, attrs, tol=ROUGH, special=False, tag=f"{tag} {clip}")
            gates = {"i": gate, "cs": state, "f": gate, "o": gate, "ci": inner, "co": inner}
            attrs = {"use_peephole": peephole}
            given = cell | gates | {"cs_grad": state, "h_grad": state}
            yield case("LSTMBlockCellGrad", BLOCK, given, attrs, tol=ROUGH, special=False, tag=tag)
            for time, steps in ((4, 4), (4, 2), (3, 1)):
                many = lambda spec: t(time, *spec.shape, dist=spec.dist)
                sequence = {"seq_len_max": const(steps, "int64"), "x": t(time, batch, inputs)} | weights
                outputs = None if steps == time else (1, 6)  # of the others the CPU leaves the rest as it finds it
                yield case("BlockLSTM", BLOCK, sequence, attrs | {"cell_clip": 0.7}, tol=ROUGH, special=False, tag=f"{tag} {time} {steps}", outputs=outputs)
                yield case("BlockLSTMV2", BLOCK, sequence, attrs, tol=ROUGH, special=False, tag=f"{tag} {time} {steps}", outputs=outputs)
                kept = {k: many(v) for k, v in gates.items()} | {k: many(state) for k in ("h", "cs_grad", "h_grad")}
                for op in ("BlockLSTMGrad", "BlockLSTMGradV2"):
                    yield case(op, BLOCK, sequence | kept, attrs, tol=ROUGH, special=False, tag=f"{tag} {time} {steps}")
        cell = {
            "x": t(batch, inputs), "h_prev": state, "w_ru": t(inputs + units, 2 * units, dist=normal(0.3)),
            "w_c": t(inputs + units, units, dist=normal(0.3)), "b_ru": t(2 * units), "b_c": t(units),
        }
        yield case("GRUBlockCell", BLOCK[:1], cell, tol=ROUGH, special=False, tag=f"{batch} {inputs} {units}")
        given = cell | {"r": gate, "u": gate, "c": inner, "d_h": state}
        yield case("GRUBlockCellGrad", BLOCK[:1], given, tol=ROUGH, special=False, tag=f"{batch} {inputs} {units}")


CASES = [*networks(), *blocks()]
