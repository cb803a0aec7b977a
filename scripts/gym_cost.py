"""Measure the time of a step of environments, and how much of it is not physics.

    python scripts/gym_cost.py [--page]

Prints the table, or with --page writes docs/data/gym_cost.csv.
"""

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from data_tables import print_tables, write_tables

from hrp_sim.gym import RobotEnv

ROUNDS, STEPS = 20, 100
KINDS = {
    "arm, positions": ("arm", {"actions": "position"}),
    "arm, efforts, wrist sensor": ("arm", {"actions": "effort", "sensors": ["wrist_force"]}),
    "humanoid, efforts": ("humanoid_in_room", {"actions": "effort"}),
    "humanoid, efforts, base, IMU, feet": (
        "humanoid_in_room",
        {
            "actions": "effort",
            "observations": ["q", "dq", "base_pose", "base_velocity"],
            "sensors": ["gyro", "left_foot_force", "right_foot_force"],
        },
    ),
}


def measure(env):
    """Return median processor times in [s]: of a step, of its physics, of a reset."""
    run, inside = env.simulation.run, [0.0]

    def timed(seconds):
        begin = time.thread_time()
        try:
            return run(seconds)
        finally:
            inside[0] += time.thread_time() - begin

    env.simulation.run = timed
    found = []
    for _ in range(ROUNDS):
        env.action_space.seed(0)
        actions = [0.1 * env.action_space.sample() for _ in range(STEPS)]
        begin = time.thread_time()
        env.reset(seed=0)
        start, inside[0] = time.thread_time(), 0.0
        for action in actions:
            env.step(action)
        end = time.thread_time()
        found.append(((end - start) / STEPS, inside[0] / STEPS, start - begin))
    return np.median(found, axis=0)


def main():
    """Print or write the table."""
    rows = []
    for name, (world, options) in KINDS.items():
        env = RobotEnv(world, **options)
        step, physics, reset = measure(env)
        cells = f"{1 / step:.0f}", f"{physics / step:.0%}", f"{1e6 * (step - physics):.0f}"
        rows.append([name, *cells, f"{1e3 * reset:.1f}"])
        env.close()
    header = ["environment", "steps per second", "of which physics", "besides [us]", "reset [ms]"]
    (write_tables if "--page" in sys.argv else print_tables)({"gym_cost": (header, rows)})


if __name__ == "__main__":
    main()
