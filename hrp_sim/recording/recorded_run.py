"""The robots of a recording, and the poses of their links over time."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, cast

from hrp_model import Body, Diagnostics, ModelError, Pose
from hrp_model.description.attached_files import copy_files, read_with_files
from hrp_model.description.published_robot import body_names, frame_prefixes, link_poses, namespace
from hrp_model.description.transforms import TransformsMessage, poses_in_world, transforms_of
from hrp_model.frames import Frame
from hrp_msgs.names import ROBOT_DESCRIPTION, TF_STATIC
from hrp_msgs.recording import Recording, RecordingError

from ..render.view import LinkPoses
from .transform_tracks import Times, TransformTracks

STRING_TYPE = "std_msgs/msg/String"
TF_TYPE = "tf2_msgs/msg/TFMessage"


class _Text(Protocol):
    data: str


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
        stride: One of so many transforms is used; more than one in very long recordings.

    Raises:
        RecordingError: The recording has no robot, or cannot be read.
        ModelError: No robot can be read; lists every problem.
    """

    def __init__(self, recording: Recording, *, diagnostics: Diagnostics | None = None) -> None:
        self.start_ns, self.end_ns = recording.start_ns, recording.end_ns
        self._files = Path(tempfile.mkdtemp(prefix="hrp_ros-"))
        weakref.finalize(self, shutil.rmtree, self._files, ignore_errors=True)
        tracks = self._tracks = TransformTracks()
        robots = _read_robots(recording, self._files, diagnostics or Diagnostics())
        transforms = [x.name for x in recording.topics.values() if x.type_name == TF_TYPE]
        for found in recording.messages(transforms) if transforms else ():
            is_static = found.topic.rpartition("/")[2] == TF_STATIC.strip("/")
            for transform in transforms_of(cast(TransformsMessage, found.message)):
                tracks.add(found.time_ns, transform, is_static=is_static)
        self.stride = tracks.stride
        prefixes = frame_prefixes(robots, tracks.frames)
        self.bodies: Mapping[str, Body] = {
            name: robots[space] for space, name in body_names(robots).items()
        }
        self._prefixes = {
            name: prefixes.get(space) for space, name in body_names(robots).items()
        }

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


def _read_robots(
    recording: Recording, folder: Path, diagnostics: Diagnostics
) -> dict[str, Body]:
    """Return the robots by namespace."""
    texts: dict[str, str] = {}
    topics = [
        x.name
        for x in recording.topics.values()
        if x.type_name == STRING_TYPE and namespace(x.name) is not None
    ]
    for found in recording.messages(topics) if topics else ():
        texts[namespace(found.topic) or ""] = cast(_Text, found.message).data
    if not texts:
        names = ", ".join(sorted(recording.topics)) or "no topics at all"
        raise RecordingError(
            f"the recording has no robot: it needs the topic '{ROBOT_DESCRIPTION}' with a URDF, "
            f"and has {names}"
        )
    files = copy_files(recording.attachments, folder)
    robots: dict[str, Body] = {}
    failed: list[ModelError] = []
    for space, urdf in texts.items():
        own = Diagnostics(listener=diagnostics.add)
        topic = f"{space}/{ROBOT_DESCRIPTION}".lstrip("/")
        try:
            robots[space] = read_with_files(urdf, topic, files, own)
        except ModelError as error:
            failed.append(error)
    if not robots:
        raise failed[0]
    return robots
