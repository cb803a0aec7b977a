"""Convert active trajectories to arrays of a snapshot, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

import numpy as np

from ..engine.engine import AnyArray, PhysicsError
from ..engine.snapshot import check_arrays
from ..engine.state import MAX_DRIVE_VALUE
from .active_trajectory import ActiveTrajectory
from .spline import VELOCITY, Spline
from .trajectory import LATEST_NS, JointTrajectory, Tolerance, Tolerances, TrajectoryPoint
from .trajectory_run import TrajectoryRun, TrajectoryStatus

# Represents no tolerance.
_NONE = -1.0
_SCALARS = ("begun", "over", "start_ns", "first", "goal_time_ns")


def trajectory_to_arrays(trajectory: ActiveTrajectory) -> dict[str, AnyArray]:
    """Return copies of all arrays that a trajectory needs to continue bit-exactly, by name."""
    goal_time_ns = trajectory.run.tolerances.goal_time_ns
    tolerances = np.concatenate([trajectory.path, trajectory.goal])
    spline = trajectory.spline
    return {
        "begun": np.array(trajectory.begun, dtype=np.int64),
        "over": np.array(trajectory.run.is_over, dtype=np.int64),
        "start_ns": np.array(trajectory.start_ns, dtype=np.int64),
        "first": np.array(trajectory.first, dtype=np.int64),
        "goal_time_ns": np.array(-1 if goal_time_ns is None else goal_time_ns, dtype=np.int64),
        "joints": trajectory.joints.astype(np.int64),
        "active": trajectory.active.astype(np.int64),
        "behind": trajectory.offset.copy(),
        "desired": trajectory.desired.copy(),
        "tolerances": np.where(np.isinf(tolerances), _NONE, tolerances),
        "times_ns": spline.times_ns.copy(),
        "points": spline.points.copy(),
        "given": spline.given.astype(np.int64),
    }


def trajectory_from_arrays(
    arrays: Mapping[str, AnyArray], names: Sequence[str]
) -> ActiveTrajectory:
    """Return a trajectory from saved arrays.

    Args:
        arrays: From ``trajectory_to_arrays``.
        names: Names of the joints of the body, in the order of q.

    Raises:
        PhysicsError: A value is invalid, or does not match these joints.
    """
    k, n = np.size(arrays.get("times_ns", ())), np.size(arrays.get("joints", ()))
    scalars = {key: np.zeros((), dtype=np.int64) for key in _SCALARS}
    expected: dict[str, AnyArray] = {
        **scalars,
        "joints": np.zeros(n, dtype=np.int64),
        "active": np.zeros(n, dtype=np.int64),
        "behind": np.zeros(n),
        "desired": np.zeros((4, n)),
        "tolerances": np.zeros((4, n)),
        "times_ns": np.zeros(k, dtype=np.int64),
        "points": np.zeros((k, 4, n)),
        "given": np.zeros((k, 3), dtype=np.int64),
    }
    check_arrays(arrays, expected)
    if not _is_valid(arrays, len(names)):
        raise PhysicsError("a trajectory of the snapshot is invalid")
    joints = arrays["joints"].astype(np.intp)
    spline = Spline(
        arrays["times_ns"].copy(), arrays["points"].copy(), arrays["given"].astype(np.bool_)
    )
    run = _run(arrays, [names[i] for i in joints.tolist()], spline)
    trajectory = ActiveTrajectory(
        run, spline, joints, int(arrays["start_ns"]), int(arrays["first"])
    )
    trajectory.begun = bool(arrays["begun"])
    trajectory.set_active(arrays["active"].astype(np.bool_))
    trajectory.offset = arrays["behind"].copy()
    trajectory.desired = arrays["desired"].copy()
    return trajectory


def _is_valid(arrays: Mapping[str, AnyArray], count: int) -> bool:
    joints, times = arrays["joints"], arrays["times_ns"]
    # A shift by whole turns may exceed the largest number by a little.
    largest = 2.0 * MAX_DRIVE_VALUE
    latest = 2 * LATEST_NS
    numbers = (arrays["points"], arrays["behind"], arrays["desired"][:VELOCITY])
    return bool(
        len(joints) > 0
        and len(times) > 0
        and len(set(joints.tolist())) == len(joints)
        and np.all((joints >= 0) & (joints < count))
        and np.all((-latest <= times) & (times <= latest))
        and np.all(np.diff(times) > 0)
        and abs(int(arrays["start_ns"])) <= LATEST_NS
        and abs(int(arrays["first"])) <= LATEST_NS
        and int(arrays["goal_time_ns"]) <= LATEST_NS
        and all(np.all(np.abs(x) <= largest) for x in numbers)
        and arrays["active"].any()
    )


def _run(arrays: Mapping[str, AnyArray], names: Sequence[str], spline: Spline) -> TrajectoryRun:
    """Return a run that ends like the saved one."""
    start_ns, goal_time_ns = int(arrays["start_ns"]), int(arrays["goal_time_ns"])
    points = [
        TrajectoryPoint(time_ns - start_ns, position, velocity, acceleration, effort)
        for time_ns, (position, velocity, acceleration, effort) in zip(
            spline.times_ns.tolist(), spline.points.tolist(), strict=True
        )
    ]
    limits = np.where(arrays["tolerances"] < 0.0, inf, arrays["tolerances"]).T.tolist()
    by_joint = list(zip(names, limits, strict=True))
    tolerances = Tolerances(
        path={name: Tolerance(position, velocity) for name, (position, velocity, *_) in by_joint},
        goal={name: Tolerance(position, velocity) for name, (*_, position, velocity) in by_joint},
        goal_time_ns=goal_time_ns if goal_time_ns >= 0 else None,
    )
    run = TrajectoryRun(JointTrajectory(names, points, start_ns), tolerances)
    if arrays["over"]:
        run.end(TrajectoryStatus.PREEMPTED, "another command took over one of its joints")
    elif arrays["begun"]:
        run.status = TrajectoryStatus.RUNNING
    return run
