"""Kinematics and dynamics of a Body, in numpy arrays over all its links."""

from .state import BodyState

__all__ = ["BodyState"]
