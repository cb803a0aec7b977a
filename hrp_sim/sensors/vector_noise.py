"""Errors of a vector that the model of a sensor states, axis by axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import exp, expm1, inf, sqrt

import numpy as np

from hrp_model.devices import AxisNoise, VectorNoise
from hrp_model.rigid import Array

from ..engine.schedule import NS_PER_S
from .base import AnyArray
from .noise import Noise

_MAX = 1e12  # of all quantities, so that sums are finite
_NEVER_NS = -1
_WHITE, _WALK, _OFFSET = 0, 1, 2  # streams


def with_options(noise: VectorNoise, stdev: float, walk: float = -1.0) -> VectorNoise:
    """Return the noise of a model with options in its place; a negative option is none.

    Args:
        noise: Of the model.
        stdev: Of white noise, instead of all that is not the random walk.
        walk: Density of a random walk, instead of that of the model.
    """
    x, y, z = (_with_options(axis, stdev, walk) for axis in noise)
    return x, y, z


def _with_options(axis: AxisNoise, stdev: float, walk: float) -> AxisNoise:
    if stdev >= 0.0:
        axis = AxisNoise(stdev=stdev, walk=axis.walk, correlation_time=axis.correlation_time)
    return axis if walk < 0.0 else replace(axis, walk=walk, correlation_time=inf)


class VectorErrors:
    """Adds errors to the components of a vector, such as six of an IMU.

    Each has an offset, which is constant during a run, white noise, and a bias with a random walk
    that may return to zero::

        measured = true + offset + bias + n,   n ~ N(0, stdev^2)
        b(t) = b(s) exp(-(t - s) / T) + m,     m ~ N(0, walk^2 T/2 (1 - exp(-2 (t - s) / T)))

    For an infinite correlation time T the variance of m is walk^2 (t - s). The bias is 0 at the
    first sample, and advances from each sample to the next, whatever the interval. The standard
    deviation of n is per sample, so its density depends on the rate. In the end a sample is
    rounded to its precision.

    Args:
        axes: The noise of each component.
        source: Of random numbers.

    Raises:
        ValueError: A number is out of range.
    """

    def __init__(self, axes: tuple[AxisNoise, ...], source: Noise) -> None:
        numbers = [
            (a.mean, a.mean_stdev, a.stdev, a.walk, a.correlation_time, a.precision) for a in axes
        ]
        self._mean, self._mean_stdev, self._stdev, self._walk, self._time, self._precision = (
            np.array(numbers, dtype=float).reshape(-1, 6).T.copy()
        )
        if not np.all(np.abs(self._mean) <= _MAX) or not all(
            np.all((x >= 0.0) & (x <= _MAX))
            for x in (self._mean_stdev, self._stdev, self._walk, self._precision)
        ):
            raise ValueError(f"its noise must be from 0 to {_MAX:g}")
        if not np.all(self._time > 0.0):
            raise ValueError("the correlation time of its noise must be above 0 s")
        self._source = source
        self._has_walk = bool(self._walk.any())
        self._has_offset, self._is_rounded = self._mean_stdev.any(), self._precision.any()
        self._bias = np.zeros(len(axes))
        self._bias_time_ns = np.array([_NEVER_NS], dtype=np.int64)

    @property
    def is_ideal(self) -> bool:
        """Whether it changes nothing."""
        return not any(
            x.any()
            for x in (self._mean, self._mean_stdev, self._stdev, self._walk, self._precision)
        )

    @property
    def stdevs(self) -> tuple[float, ...]:
        """Standard deviation of the white noise of each component."""
        return tuple(self._stdev.tolist())

    @property
    def memory(self) -> Mapping[str, AnyArray]:
        """The biases and their time, if they drift."""
        if not self._has_walk:
            return {}
        return {"bias": self._bias, "bias_time_ns": self._bias_time_ns}

    def reset(self) -> None:
        """Set the biases to 0 at the next sample."""
        self._bias[:] = 0.0
        self._bias_time_ns[0] = _NEVER_NS

    def applied(self, time_ns: int, true: Array) -> Array:
        """Return a sample of the true components, shape (n,)."""
        count = len(true)
        sample = true + self._mean + self._stdev * self._source.normals(time_ns, count, _WHITE)
        if self._has_offset:
            sample += self._mean_stdev * self._source.normals(0, count, _OFFSET)
        if self._has_walk:
            self._advance(time_ns)
            sample += self._bias
        if self._is_rounded:
            step = self._precision
            with np.errstate(divide="ignore", invalid="ignore"):
                sample = np.where(step > 0.0, np.round(sample / step) * step, sample)
        return np.asarray(sample)

    def _advance(self, time_ns: int) -> None:
        """Advance the biases since the last sample; repeated calls at one time have no effect."""
        since_ns = int(self._bias_time_ns[0])
        if since_ns != _NEVER_NS and time_ns > since_ns:
            elapsed = (time_ns - since_ns) / NS_PER_S
            numbers = self._source.normals(time_ns, len(self._bias), _WALK)
            kept, spread = np.array([_relaxed(elapsed, t) for t in self._time]).T
            self._bias *= kept
            self._bias += spread * self._walk * numbers
        self._bias_time_ns[0] = time_ns


def _relaxed(elapsed: float, correlation_time: float) -> tuple[float, float]:
    """Return the share of a bias that is left after a time, and the deviation per walk."""
    if correlation_time == inf:
        return 1.0, sqrt(elapsed)
    variance = -correlation_time / 2.0 * expm1(-2.0 * elapsed / correlation_time)
    return exp(-elapsed / correlation_time), sqrt(variance)
