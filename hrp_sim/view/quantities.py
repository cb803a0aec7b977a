"""Scalar quantities of a simulation that can be plotted over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..engine.state import SimulatedBody
from ..sensors import JointSensor, Reading, Sensor
from ..sensors.kinds import kind_of, numbers_of
from ..simulation import Simulation


@dataclass(frozen=True, eq=False)
class Quantity:
    """A scalar of a joint or sensor.

    Attributes:
        name: Such as "ELBOW position" or "gyro angular_velocity.x".
        unit: Its unit; empty for a ratio.
        sensor: Name of the sensor in the simulation that measures it; None for a joint.
        value: Returns it from the simulation and the sensor's last reading; None if it is not
            known yet. Called in the stepping thread.
    """

    name: str
    unit: str
    sensor: str | None
    value: Callable[[Simulation, Reading | None], float | None]


def quantities_by_source(simulation: Simulation) -> dict[str, dict[str, Quantity]]:
    """Return the quantities of all joints and sensors, by the name of those, then by their own."""
    sources: dict[str, dict[str, Quantity]] = {}
    jointed = {k: b for k, b in simulation.bodies.items() if b.body.moving_links}
    for body, simulated in jointed.items():
        for i, link in enumerate(simulated.body.moving_links):
            source = link.joint.name if len(jointed) == 1 else f"{body}: {link.joint.name}"
            sources[_unique(source, sources)] = _of_joint(source, simulated, i)
    for name, sensor in simulation.sensors.items():
        if not isinstance(sensor, JointSensor) and (found := _of_sensor(name, sensor)):
            sources[_unique(name, sources)] = found
    return sources


def _unique(name: str, taken: Mapping[str, object]) -> str:
    while name in taken:
        name += "'"
    return name


def _of_joint(source: str, simulated: SimulatedBody, index: int) -> dict[str, Quantity]:
    units = simulated.body.moving_links[index].joint.type.units
    made = {}
    for label, field, unit in (
        ("position", "q", units.position),
        ("velocity", "dq", units.velocity),
        ("effort", "effort", units.effort),
    ):
        value = partial(_joint_value, simulated, field, index)
        made[label] = Quantity(f"{source} {label}", unit, None, value)
    return made


def _joint_value(
    simulated: SimulatedBody, field: str, index: int, simulation: Simulation, _: Reading | None
) -> float | None:
    if simulation.bodies.get(simulated.name) is not simulated:
        return None  # it was removed
    return float(getattr(simulated.motion, field)[index])


def _of_sensor(name: str, sensor: Sensor) -> dict[str, Quantity]:
    made: dict[str, Quantity] = {}

    def add(label: str, unit: str, value: Callable[[Any], float | None]) -> None:
        made[label] = Quantity(f"{name} {label}", unit, name, partial(_sensor_value, value))

    for field in kind_of(sensor).fields:
        if field.offered(sensor):
            for index, letter in enumerate(field.components):
                value = partial(_component, field.name, index)
                add(f"{field.name}.{letter}", field.unit, value)
    for number, field in numbers_of(sensor).items():
        add(number, field.unit, field.value)
    return made


def _component(field: str, index: int, reading: Reading) -> float:
    return float(getattr(reading, field)[index])


def _sensor_value(
    value: Callable[[Any], float | None], _: Simulation, reading: Reading | None
) -> float | None:
    return None if reading is None else value(reading)
