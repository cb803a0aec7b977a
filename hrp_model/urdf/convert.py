"""The whole way from a body to its URDF: collision shapes, meshes, names, text, loops."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..body import Body
from ..collision.decompose import Progress
from ..collision.shapes import CollisionShapes, with_collision
from ..diagnostics import Diagnostics
from ..files.cache import cache_folder
from ..frames import BodyFrames, body_frames
from .loops import loops_yaml
from .mend import mended
from .meshes.glb import UpAxis
from .meshes.meshes import write_meshes
from .options import UrdfOptions
from .to_urdf import urdf_text

# Beside a URDF: the constraints that it has no words for.
LOOPS_FILE = "loops.yaml"


@dataclass(frozen=True, eq=False)
class Conversion:
    """A body in the words of URDF.

    Attributes:
        body: As it was written: mended, and with the collision shapes that were asked for.
        frames: What its links, joints and devices are called.
        urdf: Text of the URDF.
        loops: Text of what belongs in ``LOOPS_FILE``; None for a body without loops.
    """

    body: Body
    frames: BodyFrames
    urdf: str
    loops: str | None


def convert(
    body: Body,
    mesh_folder: Path | None = None,
    *,
    mesh_uri: str | None = None,
    final_folder: Path | None = None,
    glb_up: UpAxis = UpAxis.Z,
    collision: CollisionShapes = CollisionShapes.AS_MODELLED,
    options: UrdfOptions | None = None,
    diagnostics: Diagnostics | None = None,
    progress: Progress | None = None,
) -> Conversion:
    """Convert a body, and write its meshes. All texts are left to the caller to write.

    It does not warn of loops: their text is there to be written beside the URDF.

    Args:
        body: The robot.
        mesh_folder: Where the meshes go; None writes none, and shapes that need one are
            left out with a warning.
        mesh_uri: What stands before their names in the URDF, such as
            "package://my_robot/meshes"; by default the ``file://`` URI of the folder.
        final_folder: Where the meshes will be moved to, if that is another folder; what is
            there already is not written again.
        glb_up: Which axis of the GLB files is the URDF's z; see ``glb.UpAxis``.
        collision: What stands for each link where it touches. Convex parts are kept in the
            user's cache folder, for they take long to find.
        options: How frames are called, and what goes in besides the plain robot.
        diagnostics: Where warnings go; by default they are logged.
        progress: As for ``collision.shapes.with_collision``.

    Raises:
        OSError: A mesh cannot be written.
        MissingLibraryError: The collision shapes cannot be made.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    options = UrdfOptions() if options is None else options
    body = with_collision(
        mended(body, diagnostics),
        collision,
        diagnostics,
        cache=cache_folder("convex_parts") if collision is CollisionShapes.DECOMPOSED else None,
        progress=progress,
    )
    uris = None
    if mesh_folder is not None:
        uris = write_meshes(
            body, mesh_folder, mesh_uri, diagnostics, up=glb_up, final_folder=final_folder
        )
    frames = body_frames(body, diagnostics, options)
    urdf = urdf_text(body, frames, uris, diagnostics, options)
    loops = loops_yaml(body, frames, diagnostics) if body.extra_joints else None
    return Conversion(body, frames, urdf, loops)
