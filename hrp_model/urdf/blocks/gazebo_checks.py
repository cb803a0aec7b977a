"""What Gazebo (gz-sim) refuses of a URDF, or drops of it, told beforehand."""

from __future__ import annotations

from ...body import Body, Link
from ...diagnostics import Diagnostics
from ...frames import BodyFrames
from ..options import Hardware, UrdfOptions
from . import gazebo_sensors
from .sensors import Sensors

# No mass to Gazebo, in [kg]: the tolerance of gz-math's equal().
_NO_MASS = 1e-6
_WORLD = "world"  # Gazebo takes a root of this name for the world itself


def tell_what_gazebo_refuses(
    body: Body, frames: BodyFrames, options: UrdfOptions, diagnostics: Diagnostics
) -> None:
    """Warn of what Gazebo would not simulate, if the URDF is for Gazebo."""
    if options.gazebo or options.ros2_control is Hardware.GZ:
        _tell_shared_names(body, frames, diagnostics)
        _tell_dropped_links(body, frames, options, diagnostics)


def _tell_shared_names(body: Body, frames: BodyFrames, diagnostics: Diagnostics) -> None:
    """Warn of joints that are called like links: SDFormat 1.7 and later wants them apart."""
    shared = [name for name in frames.joints.values() if name in frames.names]
    if shared:
        message = (
            f"Gazebo refuses a joint with the name of a link: '{shared[0]}'"
            f"{f' and {len(shared) - 1} more' if len(shared) > 1 else ''}"
        )
        diagnostics.warn("joint-named-like-link", message, body.root.at)


def _tell_dropped_links(
    body: Body, frames: BodyFrames, options: UrdfOptions, diagnostics: Diagnostics
) -> None:
    """Warn of links without mass, which SDFormat leaves out with all that they carry.

    What fixed joints join is one link to it, and has the mass of all.
    """
    tops = _tops(body, frames, options)
    masses = dict.fromkeys(tops.values(), 0.0)
    for link in body.links:
        masses[tops[link.name]] += link.mass
    dropped: dict[str, list[str]] = {}  # by the link that takes the others with it
    culprits: dict[str, str] = {}
    for link in body.links:
        top = body.link(tops[link.name])
        culprit = culprits.get(top.parent) if top.parent is not None else None
        if culprit is None and masses[top.name] <= _NO_MASS and not _is_world(top, frames):
            culprit = top.name
        if culprit is not None:
            culprits[link.name] = culprit
            dropped.setdefault(culprit, []).append(link.name)
    for name, links in dropped.items():
        others = len(links) - 1
        carried = f", and {others} more that hang on it" if others else ""
        message = f"Gazebo drops link '{name}', which has no mass{carried}"
        diagnostics.warn("dropped-by-gazebo", message, body.link(name).at)


def _tops(body: Body, frames: BodyFrames, options: UrdfOptions) -> dict[str, str]:
    """Return for each link the topmost one of those that Gazebo makes one link of."""
    preserved: set[str] = set()
    if options.gazebo:
        parts = gazebo_sensors.in_joints(Sensors(body, frames))
        preserved = {name for name, part in parts if part.tag == "preserveFixedJoint"}
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
