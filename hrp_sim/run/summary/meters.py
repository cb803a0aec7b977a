"""The quantities of a run while it goes on, by the names used in expectations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from ...sensors import Sensor
from ...sensors.kinds import numbers_of, summary
from .quantities import OF_BODY, OF_JOINT, OF_WORLD
from .recorder import RunRecorder
from .result import JointResult, RunResult, body_result, body_results, joint_result


@dataclass(frozen=True)
class Meter:
    """Measures a quantity.

    Attributes:
        value: Returns its present value; None if it was not measured yet.
        sensor: Name of the sensor that must be read for it, or None.
    """

    value: Callable[[], float | None]
    sensor: str | None = None


def meters(recorder: RunRecorder) -> dict[str, Meter]:
    """Return meters of a run by the names of ``quantities``.

    At the end of a run they give what ``values`` of its result gives.

    Args:
        recorder: Of the run.
    """
    return dict(_meters(recorder))


def _meters(recorder: RunRecorder) -> Iterator[tuple[str, Meter]]:
    simulation = recorder.simulation
    for name, sensor in simulation.sensors.items():
        for field in numbers_of(sensor):
            yield f"{name}.{field}", Meter(partial(_reading, recorder, name, sensor, field), name)
    for body, simulated in simulation.bodies.items():
        for field in OF_BODY:
            yield f"{body}.{field}", Meter(partial(_of_body, recorder, body, field))
        for i, link in enumerate(simulated.body.moving_links):
            for field in OF_JOINT:
                joint = f"{body}.joint.{link.joint.name}.{field}"
                yield joint, Meter(partial(_of_joint, recorder, body, i, field))
    for name in OF_WORLD:
        yield name, Meter(partial(_of_world, recorder, name))


def _reading(recorder: RunRecorder, name: str, sensor: Sensor, field: str) -> float | None:
    return summary(sensor, recorder.last.get(name)).get(field)


def _of_body(recorder: RunRecorder, name: str, field: str) -> float:
    return OF_BODY[field][1](body_result(recorder, name, with_height=field == "fell"))


def _of_joint(recorder: RunRecorder, body: str, index: int, field: str) -> float:
    simulated = recorder.simulation.bodies[body]
    motion, link = simulated.motion, simulated.body.moving_links[index]
    now = (float(values[index]) for values in (motion.q, motion.dq, motion.effort))
    result: JointResult = joint_result(link, recorder.efforts[body], index, *now)
    return OF_JOINT[field][1](result)


def _of_world(recorder: RunRecorder, name: str) -> float:
    contacts = recorder.simulation.engine.contacts
    now = RunResult(
        world="",
        time=0.0,
        simulated=0.0,
        elapsed=0.0,
        state="",
        # Only this quantity needs them, and they take time.
        bodies=body_results(recorder) if name == "effort.share" else {},
        contacts=contacts,
        max_contacts=max(recorder.max_contacts, contacts),
        peak_force=recorder.peak_force,
    )
    return OF_WORLD[name][1](now)
