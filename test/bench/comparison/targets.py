"""Targets of the comparison."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from hrp_sim.engine.engine import Solver


class Measured(Enum):
    """The implementation that a row measures."""

    ENGINE = "engine, 1 step a call"
    AT_ONCE = "engine, many a call"
    SIMULATION = "Simulation, sensors read"
    PYODE = "pyode, 1 step a call"
    SCAN = "RangeSensor.read()"
    MUJOCO = "MuJoCo"
    BULLET = "Bullet"
    DRAKE = "Drake"
    CAMERA = "CameraSensor.read()"
    PLAIN_MODERNGL = "plain moderngl"
    FILMED = "Simulation, filmed"
    UNFILMED = "Simulation, not filmed"
    SAMPLES = "ImuSensor, ForceSensor .read()"
    NUMPY_SAMPLES = "the formulas in numpy"


class Quantity(Enum):
    """The quantity of a row that a target bounds."""

    RATIO = "ratio"
    TO_MUJOCO = "ratio to MuJoCo"
    TO_BULLET = "ratio to Bullet"
    TO_DRAKE = "ratio to Drake"
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


_FALL = Target(Quantity.SPEED, 80.0, 93.0)
_AS_MUJOCO = Target(Quantity.TO_MUJOCO, 1.5, 1.0)
_ASLEEP = Target(Quantity.TO_MUJOCO, 1.0, 0.5)
_OF_SENSORS = {
    Measured.CAMERA: (Target(Quantity.RATIO, 1.3, 1.15),),
    Measured.FILMED: (Target(Quantity.RATIO, 1.05, 1.03),),
    Measured.SAMPLES: (Target(Quantity.TIME, 15.0, 10.0),),
}
# Of the solver of this package, by scene; of well-known robots those of a simulation whose sensors
# are read.
_OF_SCENES = {
    ("humanoid", Measured.ENGINE): (_AS_MUJOCO,),
    ("arm", Measured.ENGINE): (_FALL,),
    ("resting", Measured.ENGINE): (_ASLEEP,),
    ("resting-heaps", Measured.ENGINE): (_ASLEEP,),
    ("scan", Measured.SCAN): (Target(Quantity.TIME, 250.0, 160.0),),
    ("layers", Measured.SCAN): (Target(Quantity.TIME, 3000.0, 2000.0),),
    ("SR1.body", Measured.SIMULATION): (Target(Quantity.TIME, 120.0, 100.0),),
    ("SR1.body holding", Measured.SIMULATION): (Target(Quantity.TIME, 60.0, 50.0), _AS_MUJOCO),
    ("PA10.body", Measured.SIMULATION): (Target(Quantity.TIME, 10.0, 8.0),),
}


def targets_of(scene: str, solver: Solver, measured: Measured) -> tuple[Target, ...]:
    """Return the targets of a row."""
    of_scene = _OF_SCENES.get((scene, measured), ()) if solver is Solver.WORLD else ()
    return (*of_scene, *_OF_SENSORS.get(measured, ()))
