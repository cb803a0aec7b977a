"""The output of a replay in a browser."""

from __future__ import annotations

from collections.abc import Callable

from hrp_model.view.html import escaped, padded, style
from hrp_model.view.topic_view import INFO_TYPE, TopicView, can_show
from hrp_model.view.viewer import Viewer
from hrp_msgs.recording import RecordedMessage, Recording

from ..engine.schedule import NS_PER_S
from .playback import Playback
from .player import Player
from .recorded_run import RecordedRun

# After a jump, sensors show their last message of this time before it, in [ns].
_MEMORY_NS = 1 * NS_PER_S


class ReplayView:
    """Shows a recorded run and its sensors in a browser, with a time slider.

    Args:
        viewer: The page.
        recording: The recording.
        run: Its robots.
        playback: The clock, which the page controls.
        on_problem: Called with a sentence about each topic that cannot be shown.
        waits: Whether the replay begins when the first browser opens the page.

    Attributes:
        topics: Names of the topics of sensors.
    """

    def __init__(
        self,
        viewer: Viewer,
        recording: Recording,
        run: RecordedRun,
        playback: Playback,
        on_problem: Callable[[str], None],
        *,
        waits: bool = False,
    ) -> None:
        shown = [
            topic
            for topic in recording.topics.values()
            if topic.readable and (can_show(topic.type_name) or topic.type_name == INFO_TYPE)
        ]
        self.topics = [topic.name for topic in shown]
        self._types = {topic.name: topic.type_name for topic in shown}
        self._recording, self._run = recording, run
        self._viewer, self._playback, self._waits = viewer, playback, waits
        if waits:
            playback.pause()
            playback.jump(playback.start_ns)
        self._view = TopicView(viewer, on_problem)
        robots = ", ".join(run.bodies)
        title = f"<b>{escaped(recording.path.name)}</b><div>{escaped(robots)}</div>"
        viewer.server.gui.add_html(style(None) + padded(title))
        self._player = Player(viewer, playback)
        for name, body in run.bodies.items():
            self._view.add_robot(run.namespaces[name], body)
        self._shown_ns: int | None = None
        self.jump(playback.start_ns)
        self.refresh(playback.start_ns)

    def take(self, message: RecordedMessage) -> None:
        """Store a message of a sensor until the next ``refresh``."""
        self._view.take(message.topic, self._types[message.topic], message.message)

    def jump(self, time_ns: int) -> None:
        """Store the last message of each sensor before a time in [ns]."""
        last = {
            message.topic: message
            for message in self._recording.messages(self.topics, time_ns - _MEMORY_NS, time_ns)
        }
        for message in last.values():
            self.take(message)

    def refresh(self, time_ns: int) -> None:
        """Show the robots at a time in [ns], and the newest messages."""
        if self._waits and self._viewer.is_watched:
            self._waits = False
            self._playback.resume()
        if time_ns != self._shown_ns:
            moving, frames = self._run.moving_frames, self._run.frames(time_ns)
            self._view.place((x for x in frames if x.name not in moving), is_static=True)
            self._view.place(x for x in frames if x.name in moving)
            self._shown_ns = time_ns
        self._view.refresh()
        self._player.refresh()
