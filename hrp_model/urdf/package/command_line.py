"""The options of ``hrp-model urdf`` that write a description package again."""

from __future__ import annotations

from enum import Enum

from ...collision.shapes import CollisionShapes
from ...frames import Base
from ..meshes.glb import UpAxis
from ..options import UrdfOptions

_DEFAULTS = UrdfOptions()


def command_line_options(
    options: UrdfOptions, collision: CollisionShapes, glb_up: UpAxis
) -> list[str]:
    """Return the command line options that differ from the defaults.

    Args:
        options: Options of the URDF; paths of its files are left out.
        collision: Collision shapes of the links.
        glb_up: Which axis of the GLB files is the URDF's z.
    """
    values: list[tuple[str, str | bool | Enum | None, object]] = [
        ("--link-naming", options.link_naming, _DEFAULTS.link_naming),
        ("--frame-prefix", options.frame_prefix, _DEFAULTS.frame_prefix),
        ("--base", options.base, Base.AUTO),
        ("--collision", collision, CollisionShapes.AS_MODELLED),
        ("--glb-up", glb_up, UpAxis.Z),
        ("--urdf-version", options.version, _DEFAULTS.version),
        ("--gazebo", options.gazebo, False),
        ("--ros2-control", options.ros2_control, None),
        ("--mujoco", options.mujoco_meshes is not None, False),
    ]
    if options.ros2_control is not None:
        command = options.command_interface
        values.append(("--command-interface", command, _DEFAULTS.command_interface))
    words: list[str] = []
    for option, value, default in values:
        if value != default:
            words.append(option)
            if value is not True:
                words.append(str(value.value if isinstance(value, Enum) else value))
    return words
