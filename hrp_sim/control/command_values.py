"""The values of a joint command, by joint."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isnan, nan

from ..engine.state import MAX_DRIVE_VALUE
from .commands import JointCommand


def values_by_joint(
    command: JointCommand,
    interface: Callable[[str], str | None],
    refuse: Callable[[str, str], None],
) -> Iterator[tuple[str, float, float, float]]:
    """Return name, position, velocity and effort of each joint; NaN where nothing is commanded.

    Args:
        command: The command.
        interface: Returns the kind of value by which a joint is commanded.
        refuse: Called with the kind of an error and its message.
    """
    names, none = command.names, [nan] * len(command.names)
    columns: list[Sequence[float]] = []
    for kind, values in (
        ("position", command.position),
        ("velocity", command.velocity),
        ("effort", command.effort),
    ):
        column = values if len(values) else none
        if len(column) != len(names):
            places = [k for k, name in enumerate(names) if interface(name) == kind]
            column = none
            if len(values) == len(places):
                column = none.copy()
                for k, value in zip(places, values, strict=True):
                    column[k] = value
            else:
                refuse(
                    f"length {kind}",
                    f"a command names {len(names)} joints but gives {len(values)} values of "
                    f"{kind}, and {len(places)} of them are commanded by {kind}; its {kind} is "
                    "ignored",
                )
        if column is not none:
            column = _checked(names, column, refuse)
        columns.append(column)
    position, velocity, effort = columns
    return zip(names, position, velocity, effort, strict=True)


def _checked(
    names: Sequence[str], values: Sequence[float], refuse: Callable[[str, str], None]
) -> Sequence[float]:
    """Return values with NaN in place of those that are infinite or too large."""
    checked = values
    for k, value in enumerate(values):
        if not (-MAX_DRIVE_VALUE < value < MAX_DRIVE_VALUE or isnan(value)):
            refuse(f"value {names[k]}", f"a command of {value} to joint '{names[k]}' is ignored")
            checked = [*checked[:k], nan, *checked[k + 1 :]]
    return checked
