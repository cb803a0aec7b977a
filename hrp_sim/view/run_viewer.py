"""The page of a running simulation."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from hrp_model import Diagnostic
from hrp_model.view.browser import part
from hrp_model.view.html import escaped, padded
from hrp_model.view.robot import RobotView, scale_of
from hrp_model.view.viewer import Viewer

from ..engine.schedule import NEVER_NS
from ..engine.state import SimulatedBody
from ..render import ALL_PARTS, NO_PARTS, Parts
from ..run.run import Change, Consumer, Run
from ..run.summary import RunRecorder, Starts, present_lines
from ..sensors import ImageReading, Reading
from ..simulation import Simulation
from .capture import Capture
from .controls import MODEL_TAB, Controls, ModelPanel
from .curves import Curves
from .driving import DrivePad
from .scene import (
    Bodies,
    Contacts,
    Pulling,
    Snapshot,
    extents_of,
    take_snapshot,
)
from .sensor_displays import SensorDisplays
from .targets import JointTargets

_log = logging.getLogger("hrp_sim")

_PERIOD = 1.0 / 30.0  # [s] of wall time between two frames
_RESULT = "result"
_FALLS_PERIOD = 0.2  # [s] of wall time between two looks for robots that have fallen
_TIMEOUT = 0.5  # [s] to wait for the stepping thread, which may take long steps


class RunViewer(Consumer):
    """Shows a run in a page, with its sensors and controls. It becomes a ``Consumer`` of the run.

    A thread of its own draws; the stepping thread only copies poses and keeps readings, when they
    are to be drawn. While no browser shows the page, nothing is copied, read or drawn.

    Args:
        viewer: The page, to which this adds the parts of a run.
        run: The run, before it begins.
        problems: Warnings about the world and its models.
        hint: Shown with a failure of the physics.
        recorder: Of the run, whose result so far is shown; None for none.

    Attributes:
        pad: With which somebody drives a vehicle.
        pulling: Of links by the mouse.
    """

    def __init__(
        self,
        viewer: Viewer,
        run: Run,
        problems: Sequence[Diagnostic] = (),
        hint: str = "",
        recorder: RunRecorder | None = None,
    ) -> None:
        self._viewer, self._run, self._recorder = viewer, run, recorder
        self._is_watched = False
        self._was_watched = False  # at the last step
        self._is_closing = False
        self._wake = threading.Event()  # a browser came, or the viewer is to be closed
        self._arrived = threading.Event()  # a snapshot
        self._snapshot: Snapshot | None = None
        self._is_requested = False  # a snapshot that has not arrived
        self._has_restarted = False  # the state was replaced since the last frame
        self._has_failed = False  # drawing, which was logged
        self._starts, self._falls_due = Starts(), 0.0
        self._starts.follow(run.simulation.bodies)
        self._fallen: Mapping[str, str] = {}
        self._lines: Sequence[str] = ()  # of the result so far
        self._shown_lines: Sequence[str] = ()
        self._build(problems, hint)
        run.add(self)
        viewer.server.on_client_connect(lambda _: self._wake.set())
        viewer.server.on_client_disconnect(lambda client: self.pulling.release(client.client_id))
        self._thread = threading.Thread(target=self._work, name="viewer", daemon=True)
        self._thread.start()

    def close(self, message: str) -> None:
        """End the thread, show a message in open pages, and close the page."""
        self._is_closing = True
        self._is_watched = False
        self._wake.set()
        self._arrived.set()
        self._thread.join()
        self._run.remove(self)
        self._capture.close()
        self._controls.end(message)
        self._viewer.close(message)

    def show_problems(self, problems: Sequence[Diagnostic], notes: Sequence[str] = ()) -> None:
        """Replace the problems of the world, with further sentences."""
        self._models.show_problems(problems, notes)
        self._controls.show_problems(problems, self._models.notes)

    def wants(self, simulation: Simulation, sensor: str) -> bool:  # noqa: ARG002
        """Return whether a sensor should be read."""
        return self._is_watched and (self._sensors.wants(sensor) or self._curves.wants(sensor))

    def wanted_parts(self, camera: str) -> Parts:
        """Return the parts of an image to be rendered."""
        if not self._is_watched:
            return NO_PARTS
        return ALL_PARTS if self._curves.wants(camera) else self._sensors.wanted_parts(camera)

    def next_ns(self, simulation: Simulation) -> int:  # noqa: ARG002
        """Return the time of the next step to be taken, in [ns]: each, while somebody looks."""
        return 0 if self._is_watched or self._was_watched else NEVER_NS

    def take_step(self, time_ns: int, readings: Mapping[str, Reading]) -> None:
        """Keep what is to be drawn of a step; called after every step."""
        if not (self._is_watched or self._was_watched):
            return
        self._was_watched = self._is_watched
        simulation = self._run.simulation
        self._sensors.take(simulation, readings)
        self._curves.take(simulation, time_ns, readings)
        self._contacts.take(simulation)
        self.pulling.apply(simulation)

    def take_image(self, camera: str, image: ImageReading) -> None:
        """Keep an image that is to be drawn; called in the render thread."""
        self._sensors.take_image(camera, image)
        self._curves.take_image(camera, image)

    def _build(self, problems: Sequence[Diagnostic], hint: str) -> None:
        """Add the parts of the page, and show the present state."""
        viewer, gui = self._viewer, self._viewer.server.gui
        self._controls = Controls(viewer, self._run, hint)
        self._capture = Capture(viewer, self._run)
        self.pad = DrivePad(viewer)
        tabs = gui.add_tab_group()
        with tabs.add_tab("Control"):
            self._targets = JointTargets(viewer)
        sensors, curves = tabs.add_tab("Sensors"), tabs.add_tab("Curves")
        with tabs.add_tab(MODEL_TAB):
            self._models = ModelPanel(viewer, problems)
            folder = gui.add_folder("Show")
            with gui.add_folder("Result so far", visible=self._recorder is not None):
                gui.add_html(part(_RESULT))
                self._result = gui.add_html("")
        with folder:
            self._bodies = Bodies(viewer, self._models.select)
        added = self._bodies.follow(self._run.simulation.bodies)
        scale = scale_of(
            (simulated.body, view.size) for simulated, view in self._bodies.views.values()
        )
        with folder:
            self._contacts = Contacts(viewer, scale)
        with sensors:
            self._sensors = SensorDisplays(viewer, scale)
        with curves:
            self._curves = Curves(viewer)
        self.pulling = Pulling(viewer, scale)
        self._follow_bodies(added or ())
        self._controls.show_problems(problems, self._models.notes)
        self._draw(take_snapshot(self._run), time.monotonic())
        state = self._run.simulation.state
        extents, poses = extents_of(state.bodies), state.poses()
        viewer.begin(extents, poses, extents.points(poses))
        viewer.set_title(self._models.shown)
        self._capture.name = self._models.shown
        subject = self._bodies.subject(self._models.shown)
        if subject is not None:
            viewer.cameras.begin(subject, follows=True)
        main = self._bodies.main(self._models.shown)
        if main is not None:
            self._curves.begin(main.name, is_fixed=self._run.simulation.is_fixed(main.name))

    def _work(self) -> None:
        """Draw frames while a browser shows the page; the thread of the viewer."""
        while not self._is_closing:
            start = time.monotonic()
            self._is_watched = is_watched = self._viewer.is_watched
            try:
                if is_watched:
                    self._frame(start)
                else:
                    self._stop()
            except Exception as error:
                if not self._has_failed:  # later ones are likely the same
                    self._has_failed = True
                    _log.error("drawing the page of the run failed", exc_info=error)
            if is_watched:
                time.sleep(max(0.0, start + _PERIOD - time.monotonic()))
            else:
                self._wake.wait()
                self._wake.clear()

    def _frame(self, now: float) -> None:
        """Request what is to be drawn, and draw what has arrived."""
        self._sensors.request(now)
        self._contacts.request()
        if not self._is_requested:
            self._is_requested = True
            self._run.call_soon(self._copy)
        if self._arrived.wait(_TIMEOUT):
            self._arrived.clear()
            if (snapshot := self._snapshot) is not None and not self._is_closing:
                self._draw(snapshot, now)

    def _stop(self) -> None:
        """Request nothing any more, since nobody is looking."""
        self._sensors.stop()
        self._contacts.stop()
        self.pulling.stop()
        self.pad.stop()
        self._capture.stop()

    def _copy(self) -> None:
        """Copy the state of the run; called in the stepping thread."""
        self._is_requested = False  # first, so that an error does not stop the page for good
        snapshot = take_snapshot(self._run)
        now = time.monotonic()
        if now >= self._falls_due:
            self._falls_due = now + _FALLS_PERIOD
            self._fallen = self._starts.fallen_robots(snapshot.simulation)
            if self._recorder is not None and self._viewer.pages.sees(_RESULT):
                self._lines = present_lines(self._recorder)
        self._snapshot = replace(snapshot, falls=self._fallen)
        self._arrived.set()

    def _draw(self, snapshot: Snapshot, now: float) -> None:
        simulation = snapshot.simulation
        with self._viewer.server.atomic():
            bodies = {name: poses.simulated for name, poses in snapshot.bodies.items()}
            if (added := self._bodies.follow(bodies)) is not None:
                self._follow_bodies(added)
            self._sensors.follow(simulation)
            self._curves.follow(simulation)
            self._targets.follow(simulation)
            self.pad.follow(simulation, self._targets.shown)
            if self._has_restarted:
                self._has_restarted = False
                self._sensors.clear()
                self._contacts.clear()
                self._targets.restart()
            self._controls.draw(snapshot, self._models.selected)
            self._bodies.draw(snapshot)
            self._follow_subject(now)
            self._sensors.draw()
            self._contacts.draw()
            self._targets.draw(snapshot, now)
            self.pad.draw(simulation, now)
            self._curves.draw(now)
            self._capture.draw(now)
            if self._lines is not self._shown_lines:
                self._shown_lines = self._lines
                rows = "".join(f"<div>{escaped(line)}</div>" for line in self._lines)
                self._result.content = padded(rows)
            self.pulling.draw(snapshot)

    def _follow_subject(self, now: float) -> None:
        """Let cameras follow the body whose links are listed."""
        subject = self._bodies.subject(self._models.shown)
        if subject is not None:
            held = self.pulling.present is not None
            hides = partial(self._bodies.hides, subject)
            self._viewer.cameras.follow(subject, now, is_held=held, hides=hides)

    def _follow_bodies(self, added: Sequence[tuple[SimulatedBody, RobotView]]) -> None:
        """Let new bodies be pulled, and list the present ones."""
        for body, view in added:
            self.pulling.offer(body, view)
        self._models.follow(self._bodies.views)

    def changed(self, change: Change) -> None:
        """Follow resets and replacements; called in the stepping thread."""
        if change in (Change.RESET, Change.REPLACE, Change.WORLD):
            self._has_restarted = True
            self._contacts.restart(self._run.simulation.state.time_ns)
            if change is not Change.WORLD:
                self._curves.restart()
