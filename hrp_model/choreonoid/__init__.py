"""Choreonoid models: YAML text to Body."""

from .to_body import read_body

__all__ = ["read_body"]
