"""The entities of a running world: spawned, deleted, moved and described for whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hrp_model import Diagnostics, Pose
from hrp_msgs.names import NameCollisionError

from ..physics.engine import Placement
from ..physics.state import SimulatedBody
from ..running.runner import Runner
from ..simulation import Simulation
from ..world.naming import NamespaceError
from .asking import request_errors
from .entities import (
    Bounds,
    EntityFilters,
    EntityInfo,
    EntityState,
    default_info,
    entity_bounds,
    entity_state,
    known,
    select,
)
from .frames import FrameMotion, checked_twist, frame_motion, pose_from
from .results import Category, Code, MoveCode, RequestError, SpawnCode
from .spawning import Checked, SpawnRequest, check, entry_for

# Checks that bodies of these names, which are in a simulation but not shown yet, can be told from
# all others; raises NameCollisionError.
CheckNames = Callable[[Simulation, Collection[str]], None]


@dataclass(frozen=True, kw_only=True)
class MoveRequest:
    """Where an entity is to be, and how fast; None leaves it as it is.

    Attributes:
        frame: In which it is told; empty for the world.
        position: Of the root link, in [m].
        quaternion: Its orientation (x, y, z, w); given together with the position.
        linear: Velocity of the root's origin, in [m/s].
        angular: Angular velocity, in [rad/s]; given together with the linear one.
        accelerates: Whether it is asked to accelerate, which only forces can make it do.
    """

    frame: str = ""
    position: Sequence[float] | None = None
    quaternion: Sequence[float] = (0.0, 0.0, 0.0, 1.0)
    linear: Sequence[float] | None = None
    angular: Sequence[float] = (0.0, 0.0, 0.0)
    accelerates: bool = False


class EntityManager:
    """Does what is asked of entities, between two steps. For any thread.

    Args:
        runner: The run.
        changed: Called in the asking thread after entities came, went or jumped.
        check_world: Raises RequestError unless there is a world to work on.
        world_frame: What the frame of the world is called.
        check_names: See ``Simulator``.
        diagnostics: Where notes and warnings about models go; by default they are logged.
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
        self.begin()

    def begin(self) -> None:
        """Take the entities of the present world for those that it was made with."""
        self._first: Mapping[str, SimulatedBody] = dict(self._simulation.bodies)
        # Told by somebody, each with the entity that it was told of.
        self._told: dict[str, tuple[SimulatedBody, EntityInfo]] = {}

    @property
    def _simulation(self) -> Simulation:
        return self._runner.simulation

    def spawned(self) -> list[str]:
        """Return the names of those that the world was not made with. For the stepping thread."""
        bodies = self._simulation.bodies
        return [name for name, body in bodies.items() if self._first.get(name) is not body]

    def is_incomplete(self) -> bool:
        """Tell whether any that the world was made with is gone. For the stepping thread."""
        bodies = self._simulation.bodies
        return any(bodies.get(name) is not body for name, body in self._first.items())

    def spawn(self, request: SpawnRequest) -> str:
        """Put something into the world; return its name.

        Raises:
            RequestError: It cannot be; nothing has changed.
        """
        (result,) = self.spawn_all([request])
        if isinstance(result, RequestError):
            raise result
        return result

    def spawn_all(self, requests: Sequence[SpawnRequest]) -> list[str | RequestError]:
        """Spawn what can be, in order; return the name of each or why it is not there."""
        results = [self._spawn(request) for request in requests]
        if any(isinstance(result, str) for result in results):
            self._changed()
        return results

    def _spawn(self, request: SpawnRequest) -> str | RequestError:
        try:
            self._check_world()
            # A file may take seconds: it is read while the world goes on.
            checked = check(request, Diagnostics(listener=self._diagnostics.add))
            with request_errors():
                return self._runner.change(lambda: self._place(checked))
        except RequestError as error:
            return error

    def _place(self, checked: Checked) -> str:
        self._check_world()
        simulation = self._simulation
        entry = entry_for(checked, simulation, self._world_frame)
        name = simulation.spawn(entry).name
        code = SpawnCode.RESOURCE_PARSE_ERROR
        try:
            self._check_names(simulation, [name])
        except NamespaceError as error:
            is_named = entry.namespace is None
            code = SpawnCode.NAME_INVALID if is_named else SpawnCode.NAMESPACE_INVALID
            words = str(error)
        except NameCollisionError as error:
            words = str(error)
        else:
            return name
        simulation.remove(name)
        raise RequestError(code, words)

    def delete(self, name: str) -> None:
        """Take an entity out of the world.

        Raises:
            RequestError: There is none of this name, or the physics has failed.
        """
        self._check_world()

        def act() -> None:
            known(self._simulation, name)
            self._simulation.remove(name)

        with request_errors():
            self._runner.change(act)
        self._told.pop(name, None)
        self._changed()

    def names(self, filters: EntityFilters | None = None) -> list[str]:
        """Return the names of the entities that pass.

        Raises:
            RequestError: The filter makes no sense.
        """
        wanted = filters or EntityFilters()
        with request_errors():
            return self._runner.call(lambda: select(self._simulation, wanted, self._infos()))

    def states(self, filters: EntityFilters) -> dict[str, EntityState]:
        """Return how the entities that pass move, all at one time.

        Raises:
            RequestError: The filter makes no sense.
        """

        def act() -> dict[str, EntityState]:
            found = select(self._simulation, filters, self._infos())
            return {k: entity_state(self._simulation, k, self._world_frame) for k in found}

        with request_errors():
            return self._runner.call(act)

    def state(self, name: str) -> EntityState:
        """Return how an entity moves.

        Raises:
            RequestError: There is none of this name.
        """
        with request_errors():
            return self._runner.call(
                lambda: entity_state(self._simulation, name, self._world_frame)
            )

    def bounds(self, name: str) -> Bounds:
        """Return the box around an entity along the axes of its root.

        Raises:
            RequestError: There is none of this name.
        """
        with request_errors():
            return self._runner.call(lambda: entity_bounds(self._simulation, name))

    def info(self, name: str) -> EntityInfo:
        """Return what an entity is.

        Raises:
            RequestError: There is none of this name.
        """

        def act() -> EntityInfo:
            known(self._simulation, name)
            return self._info(name)

        with request_errors():
            return self._runner.call(act)

    def set_info(self, name: str, info: EntityInfo) -> None:
        """Say what an entity is, until it goes.

        Raises:
            RequestError: There is none of this name, or no such category.
        """
        if info.category not in list(Category):
            kinds = ", ".join(f"{c.value} {c.name}" for c in Category)
            words = f"there is no category {info.category}; there is {kinds}"
            raise RequestError(Code.OPERATION_FAILED, words)

        def act() -> None:
            self._told[name] = known(self._simulation, name), info

        with request_errors():
            self._runner.call(act)

    def move(self, name: str, request: MoveRequest) -> None:
        """Put an entity elsewhere, or give it a velocity, as if it had jumped.

        Its joints stay as they are, and so does how fast they turn and what they aim at.

        Raises:
            RequestError: There is none of this name, a number makes no sense, or it is fixed
                and is asked to move by itself.
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
            moved = known(simulation, name)
            is_fixed = simulation.is_fixed(name)
            if is_fixed and (request.accelerates or (twist is not None and np.any(twist))):
                words = f"entity '{name}' is fixed to the world: its velocity stays zero"
                raise RequestError(Code.OPERATION_FAILED, words)
            code = MoveCode.INVALID_POSE
            frame = frame_motion(simulation, request.frame, self._world_frame, code)
            there = _placement(moved, is_fixed, frame, pose, twist)
            simulation.move(there, keep_targets=True)

        with request_errors():
            self._runner.change(act)
        self._changed()

    def _info(self, name: str) -> EntityInfo:
        body, info = self._told.get(name, (None, EntityInfo()))
        if body is self._simulation.bodies[name]:
            return info
        return default_info(self._simulation, name)

    def _infos(self) -> dict[str, EntityInfo]:
        return {name: self._info(name) for name in self._simulation.bodies}


def _placement(
    moved: SimulatedBody,
    is_fixed: bool,
    frame: FrameMotion,
    pose: Pose | None,
    twist: tuple[np.ndarray, np.ndarray] | None,
) -> Placement:
    """Return where a body shall be: as it is now, but for what is told in a frame."""
    motion = moved.motion
    X_WL = Pose(motion.R[0], motion.p[0]) if pose is None else frame.X_WF @ pose
    v, w = motion.v[0].copy(), motion.w[0].copy()
    if twist is not None and not is_fixed:
        v = frame.v + np.cross(frame.w, X_WL.p - frame.X_WF.p) + frame.X_WF.R @ twist[0]
        w = frame.w + frame.X_WF.R @ twist[1]
    return Placement(
        name=moved.name,
        body=moved.body,
        X_WL=X_WL,
        q=motion.q.copy(),
        dq=motion.dq.copy(),
        v=v,
        w=w,
        fixed=is_fixed,
    )
