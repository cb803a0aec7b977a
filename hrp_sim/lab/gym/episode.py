"""The state of an episode, as rewards, ends and observations see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hrp_model.rigid import Array

from ...engine.schedule import NS_PER_S
from ...engine.state import BodyMotion
from ...simulation import Simulation


@dataclass(slots=True)
class EpisodeState:
    """The state after a step of an environment. It is live: the next step changes it.

    Attributes:
        simulation: The simulation.
        robot: Name of the robot in it.
        motion: Positions, velocities and so on of its links and joints.
        joints: Element of q of each joint, by name.
        links: Element of p and R of each link, by name.
        action: The last action, of the joints in their units and within their limits, shape
            (joints with actions,); zeros before the first step.
        start_ns: Simulation time at the start of the episode, in [ns].
    """

    simulation: Simulation
    robot: str
    motion: BodyMotion
    joints: Mapping[str, int]
    links: Mapping[str, int]
    action: Array
    start_ns: int = 0

    @property
    def time(self) -> float:
        """Time since the start of the episode, in [s]."""
        return (self.simulation.engine.time_ns - self.start_ns) / NS_PER_S

    @property
    def height(self) -> float:
        """Height of the robot's root above z = 0, in [m]."""
        return float(self.motion.p[0, 2])

    @property
    def upright(self) -> float:
        """Cosine of the angle between the root's z axis and the vertical."""
        return float(self.motion.R[0, 2, 2])

    def q(self, joint: str) -> float:
        """Return the position of a joint, in [rad] or [m].

        Raises:
            KeyError: There is no such joint; the message lists them.
        """
        return float(self.motion.q[self.joints[joint]])

    def dq(self, joint: str) -> float:
        """Return the velocity of a joint, in [rad/s] or [m/s].

        Raises:
            KeyError: There is no such joint; the message lists them.
        """
        return float(self.motion.dq[self.joints[joint]])

    def point(self, link: str, offset: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
        """Return where a point of a link is in the world, in [m], shape (3,).

        Args:
            link: Name of the link.
            offset: The point in the link's frame, in [m], shape (3,).

        Raises:
            KeyError: There is no such link; the message lists them.
        """
        i = self.links[link]
        place: Array = self.motion.p[i] + self.motion.R[i] @ np.asarray(offset, dtype=np.float64)
        return place

    def begin(self) -> None:
        """Begin an episode."""
        self.start_ns = self.simulation.engine.time_ns
        self.action = np.zeros_like(self.action)
