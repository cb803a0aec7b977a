"""Measure the time of a step of environments, and how much of it is not physics.

Prints the table, or with --page writes docs/data/gym_cost.csv.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from hrp_model.rigid import Array
from hrp_sim.lab.gym import RobotEnv
from scripts.data_tables import print_tables, write_tables

ROUNDS, STEPS = 20, 100
EFFORTS = {"actions": "effort"}
KINDS = {
    "arm, positions": ("arm", {"actions": "position"}),
    "arm, efforts, wrist sensor": ("arm", EFFORTS | {"sensors": ["wrist_force"]}),
    "humanoid, efforts": ("humanoid_in_room", EFFORTS),
    "humanoid, efforts, base, IMU, feet": (
        "humanoid_in_room",
        EFFORTS
        | {
            "observations": ["q", "dq", "base_pose", "base_velocity"],
            "sensors": ["gyro", "left_foot_force", "right_foot_force"],
        },
    ),
}
HEADER = ["environment", "steps per second", "of which physics", "besides [us]", "reset [ms]"]


def measure(env: RobotEnv, rounds: int) -> Array:
    """Return median processor times in [s]: of a step, of its physics, of a reset."""
    engine = env.simulation.engine
    advance, inside = engine.step, [0.0]

    def timed(count: int = 1) -> None:
        begin = time.thread_time()
        try:
            advance(count)
        finally:
            inside[0] += time.thread_time() - begin

    engine.step = timed  # type: ignore[method-assign]
    found = []
    for _ in range(rounds):
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


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command line."""
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of 100 steps each; default: 20")
    parser.add_argument("--page", action="store_true", help="write docs/data/gym_cost.csv instead")


def run(options: argparse.Namespace) -> int:
    """Print or write the table."""
    rows = []
    for name, (world, settings) in KINDS.items():
        env = RobotEnv(world, **settings)
        step, physics, reset = measure(env, options.rounds)
        besides = f"{1e6 * (step - physics):.0f}"
        cells = [f"{1 / step:.0f}", f"{physics / step:.0%}", besides, f"{1e3 * reset:.1f}"]
        rows.append([name, *cells])
        env.close()
    if options.page:
        write_tables(
            {"gym_cost": (HEADER, rows)},
            rounds=f"medians of {options.rounds} rounds of {STEPS} steps",
        )
    else:
        print_tables({"gym_cost": (HEADER, rows)})
    return 0
