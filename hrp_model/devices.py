"""Sensors, lights and other devices of a robot. SI units and radians; no file format here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import Enum
from math import floor, inf, isfinite, pi
from typing import Any, NamedTuple

import numpy as np

from .diagnostics import Span
from .late_dataclass import dataclass
from .rigid import Array, Pose, frozen_array

_UNLIMITED = np.full(3, inf)
_UNLIMITED.setflags(write=False)
_AHEAD = np.array([0.0, 0.0, -1.0])
_AHEAD.setflags(write=False)
_AXIS_X = np.array([1.0, 0.0, 0.0])
_AXIS_X.setflags(write=False)
MAX_RAYS = 1_000_000  # along one axis of a scan
_STEP_TOLERANCE = 1e-7  # of a step, by which rounding may shorten a range


@dataclass(frozen=True)
class AxisNoise:
    """Errors that a model states for one axis of a sensor, in the unit of the axis.

    A sample is wrong by ``offset + walk + white``, rounded to multiples of ``precision``.

    Attributes:
        mean: Of the offset, which is constant during a run.
        mean_stdev: Standard deviation of the offset from run to run.
        stdev: Standard deviation of the white noise, per sample.
        walk: Density of the random walk, per sqrt(s).
        correlation_time: With which the walk returns to zero, in [s]; inf = never.
        precision: Step of the output; 0 = none.
    """

    mean: float = 0.0
    mean_stdev: float = 0.0
    stdev: float = 0.0
    walk: float = 0.0
    correlation_time: float = inf
    precision: float = 0.0


VectorNoise = tuple[AxisNoise, AxisNoise, AxisNoise]
NO_NOISE: VectorNoise = (AxisNoise(), AxisNoise(), AxisNoise())


@dataclass(frozen=True, eq=False, kw_only=True)
class Device:
    """A device mounted on a link.

    Attributes:
        name: As in the model; readers replace empty names.
        id: Index among the devices of its kind, or None.
        link: Name of the link L that carries it.
        X_LS: Pose of the device frame S in L.
        on: Whether it is switched on at the start.
        info: All entries of the device in the file.
        at: Where the model file defines it, for messages.
    """

    name: str
    link: str
    id: int | None = None
    X_LS: Pose = field(default_factory=Pose)
    on: bool = True
    info: Mapping[str, Any] = field(default_factory=dict)
    at: Span | None = field(default=None, repr=False)

    @property
    def kind(self) -> str:
        """Its type, as model files name it."""
        return type(self).__name__


@dataclass(frozen=True, eq=False, kw_only=True)
class AccelerationSensor(Device):
    """An accelerometer.

    Attributes:
        max_acceleration: Per axis in [m/s^2], inf = unlimited, shape (3,).
        acceleration_noise: Per axis, in [m/s^2].
        sample_rate: In [Hz]; 0 = not stated.
    """

    max_acceleration: Array = field(default_factory=lambda: _UNLIMITED)
    acceleration_noise: VectorNoise = NO_NOISE
    sample_rate: float = 0.0

    def __post_init__(self) -> None:
        _freeze(self, "max_acceleration")


@dataclass(frozen=True, eq=False, kw_only=True)
class RateGyroSensor(Device):
    """A rate gyro.

    Attributes:
        max_angular_velocity: Per axis in [rad/s], inf = unlimited, shape (3,).
        angular_velocity_noise: Per axis, in [rad/s].
        sample_rate: In [Hz]; 0 = not stated.
    """

    max_angular_velocity: Array = field(default_factory=lambda: _UNLIMITED)
    angular_velocity_noise: VectorNoise = NO_NOISE
    sample_rate: float = 0.0

    def __post_init__(self) -> None:
        _freeze(self, "max_angular_velocity")


@dataclass(frozen=True, eq=False, kw_only=True)
class Imu(Device):
    """An accelerometer and a rate gyro in one device, with the limits and the noise of both."""

    max_acceleration: Array = field(default_factory=lambda: _UNLIMITED)
    max_angular_velocity: Array = field(default_factory=lambda: _UNLIMITED)
    acceleration_noise: VectorNoise = NO_NOISE
    angular_velocity_noise: VectorNoise = NO_NOISE
    sample_rate: float = 0.0

    def __post_init__(self) -> None:
        _freeze(self, "max_acceleration", "max_angular_velocity")


class WrenchFrame(Enum):
    """Frame in which a wrench is expressed, and about whose origin its torque is.

    SENSOR: the device's S. CHILD: that of its link. PARENT: the axes of the parent link, at the
    origin of the joint.
    """

    SENSOR = "sensor"
    CHILD = "child"
    PARENT = "parent"


@dataclass(frozen=True, eq=False, kw_only=True)
class ForceSensor(Device):
    """A six-axis force sensor in the joint above its link.

    Attributes:
        max_force: Per axis in [N], inf = unlimited, shape (3,).
        max_torque: Per axis in [N m], inf = unlimited, shape (3,).
        frame: Of the wrench.
        on_link: Whether it measures the wrench of the parent on its link, not the opposite one.
        force_noise, torque_noise: Per axis of the frame, in [N] and [N m].
        sample_rate: In [Hz]; 0 = not stated.
    """

    max_force: Array = field(default_factory=lambda: _UNLIMITED)
    max_torque: Array = field(default_factory=lambda: _UNLIMITED)
    frame: WrenchFrame = WrenchFrame.SENSOR
    on_link: bool = False
    force_noise: VectorNoise = NO_NOISE
    torque_noise: VectorNoise = NO_NOISE
    sample_rate: float = 0.0

    def __post_init__(self) -> None:
        _freeze(self, "max_force", "max_torque")


class ImageType(Enum):
    """Images and point clouds that a camera delivers."""

    NONE = "none"
    COLOR = "color"
    MONO = "mono"
    DEPTH = "depth"
    COLOR_DEPTH = "color_depth"
    MONO_DEPTH = "mono_depth"
    POINT_CLOUD = "point_cloud"
    COLOR_POINT_CLOUD = "color_point_cloud"

    @property
    def has_color(self) -> bool:
        """Whether the camera delivers colours."""
        return "color" in self.value

    @property
    def has_mono(self) -> bool:
        """Whether the camera delivers grey values."""
        return "mono" in self.value

    @property
    def has_depth(self) -> bool:
        """Whether the camera measures depth."""
        return "depth" in self.value or "point_cloud" in self.value


class LensType(Enum):
    """Projection of a camera."""

    NORMAL = "normal"
    FISHEYE = "fisheye"
    DUAL_FISHEYE = "dual_fisheye"


class Intrinsics(NamedTuple):
    """Focal lengths and principal point, in pixels; the centre of the first pixel is (0, 0)."""

    fx: float
    fy: float
    cx: float
    cy: float


class Distortion(NamedTuple):
    """Brown's distortion as in OpenCV and ROS's ``plumb_bob``, in the order of CameraInfo."""

    k1: float = 0.0
    k2: float = 0.0
    p1: float = 0.0
    p2: float = 0.0
    k3: float = 0.0


NO_DISTORTION = Distortion()


class LensFunction(NamedTuple):
    """Distance from the centre of a fisheye image: r = focal length * c1 * fun(angle / c2 + c3).

    ``angle`` is from the optical axis; ``fun`` is one of ``LENS_FUNCTIONS``: a tangent, a sine, or
    the identity.
    """

    fun: str = "id"
    c1: float = 1.0
    c2: float = 1.0
    c3: float = 0.0

    def radius(self, angle: Array | float) -> Array:
        """Return r for a focal length of 1; NaN or infinite where the lens cannot see."""
        folds = self.fun != "id"  # beyond a quarter turn the image would fold back
        forward, _ = _LENS_FUNCTIONS[self.fun]
        with np.errstate(all="ignore"):
            turn = np.asarray(angle) / self.c2 + self.c3
            seen = np.where(folds & (np.abs(turn) > pi / 2.0 + 1e-9), np.nan, turn)
            return np.asarray(self.c1 * forward(seen))

    def angle(self, radius: Array | float) -> Array:
        """Return the angle from the axis, in [rad], for r at a focal length of 1; NaN if none."""
        _, inverse = _LENS_FUNCTIONS[self.fun]
        with np.errstate(all="ignore"):
            return np.asarray(self.c2 * (inverse(np.asarray(radius) / self.c1) - self.c3))


EQUIDISTANT = LensFunction()
_LENS_FUNCTIONS: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "tan": (np.tan, np.arctan),
    "sin": (np.sin, np.arcsin),
    "id": (np.positive, np.positive),
}
LENS_FUNCTIONS = tuple(_LENS_FUNCTIONS)


@dataclass(frozen=True, eq=False, kw_only=True)
class Camera(Device):
    """A camera. Its frame S looks along -Z with +Y up and +X to the right of the image.

    Attributes:
        image_type: Images and point clouds that it delivers.
        lens_type: Projection.
        width, height: In pixels.
        field_of_view: Full angle across the shorter image side, in [rad].
        intrinsics: None for square pixels, the optical axis in the middle of the image, and the
            field of view.
        rectified: The intrinsics and the translation Tx, Ty of the matrix P in CameraInfo, in
            pixels; None for those of the camera.
        distortion: Of a normal lens.
        lens_function: Of a fisheye lens.
        cut_off_angle: From the optical axis, beyond which a fisheye lens sees nothing, in [rad];
            None for half the field of view.
        color_mean, color_stdev: Mean and standard deviation of the noise of colours, which are
            from 0 to 1.
        near_clip, far_clip: Clipping distances along the optical axis, in [m].
        frame_rate: In [Hz].
        min_distance, max_distance: Range of measurable depths, in [m].
        detection_rate: Share of the pixels whose depth is measured, 0..1.
        error_deviation: Standard deviation of distances along the rays, in [m].
        error_mean: Their mean error, in [m].
    """

    image_type: ImageType = ImageType.COLOR
    lens_type: LensType = LensType.NORMAL
    width: int = 640
    height: int = 480
    field_of_view: float = 0.785398
    intrinsics: Intrinsics | None = None
    rectified: tuple[Intrinsics, float, float] | None = None
    distortion: Distortion = NO_DISTORTION
    lens_function: LensFunction = EQUIDISTANT
    cut_off_angle: float | None = None
    color_mean: float = 0.0
    color_stdev: float = 0.0
    near_clip: float = 0.04
    far_clip: float = 200.0
    frame_rate: float = 30.0
    min_distance: float = 0.0
    max_distance: float = inf
    detection_rate: float = 1.0
    error_deviation: float = 0.0
    error_mean: float = 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class RangeSensor(Device):
    """A laser scanner. Its frame S looks along -Z and scans about +Y, in the XZ plane.

    Attributes:
        yaw_range: Total angle, from -yaw_range/2 to +yaw_range/2 about +Y, in [rad]; 0 means
            one ray in each layer.
        yaw_step: Angle between neighbouring rays, in [rad].
        yaw_min: Angle of the first ray, instead of -yaw_range/2, in [rad]; None also means that a
            ray points ahead, see ``yaw_angles``.
        pitch_range, pitch_step, pitch_min: The same about +X, applied before the yaw; a range of 0
            without another minimum means a planar scan.
        min_distance, max_distance: In [m].
        scan_rate: Scans per second.
        detection_rate: Share of rays that return a distance, 0..1.
        error_deviation: Standard deviation of the distance, in [m].
        error_mean: Mean error of distances, in [m].
        error_mean_deviation: Its standard deviation from run to run, in [m].
    """

    yaw_range: float = 2.0 * pi / 3.0
    yaw_step: float = pi / 180.0
    yaw_min: float | None = None
    pitch_range: float = 0.0
    pitch_step: float = pi / 180.0
    pitch_min: float | None = None
    min_distance: float = 0.1
    max_distance: float = 10.0
    scan_rate: float = 10.0
    detection_rate: float = 1.0
    error_deviation: float = 0.0
    error_mean: float = 0.0
    error_mean_deviation: float = 0.0

    @property
    def yaw_limits(self) -> tuple[float, float]:
        """First and last yaw, in [rad]."""
        return _limits(self.yaw_range, self.yaw_min)

    @property
    def pitch_limits(self) -> tuple[float, float]:
        """Lowest and highest pitch, in [rad]."""
        return _limits(self.pitch_range, self.pitch_min)

    @property
    def is_planar(self) -> bool:
        """Whether it scans in a single plane, the XZ plane of S."""
        return self.pitch_range == 0.0 and not self.pitch_min


@dataclass(frozen=True, eq=False, kw_only=True)
class Light(Device):
    """Base class of lights.

    Attributes:
        color: RGB in 0..1.
        intensity: Of the direct light, 0..1.
        ambient_intensity: Of its contribution to the ambient light, 0..1.
    """

    color: tuple[float, float, float] = (1.0, 1.0, 1.0)
    intensity: float = 1.0
    ambient_intensity: float = 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class DirectionalLight(Light):
    """A light with parallel rays, such as the sun.

    Attributes:
        direction: Of the rays in S, unit vector, shape (3,).
    """

    direction: Array = field(default_factory=lambda: _AHEAD)

    def __post_init__(self) -> None:
        _freeze(self, "direction")


@dataclass(frozen=True, eq=False, kw_only=True)
class PointLight(Light):
    """A light at the origin of S that shines in all directions.

    Attributes:
        attenuation: Constant, linear and quadratic coefficients: at a distance d in [m] the
            light is scaled by 1 / max(1, c0 + c1 d + c2 d^2).
        radius: Maximum distance that it lights, in [m].
    """

    attenuation: tuple[float, float, float] = (1.0, 0.0, 0.0)
    radius: float = inf


@dataclass(frozen=True, eq=False, kw_only=True)
class SpotLight(PointLight):
    """A light at the origin of S that shines into a cone.

    At an angle a from the axis between beam width b and cut-off angle c, its intensity is
    scaled by ((c - a) / (c - b)) ** cut_off_exponent. If b >= c, the whole cone up to c is lit
    evenly.

    Attributes:
        direction: Of the axis in S, unit vector, shape (3,).
        beam_width: Half-angle of the evenly lit cone, in [rad].
        cut_off_angle: Half-angle of the cone outside of which nothing is lit, in [rad].
        cut_off_exponent: Falloff between the two angles; 1 is linear.
    """

    direction: Array = field(default_factory=lambda: _AHEAD)
    beam_width: float = pi / 2.0
    cut_off_angle: float = pi / 4.0
    cut_off_exponent: float = 1.0

    def __post_init__(self) -> None:
        _freeze(self, "direction")


class HoldCondition(Enum):
    """Which body a holder takes hold of.

    DISTANCE: the nearest one in reach. COLLISION: one that touches the holder's link. NAME: the
    one of a given name, in reach.
    """

    DISTANCE = "distance"
    COLLISION = "collision"
    NAME = "name"


@dataclass(frozen=True, eq=False, kw_only=True)
class Holder(Device):
    """A device that holds another body, such as a suction cup, a magnet or a tool changer.

    Attributes:
        categories: Of the attachments that it fits; empty means all.
        condition: Which body it takes hold of.
        max_distance: Its reach from the origin of S, in [m].
        target: Name of the body that it holds, for the condition NAME.
    """

    categories: tuple[str, ...] = ()
    condition: HoldCondition = HoldCondition.DISTANCE
    max_distance: float = 0.1
    target: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Attachment(Device):
    """A place at which holders hold a body; ``category`` is which holders fit, or empty."""

    category: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Conveyor(Device):
    """Makes the surface of its link move, as that of a belt or a turntable.

    Attributes:
        is_rotary: Whether the surface turns about the axis through S; else it moves along it.
        axis: Unit vector in S, shape (3,).
        speed: In [m/s], or in [rad/s] if rotary.
    """

    is_rotary: bool = False
    axis: Array = field(default_factory=lambda: _AXIS_X)
    speed: float = 0.0

    def __post_init__(self) -> None:
        _freeze(self, "axis")


@dataclass(frozen=True, eq=False, kw_only=True)
class TorqueSensor(Device):
    """A torque sensor in the joint between its link and the parent."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PhotoInterrupter(Device):
    """A beam of light between two points that objects interrupt.

    Attributes:
        transmitter: Start of the beam in S, in [m], shape (3,).
        receiver: Its end in S, in [m], shape (3,).
    """

    transmitter: Array = field(default_factory=lambda: np.zeros(3))
    receiver: Array = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        _freeze(self, "transmitter", "receiver")


@dataclass(frozen=True, eq=False, kw_only=True)
class GenericDevice(Device):
    """A device without a class of its own; ``type_name`` is its type in the file."""

    type_name: str

    @property
    def kind(self) -> str:
        """Its type in the file."""
        return self.type_name


def yaw_angles(yaw_range: float, yaw_step: float, yaw_min: float | None = None) -> Array:
    """Return the yaw angles of the rays of a scan, in [rad], shape (n,).

    Without a minimum they are the multiples of the step within +-range/2, counter-clockwise, and a
    full circle has no direction twice: -pi is included, +pi is not. A range of 0 has one ray.

    Args:
        yaw_range: Total angle, in [rad].
        yaw_step: Angle between neighbouring rays, in [rad].
        yaw_min: Angle of the first ray, in [rad].

    Raises:
        ValueError: Range or step is invalid, or there are more than ``MAX_RAYS`` rays.
    """
    if yaw_range == 0.0 or yaw_min is not None:
        return _angles(yaw_range, yaw_step, yaw_min)
    _check_scan(yaw_range, yaw_step)
    half = floor(min(yaw_range / 2.0 / yaw_step + _STEP_TOLERANCE, pi / yaw_step + 1e-3))
    around = max(1, round(2.0 * pi / yaw_step))
    return yaw_step * np.arange(-half, min(half + 1, around - half), dtype=np.float64)


def yaw_increment(yaw_step: float) -> float:
    """Return ``angle_increment`` of a LaserScan, in [rad].

    1 degree instead of a step of 0, which a single ray may have: receivers divide by it.
    """
    return yaw_step if 0.0 < yaw_step < inf else pi / 180.0


def pitch_angles(pitch_range: float, pitch_step: float, pitch_min: float | None = None) -> Array:
    """Return the pitch angles of the layers of a scan, the lowest first, in [rad], shape (n,).

    They begin at -range/2, as in Choreonoid, so that an even number of layers is possible. A
    range of 0 has one layer.

    Args:
        pitch_range: Total angle, in [rad].
        pitch_step: Angle between neighbouring layers, in [rad].
        pitch_min: Angle of the lowest layer, instead of -range/2, in [rad].

    Raises:
        ValueError: Range or step is invalid, or there are more than ``MAX_RAYS`` layers.
    """
    return _angles(pitch_range, pitch_step, pitch_min)


def _limits(total: float, first: float | None) -> tuple[float, float]:
    """Return the first angle, by default -total/2, and the last one, in [rad]."""
    first = 0.0 - total / 2.0 if first is None else first
    return first, first + total


def _angles(total: float, step: float, first: float | None) -> Array:
    """Return the angles from the first one on, by default -total/2, in [rad], shape (n,)."""
    first, _ = _limits(total, first)
    if not isfinite(first):
        raise ValueError(f"a scan that begins at {first} rad is impossible")
    if total == 0.0:
        return np.full(1, first)
    _check_scan(total, step)
    return first + step * np.arange(floor(total / step + _STEP_TOLERANCE) + 1, dtype=np.float64)


def _check_scan(total: float, step: float) -> None:
    if not (0.0 <= total < inf and 0.0 < step < inf):
        raise ValueError(f"a scan of {total} rad in steps of {step} rad is impossible")
    if total / step >= MAX_RAYS:
        raise ValueError(f"a scan of {total / step:.0f} rays is too fine; the limit is {MAX_RAYS}")


def _freeze(device: Device, *names: str) -> None:
    for name in names:
        object.__setattr__(device, name, frozen_array(getattr(device, name), (3,), name))
