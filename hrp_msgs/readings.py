"""Readings: the values of sensors, independent of ROS, of the model and of the simulation.

The sensors of a simulation produce them, and ``convert`` makes messages of them. SI units; arrays
are of type float64 unless stated otherwise. Treat them as immutable: those at high rates are not
frozen dataclasses only because Python takes three times as long to create these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Pixels = NDArray[np.uint8]
Depths = NDArray[np.float32]
Quaternion = tuple[float, float, float, float]
PerAxis = tuple[float, float, float]

_UNKNOWN: PerAxis = (0.0, 0.0, 0.0)


class Reading(Protocol):
    """One sample of a sensor: a dataclass with at least these fields."""

    @property
    def time_ns(self) -> int:
        """Simulation time of the sample, in [ns]."""

    @property
    def body(self) -> str:
        """Name of the body in the world that carries the sensor."""


class _LateArrays:
    """Base of readings whose arrays are of one size and are created when they are first used.

    Messages are made of ``numbers``, so that mostly no array is needed: those arrays, one after the
    other, as float64, without those that are None.
    """

    __slots__ = ("numbers",)

    _arrays: ClassVar[tuple[str, ...]]
    numbers: bytes

    if not TYPE_CHECKING:  # where it would permit any attribute

        def __getattr__(self, name: str) -> object:
            """Create the numbers of the arrays, or an array of the numbers."""
            names = self._arrays
            if name == "numbers":
                arrays = (getattr(self, key) for key in names)
                value = b"".join(np.asarray(x, float).tobytes() for x in arrays if x is not None)
            elif name in names:
                value = np.frombuffer(self.numbers).reshape(len(names), -1)[names.index(name)]
            else:
                raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
            setattr(self, name, value)
            return value


@dataclass(slots=True, eq=False)
class JointReading(_LateArrays):
    """One sample of every movable joint and every track; all arrays of shape (joints,).

    The effort is that of the drive, clipped to the joint's effort range, as it follows from the
    motor current times the gear ratio. It accelerates the rotor, too. It does not include
    viscous and Coulomb friction, stops, and closed loops. With the mass matrix M, the rotor
    inertia J, and gravity, Coriolis and centrifugal forces h::

        (M + J) ddq + h = effort + friction + stops + loops + contacts

    Attributes:
        time_ns: Simulation time of the sample, in [ns].
        body: Name of the body.
        names: Of the joints: those with an id first, by id, then the others.
        position: At the end of the step, in [rad] or [m]; for a track, the distance that its
            surface has moved since the start, in [m].
        velocity: At the end of the step, in [rad/s] or [m/s]; for a track, the speed of its
            surface, in [m/s].
        effort: Mean over the step, in [N m] or [N]; NaN for a track, whose traction is not
            measured.
    """

    time_ns: int
    body: str
    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array

    _arrays = ("position", "velocity", "effort")

    @classmethod
    def late(cls, time_ns: int, body: str, names: tuple[str, ...], numbers: bytes) -> JointReading:
        """Return a reading whose arrays are created of their numbers when they are used."""
        reading = cls.__new__(cls)
        reading.time_ns, reading.body, reading.names = time_ns, body, names
        reading.numbers = numbers  # type: ignore[misc]  # a slot of the base
        return reading


@dataclass(slots=True, eq=False)
class OdometryReading:
    """Pose and velocity of a frame B of a body, such as its root link, in the world W.

    Attributes:
        time_ns: Simulation time of the sample, in [ns].
        body: Name of the body.
        position: p_WB, in [m], shape (3,).
        orientation: Of B in W, unit quaternion (x, y, z, w).
        linear_velocity: Of B's origin in W, expressed in B, in [m/s], shape (3,).
        angular_velocity: w_WB_B, in [rad/s], shape (3,).
    """

    time_ns: int
    body: str
    position: Array
    orientation: Quaternion
    linear_velocity: Array
    angular_velocity: Array


@dataclass(slots=True, eq=False)
class WheelOdometryReading(OdometryReading):
    """Pose and velocity as estimated from wheels, where W is the frame of the odometry.

    Attributes:
        pose_covariance: Of x, y, z, and of the rotations about the axes of W, in [m^2], [m rad] and
            [rad^2], shape (6, 6).
        twist_covariance: Of the linear and the angular velocity, likewise per [s^2], shape (6, 6).
    """

    pose_covariance: Array
    twist_covariance: Array


@dataclass(slots=True, eq=False)
class ImuReading(_LateArrays):
    """One sample of an IMU, in the sensor frame S.

    Attributes:
        time_ns: Simulation time of the sample, in [ns].
        body: Name of the body that carries the sensor.
        angular_velocity: w_WS_S, in [rad/s], shape (3,); None without a gyro.
        linear_acceleration: a_WSo_S - g_S, the specific force, in [m/s^2], shape (3,);
            None without an accelerometer. At rest it points up, with magnitude 9.81.
        orientation: Of S in W, unit quaternion (x, y, z, w), w >= 0; None if not measured.
        angular_velocity_stdev: Standard deviation of the white noise on the axes x, y and z, in
            [rad/s]; like the following, 0 if unknown.
        linear_acceleration_stdev: Likewise, in [m/s^2].
        orientation_stdev: Likewise, about each axis, in [rad].
    """

    time_ns: int
    body: str
    angular_velocity: Array | None
    linear_acceleration: Array | None
    orientation: Quaternion | None = None
    angular_velocity_stdev: PerAxis = _UNKNOWN
    linear_acceleration_stdev: PerAxis = _UNKNOWN
    orientation_stdev: PerAxis = _UNKNOWN

    _arrays = ("angular_velocity", "linear_acceleration")

    @classmethod
    def late(
        cls,
        time_ns: int,
        body: str,
        numbers: bytes,
        orientation: Quaternion | None,
        stdevs: tuple[PerAxis, PerAxis, PerAxis],
    ) -> ImuReading:
        """Return a reading whose arrays, all of them, are created when they are used."""
        reading = cls.__new__(cls)
        reading.time_ns, reading.body = time_ns, body
        reading.numbers = numbers  # type: ignore[misc]
        reading.orientation, reading.angular_velocity_stdev = orientation, stdevs[0]
        reading.linear_acceleration_stdev, reading.orientation_stdev = stdevs[1], stdevs[2]
        return reading


@dataclass(slots=True, eq=False)
class WrenchReading(_LateArrays):
    """A wrench in the sensor frame S, about its origin.

    Of a force sensor: the wrench of the link, with all it carries, on its parent, or the opposite
    wrench. With the default, the wrench on the parent, a mass that hangs on the sensor reads as a
    force downwards.

    Attributes:
        time_ns: Simulation time of the sample, in [ns].
        body: Name of the body that carries the sensor.
        force: In [N], shape (3,).
        torque: In [N m], shape (3,).
    """

    time_ns: int
    body: str
    force: Array
    torque: Array

    _arrays = ("force", "torque")

    @classmethod
    def late(cls, time_ns: int, body: str, numbers: bytes) -> WrenchReading:
        """Return a reading whose arrays are created of their numbers when they are used."""
        reading = cls.__new__(cls)
        reading.time_ns, reading.body = time_ns, body
        reading.numbers = numbers  # type: ignore[misc]
        return reading


@dataclass(slots=True, eq=False)
class TorqueReading(WrenchReading):
    """The effort of the drive of a joint, as a wrench on its link.

    The force is along the axis of a sliding joint, the torque about that of a turning joint; the
    other one is zero.
    """


@dataclass(slots=True, eq=False)
class LightBeamReading:
    """One sample of a photo interrupter.

    Attributes:
        time_ns: Simulation time of the sample, in [ns].
        body: Name of the body that carries the sensor.
        is_blocked: Whether something is between transmitter and receiver.
        length: Of the beam, in [m].
    """

    time_ns: int
    body: str
    is_blocked: bool
    length: float


@dataclass(frozen=True, slots=True, eq=False)
class ScanReading:
    """One planar scan, counter-clockwise, in the scan frame: x forward, y left, z up.

    Attributes:
        time_ns: Simulation time of the first ray, in [ns].
        body: Name of the body that carries the sensor.
        angle_min: Of the first ray about z, in [rad]; 0 is forward.
        angle_increment: Between neighbouring rays, in [rad]; positive even for a single ray.
        scan_time: Time between scans, in [s].
        range_min: Minimum measurable distance, in [m].
        range_max: Maximum measurable distance, in [m].
        ranges: Distances in [m], shape (n,): -inf below range_min, inf beyond range_max
            (REP 117) and without a return, or range_max instead as an option; NaN where ray
            casting failed.
        time_increment: Time between neighbouring rays, in [s]; 0 for all at once.
    """

    time_ns: int
    body: str
    angle_min: float
    angle_increment: float
    scan_time: float
    range_min: float
    range_max: float
    ranges: Array
    time_increment: float = 0.0

    @property
    def points(self) -> Array:
        """End points of the rays, in [m], shape (n, 3); NaN where no range is finite."""
        angles = self.angle_min + self.angle_increment * np.arange(len(self.ranges))
        ranges = np.where(np.isfinite(self.ranges), self.ranges, nan)
        return np.stack([ranges * np.cos(angles), ranges * np.sin(angles), 0.0 * ranges], axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class RangeImageReading:
    """One multi-layer scan, in the scan frame: x forward, y left, z up.

    Rows are layers, the lowest first; columns go counter-clockwise.

    Attributes:
        time_ns: Simulation time of the first column, in [ns].
        body: Name of the body that carries the sensor.
        scan_time: Time between scans, in [s].
        range_min: Minimum measurable distance, in [m].
        range_max: Maximum measurable distance, in [m].
        ranges: Distances in [m], shape (rows, columns), as in ``ScanReading``.
        directions: Unit vectors of the rays, shape (rows, columns, 3).
        time_increment: Time between neighbouring columns, in [s]; 0 for all at once.
    """

    time_ns: int
    body: str
    scan_time: float
    range_min: float
    range_max: float
    ranges: Array
    directions: Array
    time_increment: float = 0.0

    @property
    def points(self) -> Array:
        """End points of the rays, in [m], shape (rows, columns, 3); NaN where no range is finite.

        In a spread scan each column is relative to the pose of the sensor at its own time.
        """
        seen = np.where(np.isfinite(self.ranges), self.ranges, nan)
        return seen[..., np.newaxis] * self.directions


class Lens(Protocol):
    """The lens of a camera."""

    @property
    def width(self) -> int:
        """Of the image, in pixels."""

    @property
    def height(self) -> int:
        """Of the image, in pixels."""

    @property
    def intrinsics(self) -> tuple[float, float, float, float]:
        """fx, fy, cx, cy, in pixels; the centre of the first pixel is (0, 0)."""

    @property
    def rectified(self) -> tuple[float, float, float, float, float, float]:
        """fx, fy, cx, cy of the rectified image, and Tx, Ty, in pixels."""

    @property
    def distortion_model(self) -> str:
        """Name of the model; empty for a lens that none describes."""

    @property
    def distortion(self) -> Sequence[float]:
        """The coefficients of the model."""

    @property
    def slopes(self) -> tuple[Depths, Depths]:
        """x/z and y/z of each pixel, which broadcast to the shape (height, width)."""


@dataclass(frozen=True, slots=True, eq=False)
class ImageReading:
    """One image, in the optical frame: x right, y down, z forward. Row 0 is at the top.

    Parts that the camera does not provide, or that were not requested, are None.

    Attributes:
        time_ns: Simulation time of the capture, in [ns].
        body: Name of the body that carries the camera.
        lens: Projection of the camera.
        color: RGB, shape (height, width, 3).
        mono: Luma of ITU-R BT.601, 0.299 R + 0.587 G + 0.114 B, shape (height, width).
        depth: Along z, in [m], shape (height, width), as in REP 117 and 118: -inf below the
            minimum distance, inf beyond the maximum distance or where nothing is, NaN for a pixel
            whose measurement failed, or that a lens sees beyond a right angle or not at all.
    """

    time_ns: int
    body: str
    lens: Lens
    color: Pixels | None = None
    mono: Pixels | None = None
    depth: Depths | None = None

    @property
    def color_or_mono(self) -> Pixels | None:
        """The colour image, or else the grey image."""
        return self.mono if self.color is None else self.color

    def points(self) -> Depths:
        """Return the point of each pixel of ``depth``, in [m], shape (height, width, 3).

        In the optical frame; NaN where the depth is not finite.
        """
        if self.depth is None:
            raise ValueError("an image without depth has no points")
        per_column, per_row = self.lens.slopes
        z = np.where(np.isfinite(self.depth), self.depth, np.float32(nan))
        points = np.empty((*z.shape, 3), np.float32)
        np.multiply(z, per_column, out=points[..., 0])
        np.multiply(z, per_row, out=points[..., 1])
        points[..., 2] = z
        return points
