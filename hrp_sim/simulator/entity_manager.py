"""Spawn, delete, move and describe the entities of a running world."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hrp_model import Diagnostics, Pose
from hrp_msgs.names import NameCollisionError

from ..engine.engine import Placement
from ..engine.state import SimulatedBody
from ..run.runner import Runner
from ..simulation import Simulation
from ..world.naming import NamespaceError
from .entities import (
    EntityFilters,
    EntityInfo,
    EntityState,
    default_info,
    entity_bounds,
    entity_state,
    find_entity,
    select,
)
from .errors import RequestError, request_errors
from .frames import FrameMotion, checked_twist, frame_motion, pose_from
from .results import Category, Code, MoveCode, SpawnCode
from .shapes import Bounds
from .spawning import CheckedRequest, SpawnRequest, check, entry_for

# Checks that the topics of new bodies, given by name, collide with no others; raises
# NameCollisionError.
CheckNames = Callable[[Simulation, Collection[str]], None]


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


class EntityManager:
    """Executes requests about entities between two steps; callable from any thread.

    Args:
        runner: The run.
        changed: Called in the requesting thread after entities were added, removed or moved.
        check_world: Raises RequestError unless there is a world to operate on.
        world_frame: Name of the world frame.
        check_names: See ``Simulator``.
        diagnostics: Receives notes and warnings about models; by default they are logged.
    """

    def __init__(
        self,
        runner: Runner,
        changed: Callable[[], None],
        check_world: Callable[[], None],
        world_frame: str,
        check_names: CheckNames,
        diagnostics: Diagnostics | None = None,
    ) -> None:
        self._runner = runner
        self._changed = changed
        self._check_world = check_world
        self._world_frame = world_frame
        self._check_names = check_names
        self._diagnostics = Diagnostics() if diagnostics is None else diagnostics
        self.track_initial()

    def track_initial(self) -> None:
        """Record the present entities as those that the world was made with."""
        self._initial: Mapping[str, SimulatedBody] = dict(self._simulation.bodies)
        # Set by clients, each with the entity that it describes.
        self._custom_infos: dict[str, tuple[SimulatedBody, EntityInfo]] = {}

    @property
    def _simulation(self) -> Simulation:
        return self._runner.simulation

    def spawned(self) -> list[str]:
        """Return the names of the entities added later; called in the stepping thread."""
        bodies = self._simulation.bodies
        return [name for name, body in bodies.items() if self._initial.get(name) is not body]

    def is_incomplete(self) -> bool:
        """Return whether an initial entity was deleted; called in the stepping thread."""
        bodies = self._simulation.bodies
        return any(bodies.get(name) is not body for name, body in self._initial.items())

    def spawn(self, request: SpawnRequest) -> str:
        """Spawn an entity; return its name.

        Raises:
            RequestError: It cannot be spawned; nothing has changed.
        """
        (result,) = self.spawn_all([request])
        if isinstance(result, RequestError):
            raise result
        return result

    def spawn_all(self, requests: Sequence[SpawnRequest]) -> list[str | RequestError]:
        """Spawn entities in order; return the name of each, or why it was not spawned."""
        results = [self._spawn(request) for request in requests]
        if any(isinstance(result, str) for result in results):
            self._changed()
        return results

    def _spawn(self, request: SpawnRequest) -> str | RequestError:
        try:
            self._check_world()
            # Loading a file may take seconds, during which the run continues.
            checked = check(request, Diagnostics(listener=self._diagnostics.add))
            with request_errors():
                return self._runner.change(lambda: self._place(checked))
        except RequestError as error:
            return error

    def _place(self, checked: CheckedRequest) -> str:
        self._check_world()
        simulation = self._simulation
        entry = entry_for(checked, simulation, self._world_frame)
        name = simulation.spawn(entry).name
        code = SpawnCode.RESOURCE_PARSE_ERROR
        try:
            self._check_names(simulation, [name])
        except NamespaceError as error:
            is_from_name = entry.namespace is None
            code = SpawnCode.NAME_INVALID if is_from_name else SpawnCode.NAMESPACE_INVALID
            message = str(error)
        except NameCollisionError as error:
            message = str(error)
        else:
            return name
        simulation.remove(name)
        raise RequestError(code, message)

    def delete(self, name: str) -> None:
        """Delete an entity.

        Raises:
            RequestError: The entity does not exist, or the physics has failed.
        """
        self._check_world()

        def act() -> None:
            find_entity(self._simulation, name)
            self._simulation.remove(name)

        with request_errors():
            self._runner.change(act)
        self._custom_infos.pop(name, None)
        self._changed()

    def names(self, filters: EntityFilters | None = None) -> list[str]:
        """Return the names of the entities that pass the filters.

        Raises:
            RequestError: A filter is invalid.
        """
        wanted = filters or EntityFilters()
        with request_errors():
            return self._runner.call(lambda: select(self._simulation, wanted, self._infos()))

    def states(self, filters: EntityFilters) -> dict[str, EntityState]:
        """Return the states of the entities that pass the filters, all at the same time.

        Raises:
            RequestError: A filter is invalid.
        """

        def act() -> dict[str, EntityState]:
            found = select(self._simulation, filters, self._infos())
            return {k: entity_state(self._simulation, k, self._world_frame) for k in found}

        with request_errors():
            return self._runner.call(act)

    def state(self, name: str) -> EntityState:
        """Return the state of an entity.

        Raises:
            RequestError: The entity does not exist.
        """
        with request_errors():
            return self._runner.call(
                lambda: entity_state(self._simulation, name, self._world_frame)
            )

    def bounds(self, name: str) -> Bounds:
        """Return the bounding box of an entity in its root frame.

        Raises:
            RequestError: The entity does not exist.
        """
        with request_errors():
            return self._runner.call(lambda: entity_bounds(self._simulation, name))

    def info(self, name: str) -> EntityInfo:
        """Return category, description and tags of an entity.

        Raises:
            RequestError: The entity does not exist.
        """

        def act() -> EntityInfo:
            find_entity(self._simulation, name)
            return self._info(name)

        with request_errors():
            return self._runner.call(act)

    def set_info(self, name: str, info: EntityInfo) -> None:
        """Set category, description and tags of an entity until it is deleted.

        Raises:
            RequestError: The entity or the category does not exist.
        """
        if info.category not in list(Category):
            kinds = ", ".join(f"{c.value} {c.name}" for c in Category)
            message = f"unknown category {info.category}; the categories are {kinds}"
            raise RequestError(Code.OPERATION_FAILED, message)

        def act() -> None:
            self._custom_infos[name] = find_entity(self._simulation, name), info

        with request_errors():
            self._runner.call(act)

    def move(self, name: str, request: MoveRequest) -> None:
        """Set the pose or the velocity of an entity's root; its joints are unchanged.

        Raises:
            RequestError: The entity does not exist, a number is invalid, or a fixed entity is
                given a velocity or acceleration.
        """
        self._check_world()
        pose = None
        if request.position is not None:
            pose = pose_from(request.position, request.quaternion, MoveCode.INVALID_POSE)
        twist = None
        if request.linear is not None:
            twist = checked_twist(request.linear, request.angular, Code.OPERATION_FAILED)

        def act() -> None:
            simulation = self._simulation
            find_entity(simulation, name)
            is_fixed = simulation.is_fixed(name)
            if is_fixed and (request.accelerates or (twist is not None and np.any(twist))):
                message = f"entity '{name}' is fixed to the world and cannot have a velocity"
                raise RequestError(Code.OPERATION_FAILED, message)
            code = MoveCode.INVALID_POSE
            frame = frame_motion(simulation, request.frame, self._world_frame, code)
            placement = _placement(simulation.placements.present(name), frame, pose, twist)
            simulation.move(placement, keep_targets=True)

        with request_errors():
            self._runner.change(act)
        self._changed()

    def _info(self, name: str) -> EntityInfo:
        body, info = self._custom_infos.get(name, (None, EntityInfo()))
        if body is self._simulation.bodies[name]:
            return info
        return default_info(self._simulation, name)

    def _infos(self) -> dict[str, EntityInfo]:
        return {name: self._info(name) for name in self._simulation.bodies}


def _placement(
    present: Placement,
    frame: FrameMotion,
    pose: Pose | None,
    twist: tuple[np.ndarray, np.ndarray] | None,
) -> Placement:
    """Return the present placement of a body with a changed pose or twist, given in a frame."""
    X_WL = present.X_WL if pose is None else frame.X_WF @ pose
    v, w = present.v, present.w
    if twist is not None and not present.fixed:
        v = frame.v + np.cross(frame.w, X_WL.p - frame.X_WF.p) + frame.X_WF.R @ twist[0]
        w = frame.w + frame.X_WF.R @ twist[1]
    return replace(present, X_WL=X_WL, v=v, w=w)
