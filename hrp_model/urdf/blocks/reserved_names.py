"""Frames with a name that simulators keep for themselves, told beforehand."""

from __future__ import annotations

from ...body import Body
from ...diagnostics import Diagnostics
from ...frames import BodyFrames
from ..options import Hardware, UrdfOptions

_WORLD = "world"


def tell_reserved_names(
    body: Body, frames: BodyFrames, options: UrdfOptions, diagnostics: Diagnostics
) -> None:
    """Warn of a link or device called "world", if the URDF is for those who have one themselves.

    At the top of a URDF it is the world to all of them, which is what the name says.
    """
    simulators = _simulators(options)
    if not simulators or frames.root == _WORLD:
        return
    of_links = [link.at for link in body.links if frames.links[link.name] == _WORLD]
    of_devices = [
        device.at or body.link(device.link).at
        for device, name in zip(body.devices, frames.devices, strict=True)
        if name == _WORLD
    ]
    for at in (*of_links, *of_devices)[:1]:
        message = f"a frame is called '{_WORLD}', which to {simulators} is the world itself"
        diagnostics.warn("reserved-name", message, at)


def _simulators(options: UrdfOptions) -> str:
    names = {
        "MuJoCo": options.mujoco_meshes is not None or options.ros2_control is Hardware.MUJOCO,
        "Gazebo": options.gazebo or options.ros2_control is Hardware.GZ,
    }
    return " and ".join(name for name, asked in names.items() if asked)
