"""Sensors of the state of a whole body, which need no device: its joints, and its root's motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from math import nan

import numpy as np
from numpy.typing import NDArray

from hrp_model import JointType, Pose
from hrp_model.kinematics.vehicle import vehicle_drive
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array, matrix_quaternion, quaternion_matrix
from hrp_msgs.readings import JointReading, OdometryReading, WheelOdometryReading

from ..engine.engine import AnyArray
from ..engine.schedule import NS_PER_S
from ..engine.state import SimulatedBody, WorldState
from ._probe import ROOT, Probe
from .base import BodySource, ProbingSensor, Sensor, SensorContext, make_probe, vectors_of
from .settings import TRUTH, WHEELS

# The names of the sensors, and their default rates, in [Hz].
JOINT_STATES, JOINT_RATE = "joint_states", 500.0
ODOMETRY, ODOMETRY_RATE = "odometry", 100.0
_UP = np.array([0.0, 0.0, 1.0])
_NEVER = -1
_Indices = NDArray[np.intp]


class Encoders:
    """Pulse counters, one for each joint with an encoder.

    The count is ``floor(q / resolution)``, zero at q = 0. The velocity is the difference of two
    counts over the time between their samples, as a controller computes it; it is zero at the
    first sample.

    Args:
        resolutions: Displacement per pulse of each joint, in [rad] or [m]; None for a joint
            without encoder.

    Attributes:
        memory: The last counts, their time in [ns], and the velocities computed from them.
    """

    def __init__(self, resolutions: Sequence[float | None]) -> None:
        found = [(i, r) for i, r in enumerate(resolutions) if r is not None]
        self._joints = np.array([i for i, _ in found], dtype=np.intp)
        self._resolution = np.array([r for _, r in found], dtype=np.float64)
        self._counts, self._velocity = np.zeros((2, len(found)))
        self._time_ns = np.array(_NEVER, dtype=np.int64)
        self.memory: Mapping[str, AnyArray] = {
            "counts": self._counts,
            "velocity": self._velocity,
            "time_ns": self._time_ns,
        }

    def reset(self) -> None:
        """Discard the last sample."""
        self._counts[:] = self._velocity[:] = 0.0
        self._time_ns[()] = _NEVER

    def measure(self, time_ns: int, position: Array, velocity: Array) -> None:
        """Replace true values by those of the encoders; repeated calls at one time agree.

        Args:
            time_ns: Simulation time, in [ns].
            position: Of all joints, in [rad] or [m], shape (joints,); modified in place.
            velocity: In [rad/s] or [m/s], shape (joints,); modified in place.
        """
        counts = np.floor(position[self._joints] / self._resolution)
        before_ns = int(self._time_ns)
        if before_ns != time_ns:
            if before_ns != _NEVER and before_ns < time_ns:
                change = (counts - self._counts) * self._resolution
                self._velocity[:] = change / ((time_ns - before_ns) / NS_PER_S)
            else:
                self._velocity[:] = 0.0
            self._counts[:] = counts
            self._time_ns[()] = time_ns
        position[self._joints] = counts * self._resolution
        velocity[self._joints] = self._velocity


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JointSensor(Sensor):
    """Ideal torque sensors, and ideal or quantized encoders, in all joints of a body.

    Attributes:
        name: Name of the sensor, unique in the body.
        body: Name of the body.
        rate_hz: Samples per second.
        joints: Names of the joints, in the order of the body's jointed links.
        tracks: Link indices of the tracks among them, by index in ``joints``.
        encoders: Quantize positions and velocities; None for ideal ones.
    """

    name: str
    body: str
    rate_hz: float
    joints: tuple[str, ...]
    tracks: Mapping[int, int] = field(default_factory=dict)
    encoders: Encoders | None = None
    _links: _Indices = field(init=False, repr=False)  # of the tracks
    _traction: Array = field(init=False, repr=False)  # of the tracks
    _order: _Indices = field(init=False, repr=False)  # see ``_with_tracks``

    def __post_init__(self) -> None:
        object.__setattr__(self, "_links", np.array(list(self.tracks.values()), dtype=np.intp))
        object.__setattr__(self, "_traction", np.full(len(self.tracks), nan))
        count = len(self.joints)
        others = [i for i in range(count) if i not in self.tracks]
        columns = np.argsort([*others, *self.tracks])  # of all others, and behind them the tracks
        object.__setattr__(self, "_order", columns + count * np.arange(3)[:, None])

    @property
    def memory(self) -> Mapping[str, AnyArray]:
        """The memory of the encoders; empty for ideal ones."""
        return {} if self.encoders is None else self.encoders.memory

    def reset(self) -> None:
        """Start again as at time zero."""
        if self.encoders is not None:
            self.encoders.reset()

    def read(self, world: WorldState) -> JointReading:
        """Return a reading of all joints."""
        simulated = world.bodies[self.body]
        motion = simulated.motion
        if not self.tracks and self.encoders is None:
            numbers = motion.q.tobytes() + motion.dq.tobytes() + motion.effort.tobytes()
            return JointReading.late(world.time_ns, self.body, self.joints, numbers)
        if self.tracks:
            position, velocity, effort = self._with_tracks(simulated)
        else:
            position, velocity, effort = motion.q.copy(), motion.dq.copy(), motion.effort.copy()
        if self.encoders is not None:
            self.encoders.measure(world.time_ns, position, velocity)
        return JointReading(world.time_ns, self.body, self.joints, position, velocity, effort)

    def _with_tracks(self, simulated: SimulatedBody) -> Array:
        """Return position, velocity and effort of all joints and tracks, shape (3, joints)."""
        motion, links = simulated.motion, self._links
        run, speed = motion.track_position.take(links), simulated.drive.track_speed.take(links)
        columns = motion.q, run, motion.dq, speed, motion.effort, self._traction
        rows: Array = np.concatenate(columns).take(self._order)
        return rows


def make_joint_sensor(source: BodySource, context: SensorContext) -> JointSensor:
    """Return the sensor of all joints and tracks of a body."""
    links = context.body.jointed_links
    tracks = {i: x for i, x in enumerate(links) if x.joint.type is JointType.TRACK}
    resolutions = [link.joint.encoder_resolution for link in links]
    encoders = None
    if context.settings(source.name).encoders:
        if any(resolutions):
            encoders = Encoders(resolutions)
        else:
            context.warn("no-encoder", source, "stays exact: its model has no encoder resolution")
    return JointSensor(
        name=source.name,
        body=context.simulated.name,
        rate_hz=context.rate(source.name, JOINT_RATE),
        joints=tuple(link.joint.name for link in links),
        tracks={i: context.body.link_index(link.name) for i, link in tracks.items()},
        encoders=encoders,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OdometrySensor(ProbingSensor[OdometryReading]):
    """Measures the motion of the root link without error.

    Attributes:
        name: Name of the sensor, unique in the body.
        body: Name of the body.
        rate_hz: Samples per second.
        followed: What the topmost frame of the body follows: a value of the option ``odometry``.
    """

    name: str
    body: str
    rate_hz: float
    followed: str = TRUTH
    probe: Probe = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "probe", make_probe(ROOT, 0, Pose(), (None, None)))

    def reading(self, world: WorldState, measured: bytes) -> OdometryReading:
        """Return the pose in W and the velocities in the root's frame, which the probe measures."""
        p, v, w = vectors_of(measured)
        orientation = matrix_quaternion(world.bodies[self.body].motion.R[0])
        return OdometryReading(world.time_ns, self.body, p, orientation, v, w)


def make_odometry(source: BodySource, context: SensorContext) -> OdometrySensor:
    """Return the sensor of the root's motion."""
    body, followed = context.body, context.settings(source.name).odometry
    if not body.jointed_links:
        followed = TRUTH  # it is no robot, which could estimate its motion
    elif followed == WHEELS and context.is_fixed:
        followed = TRUTH
    elif followed == WHEELS and isinstance(why := vehicle_drive(body), str):
        context.note("no-wheels", source, f"stays true: {why}")
        followed = TRUTH
    rate = context.rate(source.name, ODOMETRY_RATE)
    name = context.simulated.name
    return OdometrySensor(name=source.name, body=name, rate_hz=rate, followed=followed)


def motion_of_fixed_frame(root: OdometryReading, X_LB: Pose) -> OdometryReading:
    """Return the motion of a frame B that is fixed to the root link L, given that of L."""
    R_WL = quaternion_matrix(root.orientation)
    moved = replace(
        root,
        position=root.position + R_WL @ X_LB.p,
        orientation=matrix_quaternion(R_WL @ X_LB.R),
        linear_velocity=(root.linear_velocity + np.cross(root.angular_velocity, X_LB.p)) @ X_LB.R,
        angular_velocity=root.angular_velocity @ X_LB.R,
    )
    if isinstance(moved, WheelOdometryReading):
        # An error of the yaw also moves the origin of B; roll and pitch are unknown, but small.
        of_pose, of_twist = np.eye(6), np.zeros((6, 6))
        of_pose[:3, 5] = np.cross(_UP, R_WL @ X_LB.p)
        of_twist[:3, :3] = of_twist[3:, 3:] = X_LB.R.T
        of_twist[:3, 5] = np.cross(_UP, X_LB.p) @ X_LB.R
        moved.pose_covariance = of_pose @ moved.pose_covariance @ of_pose.T
        moved.twist_covariance = of_twist @ moved.twist_covariance @ of_twist.T
    return moved
