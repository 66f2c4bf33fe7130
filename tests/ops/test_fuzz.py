"""A bounded run of `fuzz.py`: the same calls every time, as many of them as fit into a minute."""
import subprocess
import sys
from pathlib import Path


def test_random_calls():
    command = [sys.executable, str(Path(__file__).with_name("fuzz.py")), "--count", "400", "--seed", "1", "--seconds", "60"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
