"""Frames of a body: what every link, joint and device is called in URDF and TF."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .body import Body, JointType, Link
from .devices import Camera, Device, RangeSensor
from .diagnostics import Diagnostics, Span
from .rigid import Pose, axis_angle_matrix

# Cameras and range sensors look along -Z of their frame S, with +Y up. REP 103 wants
# images with z forward, x right, y down, and scans with x forward, y left, z up.
X_S_OPTICAL = Pose(np.diag([1.0, -1.0, -1.0]))
X_S_SCAN = Pose(np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]]))

# What XML 1.0 has no way to write (clause 2.2), and the slash in front that tf2 refuses.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """A frame F fixed to another one, P; ``pose`` is X_PF."""

    name: str
    parent: str
    pose: Pose


@dataclass(frozen=True, eq=False)
class BodyFrames:
    """Names that are legal and unique, equal to the model's own wherever those are.

    Attributes:
        links: Frame of each link, by link name.
        joints: Name of the joint above each link, by link name; the root's joint to the
            world is none of URDF's and is left out.
        devices: Frame S of each device, in the order of ``Body.devices``.
        data: The frame that a device's numbers are expressed in, in the same order: the
            optical frame of a camera, the scan frame of a range sensor, else S.
        fixed: The frames of devices, each after its parent.
    """

    links: Mapping[str, str]
    joints: Mapping[str, str]
    devices: tuple[str, ...]
    data: tuple[str, ...]
    fixed: tuple[Frame, ...]


def optical_frame(camera: str) -> str:
    """Return the name of the frame of a camera's images."""
    return f"{camera}_optical_frame"


def scan_frame(sensor: str) -> str:
    """Return the name of the frame of a range sensor's scans."""
    return f"{sensor}_frame"


def legal_name(name: str, default: str = "unnamed") -> str:
    """Return a name without the characters that XML or TF cannot carry."""
    return _ILLEGAL.sub("_", name).lstrip("/") or default


def joint_pose(link: Link, q: float) -> Pose:
    """Return X_PL, the pose of a link in its parent at joint position ``q`` in [rad] or [m]."""
    joint = link.joint
    if joint.type is JointType.REVOLUTE:
        return link.X_PL @ Pose(axis_angle_matrix(joint.axis, q))
    if joint.type is JointType.PRISMATIC:
        return Pose(link.X_PL.R, link.X_PL.p + link.X_PL.R @ (q * joint.axis))
    return link.X_PL


def body_frames(body: Body, diagnostics: Diagnostics) -> BodyFrames:
    """Name the frames and joints of a body.

    A name that is taken gets a number behind it; what had to change is warned about.
    Links come before devices, so a device never takes the name of a link.
    """
    frames, joints = _Names("frame", diagnostics), _Names("joint", diagnostics)
    link_names = {link.name: frames.take(link.name, link.at) for link in body.links}
    joint_names = {link.name: joints.take(link.joint.name, link.at) for link in body.links[1:]}
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
        fixed.append(Frame(devices[-1], link_names[device.link], device.X_LS))
        child = _data_frame(device, devices[-1])
        if child is not None:
            child = Frame(frames.take(child.name, at), child.parent, child.pose)
            fixed.append(child)
        data.append(devices[-1] if child is None else child.name)
    return BodyFrames(link_names, joint_names, tuple(devices), tuple(data), tuple(fixed))


def _data_frame(device: Device, frame: str) -> Frame | None:
    if isinstance(device, Camera):
        return Frame(optical_frame(frame), frame, X_S_OPTICAL)
    if isinstance(device, RangeSensor):
        return Frame(scan_frame(frame), frame, X_S_SCAN)
    return None


def _coincide(a: Device, b: Device) -> bool:
    """Tell whether two devices can share their frames."""
    return (
        (a.name, a.link) == (b.name, b.link)
        and isinstance(a, (Camera, RangeSensor)) == isinstance(b, (Camera, RangeSensor))
        and np.array_equal(a.X_LS.R, b.X_LS.R)
        and np.array_equal(a.X_LS.p, b.X_LS.p)
    )


class _Names:
    """Names of one kind that were given out."""

    def __init__(self, kind: str, diagnostics: Diagnostics) -> None:
        self._kind = kind
        self._diagnostics = diagnostics
        self._taken: set[str] = set()

    def take(self, wanted: str, at: Span | None) -> str:
        """Return the name if it is legal and free, else a near one, with a warning."""
        legal = legal_name(wanted)
        if legal != wanted:
            message = f"{self._kind} {wanted!r} cannot be written and becomes '{legal}'"
            self._diagnostics.warn("illegal-name", message, at)
        name, number = legal, 2
        while name in self._taken:
            name, number = f"{legal}_{number}", number + 1
        if name != legal:
            message = f"there is a {self._kind} '{legal}' already; this one becomes '{name}'"
            self._diagnostics.warn(f"{self._kind}-name-collision", message, at)
        self._taken.add(name)
        return name
