"""Log times of a recording, which never decrease."""

from __future__ import annotations

# Decrease of the times of one channel, in [ns], that means that the simulation time was set back.
_MIN_RESET_NS = 10_000_000


class ChannelTime:
    """Times of one channel.

    Attributes:
        newest_ns: Simulation time of its last message, in [ns].
        epoch: Number of resets that it has seen.
    """

    def __init__(self, epoch: int) -> None:
        self.newest_ns = 0
        self.epoch = epoch


class LogClock:
    """Makes log times from simulation times.

    Log times continue where the simulation time is set back. A reset is recognised by the times of
    one channel; a message that is older than one of another channel, such as an image whose
    rendering took long, gets the time of the newest one.
    """

    def __init__(self) -> None:
        self._now_ns = self._offset_ns = self._epoch = 0

    @property
    def now_ns(self) -> int:
        """Log time of the last message, in [ns]."""
        return self._now_ns

    def channel(self) -> ChannelTime:
        """Return the times of a new channel."""
        return ChannelTime(self._epoch)

    def log_time(self, channel: ChannelTime, time_ns: int) -> int:
        """Return the log time of the next message, in [ns]; at least that of the one before."""
        if time_ns < channel.newest_ns - _MIN_RESET_NS:
            if channel.epoch == self._epoch:  # it is the first to see this reset
                self._epoch += 1
                self._offset_ns = self._now_ns - time_ns
            channel.epoch = self._epoch
        channel.newest_ns = time_ns
        if channel.epoch == self._epoch:
            self._now_ns = max(self._now_ns, time_ns + self._offset_ns)
        return self._now_ns
