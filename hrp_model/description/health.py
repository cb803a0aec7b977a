"""How a node that describes a robot is doing. Knows no ROS."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..diagnostics import counted
from .description import Description
from .follower import JointFollower

STALE_AFTER = 5.0  # [s]; the slowest publishers of joint states send once a second
_MOST_SHOWN = 10
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")


@dataclass(frozen=True)
class Health:
    """The state of one part of a node.

    Attributes:
        part: What it is about.
        level: "ok", "warn", "error", or "stale" for what was not heard of for too long.
        message: One line for people.
        values: Details by name.
    """

    part: str
    level: str
    message: str
    values: Mapping[str, object] = field(default_factory=dict)


def model_health(description: Description, changes: int, problem: str) -> Health:
    """Return how the model is.

    Args:
        description: What is published.
        changes: How often that was replaced by another one.
        problem: Why the last attempt to do so failed; empty if it did not.
    """
    body, told = description.body, description.warnings
    values: dict[str, object] = {
        "model": body.name,
        "file": body.path or "",
        "links": len(body.links),
        "moving joints": len(body.moving_links),
        "devices": len(body.devices),
        "mass [kg]": body.total_mass,
        "changes": changes,
        "last change": problem or ("good" if changes else "none"),
        "warnings": len(told),
        **{f"warning {i}": text for i, text in enumerate(told[:_MOST_SHOWN], 1)},
    }
    if problem:
        message = f"the new model cannot be used and the old one stays: {problem}"
        return Health("model", "error", message, values)
    if told:
        message = f"'{body.name}': {counted(len(told), 'warning')}, such as: {told[0]}"
        return Health("model", "warn", message, values)
    return Health("model", "ok", f"'{body.name}'", values)


class JointHealth:
    """Tells how the joint states are, from one call to the next."""

    def __init__(self) -> None:
        self._last: tuple[float, int, int] | None = None

    def report(self, follower: JointFollower, now: float) -> Health:
        """Return how it has been since the last call.

        Args:
            follower: Who follows them.
            now: In [s], by the clock that it knows too.
        """
        heard_rate, answered_rate = self._rates(follower, now)
        age = None if follower.last_heard is None else now - follower.last_heard
        silent = follower.silent
        values: dict[str, object] = {
            "joint_states [1/s]": heard_rate,
            "age of the last [s]": "never heard" if age is None else age,
            "ignored": follower.ignored,
            "/tf [1/s]": answered_rate,
            "joints": len(follower.joints),
            "joints without position": _listed(silent),
            "unknown joints": _listed(list(follower.unknown)),
            "computed joints": _listed(sorted(follower.computed)),
            "open loops": "; ".join(follower.open_loops),
            "loop residual [m]": follower.loop_residual.length,
            "loop residual [rad]": follower.loop_residual.angle,
        }
        level, message = _judgement(follower, age, silent, heard_rate)
        return Health("joint_states", level, message, values)

    def _rates(self, follower: JointFollower, now: float) -> tuple[float, float]:
        before, self._last = self._last, (now, follower.heard, follower.answered)
        if before is None or now <= before[0]:
            return 0.0, 0.0
        period = now - before[0]
        return (follower.heard - before[1]) / period, (follower.answered - before[2]) / period


class Reminder:
    """Tells which problems are worth telling of: the new ones, and at times those that last.

    Problems that differ in numbers only are the same one, as it changes.

    Args:
        period: How often the same problem is worth telling of, in [s].
    """

    def __init__(self, period: float) -> None:
        self._period = period
        self._told: dict[str, float] = {}

    def due(self, problems: Iterable[str], now: float) -> list[str]:
        """Return the problems to tell of, and remember that they were told at this time in [s]."""
        self._told = {k: at for k, at in self._told.items() if now < at + self._period}
        due = {_NUMBER.sub("#", problem): problem for problem in problems}
        due = {key: problem for key, problem in due.items() if key not in self._told}
        self._told.update(dict.fromkeys(due, now))
        return list(due.values())


def _judgement(
    follower: JointFollower, age: float | None, silent: list[str], rate: float
) -> tuple[str, str]:
    if not follower.joints:
        return "ok", "no joint moves"
    if age is None:
        return "stale", "no joint_states yet"
    if age > STALE_AFTER:
        return "stale", f"no joint_states for {age:.0f} s"
    if follower.open_loops:
        return "warn", follower.open_loops[0]
    if silent:
        return "warn", f"no position yet of {_listed(silent)}"
    if follower.unknown:
        return "warn", f"not joints of this model: {_listed(list(follower.unknown))}"
    return "ok", f"{rate:.0f} joint_states per second"


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_MOST_SHOWN])
    return shown + (f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else "")
