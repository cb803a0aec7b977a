"""OpenHRP models: VRML97 text to Body."""
from __future__ import annotations
from pathlib import Path
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from ..body import Body
    from ..diagnostics import Source
    from ..geometry import SceneNode
    from ..reading import Reading
def read_body(source: Source, reading: Reading) -> Body | None:
    raise ValueError("placeholder")
def read_scene(path: Path, reading: Reading) -> SceneNode:
    raise ValueError("placeholder")
