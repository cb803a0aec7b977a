"""Health of ``model_node``, for /diagnostics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..diagnostics import counted
from .description import Description
from .follower import JointFollower

STALE_AFTER = 5.0  # [s]; the slowest publishers of joint states have 1 Hz
_MAX_LISTED = 10
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")


@dataclass(frozen=True)
class Health:
    """The health of one part of a node.

    Attributes:
        part: Name of the part.
        level: "ok", "warn", "error", or "stale" without recent messages.
        message: Summary in one line.
        values: Details by name.
    """

    part: str
    level: str
    message: str
    values: Mapping[str, object] = field(default_factory=dict)


def model_health(description: Description, changes: int, problem: str) -> Health:
    """Return the health of the model.

    Args:
        description: The published description.
        changes: How often it was replaced.
        problem: Why the last replacement failed; empty if it did not.
    """
    body, warnings = description.body, description.warnings
    values: dict[str, object] = {
        "model": body.name,
        "file": body.path or "",
        "links": len(body.links),
        "moving joints": len(body.moving_links),
        "devices": len(body.devices),
        "mass [kg]": body.total_mass,
        "changes": changes,
        "last change": problem or ("good" if changes else "none"),
        "warnings": len(warnings),
        **{f"warning {i}": text for i, text in enumerate(warnings[:_MAX_LISTED], 1)},
    }
    if problem:
        message = f"the new model is invalid, so the previous one is kept: {problem}"
        return Health("model", "error", message, values)
    if warnings:
        message = f"'{body.name}': {counted(len(warnings), 'warning')}, such as: {warnings[0]}"
        return Health("model", "warn", message, values)
    return Health("model", "ok", f"'{body.name}'", values)


class JointHealth:
    """Reports the health of the joint states since the previous report."""

    def __init__(self) -> None:
        self._last: tuple[float, int, int] | None = None

    def report(self, follower: JointFollower, now: float) -> Health:
        """Return the health since the last call.

        Args:
            follower: Receives the joint states.
            now: Time in [s], by the clock of the follower.
        """
        received_rate, published_rate = self._rates(follower, now)
        age = None if follower.last_received is None else now - follower.last_received
        missing = follower.missing
        values: dict[str, object] = {
            "joint_states [1/s]": received_rate,
            "age of the last [s]": "none received" if age is None else age,
            "ignored": follower.ignored,
            "/tf [1/s]": published_rate,
            "joints": len(follower.joints),
            "joints without position": _listed(missing),
            "unknown joints": _listed(list(follower.unknown)),
            "computed joints": _listed(sorted(follower.computed)),
            "open loops": "; ".join(follower.open_loops),
            "loop residual [m]": follower.loop_residual.length,
            "loop residual [rad]": follower.loop_residual.angle,
        }
        level, message = _joint_status(follower, age, missing, received_rate)
        return Health("joint_states", level, message, values)

    def _rates(self, follower: JointFollower, now: float) -> tuple[float, float]:
        before, self._last = self._last, (now, follower.received, follower.published)
        if before is None or now <= before[0]:
            return 0.0, 0.0
        period = now - before[0]
        return (follower.received - before[1]) / period, (follower.published - before[2]) / period


class WarningThrottle:
    """Selects the problems to log: new ones, and lasting ones once per period.

    Problems that differ only in numbers count as the same.

    Args:
        period: Period of repeating a problem, in [s].
    """

    def __init__(self, period: float) -> None:
        self._period = period
        self._logged: dict[str, float] = {}

    def due(self, problems: Iterable[str], now: float) -> list[str]:
        """Return the problems to log at a time in [s], and record them as logged."""
        self._logged = {k: at for k, at in self._logged.items() if now < at + self._period}
        due = {_NUMBER.sub("#", problem): problem for problem in problems}
        due = {key: problem for key, problem in due.items() if key not in self._logged}
        self._logged.update(dict.fromkeys(due, now))
        return list(due.values())


def _joint_status(
    follower: JointFollower, age: float | None, missing: list[str], rate: float
) -> tuple[str, str]:
    """Return the level and the message of the joint states."""
    if not follower.joints:
        return "ok", "the robot has no moving joints"
    if age is None:
        return "stale", "no joint_states received yet"
    if age > STALE_AFTER:
        return "stale", f"no joint_states for {age:.0f} s"
    if follower.open_loops:
        return "warn", follower.open_loops[0]
    if missing:
        return "warn", f"no position received yet for {_listed(missing)}"
    if follower.unknown:
        return "warn", f"unknown joints in joint_states: {_listed(list(follower.unknown))}"
    return "ok", f"{rate:.0f} joint_states per second"


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_MAX_LISTED])
    return shown + (f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else "")
