"""The frames of a body, fixed and moving, and poses of frames in the world from TF transforms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import cos, isfinite, sin
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..body import Body, JointType, Link
from ..frames import BodyFrames, Frame
from ..late_dataclass import dataclass
from ..rigid import Array, Pose, matrix_quaternion, quaternion_matrix

if TYPE_CHECKING:
    from hrp_msgs.messages import Odometry, Point, Quaternion, TFMessage, Vector3

Numbers = tuple[float, ...]
_MAX_MOVERS = 32
# Elements of the second factor in the terms of a product of two quaternions.
_TERMS = np.array([[0, 1, 2, 3], [3, 3, 3, 0], [2, 0, 1, 1], [1, 2, 0, 2]])


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


def transforms_of(message: TFMessage) -> Iterator[Transform]:
    """Yield the transforms of a message, without those that are not finite or lack a name."""
    for stamped in message.transforms:
        moved = stamped.transform
        yield from _valid(
            stamped.child_frame_id, stamped.header.frame_id, moved.translation, moved.rotation
        )


def root_transform_of(message: Odometry) -> Iterator[Transform]:
    """Yield the transform of the pose in an odometry, if it is finite and has both names."""
    pose = message.pose.pose
    yield from _valid(
        message.child_frame_id, message.header.frame_id, pose.position, pose.orientation
    )


def _valid(frame: str, parent: str, t: Vector3 | Point, q: Quaternion) -> Iterator[Transform]:
    # tf, the predecessor of tf2, allowed leading slashes.
    frame, parent = frame.lstrip("/"), parent.lstrip("/")
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


class MovedFrame(NamedTuple):
    """The pose of a frame F relative to its parent P.

    Attributes:
        name, parent: Names of F and P.
        p: Position p_PF, in [m].
        xyzw: Unit quaternion of the rotation R_PF, with w >= 0.
    """

    name: str
    parent: str
    p: Numbers
    xyzw: Numbers


@dataclass(frozen=True, eq=False)
class MovedFrames:
    """The poses of several frames relative to their parents; a collection of ``MovedFrame``.

    Attributes:
        names: Of each frame: the names of its parent and of itself.
        poses: Position in [m] and unit quaternion (x, y, z, w) of each, shape (frames, 7).
    """

    names: tuple[tuple[str, str], ...]
    poses: Array

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[MovedFrame]:
        for (parent, name), pose in zip(self.names, self.poses.tolist(), strict=True):
            yield MovedFrame(name, parent, tuple(pose[:3]), tuple(pose[3:]))


NO_FRAMES = MovedFrames((), np.empty((0, 7)))


@dataclass(frozen=True, eq=False)
class FrameTree:
    """The frames of a body, divided into fixed and moving ones.

    Attributes:
        fixed: Frames that never move relative to their parents.
        moving: By joint name: the link it moves, the link's frame and the parent's.
        floating: Names of links on free joints below the root, whose poses are unknown.
        tracks: Names of continuous tracks, whose joints move no frame.
    """

    fixed: tuple[Frame, ...]
    moving: Mapping[str, tuple[Link, str, str]]
    floating: tuple[str, ...]
    tracks: frozenset[str]

    @property
    def names(self) -> frozenset[str]:
        """All frames but the topmost."""
        return frozenset((*(f.name for f in self.fixed), *(x[1] for x in self.moving.values())))

    def moved(self, positions: Mapping[str, float]) -> MovedFrames:
        """Return the frames that these joints move, at their positions in [rad] or [m]."""
        mover = self.mover(tuple(positions))
        return MovedFrames(mover.names, mover.moved(list(positions.values())))

    def mover(self, joints: tuple[str, ...]) -> FrameMover:
        """Return what computes the frames that these joints move."""
        mover = self._movers.get(joints)
        if mover is None:
            if len(self._movers) >= _MAX_MOVERS:
                self._movers.clear()
            mover = self._movers[joints] = FrameMover([self.moving[name] for name in joints])
        return mover

    @cached_property
    def _movers(self) -> dict[tuple[str, ...], FrameMover]:
        """By the names of joints, as several sources may move different joints."""
        return {}


class FrameMover:
    """Computes the same as ``joint_pose`` for some joints at once, which is much faster.

    Args:
        joints: The links that they move, the frames of the links and of their parents.

    Attributes:
        names: Of each frame that moves: the names of its parent and of itself.
    """

    def __init__(self, joints: Sequence[tuple[Link, str, str]]) -> None:
        links = [link for link, _, _ in joints]
        self.names = tuple((parent, frame) for _, frame, parent in joints)
        slides = [x.joint.type is not JointType.REVOLUTE for x in links]
        self._slides = np.flatnonzero(slides)
        self._axes = np.array([[*x.joint.axis, 1.0] for x in links]).reshape(-1, 4).T
        self._start = np.array([[*x.X_PL.p, *matrix_quaternion(x.X_PL.R)] for x in links]).reshape(
            -1, 7
        )
        directions = [x.X_PL.R @ x.joint.axis for x in links]
        self._directions = np.array(directions).reshape(-1, 3)[self._slides]
        x, y, z, w = self._start[:, 3:].T
        # Of the product of two quaternions: each row has one term of its four elements.
        self._factors = np.array([[w, w, w, w], [x, y, z, -x], [y, z, x, -y], [-z, -x, -y, -z]])

    def moved(self, positions: Sequence[float]) -> Array:
        """Return the poses at positions of the joints in [rad] or [m], shape (joints, 7)."""
        # With Python's sine, as that of numpy differs in the last bit between processors.
        halves = [0.5 * q for q in positions]
        s = [sin(half) for half in halves]
        turn = self._axes * np.array([s, s, s, [cos(half) for half in halves]])
        xyzw = self._factors[0] * turn[_TERMS[0]]
        for factor, term in zip(self._factors[1:], _TERMS[1:], strict=True):
            xyzw += factor * turn[term]
        xyzw *= np.where(xyzw[3] < 0.0, -1.0, 1.0)
        poses = self._start.copy()
        poses[:, 3:] = xyzw.T
        if (slides := self._slides).size:
            poses[slides] = self._start[slides]
            moved = np.array(positions)[slides, np.newaxis] * self._directions
            poses[slides, :3] += moved
        return poses


def frame_tree(body: Body, names: BodyFrames) -> FrameTree:
    """Return the frames of a body below its root."""
    fixed: list[Frame] = []
    moving: dict[str, tuple[Link, str, str]] = {}
    floating: list[str] = []
    for link in body.links[1:]:
        assert link.parent is not None
        frame, parent = names.links[link.name], names.links[link.parent]
        if link.joint.moves:
            moving[names.joints[link.name]] = (link, frame, parent)
        elif link.joint.type is JointType.FREE:
            floating.append(link.name)
        else:
            fixed.append(Frame(frame, parent, link.X_PL))
    tracks = [link for link in body.links if link.joint.type is JointType.TRACK]
    return FrameTree(
        (*names.base, *fixed, *names.fixed),
        moving,
        tuple(floating),
        frozenset(names.joints.get(x.name, x.joint.name) for x in tracks),  # not the root's
    )


def frame_in_world(body: Body, names: BodyFrames, world: str) -> Frame:
    """Return the topmost frame of a body in the world, at the root pose of the model.

    Args:
        body: The robot.
        names: Its frames.
        world: Name of the world frame.
    """
    X_WF = body.root.X_PL
    for frame in reversed(names.base):  # from the root up
        X_WF = X_WF @ frame.pose.inverse()
    return Frame(names.root, world, X_WF)
