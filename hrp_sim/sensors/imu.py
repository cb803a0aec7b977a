"""IMU: gyro, accelerometer and orientation of a frame fixed to a link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from math import hypot

import numpy as np

from hrp_model import Pose
from hrp_model.devices import NO_NOISE, AxisNoise, VectorNoise
from hrp_model.inertial_units import InertialUnit
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array, axis_angle_matrix, matrix_quaternion
from hrp_msgs.readings import ImuReading, PerAxis, Quaternion

from ..engine.engine import AnyArray
from ..engine.state import WorldState
from ._probe import INERTIAL, Probe
from .base import (
    ProbingSensor,
    SensorContext,
    check_limits,
    check_mounting,
    make_probe,
    saturate,
    vectors_of,
)
from .noise import Noise, VectorErrors, with_options
from .settings import SensorSettings

RATE = 500.0  # [Hz], the default


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ImuSensor(ProbingSensor[ImuReading]):
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
        noise: Added before saturation, see ``imu_noise``; None for an ideal sensor.

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
    noise: VectorErrors | None = None
    probe: Probe = field(init=False, repr=False)
    _stdevs: tuple[PerAxis, PerAxis, PerAxis] = field(init=False, repr=False)
    # Whether readings are what the probe measures and clips, both vectors.
    _is_plain: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_mounting(self.X_LS)
        limits = self.max_angular_velocity, self.max_acceleration
        check_limits(*limits)
        bounds = limits if self.noise is None else (None, None)  # else clipped with the noise
        probe = make_probe(INERTIAL, self.link, self.X_LS, bounds, self.g_W)
        object.__setattr__(self, "probe", probe)
        x = (0.0,) * 9 if self.noise is None else self.noise.stdevs
        stdevs = (x[0], x[1], x[2]), (x[3], x[4], x[5]), (x[6], x[7], x[8])
        object.__setattr__(self, "_stdevs", stdevs)
        is_plain = self.noise is None and not self.measures_orientation
        is_plain &= self.max_angular_velocity is not None and self.max_acceleration is not None
        object.__setattr__(self, "_is_plain", is_plain)

    @property
    def memory(self) -> Mapping[str, AnyArray]:
        """The biases, if they drift."""
        return {} if self.noise is None else self.noise.memory

    def reset(self) -> None:
        """Set the biases to 0 at the next sample."""
        if self.noise is not None:
            self.noise.reset()

    def reading(self, world: WorldState, measured: bytes) -> ImuReading:
        """Return a reading at the sensor's origin, including the lever arm effect.

        The probe measures the true angular velocity and specific force.
        """
        orientation = turn = None
        if self._is_plain:
            return ImuReading.late(world.time_ns, self.body, measured, None, self._stdevs)
        vectors = vectors_of(measured)
        gyro = None if self.max_angular_velocity is None else vectors[0]
        acceleration = None if self.max_acceleration is None else vectors[1]
        if self.noise is not None:
            # What is not measured takes its random numbers, too.
            true = np.zeros((3, 3))
            true[0] = 0.0 if gyro is None else gyro
            true[1] = 0.0 if acceleration is None else acceleration
            noisy = self.noise.applied(world.time_ns, true.reshape(9)).reshape(3, 3)
            if self.max_angular_velocity is not None:
                gyro = saturate(noisy[0], self.max_angular_velocity)
            if self.max_acceleration is not None:
                acceleration = saturate(noisy[1], self.max_acceleration)
            turn = noisy[2]
        if self.measures_orientation:
            R_WL = world.bodies[self.body].motion.R[self.link]
            orientation = _orientation(R_WL @ self.X_LS.R, turn)
        return ImuReading(world.time_ns, self.body, gyro, acceleration, orientation, *self._stdevs)


def imu_noise(
    settings: SensorSettings,
    source: Noise,
    gyro: VectorNoise = NO_NOISE,
    accelerometer: VectorNoise = NO_NOISE,
) -> VectorErrors:
    """Return the errors of an IMU: of the gyro, the accelerometer and the orientation, 3 axes each.

    Those of the orientation are a rotation vector in its own frame, in [rad].

    Args:
        settings: Options; those that are not negative take the place of the model's noise.
        source: Of random numbers.
        gyro: Noise of the model, per axis, in [rad/s].
        accelerometer: Likewise, in [m/s^2].

    Raises:
        ValueError: A number is out of range.
    """
    s = settings
    turn = AxisNoise(stdev=s.orientation_stdev)
    axes = (
        *with_options(gyro, s.angular_velocity_stdev, s.angular_velocity_random_walk),
        *with_options(
            accelerometer, s.linear_acceleration_stdev, s.linear_acceleration_random_walk
        ),
        *(turn, turn, turn),
    )
    return VectorErrors(axes, source)


def make_imu(unit: InertialUnit, context: SensorContext) -> ImuSensor:
    """Return the sensor of a gyro, an accelerometer, or both."""
    settings = context.settings(unit.name)
    source = context.noise(unit.name)
    noise = imu_noise(settings, source, unit.angular_velocity_noise, unit.acceleration_noise)
    return ImuSensor(
        **context.mounted(unit.device, unit.sample_rate or RATE),
        g_W=context.g_W,
        max_angular_velocity=unit.max_angular_velocity,
        max_acceleration=unit.max_acceleration,
        measures_orientation=settings.orientation,
        noise=None if noise.is_ideal else noise,
    )


def _orientation(R_WS: Array, error: Array | None) -> Quaternion:
    """Return the quaternion of S, rotated in its own frame by a rotation vector in [rad]."""
    angle = 0.0 if error is None else hypot(*error)
    if error is None or angle == 0.0:
        return matrix_quaternion(R_WS)
    x, y, z = error.tolist()
    return matrix_quaternion(R_WS @ axis_angle_matrix((x / angle, y / angle, z / angle), angle))
