"""Noise of measured distances, of range sensors and depth cameras."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hrp_model.rigid import Array

from ..engine.articulation.numeric_limits import MAX_COORDINATE
from .noise import Noise

_DEVIATIONS = 6.0
_ERRORS, _DETECTIONS, _MEANS = 0, 1, 2  # streams


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DistanceNoise:
    """Random errors and missed detections of distances.

    Attributes:
        detection_rate: Share of the distances that are detected, 0..1.
        error_deviation: Standard deviation of distances, in [m].
        error_mean: Mean error of distances, in [m].
        error_mean_deviation: Its standard deviation from run to run, in [m].
        noise: Random number source of both; required unless both are ideal.

    Raises:
        ValueError: A number is out of range, or ``noise`` is missing.
    """

    detection_rate: float = 1.0
    error_deviation: float = 0.0
    error_mean: float = 0.0
    error_mean_deviation: float = 0.0
    noise: Noise | None = None

    def __post_init__(self) -> None:
        rate, deviation = self.detection_rate, self.error_deviation
        if not 0.0 <= rate <= 1.0:
            raise ValueError(f"its detection rate must be from 0 to 1, not {rate}")
        if not 0.0 <= deviation <= MAX_COORDINATE:
            raise ValueError(
                f"its standard deviation must be from 0 to {MAX_COORDINATE:g} m, not {deviation} m"
            )
        spread = self.error_mean_deviation
        if not (abs(self.error_mean) <= MAX_COORDINATE and 0.0 <= spread <= MAX_COORDINATE):
            raise ValueError(f"its mean error must be within {MAX_COORDINATE:g} m")
        if self.noise is None and (rate < 1.0 or deviation > 0.0 or spread > 0.0):
            raise ValueError("distances that are not ideal need a source of noise")

    @property
    def reach(self) -> float:
        """Amount in [m] by which hardly a measured distance is too short."""
        return abs(self.error_mean) + _DEVIATIONS * (
            self.error_deviation + self.error_mean_deviation
        )

    def errors(self, time_ns: int, shape: tuple[int, ...]) -> Array | None:
        """Return the errors of distances at a time, in [m]; None means no errors."""
        mean = self.error_mean
        if self.noise is not None and self.error_mean_deviation > 0.0:
            mean += self.error_mean_deviation * float(self.noise.normals(0, 1, _MEANS)[0])
        if self.noise is None or self.error_deviation == 0.0:
            return np.full(shape, mean) if mean else None
        count = int(np.prod(shape))
        white = self.noise.normals(time_ns, count, _ERRORS).reshape(shape)
        return mean + self.error_deviation * white

    def missed(self, time_ns: int, shape: tuple[int, ...]) -> NDArray[np.bool_] | None:
        """Return which distances are not detected at a time; None means all are."""
        if self.noise is None or self.detection_rate == 1.0:
            return None
        numbers = self.noise.uniforms(time_ns, int(np.prod(shape)), _DETECTIONS)
        missed: NDArray[np.bool_] = numbers.reshape(shape) >= self.detection_rate
        return missed


NO_DISTANCE_NOISE = DistanceNoise()
