"""Frames of a body: names of its links, joints and devices in URDF and TF."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import replace
from enum import Enum
from functools import cached_property
from math import cos

import numpy as np

from .body import Body, JointType, Link
from .devices import Camera, Device, ForceSensor, RangeSensor, WrenchFrame
from .diagnostics import Diagnostics, Span, listed
from .inertial_units import have_same_pose
from .late_dataclass import dataclass
from .rigid import Pose, axis_angle_matrix, matrix_rpy

# Cameras and range sensors look along -Z of their frame S, with +Y up. REP 103 wants
# images with z forward, x right, y down, and scans with x forward, y left, z up.
X_S_OPTICAL = Pose(np.diag([1.0, -1.0, -1.0]))
X_S_SCAN = Pose(np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]]))

# Largest angle of the plane of a level scan to the ground, in [rad].
_LEVEL = 0.05

# Characters that XML 1.0 cannot represent (clause 2.2), line breaks, which its attributes do not
# preserve (clause 3.3.3), and dollar signs that xacro would substitute.
_ILLEGAL = re.compile("[\0-\x1f]|[\ud800-\udfff]|[\ufffe-\uffff]|\\$(?=[({])")


class LinkNaming(Enum):
    """Source of link names.

    JOINT uses the model's link names, which in most formats are those of the joints;
    SEGMENT uses the names of OpenHRP's Segment nodes, such as WAIST_LINK0, where they exist.
    """

    JOINT = "joint"
    SEGMENT = "segment"


class Base(Enum):
    """Massless base links above the model's root.

    LINK adds ``base_link`` at the root; FOOTPRINT adds ``base_footprint`` above it (REP 120): on
    the floor (z = 0) below the root's initial position, upright, with the root's yaw. AUTO adds
    ``base_link`` if the root has a mass or an inertia, which KDL does not support, unless a link
    or device already has that name or the root is called ``world``.
    """

    AUTO = "auto"
    NONE = "none"
    LINK = "base_link"
    FOOTPRINT = "base_footprint"


_WORLD = "world"  # by convention the fixed frame, which has no parent

# Names of the links of each kind of base, top first.
_BASE_LINKS = {
    Base.NONE: (),
    Base.LINK: ("base_link",),
    Base.FOOTPRINT: ("base_footprint", "base_link"),
}


@dataclass(frozen=True)
class FrameOptions:
    """Options for the names of frames and the base links above the root.

    Attributes:
        link_naming: Source of link names.
        frame_prefix: Prefix of the names of all frames: of links, devices and the base. Joint
            names have no prefix.
        base: Massless base links above the root. A massless root that already has such a name
            is used as that link.
    """

    link_naming: LinkNaming = LinkNaming.JOINT
    frame_prefix: str = ""
    base: Base = Base.NONE


@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """A frame F fixed to its parent frame P; ``pose`` is X_PF."""

    name: str
    parent: str
    pose: Pose


@dataclass(frozen=True, eq=False)
class BodyFrames:
    """Legal and unique names of frames and joints, equal to the model's names where possible.

    Names of frames include the prefix.

    Attributes:
        links: Frame of each link, by link name.
        joints: Name of the joint above each link, by link name; without the root's joint to
            the world, which is not part of a URDF.
        devices: Frame S of each device, in the order of ``Body.devices``.
        data: Frame in which a device's data is expressed, in the same order: the optical
            frame of a camera, the scan frame of a range sensor, the frame that a force sensor
            states, else S.
        fixed: The frames of devices, each after its parent.
        base: The children of the base links above the model's root, top first: the last is
            the root's frame.
    """

    links: Mapping[str, str]
    joints: Mapping[str, str]
    devices: tuple[str, ...]
    data: tuple[str, ...]
    fixed: tuple[Frame, ...]
    base: tuple[Frame, ...] = ()

    @property
    def root(self) -> str:
        """The topmost frame."""
        return self.base[0].parent if self.base else next(iter(self.links.values()))

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of all frames."""
        fixed = (frame.name for frame in (*self.base, *self.fixed))
        return frozenset((self.root, *self.links.values(), *fixed))

    @cached_property
    def fixed_joints(self) -> Mapping[str, str]:
        """Names of the fixed joints above the frames of ``base`` and ``fixed``, by frame.

        A joint of the base is named after its parent frame, since a joint of the model may
        already be named after the root.
        """
        taken = {*self.joints.values(), *self.names}
        stems = [(frame, frame.parent) for frame in self.base]
        stems += [(frame, frame.name) for frame in self.fixed]
        joints: dict[str, str] = {}
        for frame, stem in stems:
            joints[frame.name] = unique_name(f"{stem}_joint", taken)
            taken.add(joints[frame.name])
        return joints

    @cached_property
    def joint_names(self) -> frozenset[str]:
        """Names of all joints of the URDF."""
        return frozenset((*self.joints.values(), *self.fixed_joints.values()))


def optical_frame(camera: str) -> str:
    """Return the name of a camera's optical frame."""
    return f"{camera}_optical_frame"


def scan_frame(sensor: str) -> str:
    """Return the name of a range sensor's scan frame."""
    return f"{sensor}_frame"


def parent_frame(sensor: str) -> str:
    """Return the name of the frame of a force sensor that measures in that of the parent link."""
    return f"{sensor}_parent_frame"


def wrench_pose(device: ForceSensor, link: Link) -> tuple[str, Pose]:
    """Return the frame of a force sensor's wrench: the name of its link, and its pose in it.

    A root has no parent, in whose frame the wrench could be: then it is in S.

    Args:
        device: The force sensor.
        link: Its link.
    """
    if device.frame is WrenchFrame.CHILD:
        return link.name, Pose()
    if device.frame is WrenchFrame.PARENT and link.parent is not None:
        return link.parent, Pose(p=link.X_PL.p)
    return link.name, device.X_LS


def level_scans(body: Body, poses: Mapping[str, Pose]) -> list[tuple[RangeSensor, Pose]]:
    """Return the planar range sensors whose scan is level, each with the pose of its scan frame.

    Args:
        body: The robot.
        poses: Of its links, by name, in a frame whose z axis points up.
    """
    scans = (
        (device, poses[device.link] @ device.X_LS @ X_S_SCAN)
        for device in body.devices
        if isinstance(device, RangeSensor) and device.is_planar
    )
    return [(x, pose) for x, pose in scans if abs(float(pose.R[2, 2])) >= cos(_LEVEL)]


def legal_name(name: str, default: str = "unnamed") -> str:
    """Replace characters that XML, TF or xacro do not allow; ``default`` if the name is empty.

    TF rejects a leading slash, and URDF parsers strip leading and trailing blanks.
    """
    return _ILLEGAL.sub("_", name).lstrip("/ ").rstrip(" ") or default


def unique_name(name: str, taken: Container[str]) -> str:
    """Return the name, with a number appended if it is taken."""
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


def add_unique(name: str, taken: set[str]) -> str:
    """Return ``unique_name``, and add it to the names that are taken."""
    free = unique_name(name, taken)
    taken.add(free)
    return free


def joint_pose(link: Link, q: float) -> Pose:
    """Return X_PL, the pose of a link in its parent at joint position ``q`` in [rad] or [m]."""
    joint = link.joint
    if joint.type is JointType.REVOLUTE:
        return link.X_PL @ Pose(axis_angle_matrix(joint.axis, q))
    if joint.type is JointType.PRISMATIC:
        return Pose(link.X_PL.R, link.X_PL.p + link.X_PL.R @ (q * joint.axis))
    return link.X_PL


def initial_poses(body: Body) -> dict[str, Pose]:
    """Return X_WL of each link in the model's initial posture, by name."""
    poses = {body.root.name: body.root.X_PL}
    for link in body.links[1:]:
        assert link.parent is not None
        poses[link.name] = poses[link.parent] @ joint_pose(link, link.joint.initial)
    return poses


def body_frames(
    body: Body, diagnostics: Diagnostics, options: FrameOptions | None = None
) -> BodyFrames:
    """Name the frames and joints of a body.

    A number is appended to a name that is taken; every change of a name is a warning. Names are
    assigned to the base first, then to links, then to devices, so a device never takes the name
    of a link.
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
    """Return the body with the joint names that its URDF has, see ``body_frames``.

    Thus JointState messages and URDF use the same names. The body itself is returned if its
    names are legal and unique. The root's joint, which no URDF has, yields to the others.
    """
    quiet = Diagnostics.silent()
    names = _joint_names(body, quiet)
    names[body.root.name] = unique_name(legal_name(body.root.joint.name), {*names.values()})
    if all(link.joint.name == names[link.name] for link in body.links):
        return body
    links = (replace(x, joint=replace(x.joint, name=names[x.name])) for x in body.links)
    return replace(body, links=tuple(links))


def _joint_names(body: Body, diagnostics: Diagnostics) -> dict[str, str]:
    joints = _Names("joint", diagnostics)
    return {link.name: joints.take(link.joint.name, link.at) for link in body.links[1:]}


def _legal_prefix(prefix: str, diagnostics: Diagnostics) -> str:
    # The end of a prefix is in the middle of a name, where a blank is allowed.
    legal = legal_name(f"{prefix}x")[:-1]
    if legal != prefix:
        message = f"frame prefix {prefix!r} is not a legal name; it becomes '{legal}'"
        diagnostics.warn("illegal-name", message)
    return legal


def _link_names(body: Body, diagnostics: Diagnostics, naming: LinkNaming) -> dict[str, str]:
    """Return the wanted name of each link, by link name."""
    if naming is LinkNaming.JOINT:
        return {link.name: link.name for link in body.links}
    names: dict[str, str] = {}
    without_segment: list[Link] = []
    for link in body.links:
        segments = [str(name) for name in link.info.get("segments", ()) if name]
        names[link.name] = segments[0] if segments else link.name
        if not segments:
            without_segment.append(link)
        elif len(segments) > 1:
            others = ", ".join(f"'{name}'" for name in segments[1:])
            message = f"link '{link.name}' is named after its first Segment, not after {others}"
            diagnostics.warn("several-segments", message, link.at)
    if without_segment:
        message = f"{_links(without_segment)} have no named Segment and keep their own names"
        if len(without_segment) == len(body.links):
            message = "no link has a named Segment; all keep their own names"
        diagnostics.warn("no-segment", message, without_segment[0].at)
    return names


def _links(links: list[Link]) -> str:
    shown = listed([f"'{link.name}'" for link in links], 4)
    return f"links {shown}"


def _base_names(body: Body, link_names: Mapping[str, str], base: Base) -> tuple[str, ...]:
    """Return the names of base links to add above the root, top first."""
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
    """Return the fields ``devices``, ``data`` and ``fixed`` of ``BodyFrames``."""
    devices: list[str] = []
    data: list[str] = []
    fixed: list[Frame] = []
    for i, device in enumerate(body.devices):
        twin = next((j for j in range(i) if _coincide(body.devices[j], device)), None)
        if twin is not None:  # for example a gyro and an accelerometer that make up one IMU
            devices.append(devices[twin])
            data.append(data[twin])
            continue
        at = device.at or body.link(device.link).at
        devices.append(frames.take(device.name, at))
        fixed.append(Frame(devices[-1], links[device.link], device.X_LS))
        child = _data_frame(device, devices[-1])
        if isinstance(device, ForceSensor) and device.frame is not WrenchFrame.SENSOR:
            carrier, pose = wrench_pose(device, body.link(device.link))
            if device.frame is WrenchFrame.CHILD:
                data.append(links[carrier])
                continue
            child = Frame(parent_frame(devices[-1]), links[carrier], pose)
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
    """Return whether two devices can share their frames."""
    return (
        a.name == b.name
        and isinstance(a, (Camera, RangeSensor)) == isinstance(b, (Camera, RangeSensor))
        and have_same_pose(a, b)
    )


class _Names:
    """Assigns legal and unique names of one kind."""

    def __init__(self, kind: str, diagnostics: Diagnostics, prefix: str = "") -> None:
        self._kind = kind
        self._diagnostics = diagnostics
        self._prefix = prefix
        self._taken: set[str] = set()

    def take(self, wanted: str, at: Span | None) -> str:
        """Return the name with the prefix, changed with a warning if it is illegal or taken."""
        legal = legal_name(wanted)
        if legal != wanted:
            message = f"{self._kind} name {wanted!r} is not legal; it becomes '{legal}'"
            self._diagnostics.warn("illegal-name", message, at)
        return self.take_derived(self._prefix + legal, at)

    def take_derived(self, legal: str, at: Span | None) -> str:
        """Return a legal name, changed with a warning if it is taken."""
        name = unique_name(legal, self._taken)
        if name != legal:
            message = f"{self._kind} name '{legal}' is already in use; this one becomes '{name}'"
            self._diagnostics.warn(f"{self._kind}-name-collision", message, at)
        self._taken.add(name)
        return name
