"""`tfvk demo`: trains the plain Keras programs of `demos/` on the GPU, twice, and on TensorFlow's CPU, and compares.

Each run is a process of its own (`watch.py`). The losses must agree step by step at the start (later, training magnifies
the last bits), the two GPU runs must be identical, and no op of the step may run on the CPU but host bookkeeping.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tensorflow_vulkan import devices, library, placement

PROGRAMS = ("cnn", "vit")
STEPS, TOLERANCE = 20, 1e-3
WARM_UP = 5  # steps left out of the step time: tracing, pipelines


class DemoError(Exception):
    """The demo cannot run; the message is one sentence for the user."""


def train(program, gpu, say):
    """Runs one program in a process of its own and returns its record."""
    env = dict(os.environ, TF_ENABLE_ONEDNN_OPTS="0", PYTHONUNBUFFERED="1")
    env.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path(__file__).parent.parent), env.get("PYTHONPATH"))))
    if not gpu:
        env["TFVK_VISIBLE_DEVICES"] = "-1"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "record.json"
        script = Path(__file__).parent / "demos" / f"{program}.py"
        command = [sys.executable, "-m", "tensorflow_vulkan.watch", str(out), str(script)]
        with open(Path(folder) / "stderr", "w+") as errors:
            with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
                for line in process.stdout:
                    say(line.rstrip())
            if process.returncode or not out.exists():
                errors.seek(0)
                tail = "\n".join(errors.read().splitlines()[-15:])
                raise DemoError(f"{tail}\nTraining {program} on the {'GPU' if gpu else 'CPU'} ended with exit code {process.returncode}; `tfvk doctor` looks for the cause.")
        record = json.loads(out.read_text())
    if gpu and not record["devices"]:
        raise DemoError("TensorFlow found no GPU device although there is a usable adapter: the plug-in was not loaded; `tfvk doctor` says why.")
    return record


def differences(gpu, cpu):
    """Relative differences of the losses of the first steps."""
    return [abs(a - b) / max(abs(b), 1e-12) for a, b in zip(gpu["losses"][:STEPS], cpu["losses"][:STEPS])]


def judge(first, second, cpu):
    """[(passed, sentence)] about one program's three records."""
    d = differences(first, cpu)
    worst = max(range(len(d)), key=d.__getitem__)
    same = first["means"] == second["means"] and first["final_weights"] == second["final_weights"]
    stray = placement.strays(first["placement"])
    ran = placement.by_device(first["placement"])["GPU"]
    yield len(d) == STEPS and d[worst] <= TOLERANCE, f"losses of the first {len(d)} steps agree with the CPU's to {d[worst]:.1e} (step {worst + 1}; allowed {TOLERANCE:.0e})"
    yield same, f"two runs on the GPU {'give the same losses and weights to the last bit' if same else 'DIFFER: ' + first_difference(first, second)}"
    yield bool(ran), f"{sum(ran.values())} ops of the step ran on the GPU"
    yield not stray, "no op of the step ran on the CPU but host bookkeeping" if not stray else "ops of the step ran on the CPU: " + ", ".join(f"{r[0]} ({r[2]}) x{r[3]}" for r in stray)


def first_difference(a, b):
    for i, (x, y) in enumerate(zip(a["means"], b["means"])):
        if x != y:
            return f"from step {i + 1} on ({x!r}, {y!r})"
    return "in the weights"


def median_ms(record):
    return statistics.median(record["step_ms"][WARM_UP:])


def report(program, first, second, cpu, say):
    """Prints what one program did; True when everything holds."""
    say("")
    say(f"  {'':10}{'GPU':>22}{'CPU':>22}")
    say(f"  {'epoch':10}{'loss   accuracy':>22}{'loss   accuracy':>22}")
    for i, (g, c) in enumerate(zip(first["epochs"], cpu["epochs"]), 1):
        say(f"  {i:<10}" + "".join(f"{r['loss']:14.4f}{r['accuracy']:8.4f}" for r in (g, c)))
    last_g, last_c = first["epochs"][-1], cpu["epochs"][-1]
    say(f"  {'test':10}" + "".join(f"{r['val_loss']:14.4f}{r['val_accuracy']:8.4f}" for r in (last_g, last_c)))
    say(f"  {'ms a step':10}" + "".join(f"{median_ms(r):22.2f}" for r in (first, cpu)))
    for device, ops in sorted(placement.by_device(first["placement"]).items(), reverse=True):
        say(f"  on the {device}: " + ", ".join(f"{op} x{n}" if n > 1 else op for op, n in sorted(ops.items())))
    weights = "the same" if first["initial_weights"] == cpu["initial_weights"] else "not the same"
    say(f"  initial weights on GPU and CPU: {weights} to the last bit")
    fine = True
    for passed, sentence in judge(first, second, cpu):
        say(f"  {'ok    ' if passed else 'FAILED'}  {sentence}")
        fine &= passed
    return fine


def run(programs=None, out=sys.stdout):
    """Exit code 0 when both programs trained and every check holds."""
    say = lambda text: print(text, file=out, flush=True)
    try:
        found = library.devices()
        visible = [d for d in found["devices"] if d["visible"]]
        if not visible:
            refused = [d["why_not"] for d in found["devices"] if d["why_not"]]
            raise DemoError(found["error"] or (f"No Vulkan adapter can be used: {' '.join(refused)}" if refused else "No Vulkan driver was found: install your GPU's driver, or mesa-vulkan-drivers for a software one."))
        say(f"Device: {devices.summary(visible[0])}")
        fine = True
        for program in programs or PROGRAMS:
            records = []
            for title, gpu in (("on the GPU", True), ("on the GPU again", True), ("on TensorFlow's CPU", False)):
                say(f"\n{program}.py {title}")
                records.append(train(program, gpu, lambda line: say(f"  {line}")))
            fine &= report(program, *records, say)
    except (DemoError, library.LibraryError) as e:
        print(e, file=sys.stderr)
        return 1
    say("\nAll checks hold." if fine else "\nSome checks FAILED.")
    return 0 if fine else 1
