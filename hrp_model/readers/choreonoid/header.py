"""Read the header of a model or scene file: format version and angle unit."""

from __future__ import annotations

from math import radians

from ...diagnostics import Diagnostics
from ..yaml.tree import Mapping

VERSION = ("format_version", "formatVersion")
ANGLE_UNIT = ("angle_unit", "angleUnit")
_FIRST_UNSUPPORTED = 2.1
_DEGREE = radians(1.0)
_ANGLE_UNITS = {"degree": _DEGREE, "radian": 1.0}


def read_angle_unit(top: Mapping, diagnostics: Diagnostics) -> float | None:
    """Check the format version and return the file's angle unit in [rad].

    All spellings of keys are accepted in every version. None after reporting that the version
    is too new.
    """
    version = top.number(*VERSION, default=None)
    at = top.at(*VERSION)
    if version is None:
        diagnostics.warn("no-version", "'format_version' is missing; 1.0 is assumed", at)
    elif version >= _FIRST_UNSUPPORTED:
        message = f"format version {version:g} is not supported; the latest supported one is 2.0"
        diagnostics.error("unknown-version", message, at)
        return None
    unit = top.choice(*ANGLE_UNIT, choices=_ANGLE_UNITS, default=_DEGREE)
    if version is not None and version >= 2.0 and unit == 1.0:
        message = "from format version 2.0 on, angles must be in degrees"
        diagnostics.error("radian", message, top.at(*ANGLE_UNIT))
    return unit
