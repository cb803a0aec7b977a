"""The environments that have an id: their spaces, returns and ends."""

import warnings
from math import exp, pi

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

import hrp_sim.lab.gym  # noqa: E402, F401
from hrp_model import BodyState  # noqa: E402

CART_POLE, ARM_REACH = "hrp_ros/CartPole-v0", "hrp_ros/ArmReach-v0"
IDS = [CART_POLE, ARM_REACH]


@pytest.fixture
def reach():
    env = gymnasium.make(ARM_REACH)
    yield env
    env.close()


def named(env, observation):
    """Return the elements of a flat observation by name."""
    return gymnasium.spaces.unflatten(env.unwrapped.observation_space, observation)


@pytest.mark.parametrize("name", IDS)
def test_the_checker_of_gymnasium_finds_nothing(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(name)
        check_env(env.unwrapped, skip_render_check=True)
    env.close()


@pytest.mark.parametrize("name", IDS)
def test_equal_seeds_give_equal_episodes_and_others_differ(name):
    def episode(seed):
        env = gymnasium.make(name)
        env.action_space.seed(seed)
        found = [env.reset(seed=seed)[0]]
        for _ in range(10):
            found.append(env.step(env.action_space.sample())[0])
            assert env.observation_space.contains(found[-1])
        env.close()
        return np.array(found)

    first = episode(3)
    np.testing.assert_array_equal(first, episode(3))
    assert np.abs(first - episode(4)).max() > 1e-3


def test_printing_an_environment_names_its_task_robot_actions_and_observations(reach):
    shown = str(reach)
    assert "\n" not in shown
    for text in (ARM_REACH, "robot arm", "velocity of J1, J2", "to_ball 3", "25 steps per second"):
        assert text in shown


def test_the_cart_pole_ends_by_a_fall_alone_and_gets_1_per_step():
    env = gymnasium.make(CART_POLE)
    (x, angle, *rates), _ = env.reset(seed=1)
    assert max(abs(v) for v in (x, angle, *rates)) <= 0.05
    steps, terminated = 0, False
    while not terminated:
        (x, angle, *_), reward, terminated, truncated, _ = env.step(np.ones(1))  # full force
        steps += 1
        assert reward == 1.0
        assert not truncated
        assert terminated == (abs(x) > 2.4 or abs(angle) > 12.0 * pi / 180.0)
    assert steps < 50
    env.close()


def test_the_reward_of_reaching_is_its_formula(reach):
    observation, _ = reach.reset(seed=5)
    action = np.array([0.5, -0.5, 1.0, 0.0, 0.25], dtype=np.float32)
    observation, reward, terminated, _, _ = reach.step(action)
    distance = np.linalg.norm(named(reach, observation)["to_ball"])
    assert reward == pytest.approx(exp(-distance / 0.2) - 0.1 * np.mean(action**2), abs=1e-7)
    assert not terminated


def test_the_tip_is_where_the_model_has_it(reach):
    seen = named(reach, reach.reset(seed=6)[0])
    body = reach.unwrapped.simulation.bodies["arm"].body
    state = BodyState(body)
    state.q[:] = seen["q"]
    state.calc_forward_kinematics()
    tool = next(i for i, link in enumerate(body.links) if link.name == "TOOL")
    expected = state.p[tool] + state.R[tool] @ [0.0, 0.0, 0.12]
    np.testing.assert_allclose(seen["tip"], expected, atol=1e-9)


def test_balls_are_within_reach_and_episodes_are_truncated(reach):
    shoulder = [0.0, 0.0, 0.3]
    for seed in range(30):
        seen = named(reach, reach.reset(seed=seed)[0])
        ball = seen["tip"] + seen["to_ball"]
        assert 0.4 - 1e-9 <= np.linalg.norm(ball - shoulder) <= 0.8 + 1e-9
        assert ball[2] > 0.15
    ends = [reach.step(np.zeros(5))[2:4] for _ in range(75)]
    assert ends == [(False, False)] * 74 + [(False, True)]
