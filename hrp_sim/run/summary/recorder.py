"""Records data for the result of a run, with little cost per step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import acos, degrees, dist, pi
from typing import NamedTuple

import numpy as np

from hrp_model import Body
from hrp_model.diagnostics import number_text
from hrp_model.kinematics.vehicle import vehicle_drive
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array
from hrp_model.shapes.measure import geometry_box

from ...engine.schedule import NS_PER_S
from ...engine.state import SimulatedBody
from ...sensors import Reading
from ...simulation import Simulation
from ..run import Change, Consumer, Run

# A body that tilts more than this from its initial posture has fallen, in [rad]: a robot or box
# with its centre of mass as high as its foot is wide cannot recover by itself.
_MAX_TILT = pi / 4.0
# So has a body whose root is lower than this share of its initial height: squatting humanoids stay
# above it.
_MIN_HEIGHT_SHARE = 0.5
# A body that moves down faster than this at the end is falling, in [m/s]: 5 cm of free fall.
_MAX_DESCENT = 1.0


class CollisionExtent:
    """Bounding boxes of the collision shapes of a body, to find its lowest point.

    Args:
        body: The model.
    """

    def __init__(self, body: Body) -> None:
        self.body = body
        links, centers, halves = [], [np.zeros((0, 3))], [np.zeros((0, 3, 3))]
        for i, link in enumerate(body.links):
            for shape in link.collision:
                if (box := geometry_box(shape.geometry)) is not None:
                    A, t = shape.T_FG[:3, :3], shape.T_FG[:3, 3]
                    links.append(i)
                    centers.append((A @ box.center + t)[np.newaxis])
                    halves.append((A * box.half)[np.newaxis])
        self._links = np.array(links, dtype=np.int64)
        self._centers, self._halves = np.concatenate(centers), np.concatenate(halves)

    def lowest(self, p: Array, R: Array) -> float | None:
        """Return the z coordinate of the lowest point in W, in [m]; None without collision shapes.

        Args:
            p: Positions of the link origins, shape (links, 3).
            R: Their rotations, shape (links, 3, 3).
        """
        if not len(self._links):
            return None
        up = R[self._links, 2]  # the third row of R_WL: W's z axis in L
        middle = p[self._links, 2] + np.einsum("ij,ij->i", up, self._centers)
        reach = np.abs(np.einsum("ij,ijk->ik", up, self._halves)).sum(axis=1)
        return float((middle - reach).min())


@dataclass(frozen=True)
class Posture:
    """State of the root link of a body.

    Attributes:
        p: Position in W, in [m], shape (3,).
        R: Rotation R_WL, shape (3, 3).
        v: Velocity in W, in [m/s], shape (3,).
        height: Above the lowest point of the body, in [m]; None without collision shapes.
    """

    p: Array
    R: Array
    v: Array
    height: float | None

    @property
    def tilt(self) -> float:
        """Angle between the root's z axis and the vertical, in [rad]."""
        return _angle(self.R[2, 2])

    @property
    def speed(self) -> float:
        """Speed of the root's origin, in [m/s]."""
        return float(np.linalg.norm(self.v))

    def tilt_since(self, start: Posture) -> float:
        """Return the tilt of the body axis that was vertical in another posture, in [rad]."""
        return _angle(float(self.R[2] @ start.R[2]))

    def fall_since(self, start: Posture) -> str:
        """Return why the body counts as fallen since another posture, or ""."""
        if -self.v[2] > _MAX_DESCENT:
            return f"it is falling at {number_text(-self.v[2])} m/s"
        if (tilt := self.tilt_since(start)) > _MAX_TILT:
            return f"it has tilted by {degrees(tilt):.0f} deg since the start"
        if self.height is None or start.height is None:
            return ""
        # A root below all collision shapes has no height to lose.
        if self.height < _MIN_HEIGHT_SHARE * start.height and start.height > 0.0:
            return (
                f"its root is {number_text(self.height)} m above its lowest point, "
                f"{number_text(start.height)} m at the start"
            )
        return ""


def posture_of(simulated: SimulatedBody, extent: CollisionExtent | None) -> Posture:
    """Return the current posture of a body; without its height if no extent is given."""
    motion = simulated.motion
    lowest = None if extent is None else extent.lowest(motion.p, motion.R)
    height = None if lowest is None else float(motion.p[0, 2]) - lowest
    return Posture(motion.p[0].copy(), motion.R[0].copy(), motion.v[0].copy(), height)


def _angle(cosine: float) -> float:
    return acos(min(1.0, max(-1.0, cosine)))


class _Start(NamedTuple):
    """A body, its collision extent, and its posture when it was added."""

    simulated: SimulatedBody
    extent: CollisionExtent
    posture: Posture


class Starts:
    """The postures in which the bodies of a simulation were added, since which they may fall."""

    def __init__(self) -> None:
        self._bodies: Mapping[str, SimulatedBody] = {}
        self._starts: dict[str, _Start] = {}

    def follow(self, bodies: Mapping[str, SimulatedBody]) -> list[str]:
        """Keep the present postures of new bodies; return their names."""
        if bodies is self._bodies:
            return []
        self._bodies, known, new = bodies, self._starts, []
        self._starts = {}
        for name, simulated in bodies.items():
            start = known.get(name)
            if start is None or start.simulated is not simulated:
                extent = CollisionExtent(simulated.body)
                start = _Start(simulated, extent, posture_of(simulated, extent))
                new.append(name)
            self._starts[name] = start
        return new

    def postures(self, name: str) -> tuple[Posture, Posture]:
        """Return the first and the present posture of a body."""
        start = self._starts[name]
        return start.posture, posture_of(start.simulated, start.extent)

    def fallen_robots(self, simulation: Simulation) -> dict[str, str]:
        """Return why free bodies with joints count as fallen now, by name."""
        self.follow(simulation.bodies)
        found = {}
        for name, simulated in simulation.bodies.items():
            if simulated.body.moving_links and not simulation.is_fixed(name):
                start, now = self.postures(name)
                found[name] = now.fall_since(start)
        return {name: reason for name, reason in found.items() if reason}


# A vehicle's path is measured between positions that are so far apart, in [m], so that vibrations
# add nothing to it.
_PATH_STEP = 0.01


class PathLength:
    """Measures the length of the path of a vehicle.

    Args:
        p: Position of its root, in [m], shape (3,).
    """

    def __init__(self, p: Array) -> None:
        self._length = 0.0
        self.restart(p)

    def restart(self, p: Array) -> None:
        """Go on from another position, to which the vehicle did not drive."""
        self._last = p.tolist()

    def until(self, p: Array) -> float:
        """Return the length up to a position, in [m]."""
        length = self._length + dist(self._last, p.tolist())
        if length - self._length > _PATH_STEP:
            self._length = length
            self.restart(p)
        return length


# Contact forces are read when the number of contacts changes, as it does in impacts, and else at
# this interval of simulation time, in [ns]: that costs a twentieth of a step of a humanoid.
_CONTACT_INTERVAL_NS = NS_PER_S // 100


class Efforts(NamedTuple):
    """The minimum and maximum effort of each joint of a body so far, in [N m] or [N]."""

    minimum: Array
    maximum: Array


class PeakForce(NamedTuple):
    """The largest contact force of a run.

    Attributes:
        force: In [N].
        time_ns: Simulation time, in [ns].
        between: Names of both bodies, each with its link.
    """

    force: float
    time_ns: int
    between: tuple[tuple[str, str], tuple[str, str]]


class RunRecorder(Consumer):
    """Records data of a run, without affecting it, to the last bit.

    Args:
        simulation: To be recorded.
        reads_all: Whether also sensors are read that nobody else wants, without images.

    Attributes:
        simulation: The recorded simulation.
        simulated_ns: Total time of all steps, in [ns], including those before a reset or of an
            earlier world.
        counts: Number of readings of each sensor, by name.
        last: The last reading of each sensor, by name.
        starts: Initial postures of all bodies.
        efforts: Of each body with joints, by name.
        paths: Of each vehicle, by name.
        peak_force: The largest contact force, None if there was no contact.
    """

    def __init__(self, simulation: Simulation, *, reads_all: bool = False) -> None:
        self.simulated_ns = 0
        self._reads_all = reads_all
        self._run: Run | None = None
        self._begin(simulation)

    def attach(self, run: Run) -> None:
        """Record a run."""
        self._run = run

    def wants(self, simulation: Simulation, sensor: str) -> bool:  # noqa: ARG002
        """Return whether a sensor should be read."""
        return self._reads_all

    def next_ns(self, simulation: Simulation) -> int:  # noqa: ARG002
        """Return 0, as each step is recorded."""
        return 0

    def changed(self, change: Change) -> None:
        """Start again if the simulation was replaced."""
        if change is Change.REPLACE:
            assert self._run is not None
            self.follow(self._run.simulation)

    def take_step(self, time_ns: int, readings: Mapping[str, Reading]) -> None:
        """Record a step, after each."""
        self.simulated_ns += self._step_ns
        self.last.update(readings)
        self.counts.update(readings.keys())
        for efforts, now in self._efforts:
            np.minimum(efforts.minimum, now, out=efforts.minimum)
            np.maximum(efforts.maximum, now, out=efforts.maximum)
        count = self.simulation.engine.contacts
        elapsed_ns = time_ns - self._contacts_ns
        if count != self._count or not 0 <= elapsed_ns < _CONTACT_INTERVAL_NS:
            if elapsed_ns < 0:  # after a reset
                for path, p in self._vehicles:
                    path.restart(p[0])
            self._record_contacts(time_ns, count)

    @property
    def most_contacts(self) -> int:
        """Maximum number of contact points in one step."""
        return max(self._most_contacts, self.simulation.engine.contacts)

    def follow(self, simulation: Simulation) -> None:
        """Start again if this is another simulation, such as of a world just loaded."""
        if simulation is not self.simulation:
            self._begin(simulation)

    def _begin(self, simulation: Simulation) -> None:
        self.simulation, self._step_ns = simulation, simulation.engine.settings.step_ns
        self.counts: Counter[str] = Counter()
        self.last: dict[str, Reading] = {}
        self._most_contacts = 0
        self.peak_force: PeakForce | None = None
        self.starts = Starts()
        self.efforts: dict[str, Efforts] = {}
        self.paths: dict[str, PathLength] = {}
        self._vehicles: list[tuple[PathLength, Array]] = []
        self._efforts: list[tuple[Efforts, Array]] = []
        self._bodies: Mapping[str, SimulatedBody] = {}
        self._count = 0
        self._contacts_ns = simulation.state.time_ns
        simulation.record_contacts(self, on=True)
        self.add_new_bodies()

    def add_new_bodies(self) -> None:
        """Record the initial postures of new bodies."""
        bodies = self.simulation.bodies
        if bodies is self._bodies:
            return
        self._bodies = bodies
        for name in self.starts.follow(bodies):
            simulated = bodies[name]
            zeros = np.zeros(len(simulated.body.moving_links))
            self.efforts[name] = Efforts(zeros, zeros.copy())
            self.paths.pop(name, None)
            if not isinstance(vehicle_drive(simulated.body), str):
                self.paths[name] = PathLength(simulated.motion.p[0])
        known = ((self.efforts[name], simulated) for name, simulated in bodies.items())
        self._vehicles = [
            (path, bodies[k].motion.p) for k, path in self.paths.items() if k in bodies
        ]
        self._efforts = [(e, s.motion.effort) for e, s in known if len(s.motion.effort)]

    def _record_contacts(self, time_ns: int, count: int) -> None:
        self._contacts_ns, self._count = time_ns, count
        self._most_contacts = max(self._most_contacts, count)
        self.add_new_bodies()
        for path, p in self._vehicles:
            path.until(p[0])
        points = self.simulation.contacts()
        if not len(points):
            return
        squares = np.einsum("ij,ij->i", points.force, points.force)
        k = int(np.argmax(squares))
        force = float(np.sqrt(squares[k]))
        if self.peak_force is None or force > self.peak_force.force:
            bodies, links = points.bodies[k], points.links[k].tolist()
            (a, i), (b, j) = zip(bodies, links, strict=True)
            between = (a, self._link(a, i)), (b, self._link(b, j))
            self.peak_force = PeakForce(force, time_ns, between)

    def _link(self, body: str, index: int) -> str:
        return self.simulation.bodies[body].body.links[index].name
