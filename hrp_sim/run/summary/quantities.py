"""The numbers of a run, by the names used in expectations, while it goes on or at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, TypeAlias

from hrp_model.body import JointUnits
from hrp_model.late_dataclass import dataclass

from ...engine.state import BodyMotion
from ...sensors import Sensor
from ...sensors.kinds import numbers_of, summary
from ...simulation import Simulation
from .recorder import Posture, RunRecorder, posture_of
from .result import body_result, body_results, joint_result

_Measure: TypeAlias = Callable[[RunRecorder], float | None]


@dataclass(frozen=True)
class Meter:
    """Measures a quantity.

    Attributes:
        value: Returns its present value; None if it was not measured yet.
        sensor: Name of the sensor that must be read for it, or None.
    """

    value: Callable[[], float | None]
    sensor: str | None = None


class _Row(NamedTuple):
    name: str
    unit: str
    measure: _Measure
    sensor: str | None = None


def _motion(body: str, recorder: RunRecorder) -> BodyMotion:
    return recorder.simulation.bodies[body].motion


def _posture(body: str, recorder: RunRecorder) -> Posture:
    return posture_of(recorder.simulation.bodies[body], None)


def _largest_effort(body: str, joint: int, recorder: RunRecorder) -> float:
    link = recorder.simulation.bodies[body].body.moving_links[joint]
    return joint_result(link, recorder.efforts[body], joint, 0.0, 0.0, 0.0).largest_effort


def _largest_share(recorder: RunRecorder) -> float:
    joints = (joint for body in body_results(recorder).values() for joint in body.joints.values())
    return max((joint.share or 0.0 for joint in joints), default=0.0)


# By the last part of a name: unit, and function that measures it.
_OF_BODY: dict[str, tuple[str, Callable[[str, RunRecorder], float]]] = {
    "x": ("m", lambda body, run: float(_motion(body, run).p[0, 0])),
    "y": ("m", lambda body, run: float(_motion(body, run).p[0, 1])),
    "z": ("m", lambda body, run: float(_motion(body, run).p[0, 2])),
    "tilt": ("rad", lambda body, run: _posture(body, run).tilt),
    "speed": ("m/s", lambda body, run: _posture(body, run).speed),
    "fell": ("", lambda body, run: float(bool(body_result(run, body).fall))),
}
_OF_JOINT: dict[
    str, tuple[Callable[[JointUnits], str], Callable[[str, int, RunRecorder], float]]
] = {
    "position": (lambda u: u.position, lambda body, i, run: float(_motion(body, run).q[i])),
    "velocity": (lambda u: u.velocity, lambda body, i, run: float(_motion(body, run).dq[i])),
    "effort": (lambda u: u.effort, lambda body, i, run: float(_motion(body, run).effort[i])),
    "largest_effort": (lambda u: u.effort, _largest_effort),
}
_OF_WORLD: dict[str, tuple[str, Callable[[RunRecorder], float]]] = {
    "contacts.count": ("", lambda run: float(run.simulation.engine.contacts)),
    "contacts.most": ("", lambda run: float(run.most_contacts)),
    "contacts.largest_force": (
        "N",
        lambda run: 0.0 if run.peak_force is None else run.peak_force.force,
    ),
    "effort.share": ("", _largest_share),
}


def quantities(simulation: Simulation) -> dict[str, str]:
    """Return the units of all quantities of a run, by name; empty for dimensionless ones."""
    return {row.name: row.unit for row in _rows(simulation)}


def meters(recorder: RunRecorder) -> dict[str, Meter]:
    """Return meters of a run, by the names of ``quantities``."""
    rows = _rows(recorder.simulation)
    return {row.name: Meter(partial(row.measure, recorder), row.sensor) for row in rows}


def _rows(simulation: Simulation) -> Iterator[_Row]:
    for name, sensor in simulation.sensors.items():
        for number, summarized in numbers_of(sensor).items():
            measure = partial(_of_sensor, sensor, name, number)
            yield _Row(f"{name}.{number}", summarized.unit, measure, name)
    for body, simulated in simulation.bodies.items():
        for field, (unit, of_body) in _OF_BODY.items():
            yield _Row(f"{body}.{field}", unit, partial(of_body, body))
        for i, link in enumerate(simulated.body.moving_links):
            units, joint = link.joint.type.units, f"{body}.joint.{link.joint.name}"
            for field, (unit_of, of_joint) in _OF_JOINT.items():
                yield _Row(f"{joint}.{field}", unit_of(units), partial(of_joint, body, i))
    for name, (unit, of_world) in _OF_WORLD.items():
        yield _Row(name, unit, of_world)


def _of_sensor(sensor: Sensor, name: str, number: str, recorder: RunRecorder) -> float | None:
    return summary(sensor, recorder.last.get(name)).get(number)
