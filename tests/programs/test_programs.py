"""Whole training and inference steps on the GPU against TensorFlow's CPU: the programs of `list.txt`, to 2e-3, with no op
of the step on the CPU but host bookkeeping. The CPU's results are kept in `target/` until the programs or TensorFlow change.
"""
import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tensorflow_vulkan import placement

HERE = Path(__file__).parent
# The programs stand beside the checkout.
PROGRAMS = HERE.parents[2] / "shared" / "programs"
TARGET = HERE.parents[1] / "target" / "programs"
NAMES = [line.split("#")[0].strip() for line in (HERE / "list.txt").read_text().splitlines() if line.split("#")[0].strip()]
RTOL, ATOL = 2e-3, 1e-4
HANG = 1500  # seconds after which the run of all programs is given up


def records(path):
    return {r["name"]: r for r in map(json.loads, path.read_text().splitlines())} if path.exists() else {}


def run(out, device, names, **env):
    """Runs the programs; one that kills its process is recorded and the rest go on in a new one."""
    left = [n for n in names if n not in records(out)]
    while left:
        command = [sys.executable, str(HERE / "step.py"), str(out), device, *left]
        p = subprocess.run(command, env={**os.environ, "TF_ENABLE_ONEDNN_OPTS": "0", "TF_CPP_MIN_LOG_LEVEL": "2", **env}, stderr=subprocess.PIPE, text=True, timeout=HANG)
        still = [n for n in left if n not in records(out)]
        if still == left or p.returncode:
            if not still:
                raise AssertionError(f"every program ran, then the process ended with {p.returncode}: {p.stderr[-800:]}")
            with open(out, "a") as f:
                f.write(json.dumps({"name": still[0], "error": f"the process died ({p.returncode}): {p.stderr[-800:]}"}) + "\n")
            still = still[1:]
        left = still
    return records(out)


@pytest.fixture(scope="module")
def cpu():
    sources = [HERE / "step.py", *sorted(PROGRAMS.glob("*.py"))]
    assert len(sources) > 1, f"the end-to-end programs are missing: nothing in {PROGRAMS}"
    key = hashlib.sha256(b"".join(f.read_bytes() for f in sources))
    key.update((importlib.metadata.version("tensorflow-cpu") + importlib.metadata.version("keras")).encode())
    TARGET.mkdir(parents=True, exist_ok=True)
    return run(TARGET / f"cpu-{key.hexdigest()[:16]}.jsonl", "/device:CPU:0", NAMES, TFVK_VISIBLE_DEVICES="-1")


@pytest.fixture(scope="module")
def gpu(tmp_path_factory):
    return run(tmp_path_factory.mktemp("programs") / "gpu.jsonl", "/device:GPU:0", NAMES)


def worst(a, b):
    """The largest relative difference of two steps' values; NaN only equals NaN."""
    error = 0.0
    assert a.keys() == b.keys()
    for k in a:
        x, y = np.array(a[k], float), np.array(b[k], float)
        assert x.shape == y.shape, k
        both_nan = np.isnan(x) & np.isnan(y)
        same = both_nan | (x == y)
        with np.errstate(all="ignore"):
            d = np.where(same, 0.0, np.abs(x - y) / (ATOL / RTOL + np.abs(y)))
        error = max(error, float(np.nan_to_num(d, nan=np.inf).max(initial=0.0)))
    return error


@pytest.mark.parametrize("name", NAMES)
def test_program(name, cpu, gpu):
    assert "error" not in cpu[name], f"the CPU itself fails: {cpu[name]['error']}"
    assert "error" not in gpu[name], gpu[name]["error"]
    errors = [worst(g, c) for g, c in zip(gpu[name]["steps"], cpu[name]["steps"], strict=True)]
    assert max(errors) <= RTOL, f"differences of the steps from the CPU's: {errors}"
    rows = gpu[name]["placement"]
    assert any(r[1] == "GPU" for r in rows), "nothing ran on the GPU"
    strays = placement.strays(rows)
    assert not strays, "on the CPU: " + ", ".join(f"{r[0]} ({r[2]}) x{r[3]}" for r in strays)


def test_the_comparison_can_fail():
    assert worst({"a": 1.0}, {"a": 1.01}) > RTOL
    assert worst({"a": [1.0, float("nan")]}, {"a": [1.0, 2.0]}) == float("inf")
    assert worst({"a": [1.0, float("nan")]}, {"a": [1.0001, float("nan")]}) <= RTOL
