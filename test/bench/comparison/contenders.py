"""Implementations that step the same scene, each timed in CPU time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from hrp_model import Diagnostics, JointType
from hrp_sim.control import BodyController, JointCommand
from hrp_sim.engine.engine import Engine, PhysicsError, PhysicsSettings, make_engine
from hrp_sim.sensors import RangeSensor, RangeSensor3D
from hrp_sim.simulation import Simulation

from .scenes import Scene


class Contender(Protocol):
    """One implementation of a scene."""

    def advance(self, steps: int) -> float:
        """Take steps (or scans, or images); return the time they took, in [s]."""

    def close(self) -> None:
        """Free its resources."""


@runtime_checkable
class Touching(Protocol):
    """A contender whose contacts are counted.

    Attributes:
        contacts: Number of contact points in the last step.
    """

    @property
    def contacts(self) -> int: ...

    def depth(self) -> float:
        """Return the depth of the deepest contact, of the last step or one more, in [m]."""


class BenchError(RuntimeError):
    """The comparison is impossible or invalid; the message states the reason."""


class EngineUnavailableError(RuntimeError):
    """An engine is not installed, or does not support the scene."""


class EngineRun:
    """The physics engine alone.

    Args:
        scene: The world and the speed of its tracks.
        at_once: Whether one call takes all steps, instead of one call per step.
        engine: Name of the engine.

    Raises:
        PhysicsError: ODE does not support the scene.
        EngineUnavailableError: Another engine is not installed, or does not support it.
    """

    def __init__(self, scene: Scene, *, at_once: bool = False, engine: str = "ode") -> None:
        self._at_once = at_once
        physics = scene.world.physics
        self.engine = (make_engine if engine == "ode" else _optional_engine)(engine, physics)
        try:
            add_bodies(self.engine, scene)
        except PhysicsError as error:
            self.engine.close()
            if engine == "ode":
                raise
            raise EngineUnavailableError(str(error)) from None
        self.engine.reset()
        self.engine.step(round(scene.settling / physics.time_step))
        if scene.settling and any(
            body.motion.v.any() for body in self.engine.state.bodies.values()
        ):
            raise BenchError(f"not all bodies of '{scene.name}' sleep after {scene.settling:g} s")

    def advance(self, steps: int) -> float:
        """Step; every call leaves the state in the arrays of the bodies."""
        step = self.engine.step
        start = time.thread_time()
        if self._at_once:
            step(steps)
        else:
            for _ in range(steps):
                step()
        return time.thread_time() - start

    @property
    def contacts(self) -> int:
        """Number of contact points in the last step."""
        return self.engine.contacts

    def depth(self) -> float:
        """Return the depth of the deepest contact of one more step, in [m]."""
        return _depth(self.engine, self.engine.step)

    def close(self) -> None:
        """Free the engine."""
        self.engine.close()


class SimulationRun:
    """``Simulation.step()``: controllers, engine, and the sensors that are due.

    Args:
        scene: The world and the speed of its tracks.
        reads: Whether sensors are read.
    """

    def __init__(self, scene: Scene, *, reads: bool = True) -> None:
        silent = Diagnostics.silent()
        self.simulation = Simulation(scene.world, defer_images=True, diagnostics=silent)
        if not reads:
            self.simulation.wanted = lambda _: False
        for entry in scene.world.bodies:
            names = [x.joint.name for x in entry.placement.body.links if _is_track(x.joint.type)]
            if names:
                speeds = [scene.track_speed] * len(names)
                self.simulation.command(
                    entry.placement.name, JointCommand(names=names, velocity=speeds)
                )

    @property
    def contacts(self) -> int:
        """Number of contact points in the last step."""
        return self.simulation.engine.contacts

    def depth(self) -> float:
        """Return the depth of the deepest contact of one more step, in [m]."""
        return _depth(self.simulation.engine, self.simulation.step)

    def advance(self, steps: int) -> float:
        """Step, and read the sensors that are due."""
        step = self.simulation.step
        start = time.thread_time()
        for _ in range(steps):
            step()
        return time.thread_time() - start

    def close(self) -> None:
        """Free the engine."""
        self.simulation.close()


class ScannerRun:
    """Scans by a range sensor of a simulation, one after every step; only scans are timed."""

    def __init__(self, scene: Scene) -> None:
        self.simulation = Simulation(scene.world)
        sensors = self.simulation.sensors.values()
        self.sensor = next(x for x in sensors if isinstance(x, RangeSensor | RangeSensor3D))

    def advance(self, steps: int) -> float:
        """Step and scan."""
        return sum(self._scan_after_step() for _ in range(steps))

    def close(self) -> None:
        """Free the engine."""
        self.simulation.close()

    def _scan_after_step(self) -> float:
        self.simulation.engine.step()
        start = time.thread_time()
        self.sensor.read(self.simulation.state)
        return time.thread_time() - start


def add_bodies(engine: Engine, scene: Scene) -> None:
    """Add the bodies of a scene to an engine, driven as their control settings require."""
    for entry in scene.world.bodies:
        placement = entry.placement
        simulated = engine.add_body(placement)
        if not placement.body.is_static:
            q, fixed = placement.initial_q, placement.fixed
            BodyController(simulated, entry.control, q, fixed=fixed)
        for i, link in enumerate(placement.body.links):
            if _is_track(link.joint.type):
                simulated.drive.track_speed[i] = scene.track_speed


def _depth(engine: Engine, step: Callable[[], object]) -> float:
    engine.record_contacts = True
    step()
    deepest = float(engine.contact_points().depth.max(initial=0.0))
    engine.record_contacts = False
    return deepest


def _is_track(joint_type: JointType) -> bool:
    return joint_type is JointType.TRACK


def _optional_engine(name: str, settings: PhysicsSettings) -> Engine:
    """Make an engine that may not be installed."""
    try:
        return make_engine(name, settings)
    except PhysicsError as error:
        raise EngineUnavailableError(str(error)) from None
