"""Bad input on purpose: takes the op case table, spoils shapes, values, types and attributes, and runs the ops on the device.

A call may succeed or raise a TensorFlow error; it must not end the process, hang, or report a fault of the plug-in. The
calls run in one child process; when it dies the parent tries the call on the CPU, notes it if that survives, and goes on. The same seed and count
always give the same calls.

    python tests/plugin/fuzz.py --count 6 --only 'pool|conv'      # prints what broke; exits with 1 if anything did
"""
import argparse
import faulthandler
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "ops"))

HANG = 60  # seconds
INTS = (-1, 0, 1, 2, 3, 7, -7, 100, 1 << 20, -(1 << 31), (1 << 31) - 1, 1 << 40, (1 << 62), -(1 << 63), (1 << 63) - 1)
DTYPES = ("float32", "int32", "int64", "bool", "complex64", "float16", "uint8", "float64")
TEXTS = ("", "VALID", "SAME", "EXPLICIT", "NCHW", "NHWC", "bogus", "REFLECT", "...", "ij,jk->ik", "i,j", "iii->i", "ab->")


def spoil_shape(rng, shape):
    """Another shape: dimensions dropped, added, emptied, enlarged."""
    shape = list(shape)
    kind = rng.choice(("drop", "add", "zero", "more", "less", "scalar", "deep", "empty", "swap", "long"))
    at = rng.randrange(len(shape)) if shape else 0
    if kind == "scalar":
        return ()
    if kind == "empty":
        return (0,)
    if kind == "deep":
        return (1,) * 9 + tuple(shape[:2])
    if kind == "add" or not shape:
        return tuple(shape[:at] + [rng.choice((1, 2, 3))] + shape[at:])
    if kind == "drop":
        del shape[at]
    elif kind == "swap":
        rng.shuffle(shape)
    else:
        shape[at] = {"zero": 0, "more": shape[at] + 1, "less": max(shape[at] - 1, 0), "long": 1000}[kind]
    return tuple(shape) if shape_size(shape) < 1 << 18 else (0,) * len(shape)


def shape_size(shape):
    n = 1
    for d in shape:
        n *= d
    return n


def spoil_array(rng, given):
    """Another array: of another shape, another type, or with other numbers in it."""
    import numpy as np

    array, kinds = given.array, ["shape"] * 4 + ["dtype"]
    if array.dtype.kind in "iu" and array.size:
        kinds += ["value"] * (8 if array.size <= 16 else 3)
    kind = rng.choice(kinds)
    if kind == "shape":
        array = np.resize(array, spoil_shape(rng, array.shape)) if array.size else np.zeros(spoil_shape(rng, array.shape), array.dtype)
    elif kind == "dtype":
        array = np.zeros(array.shape, rng.choice(DTYPES)) if rng.random() < 0.9 else np.full(array.shape, "text")
    else:
        array = array.copy()
        bounds = np.iinfo(array.dtype)
        for _ in range(rng.choice((1, 1, array.size))):
            value = min(max(rng.choice(INTS), bounds.min), bounds.max)
            array.reshape(-1)[rng.randrange(array.size)] = value
    return type(given)(array, array.dtype.name, given.variable)


def spoil_attr(rng, value):
    """Another attribute of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        # Of a number of outputs TensorFlow itself makes as many.
        return rng.choice([n for n in INTS if n != 1 << 20])
    if isinstance(value, float):
        return rng.choice((0.0, -1.0, float("nan"), float("inf"), 1e30))
    if isinstance(value, str):
        return rng.choice(TEXTS + DTYPES)
    if isinstance(value, (list, tuple)):
        value = list(value)
        how = rng.choice(("one", "short", "long", "empty"))
        if how == "one" and value:
            at = rng.randrange(len(value))
            value[at] = spoil_attr(rng, value[at])
        elif how == "short":
            value = value[:-1]
        elif how == "long":
            value = value + value[:1]
        else:
            value = []
        return value
    return value


def spoil(rng, variant):
    """A variant with one or two things wrong."""
    inputs, attrs = dict(variant.inputs), dict(variant.attrs)
    for _ in range(rng.choice((1, 1, 2))):
        names = [("input", n) for n in inputs] + [("attr", n) for n in attrs]
        if not names:
            break
        where, name = rng.choice(names)
        if where == "attr":
            attrs[name] = spoil_attr(rng, attrs[name])
        elif isinstance(inputs[name], list):
            many = list(inputs[name])
            how = rng.choice(("one", "one", "one", "less", "more"))
            if how == "one" and many:
                at = rng.randrange(len(many))
                many[at] = spoil_array(rng, many[at])
            elif how == "less":
                many = many[:-1]
            else:
                many = many + many[:1]
            inputs[name] = many
        else:
            inputs[name] = spoil_array(rng, inputs[name])
    return type(variant)(variant.label, inputs, attrs)


def calls(only, count, seed, every=1):
    """(id, case, spoilt variant): `count` a case and type; of each case the first and the last type, of all one in `every`."""
    import harness
    from expand import expand

    for item in harness.items(only):
        if zlib.crc32(f"{item.id} {seed}".encode()) % every:
            continue
        if item.dtype not in item.case.dtypes[:1] + item.case.dtypes[-1:]:
            continue
        variant = next(iter(expand(item.case, item.dtype, item.first)), None)
        for i in range(count if variant else 0):
            name = f"{item.id}#{i}"
            rng = random.Random(zlib.crc32(f"{seed} {name}".encode()))
            yield name, item.case, spoil(rng, variant)


def describe(case, variant):
    """The call, in short."""
    def show(g):
        if isinstance(g, list):
            return [show(x) for x in g]
        small = g.array.tolist() if g.array.size <= 8 else "..."
        return f"{'variable ' if g.variable else ''}{g.array.dtype.name}{list(g.array.shape)} {small}"
    return f"{case.op}({ {k: show(g) for k, g in variant.inputs.items()} }, {variant.attrs})"


def child(arguments, start, log):
    """Runs the calls from number `start`; writes each one's number to `log` before it."""
    import harness
    import tensorflow as tf

    faulthandler.enable()
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=700)])
    with open(log, "a", buffering=1) as out:
        for number, (name, case, variant) in enumerate(calls(arguments.only, arguments.count, arguments.seed, arguments.every)):
            if number < start:
                continue
            if arguments.on_cpu:
                attempt(harness, case, variant, harness.CPU)
                return
            out.write(json.dumps({"number": number, "name": name, "call": describe(case, variant)}) + "\n")
            faulthandler.dump_traceback_later(HANG, exit=True)
            with_gpu = attempt(harness, case, variant, harness.DEVICE)
            said = problem(case, with_gpu)
            if not said and arguments.compare:
                out.write(json.dumps({"cpu": number}) + "\n")
                said = difference(with_gpu, attempt(harness, case, variant, harness.CPU))
            if said:
                out.write(json.dumps({"number": number, "said": said}) + "\n")
        faulthandler.cancel_dump_traceback_later()
        # Still in working order?
        with tf.device(harness.DEVICE):
            assert float(tf.reduce_sum(tf.constant([1.0, 2.0]) + tf.constant([3.0, 4.0]))) == 10
        out.write(json.dumps({"done": True}) + "\n")


def attempt(harness, case, variant, device):
    try:
        run = harness.Run(case, variant, device)
    except Exception as error:  # not even the inputs could be made
        return None, error, False
    return run.outputs(), run.error, True


def problem(case, result):
    """What is wrong with how the device answered, if anything."""
    import tensorflow as tf

    outputs, error, placed = result
    if error is None or not placed:
        return None
    text = str(error)
    if "a fault in tensorflow-vulkan" in text or isinstance(error, tf.errors.InternalError):
        return f"fault: {text[:300]}"
    if isinstance(error, tf.errors.OpError) and case.op not in text:
        return f"does not name the op: {text[:300]}"
    return None


def difference(gpu, cpu):
    """Whether only one of the two refused."""
    if (gpu[1] is None) != (cpu[1] is None) and gpu[2] and cpu[2]:
        return f"device {'refuses' if gpu[1] else 'accepts'}, CPU does not: {str(gpu[1] or cpu[1])[:300]}"
    if gpu[1] is None and gpu[0] is not None and [o.shape for o in gpu[0]] != [o.shape for o in cpu[0]]:
        return f"shapes {[o.shape for o in gpu[0]]}, CPU {[o.shape for o in cpu[0]]}"
    return None


def lives_on_cpu(command):
    """Whether TensorFlow's CPU survives a call that ended the process on the device, in as much time."""
    try:
        return subprocess.run(command, capture_output=True, timeout=HANG + 30).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def parent(arguments):
    """What broke, as lines; and the number of calls."""
    broke, start = [], 0
    with tempfile.TemporaryDirectory() as folder:
        log = Path(arguments.log or Path(folder) / "log")
        while True:
            again = [sys.executable, __file__, "--child", str(start), "--log", str(log), "--only", arguments.only]
            again += ["--count", str(arguments.count), "--seed", str(arguments.seed), "--every", str(arguments.every)] + ["--compare"] * arguments.compare
            log.write_text("")
            done = subprocess.run(again, capture_output=True, text=True, errors="replace")
            lines = [json.loads(line) for line in log.read_text().splitlines()]
            at = {line["number"]: line for line in lines if "call" in line}
            broke += [f"{at[line['number']]['name']}: {line['said']}\n    {at[line['number']]['call']}" for line in lines if "said" in line]
            if lines and "done" in lines[-1]:
                return broke, start + len(at)
            tail = "\n".join(line for line in done.stderr.splitlines() if re.search("F0|F1|Fatal|Check failed|Timeout|panick|fault|Error", line))[-700:]
            if not at:
                return broke + [f"the child did not start: {done.stderr[-3000:]}"], 0
            last = max(at)
            if "cpu" not in lines[-1] and lives_on_cpu([*again, "--child", str(last), "--on-cpu"]):
                broke.append(f"{at[last]['name']}: exit status {done.returncode}: {tail}\n    {at[last]['call']}")
            start = last + 1
            if len(broke) > arguments.most:
                return broke + ["... stopped"], start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="regular expression for family/Op[tag]/dtype")
    parser.add_argument("--count", type=int, default=2, help="spoilt calls a case and type")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=1, help="only one in so many cases and types")
    parser.add_argument("--most", type=int, default=200, help="stop after so many")
    parser.add_argument("--compare", action="store_true", help="also say where only one of device and CPU refuses")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--on-cpu", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--log", help="where the calls are noted; a temporary file otherwise")
    arguments = parser.parse_args()
    if arguments.child is not None:
        return child(arguments, arguments.child, arguments.log)
    broke, number = parent(arguments)
    print("\n".join(broke))
    print(f"{number} calls, {len(broke)} broke")
    return 1 if broke else 0


if __name__ == "__main__":
    sys.exit(main())
