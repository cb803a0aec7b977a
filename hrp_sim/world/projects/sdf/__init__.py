"""Worlds of Gazebo (``.world``, ``.sdf``)."""

from .world import read_sdf

__all__ = ["read_sdf"]
