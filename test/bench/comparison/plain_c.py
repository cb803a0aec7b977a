"""The plain C program (``test/bench/loop``): compile it, run it, send it commands."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path

import numpy as np

from hrp_model.rigid import Array

SOURCES = Path(__file__).resolve().parents[1] / "loop"
# Files of the engine that the program shares, see loop/engine.c.
ENGINE = Path(__file__).resolve().parents[3] / "hrp_sim" / "ode"
SHARED = ("bounds", "boxes", "faces", "integrate", "mesh_blocks", "patch")


class BenchError(RuntimeError):
    """The comparison is impossible or invalid; the message states the reason."""


def compiler() -> str:
    """Return the C compiler's command: ``$CC``, or ``cc``."""
    return os.environ.get("CC") or "cc"


def compile_loop(folder: Path) -> Path:
    """Compile the plain C program into a folder.

    Raises:
        BenchError: There is no compiler, or there are no headers of ODE.
    """
    if shutil.which(shlex.split(compiler())[0]) is None:
        raise BenchError(f"no C compiler '{compiler()}': install one (apt install build-essential)")
    program = folder / "loop"
    # No fused multiply-add: the engine is built with -std=c11, which turns it off.
    include = sysconfig.get_paths()["include"]  # of Python, for the engine's header
    flags = ["-O2", "-std=gnu11", "-ffp-contract=off", f"-I{ENGINE}", f"-I{include}"]
    shared = [ENGINE / f"_core_{name}.c" for name in SHARED]
    files = [str(path) for path in (*sorted(SOURCES.glob("*.c")), *shared, "-o", program)]
    command = [*shlex.split(compiler()), *flags, *files, "-lode", "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        first = done.stderr.strip().splitlines()[:1]
        reason = "".join(first) or f"{compiler()} failed"
        raise BenchError(
            "the plain C program does not compile; are libode-dev and python3-dev installed? "
            f"({reason})"
        )
    return program


class PlainC:
    """One run of the plain C program.

    Args:
        program: See ``compile_loop``.
        scene: A file of ``write_scene``.
        read_out: Whether the state is read out after every step.
        ordered: Whether contacts are created in the engine's order: trajectories are then
            bitwise the same, and a step costs a little more.

    Attributes:
        ode_version: Version of the ODE library that it was compiled against.

    Raises:
        BenchError: The program has ended; raised by every method.
    """

    def __init__(
        self, program: Path, scene: Path, *, read_out: bool = True, ordered: bool = False
    ) -> None:
        self._step = "r" if read_out else "s"
        command = [str(program), str(scene), *(["ordered"] if ordered else [])]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.ode_version = self._answer()

    def advance(self, steps: int) -> float:
        """Take steps; return their CPU time, in [s]."""
        return float(self._request(self._step, steps))

    def scan(self, count: int) -> float:
        """Step and cast the scene's rays, ``count`` times; return the rays' CPU time, in [s]."""
        return float(self._request("l", count))

    def positions(self) -> Array:
        """Return the positions of all links of all bodies, in [m], shape (n, 3)."""
        return np.array(self._request("p", 0).split(), dtype=np.float64).reshape(-1, 3)

    def distances(self) -> Array:
        """Return the distance along each ray in the present state, in [m], shape (n,)."""
        return np.array(self._request("d", 0).split(), dtype=np.float64)

    def close(self) -> None:
        """End the program."""
        self._process.kill()
        self._process.communicate()

    def _request(self, command: str, count: int) -> str:
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(f"{command} {count}\n")
            stdin.flush()
        except BrokenPipeError:
            pass  # the program has ended, which _answer reports
        return self._answer()

    def _answer(self) -> str:
        stdout, stderr = self._process.stdout, self._process.stderr
        assert stdout is not None
        assert stderr is not None
        line: str = stdout.readline()
        if line:
            return line.rstrip("\n")
        errors = stderr.read().strip().splitlines()
        status = self._process.wait()
        reason = errors[-1] if errors else f"status {status}"
        raise BenchError(f"the plain C program ended: {reason}")
