"""How a body stands: where its root is, how far it leans, and whether it fell."""

from __future__ import annotations

from dataclasses import dataclass
from math import acos, degrees, pi

import numpy as np

from hrp_model import Body
from hrp_model.rigid import Array
from hrp_model.shapes.measure import geometry_box

from ..physics.state import SimulatedBody

# A body that leans farther than this from how it began does not come back by itself: no robot or
# box that stands can, whose centre of mass is as high as its foot is wide. In [rad].
_LARGEST_LEAN = pi / 4.0
# A body that sinks together to less than this share of the height of its root fell, too: a
# humanoid that squats keeps more.
_LEAST_SHARE = 0.5
# What still goes down faster than this at the end falls, in [m/s]: after 5 cm of free fall.
_FASTEST_DESCENT = 1.0


class CollisionExtent:
    """Boxes around the collision shapes of a body's links, to know how low it reaches.

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
        """Return how low the boxes reach in W, in [m]; None without collision shapes.

        Args:
            p: Positions of the link origins, shape (links, 3).
            R: Their rotations, shape (links, 3, 3).
        """
        if not len(self._links):
            return None
        up = R[self._links, 2]  # the third row of R_WL: W's z in the axes of L
        middle = p[self._links, 2] + np.einsum("ij,ij->i", up, self._centers)
        reach = np.abs(np.einsum("ij,ijk->ik", up, self._halves)).sum(axis=1)
        return float((middle - reach).min())


@dataclass(frozen=True)
class Posture:
    """How the root of a body stands.

    Attributes:
        p: Its position in W, in [m], shape (3,).
        R: Its rotation R_WL, shape (3, 3).
        v: Its velocity in W, in [m/s], shape (3,).
        height: Of the root above the lowest point of the body, in [m]; None if that has no shapes.
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
        """Of the root's origin, in [m/s]."""
        return float(np.linalg.norm(self.v))

    def lean_since(self, start: Posture) -> float:
        """Return the angle by which what was up at another time has come down, in [rad]."""
        return _angle(float(self.R[2] @ start.R[2]))

    def fall_since(self, start: Posture) -> str:
        """Return why the body counts as fallen since it stood like this, or nothing."""
        if -self.v[2] > _FASTEST_DESCENT:
            return f"it is falling at {-self.v[2]:.3g} m/s"
        if (lean := self.lean_since(start)) > _LARGEST_LEAN:
            return f"it leans by {degrees(lean):.0f} deg from how it began"
        if self.height is None or start.height is None:
            return ""
        if self.height < _LEAST_SHARE * start.height:
            return (
                f"its root is {self.height:.3g} m above its lowest point, and was "
                f"{start.height:.3g} m above it at the start"
            )
        return ""


def posture_of(simulated: SimulatedBody, outline: CollisionExtent) -> Posture:
    """Return how a body stands now."""
    motion = simulated.motion
    lowest = outline.lowest(motion.p, motion.R)
    height = None if lowest is None else float(motion.p[0, 2]) - lowest
    return Posture(motion.p[0].copy(), motion.R[0].copy(), motion.v[0].copy(), height)


def _angle(cosine: float) -> float:
    return acos(min(1.0, max(-1.0, cosine)))
