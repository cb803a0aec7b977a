"""Why scenarios do not pass."""

from __future__ import annotations

from dataclasses import dataclass


class ScenarioError(AssertionError):
    """A scenario did not pass, or cannot be run; the message has all reasons."""


@dataclass(frozen=True)
class Problem:
    """Why a run does not pass.

    Attributes:
        moment: Simulation time, in [s].
        text: For users, possibly of several lines.
    """

    moment: float
    text: str
