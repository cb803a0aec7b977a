"""Write the motion of a world as JSON lines with full precision."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from hrp_model.files.writer import naming, open_stream

from ..engine.schedule import NS_PER_S
from ..engine.state import SimulatedBody, WorldState
from ..run.run import Consumer, Run
from ..sensors import Reading
from ..simulation import Simulation


class TraceWriter(Consumer):
    """Consumer of a run that writes the initial state, then the state at every period.

    Args:
        path: File to write; an existing file is replaced, a device or pipe written to.
        period: A line is written at the first step at or after each multiple of this
            simulation time, in [s]; None writes every step.

    Raises:
        OSError: The file cannot be written.
    """

    def __init__(self, path: Path, period: float | None = None) -> None:
        self._path = path
        self._file = open_stream(path)
        self._period_ns = 0 if period is None else round(period * NS_PER_S)
        self._next_ns = self._last_ns = 0

    def attach(self, run: Run) -> None:
        """Write the initial state of a run."""
        self._run = run
        self.write(run.simulation.state)

    def next_ns(self, simulation: Simulation) -> int:  # noqa: ARG002
        """Return the time of the next line, in [ns]."""
        return self._next_ns

    def take_step(self, time_ns: int, readings: Mapping[str, Reading]) -> None:  # noqa: ARG002
        """Write a line after a step if one is due."""
        self.write(self._run.simulation.state)

    def write(self, state: WorldState) -> None:
        """Write a line if one is due.

        Raises:
            OSError: The file cannot be written; the message names it.
        """
        if state.time_ns < self._last_ns:  # after a reset
            self._next_ns = 0
        self._last_ns = state.time_ns
        if state.time_ns < self._next_ns:
            return
        if self._period_ns:
            self._next_ns = (state.time_ns // self._period_ns + 1) * self._period_ns
        bodies = {name: _motion(simulated) for name, simulated in state.bodies.items()}
        line = json.dumps({"time": state.time_ns / NS_PER_S, "bodies": bodies})
        with naming(self._path):
            self._file.write(line + "\n")

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with naming(self._path):
            self._file.close()


def _motion(simulated: SimulatedBody) -> dict[str, Any]:
    motion = simulated.motion
    names = [link.joint.name for link in simulated.body.moving_links]
    return {
        "root_p": motion.p[0].tolist(),
        "root_R": motion.R[0].tolist(),
        "root_v": motion.v[0].tolist(),
        "root_w": motion.w[0].tolist(),
        "q": dict(zip(names, motion.q.tolist(), strict=True)),
        "dq": dict(zip(names, motion.dq.tolist(), strict=True)),
    }
