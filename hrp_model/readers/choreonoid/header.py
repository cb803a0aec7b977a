"""What stands at the top of a model or scene file: its version and its unit of angles."""

from __future__ import annotations

from math import radians

from ...diagnostics import Diagnostics
from ..yaml.tree import Mapping

VERSION = ("format_version", "formatVersion")
ANGLE_UNIT = ("angle_unit", "angleUnit")
_NEWEST = 2.1  # the first version that is not understood
_DEGREE = radians(1.0)
_ANGLE_UNITS = {"degree": _DEGREE, "radian": 1.0}


def read_angle_unit(top: Mapping, diagnostics: Diagnostics) -> float | None:
    """Check the version of a file and return what its unit of angles is in [rad].

    The version changes nothing else: all spellings of all keys go in every version.
    None after reporting that the version is too new.
    """
    version = top.number(*VERSION, default=None)
    at = top.at(*VERSION)
    if version is None:
        diagnostics.warn("no-version", "'format_version' is missing; 1.0 is assumed", at)
    elif version >= _NEWEST:
        message = f"format version {version:g} is newer than 2.0, the newest known"
        diagnostics.error("unknown-version", message, at)
        return None
    unit = top.choice(*ANGLE_UNIT, choices=_ANGLE_UNITS, default=_DEGREE)
    if version is not None and version >= 2.0 and unit == 1.0:
        message = "from format version 2.0 on, angles are in degrees only"
        diagnostics.error("radian", message, top.at(*ANGLE_UNIT))
    return unit
