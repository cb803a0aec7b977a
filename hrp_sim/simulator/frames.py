"""Validate poses and twists of requests, and look up their reference frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from hrp_model import Pose
from hrp_model.rigid import Array

from ..engine.articulation.numeric_limits import MAX_COORDINATE, MAX_SPEED
from ..simulation import Simulation
from .errors import RequestError

# Tolerated deviation of the length of a quaternion from 1.
_QUATERNION_TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class FrameMotion:
    """Pose of a frame F in the world W, and its linear and angular velocity expressed in W."""

    X_WF: Pose = field(default_factory=Pose)
    v: Array = field(default_factory=lambda: np.zeros(3))
    w: Array = field(default_factory=lambda: np.zeros(3))


def pose_from(position: Sequence[float], quaternion: Sequence[float], code: IntEnum) -> Pose:
    """Return a pose from a position in [m] and a quaternion (x, y, z, w).

    Raises:
        RequestError: The pose is invalid or too far away; with this code.
    """
    p, q = np.array(position, dtype=np.float64), np.array(quaternion, dtype=np.float64)
    if not np.all(np.abs(p) < MAX_COORDINATE):
        message = f"the position {p.tolist()} is not within {MAX_COORDINATE:g} m of the origin"
        raise RequestError(code, message)
    length = float(np.linalg.norm(q))
    if not abs(length - 1.0) <= _QUATERNION_TOLERANCE:
        message = f"the quaternion {q.tolist()} has length {length:g} instead of 1"
        raise RequestError(code, message)
    return Pose(_rotation(q / length), p)


def checked_twist(v: Sequence[float], w: Sequence[float], code: IntEnum) -> tuple[Array, Array]:
    """Return velocities in [m/s] and [rad/s] as arrays.

    Raises:
        RequestError: A number is not finite or too large; with this code.
    """
    twist = np.array([v, w], dtype=np.float64)
    if not np.all(np.abs(twist) < MAX_SPEED):
        message = f"the twist {twist.tolist()} must be finite and below {MAX_SPEED:g} m/s and rad/s"
        raise RequestError(code, message)
    return twist[0], twist[1]


def frame_motion(simulation: Simulation, frame: str, world: str, code: IntEnum) -> FrameMotion:
    """Return pose and velocity of a frame.

    Args:
        simulation: The world.
        frame: "" or the name of the world frame; ENTITY for its root link; ENTITY/LINK; or a LINK
            that only one entity has.
        world: Name of the world frame.
        code: Result code of the error.

    Raises:
        RequestError: The frame does not exist or is ambiguous.
    """
    if frame in ("", world):
        return FrameMotion()
    found = [
        (simulated, k)
        for name, simulated in simulation.bodies.items()
        for k, link in enumerate(simulated.body.links)
        if frame == f"{name}/{link.name}" or frame == link.name or (frame == name and k == 0)
    ]
    # An entity takes precedence over a link of the same name.
    exact = [(s, k) for s, k in found if frame in (s.name, f"{s.name}/{s.body.links[k].name}")]
    found = [(s, 0) for s, _ in exact if s.name == frame][:1] or exact[:1] or found
    if len(found) != 1:
        problem = "belongs to several entities" if found else "is unknown"
        message = f"the frame '{frame}' {problem}; use '{world}', ENTITY or ENTITY/LINK"
        raise RequestError(code, message)
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
