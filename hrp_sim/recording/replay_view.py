"""The output of a replay in a browser, with its controls."""

from __future__ import annotations

from collections.abc import Callable

from hrp_model.view.html import escaped, padded, style
from hrp_model.view.topic_view import INFO_TYPE, TopicView, can_show
from hrp_model.view.viewer import Viewer, set_value
from hrp_msgs.recording import RecordedMessage, Recording

from ..engine.schedule import NS_PER_S
from .recorded_run import RecordedRun
from .replay import Playback

_SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "4", "8")


class Player:
    """Controls of a replay, in the panel's present container.

    Args:
        viewer: The page.
        clock: The clock that they control.
    """

    def __init__(self, viewer: Viewer, clock: Playback) -> None:
        gui = viewer.server.gui
        self._server, self._clock = viewer.server, clock
        duration = max((clock.end_ns - clock.start_ns) / NS_PER_S, 1e-3)
        self._time = gui.add_slider("Time [s]", 0.0, duration, _step(duration), 0.0)
        self._play = gui.add_button("Pause")
        speed = f"{clock.factor:g}"
        speeds = tuple(sorted({*_SPEEDS, speed}, key=float))
        self._speed = gui.add_dropdown("Speed", speeds, initial_value=speed)
        # Without a client it was moved by ``refresh``, not by a person.
        self._time.on_update(lambda event: self._on_time(event.client_id is not None))
        self._play.on_click(self._on_play)
        self._speed.on_update(self._on_speed)

    def refresh(self) -> None:
        """Show the present time and state."""
        clock = self._clock
        stands = clock.is_paused or clock.has_ended
        with self._server.atomic():
            label = "Play" if stands else "Pause"
            if self._play.label != label:
                self._play.label = label
            seconds = min((clock.now_ns - clock.start_ns) / NS_PER_S, self._time.max)
            if (not stands or clock.has_ended) and self._time.value != seconds:
                set_value(self._time, seconds)

    def _on_time(self, by_person: bool) -> None:
        if by_person:
            self._clock.pause()
            self._clock.jump(self._clock.start_ns + round(self._time.value * NS_PER_S))

    def _on_play(self, _: object) -> None:
        if self._clock.is_paused or self._clock.has_ended:
            self._clock.resume()
        else:
            self._clock.pause()

    def _on_speed(self, _: object) -> None:
        if self._speed.value in self._speed.options:  # a page may send anything
            self._clock.factor = float(self._speed.value)


def _step(duration: float) -> float:
    """Return the resolution of the slider, in [s]: a power of ten."""
    return 0.01 if duration < 100.0 else 0.1


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
