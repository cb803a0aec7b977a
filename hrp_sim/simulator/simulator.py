"""Operations of the standard simulation services without ROS: states, steps, resets, worlds."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import IntEnum

from hrp_model import Diagnostics, ModelError
from hrp_model.diagnostics import did_you_mean_or_all
from hrp_msgs.names import NameCollisionError

from ..engine.engine import PhysicsError
from ..engine.schedule import NS_PER_S
from ..run.runner import Change, Runner
from ..run.stepping import Stepping
from ..simulation import Simulation
from ..world.config import NamedPose, WorldConfig
from ..world.motion.player import PLAYER
from ..world.projects import AS_IN_PROJECT, ProjectOptions
from .entities import TagsFilter
from .entity_manager import CheckNames, EntityManager
from .errors import RequestError, request_errors
from .resources import Resource, WorldResource
from .results import (
    BoundsType,
    Code,
    CurrentWorldCode,
    Feature,
    Scope,
    State,
    StateCode,
    WorldCode,
)
from .shapes import Bounds
from .worlds import read_world, world_resource

_log = logging.getLogger("hrp_sim")

# Worlds have no tags.
NO_FEATURES = (Feature.WORLD_TAGS,)
# Remedies in states without a world to operate on.
_WITHOUT_WORLD = {
    State.NO_WORLD: "load a world first",
    State.LOADING_WORLD: "wait until it is loaded",
    State.QUITTING: "start it again",
}
SPAWN_FORMATS = ("wrl", "body", "urdf")
# Delay between the response to a request to quit and the end of the process. [s]
QUIT_DELAY = 0.3


class Simulator:
    """Controls a run by the operations of the standard services.

    Callable from any thread except the stepping thread.

    Args:
        runner: The run, before it begins.
        make_simulation: Makes a simulation of a world; raises PhysicsError or ModelError.
        world: Configuration of the present simulation.
        resource: Source of that configuration.
        changed: Called in the requesting thread after bodies were added, removed or moved, or
            the simulation was replaced.
        stopped: Whether the run is paused in its initial state.
        check_names: Called with a simulation and the names of new bodies in it; raises
            NameCollisionError if their topics would collide with others. Called in the stepping
            thread, or before it steps this simulation.
        world_frame: Name of the world frame.
        diagnostics: Receives notes and warnings about models; by default they are logged.
        keeps_time: Whether ``restart`` does not reset the time, and other resets of time are
            warned of, because controllers sleep by the clock.
        run_controllers: Whether loaded worlds may run the code of their controllers.
        project: How projects are read.

    Attributes:
        entities: Operations on the bodies of the world.
        features: Supported features.
        keeps_time: As given.
    """

    def __init__(
        self,
        runner: Runner,
        make_simulation: Callable[[WorldConfig], Simulation],
        world: WorldConfig,
        *,
        resource: WorldResource,
        changed: Callable[[], None] = lambda: None,
        stopped: bool = False,
        check_names: CheckNames = lambda _simulation, _names: None,
        world_frame: str = "world",
        diagnostics: Diagnostics | None = None,
        keeps_time: bool = False,
        run_controllers: bool = False,
        project: ProjectOptions = AS_IN_PROJECT,
    ) -> None:
        self.keeps_time = keeps_time
        self._run_controllers = run_controllers
        self._project = project
        self._runner = runner
        self._make_simulation = make_simulation
        self._check_names = check_names
        self._config = world
        self._world: WorldResource | None = resource
        self._changed = changed
        self._diagnostics = Diagnostics() if diagnostics is None else diagnostics
        self._stepping: Stepping | None = None
        self._was_stopped = stopped
        self._loading = threading.Lock()
        self._quitting = False
        self.features = tuple(f for f in Feature if f not in NO_FEATURES)
        self.entities = EntityManager(
            runner, changed, self._check_world, world_frame, check_names, self._diagnostics
        )

        runner.on_change.append(self._follow_change)

    def remove_features(self, *features: Feature) -> None:
        """Declare features as unsupported, because the types of their services are missing."""
        self.features = tuple(f for f in self.features if f not in features)

    @property
    def state(self) -> State:
        """State of the simulation; PLAYING while it takes requested steps."""
        if self._quitting or self._runner.stopped:
            return State.QUITTING
        if self._loading.locked():
            return State.LOADING_WORLD
        if self._world is None:
            return State.NO_WORLD
        if self._is_stepping or not (self._runner.paused or self._runner.error is not None):
            return State.PLAYING
        is_at_start = self._runner.simulation.state.time_ns == 0
        return State.STOPPED if self._was_stopped and is_at_start else State.PAUSED

    def set_state(self, target: int) -> None:
        """Stop, play, pause or quit.

        Raises:
            RequestError: The simulation is in this state already, or cannot change to it.
        """
        present = self.state
        if target not in list(State):
            kinds = ", ".join(f"{s.value} {s.name}" for s in State)
            message = f"unknown state {target}; the states are {kinds}"
            raise RequestError(StateCode.INCORRECT_TRANSITION, message)
        wanted = State(target)
        if wanted is present:
            message = f"the simulation is already {wanted.name}"
            raise RequestError(StateCode.ALREADY_IN_TARGET_STATE, message)
        if wanted in (State.NO_WORLD, State.LOADING_WORLD):
            message = f"{wanted.name} is entered only by loading or unloading a world"
            raise RequestError(StateCode.INCORRECT_TRANSITION, message)
        if wanted is not State.QUITTING:
            self._check_world(StateCode.INCORRECT_TRANSITION)
        with request_errors(StateCode.STATE_TRANSITION_ERROR):
            {
                State.STOPPED: self._stop,
                State.PLAYING: self._play,
                State.PAUSED: self._pause,
                State.QUITTING: self._quit,
            }[wanted]()

    def pause(self) -> None:
        """Pause, in any state; requested steps are cancelled.

        Raises:
            RequestError: There is no world, or the run has ended.
        """
        self._check_world()
        with request_errors():
            self._halt()

    def resume(self) -> None:
        """Resume, in any state.

        Raises:
            RequestError: There is no world, or the run has ended.
        """
        self._check_world()
        with request_errors():
            self._play()

    def restart(self) -> None:
        """Reset the state and, unless ``keeps_time``, the time.

        Clears a failure of the physics, but not a pause.

        Raises:
            RequestError: There is no world, or the physics cannot be reset.
        """
        self._check_world()
        with request_errors():
            if self.keeps_time:
                self._runner.change(lambda: self._reset(Scope.STATE), Change.RESET)
            else:
                self._runner.reset()

    def reset(self, scope: int = Scope.DEFAULT) -> str:
        """Reset time, state or both, or remove spawned entities.

        ``Scope.ALL`` restores the simulation as it was launched, including deleted entities.

        Returns:
            A warning, or "".

        Raises:
            RequestError: The scope is invalid, or the physics cannot be reset.
        """
        self._check_world()
        scope = scope or Scope.ALL
        if scope != Scope.ALL and scope & ~(Scope.TIME | Scope.STATE | Scope.SPAWNED):
            message = (
                f"invalid scope {scope}; use a sum of TIME 1, STATE 2 and SPAWNED 4, or ALL 255"
            )
            raise RequestError(Code.FEATURE_UNSUPPORTED, message)
        with request_errors():
            if scope == Scope.ALL and self._runner.call(self.entities.is_incomplete):
                warning = self._swap(self._make(self._config))
            else:
                change = Change.WORLD if scope == Scope.SPAWNED else Change.RESET
                before_ns = self._runner.change(lambda: self._reset(scope), change)
                resets_time = bool(scope & Scope.TIME)
                warning = _warn_time_reset(before_ns) if self.keeps_time and resets_time else ""
                self._changed()
        if scope == Scope.ALL and self._runner.paused:
            self._was_stopped = True
        return warning

    def step(
        self,
        steps: int,
        on_each: Callable[[int], None] | None = None,
        on_end: Callable[[Stepping], None] = lambda _: None,
    ) -> Stepping | None:
        """Begin to take steps in a paused simulation; return None for zero steps.

        Args:
            steps: Number of steps.
            on_each: Called in the stepping thread after each step with the number taken so far.
            on_end: Called there at the end; see ``check_steps``.

        Raises:
            RequestError: The simulation is not paused, or its physics has failed.
        """
        state = self.state
        if state is not State.PAUSED:
            message = f"the simulation is {state.name}; set it to PAUSED before stepping"
            raise RequestError(Code.OPERATION_FAILED, message)
        if steps == 0:
            return None
        with request_errors():
            self._stepping = self._runner.step(steps, on_each, on_end)
        return self._stepping

    @property
    def current_world(self) -> WorldResource:
        """The loaded world.

        Raises:
            RequestError: No world is loaded.
        """
        if self._world is None:
            raise RequestError(CurrentWorldCode.NO_WORLD_LOADED, "no world is loaded")
        return self._world

    def named_poses(self, tags: TagsFilter | None = None) -> list[NamedPose]:
        """Return the named poses of the world whose tags pass a filter.

        Raises:
            RequestError: There is no world.
        """
        self._check_world()
        wanted = TagsFilter() if tags is None else tags
        return [pose for pose in self._config.named_poses if wanted.passes(pose.tags)]

    def pose_bounds(self, name: str) -> Bounds:
        """Return the bounds of a named pose in its own frame; EMPTY if it is not bounded.

        Raises:
            RequestError: The world has no pose of this name, or there is no world.
        """
        poses = {pose.name: pose for pose in self.named_poses()}
        if name not in poses:
            hint = did_you_mean_or_all(name, poses) if poses else " The world has none."
            raise RequestError(Code.NOT_FOUND, f"there is no named pose '{name}'.{hint}")
        bounds = poses[name].bounds
        return Bounds() if bounds is None else Bounds(BoundsType.BOX, bounds[::-1])

    def load_world(
        self, resource: Resource, *, strict: bool = False, lenient: bool = False
    ) -> WorldResource:
        """Replace the world, and stop in its initial state.

        The present world is paused while the new one is loaded, and resumes if that fails.

        Args:
            resource: A world file, a model to be placed on a floor, or the text of a world file.
            strict: Whether unsupported parts of the file are an error.
            lenient: Whether bodies with missing files are skipped.

        Raises:
            RequestError: The world cannot be loaded; the present one is unchanged.
        """
        with self._paused():
            diagnostics = Diagnostics(listener=self._diagnostics.add)
            config = read_world(
                resource, diagnostics, strict=strict, lenient=lenient, project=self._project
            )
            if not self._run_controllers:
                config = _without_foreign_controllers(config, diagnostics)
            try:
                simulation = self._make(config)
            except PhysicsError as error:
                raise RequestError(WorldCode.RESOURCE_PARSE_ERROR, str(error)) from None
            try:
                self._check_names(simulation, list(simulation.bodies))
            except NameCollisionError as error:
                simulation.close()
                raise RequestError(WorldCode.RESOURCE_PARSE_ERROR, str(error)) from None
            with request_errors():
                self._swap(simulation)
            self._config, self._world = config, world_resource(resource)
            self._was_stopped = True
            return self._world

    def unload_world(self) -> None:
        """Replace the world by an empty one.

        Raises:
            RequestError: No world is loaded.
        """
        if self._world is None:
            raise RequestError(CurrentWorldCode.NO_WORLD_LOADED, "no world is loaded")
        with self._paused(), request_errors():
            self._config = WorldConfig(physics=self._config.physics)
            self._swap(self._make(self._config))
            self._world = None

    def _follow_change(self, change: Change) -> None:
        """Leave the stopped state when the run resumes or steps; called in the stepping thread."""
        if change in (Change.RESUME, Change.STEPS):
            self._was_stopped = False

    @property
    def _is_stepping(self) -> bool:
        return self._stepping is not None and not self._stepping.wait(0.0)

    def _check_world(self, code: IntEnum = Code.INCORRECT_STATE) -> None:
        if remedy := _WITHOUT_WORLD.get(state := self.state):
            raise RequestError(code, f"the simulation is {state.name}; {remedy}")

    def _stop(self) -> None:
        self._pause()
        self.reset(Scope.ALL)
        self._was_stopped = True

    def _play(self) -> None:
        self._was_stopped = False
        self._runner.call(self._runner.resume)

    def _pause(self) -> None:
        self._was_stopped = False
        self._halt()

    def _halt(self) -> None:
        if self._is_stepping and self._stepping is not None:
            self._stepping.cancel()
            self._stepping.wait()
        self._runner.call(self._runner.pause)

    def _quit(self) -> None:
        self._quitting = True
        self._runner.pause()
        timer = threading.Timer(QUIT_DELAY, self._runner.stop)
        timer.daemon = True
        timer.start()

    def _reset(self, scope: int) -> int:
        """Reset in the stepping thread; return the time before the reset, in [ns]."""
        simulation = self._runner.simulation
        time_ns = simulation.state.time_ns
        if scope & Scope.STATE:
            simulation.reset()  # first, since a failed world permits nothing else
            self._runner.error = None
        if scope & Scope.SPAWNED:
            for name in self.entities.spawned():
                simulation.remove(name)
        wanted_ns = 0 if scope & Scope.TIME else time_ns
        if simulation.state.time_ns != wanted_ns:
            simulation.retime(wanted_ns)
        return time_ns

    def _make(self, config: WorldConfig) -> Simulation:
        try:
            return self._make_simulation(config)
        except ModelError as error:
            raise RequestError(Code.OPERATION_FAILED, str(error)) from None

    def _swap(self, simulation: Simulation) -> str:
        """Replace the simulation of the run; return a warning, or ""."""
        try:
            before = self._runner.replace(simulation)
        except BaseException:
            simulation.close()
            raise
        before_ns = before.state.time_ns
        try:
            self.entities.track_initial()
            self._changed()
        finally:
            before.close()
        return _warn_time_reset(before_ns) if self.keeps_time else ""

    @contextmanager
    def _paused(self) -> Iterator[None]:
        """Pause the run in a block; resume it if the block fails and it was playing."""
        if self._quitting or not self._loading.acquire(blocking=False):
            raise RequestError(Code.INCORRECT_STATE, f"the simulation is {self.state.name}")
        runner = self._runner
        was_playing = not runner.paused
        try:
            runner.pause()
            yield
        except BaseException:
            if was_playing:
                runner.paused = False
                runner.wake()
            raise
        finally:
            self._loading.release()


def check_steps(stepping: Stepping) -> None:
    """Check that all requested steps were taken.

    Raises:
        RequestError: They were not; the message states why.
    """
    if stepping.done >= stepping.steps:
        return
    reason = "the simulation was reset or resumed"
    if stepping.error is not None:
        reason = f"the physics has failed: {stepping.error}"
    elif stepping.cancelled:
        reason = "they were cancelled"
    raise RequestError(Code.OPERATION_FAILED, f"only {stepping} were taken: {reason}")


def _warn_time_reset(before_ns: int) -> str:
    """Log that a reset of time blocks controllers that sleep by the clock.

    Args:
        before_ns: Time before the reset, in [ns].

    Returns:
        The warning; "" if the time was zero already.
    """
    if before_ns == 0:
        return ""
    warning = (
        f"time was reset from {before_ns / NS_PER_S:.9g} s to 0 s: ros2_control controllers wait "
        "until the clock reaches its previous time; restart their controller manager, and next "
        "time reset with scope 2 (STATE), which keeps the time"
    )
    _log.warning(warning)
    return warning


def _without_foreign_controllers(config: WorldConfig, diagnostics: Diagnostics) -> WorldConfig:
    """Return a world whose controllers are players of motions, which run no code of the world."""
    # Compared as a whole: a file may be named "hrp_sim.world.motion.player.py", too.
    players = tuple(entry for entry in config.controllers if entry.class_name == PLAYER)
    foreign = [entry for entry in config.controllers if entry.class_name != PLAYER]
    if foreign:
        message = "controllers of a world that is loaded by a service do not run"
        diagnostics.warn("controllers-off", message, foreign[0].at)
    return replace(config, controllers=players)
