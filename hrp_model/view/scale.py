"""Sizes of arrows that fit the robots of a scene."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..body import Body

_GRAVITY = 9.81  # [m/s^2], of the weights that define the scale


@dataclass(frozen=True)
class Scale:
    """Sizes of what is drawn.

    Attributes:
        length: Size of the largest movable body, in [m].
        weight: Of the heaviest movable body, in [N].
    """

    length: float = 1.0
    weight: float = 100.0

    @property
    def width(self) -> float:
        """Diameter of the shafts of arrows, in [m]."""
        return 0.012 * self.length

    @property
    def point(self) -> float:
        """Diameter of the points of scans and clouds, in [m]."""
        return 0.012 * self.length

    @property
    def per_force(self) -> float:
        """Length of arrows, in [m/N]: the weight is half as long as the body."""
        return 0.5 * self.length / self.weight

    @property
    def per_torque(self) -> float:
        """Length of arrows, in [m/(N m)]: the weight with a lever of a tenth of the body."""
        return 10.0 * self.per_force / self.length

    @property
    def per_acceleration(self) -> float:
        """Length of arrows, in [m/(m/s^2)]: gravity is a quarter as long as the body."""
        return 0.25 * self.length / _GRAVITY


def scale_of(bodies: Iterable[tuple[Body, float]]) -> Scale:
    """Return the scale of a scene.

    Args:
        bodies: Its bodies with their sizes, in [m].
    """
    movable = [(body.total_mass, size) for body, size in bodies if not body.is_static]
    weight = _GRAVITY * max((mass for mass, _ in movable), default=0.0)
    length = max((size for _, size in movable), default=0.0)
    return Scale(length or 1.0, weight or 100.0)
