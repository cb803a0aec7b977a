"""Pictures of the world through OpenGL on EGL: a GPU where there is one, Mesa's llvmpipe where not.

No display is needed. It knows models and poses, and neither sensors nor physics.
"""

from .context import RendererUnavailable
from .lights import Switches
from .renderer import Renderer
from .view import (
    ALL_PARTS,
    DAYLIGHT,
    Depths,
    LinkPoses,
    Parts,
    Picture,
    Pinhole,
    Pixels,
    Surroundings,
)

__all__ = [
    "ALL_PARTS",
    "DAYLIGHT",
    "Depths",
    "LinkPoses",
    "Parts",
    "Picture",
    "Pinhole",
    "Pixels",
    "Renderer",
    "RendererUnavailable",
    "Surroundings",
    "Switches",
]
