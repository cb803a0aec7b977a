"""The robots of a recording, and the poses of their links over time."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path

from hrp_model import Body, Diagnostics, ModelError, Pose
from hrp_model.description.frame_tree import poses_in_world, transforms_of
from hrp_model.description.published_robot import (
    body_names,
    copy_files,
    frame_prefixes,
    has_frame_of,
    link_poses,
    namespace,
    read_with_files,
    with_fixed_root,
)
from hrp_model.frames import Frame
from hrp_model.validate import validate
from hrp_msgs.names import ROBOT_DESCRIPTION, TF_STATIC
from hrp_msgs.recording import Recording, RecordingError

from ..render.view import LinkPoses
from .transform_tracks import Times, TransformTracks

STRING_TYPE = "std_msgs/msg/String"
TF_TYPE = "tf2_msgs/msg/TFMessage"


class RecordedRun:
    """The robots of a recording, and the poses of their links over time.

    Robots are read from the topics ``robot_description``, of any namespace; meshes and other
    files from the attachments of the recording, else from where the URDF says. Poses come from
    the transforms; see ``TransformTracks.at`` for times between them. A link without a frame has
    its initial pose relative to its parent, and such a root that of the model.

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
        self.body = with_fixed_root(self.body)
        validate(self.body, fixed)
        gone = {x for x in free.found if x not in fixed.found}
        self._found = [x for x in self._found if x not in gone]

    def report(self, diagnostics: Diagnostics) -> None:
        """Report the problems of the robot."""
        for found in self._found:
            diagnostics.add(found)


def _read_tracks(recording: Recording) -> TransformTracks:
    tracks = TransformTracks()
    topics = [x.name for x in recording.topics.values() if x.type_name == TF_TYPE and x.readable]
    for found in recording.messages(topics):
        is_static = found.topic.rpartition("/")[2] == TF_STATIC.strip("/")
        for transform in transforms_of(found.message):
            tracks.add(found.time_ns, transform, is_static=is_static)
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
