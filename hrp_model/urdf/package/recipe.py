"""The options of ``hrp-model urdf`` by which a description package is made again."""

from __future__ import annotations

from enum import Enum

from ...collision.shapes import CollisionShapes
from ...frames import Base
from ..meshes.glb import UpAxis
from ..options import UrdfOptions

_PLAIN = UrdfOptions()


def recipe(options: UrdfOptions, collision: CollisionShapes, glb_up: UpAxis) -> list[str]:
    """Return the options of the command that ask for the same; none where nothing was asked for.

    Args:
        options: What the URDF holds. Where its files are is the package's own business.
        collision: What stands for each link where it touches.
        glb_up: Which axis of the GLB files is the URDF's z.
    """
    asked: list[tuple[str, str | bool | Enum | None, object]] = [
        ("--link-naming", options.link_naming, _PLAIN.link_naming),
        ("--frame-prefix", options.frame_prefix, _PLAIN.frame_prefix),
        ("--base", options.base, Base.AUTO),
        ("--collision", collision, CollisionShapes.AS_MODELLED),
        ("--glb-up", glb_up, UpAxis.Z),
        ("--gazebo", options.gazebo, False),
        ("--ros2-control", options.ros2_control, None),
        ("--mujoco", options.mujoco_meshes is not None, False),
    ]
    if options.ros2_control is not None:
        command = options.command_interface
        asked.append(("--command-interface", command, _PLAIN.command_interface))
    words: list[str] = []
    for option, value, default in asked:
        if value != default:
            words.append(option)
            if value is not True:
                words.append(str(value.value if isinstance(value, Enum) else value))
    return words
