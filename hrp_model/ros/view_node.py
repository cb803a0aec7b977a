"""ROS 2 node that shows robots, frames and sensors of any simulator or real robot in a browser.

Subscribes, while a browser shows the page: ``robot_description`` of every namespace, ``/tf``,
``/tf_static``, and all topics of sensors that can be drawn, whoever publishes them.
Parameters: ``hrp_model.ros.parameters.VIEW_NODE``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.subscription import Subscription

from hrp_msgs import names
from hrp_msgs.messages import Message
from hrp_msgs.node.executor import remove_destroyed
from hrp_msgs.node.parameters import declare
from hrp_msgs.node.start import WrongUseError
from hrp_msgs.sanitize import one_line
from hrp_msgs.topics.node_topics import installed_type, matching_qos

from ..diagnostics import MissingLibraryError
from ..program.command import UsageError
from ..program.console import print_message
from ..view.html import escaped, padded
from ..view.topic_view import TopicView, is_shown
from ..view.viewer import Viewer
from .parameters import VIEW_NODE, serve_until_signal

PARAMETERS = VIEW_NODE
_DISCOVERY_PERIOD = 0.5  # [s]
_DRAWING_PERIOD = 1.0 / 30.0  # [s]
# Only the newest message of a sensor is drawn, but every transform counts.
_DEPTH, _TF_DEPTH = 2, 100
_MAX_SUBSCRIPTIONS = 500


class ViewNode(Node):
    """Shows what other nodes publish.

    Without a browser there are no subscriptions, so that nothing is received.

    Args:
        context: ROS context of the node.

    Attributes:
        viewer: The page, to be closed by the owner of the node.

    Raises:
        ParameterException, WrongUseError: A parameter is invalid, or the port is in use.
        MissingLibraryError: viser is not installed.
    """

    def __init__(self, context: Context) -> None:
        super().__init__("view_node", context=context)
        settings = declare(self, VIEW_NODE)
        try:
            self.viewer = Viewer(settings["port"] or None, settings["host"])
        except UsageError as error:
            raise WrongUseError(str(error).replace("--", "")) from None
        self._heading = self.viewer.server.gui.add_html(_heading(()))
        self._view = TopicView(self.viewer, self._report)
        self._shown: dict[str, Subscription] = {}  # by topic
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_DISCOVERY_PERIOD, self._follow_topics, clock=steady)
        self.create_timer(_DRAWING_PERIOD, self._view.refresh, clock=steady)

    def _follow_topics(self) -> None:
        """Subscribe to new topics while a browser shows the page, else to none."""
        heading = _heading(sorted(self._view.robots))
        if self._heading.content != heading:
            self._heading.content = heading
        if not self.viewer.is_watched:
            self._unsubscribe()
            return
        for topic, types in self.get_topic_names_and_types():
            if len(self._shown) >= _MAX_SUBSCRIPTIONS:
                break
            if topic in self._shown or len(types) != 1 or not is_shown(topic, types[0]):
                continue
            publishers = self.get_publishers_info_by_topic(topic)
            message_type = installed_type(types[0]) if publishers else None
            if message_type is not None:
                depth = _TF_DEPTH if topic in (names.TF, names.TF_STATIC) else _DEPTH
                self._shown[topic] = self.create_subscription(
                    message_type,
                    topic,
                    self._taker(topic, types[0]),
                    matching_qos(publishers, depth),
                )

    def _unsubscribe(self) -> None:
        for subscription in self._shown.values():
            self.destroy_subscription(subscription)
        if self._shown:
            self._shown.clear()
            remove_destroyed(self.default_callback_group)

    def _taker(self, topic: str, type_name: str) -> Callable[[Message], None]:
        return lambda message: self._view.take(topic, type_name, message)

    def _report(self, problem: str) -> None:
        self.get_logger().warning(one_line(problem))


def _heading(spaces: Sequence[str]) -> str:
    """Return which robots are shown, by the namespaces of their topics."""
    if not spaces:
        return padded("No robot yet: there is no topic <b>robot_description</b> that can be shown.")
    topics = (f"{space}/robot_description".lstrip("/") for space in spaces)
    return padded("".join(f"<div>{escaped(topic)}</div>" for topic in topics))


def main(args: Sequence[str] | None = None) -> int:
    """Run ``view_node``; return 0 after Ctrl-C, 2 for a usage error."""

    def prepare(node: ViewNode, undo: ExitStack) -> None:
        undo.callback(node.viewer.close)
        node.viewer.print_address()

    try:
        serve_until_signal(args, ViewNode, prepare)
        return 0
    except KeyboardInterrupt:
        return 0
    except (ParameterException, WrongUseError, MissingLibraryError) as error:
        print_message(f"error: {error}")
        return 2


if __name__ == "__main__":
    from ..program.command import run_node

    sys.exit(run_node("hrp_model.ros.view_node", "view_node"))  # also handles --help
