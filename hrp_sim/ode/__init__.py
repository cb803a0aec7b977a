"""Physics by the Open Dynamics Engine. Nothing outside this package knows that library."""

from .engine import OdeEngine

__all__ = ["OdeEngine"]
