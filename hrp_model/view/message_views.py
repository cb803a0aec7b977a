"""Sensor messages in the scene of a viewer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, cast

import numpy as np

from ..description import sensor_messages as messages
from ..description.transforms import Header
from ..rigid import Array, Pose
from .robot import scene_name
from .sensor_views import ArrowsView, Lens, PictureView, PointsView, depth_picture
from .viewer import Viewer

_POINT = 0.02  # diameter of a point, in [m]
_ARROW = 0.012  # diameter of an arrow, in [m]
_PER_NEWTON = 1e-3  # length of a force, in [m/N]
_PER_ACCELERATION = 0.03  # length of an acceleration, in [m/(m/s^2)]
_FRUSTUM = 0.25  # length of the frustum of a camera, in [m]
_FORCE_COLOR, _ACCELERATION_COLOR = (210, 50, 50), (40, 120, 220)
_ORDER = 1000.0  # of pictures in the panel: below everything else


class _Stamped(Protocol):
    header: Header


class MessageView(Protocol):
    """Shows the messages of one topic."""

    def show(self, message: object, X_WF: Pose) -> None:
        """Show a message whose frame F has this pose in the world.

        Raises:
            UnreadableMessageError: The message cannot be shown.
        """

    def remove(self) -> None:
        """Remove what is shown."""


def frame_of(message: object) -> str:
    """Return the frame of a message with a header."""
    return cast(_Stamped, message).header.frame_id.lstrip("/")


def message_view(
    viewer: Viewer, topic: str, type_name: str, infos: Mapping[str, object]
) -> MessageView | None:
    """Return a view of a topic; None if messages of its type are not shown.

    Args:
        viewer: The page.
        topic: Name of the topic.
        type_name: Type of its messages, such as "sensor_msgs/msg/Imu".
        infos: The last ``sensor_msgs/CameraInfo`` by topic, which is looked up later.
    """
    make = _VIEWS.get(type_name)
    return None if make is None else make(viewer, f"/topics/{scene_name(topic)}", topic, infos)


def _scan(message: object) -> Array:
    return messages.scan_points(cast(messages.ScanMessage, message))


def _cloud(message: object) -> Array:
    return messages.cloud_points(cast(messages.CloudMessage, message))


def _force(message: object) -> Array:
    wrench = cast(messages.WrenchStampedMessage, message).wrench
    return _PER_NEWTON * messages.vector(wrench.force)


def _acceleration(message: object) -> Array:
    imu = cast(messages.ImuMessage, message)
    return _PER_ACCELERATION * messages.vector(imu.linear_acceleration)


class _Points:
    """A scan or a point cloud."""

    def __init__(self, viewer: Viewer, path: str, points: Callable[[object], Array]) -> None:
        self._view = PointsView(viewer, path, _POINT)
        self._points = points

    def show(self, message: object, X_WF: Pose) -> None:
        self._view.show(self._points(message) @ X_WF.R.T + X_WF.p, X_WF.p)

    def remove(self) -> None:
        self._view.remove()


class _Arrow:
    """A vector at the origin of its frame."""

    def __init__(
        self,
        viewer: Viewer,
        path: str,
        color: tuple[int, int, int],
        vector: Callable[[object], Array],
    ) -> None:
        self._view = ArrowsView(viewer, path, color, _ARROW)
        self._vector = vector

    def show(self, message: object, X_WF: Pose) -> None:
        self._view.show(X_WF.p[np.newaxis], (X_WF.R @ self._vector(message))[np.newaxis])

    def remove(self) -> None:
        self._view.remove()


class _Image:
    """The pictures of a camera; its frustum once its CameraInfo is known."""

    def __init__(self, viewer: Viewer, path: str, topic: str, infos: Mapping[str, object]) -> None:
        self._viewer, self._path, self._topic = viewer, path, topic
        self._infos = infos
        self._view: PictureView | None = None

    def show(self, message: object, X_WF: Pose) -> None:
        image = cast(messages.ImageMessage, message)
        picture = messages.picture(image)
        if picture is None:
            picture = depth_picture(messages.depths(image))
        if self._view is None:
            self._view = PictureView(self._viewer, self._path, self._topic, self._lens(), _ORDER)
        self._view.show(picture)
        self._view.move(X_WF)

    def remove(self) -> None:
        if self._view is not None:
            self._view.remove()

    def _lens(self) -> Lens | None:
        """Return the lens from the topic camera_info beside the image, or above it."""
        above = self._topic.rpartition("/")[0]
        for folder in (above, above.rpartition("/")[0]):
            info = cast(
                "messages.CameraInfoMessage | None", self._infos.get(f"{folder}/camera_info")
            )
            if info is not None and info.height > 0 and info.width > 0 and info.k[4] > 0.0:
                angle = 2.0 * float(np.arctan2(info.height / 2.0, info.k[4]))
                return Lens(angle, info.width / info.height, _FRUSTUM)
        return None


_Make = Callable[[Viewer, str, str, Mapping[str, object]], MessageView]
_VIEWS: Mapping[str, _Make] = {
    "sensor_msgs/msg/LaserScan": lambda viewer, path, *_: _Points(viewer, path, _scan),
    "sensor_msgs/msg/PointCloud2": lambda viewer, path, *_: _Points(viewer, path, _cloud),
    "sensor_msgs/msg/Image": _Image,
    "geometry_msgs/msg/WrenchStamped": lambda viewer, path, *_: _Arrow(
        viewer, path, _FORCE_COLOR, _force
    ),
    "sensor_msgs/msg/Imu": lambda viewer, path, *_: _Arrow(
        viewer, path, _ACCELERATION_COLOR, _acceleration
    ),
}
SENSOR_TYPES = frozenset(_VIEWS)
