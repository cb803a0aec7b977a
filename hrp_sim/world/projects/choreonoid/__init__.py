"""Choreonoid's projects (``.cnoid``)."""

from .project import read_cnoid

__all__ = ["read_cnoid"]
