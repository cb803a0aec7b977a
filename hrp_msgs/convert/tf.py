"""Poses to TF messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..messages import TFMessage, TransformStamped
from .basic import Array, header, set_quaternion, set_xyz
from .cdr import Template
from .converter import Frames
from .odometry import OdometryReading

# Pose of a frame: parent, name, position in the parent in [m], unit quaternion (x, y, z, w).
FramePose = tuple[str, str, Sequence[float] | Array, Sequence[float]]

_MAX_TEMPLATES = 32


def transform(
    time_ns: int, parent: str, child: str, p: Sequence[float] | Array, xyzw: Sequence[float]
) -> TransformStamped:
    """Return the pose X_PC of a frame C in its parent P.

    Args:
        time_ns: Time of the transform, in [ns].
        parent: Frame P, with its prefix.
        child: Frame C, with its prefix.
        p: Position p_PC of C's origin, expressed in P, in [m], shape (3,).
        xyzw: Unit quaternion of the rotation R_PC.
    """
    message = TransformStamped(header=header(time_ns, parent), child_frame_id=child)
    set_xyz(message.transform.translation, p)
    set_quaternion(message.transform.rotation, xyzw)
    return message


def tf_message(transforms: Iterable[TransformStamped]) -> TFMessage:
    """Return the message of ``/tf`` or ``/tf_static``."""
    return TFMessage(transforms=list(transforms))


class MovingFrames:
    """Makes messages of ``/tf``; must be used by one thread at a time.

    It keeps a template for each set of frames, as several sources may move different joints.
    """

    def __init__(self) -> None:
        self._templates: dict[object, tuple[Template, list[Callable[..., None]]]] = {}

    def message(self, time_ns: int, frames: Iterable[FramePose]) -> bytes:
        """Return the message with the poses of frames at a time in [ns]."""
        frames = list(frames)
        key = tuple([frame[:2] for frame in frames])
        found = self._templates.get(key)
        if found is None:
            if len(self._templates) >= _MAX_TEMPLATES:
                self._templates.clear()
            template = Template(tf_message(transform(time_ns, *frame) for frame in frames))
            poses = [template.setter(f"transforms[{i}].transform") for i in range(len(frames))]
            found = self._templates[key] = template, poses
        template, poses = found
        for set_pose, (_, _, p, xyzw) in zip(poses, frames, strict=True):
            set_pose(*p, *xyzw)
        return template.data(time_ns)


class RootTransformConverter:
    """Converts the motion of one root to its transform in the world."""

    message_type = TFMessage

    def __init__(self, frames: Frames) -> None:
        self._frames = frames.world, frames.root
        self._moving = MovingFrames()

    def convert(self, reading: OdometryReading) -> bytes:
        """Return the message of a reading."""
        pose = *self._frames, reading.position.tolist(), reading.orientation
        return self._moving.message(reading.time_ns, [pose])
