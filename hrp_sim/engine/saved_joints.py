"""Checks of joints between bodies, and their arrays in snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hrp_model import Pose
from hrp_model.body import ExtraJointType
from hrp_model.rigid import is_rotation, unit_vector

from .engine import AnyArray, PhysicsError
from .snapshot import check_arrays
from .state import BodyJoint, SimulatedBody

# Bound on positions of joints in their links, in [m].
MAX_OFFSET = 1e6
MAX_JOINTS = 100_000  # of a snapshot
_TYPES = list(ExtraJointType)
_PREFIX = "body_joints"


def check_joint(joint: BodyJoint, bodies: Mapping[str, SimulatedBody]) -> None:
    """Check all numbers and names.

    Raises:
        PhysicsError: A body or link does not exist, both bodies are the same, a number is not
            finite or too large, a frame is not a rotation, or the axis is zero.
    """
    where = f"joint '{joint.name}'"
    if joint.bodies[0] == joint.bodies[1]:
        raise PhysicsError(
            f"{where} is between two links of body '{joint.bodies[0]}'; it must connect two "
            "bodies (joints within a body belong to its model)"
        )
    for body, link in zip(joint.bodies, joint.links, strict=True):
        if body not in bodies:
            raise PhysicsError(f"{where}: the world has no body '{body}'")
        if not 0 <= link < len(bodies[body].body.links):
            raise PhysicsError(f"{where}: body '{body}' has no link {link}")
    for X in (joint.X_AJ, joint.X_BJ):
        if not (np.all(np.abs(X.p) < MAX_OFFSET) and np.all(np.isfinite(X.R))):
            raise PhysicsError(f"{where}: its positions must be finite and below {MAX_OFFSET:g} m")
        if not is_rotation(X.R):
            raise PhysicsError(f"{where}: a rotation of its frame is not a rotation")
    if not np.all(np.isfinite(joint.axis)) or unit_vector(joint.axis) is None:
        raise PhysicsError(f"{where}: its axis must be finite and not zero")


def save_joints(joints: Sequence[BodyJoint]) -> dict[str, AnyArray]:
    """Return joints as arrays, for ``restored_joints``."""
    n = len(joints)
    frames = [[np.vstack([X.R, X.p]) for X in (j.X_AJ, j.X_BJ)] for j in joints]
    arrays: dict[str, AnyArray] = {
        "name": np.array([j.name for j in joints], dtype=np.str_),
        "type": np.array([_TYPES.index(j.type) for j in joints], dtype=np.int64),
        "bodies": np.array([j.bodies for j in joints], dtype=np.str_).reshape(n, 2),
        "links": np.array([j.links for j in joints], dtype=np.int64).reshape(n, 2),
        "frames": np.array(frames, dtype=np.float64).reshape(n, 2, 4, 3),
        "axis": np.array([j.axis for j in joints], dtype=np.float64).reshape(n, 3),
    }
    return {f"{_PREFIX}_{name}": array for name, array in arrays.items()}


def restored_joints(
    arrays: Mapping[str, AnyArray], bodies: Mapping[str, SimulatedBody]
) -> list[BodyJoint]:
    """Return the joints that were saved.

    Args:
        arrays: Of an engine.
        bodies: Of the world, by name.

    Raises:
        PhysicsError: An array is missing or has an invalid value.
    """
    own = {name: array for name, array in arrays.items() if name.startswith(f"{_PREFIX}_")}
    n = int(np.size(own.get(f"{_PREFIX}_type", ())))
    if n > MAX_JOINTS:
        raise PhysicsError(f"the snapshot has {n} joints between bodies, more than {MAX_JOINTS}")
    nothing = BodyJoint(
        name="", type=ExtraJointType.FIXED, bodies=("", ""), links=(0, 0)
    )  # of the shapes and types of any
    check_arrays(own, save_joints([nothing] * n))
    parts = [own[f"{_PREFIX}_{name}"].tolist() for name in ("name", "type", "bodies", "links")]
    numbers = zip(own[f"{_PREFIX}_frames"], own[f"{_PREFIX}_axis"], strict=True)
    joints = []
    for name, kind, (body_a, body_b), (a, b), (frames, axis) in zip(*parts, numbers, strict=True):
        if not 0 <= kind < len(_TYPES):
            raise PhysicsError(f"joint '{name}' of the snapshot has the unknown type {kind}")
        joint = BodyJoint(
            name=name,
            type=_TYPES[kind],
            bodies=(body_a, body_b),
            links=(a, b),
            X_AJ=Pose(frames[0, :3].copy(), frames[0, 3].copy()),
            X_BJ=Pose(frames[1, :3].copy(), frames[1, 3].copy()),
            axis=axis.copy(),
        )
        check_joint(joint, bodies)
        joints.append(joint)
    if len({joint.name for joint in joints}) < n:
        raise PhysicsError("the snapshot has two joints between bodies of the same name")
    return joints
