"""Joint coordinates, read as ``joint_read`` in ``ode/_core_drive.c`` does.

Arrays have one element for each joint that moves, of all bodies in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from hrp_model.rigid import Array

from ..articulation.articulation import JointKind
from .assembly import TURN, Assembly, Joint
from .binding import Indices
from .vectors import dot, rotate

# Hinges that are nearer than this to where their rates led cannot have passed ODE's +-pi.
_SURELY_SAME_TURN = 3.0


class Coordinates:
    """Positions and velocities of the joints that move.

    Attributes:
        joints: In the order of the bodies and of their joints.
        parts: Where the joints of each body are.
        now: Positions and velocities, in [rad] or [m] and per [s], shape (2, joints).
        q, dq: Its rows.
        saved_dq: What dq was when ``save`` was called.
        turns: Whole turns that q is beyond ODE's angle of a hinge.
    """

    def __init__(self, bodies: Sequence[Assembly]) -> None:
        self.joints: list[Joint] = [j for b in bodies for j in b.driven]
        ends = np.cumsum([0, *(len(b.driven) for b in bodies)]).tolist()
        self.parts = [slice(a, b) for a, b in pairwise(ends)]
        self.now = np.zeros((2, ends[-1]))
        self.turns: Indices = np.zeros(ends[-1], dtype=np.int64)
        for body, part in zip(bodies, self.parts, strict=True):
            self.now[:, part], self.turns[part] = body.now, body.turns
            body.now, body.turns = self.now[:, part], self.turns[part]
        self.q, self.dq = self.now
        self._saved, self._saved_turns = self.now.copy(), self.turns.copy()
        self.saved_dq = self._saved[1]
        self._is_hinge = np.array([j.kind == JointKind.HINGE for j in self.joints], dtype=np.bool_)
        # What ODE tells of sliders only fills their places.
        told = [_told(j) for j in self.joints]
        self._read_all = [q for q, _ in told], [dq for _, dq in told]
        self._sliders = [(i, j) for i, j in enumerate(self.joints) if j.kind == JointKind.SLIDER]
        self._read = np.zeros((2, ends[-1]))
        self._shift = TURN * self.turns
        self._change = np.zeros(ends[-1])

    def read(self, elapsed: float = 0.0) -> None:
        """Read q and dq, seconds after the last time. A hinge may turn on beyond ODE's +-pi."""
        if not self.joints:
            return
        angles, rates = self._read_all
        told = [get() for get in angles]
        told += [get() for get in rates]
        read, change = self._read, self._change
        read.ravel()[:] = told
        np.add(read[0], self._shift, out=read[0])
        np.subtract(read[0], self.q, out=change)
        change -= read[1] * elapsed
        if not change.dot(change) < _SURELY_SAME_TURN * _SURELY_SAME_TURN:
            read[0] = told[: len(angles)]
            self._count_turns(read, elapsed)
            np.add(read[0], self._shift, out=read[0])
        np.copyto(self.now, read)
        for i, joint in self._sliders:
            self.q[i], self.dq[i] = _slide(joint)

    def _count_turns(self, read: Array, elapsed: float) -> None:
        """Find the turn of each hinge that is nearest to where its rate led it; move its stops."""
        x = (self.q + read[1] * elapsed - read[0]) / TURN
        near = np.rint(x)
        # C rounds halves away from zero, numpy to even numbers.
        turns = np.where(np.abs(x - near) == 0.5, x + np.copysign(0.5, x), near)
        turns = np.where(self._is_hinge, turns, 0.0).astype(np.int64)
        changed = np.flatnonzero(turns != self.turns).tolist()
        self.turns[:] = turns
        self._shift = TURN * turns
        for i in changed:
            self.joints[i].set_stops(int(turns[i]))

    def read_anew(self) -> None:
        """Read q and dq after a jump in state: q is nearest to what it holds."""
        self.read()
        self.set_stops()

    def set_stops(self) -> None:
        """Set the stops of all joints."""
        for joint, turns in zip(self.joints, self.turns.tolist(), strict=True):
            joint.set_stops(turns)
        self._shift = TURN * self.turns

    def save(self) -> None:
        """Keep the coordinates before a step that may fail."""
        np.copyto(self._saved, self.now)
        np.copyto(self._saved_turns, self.turns)

    def restore(self) -> None:
        """Go back to what was saved."""
        np.copyto(self.now, self._saved)
        if (self.turns != self._saved_turns).any():
            np.copyto(self.turns, self._saved_turns)
            self.set_stops()


def _told(joint: Joint) -> tuple[Callable[[], float], Callable[[], float]]:
    """Return what reads ODE's position of a joint, and its rate."""
    made = joint.joint
    if joint.kind == JointKind.HINGE:
        return made.getAngle, made.getAngleRate
    return made.getPosition, made.getPositionRate


def _slide(joint: Joint) -> tuple[float, float]:
    """Return how far a slider is out, and its rate.

    ODE's own rate of a slider forgets that its axis turns with the parent.
    """
    child, parent = joint.bodies
    axis = rotate(child.getRotation(), joint.axis)
    at, rate = child.getRelPointPos(joint.anchor), child.getRelPointVel(joint.anchor)
    origin, origin_rate = joint.parent_anchor, (0.0, 0.0, 0.0)
    if parent is not None:
        origin, origin_rate = parent.getRelPointPos(origin), parent.getPointVel(at)
    way = [a - b for a, b in zip(at, origin, strict=True)]
    speed = [a - b for a, b in zip(rate, origin_rate, strict=True)]
    return dot(axis, way), dot(axis, speed)
