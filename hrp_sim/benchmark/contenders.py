"""Those who take turns: each steps the same scene and tells the CPU time that it took."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Protocol

import numpy as np

from hrp_model import JointType
from hrp_model.rigid import Array

from ..control import BodyController, JointCommand
from ..engines import make_engine
from ..physics.engine import Engine, PhysicsError, PhysicsSettings
from ..sensors import RangeSensor, RangeSensor3D
from ..simulation import Simulation
from .plain_c import PlainC
from .scenes import Scene


class Contender(Protocol):
    """One way to step a scene."""

    def advance(self, steps: int) -> float:
        """Take steps, or scans; return their CPU time, in [s]."""

    def close(self) -> None:
        """Free what it holds."""


class EngineMissingError(RuntimeError):
    """An engine is not there, or cannot take the scene."""


class EngineRun:
    """The engine alone.

    Args:
        scene: The world and how its tracks run.
        at_once: Whether one call takes all steps, or each step is a call.
        engine: Its name.

    Raises:
        PhysicsError: ODE cannot take the scene.
        EngineMissingError: Another engine is not installed, or cannot take it.
    """

    def __init__(self, scene: Scene, *, at_once: bool = False, engine: str = "ode") -> None:
        self._at_once = at_once
        physics = scene.world.physics
        self.engine = (make_engine if engine == "ode" else _other_engine)(engine, physics)
        try:
            add_bodies(self.engine, scene)
        except PhysicsError as error:
            self.engine.close()
            if engine == "ode":
                raise
            raise EngineMissingError(str(error)) from None
        self.engine.reset()

    def advance(self, steps: int) -> float:
        """Step; the state is in the arrays of the bodies after every call."""
        step = self.engine.step
        start = time.thread_time()
        if self._at_once:
            step(steps)
        else:
            for _ in range(steps):
                step()
        return time.thread_time() - start

    def positions(self) -> Array:
        """Return the positions of all links of all bodies, in [m], shape (n, 3)."""
        return np.concatenate([s.motion.p for s in self.engine.state.bodies.values()])

    def close(self) -> None:
        """Free the engine."""
        self.engine.close()


class SimulationRun:
    """``Simulation.step()``: controllers, engine, and the sensors that are due."""

    def __init__(self, scene: Scene) -> None:
        self._simulation = Simulation(scene.world)
        for entry in scene.world.bodies:
            names = [x.joint.name for x in entry.placement.body.links if _is_track(x.joint.type)]
            if names:
                speeds = [scene.track_speed] * len(names)
                self._simulation.command(
                    entry.placement.name, JointCommand(names=names, velocity=speeds)
                )

    def advance(self, steps: int) -> float:
        """Step, and read what is due."""
        step = self._simulation.step
        start = time.thread_time()
        for _ in range(steps):
            step()
        return time.thread_time() - start

    def close(self) -> None:
        """Free the engine."""
        self._simulation.close()


class ScannerRun:
    """Scans by a sensor of a simulation, one after every step; only they are timed."""

    def __init__(self, scene: Scene) -> None:
        self._simulation = Simulation(scene.world)
        sensors = self._simulation.sensors.values()
        self.sensor = next(x for x in sensors if isinstance(x, RangeSensor | RangeSensor3D))

    def advance(self, steps: int) -> float:
        """Step and scan."""
        taken = 0.0
        for _ in range(steps):
            self._simulation.engine.step()
            start = time.thread_time()
            self.sensor.read(self._simulation.state)
            taken += time.thread_time() - start
        return taken

    def distances(self) -> Array:
        """Return what the rays meet as the world is now, in [m], shape (n,)."""
        scan = self.sensor.read(self._simulation.state)
        assert scan is not None  # its scans take no time
        return scan.ranges.ravel()

    def rays(self) -> tuple[Array, Array, float, str]:
        """Return origins and directions in W, shape (n, 3), the reach in [m], and the body."""
        asked: list[tuple[Array, Array, float, str]] = []

        def listen(
            origins: Array,
            directions: Array,
            reach: float,
            body: str | None = None,
            _link: int | None = None,
            /,
        ) -> Array:
            asked.append((origins, directions, reach, body or ""))
            return np.zeros(len(origins))

        replace(self.sensor, cast_rays=listen).read(self._simulation.state)
        return asked[0]

    def close(self) -> None:
        """Free the engine."""
        self._simulation.close()


class PlainScannerRun:
    """The same scans by the plain C program."""

    def __init__(self, plain: PlainC) -> None:
        self._plain = plain

    def advance(self, steps: int) -> float:
        """Step and scan."""
        return self._plain.scan(steps)

    def close(self) -> None:
        """End the program."""
        self._plain.close()


def add_bodies(engine: Engine, scene: Scene) -> None:
    """Put a scene's bodies into an engine and drive them as their settings say."""
    for entry in scene.world.bodies:
        placement = entry.placement
        simulated = engine.add_body(placement)
        if not placement.body.is_static:
            q, fixed = placement.initial_q, placement.fixed
            BodyController(simulated, entry.control, q, fixed=fixed)
        for i, link in enumerate(placement.body.links):
            if _is_track(link.joint.type):
                simulated.drive.track_speed[i] = scene.track_speed


def _is_track(kind: JointType) -> bool:
    return kind is JointType.TRACK


def _other_engine(name: str, settings: PhysicsSettings) -> Engine:
    """Make an engine that need not be there."""
    try:
        return make_engine(name, settings)
    except PhysicsError as error:
        raise EngineMissingError(str(error)) from None
