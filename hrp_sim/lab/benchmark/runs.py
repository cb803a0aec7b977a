"""Timed simulations: one that is profiled part by part, and others that are compared with it."""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import median
from time import perf_counter
from typing import cast

from hrp_model import Diagnostics

from ...engine.engine import Engine, PhysicsError
from ...engine.engines import make_ode_engine
from ...simulation import Simulation
from ...world.config import WorldConfig

_NO_SENSOR = ""


class _TimedEngine:
    """An engine that measures the time of its steps; everything else is delegated."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.seconds = 0.0

    def step(self, count: int = 1) -> None:
        start = perf_counter()
        self._engine.step(count)
        self.seconds += perf_counter() - start

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
            self._sensor, self._since = _NO_SENSOR, perf_counter()
            readings = step()
            self._seconds[self._sensor] += perf_counter() - self._since
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
        now = perf_counter()
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
        start = perf_counter()
        try:
            self._simulation.run(duration)
        except PhysicsError as error:
            self.error = error
        self._times.append((perf_counter() - start) / duration)

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
