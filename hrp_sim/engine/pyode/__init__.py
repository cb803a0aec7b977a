"""Physics by PyODE, a Python binding of ODE: primitives and common joints only."""

from .engine import PyOdeEngine

__all__ = ["PyOdeEngine"]
