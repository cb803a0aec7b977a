"""Poses of frames in the world from TF transforms, which may have gaps and cycles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import NamedTuple, Protocol

import numpy as np

from ..frames import Frame
from ..rigid import Pose, quaternion_matrix


class Vector(Protocol):
    """A ``geometry_msgs/Vector3``."""

    x: float
    y: float
    z: float


class Quaternion(Vector, Protocol):
    """A ``geometry_msgs/Quaternion``."""

    w: float


class TransformValues(Protocol):
    """A ``geometry_msgs/Transform``."""

    translation: Vector
    rotation: Quaternion


class Header(Protocol):
    """A ``std_msgs/Header``."""

    frame_id: str


class StampedTransform(Protocol):
    """A ``geometry_msgs/TransformStamped``."""

    header: Header
    child_frame_id: str
    transform: TransformValues


class TransformsMessage(Protocol):
    """A ``tf2_msgs/TFMessage``."""

    transforms: Sequence[StampedTransform]


class Transform(NamedTuple):
    """Pose X_PF of a frame F in its parent P.

    Attributes:
        frame, parent: Names of F and P.
        values: Position p_PF in [m], then the quaternion (x, y, z, w) of R_PF, of any length.
    """

    frame: str
    parent: str
    values: tuple[float, float, float, float, float, float, float]

    def to_frame(self) -> Frame:
        """Return the same as a frame."""
        pose = Pose(quaternion_matrix(self.values[3:]), np.array(self.values[:3]))
        return Frame(self.frame, self.parent, pose)


def transforms_of(message: TransformsMessage) -> Iterator[Transform]:
    """Yield the transforms of a message, without those that are not finite or lack a name."""
    for stamped in message.transforms:
        # tf, the predecessor of tf2, allowed leading slashes.
        frame, parent = stamped.child_frame_id.lstrip("/"), stamped.header.frame_id.lstrip("/")
        t, q = stamped.transform.translation, stamped.transform.rotation
        values = t.x, t.y, t.z, q.x, q.y, q.z, q.w
        if frame and parent and all(map(isfinite, values)):
            yield Transform(frame, parent, values)


def poses_in_world(frames: Iterable[Frame]) -> dict[str, Pose]:
    """Return the pose of each frame in the world, and those of the topmost frames.

    The topmost frame of each tree coincides with the world, so trees that no transform connects
    share their origin. A cycle is cut at one of its frames, which becomes a topmost one.

    Args:
        frames: The frames with their parents; of several with a name the last counts.
    """
    by_name = {frame.name: frame for frame in frames}
    poses: dict[str, Pose] = {}
    for name in by_name:
        path = _path_up(name, by_name, poses)
        poses.setdefault(path.pop(), Pose())
        for child in reversed(path):
            frame = by_name[child]
            poses[child] = poses[frame.parent] @ frame.pose
    return poses


def _path_up(name: str, frames: Mapping[str, Frame], known: Mapping[str, Pose]) -> list[str]:
    """Return the frames from a frame up to one with a known pose, or to a topmost one."""
    path = {name: None}
    while name not in known and name in frames and frames[name].parent not in path:
        name = frames[name].parent
        path[name] = None
    return list(path)
