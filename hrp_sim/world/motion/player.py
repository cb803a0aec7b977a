"""A controller that plays a motion file on the joints of its body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from hrp_model.rigid import Array

from ...control.controllers import Controller, ControllerIO
from .load import load_motion

PLAYER: Final = f"{__name__}:MotionPlayer"  # as the class of a ControllerEntry


class MotionPlayer(Controller):
    """Moves the joints of a body through a motion, and ends with it; they hold its last posture.

    Argument ``file`` is the path of the motion, as for ``ControllerIO.resolve``; ``delay`` the
    time before it begins, in [s].
    """

    def initialize(self, io: ControllerIO) -> None:
        """Load the motion, and drive its joints in position mode."""
        self._io = io
        self._motion = load_motion(io.resolve(str(io.args["file"])))
        self._q = self._motion.for_body(io.model)
        moved = [i for i, q in enumerate(self._q[0]) if not np.isnan(q)]
        links = io.model.moving_links
        self._moved = [i for i in moved if links[i].joint.mimic is None]
        self._delay = float(str(io.args.get("delay", 0.0)))
        if not self._moved:
            raise ValueError(f"the motion has no joint of '{io.body}'")
        io.drive("position", [links[i].joint.name for i in self._moved])

    def start(self) -> None:
        """Begin the motion now."""
        self._start_ns = self._io.time_ns

    def control(self) -> bool:
        """Set the targets of the present time; return whether the motion goes on."""
        io = self._io
        t = (io.time_ns - self._start_ns) * 1e-9 - self._delay
        q, after = self._at(t), self._at(t + io.time_step)
        io.q_target[self._moved] = q
        io.dq_target[self._moved] = (after - q) / io.time_step
        return t <= self._motion.duration

    def save(self) -> Mapping[str, Array]:
        """Return the time of the start."""
        return {"start_ns": np.array([self._start_ns], dtype=np.int64)}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on in the same motion."""
        self._start_ns = int(arrays["start_ns"][0])

    def _at(self, t: float) -> Array:
        return self._motion.between(self._q, t)[self._moved]
