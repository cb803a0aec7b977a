"""Inertial measurement units (IMUs) of a body: single devices, or pairs of sensors."""

from __future__ import annotations

import numpy as np

from .body import Body
from .devices import (
    NO_NOISE,
    AccelerationSensor,
    Device,
    Imu,
    RateGyroSensor,
    VectorNoise,
)
from .diagnostics import Span
from .late_dataclass import dataclass
from .rigid import Array

# Tolerance for equal poses: of positions in [m], and of the elements of rotations.
SAME_POSE = 1e-9


@dataclass(frozen=True, eq=False)
class InertialUnit:
    """An IMU: a single device, or a gyro and an accelerometer at the same pose.

    Attributes:
        device: The device that gives it its name; of a pair the gyro.
        max_angular_velocity: Per axis in [rad/s], shape (3,); None without a gyro.
        max_acceleration: Per axis in [m/s^2], shape (3,); None without an accelerometer.
        partner: The accelerometer of a pair, else None.
        angular_velocity_noise: Of the gyro, per axis, in [rad/s].
        acceleration_noise: Of the accelerometer, per axis, in [m/s^2].
        sample_rate: In [Hz]; 0 = not stated.
    """

    device: Device
    max_angular_velocity: Array | None
    max_acceleration: Array | None
    partner: Device | None = None
    angular_velocity_noise: VectorNoise = NO_NOISE
    acceleration_noise: VectorNoise = NO_NOISE
    sample_rate: float = 0.0

    @property
    def name(self) -> str:
        """Name of the device."""
        return self.device.name

    @property
    def at(self) -> Span | None:
        """Where the model file defines the device."""
        return self.device.at

    @property
    def on(self) -> bool:
        """Whether it is switched on at the start."""
        return self.device.on


def inertial_units(body: Body) -> tuple[InertialUnit, ...]:
    """Return the IMUs of a body: IMU devices, then gyros, then single accelerometers.

    A gyro and an accelerometer with the same link and pose make up one IMU, unless only one of
    them is switched on at the start: an IMU can only be switched as a whole.
    """
    units = [
        InertialUnit(
            imu,
            imu.max_angular_velocity,
            imu.max_acceleration,
            angular_velocity_noise=imu.angular_velocity_noise,
            acceleration_noise=imu.acceleration_noise,
            sample_rate=imu.sample_rate,
        )
        for imu in body.devices
        if isinstance(imu, Imu)
    ]
    accelerometers = [d for d in body.devices if isinstance(d, AccelerationSensor)]
    for gyro in body.devices:
        if isinstance(gyro, RateGyroSensor):
            partner = next(
                (a for a in accelerometers if a.on is gyro.on and have_same_pose(a, gyro)), None
            )
            if partner is not None:
                accelerometers.remove(partner)
            units.append(_of_gyro(gyro, partner))
    units += [
        InertialUnit(
            lone,
            None,
            lone.max_acceleration,
            acceleration_noise=lone.acceleration_noise,
            sample_rate=lone.sample_rate,
        )
        for lone in accelerometers
    ]
    return tuple(units)


def _of_gyro(gyro: RateGyroSensor, partner: AccelerationSensor | None) -> InertialUnit:
    return InertialUnit(
        gyro,
        gyro.max_angular_velocity,
        None if partner is None else partner.max_acceleration,
        partner,
        angular_velocity_noise=gyro.angular_velocity_noise,
        acceleration_noise=NO_NOISE if partner is None else partner.acceleration_noise,
        sample_rate=max(gyro.sample_rate, 0.0 if partner is None else partner.sample_rate),
    )


def have_same_pose(a: Device, b: Device) -> bool:
    """Return whether two devices have the same link and pose."""
    return (
        a.link == b.link
        and float(np.abs(a.X_LS.p - b.X_LS.p).max()) <= SAME_POSE
        and float(np.abs(a.X_LS.R - b.X_LS.R).max()) <= SAME_POSE
    )
