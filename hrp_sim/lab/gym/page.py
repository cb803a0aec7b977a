"""The page of an environment in a browser, for ``render_mode="human"``."""

from __future__ import annotations

from collections.abc import Mapping

from hrp_model.diagnostics import needs_extra

from ...run.run import Change, Consumer, Run
from ...sensors import ImageReading, Reading
from ...simulation import Simulation
from .observations import EpisodeState

with needs_extra("view"):
    from hrp_model.view.viewer import Viewer

    from ...view.run_viewer import RunViewer


class EnvPage(Consumer):
    """Steps the simulation of an environment in real time, and shows it in a page.

    The page can pause it, which blocks ``run``, change its speed, and push links. Its clicks wait
    for the next ``run``.

    Args:
        state: Of the environment, whose simulation is shown.

    Attributes:
        address: The URL of the page.

    Raises:
        MissingLibraryError: viser is not installed.
    """

    def __init__(self, state: EpisodeState) -> None:
        self._state = state
        self._readings: dict[str, Reading] = {}
        self._run = Run(state.simulation, [self])
        self._viewer = Viewer()
        try:
            self._page = RunViewer(self._viewer, self._run)
        except BaseException:
            self._viewer.close()
            raise
        self.address = self._viewer.address
        self._viewer.print_address()
        self._viewer.open_browser()

    def run(self, seconds: float) -> Mapping[str, Reading]:
        """Advance in real time; return the last reading of each sensor that was due meanwhile.

        Args:
            seconds: In simulation time.

        Raises:
            PhysicsError: A step failed; the world stays as before it.
        """
        self._readings = {}
        self._run.run_for(seconds)
        if (error := self._run.error) is not None:
            raise error
        return self._readings

    def begin(self, state: EpisodeState) -> None:
        """Show the start of an episode, perhaps in another simulation."""
        self._state = state
        self._run.error = None
        self._run.run_for(0.0)  # what the page has asked for since the last step
        if state.simulation is self._run.simulation:
            self._run.change(lambda: None)
        else:
            self._run.replace(state.simulation)

    def close(self) -> None:
        """Close the page."""
        self._run.close()  # first, as what still waits for it would wait for long
        self._page.close("The environment was closed.")

    def wants(self, simulation: Simulation, sensor: str) -> bool:  # noqa: ARG002
        """Return True: the environment switches off what it does not observe."""
        return True

    def take_step(self, time_ns: int, readings: Mapping[str, Reading]) -> None:  # noqa: ARG002
        """Keep the newest readings, and show the images among them."""
        self._readings |= readings
        for name, reading in readings.items():
            if isinstance(reading, ImageReading):
                self._page.take_image(name, reading)

    def changed(self, change: Change) -> None:
        """Begin the time of the episode again after a reset in the page."""
        if change is Change.RESET:
            self._state.start_ns = self._state.simulation.engine.time_ns
