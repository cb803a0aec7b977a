"""States, frames and placements of the entities of a world, in the thread that steps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hrp_model import Pose
from hrp_model.diagnostics import counted, did_you_mean_or_all
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array, quaternion_matrix
from hrp_msgs.names import MAX_NAMESPACE_LENGTH, topic_token

from ...engine.articulation.numeric_limits import MAX_COORDINATE, MAX_SPEED
from ...engine.engine import Placement
from ...engine.state import SimulatedBody
from ...simulation import Simulation
from .resources import Resource
from .standard import Bounds, BoundsType, Category, Code, EntityInfo, RequestError, link_points

MAX_ENTITIES = 1000  # a larger world cannot be stepped in reasonable time
# Tolerated deviation of the length of a quaternion from 1.
_QUATERNION_TOLERANCE = 1e-3


@dataclass(frozen=True, kw_only=True)
class SpawnRequest:
    """Request to spawn an entity.

    Attributes:
        resource: The model.
        name: Name of the new entity; empty for the name of the model.
        allow_renaming: Whether another name may be chosen if the requested one is taken.
        namespace: Namespace of its topics; empty for one like its name.
        position: Position of its root link, in [m].
        quaternion: Orientation (x, y, z, w).
        frame: Reference frame of the pose; empty for the world.
    """

    resource: Resource
    name: str = ""
    allow_renaming: bool = False
    namespace: str = ""
    position: Sequence[float] = (0.0, 0.0, 0.0)
    quaternion: Sequence[float] = (0.0, 0.0, 0.0, 1.0)
    frame: str = ""


@dataclass(frozen=True, kw_only=True)
class MoveRequest:
    """Requested pose and velocity of an entity; None keeps the present one.

    Attributes:
        frame: Reference frame; empty for the world.
        position: Position of the root link, in [m].
        quaternion: Orientation (x, y, z, w), used together with the position.
        linear: Velocity of the root's origin, in [m/s].
        angular: Angular velocity, in [rad/s], used together with the linear one.
        accelerates: Whether an acceleration is requested, which cannot be set.
    """

    frame: str = ""
    position: Sequence[float] | None = None
    quaternion: Sequence[float] = (0.0, 0.0, 0.0, 1.0)
    linear: Sequence[float] | None = None
    angular: Sequence[float] = (0.0, 0.0, 0.0)
    accelerates: bool = False


@dataclass(frozen=True, eq=False)
class FrameMotion:
    """Pose and motion of a frame F in the world W, all expressed in W.

    Attributes:
        time_ns: Simulation time, in [ns].
        X_WF: Pose of F.
        v: Velocity of F's origin, in [m/s], shape (3,).
        w: Angular velocity, in [rad/s], shape (3,).
        a: Acceleration of F's origin over the last step, in [m/s^2], shape (3,).
        alpha: Angular acceleration over the last step, in [rad/s^2], shape (3,).
    """

    time_ns: int
    X_WF: Pose
    v: Array
    w: Array
    a: Array
    alpha: Array

    @classmethod
    def of_link(cls, simulated: SimulatedBody, link: int, time_ns: int) -> FrameMotion:
        """Return a copy of the motion of a link."""
        m = simulated.motion
        vectors = (array[link].copy() for array in (m.v, m.w, m.a, m.alpha))
        return cls(time_ns, Pose(m.R[link], m.p[link]), *vectors)


def find_entity(simulation: Simulation, name: str) -> SimulatedBody:
    """Return the body of this name.

    Raises:
        RequestError: It does not exist.
    """
    bodies = simulation.bodies
    if name not in bodies:
        hint = did_you_mean_or_all(name, bodies)
        raise RequestError(Code.NOT_FOUND, f"there is no entity '{name}'.{hint}")
    return bodies[name]


def default_info(simulation: Simulation, name: str) -> EntityInfo:
    """Return a description derived from the model."""
    body = simulation.bodies[name].body
    joints, devices = len(body.jointed_links), len(body.devices)
    if joints or devices:
        category = Category.ROBOT
    else:
        category = Category.STATIC_OBJECT if simulation.is_fixed(name) else Category.OBJECT
    has = [counted(len(body.links), "link"), counted(joints, "joint"), counted(devices, "device")]
    return EntityInfo(category, f"model '{body.name}': {', '.join(has)}")


def entity_state(simulation: Simulation, name: str) -> FrameMotion:
    """Return the motion of the root link of an entity.

    Raises:
        RequestError: The entity does not exist.
    """
    return FrameMotion.of_link(find_entity(simulation, name), 0, simulation.state.time_ns)


def entity_bounds(simulation: Simulation, name: str) -> Bounds:
    """Return the bounding box of an entity in its present posture, in its root frame.

    It contains the collision shapes, or the visual shapes if there are none.

    Raises:
        RequestError: The entity does not exist.
    """
    simulated = find_entity(simulation, name)
    R, p = simulated.motion.R[0], simulated.motion.p[0]
    clouds = [(cloud - p) @ R for _, cloud in link_points(simulated)]
    if not clouds:
        return Bounds()
    points = np.vstack(clouds)
    return Bounds(BoundsType.BOX, np.array([points.max(axis=0), points.min(axis=0)]))


def frame_motion(simulation: Simulation, frame: str, world: str) -> FrameMotion:
    """Return pose and velocity of a frame.

    Args:
        simulation: The world.
        frame: "" or the name of the world frame; ENTITY for its root link; ENTITY/LINK; or a LINK
            that only one entity has.
        world: Name of the world frame.

    Raises:
        RequestError: The frame does not exist or is ambiguous.
    """
    time_ns = simulation.state.time_ns
    if frame in ("", world):
        return FrameMotion(time_ns, Pose(), *np.zeros((4, 3)))
    found = [
        (simulated, k)
        for name, simulated in simulation.bodies.items()
        for k, link in enumerate(simulated.body.links)
        if frame == f"{name}/{link.name}" or frame == link.name or (frame == name and k == 0)
    ]
    # An entity takes precedence over a link of the same name.
    exact = [(s, k) for s, k in found if frame in (s.name, f"{s.name}/{s.body.links[k].name}")]
    found = [(s, 0) for s, _ in exact if s.name == frame][:1] or exact[:1] or found
    if len(found) != 1:
        problem = "belongs to several entities" if found else "is unknown"
        message = f"the frame '{frame}' {problem}; use '{world}', ENTITY or ENTITY/LINK"
        raise RequestError(Code.INVALID_POSE, message)
    return FrameMotion.of_link(*found[0], time_ns)


def checked_pose(position: Sequence[float], quaternion: Sequence[float]) -> Pose:
    """Return a pose from a position in [m] and a quaternion (x, y, z, w).

    Raises:
        RequestError: The pose is invalid or too far away.
    """
    p, q = np.array(position, dtype=np.float64), np.array(quaternion, dtype=np.float64)
    if not np.all(np.abs(p) < MAX_COORDINATE):
        message = f"the position {p.tolist()} is not within {MAX_COORDINATE:g} m of the origin"
        raise RequestError(Code.INVALID_POSE, message)
    length = float(np.linalg.norm(q))
    if not abs(length - 1.0) <= _QUATERNION_TOLERANCE:
        message = f"the quaternion {q.tolist()} has length {length:g} instead of 1"
        raise RequestError(Code.INVALID_POSE, message)
    return Pose(quaternion_matrix(q), p)


def checked_twist(linear: Sequence[float], angular: Sequence[float]) -> Array:
    """Return velocities in [m/s] and [rad/s] as an array, shape (2, 3).

    Raises:
        RequestError: A number is not finite or too large.
    """
    twist = np.array([linear, angular], dtype=np.float64)
    if not np.all(np.abs(twist) < MAX_SPEED):
        message = f"the twist {twist.tolist()} must be finite and below {MAX_SPEED:g} m/s and rad/s"
        raise RequestError(Code.OPERATION_FAILED, message)
    return twist


def moved(
    present: Placement, frame: FrameMotion, pose: Pose | None, twist: Array | None
) -> Placement:
    """Return the placement of a body with a pose or twist given in a frame.

    Args:
        present: Its present placement.
        frame: The frame F.
        pose: Pose of its root in F; None keeps the present one.
        twist: Linear and angular velocity in F, in [m/s] and [rad/s], shape (2, 3); likewise.
    """
    X_WL = present.X_WL if pose is None else frame.X_WF @ pose
    v, w = present.v, present.w
    if twist is not None and not present.fixed:
        v = frame.v + np.cross(frame.w, X_WL.p - frame.X_WF.p) + frame.X_WF.R @ twist[0]
        w = frame.w + frame.X_WF.R @ twist[1]
    return replace(present, X_WL=X_WL, v=v, w=w)


def check_name(name: str) -> None:
    """Check that an entity, and the topics named after it, can have this name.

    Raises:
        RequestError: The name is invalid.
    """
    longest = MAX_NAMESPACE_LENGTH - len("_1000") - 1  # a number, and "n" before a leading digit
    if len(name) > longest or not name.isprintable() or "/" in name or name != name.strip():
        shown = name if len(name) <= longest else f"{name[:longest]}..."
        message = (
            f"{shown!r} is not a valid name: use up to {longest} printable characters without '/' "
            "and without leading or trailing blanks"
        )
        raise RequestError(Code.NAME_INVALID, message)


def free_name(request: SpawnRequest, model_name: str, bodies: Mapping[str, object]) -> str:
    """Return a name for a new body that is not taken, and whose topics are not taken either.

    Raises:
        RequestError: There is none, or the world has no room for another body.
    """
    if len(bodies) >= MAX_ENTITIES:
        message = f"the world already has the maximum of {MAX_ENTITIES} entities"
        raise RequestError(Code.OPERATION_FAILED, message)
    tokens = {topic_token(name): name for name in bodies}
    name = request.name or model_name
    if not name and not request.allow_renaming:
        message = "neither the request nor the model has a name"
        raise RequestError(Code.NAME_INVALID, message)
    name = name or "entity"
    check_name(name)  # the name of a model may be invalid
    other = tokens.get(topic_token(name))
    if other is None:
        return name
    if not request.allow_renaming:
        message = f"the entity '{other}' already exists"
        if other != name:
            message += f", and '{name}' would have the same topics"
        raise RequestError(Code.NAME_NOT_UNIQUE, f"{message}; allow_renaming is false")
    number = 1
    while topic_token(f"{name}_{number}") in tokens:
        number += 1
    return f"{name}_{number}"
