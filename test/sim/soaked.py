"""What is done again and again to see whether anything grows: bodies, steps and sensors."""

from __future__ import annotations

import queue
from dataclasses import replace
from functools import partial
from math import pi

import numpy as np
from sim.physics.scenes import PRISMATIC, REVOLUTE, TRACK, Y, at, child, fixed, floor, placed, root

from hrp_model import Body, Pose
from hrp_model import devices as d
from hrp_model.body import ExtraJoint, ExtraJointType, JointType
from hrp_model.geometry import Box, Capsule, Cylinder, Mesh, Sphere
from hrp_sim.control import ControlMode, ControlSettings, JointCommand
from hrp_sim.engine.engine import PhysicsSettings, Placement, Solver
from hrp_sim.engine.ode import OdeEngine
from hrp_sim.engine.schedule import NS_PER_S
from hrp_sim.run.samplers import RenderThread
from hrp_sim.sensors import ImageReading, RenderRequest
from hrp_sim.simulation import Simulation
from hrp_sim.world.config import BodyEntry, WorldConfig

ALIVE = 6  # bodies in the world at a time, besides the floor
TETRAHEDRON = Mesh(
    vertices=np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]]) - 0.025,
    triangles=np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], dtype=np.int32),
)
# Rates of the sensors by name, in [Hz]. Steps of 1 ms are no multiples of 30 and 400 Hz.
RATES = {
    "joint_states": 500,
    "odometry": 100,
    "gyro": 400,
    "force": 500,
    "scanner": 40,
    "camera": 30,
}
PATIENCE = 60.0  # [s] that a picture may take
SPEED = 1.0  # [rad/s], of the head


def bodies() -> list[Body]:
    """Return one body of each kind that is added and removed."""
    mesh = root("MESH", free=True, collision=(placed(TETRAHEDRON),))
    return [
        *(_box(), _arm(), *map(_loop, ExtraJointType)),
        *(_tracks(), Body(name="mesh", links=(mesh,))),
    ]


def _box() -> Body:
    shape = placed(Box(np.full(3, 0.1)))
    return Body(name="box", links=(root("BOX", free=True, collision=(shape,)),))


def _arm() -> Body:
    links = [root(free=True, collision=(placed(Sphere(0.05)),))]
    options = {"X_PL": at(0.2), "rotor": 0.01, "collision": (placed(Capsule(0.03, 0.1)),)}
    for k, kind in enumerate((REVOLUTE, PRISMATIC, REVOLUTE)):
        links.append(child(f"L{k}", links[-1].name, kind, Y, **options))
    return Body(name="arm", links=tuple(links), devices=(d.ForceSensor(name="f", link="L2"),))


def _loop(kind: ExtraJointType) -> Body:
    """Two arms on one base with connected ends."""
    arms = [
        child(side, "BASE", REVOLUTE, Y, X_PL=at(y=y), rotor=0.01)
        for side, y in (("LEFT", 0.1), ("RIGHT", -0.1))
    ]
    tie = ExtraJoint(type=kind, links=("LEFT", "RIGHT"), X_BJ=at(y=0.2))
    links = (root(free=True), *arms)
    return Body(name=f"loop_{kind.value}", links=links, extra_joints=(tie,))


def _tracks() -> Body:
    links = [root("HULL", free=True, collision=(placed(Box(np.array([0.4, 0.2, 0.1]))),))]
    for side, y in (("LEFT", 0.15), ("RIGHT", -0.15)):
        shape = placed(Cylinder(0.08, 0.05))
        links.append(child(side, "HULL", TRACK, Y, X_PL=at(y=y), collision=(shape,)))
    return Body(name="tracks", links=tuple(links))


class Cycles:
    """Each call adds a body to a world, steps, and removes one when there are enough.

    From time to time one is moved, or the world is reset, or saved and restored.
    """

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._bodies = bodies()
        self._alive: list[Placement] = []
        self._made = 0
        self._engine = OdeEngine(PhysicsSettings())
        self._engine.add_body(floor())

    def __call__(self) -> None:
        """Add a body, and remove one when there are enough."""
        engine, rng = self._engine, self._rng
        body = self._bodies[rng.integers(len(self._bodies))]
        fixed = bool(rng.random() < 0.1)
        placed = Placement(
            name=f"{body.name}{self._made}", body=body, X_WL=self._pose(), fixed=fixed
        )
        engine.add_body(placed).drive.track_speed[:] = [
            0.1 if link.joint.type is JointType.TRACK else 0.0 for link in body.links
        ]
        self._made += 1
        self._alive.append(placed)
        engine.step()
        if len(self._alive) > ALIVE:
            engine.remove_body(self._alive.pop(rng.integers(len(self._alive))).name)
        if self._made % 3 == 0:
            engine.reset()
        elif self._made % 4 == 0:
            moved = self._alive[rng.integers(len(self._alive))]
            engine.move_body(replace(moved, X_WL=self._pose()))
        elif self._made % 5 == 0:
            saved = engine.save()
            engine.step()
            engine.restore(saved)

    def _pose(self) -> Pose:
        return Pose(p=self._rng.uniform([-2.0, -2.0, 0.0], [2.0, 2.0, 1.0]))


class Steps:
    """Each call takes many steps of a box, an arm and a tracked vehicle on a floor.

    A failed step, which is a defect, ends the run.
    """

    BATCH = 100

    def __init__(self, solver: Solver = Solver.WORLD) -> None:
        self._engine = OdeEngine(PhysicsSettings(solver=solver))
        self._engine.add_body(floor())
        for k, body in enumerate((_box(), _arm(), _tracks())):
            self._engine.add_body(Placement(name=body.name, body=body, X_WL=at(0.0, k, 0.3)))

    def __call__(self) -> None:
        """Take the steps."""
        self._engine.step(self.BATCH)


class WrongSampleError(Exception):
    """A sample is mistimed, repeated or missing."""


class Sensors:
    """Each call simulates a second in which the head turns, and checks the stamps of all readings.

    Each image is awaited before the next is requested, so that none is dropped.

    Attributes:
        counts: Number of readings so far, by sensor; without OpenGL there is no camera.
    """

    def __init__(self) -> None:
        self._simulation = Simulation(_world(), defer_images=True)
        self._simulation.command("robot", JointCommand(names=["HEAD"], velocity=[SPEED]))
        self._step_ns = self._simulation.engine.settings.step_ns
        self.counts = dict.fromkeys(self._simulation.sensors, 0)
        self._images: queue.SimpleQueue[tuple[str, ImageReading]] = queue.SimpleQueue()
        self._is_rendering = False
        self._render_thread = RenderThread(lambda *image: self._images.put(image))

    def __call__(self) -> None:
        """Simulate one second.

        Raises:
            WrongSampleError: A reading has a wrong stamp, or is missing.
        """
        simulation = self._simulation
        for _ in range(NS_PER_S // self._step_ns):
            for name, reading in simulation.step().items():
                if isinstance(reading, RenderRequest):
                    self._request_image(name, reading)
                else:
                    self._count(name, reading.time_ns)
        self._take_image()
        seconds = simulation.state.time_ns // NS_PER_S
        for name, count in self.counts.items():
            if count != RATES[name] * seconds:
                raise WrongSampleError(f"{name}: {count} samples in {seconds} s")

    def close(self) -> None:
        """End the render thread and free the engine."""
        self._render_thread.close()
        self._simulation.close()

    def _count(self, name: str, time_ns: int) -> None:
        self.counts[name] += 1
        exact = self.counts[name] * NS_PER_S, RATES[name] * self._step_ns
        due_ns = -(-exact[0] // exact[1]) * self._step_ns  # the first step at or after it
        if time_ns != due_ns:
            raise WrongSampleError(
                f"{name}: sample {self.counts[name]} is of {time_ns} ns, not of {due_ns} ns"
            )

    def _request_image(self, name: str, request: RenderRequest) -> None:
        self._take_image()
        camera = self._simulation.sensors[name]
        self._render_thread.submit(name, partial(camera.render, request))
        self._is_rendering = True

    def _take_image(self) -> None:
        """Wait for the image being rendered, if there is one."""
        if self._is_rendering:
            name, image = self._images.get(timeout=PATIENCE)
            self._count(name, image.time_ns)
            self._is_rendering = False


def _world() -> WorldConfig:
    """Return a robot with a turning head on a floor, and a wall."""
    # Looks along +X of the head, with +Z up.
    R = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    ahead, image = {"link": "HEAD", "X_LS": at(0.06, R=R)}, d.ImageType.COLOR_DEPTH
    devices = (
        d.RateGyroSensor(name="gyro", link="HEAD"),
        d.AccelerationSensor(name="accelerometer", link="HEAD"),
        d.ForceSensor(name="force", link="HEAD"),
        d.RangeSensor(name="scanner", yaw_range=pi, yaw_step=pi / 60, **ahead),
        d.Camera(name="camera", image_type=image, width=64, height=48, **ahead),
    )
    shapes = (placed(Box(np.full(3, 0.1))),)
    head = child("HEAD", "BASE", REVOLUTE, X_PL=at(z=0.5), id=0, collision=shapes, visual=shapes)
    robot = Body(name="robot", links=(root(mass=0.0), head), devices=devices)
    side = (placed(Box(np.array([0.1, 1.0, 1.0]))),)
    wall = Body(name="wall", links=(root("WALL", collision=side, visual=side),))
    things = floor(), fixed(wall, at(2.0, 0.5, 0.5))
    rates = {name: {"rate": float(rate)} for name, rate in RATES.items()}
    control = ControlSettings(mode=ControlMode.VELOCITY)
    entry = BodyEntry(placement=fixed(robot), control=control, sensors=rates)
    return WorldConfig(bodies=(entry, *(BodyEntry(placement=thing) for thing in things)))
