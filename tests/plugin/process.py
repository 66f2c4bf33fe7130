"""Runs a program in a fresh Python with TensorFlow and the plug-in: what it loads and how is part of what is tested."""
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "ops"))
import adapter  # noqa: E402

# What most programs start with.
HEAD = """
import numpy as np, tensorflow as tf
tf.config.set_soft_device_placement(False)
"""


def library():
    path = adapter.library()
    if not path:
        pytest.skip("the plug-in is neither built nor installed: set TF_PLUGGABLE_DEVICE_LIBRARY_PATH")
    return os.path.abspath(path)


def run(program, expect=0, timeout=300, **env):
    """The program's standard output and error; `expect` is its exit status (None: any). An `env` value of None unsets."""
    full = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="2", TF_PLUGGABLE_DEVICE_LIBRARY_PATH=library())
    for name, value in env.items():
        full.pop(name, None)
        if value is not None:
            full[name] = value
    source = HEAD + textwrap.dedent(program)
    with tempfile.TemporaryDirectory() as folder:
        # A file, not an argument: AutoGraph reads a function's source.
        program = Path(folder) / "program.py"
        program.write_text(source)
        command = [sys.executable, str(program)]
        done = subprocess.run(command, env=full, capture_output=True, text=True, timeout=timeout)
    if expect is not None:
        assert done.returncode == expect, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr[-6000:]}"
    return done.stdout, done.stderr
