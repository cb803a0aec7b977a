"""Fuzzing of a running world: commands and calls of services at random, for a while."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

_PROGRAM = Path(__file__).resolve().parents[1] / "sim" / "hostile" / "hostile_calls.py"
_WORLDS = 2000  # of one process
_WALL_SECONDS = 600  # for what hangs, after the end


def fuzz_calls(base: Path, seed: int, minutes: float) -> int:
    """Run worlds one after the other, and keep what was wrong with any in the findings.

    Args:
        base: The folder for results.
        seed: Of the first world; each has the next one.
        minutes: For all of it.

    Returns:
        1 if anything was found, else 0.
    """
    first, found = seed, 0
    end = time.monotonic() + 60.0 * minutes
    while (left := end - time.monotonic()) > 0.0:
        text = _output(seed, left)
        last = _last_world(text, seed)
        if "Traceback" in text or "killed" in text:
            found += 1
            path = base / "findings" / f"calls-{last}.txt"
            path.write_text(text[-6000:], encoding="utf-8")
            print(f"finding: {path}\n  PYTHONPATH=.:test python {_PROGRAM} {last} 1", flush=True)
        seed = last + 1
    count = f"{found} findings" if found else "no finding"
    print(f"{count} in {minutes:g} minutes and {seed - first} worlds from seed {first} on")
    return 1 if found else 0


def _output(seed: int, seconds: float) -> str:
    """Run worlds for so long at most; return what was said, "killed" after a signal or a hang."""
    command = [sys.executable, str(_PROGRAM), str(seed), str(_WORLDS), str(seconds)]
    test = _PROGRAM.parents[2]
    path = os.pathsep.join(map(str, (test.parent, test, test / "support")))
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": path},
        text=True,
    ) as process:
        try:
            text, _ = process.communicate(timeout=seconds + _WALL_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            text, _ = process.communicate()
    return f"{text}\nkilled" if process.returncode < 0 else text


def _last_world(text: str, seed: int) -> int:
    numbers = [line.split()[1] for line in text.splitlines() if line.startswith("world ")]
    return int(numbers[-1]) if numbers else seed
