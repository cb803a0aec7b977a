"""Saves the state of bodies and of joints between them as named arrays, and restores it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, fields
from functools import cached_property
from math import pi
from typing import Any

import numpy as np

from hrp_model import Pose
from hrp_model.body import ExtraJointType
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array, is_rotation, unit_vector

from ..articulation.articulation import STATIC, Articulation, IntArray
from ..engine import AnyArray, PhysicsError
from ..snapshot import check_arrays
from ..state import BodyJoint, SimulatedBody
from ._core import MEMORY_NUMBERS, REST_NUMBERS, World

# The other arrays of a body's motion follow from the groups.
_MOTION = ("a", "alpha", "force", "torque", "effort", "track_position")
_BOUNDS = {"group_p": 1e6, "group_v": 1e5, "group_w": 1e5, "joint_q": 1e9, "joint_turns": 1e8}
_TOLERANCE = 1e-6  # of rotations
_ACTIVE_END = 4**4  # two bits for each of at most four rows
BOUNDED_HABITS, HABIT_END = 3, 128  # the first habits of a contact are less


@dataclass(eq=False)
class SavedBody:
    """The dynamic state of a body, for g groups and m joints.

    Attributes:
        p, quaternion, R, v, w: Of the groups; the quaternion is (w, x, y, z).
        q, dq: Of the joints between groups, including fixed ones.
        turns: Whole turns by which q of a hinge differs from ODE's angle.
        active: Which rows along the axis were at a bound in the last step, two bits each
            (fixed, at the upper bound); of the other solvers 1 where the drive's effort was
            limited.
    """

    p: Array
    quaternion: Array
    R: Array
    v: Array
    w: Array
    q: Array
    dq: Array
    turns: IntArray
    active: IntArray

    @classmethod
    def zeros(cls, g: int, m: int) -> SavedBody:
        """Return arrays of the right shapes and types."""
        reals = {"p": (g, 3), "quaternion": (g, 4), "R": (g, 3, 3), "v": (g, 3), "w": (g, 3)}
        return cls(
            **{name: np.zeros(shape) for name, shape in reals.items()},
            q=np.zeros(m),
            dq=np.zeros(m),
            turns=np.zeros(m, dtype=np.int32),
            active=np.zeros(m, dtype=np.int32),
        )


_GROUP_FIELDS = ("p", "quaternion", "R", "v", "w")
_SAVED = {
    f.name: f"group_{f.name}" if f.name in _GROUP_FIELDS else f"joint_{f.name}"
    for f in fields(SavedBody)
}


@dataclass
class EngineBody:
    """A body of the engine.

    Attributes:
        number: Id in the C world; unused by the engine "pyode".
        initial: The articulation it was created from; resets go back to it.
        simulated: Its live arrays.
        X_WB: Current pose of a fixed root; else the initial pose of the root.
    """

    number: int
    initial: Articulation
    simulated: SimulatedBody
    X_WB: Pose = field(init=False)

    def __post_init__(self) -> None:
        self.X_WB = self.initial.placement.X_WL

    @property
    def has_base(self) -> bool:
        """Whether its root is fixed to the world."""
        return self.initial.placement.fixed

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all numbers of its articulation."""
        digest = hashlib.sha256()
        for part in ("links", "groups", "joints", "loops", "geoms"):
            _feed(digest, getattr(self.initial, part))
        for array in (self.initial.contacts, self.initial.q, self.initial.dq):
            digest.update(array.tobytes())
        return digest.hexdigest()

    def save(self, world: World) -> dict[str, AnyArray]:
        """Return copies of the state of the body by name."""
        saved = SavedBody.zeros(len(self.initial.groups.mass), len(self.initial.joints.kind))
        world.read_state(self.number, saved)
        arrays: dict[str, AnyArray] = {"fingerprint": np.array(self.fingerprint)}
        if self.has_base:
            arrays |= {"base_R": self.X_WB.R.copy(), "base_p": self.X_WB.p.copy()}
        arrays |= {key: getattr(saved, name) for name, key in _SAVED.items()}
        return arrays | {key: array.copy() for key, array in self._live().items()}

    def restore(self, world: World, arrays: Mapping[str, AnyArray]) -> None:
        """Restore a checked state; the base must be at its saved pose."""
        parts = {name: np.ascontiguousarray(arrays[key]) for name, key in _SAVED.items()}
        world.write_state(self.number, SavedBody(**parts))
        for key, array in self._live().items():
            array[:] = arrays[key]

    def check(self, arrays: Mapping[str, AnyArray]) -> None:
        """Check the values of arrays whose names, shapes and types have been checked.

        Raises:
            PhysicsError: A value is invalid.
        """
        name = self.simulated.name
        for key, bound in _BOUNDS.items():
            if np.any(np.abs(arrays[key]) >= bound):
                raise PhysicsError(
                    f"'{name}/{key}' of the snapshot has a number that is not below {bound:g}"
                )
        quaternions = arrays["group_quaternion"]
        lengths = np.einsum("ij,ij->i", quaternions, quaternions)
        errors = np.abs(_matrices(quaternions) - arrays["group_R"])
        if not (np.all(np.abs(lengths - 1.0) < _TOLERANCE) and np.all(errors < _TOLERANCE)):
            raise PhysicsError(
                f"'{name}/group_quaternion' of the snapshot is not of unit length, or differs "
                "from the rotation 'group_R'"
            )
        if self.has_base and not is_rotation(arrays["base_R"]):
            raise PhysicsError(f"'{name}/base_R' of the snapshot is not a rotation")
        angle = arrays["joint_q"] - 2.0 * pi * arrays["joint_turns"]
        if np.any((np.abs(angle) > pi + 1e-6) & (arrays["joint_turns"] != 0)):
            raise PhysicsError(f"'{name}/joint_turns' of the snapshot does not match 'joint_q'")
        active = arrays["joint_active"]
        if np.any((active < 0) | (active >= _ACTIVE_END)):
            raise PhysicsError(
                f"'{name}/joint_active' of the snapshot must be from 0 to {_ACTIVE_END - 1}"
            )

    def _live(self) -> dict[str, Array]:
        motion, drive, wrench = self.simulated.motion, self.simulated.drive, self.simulated.wrench
        return {
            **{f"motion_{name}": getattr(motion, name) for name in _MOTION},
            **{f"drive_{f.name}": getattr(drive, f.name) for f in fields(drive)},
            **{f"wrench_{f.name}": getattr(wrench, f.name) for f in fields(wrench)},
        }


def empty_sleep(bodies: int, contacts: int) -> dict[str, AnyArray]:
    """Return arrays of the right shapes and types, for ``save_sleep``.

    ``sleep_bodies``: for how many steps each has been at rest, the number of the first body of the
    island with which it sleeps, from 1 on, or 0, and digests of its drive and external wrench.
    ``sleep_contacts``: body and link of both sides, and what the contact leaves to the next step.
    ``sleep_values``: its point, normal, force and depth.
    """
    return {
        "sleep_bodies": np.zeros((bodies, REST_NUMBERS), np.int32),
        "sleep_contacts": np.zeros((contacts, 4 + MEMORY_NUMBERS), np.int32),
        "sleep_values": np.zeros((contacts, 10)),
    }


def save_sleep(world: World, entries: Sequence[EngineBody]) -> dict[str, AnyArray]:
    """Return which bodies sleep, and their contacts."""
    arrays = empty_sleep(len(entries), world.sleeping_contacts)
    world.read_sleep(*arrays.values())
    sides = arrays["sleep_contacts"][:, [0, 2]]
    arrays["sleep_contacts"][:, [0, 2]] = np.searchsorted([e.number for e in entries], sides)
    return arrays


def restore_sleep(
    world: World, entries: Sequence[EngineBody], arrays: Mapping[str, AnyArray]
) -> None:
    """Let the bodies sleep that did; the arrays have been checked."""
    contacts = arrays["sleep_contacts"].copy()
    contacts[:, [0, 2]] = np.array([e.number for e in entries], np.int32)[contacts[:, [0, 2]]]
    bodies, values = (np.ascontiguousarray(arrays[f"sleep_{x}"]) for x in ("bodies", "values"))
    world.write_sleep(bodies, contacts, values)


def check_sleep(
    arrays: Mapping[str, AnyArray],
    entries: Mapping[str, EngineBody],
    joints: Sequence[BodyJoint],
    steps_to_sleep: int,
) -> None:
    """Check arrays of ``save_sleep`` whose shapes and types have been checked.

    Args:
        arrays: Of an engine.
        entries: The bodies by name, in the order of the snapshot.
        joints: Between bodies.
        steps_to_sleep: The largest number of steps at rest.

    Raises:
        PhysicsError: A number is out of range, or what sleeps is connected to what does not.
    """
    steps, islands = arrays["sleep_bodies"][:, :2].T
    contacts, names = arrays["sleep_contacts"], list(entries)
    habits, sides = contacts[:, 4 : 4 + BOUNDED_HABITS], contacts[:, [0, 2]]
    bounded = {"bodies": [(steps, steps_to_sleep + 1), (islands, len(names) + 1)]}
    bounded["contacts"] = [(sides, len(names)), (habits, HABIT_END)]
    for name, ranges in bounded.items():
        if any(np.any((values < 0) | (values >= end)) for values, end in ranges):
            raise PhysicsError(f"'sleep_{name}' of the snapshot is out of range")
    asleep = islands > 0
    if np.any(islands[islands[asleep] - 1] != islands[asleep]):
        raise PhysicsError("'sleep_bodies' of the snapshot has an island without its first body")
    for name in np.array(names)[asleep].tolist():
        if any(np.any(arrays[f"{name}/{x}"]) for x in ("group_v", "group_w", "joint_dq")):
            raise PhysicsError(f"'sleep_bodies' of the snapshot: '{name}' sleeps, but moves")
    island = dict(zip(names, islands.tolist(), strict=True))

    def islands_of(ends: Iterable[tuple[str, int]]) -> set[int]:
        """Return the islands of the links that can move; 0 if they are awake."""
        groups = ((name, entries[name].initial.links.group, link) for name, link in ends)
        return {island[name] for name, group, link in groups if group[link] != STATIC}

    for a, link_a, b, link_b in contacts[:, :4].tolist():
        ends = ((names[a], link_a), (names[b], link_b))
        if any(not 0 <= link < len(entries[x].initial.links.group) for x, link in ends):
            raise PhysicsError("'sleep_contacts' of the snapshot has an unknown link")
        if len(touching := islands_of(ends)) != 1 or 0 in touching:
            raise PhysicsError(
                f"'sleep_contacts' of the snapshot: '{names[a]}' and '{names[b]}' do not sleep"
            )
    for joint in joints:
        if len(islands_of(zip(joint.bodies, joint.links, strict=True))) > 1:
            raise PhysicsError(
                f"'sleep_bodies' of the snapshot: joint '{joint.name}' is of two islands"
            )


def body_arrays(arrays: Mapping[str, AnyArray], name: str) -> dict[str, AnyArray]:
    """Return the arrays of one body, without its name in front."""
    return {
        key.rpartition("/")[2]: array
        for key, array in arrays.items()
        if key.rpartition("/")[0] == name and "/" in key
    }


def _feed(digest: Any, part: object) -> None:
    """Add the names, types, shapes and numbers of arrays to a digest."""
    for f in fields(part):  # type: ignore[arg-type]
        array = np.asarray(getattr(part, f.name))
        digest.update(f"{f.name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())


def _matrices(quaternions: Array) -> Array:
    """Return the rotations of unit quaternions (w, x, y, z), shape (n, 3, 3)."""
    w, v = quaternions[:, :1, None], quaternions[:, 1:]
    cross = np.zeros((len(v), 3, 3))
    cross[:, (2, 0, 1), (1, 2, 0)] = v
    cross -= cross.transpose(0, 2, 1)
    R: Array = 2.0 * (v[:, :, None] * v[:, None, :] + w * cross)
    R += (w * w - np.einsum("ij,ij->i", v, v)[:, None, None]) * np.eye(3)
    return R


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
