"""A cart learns to balance its pole, by a cross-entropy search on all cores.

    python examples/gym/cart_pole.py
    python examples/gym/cart_pole.py --picture cart_pole.png

The policy is linear: four numbers, by which positions and velocities of cart and pole are
multiplied, give the force. Each generation tries random policies around a mean; the mean and the
spread of the best are those of the next one.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import gymnasium
import numpy as np

from hrp_sim.lab.gym import RenderOptions  # whose package registers the environment
from hrp_sim.recording.video import Viewpoint

STEPS = 500  # of an episode: 10 s
POLICIES, BEST, EPISODES = 32, 8, 4  # of a generation, those that are kept, starts of each
_envs: list[gymnasium.Env] = []  # of this process


def make_env(**options):
    """Return the environment: -1 to 1 is the force on the cart, relative to its motor's."""
    return gymnasium.make("hrp_ros/CartPole-v0", disable_env_checker=True, **options)


def score(policy, seeds) -> float:
    """Return the mean return of a policy over episodes from random starts."""
    if not _envs:
        _envs.append(make_env())
    return float(np.mean([episode(_envs[0], policy, seed) for seed in seeds]))


def episode(env, policy, seed: int) -> float:
    """Return the return of one episode: how many steps the pole stays up."""
    observation, _ = env.reset(seed=seed)
    total, ended = 0.0, False
    while not ended:
        force = np.clip(policy @ observation, -1.0, 1.0)
        observation, reward, terminated, truncated, _ = env.step([force])
        total, ended = total + reward, terminated or truncated
    return total


def learn(pool: Executor, seed: int, generations: int):
    """Return the policy found, and the mean and best return of each generation."""
    rng = np.random.default_rng(seed)
    mean, spread = np.zeros(4), np.full(4, 2.0)
    curve: list[tuple[float, float]] = []
    for generation in range(generations):
        policies = rng.normal(mean, spread, (POLICIES, 4))
        seeds = rng.integers(2**31, size=EPISODES).tolist()
        scores = np.array(list(pool.map(score, policies, [seeds] * POLICIES)))
        curve.append((scores.mean(), scores.max()))
        print(
            f"generation {generation + 1}: mean {curve[-1][0]:.0f}, best {curve[-1][1]:.0f} steps"
        )
        best = policies[np.argsort(-scores, kind="stable")[:BEST]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + 0.02
        if scores.mean() > 0.98 * STEPS:
            break
    return mean, curve


def draw(path: Path, policy, curve) -> None:
    """Draw the returns over the generations, and the cart with its pole."""
    import matplotlib.pyplot as plt

    options = RenderOptions(size=(640, 320), viewpoint=Viewpoint(-80.0, 8.0))
    env = make_env(render_mode="rgb_array", render_options=options)
    episode(env, policy, seed=1)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3), width_ratios=(2, 3))
    generations = range(1, len(curve) + 1)
    left.plot(generations, [best for _, best in curve], marker="o", label="best")
    left.plot(generations, [mean for mean, _ in curve], marker="o", label="mean")
    left.set(xlabel="generation", ylabel="steps without a fall", xticks=generations)
    left.legend()
    right.imshow(env.render())
    right.set_title("after 10 s")
    right.axis("off")
    figure.tight_layout()
    figure.savefig(path)
    env.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=0, help="of all random numbers (default: 0)")
    parser.add_argument("--generations", type=int, default=20, help="at most (default: 20)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--picture", type=Path, metavar="PNG", help="draw curve and cart")
    options = parser.parse_args()
    if options.picture and not options.picture.absolute().parent.is_dir():
        parser.error(f"there is no folder for {options.picture}")
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        policy, curve = learn(pool, options.seed, options.generations)
        lengths = list(pool.map(score, [policy] * 20, [[1000 + i] for i in range(20)]))
    print(f"policy {policy.round(2).tolist()}: {min(lengths):.0f} to {max(lengths):.0f} steps")
    print(f"from 20 new starts; the pole was up for 10 s in {lengths.count(STEPS)}")
    if options.picture:
        draw(options.picture, policy, curve)


if __name__ == "__main__":
    main()
