"""What the standard simulation services do, without ROS: states, steps, resets, worlds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum

from hrp_model import Diagnostics, ModelError
from hrp_msgs.names import NameCollisionError

from ..physics.engine import PhysicsError
from ..running.runner import Change, Runner
from ..running.stepping import Stepping
from ..simulation import Simulation
from ..world.config import WorldConfig
from .asking import request_errors, warn_time_reset
from .entity_manager import CheckNames, EntityManager
from .resources import Resource, WorldResource
from .results import (
    Code,
    CurrentWorldCode,
    Feature,
    RequestError,
    Scope,
    State,
    StateCode,
    WorldCode,
)
from .worlds import read_world, world_resource

# A world has no poses with names, and no tags.
NO_FEATURES = (Feature.NAMED_POSES, Feature.POSE_BOUNDS, Feature.WORLD_TAGS)
# What to do in states in which nothing can be done with a world.
_WITHOUT_WORLD = {
    State.NO_WORLD: "load a world first",
    State.LOADING_WORLD: "wait until it is loaded",
    State.QUITTING: "start it again",
}
SPAWN_FORMATS = ("wrl", "body", "urdf")
# After the answer that it will end, the process goes on for as long, so that this arrives. [s]
GRACE = 0.3


class Simulator:
    """A run that others control by the standard services. For any thread but that which steps.

    Args:
        runner: The run, before it begins.
        make_simulation: Makes a simulation of a world; raises PhysicsError or ModelError.
        world: What the present simulation was made of.
        resource: Where that came from.
        changed: Called in the asking thread after bodies came, went or jumped, or the
            simulation became another one.
        stopped: Whether the run, which is paused, is as it was launched.
        check_names: Called with a simulation and the names of bodies in it that nobody has shown
            yet, in the thread that steps or before it does; raises NameCollisionError where
            one of them could not be told from others.
        world_frame: What the frame of the world is called.
        diagnostics: Where notes and warnings about models go; by default they are logged.
        keeps_time: Whether ``restart`` leaves the time as it is, and a reset of time is warned
            of, since controllers sleep by the clock.

    Attributes:
        entities: What can be done with the bodies of the world.
        features: What it can do.
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
    ) -> None:
        self.keeps_time = keeps_time
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

        runner.on_change.append(self._hear)

    def lacks(self, *features: Feature) -> None:
        """Say that something cannot be asked for, as of a service whose type is not there."""
        self.features = tuple(f for f in self.features if f not in features)

    @property
    def state(self) -> State:
        """How the simulation is. While it takes steps that were asked for, it plays."""
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
            RequestError: It is so already, or cannot be.
        """
        present = self.state
        if target not in list(State):
            kinds = ", ".join(f"{s.value} {s.name}" for s in State)
            words = f"there is no state {target}; there is {kinds}"
            raise RequestError(StateCode.INCORRECT_TRANSITION, words)
        wanted = State(target)
        if wanted is present:
            words = f"the simulation is {wanted.name} already"
            raise RequestError(StateCode.ALREADY_IN_TARGET_STATE, words)
        if wanted in (State.NO_WORLD, State.LOADING_WORLD):
            words = f"{wanted.name} comes by loading and unloading worlds only"
            raise RequestError(StateCode.INCORRECT_TRANSITION, words)
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
        """Let time stand still, whether it does or not; steps that were asked for end.

        Raises:
            RequestError: There is no world, or nobody runs it.
        """
        self._check_world()
        with request_errors():
            self._stand_still()

    def resume(self) -> None:
        """Let time go on, whether it stands still or not.

        Raises:
            RequestError: There is no world, or nobody runs it.
        """
        self._check_world()
        with request_errors():
            self._play()

    def restart(self) -> None:
        """Put the state and, unless it ``keeps_time``, the time back to the start.

        A failure is over, a pause is not.

        Raises:
            RequestError: There is no world, or the physics cannot.
        """
        self._check_world()
        with request_errors():
            if self.keeps_time:
                self._runner.change(lambda: self._reset(Scope.STATE), Change.RESET)
            else:
                self._runner.reset()

    def reset(self, scope: int = Scope.DEFAULT) -> str:
        """Put time, state or both back to the start, or take out what was spawned.

        All of it together is a simulation as it was launched: what was deleted is there again.

        Returns:
            A warning, or nothing.

        Raises:
            RequestError: There is no such scope, or the physics cannot.
        """
        self._check_world()
        scope = scope or Scope.ALL
        if scope != Scope.ALL and scope & ~(Scope.TIME | Scope.STATE | Scope.SPAWNED):
            words = f"the scope {scope} is none: add up TIME 1, STATE 2 and SPAWNED 4, or ALL 255"
            raise RequestError(Code.FEATURE_UNSUPPORTED, words)
        with request_errors():
            if scope == Scope.ALL and self._runner.call(self.entities.is_incomplete):
                warning = self._swap(self._made(self._config))
            else:
                what = Change.WORLD if scope == Scope.SPAWNED else Change.RESET
                before_ns = self._runner.change(lambda: self._reset(scope), what)
                is_warned = self.keeps_time and scope & Scope.TIME
                warning = warn_time_reset(before_ns) if is_warned else ""
                self._changed()
        if scope == Scope.ALL and self._runner.paused:
            self._was_stopped = True
        return warning

    def step(
        self,
        steps: int,
        on_each: Callable[[int], None] = lambda _: None,
        on_end: Callable[[Stepping], None] = lambda _: None,
    ) -> Stepping | None:
        """Have the paused simulation take steps; return at once, or None for no step at all.

        Args:
            steps: How many.
            on_each: Called in the thread that steps after each, with how many there were.
            on_end: Called there when it is over; see ``check_steps``.

        Raises:
            RequestError: It is not paused, or its physics has failed.
        """
        state = self.state
        if state is not State.PAUSED:
            words = f"the simulation is {state.name}; only a paused one can be stepped"
            raise RequestError(Code.OPERATION_FAILED, words)
        if steps == 0:
            return None
        with request_errors():
            self._stepping = self._runner.step(steps, on_each, on_end)
        return self._stepping

    @property
    def current_world(self) -> WorldResource:
        """The world that is loaded.

        Raises:
            RequestError: There is none.
        """
        if self._world is None:
            raise RequestError(CurrentWorldCode.NO_WORLD_LOADED, "no world is loaded")
        return self._world

    def load_world(
        self, resource: Resource, *, strict: bool = False, lenient: bool = False
    ) -> WorldResource:
        """Put another world in place of the one there is, and stop at its start.

        It is made beside the other, which stands still meanwhile and goes on if it fails.

        Args:
            resource: A world file, a model that will stand on a floor, or a world's text.
            strict: Whether parts of the file that mean nothing here are an error.
            lenient: Whether bodies whose files are missing are left out.

        Raises:
            RequestError: It cannot be loaded; nothing has changed.
        """
        with self._standing():
            diagnostics = Diagnostics(listener=self._diagnostics.add)
            config = read_world(resource, diagnostics, strict=strict, lenient=lenient)
            try:
                simulation = self._made(config)
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
        """Take everything out of the world.

        Raises:
            RequestError: No world is loaded.
        """
        if self._world is None:
            raise RequestError(CurrentWorldCode.NO_WORLD_LOADED, "no world is loaded")
        with self._standing(), request_errors():
            self._config = WorldConfig(physics=self._config.physics)
            self._swap(self._made(self._config))
            self._world = None

    def _hear(self, change: Change) -> None:
        """Hear that the run has left its start, whoever had it do so; in the thread that steps."""
        if change in (Change.RESUME, Change.STEPS):
            self._was_stopped = False

    @property
    def _is_stepping(self) -> bool:
        return self._stepping is not None and not self._stepping.wait(0.0)

    def _check_world(self, code: IntEnum = Code.INCORRECT_STATE) -> None:
        if advice := _WITHOUT_WORLD.get(state := self.state):
            raise RequestError(code, f"the simulation is {state.name}; {advice}")

    def _stop(self) -> None:
        self._pause()
        self.reset(Scope.ALL)
        self._was_stopped = True

    def _play(self) -> None:
        self._was_stopped = False
        self._runner.call(self._runner.resume)

    def _pause(self) -> None:
        self._was_stopped = False
        self._stand_still()

    def _stand_still(self) -> None:
        if self._is_stepping and self._stepping is not None:
            self._stepping.cancel()
            self._stepping.wait()
        self._runner.call(self._runner.pause)

    def _quit(self) -> None:
        self._quitting = True
        self._runner.pause()
        timer = threading.Timer(GRACE, self._runner.stop)
        timer.daemon = True
        timer.start()

    def _reset(self, scope: int) -> int:
        """Do a reset, in the thread that steps; return the time before it, in [ns]."""
        simulation = self._runner.simulation
        time_ns = simulation.state.time_ns
        if scope & Scope.STATE:
            simulation.reset()  # first, for a world that has failed can do nothing else
            self._runner.error = None
        if scope & Scope.SPAWNED:
            for name in self.entities.spawned():
                simulation.remove(name)
        wanted_ns = 0 if scope & Scope.TIME else time_ns
        if simulation.state.time_ns != wanted_ns:
            simulation.retime(wanted_ns)
        return time_ns

    def _made(self, config: WorldConfig) -> Simulation:
        try:
            return self._make_simulation(config)
        except ModelError as error:
            raise RequestError(Code.OPERATION_FAILED, str(error)) from None

    def _swap(self, simulation: Simulation) -> str:
        """Run another simulation; return a warning, or nothing."""
        try:
            before = self._runner.replace(simulation)
        except BaseException:
            simulation.close()
            raise
        before_ns = before.state.time_ns
        try:
            self.entities.begin()
            self._changed()
        finally:
            before.close()
        return warn_time_reset(before_ns) if self.keeps_time else ""

    @contextmanager
    def _standing(self) -> Iterator[None]:
        """Let the run stand still for a block, and go on as it was if this fails."""
        if self._quitting or not self._loading.acquire(blocking=False):
            words = f"the simulation is {self.state.name}"
            raise RequestError(Code.INCORRECT_STATE, words)
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
