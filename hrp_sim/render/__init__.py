"""Pictures of the world through OpenGL on EGL: a GPU where there is one, Mesa's llvmpipe where not.

No display is needed. It knows models and poses, and neither sensors nor physics.
"""

from .context import RendererUnavailable
from .renderer import Renderer
from .view import ALL_PARTS, Depths, LinkPoses, Parts, Picture, Pinhole, Pixels

__all__ = [
    "ALL_PARTS",
    "Depths",
    "LinkPoses",
    "Parts",
    "Picture",
    "Pinhole",
    "Pixels",
    "Renderer",
    "RendererUnavailable",
]
