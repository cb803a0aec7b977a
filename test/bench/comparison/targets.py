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
    DENSE = "engine, solver: dense"
    SCAN = "RangeSensor.read()"
    PLAIN = "plain C, state read"
    PLAIN_AT_ONCE = "plain C, nothing read"
    PLAIN_SCAN = "plain C"
    ORIGINAL = "like Choreonoid's ODE plugin"
    MUJOCO = "MuJoCo"
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
    TO_DENSE = "ratio to dense"
    TO_MUJOCO = "ratio to MuJoCo"
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
_NO_SLOWER = Target(Quantity.RATIO, 1.0, 0.5)
_STANDING = (Target(Quantity.RATIO, 0.25, 0.2), Target(Quantity.TO_DENSE, 0.35, 0.3))
_AS_MUJOCO = Target(Quantity.TO_MUJOCO, 1.5, 1.0)
# The default of each solver: simulations that predict sticking, if the solver does.
DEFAULTS = {
    Solver.QUICK: Measured.SIMULATION,
    Solver.DENSE: Measured.SIMULATION_STICKING,
    Solver.WORLD: Measured.SIMULATION,
}
# Of simulations of well-known robots, whose sensors are read.
_ROBOTS = {
    "SR1.body": (Target(Quantity.TIME, 120.0, 100.0),),
    "SR1.body holding": (Target(Quantity.TIME, 60.0, 50.0), _AS_MUJOCO),
    "PA10.body": (Target(Quantity.TIME, 10.0, 8.0),),
}


def targets_of(scene: str, solver: Solver, measured: Measured) -> tuple[Target, ...]:
    """Return the targets of a row."""
    targets: tuple[Target, ...] = ()
    if measured is Measured.ENGINE:
        targets = (_NO_SLOWER,) if solver is Solver.WORLD else (_STEP,)
        if (scene, solver) == ("humanoid", Solver.WORLD):
            targets = (*_STANDING, _AS_MUJOCO)
        if (scene, solver) == ("arm", Solver.WORLD):
            targets = (*targets, _FALL)
    elif measured is Measured.SIMULATION and (scene, solver) == ("humanoid", Solver.DENSE):
        targets = (_SIMULATION,)
    elif measured is Measured.SCAN:
        targets = (_SCAN, _PLANE_SCAN) if scene == "scan" else (_SCAN,)
    elif measured in _SENSORS:
        targets = (_SENSORS[measured],)
    if solver is Solver.WORLD and measured is DEFAULTS[solver]:
        targets = (*targets, *_ROBOTS.get(scene, ()))
    return targets
