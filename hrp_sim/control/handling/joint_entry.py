"""Joints between bodies as users describe them, and as engines need them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from hrp_model import Pose
from hrp_model.body import ExtraJointType
from hrp_model.rigid import Array, unit_vector

from ...engine.engine import PhysicsError
from ...engine.state import BodyJoint, ByName, SimulatedBody


@dataclass(frozen=True, eq=False, kw_only=True)
class JointEntry:
    """A joint between links A and B of two bodies, as an extra joint of a model.

    If both rotations are the identity, the entry gives only two points and an axis. Then the
    relative rotation that the links have when the joint is made closes it.

    Attributes:
        type: Kind of constraint.
        bodies: Names of the two bodies in the world.
        links: Names of links A and B.
        X_AJ: Pose of the joint's frame J in link A.
        X_BJ: Pose of J in link B.
        axis: Vector in link A, not zero, shape (3,).
        name: Unique in the world.
    """

    type: ExtraJointType
    bodies: tuple[str, str]
    links: tuple[str, str]
    X_AJ: Pose = field(default_factory=Pose)
    X_BJ: Pose = field(default_factory=Pose)
    axis: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    name: str

    def resolve(self, bodies: Mapping[str, SimulatedBody]) -> BodyJoint:
        """Return the joint of these bodies, with their present relative rotation if it counts.

        Raises:
            KeyError: There is no such body or link; the message lists the known ones.
            PhysicsError: The axis is zero.
        """
        a, b = (ByName("body", bodies)[name] for name in self.bodies)
        i, j = a.body.link_index(self.links[0]), b.body.link_index(self.links[1])
        axis = unit_vector(self.axis)
        if axis is None:
            raise PhysicsError(f"joint '{self.name}': its axis must not be zero")
        X_BJ = self.X_BJ
        if all(np.array_equal(X.R, np.eye(3)) for X in (self.X_AJ, X_BJ)):
            X_BJ = Pose(b.motion.R[j].T @ a.motion.R[i], X_BJ.p)
        return BodyJoint(
            name=self.name,
            type=self.type,
            bodies=self.bodies,
            links=(i, j),
            X_AJ=self.X_AJ,
            X_BJ=X_BJ,
            axis=self.X_AJ.R.T @ axis,
        )
