"""The result of a run as lines of text, and as JSON (docs/run-schema.json)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import degrees, isfinite
from typing import Any

from hrp_model.diagnostics import counted

from ...sensors.kinds import NUMBER_UNITS
from .expectations import Outcome
from .posture import Posture
from .result import BodyResult, JointResult, RunResult, SensorResult

_MAX_BODIES = 10
_SMALLEST_SHOWN = 1e-3  # of a reading, which is never negative, in its SI unit
_SECOND = 1e-9  # [s] per [ns]


def result_lines(result: RunResult, recording: Mapping[str, Any] | None = None) -> list[str]:
    """Return a result as lines of text, without its speed and its state.

    Args:
        result: The result.
        recording: The recording of the run as a JSON object.
    """
    return [
        *_body_lines(result),
        *_contact_lines(result),
        *_effort_lines(result),
        *_sensor_lines(result),
        *([] if recording is None else [_recording_line(recording)]),
    ]


def speed_lines(result: RunResult) -> list[str]:
    """Return the speed and the final state of a run as lines of text."""
    return [
        f"simulated {result.simulated:.3f} s in {result.elapsed:.3f} s: "
        f"real-time factor {result.real_time_factor:.2f}",
        f"state sha256:{result.state}",
    ]


def _body_lines(result: RunResult) -> list[str]:
    free = {name: body for name, body in result.bodies.items() if body.free}
    by_fall = sorted(free.items(), key=lambda item: not item[1].fall)
    lines = [_body_line(name, body) for name, body in by_fall[:_MAX_BODIES]]
    if rest := by_fall[_MAX_BODIES:]:
        fallen = sum(bool(body.fall) for _, body in rest)
        lines.append(f"and {len(rest)} more free bodies, {fallen} of which fell")
    return lines


def _body_line(name: str, body: BodyResult) -> str:
    fall = f"'{name}' fell ({body.fall})" if body.fall else f"'{name}' did not fall"
    start, end = body.start, body.end
    return (
        f"{fall}: root at z = {end.p[2]:.3f} m (at the start {start.p[2]:.3f} m), "
        f"tilt {degrees(end.tilt):.1f} deg (at the start {degrees(start.tilt):.1f} deg)"
    )


def _contact_lines(result: RunResult) -> list[str]:
    if not result.max_contacts:
        return ["contacts: none"]
    line = f"contacts: {result.contacts} at the end, at most {result.max_contacts}"
    if result.peak_force is None:
        return [line]
    (a, link_a), (b, link_b) = result.peak_force.between
    return [
        f"{line}; largest force {result.peak_force.force:.3g} N "
        f"at {result.peak_force.time_ns * _SECOND:.3f} s, "
        f"between '{link_a}' of '{a}' and '{link_b}' of '{b}'"
    ]


def _effort_lines(result: RunResult) -> list[str]:
    hardest = result.hardest_joint
    if hardest is None:
        return []
    body, name, joint = hardest
    share = (
        "which has no limit"
        if joint.share is None
        else f"{joint.share:.0%} of its limit of {joint.limit:.3g} {joint.type.units.effort}"
    )
    effort = f"{abs(joint.largest_effort):.3g} {joint.type.units.effort}"
    return [f"largest effort: {effort} at joint '{name}' of '{body}', {share}"]


def _sensor_lines(result: RunResult) -> list[str]:
    shown = {name: s for name, s in result.sensors.items() if s.samples and (s.values or s.image)}
    if not shown:
        return []
    width = max(len(name) for name in shown)
    return ["last readings:", *(f"  {k:{width}}  {_reading(s)}" for k, s in shown.items())]


def _reading(sensor: SensorResult) -> str:
    parts = [] if sensor.image is None else ["{} x {} pixels".format(*sensor.image)]
    for name, value in sensor.values.items():
        label = name.replace("_", " ")
        if not NUMBER_UNITS[name]:
            parts.append(f"{label} {value:.0%}")
        elif isfinite(value):
            number = f"{value:.3g}" if value >= _SMALLEST_SHOWN else f"below {_SMALLEST_SHOWN:g}"
            parts.append(f"{label} {number} {NUMBER_UNITS[name]}")
        else:
            parts.append(f"{label}: nothing in range")
    return ", ".join(parts)


def _recording_line(recording: Mapping[str, Any]) -> str:
    size = f"{recording['bytes'] / 1e6:.3g} MB"
    if recording["error"]:
        return f"recording: incomplete, {size}"
    return f"recording: {counted(recording['messages'], 'message')}, {size}"


def result_object(
    result: RunResult,
    outcomes: Iterable[Outcome] = (),
    recording: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a result as a JSON object. SI units and radians; unknown values are null."""
    peak_force, hardest = result.peak_force, result.hardest_joint
    return {
        "world": result.world,
        "time": result.time,
        "simulated": result.simulated,
        "elapsed": result.elapsed,
        "real_time_factor": result.real_time_factor,
        "state": f"sha256:{result.state}",
        "error": result.error or None,
        "bodies": {name: _body_object(body) for name, body in result.bodies.items()},
        "contacts": {
            "count": result.contacts,
            "most": result.max_contacts,
            "largest_force": peak_force.force if peak_force else 0.0,
            "time": peak_force.time_ns * _SECOND if peak_force else None,
            "between": [{"body": b, "link": k} for b, k in peak_force.between]
            if peak_force
            else None,
        },
        "hardest_joint": hardest and {"body": hardest[0], "joint": hardest[1]},
        "sensors": {name: _sensor_object(sensor) for name, sensor in result.sensors.items()},
        "expectations": [
            {
                "text": outcome.expectation.text,
                "value": _finite(outcome.value),
                "holds": outcome.holds,
            }
            for outcome in outcomes
        ],
        **({} if recording is None else {"recording": recording}),
    }


def _body_object(body: BodyResult) -> dict[str, Any]:
    return {
        "free": body.free,
        "fell": body.fall or None,
        "start": _posture_object(body.start),
        "end": _posture_object(body.end),
        "joints": {name: _joint_object(joint) for name, joint in body.joints.items()},
    }


def _posture_object(posture: Posture) -> dict[str, Any]:
    return {"position": posture.p.tolist(), "tilt": posture.tilt, "speed": posture.speed}


def _joint_object(joint: JointResult) -> dict[str, Any]:
    return {
        "type": joint.type.value,
        "position": joint.position,
        "velocity": joint.velocity,
        "effort": joint.effort,
        "largest_effort": joint.largest_effort,
        "effort_limit": joint.limit,
    }


def _sensor_object(sensor: SensorResult) -> dict[str, Any]:
    values = {name: _finite(value) for name, value in sensor.values.items()}
    return {"type": sensor.type, "body": sensor.body, "samples": sensor.samples, "values": values}


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None
