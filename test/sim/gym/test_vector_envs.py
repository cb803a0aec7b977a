"""Environments in vectors of Gymnasium, in this and in other processes, equal to the last bit."""

import multiprocessing
import subprocess
import sys

import numpy as np
import pytest
from gym_envs import as_bytes, make, makers
from sim.render.scenes import needs_opengl

pytest.importorskip("gymnasium")

from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

COUNT, STEPS, SEED = 2, 6, 7


def of_vector(vector):
    """Return the actions, and the observations of each environment."""
    vector.action_space.seed(SEED)
    observation, _ = vector.reset(seed=SEED)
    actions, seen = [], [{k: v.copy() for k, v in observation.items()}]
    for _ in range(STEPS):
        actions.append(vector.action_space.sample())
        observation, *_ = vector.step(actions[-1])
        seen.append({k: v.copy() for k, v in observation.items()})
    vector.close()
    each = [[({k: v[i] for k, v in x.items()}, 0.0) for x in seen] for i in range(COUNT)]
    return actions, each


def alone(kind, actions, index):
    """Return the observations of one environment by itself."""
    env = make(kind)
    seen = [(env.reset(seed=SEED + index)[0], 0.0)]
    seen += [(env.step(action[index])[0], 0.0) for action in actions]
    env.close()
    return seen


@pytest.mark.parametrize("kind", ["arm", "quick"])  # quick uses ODE's random numbers
def test_simulations_in_turn_in_one_process_do_not_disturb_each_other(kind):
    actions, together = of_vector(SyncVectorEnv(makers(kind, COUNT)))
    assert as_bytes(together[0]) != as_bytes(together[1])
    for index in range(COUNT):
        assert as_bytes(together[index]) == as_bytes(alone(kind, actions, index))


@pytest.mark.parametrize(
    ("context", "kind"),
    [
        pytest.param("spawn", "humanoid", marks=pytest.mark.slow),
        ("fork", "arm"),
        pytest.param("spawn", "cart", marks=needs_opengl),
    ],
)
def test_processes_give_what_one_process_gives(context, kind):
    if context not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this machine does not start processes by {context}")
    _, here = of_vector(SyncVectorEnv(makers(kind, COUNT)))
    _, elsewhere = of_vector(AsyncVectorEnv(makers(kind, COUNT), context=context))
    assert [as_bytes(x) for x in here] == [as_bytes(x) for x in elsewhere]


def test_episodes_end_and_begin_by_themselves():
    vector = SyncVectorEnv([lambda: make("arm", terminated=lambda state: state.time > 0.05)])
    vector.reset(seed=1)
    ended = [bool(vector.step(np.zeros((1, 6), dtype=np.float32))[2][0]) for _ in range(8)]
    assert ended == [False, False, True, False] * 2
    vector.close()


@needs_opengl
def test_a_process_forked_from_one_that_renders_says_so():
    """It would hang in OpenGL."""
    code = (
        "import os, gym_envs\n"
        "gym_envs.make('cart').reset()\n"
        "pid = os.fork()\n"
        "if pid:\n"
        "    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
        "gym_envs.make('cart')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1
    assert "start processes by 'spawn' instead" in done.stderr
    assert "sensor 'eye' of robot 'cart' cannot be simulated here; see the warnings" in done.stderr
