"""Poses to TF messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..messages import TFMessage, TransformStamped
from .basic import Array, set_header, set_quaternion, set_xyz
from .converter import Frames
from .odometry import OdometryReading


def transform(
    time_ns: int,
    parent: str,
    child: str,
    p: Sequence[float] | Array,
    xyzw: Sequence[float],
    *,
    into: TransformStamped | None = None,
) -> TransformStamped:
    """Return the pose X_PC of a frame C in its parent P.

    Args:
        time_ns: Time of the transform, in [ns].
        parent: Frame P, with its prefix.
        child: Frame C, with its prefix.
        p: Position p_PC of C's origin, expressed in P, in [m], shape (3,).
        xyzw: Unit quaternion of the rotation R_PC.
        into: Message to fill and return; by default a new one.
    """
    msg = TransformStamped() if into is None else into
    msg.child_frame_id = child
    set_header(msg.header, time_ns, parent)
    set_xyz(msg.transform.translation, p)
    set_quaternion(msg.transform.rotation, xyzw)
    return msg


def tf_message(transforms: Iterable[TransformStamped]) -> TFMessage:
    """Return the message of ``/tf`` or ``/tf_static``."""
    return TFMessage(transforms=list(transforms))


class RootTransformConverter:
    """Converts the motion of one root to its transform in the world."""

    message_type = TFMessage

    def __init__(self, frames: Frames) -> None:
        self._frames = frames.world, frames.root
        self._transform = TransformStamped()
        self._msg = TFMessage(transforms=[self._transform])

    def convert(self, reading: OdometryReading) -> TFMessage:
        """Return the message of a reading; valid until the next call."""
        pose = reading.position, reading.orientation
        transform(reading.time_ns, *self._frames, *pose, into=self._transform)
        return self._msg
