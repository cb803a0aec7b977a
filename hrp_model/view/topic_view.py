"""Robots, frames and sensors in the scene of a viewer, from the messages of ROS topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol, cast

from ..body import Body
from ..description.attached_files import read_with_files
from ..description.published_robot import body_names, frame_prefixes, link_poses, namespace
from ..description.sensor_messages import UnreadableMessageError
from ..description.transforms import TransformsMessage, poses_in_world, transforms_of
from ..diagnostics import Diagnostics, ModelError
from ..frames import Frame
from ..rigid import Pose
from ..shapes.measure import union
from .message_views import SENSOR_TYPES, MessageView, frame_of, message_view
from .robot import RobotView
from .viewer import Viewer

TF_TYPE = "tf2_msgs/msg/TFMessage"
STRING_TYPE = "std_msgs/msg/String"
INFO_TYPE = "sensor_msgs/msg/CameraInfo"
# Types of messages that are shown, besides the descriptions of robots, which are strings.
SHOWN_TYPES = SENSOR_TYPES | {TF_TYPE, INFO_TYPE}


class _Text(Protocol):
    data: str


class TopicView:
    """Shows robots, their motion and their sensors from the messages of topics.

    ``take`` only stores a message, except for the description of a robot, which it reads;
    ``refresh`` draws the newest message of each topic. Both are called in the same thread.

    Args:
        viewer: The page.
        on_problem: Called with a sentence for each robot or topic that cannot be shown, once.

    Attributes:
        robots: The views of the robots by their namespaces.
    """

    def __init__(self, viewer: Viewer, on_problem: Callable[[str], None]) -> None:
        self.robots: dict[str, RobotView] = {}
        self._viewer = viewer
        self._on_problem = on_problem
        self._reported: set[str] = set()
        self._urdfs: dict[str, str] = {}
        self._frames: dict[str, Frame] = {}
        self._have_moved = False
        self._prefixes: Mapping[str, str] = {}
        self._known = frozenset[str]()
        self._infos: dict[str, object] = {}
        self._views: dict[str, MessageView | None] = {}
        self._new: dict[str, object] = {}

    def take(self, topic: str, type_name: str, message: object) -> None:
        """Use a message; those of other types are ignored.

        Args:
            topic: Full name of its topic.
            type_name: Its type, such as "sensor_msgs/msg/LaserScan".
            message: An object with the fields of that type.
        """
        if type_name == TF_TYPE:
            transforms = transforms_of(cast(TransformsMessage, message))
            self.place(transform.to_frame() for transform in transforms)
        elif type_name == STRING_TYPE:
            space = namespace(topic)
            if space is not None:
                self._describe(space, topic, cast(_Text, message).data)
        elif type_name == INFO_TYPE:
            self._infos[topic] = message
        else:
            if topic not in self._views:
                view = message_view(self._viewer, topic, type_name, self._infos)
                self._views[topic] = view
            if self._views[topic] is not None:
                self._new[topic] = message

    def place(self, frames: Iterable[Frame]) -> None:
        """Set frames relative to their parents."""
        for frame in frames:
            self._frames[frame.name] = frame
            self._have_moved = True

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
        self._known, self._have_moved = frozenset(), True
        self.refresh()
        robots = [x for x in self.robots.values() if not x.body.is_static] or [
            *self.robots.values()
        ]
        box = union(box for x in robots if (box := x.bounds()) is not None)
        if box is not None:
            self._viewer.look_at(box)

    def refresh(self) -> None:
        """Draw what has changed since the last call."""
        if not (self._have_moved or self._new):
            return
        poses = poses_in_world(self._frames.values())
        with self._viewer.server.atomic():
            if self._have_moved:
                self._move_robots(poses)
            for topic, message in self._new.items():
                self._show(topic, message, poses)
        self._new.clear()
        self._have_moved = False

    def _move_robots(self, poses: Mapping[str, Pose]) -> None:
        if self._frames.keys() != self._known:
            self._known = frozenset(self._frames)
            bodies = {space: view.body for space, view in self.robots.items()}
            self._prefixes = frame_prefixes(bodies, self._known)
        for space, view in self.robots.items():
            view.move(*link_poses(view.body, poses, self._prefixes.get(space)))

    def _show(self, topic: str, message: object, poses: Mapping[str, Pose]) -> None:
        view = self._views[topic]
        assert view is not None  # or the message would not have been stored
        try:
            view.show(message, poses.get(frame_of(message), Pose()))
        except UnreadableMessageError as error:
            self._report(topic, f"topic '{topic}': {error}")

    def _describe(self, space: str, topic: str, urdf: str) -> None:
        if self._urdfs.get(space) == urdf:
            return
        self._urdfs[space] = urdf
        diagnostics = Diagnostics(listener=lambda _: None)
        files: dict[str, Path] = {}
        try:
            body = read_with_files(urdf, topic, files, diagnostics)
        except ModelError as error:
            self._on_problem(f"the robot of topic '{topic}' cannot be shown: {error}")
            return
        self.add_robot(space, body)

    def _report(self, topic: str, problem: str) -> None:
        if topic not in self._reported:
            self._reported.add(topic)
            self._on_problem(problem)
