"""Physics by PyODE, Debian's and Ubuntu's binding of ODE: primitives and common joints only."""

from .engine import PyOdeEngine

__all__ = ["PyOdeEngine"]
