"""Poses to TF messages, and the motion of a root to nav_msgs/Odometry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ..messages import (
    Header,
    Odometry,
    PoseWithCovarianceStamped,
    TFMessage,
    TransformStamped,
)
from ..readings import Array, OdometryReading, WheelOdometryReading
from .basic import header, set_quaternion, set_xyz
from .cdr import Template
from .converter import FieldConverter, Fields, Frames

# Pose of a frame: parent, name, position in the parent in [m], unit quaternion (x, y, z, w).
FramePose = tuple[str, str, Sequence[float] | Array, Sequence[float]]
# Names of the parent and of the frame itself, of several frames.
FrameNames = tuple[tuple[str, str], ...]

# Variances of the true motion: (1 mm)^2, (1 mrad)^2, (1 mm/s)^2 and (1 mrad/s)^2. Filters such as
# robot_localization cannot use zeros.
VARIANCE = 1e-6
# Of an initial pose, for the particles of a filter: (0.1 m)^2 and (0.1 rad)^2.
_INITIAL_VARIANCE = 0.01
_MAX_TEMPLATES = 32
_ORIGIN, _IDENTITY = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)


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
        self._fillers: dict[FrameNames, Callable[..., bytes]] = {}

    def message(self, time_ns: int, frames: FrameNames, poses: Array) -> bytes:
        """Return the message with the poses of frames.

        Args:
            time_ns: Time of the poses, in [ns].
            frames: Names of the parent and of the frame itself, with prefixes.
            poses: Position in [m] and unit quaternion (x, y, z, w) of each, shape (frames, 7).
        """
        fill = self._fillers.get(frames)
        if fill is None:
            if len(self._fillers) >= _MAX_TEMPLATES:
                self._fillers.clear()
            template = Template(tf_message(transform(0, *x, _ORIGIN, _IDENTITY) for x in frames))
            fields = [f"transforms[{i}].transform" for i in range(len(frames))]
            fill = self._fillers[frames] = template.filler(fields)
        return fill(time_ns, poses)


class RootConverter(FieldConverter[OdometryReading]):
    """Converts the motion of one root link to that of the topmost frame of the body."""

    def __init__(self, frames: Frames) -> None:
        super().__init__()
        self._frames = frames

    def convert(self, reading: OdometryReading) -> bytes:
        """Return the message of a reading of the root link."""
        moved = self._frames.root_motion
        return super().convert(reading if moved is None else moved(reading))


class OdometryConverter(RootConverter):
    """Converts the motion of one root to nav_msgs/Odometry."""

    message_type = Odometry

    def _layout(self, reading: OdometryReading) -> tuple[Template, Mapping[Fields, str]]:
        header = Header(frame_id=self._frames.world)
        template = Template(Odometry(header=header, child_frame_id=self._frames.root))
        fields: dict[Fields, str] = {
            "pose.pose.position": "position",
            "pose.pose.orientation": "orientation",
            "twist.twist.linear": "linear_velocity",
            "twist.twist.angular": "angular_velocity",
        }
        for quantity in ("pose", "twist"):
            covariance = f"{quantity}.covariance"
            if isinstance(reading, WheelOdometryReading):
                fields[covariance] = f"{quantity}_covariance.flat"
            else:
                template.view(covariance)[::7] = VARIANCE  # the diagonals of (6, 6) matrices
        return template, fields


class InitialPoseConverter(RootConverter):
    """Converts the pose of one root to that from which localization starts."""

    message_type = PoseWithCovarianceStamped

    def _layout(self, reading: OdometryReading) -> tuple[Template, Mapping[Fields, str]]:  # noqa: ARG002
        template = Template(PoseWithCovarianceStamped(header=Header(frame_id=self._frames.world)))
        template.view("pose.covariance")[::7] = _INITIAL_VARIANCE
        return template, {
            "pose.pose.position": "position",
            "pose.pose.orientation": "orientation",
        }


class RootTransformConverter(RootConverter):
    """Converts the motion of one root to its transform in the world."""

    message_type = TFMessage

    def _layout(self, reading: OdometryReading) -> tuple[Template, Mapping[Fields, str]]:  # noqa: ARG002
        at_origin = transform(0, self._frames.world, self._frames.root, _ORIGIN, _IDENTITY)
        pose = "transforms[0].transform"
        fields: dict[Fields, str] = {
            f"{pose}.translation": "position",
            f"{pose}.rotation": "orientation",
        }
        return Template(tf_message([at_origin])), fields
