"""Views of arrays that cannot be written."""

from __future__ import annotations

from dataclasses import fields

from ..physics.state import BodyMotion


def read_only_motion(motion: BodyMotion) -> BodyMotion:
    """Return views of the live arrays of a motion through which they cannot be written."""
    views = {f.name: getattr(motion, f.name).view() for f in fields(motion)}
    for view in views.values():
        view.flags.writeable = False
    return BodyMotion(**views)
