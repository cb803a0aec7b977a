"""Warnings about the commands to one body: each once, and not without end."""

from __future__ import annotations

import logging

from .commands import CommandCounts

_log = logging.getLogger("hrp_sim")

# Whoever sends ever new nonsense gets no more warnings than this; all of it is counted.
MOST_WARNINGS = 100


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

    def warn(self, kind: str, message: str) -> None:
        """Say it if it is the first of its kind."""
        if kind in self._told or len(self._told) > MOST_WARNINGS:
            return
        self._told.add(kind)
        if len(self._told) > MOST_WARNINGS:
            message = "there is more wrong with the commands to it; it is counted, but not told"
        _log.warning("body '%s': %s", self._body, message)
