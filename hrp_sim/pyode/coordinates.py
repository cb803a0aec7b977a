"""Joint coordinates, read as ``joint_read`` in ``ode/_core_drive.c`` does.

Arrays have one element for each joint that moves, of all bodies in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from hrp_model.rigid import Array

from ..articulation import JointKind
from .assembly import TURN, Assembly, Joint
from .binding import Indices
from .vectors import dot, rotate

# Angles nearer to zero than this, twice in a row, cannot have passed +-pi between.
_SURELY_SAME_TURN = 1.5


class Coordinates:
    """Positions and velocities of the joints that move.

    Attributes:
        joints: In the order of the bodies and of their joints.
        parts: Where the joints of each body are.
        q, dq: Positions and velocities, shape (joints,).
        turns: Whole turns that q is beyond ODE's angle of a hinge.
    """

    def __init__(self, bodies: Sequence[Assembly]) -> None:
        self.joints: list[Joint] = [j for b in bodies for j in b.driven]
        ends = np.cumsum([0, *(len(b.driven) for b in bodies)]).tolist()
        self.parts = [slice(a, b) for a, b in pairwise(ends)]
        self._now = np.zeros((2, ends[-1]))
        self.turns: Indices = np.zeros(ends[-1], dtype=np.int64)
        for body, part in zip(bodies, self.parts, strict=True):
            self._now[:, part], self.turns[part] = body.now, body.turns
            body.now, body.turns = self._now[:, part], self.turns[part]
        self.q, self.dq = self._now
        self._saved, self._saved_turns = self._now.copy(), self.turns.copy()
        self._plan()

    def _plan(self) -> None:
        """Decide how to read the joints: hinges all at once, sliders one by one."""
        kinds = [j.kind for j in self.joints]
        hinges = [i for i, kind in enumerate(kinds) if kind == JointKind.HINGE]
        self._sliders = [(i, self.joints[i]) for i, k in enumerate(kinds) if k == JointKind.SLIDER]
        whole: slice | Indices = slice(None)
        self._hinges = whole if len(hinges) == len(kinds) else np.array(hinges, dtype=np.int64)
        self._hinge_joints = [self.joints[i] for i in hinges]
        self._angles = [j.joint.getAngle for j in self._hinge_joints]
        self._rates = [j.joint.getAngleRate for j in self._hinge_joints]
        self._read = np.zeros((2, len(hinges)))
        self._shift = TURN * self.turns[self._hinges]
        self._is_near_zero = self._was_near_zero = False

    def read(self) -> None:
        """Read q and dq. A hinge may turn on beyond ODE's +-pi."""
        if self._angles:
            angles = [get() for get in self._angles]
            was_near_zero = self._is_near_zero
            self._is_near_zero = (
                max(angles) < _SURELY_SAME_TURN and min(angles) > -_SURELY_SAME_TURN
            )
            self._read.ravel()[:] = angles + [get() for get in self._rates]
            if not (was_near_zero and self._is_near_zero):
                self._count_turns(self._read[0])
            self.q[self._hinges] = self._read[0] + self._shift
            self.dq[self._hinges] = self._read[1]
        for i, joint in self._sliders:
            self.q[i], self.dq[i] = _slide(joint)

    def _count_turns(self, angles: Array) -> None:
        """Find the turn of each hinge that is nearest to where it was, and move its stops."""
        x = (self.q[self._hinges] - angles) / TURN
        near = np.rint(x)
        # C rounds halves away from zero, numpy to even numbers.
        turns = np.where(np.abs(x - near) == 0.5, x + np.copysign(0.5, x), near).astype(np.int64)
        for k in np.flatnonzero(turns != self.turns[self._hinges]).tolist():
            self._hinge_joints[k].set_stops(int(turns[k]))
        self.turns[self._hinges] = turns
        self._shift = TURN * turns

    def read_anew(self) -> None:
        """Read q and dq after a jump in state: q is nearest to what it holds."""
        self._is_near_zero = False
        self.read()
        self.set_stops()

    def set_stops(self) -> None:
        """Set the stops of all joints."""
        for joint, turns in zip(self.joints, self.turns.tolist(), strict=True):
            joint.set_stops(turns)
        self._shift = TURN * self.turns[self._hinges]

    def save(self) -> None:
        """Keep the coordinates before a step that may fail."""
        np.copyto(self._saved, self._now)
        np.copyto(self._saved_turns, self.turns)
        self._was_near_zero = self._is_near_zero

    def restore(self) -> None:
        """Go back to what was saved."""
        np.copyto(self._now, self._saved)
        if (self.turns != self._saved_turns).any():
            np.copyto(self.turns, self._saved_turns)
            self.set_stops()
        self._is_near_zero = self._was_near_zero


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
