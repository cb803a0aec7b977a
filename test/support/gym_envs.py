"""Environments for tests; worker processes import them by name."""

from dataclasses import replace
from functools import partial
from math import inf

import numpy as np
from paths import ROOT
from vehicles import vehicle, wheel

from hrp_model import Body, Pose, load_body
from hrp_model.body import Range
from hrp_model.devices import Camera
from hrp_sim import BodyEntry, Placement, Solver, WorldConfig, load_world

MODELS = ROOT / "models"


def cart() -> Body:
    """Return a vehicle on two wheels that slides on its front, with a camera that looks ahead."""
    unlimited = Range(-inf, inf)
    limited = Range(-20.0, 20.0)
    wheels = [
        wheel(name, [-0.1, y, 0.0], id=i, velocity=limited, position=unlimited)
        for i, (name, y) in enumerate((("LEFT", 0.2), ("RIGHT", -0.2)))
    ]
    body = vehicle(*wheels, pose=Pose(p=[0, 0, 0.1]))
    root = replace(body.root, mass=5.0, inertia=np.diag([0.05, 0.08, 0.1]))
    ahead = Pose(R=[[0, 0, -1], [-1, 0, 0], [0, 1, 0]], p=[0.2, 0, 0.1])
    camera = Camera(name="eye", link="CHASSIS", X_LS=ahead, width=32, height=24, frame_rate=25.0)
    rims = [replace(x, inertia=np.diag([0.003, 0.005, 0.003])) for x in body.links[1:]]
    return replace(body, links=(root, *rims), devices=(camera,))


def cart_world() -> WorldConfig:
    """Return the cart in the room."""
    room = Placement(name="room", body=load_body(MODELS / "room.body"), fixed=True)
    robot = Placement(name="cart", body=cart(), X_WL=Pose(p=[0, 0, 0.1]))
    return WorldConfig(bodies=(BodyEntry(placement=room), BodyEntry(placement=robot)))


def turned(sim, rng):
    """Start with other joint positions."""
    sim.placements.set_joint_positions("arm", {"J1": rng.uniform(-1.0, 1.0)})


ARM = {"world": "arm", "sensors": ["wrist_force"], "randomize": turned}
HUMANOID = {
    "world": "humanoid_in_room",
    "actions": "effort",
    "observations": ["q", "dq", "base_pose", "base_velocity"],
    "sensors": ["gyro", "left_foot_force", "scanner"],
}
QUICK = {**HUMANOID, "world": load_world("humanoid_in_room").with_physics(solver=Solver.QUICK)}
CART = {"world": cart_world(), "actions": "velocity", "sensors": ["eye"]}
KINDS = {"arm": ARM, "humanoid": HUMANOID, "quick": QUICK, "cart": CART}


def make(kind: str, **options):
    """Return an environment of one of the kinds."""
    from hrp_sim.lab.gym import RobotEnv

    return RobotEnv(**{**KINDS[kind], **options})


def makers(kind: str, count: int):
    """Return functions that make environments."""
    return [partial(make, kind)] * count


def rollout(env, seed: int, steps: int = 5):
    """Return the observations and rewards of random actions that depend on the seed alone."""
    env.action_space.seed(seed)
    observation, _ = env.reset(seed=seed)
    found = [(observation, 0.0)]
    for _ in range(steps):
        observation, reward, *_ = env.step(env.action_space.sample())
        found.append(({k: v.copy() for k, v in observation.items()}, reward))
    return found


def as_bytes(found) -> bytes:
    """Return observations and rewards as bytes, for comparisons to the last bit."""
    return b"".join(
        np.ascontiguousarray(value).tobytes()
        for observation, reward in found
        for value in (*(observation[key] for key in sorted(observation)), np.float64(reward))
    )
