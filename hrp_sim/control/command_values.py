"""The values of a joint command, by joint."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from math import isnan, nan

from ..physics.state import LARGEST_DRIVE
from .commands import JointCommand

Refuse = Callable[[str, str], None]


def values_by_joint(
    command: JointCommand, interface: Callable[[str], str | None], refuse: Refuse
) -> Iterator[tuple[str, float, float, float]]:
    """Yield name, position, velocity and effort of each joint; NaN where nothing is commanded.

    Args:
        command: The command.
        interface: Returns the kind of value by which a joint is commanded.
        refuse: Called with the kind of a mistake and a message about it.
    """
    count = len(command.names)
    columns: list[Sequence[float] | repeat[float]] = []
    for kind, values in (
        ("position", command.position),
        ("velocity", command.velocity),
        ("effort", command.effort),
    ):
        if len(values) == count:
            columns.append(values)
        elif not len(values):
            columns.append(repeat(nan, count))
        else:
            columns.append(_spread(command.names, kind, values, interface, refuse))
    for name, *values in zip(command.names, *columns, strict=True):
        for k, value in enumerate(values):
            if not (-LARGEST_DRIVE < value < LARGEST_DRIVE or isnan(value)):
                refuse(f"value {name}", f"a command of {value} to joint '{name}' is ignored")
                values[k] = nan
        position, velocity, effort = values
        yield name, position, velocity, effort


def _spread(
    names: Sequence[str],
    kind: str,
    values: Sequence[float],
    interface: Callable[[str], str | None],
    refuse: Refuse,
) -> Sequence[float]:
    """Return values of the joints that are commanded by this kind only, one for each name."""
    places = [k for k, name in enumerate(names) if interface(name) == kind]
    column = [nan] * len(names)
    if len(values) != len(places):
        refuse(
            f"length {kind}",
            f"a command names {len(names)} joints but gives {len(values)} values of "
            f"{kind}, and {len(places)} of them are commanded by {kind}; its {kind} is ignored",
        )
        return column
    for k, value in zip(places, values, strict=True):
        column[k] = value
    return column
