"""Diagnostic codes of worlds, sensors and advice, listed by ``hrp-sim run --list-codes``."""

from __future__ import annotations

from hrp_model.program.codes import Codes

__all__ = ["CODES"]

CODES = Codes(
    "worlds", "controllers", "materials", "sensors", "advice", "scenarios", "expectations"
)
