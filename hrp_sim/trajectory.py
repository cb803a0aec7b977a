"""Trajectories of joints: points to pass at given times, and how far from them is too far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isnan
from typing import TYPE_CHECKING

import numpy as np

from hrp_model import Body, JointType
from hrp_model.diagnostics import did_you_mean

from .schedule import NS_PER_S
from .state import LARGEST_DRIVE

if TYPE_CHECKING:
    from .control import BodyController

# Later than any simulation, in [ns]; thirty years.
LATEST_NS = 10**18


@dataclass(frozen=True, slots=True)
class TrajectoryPoint:
    """Where the joints of a trajectory are at a time; each list has one value per joint.

    Attributes:
        time_from_start_ns: Since the start of the trajectory, in [ns].
        positions: In [rad] or [m].
        velocities: In [rad/s] or [m/s], or empty.
        accelerations: In [rad/s^2] or [m/s^2], or empty.
        effort: Added by the way, in [N m] or [N], or empty.
    """

    time_from_start_ns: int
    positions: Sequence[float]
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()
    effort: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class JointTrajectory:
    """A motion of some joints of a body through points.

    Between two points joints move by what both of them give: positions alone are joined by
    straight lines, positions and velocities by cubic splines, accelerations too by quintic ones.
    Effort goes in straight lines. The first spline begins where the joints are aimed at when the
    trajectory starts, or where they are if they are not aimed at a position. At the end they
    stop and hold. Where a joint turns without limits, all its positions are moved by as many
    whole turns as bring the first nearest to where the joint is.

    Of a start in the past the points that are over are left out: the joints get to the next one
    in time. Without points the joints stop and hold now; if none are named, all that trajectories
    move.

    Attributes:
        names: Joint names.
        points: In the order of time.
        start_ns: Simulated time, in [ns]; None or 0 means now.
    """

    names: Sequence[str]
    points: Sequence[TrajectoryPoint]
    start_ns: int | None = None

    def give(self, controller: BodyController, time_ns: int) -> None:
        """Have a controller follow it."""
        controller.follow(self, time_ns)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a joint may be from where it should be; infinity means anywhere.

    Attributes:
        position: In [rad] or [m].
        velocity: In [rad/s] or [m/s].
    """

    position: float = inf
    velocity: float = inf


@dataclass(frozen=True, slots=True)
class Tolerances:
    """When a trajectory has failed.

    Attributes:
        path: By joint name: at any time before the end.
        goal: By joint name: what has to be kept before the trajectory has succeeded.
        goal_time_ns: How long after the end the goal may take, in [ns]; None means for ever.
    """

    path: Mapping[str, Tolerance] = field(default_factory=dict)
    goal: Mapping[str, Tolerance] = field(default_factory=dict)
    goal_time_ns: int | None = None


ANYWHERE = Tolerances()


class BadTrajectoryError(ValueError):
    """A trajectory cannot be followed; the message says why, in words for who sent it.

    Attributes:
        kind: The same for all mistakes of one kind.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def check_trajectory(
    trajectory: JointTrajectory, body: Body, time_ns: int, tolerances: Tolerances = ANYWHERE
) -> None:
    """Check that a body can follow a trajectory. May be called from any thread.

    Args:
        trajectory: What was sent.
        body: The model.
        time_ns: Simulated time now, in [ns].
        tolerances: What was sent with it.

    Raises:
        BadTrajectoryError: It cannot; joints, numbers, lengths or times are wrong.
    """
    names = trajectory.names
    if trajectory.points and not names:
        raise BadTrajectoryError("no joints", "the trajectory names no joints")
    _check_joints(names, body)
    _check_tolerances(names, tolerances)
    before_ns = -1
    for k, point in enumerate(trajectory.points):
        _check_time(k, point.time_from_start_ns, before_ns)
        before_ns = point.time_from_start_ns
        _check_values(k, point, names)
    start_ns = trajectory.start_ns or time_ns
    if not -LATEST_NS <= start_ns <= LATEST_NS:
        raise BadTrajectoryError("start", f"the trajectory starts at {_seconds(start_ns)}: never")
    if trajectory.points and start_ns + before_ns < time_ns:
        end = _seconds(start_ns + before_ns)
        message = f"the trajectory ended in the past, at {end}; it is {_seconds(time_ns)} now"
        raise BadTrajectoryError("past", message)


def _check_joints(names: Sequence[str], body: Body) -> None:
    types = {x.joint.name: x.joint.type for x in body.jointed_links}
    for name in names:
        if name not in types:
            hint = did_you_mean(name, types) or f" It has {', '.join(types) or 'none'}."
            raise BadTrajectoryError("unknown", f"the robot has no moving joint '{name}'.{hint}")
        if types[name] is JointType.TRACK:
            message = f"joint '{name}' is a track, which has no position to go to"
            raise BadTrajectoryError("track", message)
    for name, count in Counter(names).items():
        if count > 1:
            raise BadTrajectoryError("twice", f"the trajectory names joint '{name}' twice")


def _check_tolerances(names: Sequence[str], tolerances: Tolerances) -> None:
    for kind, by_joint in (("path", tolerances.path), ("goal", tolerances.goal)):
        for name, tolerance in by_joint.items():
            if name not in names:
                message = (
                    f"a {kind} tolerance is for joint '{name}', which is not in the trajectory"
                )
                raise BadTrajectoryError("tolerance", message)
            if any(isnan(x) or x < 0.0 for x in (tolerance.position, tolerance.velocity)):
                message = f"the {kind} tolerance of joint '{name}' makes no sense"
                raise BadTrajectoryError("tolerance", message)
    if tolerances.goal_time_ns is not None and not 0 <= tolerances.goal_time_ns <= LATEST_NS:
        raise BadTrajectoryError("tolerance", "the goal time tolerance makes no sense")


def _check_time(k: int, time_ns: int, before_ns: int) -> None:
    if not 0 <= time_ns <= LATEST_NS:
        message = f"point {k} of the trajectory is at {_seconds(time_ns)} from its start"
        raise BadTrajectoryError("time", message)
    if time_ns <= before_ns:
        message = (
            f"point {k} of the trajectory, at {_seconds(time_ns)}, is not after "
            f"point {k - 1}, at {_seconds(before_ns)}"
        )
        raise BadTrajectoryError("order", message)


def _check_values(k: int, point: TrajectoryPoint, names: Sequence[str]) -> None:
    for kind in ("positions", "velocities", "accelerations", "effort"):
        values = getattr(point, kind)
        if len(values) == 0 and kind != "positions":
            continue
        if len(values) != len(names):
            message = f"point {k} of the trajectory has {len(values)} {kind}, not {len(names)}"
            raise BadTrajectoryError("length", message)
        sane = np.abs(np.asarray(values, dtype=np.float64)) < LARGEST_DRIVE
        if not sane.all():
            i = int(np.argmin(sane))
            message = f"point {k} of the trajectory has {kind} of {values[i]} for '{names[i]}'"
            raise BadTrajectoryError("number", message)


def _seconds(time_ns: int) -> str:
    return f"{time_ns / NS_PER_S:.3f} s"
