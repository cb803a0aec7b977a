"""Choreonoid models: YAML text to Body."""

from .scene_file import read_scene
from .to_body import read_body

__all__ = ["read_body", "read_scene"]
