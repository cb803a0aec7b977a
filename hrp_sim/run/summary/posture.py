"""Posture of a body: pose of the root, tilt, and fall detection."""

from __future__ import annotations

from dataclasses import dataclass
from math import acos, degrees, pi

import numpy as np

from hrp_model import Body
from hrp_model.rigid import Array
from hrp_model.shapes.measure import geometry_box

from ...engine.state import SimulatedBody

# A body that tilts more than this from its initial posture has fallen, in [rad]: a robot or box
# with its centre of mass as high as its foot is wide cannot recover by itself.
_MAX_TILT = pi / 4.0
# So has a body whose root is lower than this share of its initial height: squatting humanoids stay
# above it.
_MIN_HEIGHT_SHARE = 0.5
# A body that moves down faster than this at the end is falling, in [m/s]: 5 cm of free fall.
_MAX_DESCENT = 1.0


class CollisionExtent:
    """Bounding boxes of the collision shapes of a body, to find its lowest point.

    Args:
        body: The model.
    """

    def __init__(self, body: Body) -> None:
        self.body = body
        links, centers, halves = [], [np.zeros((0, 3))], [np.zeros((0, 3, 3))]
        for i, link in enumerate(body.links):
            for shape in link.collision:
                if (box := geometry_box(shape.geometry)) is not None:
                    A, t = shape.T_FG[:3, :3], shape.T_FG[:3, 3]
                    links.append(i)
                    centers.append((A @ box.center + t)[np.newaxis])
                    halves.append((A * box.half)[np.newaxis])
        self._links = np.array(links, dtype=np.int64)
        self._centers, self._halves = np.concatenate(centers), np.concatenate(halves)

    def lowest(self, p: Array, R: Array) -> float | None:
        """Return the z coordinate of the lowest point in W, in [m]; None without collision shapes.

        Args:
            p: Positions of the link origins, shape (links, 3).
            R: Their rotations, shape (links, 3, 3).
        """
        if not len(self._links):
            return None
        up = R[self._links, 2]  # the third row of R_WL: W's z axis in L
        middle = p[self._links, 2] + np.einsum("ij,ij->i", up, self._centers)
        reach = np.abs(np.einsum("ij,ijk->ik", up, self._halves)).sum(axis=1)
        return float((middle - reach).min())


@dataclass(frozen=True)
class Posture:
    """State of the root link of a body.

    Attributes:
        p: Position in W, in [m], shape (3,).
        R: Rotation R_WL, shape (3, 3).
        v: Velocity in W, in [m/s], shape (3,).
        height: Above the lowest point of the body, in [m]; None without collision shapes.
    """

    p: Array
    R: Array
    v: Array
    height: float | None

    @property
    def tilt(self) -> float:
        """Angle between the root's z axis and the vertical, in [rad]."""
        return _angle(self.R[2, 2])

    @property
    def speed(self) -> float:
        """Speed of the root's origin, in [m/s]."""
        return float(np.linalg.norm(self.v))

    def tilt_since(self, start: Posture) -> float:
        """Return the tilt of the body axis that was vertical in another posture, in [rad]."""
        return _angle(float(self.R[2] @ start.R[2]))

    def fall_since(self, start: Posture) -> str:
        """Return why the body counts as fallen since another posture, or ""."""
        if -self.v[2] > _MAX_DESCENT:
            return f"it is falling at {-self.v[2]:.3g} m/s"
        if (tilt := self.tilt_since(start)) > _MAX_TILT:
            return f"it has tilted by {degrees(tilt):.0f} deg since the start"
        if self.height is None or start.height is None:
            return ""
        if self.height < _MIN_HEIGHT_SHARE * start.height:
            return (
                f"its root is {self.height:.3g} m above its lowest point, "
                f"{start.height:.3g} m at the start"
            )
        return ""


def posture_of(simulated: SimulatedBody, extent: CollisionExtent | None) -> Posture:
    """Return the current posture of a body; without its height if no extent is given."""
    motion = simulated.motion
    lowest = None if extent is None else extent.lowest(motion.p, motion.R)
    height = None if lowest is None else float(motion.p[0, 2]) - lowest
    return Posture(motion.p[0].copy(), motion.R[0].copy(), motion.v[0].copy(), height)


def _angle(cosine: float) -> float:
    return acos(min(1.0, max(-1.0, cosine)))
