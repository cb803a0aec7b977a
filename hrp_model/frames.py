"""Frames of a body: what every link, joint and device is called in URDF and TF."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import numpy as np

from .body import Body, JointType, Link
from .devices import Camera, Device, RangeSensor
from .diagnostics import Diagnostics, Span
from .inertial_units import have_same_pose
from .rigid import Pose, axis_angle_matrix, matrix_rpy

# Cameras and range sensors look along -Z of their frame S, with +Y up. REP 103 wants
# images with z forward, x right, y down, and scans with x forward, y left, z up.
X_S_OPTICAL = Pose(np.diag([1.0, -1.0, -1.0]))
X_S_SCAN = Pose(np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]]))

# What XML 1.0 has no way to write (clause 2.2), breaks of lines, which its attributes lose
# (clause 3.3.3), and the dollar signs that xacro would put something else in place of.
_ILLEGAL = re.compile("[^\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|\\$(?=[({])")


class LinkNaming(Enum):
    """Where the names of links come from.

    JOINT takes the model's link names, which by the formats' custom are those of the joints;
    SEGMENT the names of the OpenHRP Segment nodes, such as WAIST_LINK0, where there are any.
    """

    JOINT = "joint"
    SEGMENT = "segment"


class Base(Enum):
    """A link without mass above the model's root.

    LINK adds ``base_link`` at the root; FOOTPRINT also ``base_footprint`` above that: on the
    floor (z = 0) below the place where the model puts its root, upright, and turned about
    the vertical as the root is (REP 120). AUTO adds ``base_link`` where the root has a mass or an
    inertia, which KDL does not take; but none where a link or device has that name, or the root
    is called ``world``.
    """

    AUTO = "auto"
    NONE = "none"
    LINK = "base_link"
    FOOTPRINT = "base_footprint"


_WORLD = "world"  # by custom a frame that nothing moves, and so none that is below another

# Of each kind of base, top first.
_BASE_LINKS = {
    Base.NONE: (),
    Base.LINK: ("base_link",),
    Base.FOOTPRINT: ("base_footprint", "base_link"),
}


@dataclass(frozen=True)
class FrameOptions:
    """How frames are called, and what stands above the root.

    Attributes:
        link_naming: Where the names of links come from.
        frame_prefix: Put before the names of all frames: of links, devices and the base.
            Joints keep theirs.
        base: A link without mass above the root. A root that has its name and no mass
            serves as one itself.
    """

    link_naming: LinkNaming = LinkNaming.JOINT
    frame_prefix: str = ""
    base: Base = Base.NONE


@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """A frame F fixed to another one, P; ``pose`` is X_PF."""

    name: str
    parent: str
    pose: Pose


@dataclass(frozen=True, eq=False)
class BodyFrames:
    """Names that are legal and unique, equal to the model's own wherever those are.

    Names of frames begin with the prefix asked for.

    Attributes:
        links: Frame of each link, by link name.
        joints: Name of the joint above each link, by link name; the root's joint to the
            world is none of URDF's and is left out.
        devices: Frame S of each device, in the order of ``Body.devices``.
        data: The frame that a device's numbers are expressed in, in the same order: the
            optical frame of a camera, the scan frame of a range sensor, else S.
        fixed: The frames of devices, each after its parent.
        base: What the links above the model's root carry, top first: the last is the root.
    """

    links: Mapping[str, str]
    joints: Mapping[str, str]
    devices: tuple[str, ...]
    data: tuple[str, ...]
    fixed: tuple[Frame, ...]
    base: tuple[Frame, ...] = ()

    @property
    def root(self) -> str:
        """The frame above all others."""
        return self.base[0].parent if self.base else next(iter(self.links.values()))

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all frames."""
        fixed = (frame.name for frame in (*self.base, *self.fixed))
        return frozenset((self.root, *self.links.values(), *fixed))

    @cached_property
    def fixed_joints(self) -> Mapping[str, str]:
        """Names of the joints that carry the frames of ``base`` and ``fixed``, by frame.

        One below the base is called after what is above it: the root's own name may be that
        of a joint.
        """
        taken = {*self.joints.values(), *self.names}
        above = [(frame, frame.parent) for frame in self.base]
        found: dict[str, str] = {}
        for frame, after in (*above, *((frame, frame.name) for frame in self.fixed)):
            found[frame.name] = unique_name(f"{after}_joint", taken)
            taken.add(found[frame.name])
        return found

    @cached_property
    def joint_names(self) -> frozenset[str]:
        """The names of all joints of the URDF."""
        return frozenset((*self.joints.values(), *self.fixed_joints.values()))


def optical_frame(camera: str) -> str:
    """Return the name of the frame of a camera's images."""
    return f"{camera}_optical_frame"


def scan_frame(sensor: str) -> str:
    """Return the name of the frame of a range sensor's scans."""
    return f"{sensor}_frame"


def legal_name(name: str, default: str = "unnamed") -> str:
    """Return a name without what XML, TF or xacro cannot carry; ``default`` if nothing is left.

    TF refuses a slash in front, and readers of URDF drop blanks at the ends.
    """
    return _ILLEGAL.sub("_", name).lstrip("/ ").rstrip(" ") or default


def unique_name(name: str, taken: Container[str]) -> str:
    """Return the name, with a number behind it when it is taken."""
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


def joint_pose(link: Link, q: float) -> Pose:
    """Return X_PL, the pose of a link in its parent at joint position ``q`` in [rad] or [m]."""
    joint = link.joint
    if joint.type is JointType.REVOLUTE:
        return link.X_PL @ Pose(axis_angle_matrix(joint.axis, q))
    if joint.type is JointType.PRISMATIC:
        return Pose(link.X_PL.R, link.X_PL.p + link.X_PL.R @ (q * joint.axis))
    return link.X_PL


def body_frames(
    body: Body, diagnostics: Diagnostics, options: FrameOptions | None = None
) -> BodyFrames:
    """Name the frames and joints of a body.

    A name that is taken gets a number behind it; what had to change is warned about.
    The base comes first, then links, then devices: so a device never takes the name of a
    link.
    """
    options = FrameOptions() if options is None else options
    frames = _Names("frame", diagnostics, _legal_prefix(options.frame_prefix, diagnostics))
    wanted = _link_names(body, diagnostics, options.link_naming)
    above = [frames.take(name, body.root.at) for name in _base_names(body, wanted, options.base)]
    links = {link.name: frames.take(wanted[link.name], link.at) for link in body.links}
    return BodyFrames(
        links,
        _joint_names(body, diagnostics),
        *_device_frames(body, links, frames),
        _base_frames(body, above, links[body.root.name], options.base),
    )


def with_joint_names(body: Body) -> Body:
    """Return the body with its joints called as ``body_frames`` calls them.

    So who tells of joints and who describes them use the same names. It is the body itself where
    these are legal and unique, as they nearly always are. The root's joint, which no URDF has,
    makes way for the others.
    """
    quiet = Diagnostics(listener=lambda _: None)
    found = _joint_names(body, quiet)
    found[body.root.name] = unique_name(legal_name(body.root.joint.name), {*found.values()})
    if all(link.joint.name == found[link.name] for link in body.links):
        return body
    links = (replace(x, joint=replace(x.joint, name=found[x.name])) for x in body.links)
    return replace(body, links=tuple(links))


def _joint_names(body: Body, diagnostics: Diagnostics) -> dict[str, str]:
    joints = _Names("joint", diagnostics)
    return {link.name: joints.take(link.joint.name, link.at) for link in body.links[1:]}


def _legal_prefix(prefix: str, diagnostics: Diagnostics) -> str:
    # What ends a prefix stands inside of a name, where it may be a blank.
    legal = legal_name(f"{prefix}x")[:-1]
    if legal != prefix:
        message = f"frame prefix {prefix!r} cannot be written and becomes '{legal}'"
        diagnostics.warn("illegal-name", message)
    return legal


def _link_names(body: Body, diagnostics: Diagnostics, naming: LinkNaming) -> dict[str, str]:
    """Return the name that each link should have, by link name."""
    if naming is LinkNaming.JOINT:
        return {link.name: link.name for link in body.links}
    names: dict[str, str] = {}
    bare: list[Link] = []
    for link in body.links:
        segments = [str(name) for name in link.info.get("segments", ()) if name]
        names[link.name] = segments[0] if segments else link.name
        if not segments:
            bare.append(link)
        elif len(segments) > 1:
            others = ", ".join(f"'{name}'" for name in segments[1:])
            message = f"link '{link.name}' is named after its first Segment, not after {others}"
            diagnostics.warn("several-segments", message, link.at)
    if bare:
        message = f"{_links(bare)} have no named Segment and keep their own names"
        if len(bare) == len(body.links):
            message = "no link has a named Segment; all keep their own names"
        diagnostics.warn("no-segment", message, bare[0].at)
    return names


def _links(links: list[Link]) -> str:
    shown = ", ".join(f"'{link.name}'" for link in links[:4])
    return f"links {shown}" + (f" and {len(links) - 4} more" if len(links) > 4 else "")


def _base_names(body: Body, link_names: Mapping[str, str], base: Base) -> tuple[str, ...]:
    """Return the names to be put above the root: none that the root itself can stand for."""
    if base is Base.AUTO:
        base = _automatic_base(body, link_names)
    names = _BASE_LINKS[base]
    root = link_names[body.root.name]
    if root in names and body.root.mass == 0.0:
        return names[: names.index(root)]
    return names


def _automatic_base(body: Body, link_names: Mapping[str, str]) -> Base:
    """Return the base that a body needs; see ``Base.AUTO``."""
    root = body.root
    if root.mass == 0.0 and not root.inertia.any():
        return Base.NONE
    taken = {*link_names.values(), *(device.name for device in body.devices)}
    is_world = link_names[root.name] == _WORLD
    return Base.NONE if is_world or taken.intersection(_BASE_LINKS[Base.LINK]) else Base.LINK


def _base_frames(body: Body, above: list[str], root: str, base: Base) -> tuple[Frame, ...]:
    poses = [Pose() for _ in above]
    if above and base is Base.FOOTPRINT:
        poses[0] = _footprint(body.root.X_PL).inverse() @ body.root.X_PL
    below = [*above[1:], root]
    return tuple(map(Frame, below, above, poses))


def _footprint(X_WR: Pose) -> Pose:
    """Return X_WF, the pose of the footprint of a root R in the world."""
    _, _, yaw = matrix_rpy(X_WR.R)
    return Pose(axis_angle_matrix((0.0, 0.0, 1.0), yaw), X_WR.p * (1.0, 1.0, 0.0))


def _device_frames(
    body: Body, links: Mapping[str, str], frames: _Names
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Frame, ...]]:
    """Return the frames of devices, those of their data, and all of them with their poses."""
    devices: list[str] = []
    data: list[str] = []
    fixed: list[Frame] = []
    for i, device in enumerate(body.devices):
        twin = next((j for j in range(i) if _coincide(body.devices[j], device)), None)
        if twin is not None:  # say, a gyro and an accelerometer that are one instrument
            devices.append(devices[twin])
            data.append(data[twin])
            continue
        at = device.at or body.link(device.link).at
        devices.append(frames.take(device.name, at))
        fixed.append(Frame(devices[-1], links[device.link], device.X_LS))
        child = _data_frame(device, devices[-1])
        if child is not None:
            child = Frame(frames.take_derived(child.name, at), child.parent, child.pose)
            fixed.append(child)
        data.append(devices[-1] if child is None else child.name)
    return tuple(devices), tuple(data), tuple(fixed)


def _data_frame(device: Device, frame: str) -> Frame | None:
    if isinstance(device, Camera):
        return Frame(optical_frame(frame), frame, X_S_OPTICAL)
    if isinstance(device, RangeSensor):
        return Frame(scan_frame(frame), frame, X_S_SCAN)
    return None


def _coincide(a: Device, b: Device) -> bool:
    """Tell whether two devices can share their frames."""
    return (
        a.name == b.name
        and isinstance(a, (Camera, RangeSensor)) == isinstance(b, (Camera, RangeSensor))
        and have_same_pose(a, b)
    )


class _Names:
    """Names of one kind that were given out."""

    def __init__(self, kind: str, diagnostics: Diagnostics, prefix: str = "") -> None:
        self._kind = kind
        self._diagnostics = diagnostics
        self._prefix = prefix
        self._taken: set[str] = set()

    def take(self, wanted: str, at: Span | None) -> str:
        """Return the name, prefixed, if it is legal and free, else a near one, with a warning."""
        legal = legal_name(wanted)
        if legal != wanted:
            message = f"{self._kind} {wanted!r} cannot be written and becomes '{legal}'"
            self._diagnostics.warn("illegal-name", message, at)
        return self.take_derived(self._prefix + legal, at)

    def take_derived(self, legal: str, at: Span | None) -> str:
        """Do the same for a name that was made of a legal one and its prefix."""
        name = unique_name(legal, self._taken)
        if name != legal:
            message = f"there is a {self._kind} '{legal}' already; this one becomes '{name}'"
            self._diagnostics.warn(f"{self._kind}-name-collision", message, at)
        self._taken.add(name)
        return name
