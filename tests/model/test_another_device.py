"""Runs the tests of another_device.py in a process of their own.

PyTorch's autograd computes on a device only if the device was registered before the first backward
pass of the process.
"""

import subprocess
import sys
from pathlib import Path


def test_the_model_runs_on_another_device():
    command = [sys.executable, "-m", "pytest", "-q", "another_device.py"]
    run = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
