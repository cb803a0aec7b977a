"""Sensor messages in the scene of a viewer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol, cast

import numpy as np

from ..description import sensor_messages as messages
from ..description.transforms import Header
from ..rigid import Array, Pose
from .robot import scene_name
from .scale import Scale
from .sensor_views import (
    ACCELERATION_COLOR,
    FORCE_COLOR,
    FRUSTUM_LENGTH,
    TORQUE_COLOR,
    ArrowsView,
    Color,
    Lens,
    PictureView,
    PointsView,
    depth_picture,
)
from .viewer import Viewer

_PICTURES = 1000.0  # place of pictures in the panel: below everything else


class Stage(NamedTuple):
    """Where messages are shown.

    Attributes:
        viewer: The page.
        scale: Sizes of arrows.
        infos: The last ``sensor_msgs/CameraInfo`` by topic.
    """

    viewer: Viewer
    scale: Scale
    infos: Mapping[str, object]


class MessageView(Protocol):
    """Shows the messages of one topic."""

    @property
    def is_scaled(self) -> bool:
        """Whether it depends on ``Stage.scale``, so that another scale needs another view."""

    def show(self, message: object, X_WF: Pose) -> None:
        """Show a message whose frame F has this pose in the world.

        Raises:
            UnreadableMessageError: The message cannot be shown.
        """


class _Stamped(Protocol):
    header: Header


def frame_of(message: object) -> str:
    """Return the frame of a message with a header."""
    return cast(_Stamped, message).header.frame_id.lstrip("/")


def can_show(type_name: str) -> bool:
    """Return whether messages of a type, such as "sensor_msgs/msg/Imu", can be shown."""
    return type_name in _VIEWS


def message_view(stage: Stage, topic: str, type_name: str) -> MessageView:
    """Return a view of a topic whose messages can be shown."""
    return _VIEWS[type_name](stage, topic)


class _Points:
    """A scan or a point cloud."""

    is_scaled = True

    def __init__(self, stage: Stage, topic: str, points: Callable[[object], Array]) -> None:
        self._view = PointsView(stage.viewer, _path(topic), stage.scale.point)
        self._points = points

    def show(self, message: object, X_WF: Pose) -> None:
        self._view.show(self._points(message) @ X_WF.R.T + X_WF.p, X_WF.p)


class _Arrows:
    """Vectors at the origin of their frame: a function of the message for each colour."""

    is_scaled = True

    def __init__(
        self, stage: Stage, topic: str, vectors: Mapping[Color, Callable[[object], Array]]
    ) -> None:
        width = stage.scale.width
        self._views = [
            (ArrowsView(stage.viewer, f"{_path(topic)}/{i}", color, width), vector)
            for i, (color, vector) in enumerate(vectors.items())
        ]

    def show(self, message: object, X_WF: Pose) -> None:
        for view, vector in self._views:
            view.show(X_WF.p[np.newaxis], (X_WF.R @ vector(message))[np.newaxis])


class _Image:
    """The pictures of a camera.

    Colour images have a frustum in the scene, if their CameraInfo is known with the first one.
    """

    is_scaled = False

    def __init__(self, stage: Stage, topic: str) -> None:
        self._stage, self._topic = stage, topic
        self._view: PictureView | None = None

    def show(self, message: object, X_WF: Pose) -> None:
        image = cast(messages.ImageMessage, message)
        color = messages.picture(image)
        picture = depth_picture(messages.depths(image)) if color is None else color
        if self._view is None:
            lens = None if color is None else _lens(self._topic, self._stage.infos)
            viewer, topic = self._stage.viewer, self._topic
            self._view = PictureView(viewer, _path(topic), topic, lens, _PICTURES)
        self._view.show(picture)
        self._view.move(X_WF)


def _path(topic: str) -> str:
    return f"/topics/{scene_name(topic)}"


def _lens(topic: str, infos: Mapping[str, object]) -> Lens | None:
    """Return the lens of an image from the topic camera_info beside it, or one level above."""
    folder = topic.rpartition("/")[0]
    for place in (folder, folder.rpartition("/")[0]):
        info = cast("messages.CameraInfoMessage | None", infos.get(f"{place}/camera_info"))
        if info is not None and info.height > 0 and info.width > 0 and info.k[4] > 0.0:
            angle = 2.0 * float(np.arctan2(info.height / 2.0, info.k[4]))
            return Lens(angle, info.width / info.height, FRUSTUM_LENGTH)
    return None


def _scan(stage: Stage, topic: str) -> MessageView:
    return _Points(stage, topic, lambda x: messages.scan_points(cast(messages.ScanMessage, x)))


def _cloud(stage: Stage, topic: str) -> MessageView:
    return _Points(stage, topic, lambda x: messages.cloud_points(cast(messages.CloudMessage, x)))


def _wrench(stage: Stage, topic: str) -> MessageView:
    def force(message: object) -> Array:
        wrench = cast(messages.WrenchStampedMessage, message).wrench
        return messages.vector(wrench.force) * stage.scale.per_force

    def torque(message: object) -> Array:
        wrench = cast(messages.WrenchStampedMessage, message).wrench
        return messages.vector(wrench.torque) * stage.scale.per_torque

    return _Arrows(stage, topic, {FORCE_COLOR: force, TORQUE_COLOR: torque})


def _imu(stage: Stage, topic: str) -> MessageView:
    def acceleration(message: object) -> Array:
        imu = cast(messages.ImuMessage, message)
        return messages.vector(imu.linear_acceleration) * stage.scale.per_acceleration

    return _Arrows(stage, topic, {ACCELERATION_COLOR: acceleration})


_VIEWS: Mapping[str, Callable[[Stage, str], MessageView]] = {
    "sensor_msgs/msg/LaserScan": _scan,
    "sensor_msgs/msg/PointCloud2": _cloud,
    "sensor_msgs/msg/Image": _Image,
    "sensor_msgs/msg/Imu": _imu,
    "geometry_msgs/msg/WrenchStamped": _wrench,
}
