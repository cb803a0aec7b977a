"""IMU: gyro, accelerometer and orientation of a frame fixed to a link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import hypot

from hrp_model import Pose
from hrp_model.inertial_units import InertialUnit
from hrp_model.rigid import Array, axis_angle_matrix, matrix_quaternion

from ..physics.state import WorldState
from .base import (
    AnyArray,
    Rows,
    Vector,
    check_limits,
    check_mounting,
    none_if_identity,
    rotate_inverse,
    rotate_to_sensor,
    rows_of,
    saturate,
)
from .context import SensorContext
from .imu_noise import ImuNoise

RATE = 500.0  # [Hz], the default
Quaternion = tuple[float, float, float, float]


@dataclass(slots=True, eq=False)
class ImuReading:
    """One sample, in the sensor frame S.

    Attributes:
        time_ns: Simulation time of the sample, in [ns].
        body: Name of the body that carries the sensor.
        angular_velocity: w_WS_S, in [rad/s], shape (3,); None without a gyro.
        linear_acceleration: a_WSo_S - g_S, the specific force, in [m/s^2], shape (3,);
            None without an accelerometer. At rest it points up, with magnitude 9.81.
        orientation: Of S in W, unit quaternion (x, y, z, w), w >= 0; None if not measured.
        angular_velocity_stdev: Standard deviation of the white noise on each axis, in
            [rad/s]; like the following, 0 if unknown.
        linear_acceleration_stdev: Likewise, in [m/s^2].
        orientation_stdev: Likewise, about each axis, in [rad].
    """

    time_ns: int
    body: str
    angular_velocity: Array | None
    linear_acceleration: Array | None
    orientation: Quaternion | None = None
    angular_velocity_stdev: float = 0.0
    linear_acceleration_stdev: float = 0.0
    orientation_stdev: float = 0.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ImuSensor:
    """A gyro, an accelerometer, or both, whose frame S is fixed to a link L.

    Attributes:
        name: Name in the model.
        body: Name of the body that carries it.
        rate_hz: Samples per second.
        link: Index of L in the body's links.
        X_LS: Pose of S in L.
        g_W: Gravity, in [m/s^2], shape (3,).
        max_angular_velocity: Saturation limit of the gyro per axis, in [rad/s], shape (3,);
            None without a gyro.
        max_acceleration: Saturation limit of the accelerometer per axis, in [m/s^2],
            shape (3,); None without an accelerometer.
        measures_orientation: Whether readings have an orientation.
        noise: Added before saturation; None for an ideal sensor.

    Raises:
        ValueError: The pose is not a rigid transform, or a limit is negative or NaN.
    """

    name: str
    body: str
    rate_hz: float
    link: int
    X_LS: Pose
    g_W: Array
    max_angular_velocity: Array | None
    max_acceleration: Array | None
    measures_orientation: bool = False
    noise: ImuNoise | None = None
    _R_LS: Rows | None = field(init=False, repr=False)
    _p_LS: Vector = field(init=False, repr=False)
    _g_W: Vector = field(init=False, repr=False)
    _limits: tuple[Vector | None, Vector | None] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_mounting(self.X_LS)
        ranges = (self.max_angular_velocity, self.max_acceleration)
        check_limits(*ranges)
        limits = tuple(None if limit is None else tuple(limit.tolist()) for limit in ranges)
        object.__setattr__(self, "_R_LS", none_if_identity(rows_of(self.X_LS.R)))
        object.__setattr__(self, "_p_LS", tuple(self.X_LS.p.tolist()))
        object.__setattr__(self, "_g_W", tuple(self.g_W.tolist()))
        object.__setattr__(self, "_limits", limits)

    @property
    def memory(self) -> Mapping[str, AnyArray]:
        """The biases, if they drift."""
        return {} if self.noise is None else self.noise.memory

    def reset(self) -> None:
        """Set the biases to 0 at the next sample."""
        if self.noise is not None:
            self.noise.reset()

    def read(self, world: WorldState) -> ImuReading:
        """Return a reading at the sensor's origin, including the lever arm effect."""
        motion, i = world.bodies[self.body].motion, self.link
        R_WL = motion.R[i].tolist()
        w_L = rotate_inverse(R_WL, motion.w[i].tolist())
        gyro = acceleration = orientation = None
        max_angular_velocity, max_acceleration = self._limits
        noise = None if self.noise is None else self.noise.at(world.time_ns)
        if max_angular_velocity is not None:
            w_S = rotate_to_sensor(self._R_LS, w_L)
            gyro = saturate(w_S if noise is None else _plus(w_S, noise[0]), max_angular_velocity)
        if max_acceleration is not None:
            alpha_L = rotate_inverse(R_WL, motion.alpha[i].tolist())
            (ax, ay, az), (gx, gy, gz) = motion.a[i].tolist(), self._g_W
            f_L = rotate_inverse(R_WL, (ax - gx, ay - gy, az - gz))
            f_S = rotate_to_sensor(self._R_LS, _at_lever_arm(f_L, alpha_L, w_L, self._p_LS))
            acceleration = saturate(
                f_S if noise is None else _plus(f_S, noise[1]), max_acceleration
            )
        if self.measures_orientation:
            orientation = _orientation(motion.R[i] @ self.X_LS.R, noise and noise[2])
        if self.noise is None:
            return ImuReading(world.time_ns, self.body, gyro, acceleration, orientation)
        stdevs = self.noise.stdevs
        return ImuReading(world.time_ns, self.body, gyro, acceleration, orientation, *stdevs)


def make_imu(unit: InertialUnit, context: SensorContext) -> ImuSensor:
    """Return the sensor of a gyro, an accelerometer, or both."""
    settings = context.settings(unit.name)
    is_noisy = ImuNoise.is_enabled(settings)
    return ImuSensor(
        **context.mounted(unit.device, RATE),
        g_W=context.g_W,
        max_angular_velocity=unit.max_angular_velocity,
        max_acceleration=unit.max_acceleration,
        measures_orientation=settings.orientation,
        noise=ImuNoise(settings, context.noise(unit.name)) if is_noisy else None,
    )


def _plus(v: Vector, error: Vector) -> Vector:
    return v[0] + error[0], v[1] + error[1], v[2] + error[2]


def _orientation(R_WS: Array, error: Vector | None) -> Quaternion:
    """Return the quaternion of S, rotated in its own frame by a rotation vector in [rad]."""
    angle = 0.0 if error is None else hypot(*error)
    if error is None or angle == 0.0:
        return matrix_quaternion(R_WS)
    x, y, z = error
    return matrix_quaternion(R_WS @ axis_angle_matrix((x / angle, y / angle, z / angle), angle))


def _at_lever_arm(f: Vector, alpha: Vector, w: Vector, r: Vector) -> Vector:
    """Return f + alpha x r + w x (w x r), all in L."""
    fx, fy, fz = f
    ax, ay, az = alpha
    wx, wy, wz = w
    x, y, z = r
    # w x (w x r) = w (w . r) - r (w . w)
    along, square = wx * x + wy * y + wz * z, wx * wx + wy * wy + wz * wz
    return (
        fx + ay * z - az * y + wx * along - x * square,
        fy + az * x - ax * z + wy * along - y * square,
        fz + ax * y - ay * x + wz * along - z * square,
    )
