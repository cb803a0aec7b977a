"""When a sensor is due, in exact integer time."""

from __future__ import annotations

from fractions import Fraction
from math import inf

NS_PER_S = 1_000_000_000


class SampleClock:
    """Falls due at the first physics step at or after each k / rate, k = 1, 2, ...

    Against a 1 ms step a 30 Hz camera jitters by less than one step and never
    drifts: ten seconds give exactly 300 images.

    Args:
        rate_hz: Samples per second; read as the nearest fraction with a denominator up to
            1000, so that 33.3333 is 100/3.

    Raises:
        ValueError: The rate is not positive and finite.
    """

    def __init__(self, rate_hz: float) -> None:
        if not 0.0 < rate_hz < inf:
            raise ValueError(f"a rate must be positive and finite, got {rate_hz}")
        exact = Fraction(rate_hz)
        self._rate = exact.limit_denominator(1000) or exact
        self.reset()

    def reset(self) -> None:
        """Start again from time zero."""
        self._next = 1
        self._due_ns = self._time_of(self._next)

    def is_due(self, time_ns: int) -> bool:
        """Tell whether a sample is due now, and if so, wait for the next."""
        if time_ns < self._due_ns:
            return False
        self._next = time_ns * self._rate // NS_PER_S + 1
        self._due_ns = self._time_of(self._next)
        return True

    def _time_of(self, sample: int) -> int:
        """Return the time of a sample, rounded up to a whole nanosecond."""
        return -((-sample * NS_PER_S * self._rate.denominator) // self._rate.numerator)
