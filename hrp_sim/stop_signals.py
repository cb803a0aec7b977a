"""What Ctrl-C does to a program that runs a simulation."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType

from .runner import Runner


class StopSignals:
    """What Ctrl-C and SIGTERM do while a program loads, runs and tidies up.

    The first one raises KeyboardInterrupt or, once there is a runner, stops it; those that
    follow change nothing, so that they do not cut short what is tidied up. After a block
    that was ended by a signal they stay without effect: the end of the process is near.
    """

    _NUMBERS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self._came = False
        self._runner: Runner | None = None

    def __enter__(self) -> StopSignals:
        self._before = [signal.signal(number, self._take) for number in self._NUMBERS]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in zip(self._NUMBERS, self._before, strict=True):
            signal.signal(number, signal.SIG_IGN if self._came else handler)

    def stop(self, runner: Runner) -> None:
        """Let signals stop this runner; one that came already does so now."""
        self._runner = runner
        if self._came:  # the exception it raised got lost, as it does in a destructor
            runner.stop()

    def _take(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        is_first, self._came = not self._came, True
        if self._runner is not None:
            self._runner.stop()
        elif is_first:
            raise KeyboardInterrupt
