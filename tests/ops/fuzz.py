"""Random calls that mostly make sense: cases of the op table with other sizes, axes, attributes, index types and values,
on the device and on TensorFlow's CPU. What is compared is what the table compares; both may refuse, not one alone.

    python tests/ops/fuzz.py --count 300 --seed 5 --only 'pool|conv'
    python tests/ops/fuzz.py --call 'pool/MaxPool[VALID 2 2]/float32#5.1'     # one call again, as it was reported

The same seed and count always give the same calls, and a call depends on its name alone. They run in a child process; where
that dies the call is reported, unless TensorFlow's CPU ended it, and a new child goes on. `tests/plugin/fuzz.py` is the
other half: input that is wrong on purpose.
"""
import argparse
import dataclasses
import faulthandler
import json
import random
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

HANG = 120  # seconds
MOST = 1 << 17  # elements of an input
SIZES = (0, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 257, 300, 1025)
SHAPE_LIKE = ("shape", "size", "dims", "dim0", "multiples")


def mapped(specs, change):
    """The inputs of a case with every Spec changed."""
    return {k: [change(k, s) for s in v] if isinstance(v, (list, tuple)) else change(k, v) for k, v in specs.items()}


def other_sizes(rng, case):
    """A size that occurs in the shapes becomes another one wherever it stands, in what says a shape too; also the names' sizes."""
    from expand import specs

    dims = {name: rng.choice(SIZES) if rng.random() < 0.7 else size(main) for name, main in case.dims.items()}
    found = sorted({d for _, _, s in specs(case) if not isinstance(s.shape, str) for d in s.shape if not isinstance(d, str)})
    to = {d: rng.choice(SIZES) for d in found if rng.random() < 0.4}

    def change(name, s):
        if s.literal is not None:
            return dataclasses.replace(s, literal=renamed(s.literal, to)) if any(w in name for w in SHAPE_LIKE) else s
        shape = s.shape if isinstance(s.shape, str) else tuple(d if isinstance(d, str) else to.get(d, d) for d in s.shape)
        dist = s.dist
        if s.dtype in ("int32", "int64") and dist.name == "uniform" and dist.b in to:
            dist = dataclasses.replace(dist, b=max(1, to[dist.b]))
        return dataclasses.replace(s, shape=shape, dist=dist)

    return dataclasses.replace(case, inputs=mapped(case.inputs, change), dims=dims)


def size(main):
    return main[0] if isinstance(main, (tuple, list)) else main


def renamed(value, to):
    if isinstance(value, (list, tuple)):
        return [renamed(v, to) for v in value]
    return to.get(value, value) if isinstance(value, int) else value


def other_shapes(rng, case):
    """Whole shapes: one for all inputs, or shapes that broadcast against each other."""
    names = sorted({n for shapes in case.shapes for n in shapes})
    if not names:
        return other_sizes(rng, case)
    rank = rng.choice((0, 1, 1, 2, 2, 3, 4, 5, 6, 7))
    few = SIZES if rank < 3 else (0, 1, 2, 3, 4, 5, 7) if rank < 5 else (1, 1, 2, 3)
    whole = [rng.choice(few) if rng.random() < 0.95 else 0 for _ in range(rank)]
    shapes = {}
    for name in names:
        own = [1 if name != "S" and rng.random() < 0.3 else d for d in whole]
        shapes[name] = tuple(own[rng.randrange(len(own) + 1) if name != "S" and rng.random() < 0.3 else 0:])
    return dataclasses.replace(case, shapes=(shapes,))


def other_numbers(rng, case):
    """One small integer argument (axes, paddings, indices, sizes) becomes another: negative, larger, permuted, of another type."""
    chosen = [k for k, v in case.inputs.items() if not isinstance(v, (list, tuple)) and v.literal is not None and v.dtype in ("int32", "int64")]
    if not chosen:
        return other_sizes(rng, case)
    at = rng.choice(chosen)

    def change(name, s):
        if name != at:
            return s
        if rng.random() < 0.2:
            return dataclasses.replace(s, dtype="int64" if s.dtype == "int32" else "int32")
        return dataclasses.replace(s, literal=another(rng, s.literal))

    return dataclasses.replace(case, inputs=mapped(case.inputs, change))


def another(rng, value):
    """Another number, or list of numbers with one or two others in it or in another order."""
    if isinstance(value, (list, tuple)):
        value = list(value)
        if value and rng.random() < 0.2:
            rng.shuffle(value)
        elif value:
            at = rng.randrange(len(value))
            value[at] = another(rng, value[at])
        return value
    return rng.choice((value - 1, value + 1, value + 2, -value, -1 - value, 0, 1, 2, 3))


def other_attrs(rng, case):
    """One attribute becomes another value that its declaration allows."""
    from tensorflow.python.framework import op_def_registry

    declared = {a.name: a for a in op_def_registry.get(case.op).attr}
    names = [n for n in declared if declared[n].type in ("bool", "int", "float", "string", "list(int)") and n not in ("N", "num", "num_split", "Tlen")]
    names = [n for n in names if n in case.attrs or declared[n].HasField("default_value")]
    if not names:
        return other_sizes(rng, case)
    name = rng.choice(names)
    kind, allowed = declared[name].type, [v.decode() for v in declared[name].allowed_values.list.s]
    default = declared[name].default_value
    now = case.attrs.get(name)
    if kind == "bool":
        value = not (default.b if now is None else now)
    elif kind == "int":
        value = (default.i if now is None else now) + rng.choice((-1, 1, 2, 3))
    elif kind == "float":
        value = rng.choice((0.0, 1.0, 0.5, -0.5, 1e-3, 2.0))
    elif kind == "string":
        value = rng.choice(allowed) if allowed else now
    else:
        value = list(default.list.i if now is None else now)
        if value:
            # Windows, strides: rarely along batch and channels, where only 1 is served.
            at = rng.randrange(len(value)) if rng.random() < 0.1 or len(value) < 3 else rng.randrange(1, len(value) - 1)
            value[at] = rng.choice((1, 2, 3, 4, 5, 7))
    return case if value is None else dataclasses.replace(case, attrs={**case.attrs, name: value})


def other_values(rng, case, dtype, given):
    """An input with other numbers in it: over many powers of two, edge values, all alike, many alike."""
    import numpy as np
    import values
    from table import Spec, wide

    name = rng.choice(sorted(given))
    spec, old = case.inputs[name], given[name]
    if isinstance(old, list) or spec.literal is not None or not spec.special or spec.dtype is not None or not case.special:
        return given
    if spec.dist.name != "normal" or old.dtype == "bool":
        return given
    draws = np.random.default_rng(rng.randrange(1 << 30))
    how = rng.choice(("wide", "edges", "alike", "few", "zero"))
    array = old.array
    if how == "wide":
        array = values.draw(Spec((), wide()), old.dtype, array.shape, draws)
    elif how == "edges":
        array = values.sprinkle(array, old.dtype, spec.dist, case.special is True, draws)
    elif how == "alike" and array.size:
        array = np.full_like(array, array.reshape(-1)[0])
    elif how == "few" and array.size:
        array = draws.choice(array.reshape(-1)[:3], array.shape).astype(array.dtype)
    elif how == "zero":
        array = np.zeros_like(array)
    return {**given, name: dataclasses.replace(old, array=array)}


def make(item, number, seed):
    """(name, case, variant) of call `number` of one case and type, or None where it would be too large."""
    from expand import Variant, give
    from table import T

    name = f"{item.id}#{seed}.{number}"
    rng = random.Random(zlib.crc32(name.encode()))
    case = dataclasses.replace(item.case, refused=False)
    for _ in range(rng.choice((1, 2, 2, 3))):
        case = rng.choice((other_sizes, other_sizes, other_shapes, other_numbers, other_attrs))(rng, case)
    dims = {k: size(v) for k, v in case.dims.items()}
    try:
        # Factorisations take time with the third power of the size.
        if too_large(case, dims, MOST >> 5 if item.family == "linalg" else MOST):
            return None
        given = give(case, item.dtype, case.shapes[0], dims, name, None)
    except (ValueError, OverflowError):  # a number beyond its type, a list that is no longer a matrix
        return None
    if answer_is_open(case, given):
        return None
    if given and rng.random() < 0.5:
        given = other_values(rng, case, item.dtype, given)
    attrs = {k: (item.dtype if v == T else v) for k, v in case.attrs.items()}
    return name, case, Variant(name, given, attrs)


def too_large(case, dims, most):
    from expand import resolve, specs

    total = 0
    for _, _, s in specs(case):
        n = 1
        for d in resolve(s.shape, case.shapes[0], dims):
            n *= d
        total += n
    return total > most


def calls(arguments):
    """The calls of a run, in an order that mixes families."""
    import harness

    if arguments.call:
        wanted, _, tail = arguments.call.rpartition("#")
        seed, _, number = tail.rpartition(".")
        yield from (make(item, int(number), int(seed)) + (item.dtype,) for item in harness.items() if item.id == wanted)
        return
    # A case that is added to the table or taken away leaves the others' calls as they were.
    chosen = sorted(harness.items(arguments.only), key=lambda item: zlib.crc32(f"{arguments.seed} {item.id}".encode()))
    for number in range(arguments.count if chosen else 0):
        made = make(chosen[number % len(chosen)], number // len(chosen), arguments.seed)
        if made:
            yield made + (made[0].rpartition("#")[0].rpartition("/")[2],)


def describe(case, variant):
    """The call, in short."""
    def show(g):
        if isinstance(g, list):
            return [show(x) for x in g]
        return f"{'variable ' if g.variable else ''}{g.array.dtype.name}{list(g.array.shape)} {g.array.tolist() if 0 < g.array.size <= 8 else '...'}"
    return f"{case.op}({ {k: show(g) for k, g in variant.inputs.items()} }, {variant.attrs})"


# Words of TensorFlow's CPU kernels where they cannot do what the op allows, and where a device checks no values, by contract.
CPU_CANNOT = ("NHWC", "only supports", "not support", "not implemented", "No OpKernel", "roadcast", "not yet", "currently", "rank", "enough elements", "Axis requested", "must be positive")
UNCHECKED = ("indices", "segment_ids", "segment ids", "number of segments", "out of range", "outside [", "not in [", "out of bounds", "seq_lens", "label value")
# What the CPU takes although it does not fit: the device's refusal is the better answer.
LENIENT = ("AvgPoolGrad: grad: expected shape", "AvgPool3DGrad: grad: expected shape", "OOM when allocating", "Unsupported algorithm id", "Inner dimension should be", "on a GPU", "of non-zero size")
# Left out: an input that must fit the attributes; answers that depend on the number of the CPU's threads; kernels of the CPU that read and write beyond what does not fit.
OPEN = ("MaxPoolGradWithArgmax", "Multinomial", "StatelessMultinomial", "BlockLSTM", "BlockLSTMV2", "BlockLSTMGrad", "BlockLSTMGradV2")


def answer_is_open(case, given):
    """Whether two right answers may differ."""
    if case.op.startswith("FusedBatchNorm") and case.outputs != (0, 1, 2):  # the CPU leaves reserve spaces as they are
        return not case.attrs.get("is_training", True) or not given["x"].array.size
    if "TopK" in case.op:
        return not case.attrs.get("sorted", True)
    ids = case.inputs.get("segment_ids")
    if ids is not None and ids.literal and not case.op.startswith("Unsorted"):
        return ids.literal != sorted(ids.literal)
    return case.op in OPEN


def problem(harness, case, dtype, variant, before):
    """What is wrong, if anything, and whether both refused. `before(stage)` is told what comes next."""
    before("cpu")
    try:
        reference = harness.Run(case, variant, harness.CPU)
        want = reference.outputs()
        before("device")
        first, second = harness.Run(case, variant, harness.DEVICE), harness.Run(case, variant, harness.DEVICE)
    except harness.tf.errors.OpError:  # a variable of a type that the device does not keep
        return None, True
    got = first.outputs()
    if want is not None:
        said = harness.judge(case, dtype, variant, first, second)
        return None if said and any(w in said for w in LENIENT) else said, False
    if got is None:
        text = str(first.error)
        return ("fault: " + text[:300] if "a fault in tensorflow-vulkan" in text else None), True
    text = str(reference.error)
    if not any(o.size for o in got) or harness.absent(reference.error) or any(w in text for w in CPU_CANNOT + UNCHECKED):
        return None, False
    return f"the CPU refuses it, the device does not: {harness.brief(reference.error)}", False


def child(arguments):
    """Runs the calls from number `start`; notes each one before it."""
    import harness
    import tensorflow as tf

    faulthandler.enable()
    known = harness.Known()
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=700)])
    deadline = time.time() + arguments.seconds
    with open(arguments.log, "a", buffering=1) as out:
        say = lambda **what: out.write(json.dumps(what) + "\n")
        for number, (name, case, variant, dtype) in enumerate(calls(arguments)):
            if number < arguments.start:
                continue
            if time.time() > deadline:
                break
            text = describe(case, variant)
            faulthandler.dump_traceback_later(HANG, exit=True)
            said, refused = problem(harness, case, dtype, variant, lambda stage: say(number=number, name=name, stage=stage, call=text))
            id = name.rpartition("#")[0]
            say(number=number, refused=refused, said=None if said and known.covers(f"{id}/special") else said)
        faulthandler.cancel_dump_traceback_later()
        say(done=True)


def parent(arguments):
    """Prints what broke. The numbers of calls, of calls that both refused, of calls that broke."""
    count, refused, broke, start = 0, 0, 0, 0
    deadline = time.time() + arguments.seconds
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        while time.time() < deadline:
            log.write_text("")
            command = [sys.executable, __file__, "--child", "--log", str(log), "--start", str(start), "--only", arguments.only, "--call", arguments.call]
            command += ["--count", str(arguments.count), "--seed", str(arguments.seed), "--seconds", str(max(1, deadline - time.time()))]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace")
            lines = [json.loads(line) for line in log.read_text().splitlines()]
            at = {line["number"]: line for line in lines if "call" in line}
            count += len(at)
            for line in lines:
                refused += bool(line.get("refused"))
                if line.get("said"):
                    broke += 1
                    print(f"{at[line['number']]['name']}: {line['said']}\n    {at[line['number']]['call']}", flush=True)
            if lines and "done" in lines[-1]:
                break
            if not at:
                print(f"the child did not start: {done.stderr[-3000:]}")
                return count, refused, broke + 1
            last = at[max(at)]
            if last["stage"] == "device":
                broke += 1
                print(f"{last['name']}: exit status {done.returncode}: {done.stderr[-700:]}\n    {last['call']}", flush=True)
            start = last["number"] + 1
    return count, refused, broke


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="regular expression for family/Op[tag]/dtype")
    parser.add_argument("--count", type=int, default=300, help="calls (those too large are left out)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e6, help="stop then")
    parser.add_argument("--call", default="", help="this one alone")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--start", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--log", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        return child(arguments)
    count, refused, broke = parent(arguments)
    print(f"{count} calls, {refused} refused by both, {broke} broke")
    return 1 if broke or not count else 0


if __name__ == "__main__":
    sys.exit(main())
