"""Robots, frames and sensors in the scene of a viewer, from the messages of ROS topics."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ..body import Body
from ..description.frame_tree import poses_in_world, transforms_of
from ..description.published import (
    UnreadableMessageError,
    body_names,
    cloud_points,
    depths,
    frame_prefixes,
    has_frame_of,
    link_poses,
    namespace,
    picture,
    read_with_files,
    scan_points,
    vector,
)
from ..diagnostics import Diagnostics, ModelError
from ..frames import Frame
from ..rigid import Array, Pose
from ..shapes.measure import union
from .robot import RobotView, Scale, scale_of, scene_name
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

if TYPE_CHECKING:
    from hrp_msgs.messages import CameraInfo, Image, Imu, WrenchStamped

_PICTURES = 1000.0  # place of pictures in the panel: below everything else
TF_TYPE = "tf2_msgs/msg/TFMessage"
STRING_TYPE = "std_msgs/msg/String"
INFO_TYPE = "sensor_msgs/msg/CameraInfo"
_STATIC = "tf_static"
MAX_FRAMES, MAX_ROBOTS, MAX_TOPICS = 20_000, 100, 200  # of sensors


class Stage(NamedTuple):
    """Where messages are shown.

    Attributes:
        viewer: The page.
        scale: Sizes of arrows.
        infos: The last ``sensor_msgs/CameraInfo`` by topic.
    """

    viewer: Viewer
    scale: Scale
    infos: Mapping[str, CameraInfo]


class MessageView(Protocol):
    """Shows the messages of one topic."""

    @property
    def is_scaled(self) -> bool:
        """Whether it depends on ``Stage.scale``, so that another scale needs another view."""

    def show(self, message: Any, X_WF: Pose) -> None:
        """Show a message whose frame F has this pose in the world.

        Raises:
            UnreadableMessageError: The message cannot be shown.
        """


def can_show(type_name: str) -> bool:
    """Return whether messages of a type, such as "sensor_msgs/msg/Imu", can be shown."""
    return type_name in _VIEWS


class _Points:
    """A scan or a point cloud."""

    is_scaled = True

    def __init__(self, stage: Stage, topic: str, points: Callable[[Any], Array]) -> None:
        self._view = PointsView(stage.viewer, _path(topic), stage.scale.point)
        self._points = points

    def show(self, message: Any, X_WF: Pose) -> None:
        self._view.show(self._points(message) @ X_WF.R.T + X_WF.p, X_WF.p)


class _Arrows:
    """Vectors at the origin of their frame: a function of the message for each colour."""

    is_scaled = True

    def __init__(
        self, stage: Stage, topic: str, vectors: Mapping[Color, Callable[[Any], Array]]
    ) -> None:
        width = stage.scale.width
        self._views = [
            (ArrowsView(stage.viewer, f"{_path(topic)}/{i}", color, width), vector)
            for i, (color, vector) in enumerate(vectors.items())
        ]

    def show(self, message: Any, X_WF: Pose) -> None:
        for view, arrow in self._views:
            view.show(X_WF.p[np.newaxis], (X_WF.R @ arrow(message))[np.newaxis])


class _Image:
    """The pictures of a camera.

    Colour images have a frustum in the scene, if their CameraInfo is known with the first one.
    """

    is_scaled = False

    def __init__(self, stage: Stage, topic: str) -> None:
        self._stage, self._topic = stage, topic
        self._view: PictureView | None = None

    def show(self, message: Image, X_WF: Pose) -> None:
        color = picture(message)
        shown = depth_picture(depths(message)) if color is None else color
        if self._view is None:
            lens = None if color is None else _lens(self._topic, self._stage.infos)
            viewer, topic = self._stage.viewer, self._topic
            self._view = PictureView(viewer, _path(topic), topic, lens, _PICTURES)
        self._view.show(shown)
        self._view.move(X_WF)


def _path(topic: str) -> str:
    return f"/topics/{scene_name(topic)}"


def _lens(topic: str, infos: Mapping[str, CameraInfo]) -> Lens | None:
    """Return the lens of an image from the topic camera_info beside it, or one level above."""
    folder = topic.rpartition("/")[0]
    for place in (folder, folder.rpartition("/")[0]):
        info = infos.get(f"{place}/camera_info")
        if info is not None and info.height > 0 and info.width > 0 and info.k[4] > 0.0:
            angle = 2.0 * float(np.arctan2(info.height / 2.0, info.k[4]))
            return Lens(angle, info.width / info.height, FRUSTUM_LENGTH)
    return None


def _wrench(stage: Stage, topic: str) -> MessageView:
    def force(message: WrenchStamped) -> Array:
        return vector(message.wrench.force) * stage.scale.per_force

    def torque(message: WrenchStamped) -> Array:
        return vector(message.wrench.torque) * stage.scale.per_torque

    return _Arrows(stage, topic, {FORCE_COLOR: force, TORQUE_COLOR: torque})


def _imu(stage: Stage, topic: str) -> MessageView:
    def acceleration(message: Imu) -> Array:
        return vector(message.linear_acceleration) * stage.scale.per_acceleration

    return _Arrows(stage, topic, {ACCELERATION_COLOR: acceleration})


_VIEWS: Mapping[str, Callable[[Stage, str], MessageView]] = {
    "sensor_msgs/msg/LaserScan": partial(_Points, points=scan_points),
    "sensor_msgs/msg/PointCloud2": partial(_Points, points=cloud_points),
    "sensor_msgs/msg/Image": _Image,
    "sensor_msgs/msg/Imu": _imu,
    "geometry_msgs/msg/WrenchStamped": _wrench,
}


def is_shown(topic: str, type_name: str) -> bool:
    """Return whether a ``TopicView`` uses the messages of a topic."""
    if type_name == STRING_TYPE:
        return namespace(topic) is not None
    return type_name in (TF_TYPE, INFO_TYPE) or can_show(type_name)


class TopicView:
    """Shows robots, their motion and their sensors from the messages of topics.

    ``take`` only stores a message, except for the description of a robot, which it reads;
    ``refresh`` draws the newest message of each topic. Both are called in the same thread.

    Args:
        viewer: The page.
        on_problem: Called with a sentence about each robot or topic that cannot be shown, once.

    Attributes:
        robots: The views of the robots by their namespaces.
    """

    def __init__(self, viewer: Viewer, on_problem: Callable[[str], None]) -> None:
        self.robots: dict[str, RobotView] = {}
        self._viewer, self._on_problem = viewer, on_problem
        self._urdfs: dict[str, str] = {}
        self._frames: dict[str, Frame] = {}
        self._moving: set[str] = set()  # names of frames that are not static
        self._have_moved = False
        self._seen = (0, 0)  # numbers of frames and of moving frames when the robots were arranged
        self._prefixes: Mapping[str, str] = {}
        self._main: RobotView | None = None  # which cameras follow
        self._scale = Scale()
        self._infos: dict[str, CameraInfo] = {}
        self._views: dict[tuple[str, str], MessageView] = {}  # by topic and type
        self._new: dict[str, tuple[str, Any]] = {}  # type and message by topic
        self._unreadable: set[str] = set()
        self._full: set[str] = set()  # of what there is too much

    def take(self, topic: str, type_name: str, message: Any) -> None:
        """Use a message; those of unknown types are ignored.

        Args:
            topic: Full name of its topic.
            type_name: Its type, such as "sensor_msgs/msg/LaserScan".
            message: An object with the fields of that type.
        """
        if type_name == TF_TYPE:
            transforms = transforms_of(message)
            frames = (transform.to_frame() for transform in transforms)
            self.place(frames, is_static=topic.rpartition("/")[2] == _STATIC)
        elif type_name == STRING_TYPE and (space := namespace(topic)) is not None:
            self._describe(space, topic, message.data)
        elif type_name == INFO_TYPE:
            self._infos[topic] = message
        elif can_show(type_name):
            self._new[topic] = type_name, message

    def place(self, frames: Iterable[Frame], *, is_static: bool = False) -> None:
        """Set frames relative to their parents.

        Args:
            frames: The frames.
            is_static: Whether they belong to things that do not move.
        """
        for frame in frames:
            if not self._has_room(frame.name, self._frames, MAX_FRAMES, "frames"):
                continue
            self._frames[frame.name] = frame
            self._have_moved = True
            if not is_static:
                self._moving.add(frame.name)

    def add_robot(self, space: str, body: Body) -> None:
        """Show a robot instead of the one with the same namespace, if there is one.

        Args:
            space: Namespace of its topics; may be empty.
            body: The robot.
        """
        if space in self.robots:
            self.robots.pop(space).remove()
        bodies = {key: view.body for key, view in self.robots.items()} | {space: body}
        self.robots[space] = RobotView(self._viewer, body_names(bodies)[space], body)
        self._arrange()

    def refresh(self) -> None:
        """Draw what has changed since the last call, and move the cameras that follow."""
        if self._main is not None:
            self._viewer.cameras.follow(self._main.subject(), time.monotonic())
        if not (self._have_moved or self._new):
            return
        poses = poses_in_world(self._frames.values())
        with self._viewer.server.atomic():
            if self._have_moved:
                if self._seen != (len(self._frames), len(self._moving)):
                    self._arrange()
                self._move_robots(poses)
            for topic, (type_name, message) in self._new.items():
                self._show(topic, type_name, message, poses)
        self._new.clear()
        self._have_moved = False

    def _arrange(self) -> None:
        """Find the frames of the robots, and let new pages show those that move."""
        self._seen = len(self._frames), len(self._moving)
        bodies = {space: view.body for space, view in self.robots.items()}
        self._prefixes = frame_prefixes(bodies, self._frames)
        self._move_robots(poses_in_world(self._frames.values()))
        moving = [
            view
            for space, view in self.robots.items()
            if has_frame_of(view.body, self._prefixes.get(space), self._moving)
        ]
        robots = moving or list(self.robots.values())
        scale = scale_of((view.body, view.size) for view in robots)
        if scale != self._scale:  # new views replace the old ones, which have the same paths
            self._scale = scale
            self._views = {k: view for k, view in self._views.items() if not view.is_scaled}
        box = union(box for view in robots if (box := view.bounds()) is not None)
        if box is not None:
            self._viewer.look_at(box)
            self._main = robots[0]
            self._viewer.cameras.begin(self._main.subject(), follows=True)

    def _move_robots(self, poses: Mapping[str, Pose]) -> None:
        for space, view in self.robots.items():
            view.move(*link_poses(view.body, poses, self._prefixes.get(space)))

    def _show(self, topic: str, type_name: str, message: Any, poses: Mapping[str, Pose]) -> None:
        key = topic, type_name
        if not self._has_room(key, self._views, MAX_TOPICS, "topics of sensors"):
            return
        if key not in self._views:
            stage = Stage(self._viewer, self._scale, self._infos)
            self._views[key] = _VIEWS[type_name](stage, topic)
        try:
            self._views[key].show(message, poses.get(message.header.frame_id.lstrip("/"), Pose()))
        except UnreadableMessageError as error:
            if topic not in self._unreadable:
                self._unreadable.add(topic)
                self._on_problem(f"topic '{topic}': {error}")

    def _describe(self, space: str, topic: str, urdf: str) -> None:
        if self._urdfs.get(space) == urdf:
            return
        if not self._has_room(space, self._urdfs, MAX_ROBOTS, "robots"):
            return
        self._urdfs[space] = urdf
        try:
            body = read_with_files(urdf, topic, {}, Diagnostics.silent())
        except ModelError as error:
            self._on_problem(f"the robot of topic '{topic}' cannot be shown: {error}")
            return
        self.add_robot(space, body)

    def _has_room(self, key: object, shown: Collection[object], most: int, plural: str) -> bool:
        """Return whether one more can be shown; report it once if not."""
        if key in shown or len(shown) < most:
            return True
        if plural not in self._full:
            self._full.add(plural)
            self._on_problem(f"only the first {most} {plural} are shown")
        return False
