"""``render_mode="human"``: the page of an environment, in real time."""

import threading
import urllib.error
import urllib.request

import numpy as np
import pytest

pytest.importorskip("viser")
gymnasium = pytest.importorskip("gymnasium")

from gym_envs import make, rollout  # noqa: E402
from gymnasium.error import ResetNeeded  # noqa: E402


@pytest.fixture
def no_clock(monkeypatch):
    """Let runs be as fast as possible."""
    from hrp_sim.run.pace import Pace

    monkeypatch.setattr(Pace, "ahead", lambda *_: 0.0)


def page_of(env):
    return env.unwrapped._page


def test_the_page_is_open_from_the_start_until_the_end(no_clock, capsys):
    import hrp_sim.lab.gym  # noqa: F401

    env = gymnasium.make("hrp_ros/ArmReach-v0", render_mode="human")
    env.reset(seed=1)
    env.step(env.action_space.sample())
    assert env.render() is None
    address = page_of(env).address
    assert address in capsys.readouterr().out
    assert urllib.request.urlopen(address, timeout=300.0).status == 200
    env.close()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address, timeout=300.0)


def test_what_is_observed_does_not_depend_on_the_page(no_clock):
    found = []
    for mode in (None, "human"):
        env = make("arm", render_mode=mode)
        found.append([rollout(env, seed, steps=20) for seed in (1, 2)])
        env.close()
    for plain, shown in zip(*found, strict=True):
        for (expected, reward), (observation, other) in zip(plain, shown, strict=True):
            assert reward == other
            for key, value in expected.items():
                np.testing.assert_array_equal(observation[key], value)


def test_a_pause_in_the_page_holds_a_step_and_its_reset_begins_the_time_again(no_clock):
    env = make("arm", sensors=[], render_mode="human")
    env.reset(seed=1)
    action = np.zeros(6, dtype=np.float32)
    for _ in range(5):
        env.step(action)
    run = page_of(env)._run
    run.pause()
    stepping = threading.Thread(target=env.step, args=(action,))
    stepping.start()
    run.call(lambda: None, timeout=300.0)  # the run serves the page meanwhile
    assert env.state.time == pytest.approx(0.1)
    assert stepping.is_alive()
    threading.Thread(target=lambda: (run.reset(), run.resume())).start()
    stepping.join(300.0)
    assert env.state.time == pytest.approx(0.02)
    env.close()


def test_a_failure_of_the_physics_ends_the_episode_and_the_next_one_goes_on(no_clock):
    env = make("arm", sensors=[], render_mode="human", randomize=None)
    env.reset(seed=1)
    env.simulation.bodies["arm"].wrench.force[3, 0] = np.nan
    action = np.zeros(6, dtype=np.float32)
    *_, truncated, info = env.step(action)
    assert truncated
    assert "physics_error" in info
    with pytest.raises(ResetNeeded):
        env.step(action)
    env.reset()
    assert not env.step(action)[3]
    env.close()
