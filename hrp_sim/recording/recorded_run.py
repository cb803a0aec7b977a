"""The robots of a recording, and the poses of their links over time."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from array import array
from bisect import bisect_right
from collections.abc import Mapping
from math import acos
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hrp_model import Body, Diagnostics, ModelError, Pose
from hrp_model.description.frame_tree import (
    Transform,
    poses_in_world,
    root_transform_of,
    transforms_of,
)
from hrp_model.description.published import (
    body_names,
    copy_files,
    frame_prefixes,
    has_frame_of,
    link_poses,
    namespace,
    read_with_files,
)
from hrp_model.frames import Frame
from hrp_model.rigid import Array, quaternion_matrix
from hrp_model.validate import validate
from hrp_msgs.names import ODOMETRY, ROBOT_DESCRIPTION, TF_STATIC
from hrp_msgs.recording import Recording, RecordingError

from ..engine.state import LinkPoses

Times = NDArray[np.int64]

# Samples of all transforms together; each takes 68 bytes.
MAX_SAMPLES = 4_000_000
_WIDTH = 7  # numbers of a sample: position and quaternion
# Between quaternions with a larger cosine, linear interpolation is as exact as slerp.
_NEARLY_EQUAL = 1.0 - 1e-12


class TransformTracks:
    """The transforms of a recording by frame.

    If there are more than ``MAX_SAMPLES``, every second sample of each frame is dropped, as often
    as necessary.

    Attributes:
        stride: One of so many samples is kept.
    """

    def __init__(self) -> None:
        self.stride = 1
        self._tracks: dict[str, _Track] = {}
        self._size = 0

    def add(self, time_ns: int, transform: Transform, *, is_static: bool) -> None:
        """Add a sample; those of a frame come in the order of time.

        Args:
            time_ns: Time from which it holds, in [ns].
            transform: The transform.
            is_static: Whether it holds until the next one; others are interpolated.
        """
        track = self._tracks.setdefault(transform.frame, _Track())
        self._size += track.add(time_ns, transform, self.stride, is_static=is_static)
        if self._size > MAX_SAMPLES:
            self.stride *= 2
            for each in self._tracks.values():
                each.drop_every_second()
            self._size = sum(len(each.times) for each in self._tracks.values())

    def replace_roots(self, true: TransformTracks) -> None:
        """Replace the samples of frames that have another parent than their true ones."""
        for name, track in true._tracks.items():
            own = self._tracks.get(name)
            if own is None or own.parents != track.parents:
                self._tracks[name] = track
        self.stride = max(self.stride, true.stride)

    @property
    def frames(self) -> list[str]:
        """Names of all frames that have a parent."""
        return list(self._tracks)

    @property
    def moving(self) -> frozenset[str]:
        """Names of the frames that are not static."""
        return frozenset(name for name, track in self._tracks.items() if not track.is_static)

    def times(self) -> Times:
        """Return the times of all samples that are not static, in [ns], increasing."""
        times = [np.array(x.times, np.int64) for x in self._tracks.values() if not x.is_static]
        return np.unique(np.concatenate(times)) if times else np.empty(0, np.int64)

    def at(self, time_ns: int) -> list[Frame]:
        """Return all frames at a time in [ns].

        Between two samples with the same parent the position is interpolated linearly and the
        rotation by slerp; otherwise the earlier sample holds. Before its first sample a frame is
        where that puts it, after its last one it rests.
        """
        return [track.at(name, time_ns) for name, track in self._tracks.items()]


class _Track:
    """The samples of one frame."""

    def __init__(self) -> None:
        self.times = array("q")
        self.is_static = False
        self._values = array("d")
        self._parents: dict[str, int] = {}
        self._parent_of = array("i")
        self._count = 0

    def add(self, time_ns: int, transform: Transform, stride: int, *, is_static: bool) -> int:
        """Add a sample, unless it is dropped; return the number of added samples."""
        self.is_static = is_static
        self._count += 1
        if not is_static and (self._count - 1) % stride:
            return 0
        self.times.append(time_ns)
        self._values.extend(transform.values)
        self._parent_of.append(self._parents.setdefault(transform.parent, len(self._parents)))
        return 1

    @property
    def parents(self) -> frozenset[str]:
        """Names of all parents of the frame."""
        return frozenset(self._parents)

    def drop_every_second(self) -> None:
        """Keep every second sample, beginning with the first."""
        values = np.array(self._values).reshape(-1, _WIDTH)[::2]
        self.times, self._parent_of = self.times[::2], self._parent_of[::2]
        self._values = array("d", values.tobytes())

    def at(self, name: str, time_ns: int) -> Frame:
        """Return the frame at a time in [ns]."""
        after = bisect_right(self.times, time_ns)
        i = max(after - 1, 0)
        parent = list(self._parents)[self._parent_of[i]]
        values = self._sample(i)
        if 0 < after < len(self.times) and not self.is_static:
            passed = (time_ns - self.times[i]) / (self.times[after] - self.times[i])
            if passed and self._parent_of[after] == self._parent_of[i]:
                values = _between(values, self._sample(after), passed)
        return Frame(name, parent, Pose(quaternion_matrix(values[3:]), values[:3]))

    def _sample(self, i: int) -> Array:
        return np.array(self._values[_WIDTH * i : _WIDTH * (i + 1)])


def _between(a: Array, b: Array, passed: float) -> Array:
    """Return the sample after a part of the way from one to another."""
    return np.concatenate([a[:3] + passed * (b[:3] - a[:3]), slerp(a[3:], b[3:], passed)])


def slerp(a: Array, b: Array, passed: float) -> Array:
    """Interpolate between two quaternions, along the shorter arc.

    Args:
        a: Quaternion of any length but zero, shape (4,).
        b: Likewise.
        passed: 0 gives the rotation of ``a``, 1 that of ``b``.
    """
    lengths = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    if 0.0 in lengths:
        return a
    a, b = a / lengths[0], b / lengths[1]
    cosine = float(a @ b)
    if cosine < 0.0:
        b, cosine = -b, -cosine
    if cosine > _NEARLY_EQUAL:
        return a + passed * (b - a)
    angle = acos(cosine)
    between: Array = np.sin((1.0 - passed) * angle) * a + np.sin(passed * angle) * b
    return between / float(np.sin(angle))


STRING_TYPE = "std_msgs/msg/String"
TF_TYPE, ODOMETRY_TYPE = "tf2_msgs/msg/TFMessage", "nav_msgs/msg/Odometry"


class RecordedRun:
    """The robots of a recording, and the poses of their links over time.

    Robots are read from the topics ``robot_description``, of any namespace; meshes and other
    files from the attachments of the recording, else from where the URDF says. Poses come from
    the transforms; see ``TransformTracks.at`` for times between them. A root that has no transform
    in the world, as it follows odometry that drifts, has the pose of ``ground_truth/odom``. A link
    without a frame has its initial pose relative to its parent, and such a root that of the model.

    Copies of the attachments exist as long as this object.

    Args:
        recording: The recording, of this simulator or of any other program.
        diagnostics: Receives the problems of the robots; by default they are logged. A robot that
            cannot be read is left out if there is another one.

    Attributes:
        bodies: The robots by name: their namespace, or the name of the model.
        start_ns, end_ns: Times of the first and the last message, in [ns].
        namespaces: Namespaces of their topics by name of the robot, without slashes around them.
        moving_frames: Names of the frames of TF that are not static.
        stride: One of so many transforms is used; more than one in very long recordings.

    Raises:
        RecordingError: The recording has no robot, or cannot be read.
        ModelError: No robot can be read; lists every problem.
    """

    def __init__(self, recording: Recording, *, diagnostics: Diagnostics | None = None) -> None:
        self.start_ns, self.end_ns = recording.start_ns, recording.end_ns
        self._files = Path(tempfile.mkdtemp(prefix="hrp_ros-"))
        weakref.finalize(self, shutil.rmtree, self._files, ignore_errors=True)
        tracks = self._tracks = _read_tracks(recording)
        self.stride = tracks.stride
        diagnostics = diagnostics or Diagnostics()
        robots = _read_robots(recording, self._files, diagnostics)
        bodies = {space: robot.body for space, robot in robots.items()}
        prefixes = frame_prefixes(bodies, tracks.frames)
        self._prefixes: dict[str, str | None] = {}
        found: dict[str, Body] = {}
        self.namespaces = {name: space for space, name in body_names(bodies).items()}
        self.moving_frames = tracks.moving
        for name, space in self.namespaces.items():
            self._prefixes[name] = prefix = prefixes.get(space)
            if prefix is not None and not has_frame_of(bodies[space], prefix, tracks.moving):
                robots[space].fix_root()
            robots[space].report(diagnostics)
            found[name] = robots[space].body
        self.bodies: Mapping[str, Body] = found

    def times(self) -> Times:
        """Return the times at which a transform was recorded, in [ns], increasing."""
        return self._tracks.times()

    def frames(self, time_ns: int) -> list[Frame]:
        """Return all frames of TF at a time in [ns], with their parents."""
        return self._tracks.at(time_ns)

    def frame_poses(self, time_ns: int) -> Mapping[str, Pose]:
        """Return the pose of each frame of TF in the world at a time in [ns]."""
        return poses_in_world(self.frames(time_ns))

    def poses(self, time_ns: int) -> Mapping[str, LinkPoses]:
        """Return the poses of all links by body at a time in [ns]."""
        frames = self.frame_poses(time_ns)
        return {
            name: LinkPoses(*link_poses(body, frames, self._prefixes[name]))
            for name, body in self.bodies.items()
        }


class _Robot:
    """A robot of a recording.

    Attributes:
        body: The robot.

    Args:
        urdf: Its URDF.
        topic: Name of the topic, for messages.
        files: Copies of files, by URI.

    Raises:
        ModelError: The URDF cannot be used.
    """

    def __init__(self, urdf: str, topic: str, files: Mapping[str, Path]) -> None:
        diagnostics = Diagnostics.silent()
        self.body = read_with_files(urdf, topic, files, diagnostics)
        self._found = diagnostics.found

    def fix_root(self) -> None:
        """Fix the root to the world; problems that only a free root has are dropped."""
        free, fixed = Diagnostics.silent(), Diagnostics.silent()
        validate(self.body, free)
        self.body = self.body.with_fixed_root()
        validate(self.body, fixed)
        gone = {x for x in free.found if x not in fixed.found}
        self._found = [x for x in self._found if x not in gone]

    def report(self, diagnostics: Diagnostics) -> None:
        """Report the problems of the robot."""
        for found in self._found:
            diagnostics.add(found)


def _read_tracks(recording: Recording) -> TransformTracks:
    tracks, true = TransformTracks(), TransformTracks()
    readable = [x for x in recording.topics.values() if x.readable]
    topics = [x.name for x in readable if x.type_name == TF_TYPE]
    of_truth = {
        x.name
        for x in readable
        if x.type_name == ODOMETRY_TYPE and f"/{x.name}".endswith(f"/{ODOMETRY}")
    }
    for found in recording.messages([*topics, *of_truth]):
        if found.topic in of_truth:
            for transform in root_transform_of(found.message):
                true.add(found.time_ns, transform, is_static=False)
            continue
        is_static = found.topic.rpartition("/")[2] == TF_STATIC.strip("/")
        for transform in transforms_of(found.message):
            tracks.add(found.time_ns, transform, is_static=is_static)
    tracks.replace_roots(true)
    return tracks


def _read_robots(recording: Recording, folder: Path, diagnostics: Diagnostics) -> dict[str, _Robot]:
    """Return the robots by namespace; problems of those that cannot be read are reported."""
    topics = [
        x.name
        for x in recording.topics.values()
        if x.type_name == STRING_TYPE and x.readable and namespace(x.name) is not None
    ]
    texts = {found.topic: found.message.data for found in recording.messages(topics)}
    if not texts:
        names = ", ".join(sorted(recording.topics)) or "no topics at all"
        raise RecordingError(
            f"{recording.path} has no robot: it needs a topic '{ROBOT_DESCRIPTION}' with a URDF, "
            f"and has {names}"
        )
    files = copy_files(recording.attachments, folder)
    made = {namespace(x) or "": _made(urdf, x, files, diagnostics) for x, urdf in texts.items()}
    robots = {space: robot for space, robot in made.items() if robot is not None}
    if not robots:
        diagnostics.raise_errors()
    return robots


def _made(
    urdf: str, topic: str, files: Mapping[str, Path], diagnostics: Diagnostics
) -> _Robot | None:
    """Return a robot, or None after reporting its errors."""
    try:
        return _Robot(urdf, topic.lstrip("/"), files)
    except ModelError as error:
        for found in error.diagnostics:
            diagnostics.add(found)
        return None
