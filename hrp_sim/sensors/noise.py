"""Noise of sensors: random numbers as a function of seed, sensor and time, and errors made of them.

``VectorErrors`` are of a few numbers such as those of an IMU, ``DistanceNoise`` of range sensors
and depth cameras, ``ColorNoise`` of the pixels of images.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from math import exp, expm1, inf, sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hrp_model.devices import AxisNoise, VectorNoise
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array

from ..engine.articulation.numeric_limits import MAX_COORDINATE
from ..engine.engine import AnyArray
from ..engine.schedule import NS_PER_S
from ..render import Pixels

if TYPE_CHECKING:
    from numpy.random import Generator

# Streams of random numbers of one sensor: of vectors, of distances, of colours.
_WHITE, _WALK, _OFFSET = 0, 1, 2
_ERRORS, _DETECTIONS, _MEANS = 0, 1, 2
_COLORS = 3  # beside those of distances
_MAX = 1e12  # of the errors of vectors, so that sums are finite
_NEVER_NS = -1
_DEVIATIONS = 6.0
_BRIGHTEST = 255.0


class NoiseSeed:
    """The seed of all noise of a world.

    Attributes:
        value: Any integer; it may be changed between steps.
    """

    def __init__(self, value: int) -> None:
        self.value = value


class Noise:
    """The random numbers of one sensor, a pure function of time.

    They come from a counter-based generator (Philox 4x64, Salmon et al., SC 2011). Its key is
    derived from the seed and the sensor's name, its counter contains the time. So they do not
    depend on earlier samples, on subscribers, or on where a run was restored.

    Args:
        seed: Of the world.
        body: Name of the body that carries the sensor.
        sensor: Name of the sensor.
    """

    def __init__(self, seed: NoiseSeed | int, body: str, sensor: str) -> None:
        self._seed = seed if isinstance(seed, NoiseSeed) else NoiseSeed(seed)
        self._owner = body, sensor
        self._used_seed: int | None = None  # most sensors have no noise

    def normals(self, time_ns: int, count: int, stream: int = 0) -> Array:
        """Return standard normal numbers, shape (count,).

        Args:
            time_ns: Simulation time of the sample, in [ns], -2**63 to 2**64 - 1.
            count: Number of values; the first ones do not depend on it.
            stream: From 0; different streams at one time are independent.
        """
        return self._at(time_ns, stream).standard_normal(count)

    def uniforms(self, time_ns: int, count: int, stream: int = 0) -> Array:
        """Return uniform numbers in [0, 1), shape (count,); arguments as for ``normals``."""
        return self._at(time_ns, stream).random(count)

    def _take_seed(self) -> None:
        from numpy.random import Generator, Philox

        self._used_seed = self._seed.value
        # ascii() of the tuple is unambiguous, and works for names that UTF-8 cannot encode.
        digest = sha256(ascii((int(self._used_seed), *self._owner)).encode()).digest()
        self._bits = Philox(key=int.from_bytes(digest[:16], "little"))
        self._generator = Generator(self._bits)
        self._start = self._bits.state

    def _at(self, time_ns: int, stream: int) -> Generator:
        if self._seed.value != self._used_seed:
            self._take_seed()
        counter = self._start["state"]["counter"]
        # The two low words, 128 bits, count the numbers that have been drawn.
        counter[0] = counter[1] = 0
        counter[2], counter[3] = stream, time_ns % 2**64
        self._bits.state = self._start
        return self._generator


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


class ColorNoise:
    """Adds a normal error to each pixel, the same for its three colours.

    Args:
        mean, stdev: Of the errors; colours are from 0 to 1.
        source: Of random numbers.

    Raises:
        ValueError: A number is out of range.
    """

    def __init__(self, mean: float, stdev: float, source: Noise) -> None:
        if not (abs(mean) <= 1.0 and 0.0 <= stdev <= 1.0):
            raise ValueError(
                f"the noise of its colours must be from 0 to 1, not {stdev}, with a mean within 1, "
                f"not {mean}"
            )
        self._mean, self._stdev, self._source = mean, stdev, source

    def applied(self, time_ns: int, color: Pixels) -> Pixels:
        """Return a noisy image, shape (height, width, 3)."""
        height, width, _ = color.shape
        error = self._mean + self._stdev * self._source.normals(time_ns, height * width, _COLORS)
        noisy = color + _BRIGHTEST * error.reshape(height, width, 1)
        return np.clip(np.rint(noisy), 0.0, _BRIGHTEST).astype(np.uint8)
