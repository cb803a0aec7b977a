"""The result of a run: postures, contacts, joint efforts and sensor readings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf, isfinite

from hrp_model import JointType, Link

from ...engine.schedule import NS_PER_S
from ...sensors import CameraSensor, Sensor
from ...sensors.kinds import summary
from .posture import Posture, posture_of
from .recorder import Efforts, PeakForce, RunRecorder


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
    """

    free: bool
    start: Posture
    end: Posture
    joints: Mapping[str, JointResult]

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
        max_contacts=max(recorder.max_contacts, simulation.engine.contacts),
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


def body_result(recorder: RunRecorder, name: str, *, with_height: bool = True) -> BodyResult:
    """Return the present result of a body of a run, without its joints.

    Args:
        recorder: Of the run.
        name: Of the body.
        with_height: Whether the posture has a height, which takes most of the time.
    """
    simulation = recorder.simulation
    simulated = simulation.bodies[name]
    free = not (simulation.is_fixed(name) or simulated.body.is_static)
    end = posture_of(simulated, recorder.extents[name] if with_height else None)
    return BodyResult(free, recorder.starts[name], end, {})


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
