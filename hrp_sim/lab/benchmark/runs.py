"""Timed simulations: by parts of a step, as a whole, by pairs of links; and how vehicles turn."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from math import atan2, cos, inf, sin, tau
from statistics import median
from time import process_time
from typing import cast

import numpy as np

from hrp_model import Diagnostic, Diagnostics, Severity
from hrp_model.diagnostics import listed
from hrp_model.frames import level_scans
from hrp_model.kinematics.drive import drive_limits
from hrp_model.kinematics.vehicle import vehicle_drive
from hrp_model.kinematics.wheels import root_poses
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array

from ...control import vehicle_command
from ...engine.articulation.flatten import flatten
from ...engine.engine import Engine, PhysicsError, make_ode_engine
from ...engine.state import PairCost
from ...simulation import Simulation
from ...world.advice import advise_costs
from ...world.config import BodyEntry, WorldConfig
from ...world.load import alone_on_floor

_NO_SENSOR = ""
_Pair = tuple[tuple[str, str], tuple[int, int]]


class _TimedEngine:
    """An engine that measures the time of its steps; everything else is delegated."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.seconds = 0.0

    def step(self, count: int = 1) -> None:
        start = process_time()
        self._engine.step(count)
        self.seconds += process_time() - start

    def __getattr__(self, name: str) -> object:
        return getattr(self._engine, name)


class ProfiledRun:
    """A simulation with its sensors, whose steps are timed part by part.

    Args:
        world: The world.
        diagnostics: Receives warnings about its sensors.

    Attributes:
        simulation: The simulation.
        steps: Number of steps measured.
        contacts: Sum of the contact points of these steps.
        readings: Number of readings by sensor.

    Raises:
        PhysicsError: The world cannot be simulated.
    """

    def __init__(self, world: WorldConfig, diagnostics: Diagnostics) -> None:
        self._engine = _TimedEngine(make_ode_engine(world.physics))
        engine = cast(Engine, self._engine)
        self.simulation = Simulation(world, engine=engine, diagnostics=diagnostics)
        self.simulation.wanted = self._begin_sensor
        self._sensor, self._since = _NO_SENSOR, 0.0
        self.clear()

    def clear(self) -> None:
        """Discard the measurements."""
        self.steps = self.contacts = 0
        self.readings = Counter[str]()
        self._seconds: dict[str, float] = defaultdict(float)
        self._engine.seconds = 0.0

    def advance(self, steps: int) -> None:
        """Step.

        Raises:
            PhysicsError: The physics fails.
        """
        step, engine = self.simulation.step, self.simulation.engine
        for _ in range(steps):
            self._sensor, self._since = _NO_SENSOR, process_time()
            readings = step()
            self._seconds[self._sensor] += process_time() - self._since
            self.readings.update(readings.keys())
            self.contacts += engine.contacts
        self.steps += steps

    @property
    def physics(self) -> float:
        """Time of the engine in all steps, in [s]."""
        return self._engine.seconds

    @property
    def control(self) -> float:
        """Time of commands, controllers and the schedule of sensors in all steps, in [s]."""
        return self._seconds[_NO_SENSOR] - self._engine.seconds

    @property
    def sensors(self) -> dict[str, float]:
        """Time of each sensor in all steps, in [s], by name."""
        return {name: self._seconds[name] for name in self.simulation.sensors}

    def _begin_sensor(self, name: str) -> bool:
        """Add the time since the last call to its sensor; called before a sensor is read."""
        now = process_time()
        self._seconds[self._sensor] += now - self._since
        self._sensor, self._since = name, now
        return True


class PlainRun:
    """A simulation without sensors, of which only the total time is measured.

    Args:
        world: The world.

    Attributes:
        error: Why the world cannot be simulated, or None.
    """

    def __init__(self, world: WorldConfig) -> None:
        self._time_step = world.physics.time_step
        self._times: list[float] = []  # of each slice, per simulated second
        self.error: PhysicsError | None = None
        self._simulation: Simulation | None = None
        try:
            silent = Diagnostics.silent()
            self._simulation = Simulation(world, defer_images=True, diagnostics=silent)
            self._simulation.wanted = lambda _: False
        except PhysicsError as error:
            self.error = error

    def advance(self, duration: float) -> None:
        """Simulate a slice of about this duration, in [s]; nothing after an error."""
        if self._simulation is None or self.error is not None:
            return
        duration = max(1, round(duration / self._time_step)) * self._time_step
        start = process_time()
        try:
            self._simulation.run(duration)
        except PhysicsError as error:
            self.error = error
        self._times.append((process_time() - start) / duration)

    def restart(self) -> None:
        """Go back to the start."""
        if self._simulation is not None:
            self._simulation.reset()

    def ratio_to(self, other: PlainRun) -> float | None:
        """Return the time of this run by that of another, or None after an error."""
        if self.error is not None or other.error is not None:
            return None
        return median(a / b for a, b in zip(self._times, other._times, strict=True))

    def close(self) -> None:
        """Free the engine."""
        if self._simulation is not None:
            self._simulation.close()


@dataclass(frozen=True, slots=True)
class PairTime:
    """Mean cost of two links per step.

    Attributes:
        links: Their names, with those of their bodies: "BODY/LINK".
        triangles: Number of triangles of each; 0 for primitives.
        contact_points: Number of contact points.
        time_per_step: Time of collision detection, in [s].
    """

    links: tuple[str, str]
    triangles: tuple[int, int]
    contact_points: float
    time_per_step: float


class PairRun:
    """A simulation that measures the cost of pairs of links in the last step of each slice.

    Args:
        world: The world.

    Raises:
        PhysicsError: It cannot be simulated.
    """

    def __init__(self, world: WorldConfig) -> None:
        self._world, self._engine = world, make_ode_engine(world.physics)
        silent = Diagnostics.silent()
        self._simulation = Simulation(
            world, engine=self._engine, defer_images=True, diagnostics=silent
        )
        self._simulation.wanted = lambda _: False
        self._placements = {entry.placement.name: entry.placement for entry in world.bodies}
        self._seconds: dict[_Pair, float] = defaultdict(float)
        self._contacts: Counter[_Pair] = Counter()
        self._samples = 0
        self._failed = False

    def advance(self, steps: int) -> None:
        """Simulate a slice; nothing after an error."""
        if self._failed:
            return
        try:
            for k in range(steps):
                is_last = k == steps - 1
                self._engine.record_contacts = self._engine.record_pair_costs = is_last
                self._simulation.step()
        except PhysicsError:
            self._failed = True
            return
        self._samples += 1
        for cost in self._engine.pair_costs():
            self._seconds[cost.bodies, cost.links] += cost.seconds
        points = self._engine.contact_points()
        for bodies, (a, b) in zip(points.bodies, points.links.tolist(), strict=True):
            self._contacts[bodies, (a, b)] += 1

    def restart(self) -> None:
        """Go back to the start."""
        self._simulation.reset()

    def times(self) -> Iterator[PairTime]:
        """Yield the mean cost of each pair that was examined, the most expensive first."""
        triangles = {name: self._triangles(name) for name in self._placements}
        for (bodies, links), seconds in sorted(self._seconds.items(), key=lambda x: -x[1]):
            (body_a, body_b), (a, b) = bodies, links
            yield PairTime(
                links=(self._link(body_a, a), self._link(body_b, b)),
                triangles=(triangles[body_a][a], triangles[body_b][b]),
                contact_points=self._contacts[bodies, links] / self._samples,
                time_per_step=seconds / self._samples,
            )

    def advice(self) -> list[Diagnostic]:
        """Return a warning if collision detection takes longer than a step."""
        costs = [
            PairCost(*pair, seconds / self._samples) for pair, seconds in self._seconds.items()
        ]
        return advise_costs(self._world, costs)

    def close(self) -> None:
        """Free the engine."""
        self._simulation.close()

    def _link(self, body: str, index: int) -> str:
        return f"{body}/{self._placements[body].body.links[index].name}"

    def _triangles(self, body: str) -> Counter[int]:
        """Return the number of triangles of each link of a body, by index."""
        geoms = flatten(self._placements[body], self._world.physics).geoms
        counts = geoms.first_triangle[1:] - geoms.first_triangle[:-1]
        found: Counter[int] = Counter()
        for link, count in zip(geoms.link.tolist(), counts.tolist(), strict=True):
            found[link] += count
        return found


_SPEED, _YAW_RATE = 0.3, 0.4  # of the test, in [m/s] and [rad/s]; or half of what motors can do
_START, _PERIOD, _PERIODS = 1.5, 0.1, 20  # [s]
# Deviations that controllers of vehicles do not correct well.
MAX_OFFSET = 0.05  # of the turn centre, in [m]
MAX_RATE_ERROR = 0.05
_MAX_LISTED = 8


@dataclass(frozen=True)
class Turning:
    """How a vehicle turned.

    Attributes:
        wanted: Yaw rate that was commanded, in [rad/s].
        rate: Mean yaw rate, in [rad/s].
        center: Where it does not move sideways, along the x axis of its root, in [m]; infinite if
            it did not turn.
    """

    wanted: float
    rate: float
    center: float


def measure_turning(entry: BodyEntry, world: WorldConfig) -> Turning:
    """Return how a vehicle turns on the spot, or as a car twice as wide as it can.

    Args:
        entry: The vehicle.
        world: The world, whose physics it has.

    Raises:
        PhysicsError: It cannot be simulated.
    """
    body = replace(entry.placement.body, devices=())
    limits = drive_limits(body)
    speed, rate = 0.0, min(_YAW_RATE, 0.5 * limits.yaw_rate)
    if not limits.kind.turns_on_the_spot:
        speed = min(_SPEED, 0.5 * limits.speed)
        rate = speed / (2.0 * limits.min_radius)
    alone = replace(alone_on_floor(body, Diagnostics.silent()), physics=world.physics)
    moves = []
    with Simulation(alone, diagnostics=Diagnostics.silent()) as simulation:
        name = next(name for name, b in simulation.bodies.items() if not simulation.is_fixed(name))
        motion = simulation.bodies[name].motion
        simulation.command(name, vehicle_command(body, speed, rate))
        simulation.run(_START)
        for _ in range(_PERIODS):
            before, yaw = motion.p[0, :2].copy(), _yaw(motion.R[0])
            simulation.run(_PERIOD)
            turn = (_yaw(motion.R[0]) - yaw + 0.5 * tau) % tau - 0.5 * tau
            dx, dy = motion.p[0, :2] - before
            middle = yaw + 0.5 * turn
            moves.append((cos(middle) * dy - sin(middle) * dx, turn))
    aside, turned = np.sum(moves, axis=0).tolist()
    measured = turned / (_PERIODS * _PERIOD)
    return Turning(rate, measured, -aside / turned if abs(measured) > 0.05 * rate else inf)


def _yaw(R: Array) -> float:
    return atan2(R[1, 0], R[0, 0])


def check_drives(world: WorldConfig) -> Iterator[Diagnostic]:
    """Yield what keeps vehicles of a world from being driven by planners such as Nav2.

    The measured motion is a note, or a warning if it differs from the commanded one.
    """
    movable = [e for e in world.bodies if not e.placement.fixed and e.placement.body.moving_links]
    vehicles = [e for e in world.bodies if not isinstance(vehicle_drive(e.placement.body), str)]
    vehicles = [entry for entry in vehicles if not entry.placement.fixed]
    if not vehicles:
        reasons = [f"'{e.placement.name}': {vehicle_drive(e.placement.body)}" for e in movable] or [
            "no body has joints and can move"
        ]
        message = f"the world has no vehicle ({listed(reasons, _MAX_LISTED)})"
        yield Diagnostic(Severity.ERROR, "no-vehicle", message)
    for entry in vehicles:
        name, body = entry.placement.name, entry.placement.body
        if not level_scans(body, root_poses(body)):
            message = f"'{name}' has no planar range sensor whose scan is level, as Nav2 needs"
            yield Diagnostic(Severity.WARNING, "no-level-scan", message)
        yield from _turns(name, measure_turning(entry, world))


def _turns(name: str, found: Turning) -> Iterator[Diagnostic]:
    error = found.rate / found.wanted - 1.0
    rate = f"'{name}' turns at {found.rate:.3f} rad/s of {found.wanted:.3f} ({error:+.1%})"
    severity = Severity.WARNING if abs(error) > MAX_RATE_ERROR else Severity.NOTE
    yield Diagnostic(severity, "turn-rate", f"{rate}, alone on a level floor")
    center = f"'{name}' turns about a point {abs(found.center):.3f} m "
    center += "ahead of" if found.center > 0.0 else "behind"
    severity = Severity.WARNING if abs(found.center) > MAX_OFFSET else Severity.NOTE
    if found.center != inf:
        yield Diagnostic(severity, "turn-center", f"{center} its root")
