"""Motions of a body over time, read from the motion files of Choreonoid and OpenHRP."""

from .load import load_motion
from .motion import Motion

__all__ = ["Motion", "load_motion"]
