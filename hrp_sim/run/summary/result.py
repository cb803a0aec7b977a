"""The result of a run: its numbers, as lines of text, and as JSON (docs/run-schema.json)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from math import degrees, dist, inf, isfinite
from typing import Any

from hrp_model import JointType, Link
from hrp_model.diagnostics import counted, number_text
from hrp_model.late_dataclass import dataclass

from ...engine.schedule import NS_PER_S
from ...sensors import CameraSensor, Sensor
from ...sensors.kinds import NUMBER_UNITS, summary
from .expectations import Outcome
from .recorder import Efforts, PeakForce, Posture, RunRecorder


@dataclass(frozen=True)
class JointResult:
    """A joint at the end of a run, in [rad] or [m], [N m] or [N], depending on its type.

    Attributes:
        type: Revolute or prismatic.
        position, velocity, effort: At the end.
        largest_effort: The effort of the run that was nearest to its limit, with its sign.
        share: Ratio of that effort to its limit, from 0 to 1; None without a limit.
        limit: Magnitude of that limit, None if there is none.
    """

    type: JointType
    position: float
    velocity: float
    effort: float
    largest_effort: float
    share: float | None
    limit: float | None


@dataclass(frozen=True)
class BodyResult:
    """A body at the end of a run.

    Attributes:
        free: Whether its root can move.
        start, end: Initial and final posture.
        joints: By name.
        path_length: Of the path of a vehicle, in [m]; None for other bodies.
    """

    free: bool
    start: Posture
    end: Posture
    joints: Mapping[str, JointResult]
    path_length: float | None = None

    @property
    def fall(self) -> str:
        """Why the body counts as fallen, or ""; fixed bodies cannot fall."""
        return self.end.fall_since(self.start) if self.free else ""


@dataclass(frozen=True)
class SensorResult:
    """A sensor at the end of a run.

    Attributes:
        type: Class of the sensor.
        body: Name of the body that carries it.
        samples: Number of readings.
        values: Summary of its last reading; see ``readings``.
        image: Width and height of its images in pixels, None if it has none.
    """

    type: str
    body: str
    samples: int
    values: Mapping[str, float]
    image: tuple[int, int] | None = None


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """The result of a run.

    Attributes:
        world: Path or name of the world, as given by the user.
        time: Simulation time at the end, in [s].
        simulated: Simulation time of this run, in [s].
        elapsed: Wall time of this run, in [s].
        state: SHA-256 of the final state.
        error: Message of the physics if it failed, else "".
        bodies: By name.
        contacts: Number of contact points in the last step.
        max_contacts: Maximum number in one step.
        peak_force: The largest contact force, None if there was no contact.
        sensors: By name.
    """

    world: str
    time: float
    simulated: float
    elapsed: float
    state: str
    error: str = ""
    bodies: Mapping[str, BodyResult] = field(default_factory=dict)
    contacts: int = 0
    max_contacts: int = 0
    peak_force: PeakForce | None = None
    sensors: Mapping[str, SensorResult] = field(default_factory=dict)

    @property
    def real_time_factor(self) -> float:
        """Ratio of simulation time to wall time."""
        return self.simulated / max(self.elapsed, 1e-9)

    @property
    def hardest_joint(self) -> tuple[str, str, JointResult] | None:
        """Body, name and result of the joint that came nearest to its effort limit.

        If no joint has a limit, the one with the largest effort; None without any effort.
        """
        joints = [
            (body, name, joint)
            for body, result in self.bodies.items()
            for name, joint in result.joints.items()
            if joint.largest_effort
        ]
        return max(
            joints, key=lambda x: (x[2].share or 0.0, abs(x[2].largest_effort)), default=None
        )


def result_of(recorder: RunRecorder, world: str, elapsed: float, error: str = "") -> RunResult:
    """Return the result of a run that has ended; renders the last images of cameras.

    Args:
        recorder: Of the run.
        world: Path or name of the world, as given by the user.
        elapsed: Wall time of the run, in [s].
        error: Message of the physics if it failed, else "".
    """
    simulation = recorder.simulation
    recorder.add_new_bodies()  # those added since contacts were recorded last
    return RunResult(
        world=world,
        time=simulation.state.time_ns / NS_PER_S,
        simulated=recorder.simulated_ns / NS_PER_S,
        elapsed=elapsed,
        state=simulation.state_hash(),
        error=error,
        bodies=body_results(recorder),
        contacts=simulation.engine.contacts,
        max_contacts=recorder.most_contacts,
        peak_force=recorder.peak_force,
        sensors={name: _sensor(recorder, name, s) for name, s in simulation.sensors.items()},
    )


def body_results(recorder: RunRecorder) -> dict[str, BodyResult]:
    """Return the present results of all bodies of a run, by name."""
    found = {}
    simulation = recorder.simulation
    for name, simulated in simulation.bodies.items():
        motion, efforts = simulated.motion, recorder.efforts[name]
        joints = {
            link.joint.name: joint_result(
                link, efforts, i, float(motion.q[i]), float(motion.dq[i]), float(motion.effort[i])
            )
            for i, link in enumerate(simulated.body.moving_links)
        }
        found[name] = replace(body_result(recorder, name), joints=joints)
    return found


def body_result(recorder: RunRecorder, name: str) -> BodyResult:
    """Return the present result of a body of a run, without its joints."""
    simulation = recorder.simulation
    simulated = simulation.bodies[name]
    free = not (simulation.is_fixed(name) or simulated.body.is_static)
    start, end = recorder.starts.postures(name)
    path = recorder.paths.get(name)
    length = None if path is None else path.until(end.p)
    return BodyResult(free, start, end, {}, length)


def joint_result(
    link: Link, efforts: Efforts, index: int, position: float, velocity: float, effort: float
) -> JointResult:
    """Return the result of a joint.

    Args:
        link: Above which it is.
        efforts: Of its body.
        index: Its index in them.
        position: At present, in [rad] or [m].
        velocity: At present, in [rad/s] or [m/s].
        effort: At present, in [N m] or [N].
    """
    lower, upper = link.joint.effort_limits
    candidates = [
        (_share(value, limit), abs(value), value, limit)
        for value, limit in (
            (float(efforts.minimum[index]), lower),
            (float(efforts.maximum[index]), upper),
        )
    ]
    share, _, largest, limit = max(candidates)
    has_limit = isfinite(limit) and limit != 0.0
    return JointResult(
        link.joint.type,
        position,
        velocity,
        effort,
        largest,
        share if has_limit else None,
        abs(limit) if has_limit else None,
    )


def _share(effort: float, limit: float) -> float:
    """Return the ratio of an effort to a limit; 0 without a limit in this direction."""
    return effort / limit if 0.0 < abs(limit) < inf and effort * limit > 0.0 else 0.0


def _sensor(recorder: RunRecorder, name: str, sensor: Sensor) -> SensorResult:
    values = summary(sensor, recorder.last.get(name))
    image = (sensor.lens.width, sensor.lens.height) if isinstance(sensor, CameraSensor) else None
    return SensorResult(type(sensor).__name__, sensor.body, recorder.counts[name], values, image)


_MAX_BODIES = 10
_SMALLEST_SHOWN = 1e-3  # of what is never negative, in its SI unit
_LEAST_MOVED = 0.01  # [m]; bodies that moved less have not moved
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


def present_lines(recorder: RunRecorder) -> list[str]:
    """Return the result of a run so far as lines of text, without its sensors."""
    recorder.add_new_bodies()
    engine = recorder.simulation.engine
    result = RunResult(
        world="",
        time=engine.time_ns / NS_PER_S,
        simulated=recorder.simulated_ns / NS_PER_S,
        elapsed=0.0,
        state="",
        bodies=body_results(recorder),
        contacts=engine.contacts,
        max_contacts=recorder.most_contacts,
        peak_force=recorder.peak_force,
    )
    return result_lines(result)


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
    length, away = body.path_length or 0.0, dist(start.p[:2], end.p[:2])
    moved = [f"went {number_text(length)} m"] if length >= _LEAST_MOVED else []
    moved += [f"ended {number_text(away)} m from its start"] if away >= _LEAST_MOVED else []
    motion = f"it {' and '.join(moved)}; " if moved else ""
    return (
        f"{fall}: {motion}root at z = {end.p[2]:.3f} m (at the start {start.p[2]:.3f} m), "
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
        f"{line}; largest force {_magnitude(result.peak_force.force)} N "
        f"at {result.peak_force.time_ns * _SECOND:.3f} s, "
        f"between '{link_a}' of '{a}' and '{link_b}' of '{b}'"
    ]


def _effort_lines(result: RunResult) -> list[str]:
    hardest = result.hardest_joint
    if hardest is None:
        return []
    body, name, joint = hardest
    unit = joint.type.units.effort
    share = (
        "which has no limit"
        if joint.share is None or joint.limit is None
        else f"{joint.share:.0%} of its limit of {_magnitude(joint.limit)} {unit}"
    )
    effort = f"{_magnitude(abs(joint.largest_effort))} {unit}"
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
            parts.append(f"{label} {_magnitude(value)} {NUMBER_UNITS[name]}")
        else:
            parts.append(f"{label}: nothing in range")
    return ", ".join(parts)


def _magnitude(value: float) -> str:
    return number_text(value) if value >= _SMALLEST_SHOWN else f"below {_SMALLEST_SHOWN:g}"


def _recording_line(recording: Mapping[str, Any]) -> str:
    size = f"{number_text(recording['bytes'] / 1e6)} MB"
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
        "path_length": body.path_length,
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
