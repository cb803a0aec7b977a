"""Joints between links of two bodies of a world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from hrp_model import Pose
from hrp_model.body import ExtraJointType
from hrp_model.rigid import Array, frozen_array

from .state import SimulatedBody


@dataclass(frozen=True, eq=False, kw_only=True)
class BodyJoint:
    """A joint between links A and B of two bodies, of the types of a model's extra joints.

    The frame J has a fixed pose in both links; where these coincide the joint is closed. A gap is
    closed as fast as that of other joints. The links do not collide with each other.

    Attributes:
        name: Unique in the world.
        type: Kind of constraint.
        bodies: Names of the two bodies.
        links: Indices of the two links in their bodies.
        X_AJ: Pose of J in link A.
        X_BJ: Pose of J in link B.
        axis: Unit vector in J, shape (3,); not used by BALL and FIXED.
    """

    name: str
    type: ExtraJointType
    bodies: tuple[str, str]
    links: tuple[int, int]
    X_AJ: Pose = field(default_factory=Pose)
    X_BJ: Pose = field(default_factory=Pose)
    axis: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", frozen_array(self.axis, (3,), "axis"))

    def describe(self, bodies: Mapping[str, SimulatedBody]) -> str:
        """Return both links for messages, such as "'arm/HAND' and 'box/BASE'"."""
        a, b = (
            f"'{body}/{bodies[body].body.links[link].name}'"
            for body, link in zip(self.bodies, self.links, strict=True)
        )
        return f"{a} and {b}"
