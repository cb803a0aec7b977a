"""A robot in a world as an environment of Gymnasium."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded

from hrp_model import Body, Diagnostics
from hrp_model.diagnostics import names_with_hint
from hrp_model.late_dataclass import dataclass
from hrp_model.printable import printable

from ...engine.engine import PhysicsError
from ...engine.schedule import NS_PER_S
from ...engine.snapshot import Snapshot
from ...engine.state import ByName, SimulatedBody
from ...recording.video import MAX_SIDE, MIN_SIDE, StudioRenderer, Viewpoint, make_view
from ...render import Pixels
from ...sensors import Reading
from ...simulation import InitialState, Simulation
from ...world.config import WorldConfig
from ...world.load import as_world
from .actions import Action, JointActions, Limits, Modes
from .observations import EpisodeState, Observation, Observations, Quantity

if TYPE_CHECKING:
    from .page import EnvPage


@dataclass(frozen=True, kw_only=True)
class RenderOptions:
    """What ``RobotEnv.render`` shows.

    Attributes:
        size: Width and height, in pixels.
        viewpoint: Direction to look from; None for one from which the robots are seen.
        follow: LINK or BODY/LINK that the viewer follows; "" for none.
        camera: CAMERA or BODY/CAMERA of a model, to show what it sees; "" for none.

    Raises:
        ValueError: The size is not two numbers in their range.
    """

    size: tuple[int, int] = (640, 480)
    viewpoint: Viewpoint | None = None
    follow: str = ""
    camera: str = ""

    def __post_init__(self) -> None:
        sides = tuple(self.size)
        if len(sides) != 2 or not all(side in range(MIN_SIDE, MAX_SIDE + 1) for side in sides):
            raise ValueError(
                f"width and height must be whole numbers from {MIN_SIDE} to {MAX_SIDE} pixels, not "
                f"{'x'.join(map(str, sides))}"
            )


class Pictures:
    """Makes pictures of a simulation, and of what is added to it.

    Args:
        options: What they show.
        simulation: In its initial state, for which the viewpoint is chosen.

    Raises:
        ValueError: There is no such camera or link.
    """

    def __init__(self, options: RenderOptions, simulation: Simulation) -> None:
        self._poses = simulation.state.poses()
        self._view = make_view(
            _models(simulation),
            [self._poses],
            options.size,
            viewpoint=options.viewpoint,
            follow=options.follow,
            camera=options.camera,
        )
        self._hide_walls = not options.camera
        self._shown: Mapping[str, SimulatedBody] = {}
        self._renderer: StudioRenderer | None = None

    def picture(self, simulation: Simulation) -> Pixels:
        """Return a picture of the present state, RGB of shape (height, width, 3).

        Raises:
            RendererUnavailable: This machine cannot render.
        """
        # The mapping is another one after bodies were added or removed.
        if self._renderer is None or self._shown is not simulation.bodies:
            self._shown = simulation.bodies
            self._renderer = StudioRenderer(
                _models(simulation), self._view, self._poses, hide_walls=self._hide_walls
            )
            self._renderer.prepare(Diagnostics())
        return self._renderer.picture(simulation.state.poses())


def _models(simulation: Simulation) -> dict[str, Body]:
    return {name: each.body for name, each in simulation.bodies.items()}


_log = logging.getLogger("hrp_sim")
_MAX_SEED = 2**63  # of noise
_NOT_BEGUN = "call reset() before step()"


_RENDER_OPTIONS = RenderOptions()


def no_reward(_state: EpisodeState) -> float:
    """Return 0, for environments whose reward is given by a wrapper."""
    return 0.0


def never(_state: EpisodeState) -> bool:
    """Return False: episodes end by a wrapper ``TimeLimit`` only."""
    return False


class RobotEnv(gymnasium.Env[Observation, Action]):
    """A robot in a world, whose joints take actions and whose state and sensors are observed.

    Episodes start from a saved state, which takes a millisecond. Equal seeds and actions give
    equal observations, to the last bit, in any process. An episode in which the physics fails is
    truncated, with the reason in ``info["physics_error"]``.

    Args:
        world: The configuration, or the path of a world file or of a model; see ``load_world``.
        robot: Name of the robot in the world; None if only one body has joints.
        actions: "position", "velocity" or "effort" for all joints that have an id, or for all
            joints if none has one; or the mode by joint, for the joints of the actions in their
            order.
        action_limits: Lower and upper limit of actions by joint, in [rad] or [m], [rad/s] or
            [m/s], [N m] or [N]; needed where the model has none.
        normalize_actions: Whether actions from -1 to 1 stand for the limits.
        observations: Of "q", "dq", "effort", "base_pose" and "base_velocity".
        quantities: What else of the task is observed, by key.
        sensors: Names of sensors in the model to be observed.
        reward: Returns the reward of a step.
        terminated: Returns whether a step has ended the episode.
        randomize: Changes the initial state of an episode with random numbers, or whatever else
            in the simulation; called by ``reset``.
        control_period: Simulation time of a step, in [s], a multiple of the physics' time step.
        render_mode: "rgb_array" for pictures by ``render``; "human" for a page in a browser, in
            real time; or None.
        render_options: What the pictures show.

    Attributes:
        action_joints: Names of the joints in the order of the actions.
        simulation: The simulation; another one after a reset if bodies were added or removed.
        state: What ``reward`` and ``terminated`` receive.

    Raises:
        MissingLibraryError: ODE is not installed, or viser for "human".
        ModelError: The world file, or a model in it, has errors.
        PhysicsError: The engine cannot simulate a body.
        TypeError: ``world`` is neither a configuration nor a path.
        ValueError: There is no such robot, joint, mode, quantity, sensor, camera or link, a joint
            has no limit, or the control period is not a multiple of the time step.
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array"]}  # noqa: RUF012  # as Gymnasium's

    def __init__(
        self,
        world: WorldConfig | str | os.PathLike[str],
        robot: str | None = None,
        *,
        actions: Modes = "position",
        action_limits: Limits | None = None,
        normalize_actions: bool = False,
        observations: Collection[str] = ("q", "dq"),
        quantities: Mapping[str, Quantity] | None = None,
        sensors: Collection[str] = (),
        reward: Callable[[EpisodeState], float] = no_reward,
        terminated: Callable[[EpisodeState], bool] = never,
        randomize: Callable[[Simulation, np.random.Generator], None] | None = None,
        control_period: float = 0.02,
        render_mode: str | None = None,
        render_options: RenderOptions = _RENDER_OPTIONS,
    ) -> None:
        self._world = as_world(world, None)
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(
                f"there is no render_mode '{render_mode}', but 'human', 'rgb_array' or None"
            )
        self._period = _whole_period(control_period, self._world.physics.step_ns)
        self.metadata = {**self.metadata, "render_fps": max(round(1.0 / self._period), 1)}
        self.render_mode = render_mode
        self._observed = _names(observations), dict(quantities or {}), _names(sensors)
        self._reward, self._terminated, self._randomize = reward, terminated, randomize
        self._problem = _NOT_BEGUN  # why there can be no step
        self._is_open = True
        self.simulation = Simulation(self._world)
        try:
            self._robot = _find_robot(self.simulation, robot)
            body = self.simulation.bodies[self._robot].body
            self._actions = JointActions(
                body, actions, action_limits or {}, normalized=normalize_actions
            )
            self._connect()
            self._pictures = (
                Pictures(render_options, self.simulation) if render_mode == "rgb_array" else None
            )
            self._page = _open_page(self.state) if render_mode == "human" else None
        except BaseException:
            self.simulation.close()
            raise
        self.action_joints = self._actions.joints
        self.action_space = self._actions.space
        self.observation_space = self._observations.space

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode; return the first observation.

        Args:
            seed: Of ``np_random``, from which the noise of sensors and ``randomize`` get theirs;
                None continues with the present one.
            options: {"snapshot": ...} starts from a state that ``simulation.save()`` has returned,
                without ``randomize``.

        Raises:
            PhysicsError: The snapshot does not match the world.
            TypeError: It is no snapshot.
            ValueError: There is no such option, or the environment is closed.
        """
        super().reset(seed=seed)
        self._check_open()
        given = dict(options or {})
        snapshot: object = given.pop("snapshot", None)
        if given:
            raise ValueError(f"reset has no option '{min(map(str, given))}', only 'snapshot'")
        if not isinstance(snapshot, Snapshot | None):
            kind = type(snapshot).__name__
            raise TypeError(f"a snapshot is what simulation.save() returns, not {kind}")
        self._problem = _NOT_BEGUN  # also if what follows raises
        self._restore()
        sim = self.simulation
        sim.noise_seed.value = int(self.np_random.integers(_MAX_SEED))
        if snapshot is not None:
            sim.restore(snapshot)
        elif self._randomize is not None:
            self._randomize(sim, self.np_random)
        self._problem = ""
        self.state.begin()
        self._observations.begin()
        if self._page is not None:
            self._page.begin(self.state)
        return self._observations.observe(self.state, {}), {}

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Advance by a control period.

        Returns:
            Observation, reward, whether ``terminated``, whether the physics has failed, and
            {"physics_error": the reason} in that case.

        Raises:
            ResetNeeded: The episode has not begun, or has ended.
            ValueError: The action has another shape, or a number that is not finite.
        """
        if self._problem:
            raise ResetNeeded(self._problem)
        sim, state = self.simulation, self.state
        state.action = self._actions.apply(action, self._controller, sim.engine.time_ns)
        info: dict[str, Any] = {}
        readings: Mapping[str, Reading] = {}
        try:
            readings = (sim if self._page is None else self._page).run(self._period)
        except PhysicsError as error:
            info["physics_error"] = str(error)
            _log.warning("the episode ends: %s", error)
        observation = self._observations.observe(state, readings)
        reward, terminated = float(self._reward(state)), bool(self._terminated(state))
        if terminated or info:
            self._problem = "the episode has ended: call reset() before the next step()"
        return observation, reward, terminated, bool(info), info

    def render(self) -> Pixels | None:
        """Return a picture of the present state, RGB of shape (height, width, 3).

        None without a ``render_mode``, and for "human", whose page follows by itself.

        Raises:
            RendererUnavailable: This machine cannot render.
            ValueError: The environment is closed.
        """
        self._check_open()
        if self._pictures is None:
            return None
        return self._pictures.picture(self.simulation)

    def close(self) -> None:
        """Free the simulation (idempotent)."""
        if self._is_open:
            self._is_open, self._pictures = False, None
            self._problem = "the environment is closed"
            if self._page is not None:
                self._page.close()
            self.simulation.close()

    def __str__(self) -> str:
        """Return robot, actions, observations with their shapes, and rate, in one line."""
        name = "" if self.spec is None else f" {self.spec.id}"
        by_mode: dict[str, list[str]] = {}
        for joint, mode in self._actions.modes.items():
            by_mode.setdefault(mode.value, []).append(joint)
        actions = "; ".join(f"{mode} of {', '.join(joints)}" for mode, joints in by_mode.items())
        seen = ", ".join(
            f"{key} {'x'.join(map(str, space.shape or ()))}"
            for key, space in self._observations.boxes.items()
        )
        return printable(
            f"<{type(self).__name__}{name}: robot {self._robot}; actions: {actions}; observations: "
            f"{seen}; {1.0 / self._period:g} steps per second>"
        )

    def __getstate__(self) -> NoReturn:
        """Refuse to be copied or pickled.

        Raises:
            TypeError: Always.
        """
        raise TypeError(
            "an environment cannot be copied or pickled: pass a function that makes one; what it "
            "simulates is saved by simulation.save()"
        )

    def _connect(self) -> None:
        """Connect actions and observations with the simulation, and keep its initial state."""
        sim = self.simulation
        robot = sim.bodies[self._robot]
        self._controller = sim.controller(self._robot)
        self._observations = Observations(sim, self._robot, *self._observed)
        joints = {link.joint.name: i for i, link in enumerate(robot.body.moving_links)}
        self.state = EpisodeState(
            sim,
            self._robot,
            robot.motion,
            ByName("joint that moves", joints),
            ByName("link", {link.name: i for i, link in enumerate(robot.body.links)}),
            np.zeros(len(self._actions.joints)),
        )
        self._initial = InitialState(sim)

    def _restore(self) -> None:
        """Go back to the initial state; create the simulation again if it cannot be restored."""
        try:
            self._initial.restore()
        except Exception:  # such as bodies that were added
            self.simulation.close()
            self.simulation = Simulation(self._world)
            self._connect()

    def _check_open(self) -> None:
        if not self._is_open:
            raise ValueError("the environment is closed")


def _open_page(state: EpisodeState) -> EnvPage:
    """Open the page of an environment.

    Raises:
        MissingLibraryError: viser is not installed.
    """
    from .page import EnvPage  # needs viser

    return EnvPage(state)


def _names(names: Collection[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))


def _find_robot(simulation: Simulation, name: str | None) -> str:
    """Return the name of the robot.

    Raises:
        ValueError: There is none, or there are several.
    """
    robots = [key for key, each in simulation.bodies.items() if each.body.jointed_links]
    if name is None and len(robots) == 1:
        return robots[0]
    if not robots:
        raise ValueError("the world has no robot: none of its bodies has joints")
    if name is None:
        raise ValueError(f"the world has several robots; choose one: {', '.join(robots)}")
    if name not in robots:
        raise ValueError(f"the world has no robot '{name}', but {names_with_hint(name, robots)}")
    return name


def _whole_period(period: float, step_ns: int) -> float:
    """Return a control period in [s], exactly.

    Raises:
        ValueError: It is not a multiple of the time step.
    """
    steps = round(period * NS_PER_S / step_ns) if 0.0 < period < 1e6 else 0
    if steps < 1 or abs(steps * step_ns - period * NS_PER_S) > 1e-3 * step_ns:
        raise ValueError(
            f"the control period must be a multiple of the time step of {step_ns / NS_PER_S:g} s, "
            f"not {period} s"
        )
    return steps * step_ns / NS_PER_S
