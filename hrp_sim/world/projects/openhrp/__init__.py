"""OpenHRP's projects (``.xml`` of GrxUI)."""

from .project import read_openhrp

__all__ = ["read_openhrp"]
