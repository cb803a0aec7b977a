"""A robot on a floor in Bullet, from the URDF that this package exports.

Time step, gravity, floor, friction, masses, limits and pairs of links are those of our world.
Bullet has no rotors, and holds joints by motors of its own, which are as strong as our servos.
"""

from __future__ import annotations

import tempfile
import time
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from hrp_model.rigid import matrix_quaternion
from hrp_sim.engine.state import SimulatedBody
from hrp_sim.world.config import WorldConfig

from .mujoco_twin import (
    TwinError,
    export,
    floor_height,
    library,
    only_moving,
    pairs_apart,
    plain,
)


class BulletTwin:
    """The only moving body of a world, in Bullet.

    Args:
        world: One body that moves, and a floor.
        simulated: That body in our engine: joints whose servo has gains are held.

    Raises:
        TwinError: PyBullet is not installed, or cannot simulate the same.
    """

    def __init__(self, world: WorldConfig, simulated: SimulatedBody) -> None:
        pybullet = library("pybullet", "PyBullet")
        placement, floor = only_moving(world), floor_height(world)
        self._bullet = pybullet
        self._client = pybullet.connect(pybullet.DIRECT)
        with tempfile.TemporaryDirectory(prefix="bullet-twin-") as folder:
            urdf, frames = export(plain(placement.body), Path(folder))
            try:
                self._robot = self._do(
                    "loadURDF",
                    str(urdf),
                    basePosition=placement.X_WL.p,
                    baseOrientation=matrix_quaternion(placement.X_WL.R),
                    useFixedBase=placement.fixed,
                    flags=pybullet.URDF_USE_INERTIA_FROM_FILE | pybullet.URDF_USE_SELF_COLLISION,
                )
            except pybullet.error as error:
                raise TwinError(f"Bullet cannot load the URDF: {error}") from None
        count = self._do("getNumJoints", self._robot)
        infos = [self._do("getJointInfo", self._robot, number) for number in range(count)]
        bodies = {info[12].decode(): info[0] for info in infos}  # by the names of links
        bodies[self._do("getBodyInfo", self._robot)[0].decode()] = -1
        joints = {info[1].decode(): info[0] for info in infos}
        self._set_world(world, floor, range(-1, count))
        for pair in pairs_apart(placement, world.physics, simulated.overlapping):
            one, other = (bodies[frames.links[name]] for name in pair)
            self._do("setCollisionFilterPair", self._robot, self._robot, one, other, 0)
        for link, q, kp in zip(
            placement.body.moving_links, placement.initial_q, simulated.drive.kp, strict=True
        ):
            joint, upper = joints[frames.joints[link.name]], link.joint.effort_limits[1]
            strength = (upper if np.isfinite(upper) else _STRONG) if kp > 0.0 else 0.0
            self._do("resetJointState", self._robot, joint, q)
            motor = {"targetPosition": q, "force": strength}
            self._do(
                "setJointMotorControl2", self._robot, joint, pybullet.POSITION_CONTROL, **motor
            )

    def _set_world(self, world: WorldConfig, floor: float | None, links: range) -> None:
        physics = world.physics
        self._do("setTimeStep", physics.time_step)
        self._do("setGravity", *physics.gravity)
        # Bullet multiplies the coefficients of a pair.
        surface = {"lateralFriction": sqrt(physics.friction)}
        free = {"linearDamping": 0.0, "angularDamping": 0.0}
        for link in links:
            self._do("changeDynamics", self._robot, link, **surface, **free)
        if floor is not None:
            shape = self._do("createCollisionShape", self._bullet.GEOM_PLANE)
            body = self._do("createMultiBody", 0.0, shape, basePosition=[0.0, 0.0, floor])
            self._do("changeDynamics", body, -1, **surface)

    def _do(self, name: str, *args: object, **options: object) -> Any:
        """Call a function of PyBullet in this world."""
        return getattr(self._bullet, name)(*args, **options, physicsClientId=self._client)

    def advance(self, steps: int) -> float:
        """Take steps, one a call; return their CPU time, in [s]."""
        step, client = self._bullet.stepSimulation, self._client
        start = time.thread_time()
        for _ in range(steps):
            step(client)
        return time.thread_time() - start

    @property
    def contacts(self) -> int:
        """Number of contact points in the last step."""
        return len(self._depths())

    def depth(self) -> float:
        """Return the depth of the deepest contact of the last step, in [m]."""
        return max(self._depths(), default=0.0)

    def _depths(self) -> list[float]:
        # Bullet keeps points that are near; those that touch have a normal force.
        return [-point[8] for point in self._do("getContactPoints") if point[9] > 0.0]

    def close(self) -> None:
        """Free the world."""
        self._do("disconnect")


_STRONG = 1e6  # [N m, N], of joints whose effort has no limit
