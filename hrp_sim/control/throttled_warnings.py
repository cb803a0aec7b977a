"""Warnings about the commands to one body: each once, and not without end."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from hrp_model.diagnostics import did_you_mean
from hrp_msgs.sanitize import one_line, shortened

from .commands import CommandCounts
from .settings import CommandTimeout

_log = logging.getLogger("hrp_sim")

# Whoever sends ever new nonsense gets no more warnings than this; all of it is counted.
MOST_WARNINGS = 100
_LONGEST_KIND = 200


class Complaints:
    """What was wrong with commands to a body.

    Args:
        body: Name of the body.
        counts: Where it is counted.
    """

    def __init__(self, body: str, counts: CommandCounts) -> None:
        self.counts = counts
        self._body = body
        self._told: set[str] = set()

    def refuse(self, kind: str, message: str) -> None:
        """Count what could not be used; say so if it is the first of its kind."""
        self.counts.refused += 1
        self.warn(kind, message)

    def refuse_unknown(self, joint: str, known: Iterable[str]) -> None:
        """Refuse a command to a joint that there is not, among those that there are."""
        kind = f"unknown {joint}"
        hint = "" if kind in self._told else did_you_mean(joint, known)  # it takes its time
        end = f".{hint}" if hint else ""
        self.refuse(kind, f"it has no joint '{joint}'; the command to it is ignored{end}")

    def timed_out(self, timeout: CommandTimeout, joints: Sequence[str]) -> None:
        """Count that joints were left alone; say so if it is the first time."""
        self.counts.timed_out += 1
        more = f" and {len(joints) - 3} more" if len(joints) > 3 else ""
        self.warn(
            "timed out",
            f"no command came for {timeout.after_s:g} s to {', '.join(joints[:3])}{more}; "
            f"fallback: {timeout.fallback.value}",
        )

    def warn(self, kind: str, message: str) -> None:
        """Say it if it is the first of its kind."""
        kind = shortened(kind, _LONGEST_KIND)  # it may hold a name that somebody sent
        if kind in self._told or len(self._told) > MOST_WARNINGS:
            return
        self._told.add(kind)
        if len(self._told) > MOST_WARNINGS:
            message = "there is more wrong with the commands to it; it is counted, but not told"
        _log.warning("body '%s': %s", self._body, one_line(message))
