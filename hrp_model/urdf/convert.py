"""Convert a body to URDF: repair, collision shapes, mesh files, frame names, text and loops."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..body import Body
from ..collision.decompose import Progress
from ..collision.shapes import CollisionShapes, with_collision
from ..diagnostics import Diagnostics
from ..files.writer import cache_folder
from ..frames import BodyFrames, body_frames
from .loops import loops_yaml
from .meshes.glb import UpAxis
from .meshes.meshes import write_meshes
from .options import Hardware, UrdfOptions
from .repair import repaired
from .to_urdf import urdf_text

# The file beside a URDF that describes closed loops, which URDF cannot represent.
LOOPS_FILE = "loops.yaml"


@dataclass(frozen=True, eq=False)
class Conversion:
    """A body converted to URDF.

    Attributes:
        body: The body as written: repaired, and with the requested collision shapes.
        frames: Names of its links, joints and devices.
        urdf: Text of the URDF.
        loops: Text of ``LOOPS_FILE``; None for a body without loops.
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
    """Convert a body and write its mesh files. The caller writes the texts.

    There is no warning about closed loops, as their text can be written beside the URDF.

    Args:
        body: The robot.
        mesh_folder: Folder of the mesh files; None writes none, and shapes that need one are
            left out with a warning.
        mesh_uri: Prefix of the file names in the URDF, such as "package://my_robot/meshes";
            by default the ``file://`` URI of the folder.
        final_folder: The folder that the mesh files will be moved to, if it is another one;
            files that exist there are not written again.
        glb_up: Which axis of the GLB files is the URDF's z; see ``glb.UpAxis``.
        collision: Collision shapes of the links. Convex parts are cached in the user's cache
            folder, as they take long to compute.
        options: Names of frames, and optional blocks of the URDF.
        diagnostics: Receives warnings; by default they are logged.
        progress: As for ``collision.shapes.with_collision``.

    Raises:
        OSError: A mesh cannot be written.
        MissingLibraryError: The collision shapes cannot be made.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    options = UrdfOptions() if options is None else options
    body = with_collision(
        repaired(body, diagnostics),
        collision,
        diagnostics,
        cache=cache_folder("convex_parts") if collision is CollisionShapes.DECOMPOSED else None,
        progress=progress,
    )
    uris = None
    if mesh_folder is not None:
        uris = write_meshes(
            body,
            mesh_folder,
            mesh_uri,
            diagnostics,
            up=glb_up,
            final_folder=final_folder,
            capsules=options.version.has_capsules,
            # mujoco_ros2_control reads no GLB files.
            own_materials=options.ros2_control is not Hardware.MUJOCO,
        )
    frames = body_frames(body, diagnostics, options)
    urdf = urdf_text(body, frames, uris, diagnostics, options)
    loops = loops_yaml(body, frames, diagnostics) if body.extra_joints else None
    return Conversion(body, frames, urdf, loops)
