"""Poses as messages tell them, and the frames that they are told in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from hrp_model import Pose
from hrp_model.rigid import Array

from ..articulation.numeric_limits import FARTHEST, FASTEST
from ..simulation import Simulation
from .results import RequestError

# How far from 1 the length of a quaternion may be, as digits are lost on the way.
_ROUNDING = 1e-3


@dataclass(frozen=True, eq=False)
class FrameMotion:
    """How a frame F moves in the world: its pose and, in W, the velocities of its origin."""

    X_WF: Pose = field(default_factory=Pose)
    v: Array = field(default_factory=lambda: np.zeros(3))
    w: Array = field(default_factory=lambda: np.zeros(3))


def pose_from(position: Sequence[float], quaternion: Sequence[float], code: IntEnum) -> Pose:
    """Return a pose from a position in [m] and a quaternion (x, y, z, w).

    Raises:
        RequestError: It is none, or too far away; with this code.
    """
    p, q = np.array(position, dtype=np.float64), np.array(quaternion, dtype=np.float64)
    if not np.all(np.abs(p) < FARTHEST):
        words = f"the position {p.tolist()} is not within {FARTHEST:g} m of the origin"
        raise RequestError(code, words)
    length = float(np.linalg.norm(q))
    if not abs(length - 1.0) <= _ROUNDING:
        words = f"the quaternion {q.tolist()} has the length {length:g}, not 1"
        raise RequestError(code, words)
    return Pose(_rotation(q / length), p)


def checked_twist(v: Sequence[float], w: Sequence[float], code: IntEnum) -> tuple[Array, Array]:
    """Return velocities in [m/s] and [rad/s] as arrays.

    Raises:
        RequestError: A number makes no sense; with this code.
    """
    twist = np.array([v, w], dtype=np.float64)
    if not np.all(np.abs(twist) < FASTEST):
        raise RequestError(code, f"the twist {twist.tolist()} is not below {FASTEST:g}")
    return twist[0], twist[1]


def frame_motion(simulation: Simulation, frame: str, world: str, code: IntEnum) -> FrameMotion:
    """Return how a frame moves.

    Args:
        simulation: Where its owner is.
        frame: Empty or ``world`` for the world; ENTITY for its root; ENTITY/LINK; or a LINK
            that only one entity has.
        world: What the frame of the world is called.
        code: Of the error.

    Raises:
        RequestError: There is no such frame.
    """
    if frame in ("", world):
        return FrameMotion()
    found = [
        (simulated, k)
        for name, simulated in simulation.bodies.items()
        for k, link in enumerate(simulated.body.links)
        if frame == f"{name}/{link.name}" or frame == link.name or (frame == name and k == 0)
    ]
    # The name of an entity goes before that of a link.
    exact = [(s, k) for s, k in found if frame in (s.name, f"{s.name}/{s.body.links[k].name}")]
    found = [(s, 0) for s, _ in exact if s.name == frame][:1] or exact[:1] or found
    if len(found) != 1:
        problem = "is not known" if not found else "belongs to several entities"
        words = f"the frame '{frame}' {problem}; there is '{world}', ENTITY and ENTITY/LINK"
        raise RequestError(code, words)
    simulated, k = found[0]
    motion = simulated.motion
    return FrameMotion(Pose(motion.R[k], motion.p[k]), motion.v[k].copy(), motion.w[k].copy())


def _rotation(q: Array) -> Array:
    """Return the matrix of a unit quaternion (x, y, z, w)."""
    x, y, z, w = q.tolist()
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
            [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
            [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )
