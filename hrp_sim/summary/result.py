"""The result of a run: how its bodies stand, what touched, how hard joints worked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite

from hrp_model import JointType, Link

from ..physics.schedule import NS_PER_S
from ..sensors import CameraSensor, Sensor
from ..simulation import Simulation
from .posture import Posture, posture_of
from .readings import last_values
from .recorder import Efforts, PeakForce, RunRecorder


@dataclass(frozen=True)
class JointResult:
    """A joint at the end of a run; units are of its type: [rad] or [m], [N m] or [N].

    Attributes:
        type: Revolute or prismatic.
        position, velocity, effort: At the end.
        largest_effort: The one of the run that came nearest to its limit, with its sign.
        share: Of its limit, from 0 to 1; None without a limit.
        limit: That one, None if there is none.
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
        start, end: How its root stood.
        joints: By name.
    """

    free: bool
    start: Posture
    end: Posture
    joints: Mapping[str, JointResult]

    @property
    def fall(self) -> str:
        """Why the body counts as fallen, or nothing; what is fixed cannot fall."""
        return self.end.fall_since(self.start) if self.free else ""


@dataclass(frozen=True)
class SensorResult:
    """A sensor at the end of a run.

    Attributes:
        type: Of the sensor.
        body: That carries it.
        samples: How often it was read.
        values: Its last reading as numbers; see ``readings``.
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
        world: How the user called it.
        time: Simulated time at the end, in [s].
        simulated: How much of it this run took, in [s].
        elapsed: How long that took, in [s].
        state: SHA-256 of the state at the end.
        error: Why the physics failed, or nothing.
        bodies: By name.
        contacts: Number of contact points in the last step.
        most_contacts: The greatest number in one step.
        peak_force: The largest force at a contact, None if there was none.
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
    most_contacts: int = 0
    peak_force: PeakForce | None = None
    sensors: Mapping[str, SensorResult] = field(default_factory=dict)

    @property
    def real_time_factor(self) -> float:
        """Simulated per real second."""
        return self.simulated / max(self.elapsed, 1e-9)

    @property
    def hardest_joint(self) -> tuple[str, str, JointResult] | None:
        """The body, name and result of the joint that came nearest to its effort limit.

        Where no joint has a limit, that of the largest effort; None where none made any.
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


def result_of(watch: RunRecorder, world: str, elapsed: float, error: str = "") -> RunResult:
    """Return the result of a run that has ended; cameras draw their last images for it.

    Args:
        watch: That has followed it.
        world: How the user called it.
        elapsed: How long it took, in [s].
        error: Why the physics failed, or nothing.
    """
    simulation = watch.simulation
    watch.add_new_bodies()  # those that have come within the last steps
    return RunResult(
        world=world,
        time=simulation.state.time_ns / NS_PER_S,
        simulated=watch.simulated_ns / NS_PER_S,
        elapsed=elapsed,
        state=simulation.state_hash(),
        error=error,
        bodies=_bodies(watch, simulation),
        contacts=simulation.engine.contacts,
        most_contacts=max(watch.most_contacts, simulation.engine.contacts),
        peak_force=watch.peak_force,
        sensors={name: _sensor(watch, name, s) for name, s in simulation.sensors.items()},
    )


def _bodies(watch: RunRecorder, simulation: Simulation) -> dict[str, BodyResult]:
    found = {}
    for name, simulated in simulation.bodies.items():
        motion, efforts = simulated.motion, watch.efforts[name]
        joints = {
            link.joint.name: _joint(
                link, efforts, i, float(motion.q[i]), float(motion.dq[i]), float(motion.effort[i])
            )
            for i, link in enumerate(simulated.body.moving_links)
        }
        end = posture_of(simulated, watch.outlines[name])
        free = not (simulation.is_fixed(name) or simulated.body.is_static)
        found[name] = BodyResult(free, watch.starts[name], end, joints)
    return found


def _joint(
    link: Link, efforts: Efforts, index: int, position: float, velocity: float, effort: float
) -> JointResult:
    lower, upper = link.joint.effort_limits
    candidates = [
        (_share(value, limit), abs(value), value, limit)
        for value, limit in (
            (float(efforts.least[index]), lower),
            (float(efforts.greatest[index]), upper),
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
    """Return what share of a limit an effort is; 0 where there is no limit to this side."""
    return effort / limit if 0.0 < abs(limit) < inf and effort * limit > 0.0 else 0.0


def _sensor(watch: RunRecorder, name: str, sensor: Sensor) -> SensorResult:
    values = last_values(sensor, watch.last.get(name))
    image = (sensor.lens.width, sensor.lens.height) if isinstance(sensor, CameraSensor) else None
    return SensorResult(type(sensor).__name__, sensor.body, watch.counts[name], values, image)
