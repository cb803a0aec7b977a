"""Odometry of a vehicle from the encoders of its wheels or tracks, which drifts where they slip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from math import cos, hypot, sin

import numpy as np
from numpy.typing import NDArray

from hrp_model.body import Body, JointType
from hrp_model.kinematics.drive import DriveKinematics, drive_kinematics
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array
from hrp_msgs.readings import WheelOdometryReading

from ..engine.engine import AnyArray
from ..engine.schedule import NS_PER_S
from ..engine.state import BodyMotion, WorldState
from .base import BodySource, Sensor, SensorContext
from .body_state import ODOMETRY, ODOMETRY_RATE
from .noise import Noise
from .settings import TRUTH

WHEEL_ODOMETRY = "wheel_odometry"  # the name of the sensor
_NEVER = -1
# As of the true motion, see ``hrp_msgs.convert.tf``: filters cannot use zeros.
_LEAST_VARIANCE = 1e-6
_UNKNOWN_VARIANCE = 1e6  # of what wheels do not measure: height, roll and pitch
_OF_THE_REST = np.diag([_LEAST_VARIANCE] * 2 + [_UNKNOWN_VARIANCE] * 3 + [_LEAST_VARIANCE])
_PLANE = np.ix_([0, 1, 5], [0, 1, 5])  # x, y and yaw among the six
_XY = [0, 1], [0, 1]
# Variance per distance that contacts slide over that per distance that they roll, its root: the
# least that covers the errors of a rover and of four wheels in a slalom.
_SLIDING = 5.0
_AT_REST = np.zeros(3)
_SMALL = 1e-6  # angle below which an arc is straight, in [rad]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WheelOdometrySensor(Sensor):
    """Dead reckoning from the angles of wheels, since the sensor was started.

    The variance of the distance ds that a wheel rolls grows with it, and the covariance P of the
    pose x is propagated by the Jacobians of the motion (Siegwart, Nourbakhsh and Scaramuzza,
    Introduction to Autonomous Mobile Robots, 2nd ed., 5.2.4)::

        u = J dq,   Q = J diag((noise^2 + slip^2) |ds|) J^T + slip^2 S
        x' = x + R(yaw) V(dyaw) u,   P' = F P F^T + G Q G^T

    V integrates a constant velocity. F and G are the derivatives of x' by x and, in the direction
    in the middle, by u. S is the variance of the position of vehicles that must slide in turns,
    which grows with the distance that they slide: forces of acceleration move them aside. Errors
    of whole pulses do not add up: they are in P once. A constant error, as of a wrong distance
    between the wheels, grows with the distance, not with its root, and is not in P.

    Attributes:
        name: Name of the sensor, unique in the body.
        body: Name of the body.
        rate_hz: Samples per second.
        kinematics: Of the vehicle.
        joints: Where the positions of the joints that roll, then of those that steer, are among
            the positions of joints, followed by those of links that are tracks.
        resolutions: Displacement per pulse of each of them, in [rad] or [m]; 0 if it is exact.
        noise: Standard deviation of a distance of 1 m, in [m]; it grows with the root.
        slip: Likewise of slip, which is not simulated here, but assumed in the covariances.
        source: Of random numbers.
    """

    name: str
    body: str
    rate_hz: float
    kinematics: DriveKinematics
    joints: NDArray[np.intp]
    resolutions: Array
    noise: float
    slip: float
    source: Noise
    _memory: dict[str, AnyArray] = field(init=False, repr=False)
    _travel: Array = field(init=False, repr=False)  # distance per position of each joint that rolls
    _has_pulses: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        memory: dict[str, AnyArray] = {
            "pose": np.zeros(3),
            "covariance": np.zeros((3, 3)),
            "moved": np.zeros(3),  # u of the last sample
            "moved_covariance": np.zeros((3, 3)),
            "pulses": np.zeros((3, 3)),  # covariance of u as it consists of whole pulses
            "positions": np.zeros(len(self.joints)),
            "time_ns": np.array(_NEVER, dtype=np.int64),
            "period_ns": np.array(_NEVER, dtype=np.int64),
        }
        travel = {contact.joint: contact.travel for contact in self.kinematics.contacts}
        object.__setattr__(self, "_memory", memory)
        object.__setattr__(self, "_travel", np.array([travel[j] for j in self.kinematics.joints]))
        object.__setattr__(self, "_has_pulses", bool(self.resolutions.any()))

    @property
    def memory(self) -> Mapping[str, AnyArray]:
        """Pose and covariance, the last motion and positions, and their time."""
        return self._memory

    def reset(self) -> None:
        """Start again at the origin."""
        for array in self._memory.values():
            array[...] = 0
        self._memory["time_ns"][()] = self._memory["period_ns"][()] = _NEVER

    def read(self, world: WorldState) -> WheelOdometryReading:
        """Return the pose in the frame of the odometry, and the velocity."""
        memory, now_ns = self._memory, world.time_ns
        before_ns = int(memory["time_ns"])
        if now_ns != before_ns:
            positions = self._measured(world.bodies[self.body].motion)
            if before_ns == _NEVER or now_ns < before_ns:
                self.reset()
            else:
                memory["period_ns"][()] = now_ns - before_ns
                self._advance(now_ns, positions)
            memory["positions"][:] = positions
            memory["time_ns"][()] = now_ns
        return self._reading(now_ns)

    def _measured(self, motion: BodyMotion) -> Array:
        """Return the positions of the joints, in whole pulses where they have encoders."""
        positions: Array = np.concatenate([motion.q, motion.track_position]).take(self.joints)
        if self._has_pulses:
            counted = self.resolutions > 0.0
            step = self.resolutions[counted]
            positions[counted] = np.floor(positions[counted] / step) * step
        return positions

    def _advance(self, time_ns: int, positions: Array) -> None:
        memory, n = self._memory, len(self._travel)
        before, pose, P = memory["positions"], memory["pose"], memory["covariance"]
        change = positions[:n] - before[:n]
        spread = np.sqrt(np.abs(self._travel * change)) / np.abs(self._travel)
        if self.noise > 0.0:
            change = change + self.noise * spread * self.source.normals(time_ns, n)
        moved, J = self.kinematics.moved(change, before[n:], positions[n:])
        Q = _squared(J * (hypot(self.noise, self.slip) * spread))
        Q[_XY] += (_SLIDING * self.slip) ** 2 * self.kinematics.sliding * abs(moved[2])
        ahead, F, G = _step(float(pose[2]), moved)
        P[:] = F @ P @ F.T + G @ Q @ G.T
        pose += ahead
        memory["moved"][:] = moved
        memory["moved_covariance"][:] = Q
        if self._has_pulses:  # two positions of the variance resolution^2 / 12
            memory["pulses"][:] = _squared(J * (self.resolutions[:n] / np.sqrt(6.0)))

    def _reading(self, time_ns: int) -> WheelOdometryReading:
        memory = self._memory
        x, y, yaw = memory["pose"].tolist()
        per_second = NS_PER_S / int(memory["period_ns"]) if int(memory["period_ns"]) > 0 else 0.0
        vx, vy, w = (per_second * memory["moved"]).tolist()
        of_pose, of_twist = memory["covariance"], memory["moved_covariance"]
        if self._has_pulses:
            _, _, G = _step(yaw, _AT_REST)
            of_pose, of_twist = of_pose + G @ memory["pulses"] @ G.T, of_twist + memory["pulses"]
        return WheelOdometryReading(
            time_ns,
            self.body,
            np.array([x, y, self.kinematics.root_height]),
            (0.0, 0.0, sin(0.5 * yaw), cos(0.5 * yaw)),
            np.array([vx, vy, 0.0]),
            np.array([0.0, 0.0, w]),
            _of_six(of_pose),
            _of_six(per_second**2 * of_twist),
        )


def _step(yaw: float, moved: Array) -> tuple[Array, Array, Array]:
    """Return how a pose changes by a motion of constant velocity, and both derivatives."""
    dx, dy, turn = moved.tolist()
    if abs(turn) < _SMALL:
        along, across = 1.0, 0.5 * turn
    else:
        along, across = sin(turn) / turn, (1.0 - cos(turn)) / turn
    c, s = cos(yaw), sin(yaw)
    local_x, local_y = along * dx - across * dy, across * dx + along * dy
    x, y = c * local_x - s * local_y, s * local_x + c * local_y
    F = np.array([[1.0, 0.0, -y], [0.0, 1.0, x], [0.0, 0.0, 1.0]])
    c, s = cos(yaw + 0.5 * turn), sin(yaw + 0.5 * turn)
    G = np.array([[c, -s, -0.5 * y], [s, c, 0.5 * x], [0.0, 0.0, 1.0]])
    return np.array([x, y, turn]), F, G


def _squared(A: Array) -> Array:
    return np.asarray(A @ A.T)


def _of_six(plane: Array) -> Array:
    """Return a covariance of x, y and yaw as one of six coordinates, shape (6, 6)."""
    full = _OF_THE_REST.copy()
    full[_PLANE] += plane
    return full


def make_wheel_odometry(source: BodySource, context: SensorContext) -> WheelOdometrySensor | None:
    """Return the sensor of a vehicle whose frame does not follow its true motion."""
    if context.settings(ODOMETRY).odometry == TRUTH or context.is_fixed:
        return None
    body, kinematics = context.body, drive_kinematics(context.body)
    settings = context.settings(source.name)
    if settings.wheel_separation_multiplier > 0.0:
        kinematics = kinematics.with_effective_track(settings.wheel_separation_multiplier)
    names = (*kinematics.joints, *kinematics.steering)
    resolutions = np.zeros(len(names))
    if settings.encoders:
        links = {link.joint.name: link for link in body.jointed_links}
        resolutions[:] = [links[name].joint.encoder_resolution or 0.0 for name in names]
    index = _positions(body)
    return WheelOdometrySensor(
        name=source.name,
        body=context.simulated.name,
        rate_hz=context.rate(source.name, ODOMETRY_RATE),
        kinematics=kinematics,
        joints=np.array([index[name] for name in names], dtype=np.intp),
        resolutions=resolutions,
        noise=settings.wheel_noise,
        slip=settings.wheel_slip,
        source=context.noise(source.name),
    )


def _positions(body: Body) -> dict[str, int]:
    """Return where the position of each joint is in joint positions followed by those of tracks."""
    count = len(body.moving_links)
    tracks = {
        link.joint.name: count + i
        for i, link in enumerate(body.links)
        if link.joint.type is JointType.TRACK
    }
    return {link.joint.name: i for i, link in enumerate(body.moving_links)} | tracks
