"""Runs programs on one device and appends one JSON line each: `python step.py OUT DEVICE NAME...`.

A line holds what each step returned (long values as mean, mean of magnitudes, deviation) and where the ops of the step ran.
It is written before the next program starts, so that a crash costs one program.
"""
import json
import sys
import time
from pathlib import Path

# The programs stand beside the checkout: `shared/programs/core.py` and the modules that it loads.
PROGRAMS = Path(__file__).resolve().parents[3] / "shared" / "programs"
if not (PROGRAMS / "core.py").exists():
    sys.exit(f"the end-to-end programs are missing: no {PROGRAMS / 'core.py'}")
sys.path.insert(0, str(PROGRAMS))
import core
from core import np, tf

from tensorflow.python.eager import context
from tensorflow_vulkan import placement

STEPS = 3


def summary(value):
    v = tf.convert_to_tensor(value)
    if v.dtype.is_complex:
        v = tf.stack([tf.math.real(v), tf.math.imag(v)])
    v = v.numpy().astype(np.float64)
    return v.tolist() if v.size <= 16 else [float(v.mean()), float(np.abs(v).mean()), float(v.std())]


def run(entry, device):
    with tf.device(device):
        spec = entry.fn(core.reset(entry.name))
        step = tf.function(spec.step, jit_compile=False)
        inputs = [x if isinstance(x, (tf.RaggedTensor, tf.SparseTensor)) else tf.constant(x) for x in spec.inputs]
        context.context().enable_run_metadata()
        results = [{k: summary(v) for k, v in step(*inputs).items()}]
        rows = placement.rows(context.context().export_run_metadata())
        context.context().disable_run_metadata()
        results += [{k: summary(v) for k, v in step(*inputs).items()} for _ in range(STEPS - 1)]
    return {"steps": results, "placement": rows}


def main(out, device, *names):
    tf.config.set_soft_device_placement(True)
    programs = core.load_all()
    for name in names:
        start = time.time()
        try:
            record = run(programs[name], device)
        except Exception as e:
            record = {"error": f"{type(e).__name__}: {' '.join(str(e).split())[:500]}"}
        record.update(name=name, seconds=round(time.time() - start, 2))
        with open(out, "a") as f:
            f.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
