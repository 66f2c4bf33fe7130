"""The loss of connectionist temporal classification."""
import numpy as np

from table import Tol, case, const, t

# Logarithms of small probabilities are large numbers: a float has few digits left for what they differ in.
NEAR = Tol("norm", 1e-11, 3e-4)
PLAIN = {"preprocess_collapse_repeated": False, "ctc_merge_repeated": True, "ignore_longer_outputs_than_inputs": False}
DOUBLES = ("float32", "float64")


def sparse(rows):
    """labels_indices, labels_values of ragged rows."""
    indices = [[b, i] for b, row in enumerate(rows) for i in range(len(row))]
    return {"labels_indices": const(np.reshape(indices, (-1, 2)).tolist(), "int64"), "labels_values": const([v for row in rows for v in row])}


def inputs(time, classes, rows, lengths):
    return {"inputs": t(time, len(rows), classes), **sparse(rows), "sequence_length": const(lengths)}


def paths(x, labels, merge):
    """Loss and gradient of one sequence: x [time, classes] in float64, the last class blank."""
    with np.errstate(divide="ignore"):
        y = x - np.log(np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)) - x.max(1, keepdims=True)
        blank = x.shape[1] - 1
        states = np.full(2 * len(labels) + 1, blank)
        states[1::2] = labels
        n, late = len(states), np.full(2, -np.inf)
        stay = np.where(merge | (states == blank), 0.0, -np.inf)
        skip = np.full(n, -np.inf)
        skip[2:][(states[2:] != blank) & ~(merge & (states[2:] == states[:-2]))] = 0.0
        begun, ended = np.full((len(x), n), -np.inf), np.full((len(x), n), -np.inf)
        begun[0, :2] = y[0, states[:2]]
        ended[-1, -2:] = 0.0
        for i in range(1, len(x)):
            a = np.concatenate([late, begun[i - 1]])
            begun[i] = np.logaddexp(np.logaddexp(a[2:] + stay, a[1:-1]), a[:-2] + skip) + y[i, states]
            b = np.concatenate([ended[-i] + y[-i, states], late])
            ended[-i - 1] = np.logaddexp(np.logaddexp(b[:-2] + stay, b[1:-1]), b[2:] + np.concatenate([skip[2:], late]))
        both = begun + ended
        loss, gradient = -np.logaddexp.reduce(both[0]), np.exp(y)
        if np.isfinite(loss):
            np.subtract.at(gradient, (slice(None), states), np.exp(both + loss))
    return loss, gradient


def reference(attrs, first=False):
    """What the op gives, in float64. `first`: the blank is the first class."""

    def ref(inputs, labels_indices, labels_values, sequence_length):
        x = np.roll(inputs, -1, 2) if first else inputs
        losses, gradients = np.zeros(x.shape[1]), np.zeros(x.shape)
        for b, length in enumerate(sequence_length.astype(int)):
            row = labels_values[labels_indices[:, 0] == b].astype(int) - first
            keep = [l for i, l in enumerate(row) if l < x.shape[2] - 1 and not (attrs["preprocess_collapse_repeated"] and i and l == row[i - 1])]
            if not (attrs["ignore_longer_outputs_than_inputs"] and len(row) > length):
                losses[b], gradients[:length, b] = paths(x[:length, b], keep, attrs["ctc_merge_repeated"])
        return losses, np.roll(gradients, 1, 2) if first else gradients

    return ref


def random(batch, most, classes, seed):
    r = np.random.default_rng(seed)
    return [r.integers(0, classes - 1, r.integers(1, most + 1)).tolist() for _ in range(batch)]


def cases():
    small = [[0, 1], [2], [1, 1, 0], [0, 2, 0, 2]]
    times = [7, 5, 7, 6]
    yield case("CTCLoss", DOUBLES, inputs(7, 4, small, times), PLAIN, tol=NEAR, special=False, tag="small", ref=reference(PLAIN))
    for collapse in (False, True):
        for merge in (False, True):
            attrs = {"preprocess_collapse_repeated": collapse, "ctc_merge_repeated": merge, "ignore_longer_outputs_than_inputs": False}
            yield case("CTCLoss", DOUBLES, inputs(8, 4, [[0, 0, 1], [2, 2, 2], [1, 3, 3]], [8, 4, 6]), attrs, tol=NEAR, special=False, tag=f"{collapse} {merge}", ref=reference(attrs))
    longer = {**PLAIN, "ignore_longer_outputs_than_inputs": True}
    yield case("CTCLoss", DOUBLES, inputs(4, 4, small, [1, 0, 4, 3]), longer, tol=NEAR, special=False, tag="longer", ref=reference(longer))
    yield case("CTCLoss", DOUBLES, inputs(3, 4, [[1, 1], [0, 1]], [2, 2]), PLAIN, tol=NEAR, special=False, tag="no path", ref=reference(PLAIN))
    yield case("CTCLoss", DOUBLES, inputs(60, 30, random(5, 25, 30, 1), [60, 50, 40, 55, 25]), PLAIN, tol=NEAR, special=False, tag="words", ref=reference(PLAIN))
    yield case("CTCLoss", DOUBLES, inputs(300, 200, random(2, 140, 200, 2), [300, 280]), PLAIN, tol=NEAR, special=False, tag="long", ref=reference(PLAIN))
    yield case("CTCLoss", DOUBLES[:1], inputs(1, 2, [[0]], [1]), PLAIN, tol=NEAR, special=False, tag="one", ref=reference(PLAIN))
    first = [[v + 1 for v in row] for row in small]
    yield case("CTCLossV2", DOUBLES[:1], inputs(7, 4, first, times), PLAIN, tol=NEAR, special=False, tag="small", ref=reference(PLAIN, True))
    words = [[v + 1 for v in row] for row in random(3, 30, 50, 3)]
    yield case("CTCLossV2", DOUBLES[:1], inputs(80, 50, words, [80, 70, 75]), PLAIN, tol=NEAR, special=False, tag="words", ref=reference(PLAIN, True))


def refused():
    for tag, rows, lengths in (
        ("time", [[0, 1], [2]], [1, 4]), ("empty", [[0, 1], []], [4, 4]), ("null", [[3, 1], [2]], [4, 4]), ("negative", [[0, -1], [2]], [4, 4]),
        ("length", [[0], [1]], [5, 4]), ("lengths", [[0], [1]], [4]),
    ):
        yield case("CTCLoss", DOUBLES[:1], inputs(4, 4, rows, lengths), PLAIN, special=False, tag=tag, refused=True)
    for tag, indices in (("order", [[1, 0], [0, 0]]), ("bounds", [[0, 0], [2, 0]]), ("twice", [[0, 0], [0, 0]])):
        given = {"inputs": t(4, 2, 4), "labels_indices": const(indices, "int64"), "labels_values": const([0, 1]), "sequence_length": const([4, 4])}
        yield case("CTCLoss", DOUBLES[:1], given, PLAIN, special=False, tag=tag, refused=True)


CASES = [*cases(), *refused()]
