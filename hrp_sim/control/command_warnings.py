"""Warnings about the commands to one body: each kind once, and a limited number of kinds."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from hrp_model.diagnostics import did_you_mean, listed
from hrp_msgs.sanitize import one_line, shortened

from .commands import CommandCounts
from .settings import CommandTimeout

_log = logging.getLogger("hrp_sim")

MAX_WARNINGS = 100
_MAX_KIND_LENGTH = 200


class CommandWarnings:
    """Counts and logs invalid commands to a body.

    Args:
        body: Name of the body.
        counts: Counts of the commands.
    """

    def __init__(self, body: str, counts: CommandCounts) -> None:
        self.counts = counts
        self._body = body
        self._logged: set[str] = set()

    def refuse(self, kind: str, message: str) -> None:
        """Count an invalid command; log the first of its kind."""
        self.counts.refused += 1
        self.warn(kind, message)

    def refuse_unknown_joint(self, joint: str, joints: Iterable[str]) -> None:
        """Refuse a command to a joint that does not exist; ``joints`` are the existing ones."""
        kind = f"unknown {joint}"
        hint = "" if kind in self._logged else did_you_mean(joint, joints)  # slow
        end = f".{hint}" if hint else ""
        self.refuse(kind, f"it has no joint '{joint}'; the command to it is ignored{end}")

    def time_out(self, timeout: CommandTimeout, joints: Sequence[str]) -> None:
        """Count a command time-out of joints; log the first one."""
        self.counts.timed_out += 1
        self.warn(
            "timed out",
            f"no command for {timeout.after_s:g} s to {listed(joints, 3)}; "
            f"fallback: {timeout.fallback.value}",
        )

    def warn(self, kind: str, message: str) -> None:
        """Log a warning if it is the first of its kind."""
        kind = shortened(kind, _MAX_KIND_LENGTH)  # it may hold a name from a sender
        if kind in self._logged or len(self._logged) > MAX_WARNINGS:
            return
        self._logged.add(kind)
        if len(self._logged) > MAX_WARNINGS:
            message = "further warnings about its commands are suppressed, but still counted"
        _log.warning("body '%s': %s", self._body, one_line(message))
