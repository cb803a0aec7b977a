"""Warnings about parts of a URDF that Gazebo (gz-sim) or MuJoCo would reject or drop."""

from __future__ import annotations

from ...body import Body, Link
from ...diagnostics import Diagnostics
from ...frames import BodyFrames
from ..options import Hardware, UrdfOptions
from . import gazebo_sensors
from .sensors import Sensors

# Masses up to this count as zero in Gazebo, in [kg]: the tolerance of gz-math's equal().
_ZERO_MASS = 1e-6
_WORLD = "world"  # simulators take a root link of this name for the world itself


def warn_of_simulator_limits(
    body: Body, frames: BodyFrames, options: UrdfOptions, diagnostics: Diagnostics
) -> None:
    """Warn of parts of a URDF that the simulators selected by the options would not simulate."""
    for_gazebo = options.gazebo or options.ros2_control is Hardware.GZ
    for_mujoco = options.mujoco_meshes is not None or options.ros2_control is Hardware.MUJOCO
    if for_gazebo:
        _warn_of_shared_names(body, frames, diagnostics)
        _warn_of_dropped_links(body, frames, options, diagnostics)
    selected = (("MuJoCo", for_mujoco), ("Gazebo", for_gazebo))
    simulators = " and ".join(name for name, is_selected in selected if is_selected)
    if simulators and frames.root != _WORLD:
        _warn_of_world(body, frames, simulators, diagnostics)


def _warn_of_world(
    body: Body, frames: BodyFrames, simulators: str, diagnostics: Diagnostics
) -> None:
    """Warn of a link or device below the root that is called "world"."""
    of_links = [link.at for link in body.links if frames.links[link.name] == _WORLD]
    of_devices = [
        device.at or body.link(device.link).at
        for device, name in zip(body.devices, frames.devices, strict=True)
        if name == _WORLD
    ]
    for at in (*of_links, *of_devices)[:1]:
        message = f"a frame is called '{_WORLD}', a name reserved for the world in {simulators}"
        diagnostics.warn("reserved-name", message, at)


def _warn_of_shared_names(body: Body, frames: BodyFrames, diagnostics: Diagnostics) -> None:
    """Warn of joints with the names of links: SDFormat 1.7 and later requires unique names."""
    shared = [name for name in frames.joints.values() if name in frames.names]
    if shared:
        message = (
            f"Gazebo rejects a joint with the name of a link: '{shared[0]}'"
            f"{f' and {len(shared) - 1} more' if len(shared) > 1 else ''}"
        )
        diagnostics.warn("joint-named-like-link", message, body.root.at)


def _warn_of_dropped_links(
    body: Body, frames: BodyFrames, options: UrdfOptions, diagnostics: Diagnostics
) -> None:
    """Warn of links without mass, which SDFormat drops with all their descendants.

    Links that are joined by fixed joints are lumped into one, which has the mass of all.
    """
    tops = _top_links(body, frames, options)
    masses = dict.fromkeys(tops.values(), 0.0)
    for link in body.links:
        masses[tops[link.name]] += link.mass
    dropped: dict[str, list[str]] = {}  # by the massless link that causes it
    causes: dict[str, str] = {}
    for link in body.links:
        top = body.link(tops[link.name])
        cause = causes.get(top.parent) if top.parent is not None else None
        if cause is None and masses[top.name] <= _ZERO_MASS and not _is_world(top, frames):
            cause = top.name
        if cause is not None:
            causes[link.name] = cause
            dropped.setdefault(cause, []).append(link.name)
    for name, links in dropped.items():
        others = len(links) - 1
        below = f", and {others} more below it" if others else ""
        message = f"Gazebo drops link '{name}', which has no mass{below}"
        diagnostics.warn("dropped-by-gazebo", message, body.link(name).at)


def _top_links(body: Body, frames: BodyFrames, options: UrdfOptions) -> dict[str, str]:
    """Return for each link the topmost of the links that Gazebo lumps together with it."""
    preserved: set[str] = set()
    if options.gazebo:
        elements = gazebo_sensors.in_joints(Sensors(body, frames))
        preserved = {name for name, child in elements if child.tag == "preserveFixedJoint"}
    tops: dict[str, str] = {}
    for link in body.links:
        tops[link.name] = link.name
        if link.parent is None or not link.joint.is_fixed or link.name in preserved:
            continue
        if not _is_world(body.link(link.parent), frames):
            tops[link.name] = tops[link.parent]
    return tops


def _is_world(link: Link, frames: BodyFrames) -> bool:
    return link.parent is None and frames.links[link.name] == frames.root == _WORLD
