"""Pictures of the world through OpenGL on EGL: a GPU where there is one, Mesa's llvmpipe where not.

No display is needed. It knows models and poses, and neither sensors nor physics.
"""

from .context import RendererUnavailable
from .renderer import Renderer
from .view import LinkPoses, Pinhole

__all__ = ["LinkPoses", "Pinhole", "Renderer", "RendererUnavailable"]
