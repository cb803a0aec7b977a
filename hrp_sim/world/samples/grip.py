"""A path to a box, hands that close until they press it, and a path with the box."""

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from hrp_model.rigid import Array

from ...control.controllers import ControllerIO
from .pd import PDController


class Path:
    """Postures at times, with a rest at each.

    Args:
        postures: Times in [s] from 0 on, with joint positions in [rad] or [m].
    """

    def __init__(self, *postures: tuple[float, Array]) -> None:
        self.times, self.q = zip(*postures, strict=True)

    @property
    def duration(self) -> float:
        """Time of the last posture, in [s]."""
        return float(self.times[-1])

    def at(self, t: float) -> Array:
        """Return the joint positions at a time, those of the last posture after its end."""
        i = min(bisect_right(self.times, t), len(self.times) - 1)
        begin, end = self.times[i - 1 : i + 1]
        part = min((t - begin) / (end - begin), 1.0)
        q: Array = self.q[i - 1] + part * part * (3.0 - 2.0 * part) * (self.q[i] - self.q[i - 1])
        return q


class GripAndCarry(PDController):
    """Moves a box; derived classes plan the paths.

    Attributes:
        hands: By joint that closes the hands, 1 or -1: the direction in which it does.
        speed: Of the hands, in [rad/s] or [m/s].
        grip: Effort in the hands that presses the box, in [N m] or [N].
        release: Time after gripping when the hands begin to open, in [s].
        opening: How long this takes, in [s].
    """

    hands: ClassVar[Mapping[str, float]]
    speed: float
    grip = 40.0
    release: float
    opening: float

    @abstractmethod
    def plan(self) -> tuple[Path, Path]:
        """Return the postures by time in [s] before and after gripping, from ``goal``."""

    def initialize(self, io: ControllerIO) -> None:
        """Find the hands."""
        super().initialize(io)
        self.fingers = [io.joint(name) for name in self.hands]
        self.closing = np.array([*self.hands.values()])

    def start(self) -> None:
        """Plan the paths."""
        super().start()
        self.approach, self.carry = self.plan()
        self.closed = 0.0  # how far the hands have closed, in [rad] or [m]
        self.gripped = np.inf  # the time when they had the box, in [s]

    def posture(self) -> Array:
        """Return the posture of the present path, with the hands closed as far as they are."""
        t, closed = self.time, self.closed
        if t < self.gripped:
            q = self.approach.at(t)
            if t > self.approach.duration:
                self.closed += self.speed * self.io.time_step
                if np.abs(self.io.effort[self.fingers]).min() > self.grip:
                    self.gripped = t
        else:
            t -= self.gripped
            q = self.carry.at(t)
            closed *= 1.0 - np.clip((t - self.release) / self.opening, 0.0, 1.0)
        q[self.fingers] += closed * self.closing
        return q

    def save(self) -> Mapping[str, Array]:
        """Return also the state of the hands, and from where the path began."""
        first = self.approach.at(0.0)
        return {**super().save(), "hands": np.array([self.closed, self.gripped]), "first": first}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on with the box."""
        self.goal = arrays["first"].copy()
        self.approach, self.carry = self.plan()
        super().restore(arrays)
        self.closed, self.gripped = arrays["hands"].tolist()
