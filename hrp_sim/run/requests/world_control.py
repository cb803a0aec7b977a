"""The operations of the standard simulation services on a run: one method each."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol, TypeVar

import numpy as np

from hrp_model import Body, Diagnostics, ModelError, Pose
from hrp_model.diagnostics import did_you_mean_or_all
from hrp_model.late_dataclass import dataclass
from hrp_msgs.names import NameCollisionError, namespace_error

from ...control.controllers import ControllerEntry
from ...engine.engine import Placement
from ...engine.schedule import NS_PER_S
from ...engine.state import SimulatedBody
from ...simulation import Simulation
from ...world.config import BodyEntry, NamedPose, WorldConfig
from ...world.motion.player import PLAYER
from ...world.naming import NamespaceError
from ...world.projects import AS_IN_PROJECT, ProjectOptions
from ...world.samples import is_sample
from ..calls import Stepping
from ..run import Change, Consumer, Run
from . import entities
from .entities import FrameMotion, MoveRequest, SpawnRequest
from .resources import Resource, read_model, read_world
from .standard import (
    Bounds,
    BoundsType,
    Category,
    Code,
    EntityFilters,
    EntityInfo,
    RequestError,
    Scope,
    State,
    TagsFilter,
    request_errors,
)

_log = logging.getLogger("hrp_sim")
_T = TypeVar("_T")

# Remedies in states without a world to operate on.
_WITHOUT_WORLD = {
    State.NO_WORLD: "load a world first",
    State.LOADING_WORLD: "wait until it is loaded",
    State.QUITTING: "start it again",
}
# Delay between the response to a request to quit and the end of the process. [s]
QUIT_DELAY = 0.3


class Host(Protocol):
    """Makes the simulations of a run and publishes them, as the node does."""

    def make_simulation(self, world: WorldConfig) -> Simulation:
        """Return a simulation of a world; raises PhysicsError or ModelError."""

    def check_names(self, simulation: Simulation, names: Collection[str]) -> None:
        """Raise NameCollisionError if topics of these bodies would collide with others.

        Called in the stepping thread, or before it steps this simulation.
        """

    def sync(self) -> None:
        """Follow changes: bodies were added, removed or moved, or the simulation was replaced.

        Called in the requesting thread.
        """


@dataclass(frozen=True, kw_only=True)
class ControlOptions:
    """Options of ``WorldControl``.

    Attributes:
        world_frame: Name of the world frame.
        keeps_time: Whether ``restart`` does not reset the time, and other resets of time are
            warned of, because controllers sleep by the clock.
        run_controllers: Whether loaded worlds may run the code of their controllers.
        project: How loaded projects are read.
    """

    world_frame: str = "world"
    keeps_time: bool = False
    run_controllers: bool = False
    project: ProjectOptions = AS_IN_PROJECT


class WorldControl(Consumer):
    """Controls a run and its world; callable from any thread except the stepping thread.

    Every method may raise ``RequestError``, with the reason, when nothing has changed.

    Args:
        run: The run, before it begins; if it is paused, it is STOPPED.
        host: Owner of the simulations.
        world: Configuration of the present simulation.
        source: Path or URI of that configuration.
        options: See there.
        diagnostics: Receives notes and warnings about models; by default they are logged.

    Attributes:
        options: As given.
    """

    def __init__(
        self,
        run: Run,
        host: Host,
        world: WorldConfig,
        source: str,
        options: ControlOptions,
        diagnostics: Diagnostics | None = None,
    ) -> None:
        self.options = options
        self._run = run
        self._host = host
        self._config = world
        self._source: Resource | None = Resource(source)
        self._diagnostics = Diagnostics() if diagnostics is None else diagnostics
        self._stepping: Stepping | None = None
        self._was_stopped = run.paused
        self._loading = threading.Lock()
        self._quitting = False
        self._track_initial()
        run.add(self)

    # States, resets and steps of the run.

    @property
    def state(self) -> State:
        """State of the simulation; PLAYING while it takes requested steps."""
        if self._quitting or self._run.stopped:
            return State.QUITTING
        if self._loading.locked():
            return State.LOADING_WORLD
        if self._source is None:
            return State.NO_WORLD
        if self._is_stepping or not (self._run.paused or self._run.error is not None):
            return State.PLAYING
        is_at_start = self._run.simulation.state.time_ns == 0
        return State.STOPPED if self._was_stopped and is_at_start else State.PAUSED

    def set_state(self, target: int) -> None:
        """Stop, play, pause or quit; refused if the simulation is in this state already."""
        present = self.state
        if target not in list(State):
            kinds = ", ".join(f"{s.value} {s.name}" for s in State)
            message = f"unknown state {target}; the states are {kinds}"
            raise RequestError(Code.INCORRECT_TRANSITION, message)
        wanted = State(target)
        if wanted is present:
            message = f"the simulation is already {wanted.name}"
            raise RequestError(Code.ALREADY_IN_TARGET_STATE, message)
        if wanted in (State.NO_WORLD, State.LOADING_WORLD):
            message = f"{wanted.name} is entered only by loading or unloading a world"
            raise RequestError(Code.INCORRECT_TRANSITION, message)
        if wanted is not State.QUITTING:
            self._check_world(Code.INCORRECT_TRANSITION)
        with request_errors(Code.STATE_TRANSITION_ERROR):
            {
                State.STOPPED: self._stop,
                State.PLAYING: self._play,
                State.PAUSED: self._pause,
                State.QUITTING: self._quit,
            }[wanted]()

    def pause(self) -> None:
        """Pause, in any state with a world; requested steps are cancelled."""
        self._check_world()
        with request_errors():
            self._halt()

    def resume(self) -> None:
        """Resume, in any state with a world."""
        self._check_world()
        with request_errors():
            self._play()

    def restart(self) -> None:
        """Reset the state and, unless ``options.keeps_time``, the time.

        Clears a failure of the physics, but not a pause.
        """
        self._check_world()
        with request_errors():
            if self.options.keeps_time:
                self._run.change(lambda: self._reset(Scope.STATE), Change.RESET)
            else:
                self._run.reset()

    def reset(self, scope: int = Scope.DEFAULT) -> str:
        """Reset time, state or both, or remove spawned entities.

        ``Scope.ALL`` restores the simulation as it was launched, including deleted entities.

        Returns:
            A warning, or "".
        """
        self._check_world()
        scope = scope or Scope.ALL
        if scope != Scope.ALL and scope & ~(Scope.TIME | Scope.STATE | Scope.SPAWNED):
            message = (
                f"invalid scope {scope}; use a sum of TIME 1, STATE 2 and SPAWNED 4, or ALL 255"
            )
            raise RequestError(Code.FEATURE_UNSUPPORTED, message)
        with request_errors():
            if scope == Scope.ALL and self._run.call(self._is_incomplete):
                warning = self._swap(self._make(self._config))
            else:
                change = Change.WORLD if scope == Scope.SPAWNED else Change.RESET
                before_ns = self._run.change(lambda: self._reset(scope), change)
                warning = self._warn_time_reset(before_ns) if scope & Scope.TIME else ""
                self._host.sync()
        if scope == Scope.ALL and self._run.paused:
            self._was_stopped = True
        return warning

    def step(
        self,
        steps: int,
        on_each: Callable[[int], None] | None = None,
        on_end: Callable[[RequestError | None], None] = lambda _: None,
    ) -> Stepping | None:
        """Begin to take steps in a paused simulation; return None for zero steps.

        Args:
            steps: Number of steps.
            on_each: Called in the stepping thread after each step with the number taken so far.
            on_end: Called at the end, with the reason if not all steps were taken; there, or at
                once for zero steps.
        """
        state = self.state
        if state is not State.PAUSED:
            message = f"the simulation is {state.name}; set it to PAUSED before stepping"
            raise RequestError(Code.OPERATION_FAILED, message)
        if steps == 0:
            on_end(None)
            return None
        with request_errors():
            self._stepping = self._run.step(
                steps, on_each, lambda stepping: on_end(_missing_steps(stepping))
            )
        return self._stepping

    # The world.

    @property
    def current_world(self) -> Resource:
        """Source of the loaded world."""
        if self._source is None:
            raise RequestError(Code.NO_WORLD_LOADED, "no world is loaded")
        return self._source

    def named_poses(self, tags: TagsFilter | None = None) -> list[NamedPose]:
        """Return the named poses of the world whose tags pass a filter."""
        self._check_world()
        wanted = TagsFilter() if tags is None else tags
        return [pose for pose in self._config.named_poses if wanted.passes(pose.tags)]

    def pose_bounds(self, name: str) -> Bounds:
        """Return the bounds of a named pose in its own frame; EMPTY if it is not bounded."""
        poses = {pose.name: pose for pose in self.named_poses()}
        if name not in poses:
            hint = did_you_mean_or_all(name, poses) if poses else " The world has none."
            raise RequestError(Code.NOT_FOUND, f"there is no named pose '{name}'.{hint}")
        bounds = poses[name].bounds
        return Bounds() if bounds is None else Bounds(BoundsType.BOX, bounds[::-1])

    def load_world(
        self, resource: Resource, *, strict: bool = False, lenient: bool = False
    ) -> None:
        """Replace the world, and stop in its initial state.

        The present world is paused while the new one is loaded, and resumes if that fails.

        Args:
            resource: A world file, a model to be placed on a floor, or the text of a world file.
            strict: Whether unsupported parts of the file are an error.
            lenient: Whether bodies with missing files are skipped.
        """
        with self._paused():
            diagnostics = Diagnostics(listener=self._diagnostics.add)
            config = read_world(
                resource, diagnostics, strict=strict, lenient=lenient, project=self.options.project
            )
            if not self.options.run_controllers:
                config = _without_foreign_controllers(config, diagnostics)
            with request_errors(Code.RESOURCE_PARSE_ERROR):
                simulation = self._make(config)
            try:
                self._host.check_names(simulation, list(simulation.bodies))
            except NameCollisionError as error:
                simulation.close()
                raise RequestError(Code.RESOURCE_PARSE_ERROR, str(error)) from None
            with request_errors():
                self._swap(simulation)
            self._config, self._source = config, resource
            self._was_stopped = True

    def unload_world(self) -> None:
        """Replace the world by an empty one."""
        _ = self.current_world  # raises if there is none
        with self._paused(), request_errors():
            self._config = WorldConfig(physics=self._config.physics)
            self._swap(self._make(self._config))
            self._source = None

    # Its entities.

    def spawn(self, request: SpawnRequest) -> str:
        """Spawn an entity; return its name."""
        (result,) = self.spawn_all([request])
        if isinstance(result, RequestError):
            raise result
        return result

    def spawn_all(self, requests: Sequence[SpawnRequest]) -> list[str | RequestError]:
        """Spawn entities in order; return the name of each, or why it was not spawned."""
        results: list[str | RequestError] = []
        for request in requests:
            try:
                results.append(self._spawn(request))
            except RequestError as error:  # noqa: PERF203 - the next one may be possible
                results.append(error)
        if any(isinstance(result, str) for result in results):
            self._host.sync()
        return results

    def delete(self, name: str) -> None:
        """Delete an entity."""
        self._check_world()

        def act() -> None:
            entities.find_entity(self._simulation, name)
            self._simulation.remove(name)

        with request_errors():
            self._run.change(act)
        self._infos.pop(name, None)
        self._host.sync()

    def names(self, filters: EntityFilters | None = None) -> list[str]:
        """Return the names of the entities that pass the filters."""
        wanted = filters or EntityFilters()
        return self._call(lambda simulation: self._select(simulation, wanted))

    def states(self, filters: EntityFilters) -> dict[str, FrameMotion]:
        """Return the states of the entities that pass the filters, all at the same time."""

        def act(simulation: Simulation) -> dict[str, FrameMotion]:
            found = self._select(simulation, filters)
            return {name: entities.entity_state(simulation, name) for name in found}

        return self._call(act)

    def entity_state(self, name: str) -> FrameMotion:
        """Return the state of an entity."""
        return self._call(lambda simulation: entities.entity_state(simulation, name))

    def bounds(self, name: str) -> Bounds:
        """Return the bounding box of an entity in its root frame."""
        return self._call(lambda simulation: entities.entity_bounds(simulation, name))

    def info(self, name: str) -> EntityInfo:
        """Return category, description and tags of an entity."""

        def act(simulation: Simulation) -> EntityInfo:
            entities.find_entity(simulation, name)
            return self._info(name)

        return self._call(act)

    def set_info(self, name: str, info: EntityInfo) -> None:
        """Set category, description and tags of an entity until it is deleted."""
        if info.category not in list(Category):
            kinds = ", ".join(f"{c.value} {c.name}" for c in Category)
            message = f"unknown category {info.category}; the categories are {kinds}"
            raise RequestError(Code.OPERATION_FAILED, message)

        def act(simulation: Simulation) -> None:
            self._infos[name] = entities.find_entity(simulation, name), info

        self._call(act)

    def move(self, name: str, request: MoveRequest) -> None:
        """Set the pose or the velocity of an entity's root; its joints are unchanged.

        A fixed entity can have no velocity or acceleration.
        """
        self._check_world()
        pose = twist = None
        if request.position is not None:
            pose = entities.checked_pose(request.position, request.quaternion)
        if request.linear is not None:
            twist = entities.checked_twist(request.linear, request.angular)

        def act() -> None:
            simulation = self._simulation
            entities.find_entity(simulation, name)
            is_fixed = simulation.is_fixed(name)
            if is_fixed and (request.accelerates or (twist is not None and np.any(twist))):
                message = f"entity '{name}' is fixed to the world and cannot have a velocity"
                raise RequestError(Code.OPERATION_FAILED, message)
            frame = self._frame(request.frame)
            present = simulation.placements.present(name)
            simulation.move(entities.moved(present, frame, pose, twist), keep_targets=True)

        with request_errors():
            self._run.change(act)
        self._host.sync()

    # Helpers.

    @property
    def _simulation(self) -> Simulation:
        return self._run.simulation

    @property
    def _is_stepping(self) -> bool:
        return self._stepping is not None and not self._stepping.wait(0.0)

    def _call(self, action: Callable[[Simulation], _T]) -> _T:
        """Execute an action between two steps; return its result."""
        with request_errors():
            return self._run.call(lambda: action(self._simulation))

    def _check_world(self, code: Code = Code.INCORRECT_STATE) -> None:
        if remedy := _WITHOUT_WORLD.get(state := self.state):
            raise RequestError(code, f"the simulation is {state.name}; {remedy}")

    def _frame(self, name: str) -> FrameMotion:
        return entities.frame_motion(self._simulation, name, self.options.world_frame)

    def _track_initial(self) -> None:
        """Record the present entities as those that the world was made with."""
        self._initial: Mapping[str, SimulatedBody] = dict(self._simulation.bodies)
        # Set by clients, each with the entity that it describes.
        self._infos: dict[str, tuple[SimulatedBody, EntityInfo]] = {}

    def _is_incomplete(self) -> bool:
        """Return whether an initial entity was deleted; called in the stepping thread."""
        bodies = self._simulation.bodies
        return any(bodies.get(name) is not body for name, body in self._initial.items())

    def _info(self, name: str) -> EntityInfo:
        body, info = self._infos.get(name, (None, EntityInfo()))
        if body is self._simulation.bodies[name]:
            return info
        return entities.default_info(self._simulation, name)

    def _select(self, simulation: Simulation, filters: EntityFilters) -> list[str]:
        infos = {name: self._info(name) for name in simulation.bodies}
        return filters.select(simulation.bodies, infos)

    def _spawn(self, request: SpawnRequest) -> str:
        self._check_world()
        entities.check_name(request.name)
        if problem := namespace_error(request.namespace):
            raise RequestError(Code.NAMESPACE_INVALID, problem)
        X_FL = entities.checked_pose(request.position, request.quaternion)
        # Loading a file may take seconds, during which the run continues.
        body = read_model(request.resource, Diagnostics(listener=self._diagnostics.add))
        with request_errors():
            return self._run.change(lambda: self._place(request, body, X_FL))

    def _place(self, request: SpawnRequest, body: Body, X_FL: Pose) -> str:
        """Add a body to the world in the stepping thread; return its name."""
        self._check_world()
        simulation = self._simulation
        name = entities.free_name(request, body.name, simulation.bodies)
        X_WL = self._frame(request.frame).X_WF @ X_FL
        placement = Placement(name=name, body=body, X_WL=X_WL, fixed=body.is_root_fixed)
        simulation.spawn(BodyEntry(placement=placement, namespace=request.namespace or None))
        code = Code.RESOURCE_PARSE_ERROR
        try:
            self._host.check_names(simulation, [name])
        except NameCollisionError as error:
            if isinstance(error, NamespaceError):
                code = Code.NAMESPACE_INVALID if request.namespace else Code.NAME_INVALID
            simulation.remove(name)
            raise RequestError(code, str(error)) from None
        return name

    def changed(self, change: Change) -> None:
        """Leave the stopped state when the run resumes or steps; called in the stepping thread."""
        if change in (Change.RESUME, Change.STEPS):
            self._was_stopped = False

    def _stop(self) -> None:
        self._pause()
        self.reset(Scope.ALL)
        self._was_stopped = True

    def _play(self) -> None:
        self._was_stopped = False
        self._run.call(self._run.resume)

    def _pause(self) -> None:
        self._was_stopped = False
        self._halt()

    def _halt(self) -> None:
        if self._is_stepping and self._stepping is not None:
            self._stepping.cancel()
            self._stepping.wait()
        self._run.call(self._run.pause)

    def _quit(self) -> None:
        self._quitting = True
        self._run.pause()
        timer = threading.Timer(QUIT_DELAY, self._run.stop)
        timer.daemon = True
        timer.start()

    def _reset(self, scope: int) -> int:
        """Reset in the stepping thread; return the time before the reset, in [ns]."""
        simulation = self._simulation
        time_ns = simulation.state.time_ns
        if scope & Scope.STATE:
            simulation.reset()  # first, since a failed world permits nothing else
            self._run.error = None
        if scope & Scope.SPAWNED:
            for name, body in list(simulation.bodies.items()):
                if self._initial.get(name) is not body:
                    simulation.remove(name)
        wanted_ns = 0 if scope & Scope.TIME else time_ns
        if simulation.state.time_ns != wanted_ns:
            simulation.retime(wanted_ns)
        return time_ns

    def _make(self, config: WorldConfig) -> Simulation:
        try:
            return self._host.make_simulation(config)
        except ModelError as error:
            raise RequestError(Code.OPERATION_FAILED, str(error)) from None

    def _swap(self, simulation: Simulation) -> str:
        """Replace the simulation of the run; return a warning, or ""."""
        try:
            before = self._run.replace(simulation)
        except BaseException:
            simulation.close()
            raise
        before_ns = before.state.time_ns
        try:
            self._track_initial()
            self._host.sync()
        finally:
            before.close()
        return self._warn_time_reset(before_ns)

    def _warn_time_reset(self, before_ns: int) -> str:
        """Log that a reset of time blocks controllers that sleep by the clock.

        Args:
            before_ns: Time before the reset, in [ns].

        Returns:
            The warning; "" if there are no such controllers, or the time was zero already.
        """
        if before_ns == 0 or not self.options.keeps_time:
            return ""
        warning = (
            f"time was reset from {before_ns / NS_PER_S:.9g} s to 0 s: ros2_control controllers "
            "wait until the clock reaches its previous time; restart their controller manager, "
            "and next time reset with scope 2 (STATE), which keeps the time"
        )
        _log.warning(warning)
        return warning

    @contextmanager
    def _paused(self) -> Iterator[None]:
        """Pause the run in a block; resume it if the block fails and it was playing."""
        if self._quitting or not self._loading.acquire(blocking=False):
            raise RequestError(Code.INCORRECT_STATE, f"the simulation is {self.state.name}")
        run = self._run
        was_playing = not run.paused
        try:
            run.pause()
            yield
        except BaseException:
            if was_playing:
                run.paused = False
                run.wake()
            raise
        finally:
            self._loading.release()


def _missing_steps(stepping: Stepping) -> RequestError | None:
    """Return why not all requested steps were taken, or None if they were."""
    if stepping.done >= stepping.steps:
        return None
    reason = "the simulation was reset or resumed"
    if stepping.error is not None:
        reason = f"the physics has failed: {stepping.error}"
    elif stepping.cancelled:
        reason = "they were cancelled"
    return RequestError(Code.OPERATION_FAILED, f"only {stepping} were taken: {reason}")


def _without_foreign_controllers(config: WorldConfig, diagnostics: Diagnostics) -> WorldConfig:
    """Return a world whose controllers are players of motions and samples, whose code is ours."""
    # Compared as a whole: a file may be named "hrp_sim.world.motion.player.py", too.
    own: list[ControllerEntry] = []
    foreign: list[ControllerEntry] = []
    for entry in config.controllers:
        is_own = entry.class_name == PLAYER or is_sample(entry.class_name)
        (own if is_own else foreign).append(entry)
    if foreign:
        message = "controllers of a world that is loaded by a service do not run"
        diagnostics.warn("controllers-off", message, foreign[0].at)
    return replace(config, controllers=tuple(own))
