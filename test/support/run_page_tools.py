"""A running simulation with its page, for tests of ``hrp_sim.view``."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from browser_tools import Page, Pages
from run_tools import OnStep

from hrp_model.view.viewer import Viewer
from hrp_sim import Simulation
from hrp_sim.run.run import Run
from hrp_sim.view.run_viewer import RunViewer

PATIENCE = 300.0  # [s] after which a test that would hang fails instead


class RunPage:
    """A run in a thread of its own, and its page; the run ends with the ``with`` block.

    Args:
        world: Of the simulation.
        paused: Whether it starts paused.
        viewer: The page; a new one by default.
        options: Of the runner.
    """

    def __init__(self, world, *, paused=False, viewer=None, hint="", **options):
        self.viewer = Viewer(0) if viewer is None else viewer
        self.simulation = Simulation(world, defer_images=True)
        self.times: list[int] = []
        options = {"real_time_factor": 1.0} | options
        self.runner = Run(self.simulation, [OnStep(self._on_step)], **options)
        self.runner.paused = paused
        self.run_viewer = RunViewer(self.viewer, self.runner, hint=hint)
        self._thread = threading.Thread(target=self.runner.run)
        self._pages: list[Page] = []

    def __enter__(self) -> RunPage:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for page in self._pages:  # first, as a page without its server reports errors
            page.close()
        if self._thread.is_alive():
            self.end()

    @property
    def time(self) -> float:
        """Simulation time, in [s]."""
        return self.runner.simulation.state.time_ns / 1e9

    def open(
        self, pages: Pages, size: tuple[int, int] = (1100, 400), *, dark: bool = False
    ) -> Page:
        """Open the page in a browser; it is closed before the run ends."""
        page = pages.open(self.viewer.address, size, dark=dark)
        self._pages.append(page)
        return page

    def end(self, message: str = "The run has ended.") -> None:
        """End the run and the page."""
        self.runner.stop()
        self._thread.join()
        self.run_viewer.close(message)
        self.runner.close()
        self.runner.simulation.close()

    def _on_step(self, time_ns, readings):
        self.times.append(time_ns)


def wait_until(condition: Callable[[], object]) -> None:
    """Wait until a condition holds, without a browser; see ``Page.wait_until``."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            pytest.fail(f"after {PATIENCE:g} s: not {condition}")
        time.sleep(0.005)


def node(viewer: Viewer, ending: str):
    """Return the node of the scene whose path ends like this."""
    found = [
        handle
        for name, handle in viewer.server.scene._handle_from_node_name.items()
        if name.endswith(ending)
    ]
    return found[0] if found else None


def gui(viewer: Viewer, label: str):
    """Return the part of the panel with a label, once there is one: it may be made anew now."""
    found = []

    def is_there():
        found[:] = (x for x in parts(viewer) if getattr(x, "label", None) == label)
        return len(found) == 1

    wait_until(is_there)
    return found[0]


def parts(viewer: Viewer, kind: type = object):
    """Return all parts of the panel of a kind."""
    containers = tuple(viewer.server.gui._container_handle_from_uuid.values())
    found = (part for x in containers for part in tuple(getattr(x, "_children", {}).values()))
    return [part for part in found if isinstance(part, kind)]


def labels(viewer: Viewer) -> list[str]:
    """Return the labels of all parts of the panel that have one."""
    return [label for part in parts(viewer) if (label := getattr(part, "label", None))]


def text(viewer: Viewer) -> str:
    """Return the texts of the panel that are shown, as HTML."""
    from viser import GuiHtmlHandle

    return "\n".join(part.content for part in parts(viewer, GuiHtmlHandle) if part.visible)
