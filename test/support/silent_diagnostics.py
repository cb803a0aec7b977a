"""Diagnostics that are collected without being logged."""

from __future__ import annotations

from typing import Any

from hrp_model.diagnostics import Diagnostics


def silent(**options: Any) -> Diagnostics:
    """Return diagnostics that are not logged."""
    return Diagnostics(listener=lambda _: None, **options)
