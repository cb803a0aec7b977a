"""Xacro: XML with macros, expanded to the elements of a URDF."""

from .expander import expand

__all__ = ["expand"]
