"""A robot learns a task by proximal policy optimization (PPO), with skrl on JAX.

    python examples/gym/ppo.py                              # hrp_ros/ArmReach-v0, some minutes
    python examples/gym/ppo.py --save reach.policy
    python examples/gym/ppo.py --load reach.policy --show   # in the browser
    python examples/gym/ppo.py --load reach.policy --film reach.webp

The algorithm: J. Schulman et al., "Proximal policy optimization algorithms", arXiv:1707.06347.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

import gymnasium
import numpy as np
import skrl
from gymnasium.vector import SyncVectorEnv
from PIL import Image
from skrl.agents.jax.ppo import PPO, PPO_CFG
from skrl.envs.wrappers.jax import wrap_env
from skrl.memories.jax import RandomMemory
from skrl.resources.preprocessors.jax import RunningStandardScaler
from skrl.trainers.jax import SequentialTrainer
from skrl.utils import set_seed
from skrl.utils.model_instantiators.jax import deterministic_model, gaussian_model

from hrp_sim.lab.gym import RenderOptions  # whose package registers the environments
from hrp_sim.recording.video import Viewpoint

skrl.config.jax.device = "cpu"  # faster than a GPU for networks this small
ENVS, ROLLOUT = 16, 64  # side by side, and steps of each between two updates
EPISODES = 20  # to judge a policy
VIEWPOINTS = {"hrp_ros/ArmReach-v0": Viewpoint(azimuth=40.0, elevation=20.0, distance=2.2)}


def make_agent(env: gymnasium.Env) -> PPO:
    """Return an agent with two networks of two layers of 64 units."""
    spaces = {"observation_space": env.observation_space, "action_space": env.action_space}
    network = [{"name": "net", "input": "OBSERVATIONS", "layers": [64, 64], "activations": "tanh"}]
    models = {
        "policy": gaussian_model(**spaces, network=network, output="ACTIONS", initial_log_std=-0.5),
        "value": deterministic_model(**spaces, network=network, output="ONE"),
    }
    for role, model in models.items():
        model.init_state_dict(role=role)
    settings = PPO_CFG(
        rollouts=ROLLOUT,
        learning_epochs=10,
        mini_batches=8,
        discount_factor=0.97,
        learning_rate=1e-3,
        value_loss_scale=0.5,
        time_limit_bootstrap=True,
        observation_preprocessor=RunningStandardScaler,
        observation_preprocessor_kwargs={"size": env.observation_space},
        value_preprocessor=RunningStandardScaler,
        value_preprocessor_kwargs={"size": 1},
    )
    settings.experiment.write_interval = settings.experiment.checkpoint_interval = 0
    memory = RandomMemory(memory_size=ROLLOUT, num_envs=ENVS)
    return PPO(models=models, memory=memory, cfg=settings, **spaces)


def play(agent: PPO, env: gymnasium.Env, seed: int, each_step: Callable = lambda: None) -> float:
    """Return the return of an episode with the mean actions of a policy."""
    observation, _ = env.reset(seed=seed)
    each_step()
    total, ended = 0.0, False
    while not ended:
        batch = np.asarray(observation, np.float32)[None]
        mean = agent.act(batch, None, timestep=0, timesteps=0)[1]["mean_actions"]
        observation, reward, terminated, truncated, _ = env.step(np.clip(mean[0], -1.0, 1.0))
        each_step()
        total, ended = total + float(reward), terminated or truncated
    return total


def judge(agent: PPO, env: gymnasium.Env, when: str) -> list[float]:
    """Return and print the returns of episodes whose starts are not those of learning."""
    returns = [play(agent, env, seed) for seed in range(1000, 1000 + EPISODES)]
    print(
        f"{when}: return {np.mean(returns):.1f} in {EPISODES} episodes, "
        f"{min(returns):.1f} to {max(returns):.1f}"
    )
    return returns


def learn(agent: PPO, env: gymnasium.Env, steps: int) -> None:
    """Let an agent learn from this number of steps, of ``ENVS`` environments together."""
    make_one = partial(gymnasium.make, env.spec.id)
    envs = wrap_env(SyncVectorEnv([make_one] * ENVS), verbose=False)
    settings = {"timesteps": steps // ENVS, "headless": True, "close_environment_at_exit": False}
    trainer = SequentialTrainer(env=envs, agents=agent, cfg=settings)  # prepares the agent
    judge(agent, env, "before")
    trainer.train()
    judge(agent, env, f"after {steps} steps")
    envs.close()


def film(path: Path, agent: PPO, name: str) -> None:
    """Write some episodes as a film, .webp or .gif, of every second step."""
    look = RenderOptions(size=(320, 240), viewpoint=VIEWPOINTS.get(name))
    env = gymnasium.make(name, render_mode="rgb_array", render_options=look)
    steps = count()
    frames: list[Image.Image] = []

    def take() -> None:
        if next(steps) % 2 == 0:
            frames.append(Image.fromarray(env.render()))

    for seed in range(1000, 1005):
        play(agent, env, seed, take)
    env.close()
    period = round(2000.0 / env.unwrapped.metadata["render_fps"])  # [ms]
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=period, loop=0, quality=60
    )


def show(agent: PPO, name: str) -> None:
    """Show episodes in the browser, until Ctrl-C."""
    env = gymnasium.make(name, render_mode="human")
    try:
        for seed in count(1000):
            play(agent, env, seed)
    except KeyboardInterrupt:
        env.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--env", default="hrp_ros/ArmReach-v0", help="id of the environment")
    parser.add_argument("--steps", type=int, default=100_000, help="to learn from")
    parser.add_argument("--seed", type=int, default=0, help="of all random numbers")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the policy")
    parser.add_argument("--load", type=Path, metavar="FILE", help="read a policy of your own")
    parser.add_argument("--film", type=Path, metavar="FILE", help="film it: .webp or .gif")
    parser.add_argument("--show", action="store_true", help="show it in the browser")
    options = parser.parse_args()
    set_seed(options.seed)
    env = gymnasium.make(options.env)
    print(env.unwrapped)
    agent = make_agent(env)
    if options.load is None:
        learn(agent, env, options.steps)
    else:
        agent.init()
        agent.load(options.load)
        judge(agent, env, "loaded")
    env.close()
    if options.save is not None:
        agent.save(options.save)
    if options.film is not None:
        film(options.film, agent, options.env)
    if options.show:
        show(agent, options.env)


if __name__ == "__main__":
    main()
