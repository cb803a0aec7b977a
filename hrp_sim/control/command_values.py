"""The values of a command to joints, put to their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan, nan

from ..physics.state import MAX_DRIVE_VALUE
from .commands import JointCommand

_KINDS = ("position", "velocity", "effort")


def columns(
    command: JointCommand,
    interface: Callable[[str], str | None],
    refuse: Callable[[str, str], None],
) -> tuple[Sequence[float], Sequence[float], Sequence[float]]:
    """Return positions, velocities and efforts: of each as many as there are names, or none.

    Args:
        command: What was sent.
        interface: Tells by what kind of value a joint is commanded.
        refuse: Called with a kind of mistake and words about it.
    """
    position, velocity, effort = (_column(command, kind, interface, refuse) for kind in _KINDS)
    return position, velocity, effort


def usable(name: str, value: float, refuse: Callable[[str, str], None]) -> float | None:
    """Return one value of a joint; None for NaN and, with a complaint, for an absurd one."""
    if -MAX_DRIVE_VALUE < value < MAX_DRIVE_VALUE:
        return float(value)
    if not isnan(value):
        refuse(f"value {name}", f"a command of {value} to joint '{name}' is ignored")
    return None


def _column(
    command: JointCommand,
    kind: str,
    interface: Callable[[str], str | None],
    refuse: Callable[[str, str], None],
) -> Sequence[float]:
    values: Sequence[float] = getattr(command, kind)
    if len(values) in (0, len(command.names)):
        return values
    places = [k for k, name in enumerate(command.names) if interface(name) == kind]
    if len(values) != len(places):
        refuse(
            f"length {kind}",
            f"a command names {len(command.names)} joints but gives {len(values)} values of "
            f"{kind}, and {len(places)} of them are commanded by {kind}; its {kind} is ignored",
        )
        return ()
    column = [nan] * len(command.names)
    for k, value in zip(places, values, strict=True):
        column[k] = value
    return column
