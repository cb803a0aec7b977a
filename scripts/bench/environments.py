"""Measure the time of a step of environments, and how much of it is not physics.

Where MuJoCo is installed, it takes the physics steps of the humanoid with the same efforts in one
call, in turns. Prints the table, or with --page writes docs/data/gym_cost.csv.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from bench.comparison.mujoco_twin import MujocoTwin, TwinError, only_moving
from bench.comparison.scenes import make_scene

from hrp_model.rigid import Array
from hrp_sim.lab.gym import RobotEnv
from hrp_sim.world.config import WorldConfig
from scripts.data_tables import output_tables

ROUNDS, STEPS = 20, 100
PERIOD = 0.02  # [s], of an action
EFFORTS = {"actions": "effort"}
HUMANOID = "humanoid, efforts"
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "arm, positions": ("arm", {"actions": "position"}),
    "arm, efforts, wrist sensor": ("arm", EFFORTS | {"sensors": ["wrist_force"]}),
    HUMANOID: ("humanoid", EFFORTS),
    "humanoid, efforts, base, IMU, feet": (
        "humanoid",
        EFFORTS
        | {
            "observations": ["q", "dq", "base_pose", "base_velocity"],
            "sensors": ["gyro", "left_foot_force", "right_foot_force"],
        },
    ),
}
HEADER = [
    "environment",
    "steps per second",
    "of which physics",
    "besides [us]",
    "reset [ms]",
    "MuJoCo = 1",
]


def measure(env: RobotEnv, rounds: int, twin: MujocoTwin | None) -> Array:
    """Return median processor times in [s]: of a step, of its physics, of a reset, of the twin."""
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
        beside = measure_twin(twin, actions) if twin else np.nan
        found.append(((end - start) / STEPS, inside[0] / STEPS, start - begin, beside))
    return np.median(found, axis=0)


def measure_twin(twin: MujocoTwin, actions: list[Array]) -> float:
    """Return the processor time in [s] that MuJoCo takes for the steps of one action."""
    import mujoco

    steps = round(PERIOD / twin.model.opt.timestep)
    start = twin.data.qpos.copy()
    begin = time.thread_time()
    for action in actions:
        twin.data.qfrc_applied[-len(action) :] = action
        mujoco.mj_step(twin.model, twin.data, nstep=steps)
    taken = time.thread_time() - begin
    mujoco.mj_resetData(twin.model, twin.data)
    twin.data.qpos[:] = start
    return taken / len(actions)


def make_twin(env: RobotEnv, world: WorldConfig) -> MujocoTwin | None:
    """Return the robot in MuJoCo without servos, or None where that is not installed."""
    env.reset(seed=0)
    try:
        return MujocoTwin(world, env.simulation.bodies[only_moving(world).name])
    except TwinError as error:
        print(f"no comparison: {error}")
        return None


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command line."""
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of 100 steps each; default: 20")
    parser.add_argument("--page", action="store_true", help="write docs/data/gym_cost.csv instead")


def run(options: argparse.Namespace) -> int:
    """Print or write the table."""
    rows = []
    for name, (scene, settings) in KINDS.items():
        world = make_scene(scene).world
        env = RobotEnv(world, control_period=PERIOD, **settings)
        twin = make_twin(env, world) if name == HUMANOID else None
        step, physics, reset, beside = measure(env, options.rounds, twin)
        besides = f"{1e6 * (step - physics):.0f}"
        cells = [f"{1 / step:.0f}", f"{physics / step:.0%}", besides, f"{1e3 * reset:.1f}"]
        rows.append([name, *cells, f"{step / beside:.2f}" if twin else ""])
        env.close()
    about = f"medians of {options.rounds} rounds of {STEPS} steps"
    output_tables({"gym_cost": (HEADER, rows)}, page=options.page, rounds=about)
    return 0
