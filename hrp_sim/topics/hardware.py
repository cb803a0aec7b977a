"""Commands of ros2_control's topic-based hardware: values by joint, and the interface that acts.

JointStateTopicSystem names all joints, and lists the values of each interface only for those that
have it. It does not report which interfaces a controller has claimed: those of a controller that
was deactivated keep their last value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from math import isnan, nan

from hrp_model.late_dataclass import dataclass

INTERFACES = ("position", "velocity", "effort")
# Messages in which a position must stay before another interface can act. A trajectory with
# positions and velocities changes both in each period, and may end with equal ones.
_PATIENCE = 5


@dataclass(slots=True)
class _Joint:
    """A joint with several interfaces.

    Attributes:
        acting: The interface that acts, an index of ``INTERFACES``.
        values: Last values.
        unchanged: For how many messages each value has been the same.
        fresh: Interfaces whose values have changed since this one acts; only these are
            feed-forward.
    """

    acting: int = 0
    values: list[float] = field(default_factory=lambda: [nan] * len(INTERFACES))
    unchanged: list[int] = field(default_factory=lambda: [_PATIENCE] * len(INTERFACES))
    fresh: set[int] = field(default_factory=set)

    def chosen(self, values: list[float]) -> list[float]:
        """Return the values of a message that act; NaN for the others."""
        changed: set[int] = set()
        for kind, value in enumerate(values):
            same = value == self.values[kind] or isnan(value)
            self.unchanged[kind] = self.unchanged[kind] + 1 if same else 0
            if not same:
                changed.add(kind)
        self.values = values
        acting = self._acting(changed)
        if acting != self.acting:
            self.acting, self.fresh = acting, set()
        self.fresh |= changed
        return [
            value if kind == acting or (kind > acting and kind in self.fresh) else nan
            for kind, value in enumerate(values)
        ]

    def _acting(self, changed: set[int]) -> int:
        """Return the interface that acts.

        A position that changes acts. One that stays does not, if the joint shall have a new
        velocity meanwhile; and neither does, if only the effort changes.
        """
        position, velocity, _ = self.values
        if 0 in changed:
            return 0
        if not isnan(position) and self.unchanged[0] < _PATIENCE:
            return self.acting
        if 2 in changed and (isnan(velocity) or self.unchanged[1] >= _PATIENCE):
            return 2
        is_new = velocity != 0.0 and 1 in changed | self.fresh if self.acting == 0 else 1 in changed
        return 1 if is_new and not isnan(velocity) else self.acting


class HardwareCommands:
    """Reads the commands of topic-based hardware.

    Args:
        interfaces: Command interfaces of each joint, by their names in ros2_control.
    """

    def __init__(self, interfaces: Mapping[str, Collection[str]]) -> None:
        self._interfaces = interfaces
        self._joints = {name: _Joint() for name, kinds in interfaces.items() if len(kinds) > 1}

    def read(
        self, names: Sequence[str], *columns: Sequence[float]
    ) -> tuple[Sequence[float], Sequence[float], Sequence[float]]:
        """Return positions, velocities and efforts that act, one per name, NaN for none.

        Columns that do not fit the interfaces are returned as they are.

        Args:
            names: The joints.
            columns: Positions, velocities and efforts of those that have them, in this order.
        """
        position, velocity, effort = (
            self._one_per_name(names, kind, values)
            for kind, values in zip(INTERFACES, columns, strict=True)
        )
        if any(len(x) != len(names) for x in (position, velocity, effort)):
            return position, velocity, effort
        for k, name in enumerate(names):
            if (joint := self._joints.get(name)) is not None:
                found = joint.chosen([position[k], velocity[k], effort[k]])
                position[k], velocity[k], effort[k] = found
        return position, velocity, effort

    def _one_per_name(
        self, names: Sequence[str], kind: str, values: Sequence[float]
    ) -> list[float]:
        places = [k for k, name in enumerate(names) if kind in self._interfaces.get(name, ())]
        if len(values) != len(places):
            return list(values)
        column = [nan] * len(names)
        for k, value in zip(places, values, strict=True):
            column[k] = value
        return column
