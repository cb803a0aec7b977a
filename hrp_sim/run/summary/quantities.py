"""The numbers in the result of a run, by the names used in expectations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hrp_model.body import JointUnits

from ...sensors.kinds import numbers_of
from ...simulation import Simulation
from .result import BodyResult, JointResult, RunResult

# By the last part of a name: unit, and function that returns the number.
OF_BODY: dict[str, tuple[str, Callable[[BodyResult], float]]] = {
    "x": ("m", lambda body: float(body.end.p[0])),
    "y": ("m", lambda body: float(body.end.p[1])),
    "z": ("m", lambda body: float(body.end.p[2])),
    "tilt": ("rad", lambda body: body.end.tilt),
    "speed": ("m/s", lambda body: body.end.speed),
    "fell": ("", lambda body: float(bool(body.fall))),
}
OF_JOINT: dict[str, tuple[Callable[[JointUnits], str], Callable[[JointResult], float]]] = {
    "position": (lambda units: units.position, lambda joint: joint.position),
    "velocity": (lambda units: units.velocity, lambda joint: joint.velocity),
    "effort": (lambda units: units.effort, lambda joint: joint.effort),
    "largest_effort": (lambda units: units.effort, lambda joint: joint.largest_effort),
}
OF_WORLD: dict[str, tuple[str, Callable[[RunResult], float]]] = {
    "contacts.count": ("", lambda result: float(result.contacts)),
    "contacts.most": ("", lambda result: float(result.max_contacts)),
    "contacts.largest_force": ("N", lambda result: _peak_force(result)),
    "effort.share": ("", lambda result: _largest_share(result)),
}


def quantities(simulation: Simulation) -> dict[str, str]:
    """Return the units of all quantities of a run, by name; empty for dimensionless ones."""
    return dict(_quantities(simulation))


def _quantities(simulation: Simulation) -> Iterator[tuple[str, str]]:
    for name, sensor in simulation.sensors.items():
        for number, summarized in numbers_of(sensor).items():
            yield f"{name}.{number}", summarized.unit
    for body, simulated in simulation.bodies.items():
        for field, (unit, _) in OF_BODY.items():
            yield f"{body}.{field}", unit
        for link in simulated.body.moving_links:
            units = link.joint.type.units
            for field, (unit_of, _) in OF_JOINT.items():
                yield f"{body}.joint.{link.joint.name}.{field}", unit_of(units)
    for name, (unit, _) in OF_WORLD.items():
        yield name, unit


def values(result: RunResult) -> dict[str, float]:
    """Return the values in a result, by the names of ``quantities``; some may be missing."""
    return dict(_values(result))


def _values(result: RunResult) -> Iterator[tuple[str, float]]:
    for name, sensor in result.sensors.items():
        for field, value in sensor.values.items():
            yield f"{name}.{field}", value
    for name, body in result.bodies.items():
        for field, (_, of_body) in OF_BODY.items():
            yield f"{name}.{field}", of_body(body)
        for joint, of in body.joints.items():
            for field, (_, of_joint) in OF_JOINT.items():
                yield f"{name}.joint.{joint}.{field}", of_joint(of)
    for name, (_, of_world) in OF_WORLD.items():
        yield name, of_world(result)


def _peak_force(result: RunResult) -> float:
    return 0.0 if result.peak_force is None else result.peak_force.force


def _largest_share(result: RunResult) -> float:
    joint = result.hardest_joint
    return 0.0 if joint is None else joint[2].share or 0.0
