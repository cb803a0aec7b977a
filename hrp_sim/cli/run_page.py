"""The page of ``hrp-sim run --view``."""

from __future__ import annotations

from collections.abc import Sequence

from hrp_model import Diagnostic
from hrp_model.program.console import print_message
from hrp_model.view.viewer import Viewer

from ..engine.engine import PhysicsError
from ..engine.schedule import NS_PER_S
from ..run.reload import Reloader
from ..run.run import Run
from ..run.summary import RunRecorder
from ..view.run_viewer import RunViewer


class RunPage:
    """The page of a run; it is opened before the world is loaded.

    Args:
        port: The port; None for the usual one, or the next that is free.
        host: Address of the network interface.
        on_output: Whether standard output may be used for the address.
        browser: Whether to open the page in the default browser.

    Raises:
        UsageError: The given port is in use, or the host is not an address of this machine.
    """

    def __init__(
        self, port: int | None, host: str, *, on_output: bool, browser: bool = False
    ) -> None:
        self._viewer = Viewer(port, host)
        self._run_viewer: RunViewer | None = None
        self._message = "The run ended before it began."
        if on_output:
            self._viewer.print_address()
        else:
            print_message(f"view: {self._viewer.address}")
        if browser:
            self._viewer.open_browser()

    def serve(
        self,
        run: Run,
        problems: Sequence[Diagnostic],
        hint: str,
        reloader: Reloader | None,
        recorder: RunRecorder,
    ) -> None:
        """Show a run, before it begins, and load its world again after changes."""
        self._run_viewer = RunViewer(self._viewer, run, problems, hint, recorder)
        if reloader is not None:
            reloader.start(run)

    def show_problems(self, problems: Sequence[Diagnostic], note: str = "") -> None:
        """Replace the problems of the world, with a further sentence."""
        run_viewer = self._run_viewer  # the end of the run removes it, in another thread
        if run_viewer is not None:
            run_viewer.show_problems(problems, [note] if note else [])

    def end(self, run: Run) -> None:
        """Say in the page that the run has ended."""
        time = f"{run.simulation.state.time_ns / NS_PER_S:.6g} s"
        if run.error is not None:
            self._message = f"The run has ended at {time}: the physics failed: {run.error}"
        else:
            self._message = f"The run was {'stopped' if run.stopped else 'completed'} at {time}."
        self.close()

    def close(self) -> None:
        """Close the page (idempotent)."""
        run_viewer, self._run_viewer = self._run_viewer, None
        if run_viewer is not None:
            run_viewer.close(self._message)
        else:
            self._viewer.close(self._message)

    def report(self, hint: str, error: PhysicsError) -> None:
        """Print why the physics failed; the run is halted, and can be reset in the page."""
        print_message(f"error: {error}\nhint: {hint}")
        print_message("the run is halted: reset it in the page, or end it with Ctrl-C", "dim")
