"""Noise of an IMU: that of its model, and that of its options."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hrp_model.devices import NO_NOISE, AxisNoise, VectorNoise
from hrp_model.rigid import Array

from .base import AnyArray
from .noise import Noise
from .settings import SensorSettings
from .vector_noise import VectorErrors, with_options

Stdevs = tuple[float, float, float]


class ImuNoise:
    """The errors of one IMU, to be added before saturation; see ``VectorErrors``.

    Args:
        settings: Options; those that are not negative take the place of the model's noise.
        source: Of random numbers.
        gyro: Noise of the model, per axis, in [rad/s].
        accelerometer: Likewise, in [m/s^2].

    Raises:
        ValueError: A number is out of range.
    """

    def __init__(
        self,
        settings: SensorSettings,
        source: Noise,
        gyro: VectorNoise = NO_NOISE,
        accelerometer: VectorNoise = NO_NOISE,
    ) -> None:
        s = settings
        turn = AxisNoise(stdev=s.orientation_stdev)
        axes = (
            *with_options(gyro, s.angular_velocity_stdev, s.angular_velocity_random_walk),
            *with_options(
                accelerometer, s.linear_acceleration_stdev, s.linear_acceleration_random_walk
            ),
            *(turn, turn, turn),
        )
        self._errors = VectorErrors(axes, source)

    @property
    def is_ideal(self) -> bool:
        """Whether there is none."""
        return self._errors.is_ideal

    @property
    def stdevs(self) -> tuple[Stdevs, Stdevs, Stdevs]:
        """Of the white noise: gyro, accelerometer, orientation about each axis, in [rad]."""
        x = self._errors.stdevs
        return (x[0], x[1], x[2]), (x[3], x[4], x[5]), (x[6], x[7], x[8])

    @property
    def memory(self) -> Mapping[str, AnyArray]:
        """The biases and their time, if they drift."""
        return self._errors.memory

    def reset(self) -> None:
        """Set the biases to 0 at the next sample."""
        self._errors.reset()

    def applied(
        self, time_ns: int, gyro: Array | None, accelerometer: Array | None
    ) -> tuple[Array, Array, Array]:
        """Return noisy vectors of gyro and accelerometer, and the error of the orientation.

        The last is a rotation vector in [rad]. For None the first two are errors only.
        """
        true = np.zeros((3, 3))
        if gyro is not None:
            true[0] = gyro
        if accelerometer is not None:
            true[1] = accelerometer
        turned, pushed, turn = self._errors.applied(time_ns, true.reshape(9)).reshape(3, 3)
        return turned, pushed, turn
