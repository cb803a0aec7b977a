"""Environments that ``gymnasium.make`` knows by their ids.

An id keeps its meaning: what changes the returns gets the next version.
"""

from __future__ import annotations

from dataclasses import replace
from math import cos, exp, pi, radians, sin
from pathlib import Path

import numpy as np
from gymnasium.envs.registration import WrapperSpec, register

from hrp_model import Pose
from hrp_model.rigid import Array

from ...simulation import Simulation
from .observations import EpisodeState, Quantity
from .robot_env import RenderOptions, RobotEnv

_WORLDS = Path(__file__).parent / "worlds"
_OPTIONS = RenderOptions()


class CartPole(RobotEnv):
    """A cart on a rail balances a pole; ``hrp_ros/CartPole-v0``.

    * Action: force on the cart, -1 to 1 for -10 N to 10 N; 50 a second.
    * Observation: places of cart in [m] and pole in [rad], and their velocities.
    * Reward: 1 for each step.
    * Start: each of these four numbers even between -0.05 and 0.05.
    * End: the cart is farther than 2.4 m, or the pole leans by more than 12 deg. Truncated after
      500 steps; 475 count as solved.

    Args:
        render_mode: As of ``RobotEnv``.
        render_options: As of ``RobotEnv``.
    """

    def __init__(
        self, *, render_mode: str | None = None, render_options: RenderOptions = _OPTIONS
    ) -> None:
        bounds = np.array([2.5, 0.5, 10.0, 10.0])
        super().__init__(
            _WORLDS / "cart_pole.yaml",
            actions="effort",
            normalize_actions=True,
            observations=(),
            quantities={"state": Quantity(-bounds, bounds, _cart_pole_state)},
            reward=lambda _: 1.0,
            terminated=_pole_has_fallen,
            randomize=_disturb_cart_pole,
            render_mode=render_mode,
            render_options=render_options,
        )


def _cart_pole_state(state: EpisodeState) -> Array:
    return np.concatenate([state.motion.q, state.motion.dq])


def _pole_has_fallen(state: EpisodeState) -> bool:
    return abs(state.q("CART")) > 2.4 or abs(state.q("POLE")) > radians(12.0)


def _disturb_cart_pole(simulation: Simulation, rng: np.random.Generator) -> None:
    x, angle, speed, turn_rate = rng.uniform(-0.05, 0.05, 4).tolist()
    simulation.placements.set_joint_positions(
        "cart_pole", {"CART": x, "POLE": angle}, {"CART": speed, "POLE": turn_rate}
    )


_TIP = np.array([0.0, 0.0, 0.12])  # of the tool, in the frame of TOOL, in [m]
_SHOULDER = np.array([0.0, 0.0, 0.3])  # in [m]
_TURNING = tuple(f"J{i}" for i in range(1, 6))  # J6 turns the tool about itself


class ArmReach(RobotEnv):
    """The bundled arm brings the tip of its tool to a ball; ``hrp_ros/ArmReach-v0``.

    * Action: velocities of the joints J1 to J5, -1 to 1 for their limits; 25 a second.
    * Observation: ``q`` and ``dq`` of all joints, in [rad] and [rad/s]; ``tip``, in [m]; and
      ``to_ball``, from there to the ball, in [m]; in the axes of the world.
    * Reward: exp(-d / 0.2 m) - 0.1 mean(a^2), with the distance d and the action a.
    * Start: the ball is 0.4 to 0.8 m from the shoulder, at most 120 deg to the sides, and from
      -10 to 60 deg high; joints are up to 0.3 rad from a leaning posture, J1 up to 1 rad.
    * End: none. Truncated after 75 steps.

    Args:
        render_mode: As of ``RobotEnv``.
        render_options: As of ``RobotEnv``.
    """

    def __init__(
        self, *, render_mode: str | None = None, render_options: RenderOptions = _OPTIONS
    ) -> None:
        near, far = np.full(3, 1.3), np.full(3, 2.6)  # more than the arm and the ball can be away
        super().__init__(
            _WORLDS / "arm_reach.yaml",
            actions=dict.fromkeys(_TURNING, "velocity"),
            normalize_actions=True,
            quantities={
                "tip": Quantity(-near, near, _tip),
                "to_ball": Quantity(-far, far, _to_ball),
            },
            reward=self._closeness,
            randomize=_place_ball_and_arm,
            control_period=0.04,
            render_mode=render_mode,
            render_options=render_options,
        )
        self._fastest = self._actions.upper

    def _closeness(self, state: EpisodeState) -> float:
        share = state.action / self._fastest
        distance = float(np.linalg.norm(_to_ball(state)))
        return exp(-distance / 0.2) - 0.1 * float(share @ share) / len(share)


def _tip(state: EpisodeState) -> Array:
    return state.point("TOOL", _TIP)


def _to_ball(state: EpisodeState) -> Array:
    ball: Array = state.simulation.bodies["ball"].motion.p[0]
    return ball - _tip(state)


def _place_ball_and_arm(simulation: Simulation, rng: np.random.Generator) -> None:
    distance, side, height = rng.uniform([0.4, -2 / 3 * pi, -pi / 18], [0.8, 2 / 3 * pi, pi / 3])
    direction = np.array([cos(side) * cos(height), sin(side) * cos(height), sin(height)])
    ball = simulation.placements.present("ball")
    simulation.move(replace(ball, X_WL=Pose(p=_SHOULDER + distance * direction)))
    middle, around = [0.0, 0.5, 0.9, 0.0, 0.6], np.array([1.0, 0.3, 0.3, 0.3, 0.3])
    q = (middle + rng.uniform(-around, around)).tolist()
    simulation.placements.set_joint_positions("arm", dict(zip(_TURNING, q, strict=True)))


_FLAT = WrapperSpec("FlattenObservation", "gymnasium.wrappers:FlattenObservation", {})

register(
    "hrp_ros/CartPole-v0",
    entry_point=f"{__name__}:CartPole",
    max_episode_steps=500,
    reward_threshold=475.0,
    additional_wrappers=(_FLAT,),
)
register(
    "hrp_ros/ArmReach-v0",
    entry_point=f"{__name__}:ArmReach",
    max_episode_steps=75,
    additional_wrappers=(_FLAT,),
)
