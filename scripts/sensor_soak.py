"""A robot with a sensor of each kind, each of whose readings is checked; see soak.py."""

from __future__ import annotations

import queue
from functools import partial
from math import pi

import numpy as np

from hrp_model import Body, Link, Pose
from hrp_model.body import Joint, JointType
from hrp_model.devices import (
    AccelerationSensor,
    Camera,
    Device,
    ForceSensor,
    ImageType,
    RangeSensor,
    RateGyroSensor,
)
from hrp_model.geometry import Box, Shape
from hrp_sim.control import ControlMode, ControlSettings, JointCommand
from hrp_sim.physics.engine import Placement
from hrp_sim.physics.schedule import NS_PER_S
from hrp_sim.running.render_thread import RenderThread
from hrp_sim.sensors import ImageReading, RenderRequest
from hrp_sim.simulation import Simulation
from hrp_sim.world.config import BodyEntry, WorldConfig

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
    head = Link(
        name="HEAD",
        parent="BASE",
        joint=Joint(type=JointType.REVOLUTE, name="HEAD", id=0, axis=np.array([0.0, 0.0, 1.0])),
        X_PL=Pose(p=np.array([0.0, 0.0, 0.5])),
        mass=1.0,
        inertia=np.eye(3) * 0.01,
        collision=(Shape(Box(np.full(3, 0.1))),),
        visual=(Shape(Box(np.full(3, 0.1))),),
    )
    robot = Body(
        name="robot",
        links=(Link(name="BASE", parent=None, joint=_fixed("BASE")), head),
        devices=_devices(),
    )
    control = ControlSettings(mode=ControlMode.VELOCITY)
    rates = {name: {"rate": float(rate)} for name, rate in RATES.items()}
    walls = np.array([[0.0, 0.0, -0.5, 9.0, 9.0, 1.0], [2.0, 0.5, 0.5, 0.1, 1.0, 1.0]])
    return WorldConfig(
        bodies=(
            BodyEntry(
                placement=Placement(name="robot", body=robot, fixed=True),
                control=control,
                sensors=rates,
            ),
            *(_box(f"box{i}", row[:3], row[3:]) for i, row in enumerate(walls)),
        )
    )


def _devices() -> tuple[Device, ...]:
    # Looks along +X of the head, with +Z up.
    R = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    ahead = Pose(R, np.array([0.06, 0.0, 0.0]))
    return (
        RateGyroSensor(name="gyro", link="HEAD"),
        AccelerationSensor(name="accelerometer", link="HEAD"),
        ForceSensor(name="force", link="HEAD"),
        RangeSensor(name="scanner", link="HEAD", X_LS=ahead, yaw_range=pi, yaw_step=pi / 60),
        Camera(
            name="camera",
            link="HEAD",
            X_LS=ahead,
            image_type=ImageType.COLOR_DEPTH,
            width=64,
            height=48,
        ),
    )


def _box(name: str, p: np.ndarray, size: np.ndarray) -> BodyEntry:
    shape = Shape(Box(size))
    link = Link(name=name, parent=None, joint=_fixed(name), collision=(shape,), visual=(shape,))
    body = Body(name=name, links=(link,))
    return BodyEntry(placement=Placement(name=name, body=body, X_WL=Pose(p=p), fixed=True))


def _fixed(name: str) -> Joint:
    return Joint(type=JointType.FIXED, name=name)
