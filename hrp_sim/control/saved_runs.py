"""Trajectories on their way as arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

import numpy as np

from ..physics.engine import AnyArray, PhysicsError
from ..physics.snapshot import check_arrays
from ..physics.state import MAX_DRIVE_VALUE
from .runs import Following, TrajectoryRun, TrajectoryStatus
from .spline import VELOCITY, Spline
from .trajectory import LATEST_NS, JointTrajectory, Tolerance, Tolerances, TrajectoryPoint

# What stands for a tolerance that there is not.
_NONE = -1.0
_SCALARS = ("begun", "over", "start_ns", "first", "goal_time_ns")


def saved_following(following: Following) -> dict[str, AnyArray]:
    """Return all that a trajectory needs to go on to the last bit, as copies, by name."""
    patience_ns = following.run.tolerances.goal_time_ns
    tolerances = np.concatenate([following.path, following.goal])
    spline = following.spline
    return {
        "begun": np.array(following.begun, dtype=np.int64),
        "over": np.array(following.run.is_over, dtype=np.int64),
        "start_ns": np.array(following.start_ns, dtype=np.int64),
        "first": np.array(following.first, dtype=np.int64),
        "goal_time_ns": np.array(-1 if patience_ns is None else patience_ns, dtype=np.int64),
        "joints": following.joints.astype(np.int64),
        "active": following.active.astype(np.int64),
        "behind": following.behind.copy(),
        "desired": following.desired.copy(),
        "tolerances": np.where(np.isinf(tolerances), _NONE, tolerances),
        "times_ns": spline.times_ns.copy(),
        "points": spline.points.copy(),
        "given": spline.given.astype(np.int64),
    }


def restored_following(arrays: Mapping[str, AnyArray], names: Sequence[str]) -> Following:
    """Return a trajectory that was saved.

    Args:
        arrays: From ``saved_following``.
        names: Of the joints of the body, in the order of q.

    Raises:
        PhysicsError: It makes no sense, or not for these joints.
    """
    k, n = np.size(arrays.get("times_ns", ())), np.size(arrays.get("joints", ()))
    whole = {key: np.zeros((), dtype=np.int64) for key in _SCALARS}
    expected: dict[str, AnyArray] = {
        **whole,
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
    if not _makes_sense(arrays, len(names)):
        raise PhysicsError("a trajectory of the snapshot makes no sense")
    joints = arrays["joints"].astype(np.intp)
    spline = Spline(
        arrays["times_ns"].copy(), arrays["points"].copy(), arrays["given"].astype(np.bool_)
    )
    run = _run(arrays, [names[i] for i in joints.tolist()], spline)
    following = Following(run, spline, joints, int(arrays["start_ns"]), int(arrays["first"]))
    following.begun = bool(arrays["begun"])
    following.keep(arrays["active"].astype(np.bool_))
    following.behind = arrays["behind"].copy()
    following.desired = arrays["desired"].copy()
    return following


def _makes_sense(arrays: Mapping[str, AnyArray], count: int) -> bool:
    joints, times = arrays["joints"], arrays["times_ns"]
    # The shifts by whole turns are exact enough, but may pass the largest number by a little.
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
    """Return a run that nobody looks after, and that ends as the saved one would have ended."""
    start_ns, patience_ns = int(arrays["start_ns"]), int(arrays["goal_time_ns"])
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
        goal_time_ns=patience_ns if patience_ns >= 0 else None,
    )
    run = TrajectoryRun(JointTrajectory(names, points, start_ns), tolerances)
    if arrays["over"]:
        run.end(TrajectoryStatus.PREEMPTED, "another command took one of its joints")
    elif arrays["begun"]:
        run.status = TrajectoryStatus.RUNNING
    return run
