"""Choreonoid models: YAML text to Body."""

from .scenes import read_scene
from .to_body import read_body

__all__ = ["read_body", "read_scene"]
