"""Controls of a replay in the panel of a viewer: play, pause, speed and a time slider."""

from __future__ import annotations

from hrp_model.view.viewer import Viewer, set_value

from ..engine.schedule import NS_PER_S
from .playback import Playback

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
