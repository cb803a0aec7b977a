"""Convert a body to URDF: repair, collision shapes, mesh files, frame names, text and loops.

The closed loops are YAML, to be written beside a URDF, which is always a tree.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..body import Body, ExtraJoint, ExtraJointType
from ..collision.decompose import Progress
from ..collision.shapes import CollisionShapes, with_collision
from ..diagnostics import Diagnostics
from ..files.writer import cache_folder, yaml_text
from ..frames import BodyFrames, body_frames
from ..kinematics.loops import Mimic, loop_closures, mimic_joints
from ..kinematics.loops.constraints import loop_joints, loop_name
from ..late_dataclass import dataclass
from ..rigid import Array, Pose, matrix_quaternion, matrix_rpy
from .glb import UpAxis
from .options import Hardware, UrdfOptions
from .shapes import write_meshes
from .to_urdf import repaired, urdf_text

_ROUNDING = 1e-15
_HEADER = """\
# The closed loops of a robot. A URDF is a tree, so each loop is cut there; these are the
# missing constraints. Units are metres and radians; names are those of the URDF's links and
# joints.
#
# A loop is closed when its two frames, one in link_a and one in link_b, meet the condition
# of its type. "axis" is a unit vector, the same in both frames.
#   ball    the origins coincide
#   xy      the origins coincide in the directions orthogonal to the axis
#   z       the origins coincide along the axis
#   piston  the second frame slides along the axis, and turns about it
#   hinge   the second frame turns about the axis
#   fixed   the frames coincide
# A pose is xyz and the same rotation twice: rpy as in URDF, and quaternion as [x, y, z, w].
#
# "joints" are those of the loop. "dependent" are the joints whose positions follow from the
# others' when all loops are closed; command or publish only the others. Those that follow
# linearly are also listed under "mimic", and are <mimic> joints of the URDF:
#   position = multiplier * (position of joint) + offset
# "closed_at" is a posture with all loops closed, a start for finding others.
"""
# The file beside a URDF that describes closed loops, which URDF cannot represent.
LOOPS_FILE = "loops.yaml"


def loops_yaml(body: Body, frames: BodyFrames, diagnostics: Diagnostics | None = None) -> str:
    """Return the closed loops of a body, which a URDF lacks, as a YAML document.

    Args:
        body: The robot.
        frames: Names of its links and joints.
        diagnostics: Receives warnings about loops that stay open, or have impossible numbers
            and are left out; None for no warnings.

    Raises:
        KeyError: An extra joint names a link that does not exist.
    """
    names = [frames.joints.get(link.name, link.joint.name) for link in body.moving_links]
    closures, problems = loop_closures(body)
    loops: dict[int, dict[str, Any]] = {}
    mimics = mimic_joints(body, closures)
    closed_at: dict[str, float] = {}
    for closure in closures:
        for joint, ends, axis in zip(closure.extra_joints, closure.ends, closure.axes, strict=True):
            entry = _loop(joint, ends, axis, frames)
            entry["joints"] = [names[i] for i in loop_joints(body, joint)]
            loops[id(joint)] = entry
        closed_at |= {names[i]: float(closure.assembled[i]) for i in closure.joints}
        problems += closure.gap_messages()
    if diagnostics is not None:
        for problem in problems:
            diagnostics.warn("loop-gap", problem, body.root.at)
    dependent = sorted(int(i) for closure in closures for i in closure.dependent)
    document = {
        "loops": [loops[id(joint)] for joint in body.extra_joints if id(joint) in loops],
        "dependent": [names[i] for i in dependent],
        "mimic": {
            names[i]: _mimic(mimics[body.moving_links[i].name], frames)
            for i in dependent
            if body.moving_links[i].name in mimics
        },
        "closed_at": closed_at,
    }
    return _HEADER + yaml_text(document, is_compact=True)


def _loop(
    joint: ExtraJoint, ends: tuple[Pose, Pose], axis: Array, frames: BodyFrames
) -> dict[str, Any]:
    X_AJ, X_BJ = ends
    a, b = joint.links
    entry: dict[str, Any] = {
        "name": loop_name(joint),
        "type": joint.type.value,
        "link_a": {"frame": frames.links[a], **_pose(X_AJ)},
        "link_b": {"frame": frames.links[b], **_pose(X_BJ)},
    }
    if joint.type not in (ExtraJointType.BALL, ExtraJointType.FIXED):
        entry["axis"] = _numbers(axis)
    return entry


def _pose(X: Pose) -> dict[str, list[float]]:
    return {
        "xyz": _numbers(X.p),
        "rpy": _numbers(matrix_rpy(X.R)),
        "quaternion": _numbers(matrix_quaternion(X.R)),
    }


def _numbers(values: Iterable[float]) -> list[float]:
    """Return plain numbers, with rounding errors of sums of ones set to zero."""
    return [float(x) if abs(x) > _ROUNDING else 0.0 for x in values]


def _mimic(mimic: Mimic, frames: BodyFrames) -> dict[str, Any]:
    return {
        "joint": frames.joints[mimic.link],
        "multiplier": mimic.multiplier,
        "offset": mimic.offset,
    }


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
