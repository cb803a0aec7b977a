"""Linear relations of joint positions as mimic joints."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from math import isclose


@dataclass(frozen=True)
class Line:
    """A position as slope * leader's + offset.

    Attributes:
        leader: Index of the leading joint.
        slope, offset: In [rad] or [m] of the joint, per that of the leader.
    """

    leader: int
    slope: float
    offset: float


class Followers:
    """Joints whose positions are linear functions of each other's.

    Any joint of a train may be given as a function of any other, in any order.

    Args:
        joints: All joints.
    """

    def __init__(self, joints: Collection[int]) -> None:
        self._lines = {j: Line(j, 1.0, 0.0) for j in joints}

    def add(self, follower: int, leader: int, slope: float, offset: float) -> bool:
        """Add q[follower] = slope * q[leader] + offset.

        Returns:
            Whether it agrees with the relations that were added before.
        """
        own, other = self._lines[follower], self._lines[leader]
        a, b = slope * other.slope, slope * other.offset + offset
        if own.leader == other.leader:
            return isclose(own.slope, a, rel_tol=1e-9, abs_tol=1e-12) and isclose(
                own.offset, b, rel_tol=1e-9, abs_tol=1e-12
            )
        if own.slope == 0.0:  # held still already
            return False
        self._replace(own.leader, Line(other.leader, a / own.slope, (b - own.offset) / own.slope))
        return True

    def result(self, *, leads: Callable[[int], bool]) -> dict[int, Line]:
        """Return the line of each joint that follows another.

        Args:
            leads: Whether a joint is to lead the others rather than one for which this is false.
        """
        for leader in {line.leader for line in self._lines.values()}:
            if leads(leader):
                continue
            able = (
                (j, line)
                for j, line in self._lines.items()
                if line.leader == leader and line.slope and leads(j)
            )
            if (found := next(able, None)) is not None:
                j, line = found
                self._replace(leader, Line(j, 1.0 / line.slope, -line.offset / line.slope))
        return {j: line for j, line in self._lines.items() if line.leader != j}

    def _replace(self, leader: int, by: Line) -> None:
        """Let all that a joint leads, itself included, follow another one."""
        for j, line in self._lines.items():
            if line.leader == leader:
                offset = line.slope * by.offset + line.offset
                self._lines[j] = Line(by.leader, line.slope * by.slope, offset)
        if by.leader in self._lines and self._lines[by.leader].leader == by.leader:
            self._lines[by.leader] = Line(by.leader, 1.0, 0.0)
