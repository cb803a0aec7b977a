"""Renders images of the world with OpenGL on EGL, on a GPU or with Mesa's llvmpipe.

No display is needed. This package depends on models and poses, not on sensors or physics.
"""

from .gl import RendererUnavailable
from .lenses import BrownLens, DualFisheyeLens, FisheyeLens, Lens, make_lens
from .lights import Switches
from .renderer import Renderer
from .view import (
    ALL_PARTS,
    DAYLIGHT,
    NO_PARTS,
    Depths,
    Parts,
    Picture,
    Pinhole,
    Pixels,
    Surroundings,
)

__all__ = [
    "ALL_PARTS",
    "DAYLIGHT",
    "NO_PARTS",
    "BrownLens",
    "Depths",
    "DualFisheyeLens",
    "FisheyeLens",
    "Lens",
    "Parts",
    "Picture",
    "Pinhole",
    "Pixels",
    "Renderer",
    "RendererUnavailable",
    "Surroundings",
    "Switches",
    "make_lens",
]
