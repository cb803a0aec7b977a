"""Programs that may end badly, run as processes of their own."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from paths import PYTHONPATH


def run_program(name, *arguments, seconds=600):
    """Run a program of this folder, and return its last line; fail if it did not end by itself."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name(name), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": PYTHONPATH, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    last = (done.stdout.splitlines() or [""])[-1]
    if done.returncode < 0:
        raise AssertionError(
            f"{signal.Signals(-done.returncode).name} after '{last}'\n{done.stderr}"
        )
    assert done.returncode == 0, f"after '{last}'\n{done.stderr}"
    return last
