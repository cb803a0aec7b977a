"""How sensors of distances, range sensors and cameras, depart from ideal ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hrp_model.rigid import Array

from ..articulation.numeric_limits import MAX_COORDINATE
from .noise import Noise

_ERRORS, _DETECTIONS = 0, 1  # streams


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DistanceNoise:
    """Errors of distances, and distances that are missed.

    Attributes:
        detection_rate: Share of the distances that are measured, where there is anything, 0..1.
        error_deviation: Standard deviation of distances, in [m].
        noise: The random numbers of both; needed unless both are ideal.

    Raises:
        ValueError: A number makes no sense, or there is no noise where it is needed.
    """

    detection_rate: float = 1.0
    error_deviation: float = 0.0
    noise: Noise | None = None

    def __post_init__(self) -> None:
        rate, deviation = self.detection_rate, self.error_deviation
        if not 0.0 <= rate <= 1.0:
            raise ValueError(f"a detection rate of {rate} is not in 0..1")
        if not 0.0 <= deviation <= MAX_COORDINATE:
            raise ValueError(f"a standard deviation of {deviation} m is impossible")
        if self.noise is None and (rate < 1.0 or deviation > 0.0):
            raise ValueError("what is not ideal needs noise")

    def errors(self, time_ns: int, shape: tuple[int, ...]) -> Array | None:
        """Return what is added to distances at a time, in [m]; None is nothing."""
        if self.noise is None or self.error_deviation == 0.0:
            return None
        count = int(np.prod(shape))
        return self.error_deviation * self.noise.normals(time_ns, count, _ERRORS).reshape(shape)

    def missed(self, time_ns: int, shape: tuple[int, ...]) -> NDArray[np.bool_] | None:
        """Return which distances are missed at a time; None is none."""
        if self.noise is None or self.detection_rate == 1.0:
            return None
        numbers = self.noise.uniforms(time_ns, int(np.prod(shape)), _DETECTIONS)
        missed: NDArray[np.bool_] = numbers.reshape(shape) >= self.detection_rate
        return missed


NO_DISTANCE_NOISE = DistanceNoise()
