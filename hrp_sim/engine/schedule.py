"""Sampling times in exact integer nanoseconds."""

from __future__ import annotations

from fractions import Fraction
from math import inf

NS_PER_S = 1_000_000_000
NEVER_NS = 2**63 - 1  # a time that never comes
# Earliest time that sensors may remember, in [ns]: thirty years before zero, since the clock can be
# set back.
EARLIEST_NS = -(10**18)


def rate_fraction(rate_hz: float) -> Fraction:
    """Return the nearest fraction with a denominator up to 1000, so that 33.3333 is 100/3.

    Raises:
        ValueError: The rate is not positive and finite.
    """
    if not 0.0 < rate_hz < inf:
        raise ValueError(f"a rate must be positive and finite, got {rate_hz}")
    exact = Fraction(rate_hz)
    return exact.limit_denominator(1000) or exact


class SampleClock:
    """Sampling schedule: due at the first physics step at or after origin + k / rate, k = 1, 2, ...

    With a 1 ms step a 30 Hz camera jitters by less than one step and never drifts: ten seconds
    give exactly 300 images.

    Args:
        rate_hz: Samples per second, rounded by ``rate_fraction``.
        origin_ns: Time at which k = 0, in [ns].

    Attributes:
        due_ns: Time of the next sample, in [ns].

    Raises:
        ValueError: The rate is not positive and finite.
    """

    def __init__(self, rate_hz: float, origin_ns: int = 0) -> None:
        rate = rate_fraction(rate_hz)
        # The rate is _samples / _span_ns; plain integers are fast, and every step compares them.
        self._samples, self._span_ns = rate.numerator, rate.denominator * NS_PER_S
        # Time between two samples, which is 0 unless it is a whole number of nanoseconds.
        self._period_ns = 0 if self._span_ns % self._samples else self._span_ns // self._samples
        self._origin_ns = origin_ns
        self.reset()

    def reset(self) -> None:
        """Start again from the origin."""
        self.due_ns = self._time_of(1)

    def restart(self, origin_ns: int) -> None:
        """Start again from another origin, in [ns]."""
        self._origin_ns = origin_ns
        self.reset()

    def wait(self, time_ns: int) -> None:
        """Schedule the first sample after a time, which must not be before the origin."""
        elapsed = time_ns - self._origin_ns
        self.due_ns = self._time_of(elapsed * self._samples // self._span_ns + 1)

    def skip(self, until_ns: int) -> None:
        """Skip the samples up to a time, in [ns], except the last one."""
        last = (until_ns - self._origin_ns) * self._samples // self._span_ns
        self.due_ns = max(self.due_ns, self._time_of(last))

    def is_due(self, time_ns: int) -> bool:
        """Return whether a sample is due now, and if so, schedule the next."""
        if time_ns < self.due_ns:
            return False
        self.advance(time_ns)
        return True

    def advance(self, time_ns: int) -> None:
        """Schedule the first sample after a time at which one is due; faster than ``wait``."""
        if time_ns < (next_ns := self.due_ns + self._period_ns):
            self.due_ns = next_ns
        else:
            self.wait(time_ns)

    def _time_of(self, sample: int) -> int:
        """Return the time of a sample, rounded up to a whole nanosecond."""
        return self._origin_ns - (-sample * self._span_ns // self._samples)
