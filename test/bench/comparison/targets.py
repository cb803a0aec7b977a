"""Targets of the comparison."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from hrp_sim.physics.engine import Solver


class Measured(Enum):
    """The implementation that a row measures."""

    ENGINE = "engine, 1 step a call"
    AT_ONCE = "engine, many a call"
    SIMULATION = "Simulation, sensors read"
    PYODE = "pyode, 1 step a call"
    ENGINE_STICKING = "engine, predict_sticking"
    SIMULATION_STICKING = "Simulation, predict_sticking"
    SCAN = "RangeSensor.read()"
    PLAIN = "plain C, state read"
    PLAIN_AT_ONCE = "plain C, nothing read"
    PLAIN_SCAN = "plain C"
    ORIGINAL = "like Choreonoid's ODE plugin"
    CAMERA = "CameraSensor.read()"
    PLAIN_MODERNGL = "plain moderngl"
    FILMED = "Simulation, filmed"
    UNFILMED = "Simulation, not filmed"
    SAMPLES = "ImuSensor, ForceSensor .read()"
    NUMPY_SAMPLES = "the formulas in numpy"


class Quantity(Enum):
    """The quantity of a row that a target bounds."""

    RATIO = "ratio"
    TO_ORIGINAL = "ratio to the original"
    TIME = "us"
    SPEED = "real-time factor"


@dataclass(frozen=True, slots=True)
class Target:
    """Bounds of a quantity: lower ones of a real-time factor, else upper ones."""

    quantity: Quantity
    good: float
    very_good: float

    def verdict(self, value: float) -> str:
        """Return "very good", "good" or "missed"."""
        sign = -1.0 if self.quantity is Quantity.SPEED else 1.0
        if sign * value <= sign * self.very_good:
            return "very good"
        return "good" if sign * value <= sign * self.good else "missed"

    def __str__(self) -> str:
        sign = ">=" if self.quantity is Quantity.SPEED else "<="
        name, good, best = self.quantity.value, self.good, self.very_good
        bounds = f"{good:g}" if good == best else f"{good:g}, very good {best:g}"
        return f"{name} {sign} {bounds}"


_STEP = Target(Quantity.RATIO, 1.10, 1.03)
_SIMULATION = Target(Quantity.RATIO, 1.15, 1.08)
_SCAN = Target(Quantity.RATIO, 1.1, 1.0)
_PLANE_SCAN = Target(Quantity.TIME, 400.0, 260.0)
_SENSORS = {
    Measured.CAMERA: Target(Quantity.RATIO, 1.3, 1.15),
    Measured.FILMED: Target(Quantity.RATIO, 1.05, 1.03),
    Measured.SAMPLES: Target(Quantity.TIME, 15.0, 10.0),
}
_FALL = Target(Quantity.SPEED, 80.0, 93.0)
AS_ORIGINAL = Target(Quantity.TO_ORIGINAL, 1.0, 1.0)


def targets_of(scene: str, solver: Solver, measured: Measured) -> tuple[Target, ...]:
    """Return the targets of a row."""
    if measured is Measured.ENGINE:
        return (_STEP, _FALL) if (scene, solver) == ("arm", Solver.WORLD) else (_STEP,)
    if measured is Measured.SIMULATION and (scene, solver) == ("humanoid", Solver.WORLD):
        return (_SIMULATION,)
    if measured is Measured.SCAN:
        return (_SCAN, _PLANE_SCAN) if scene == "scan" else (_SCAN,)
    return (_SENSORS[measured],) if measured in _SENSORS else ()
