"""Images and contacts of a run, taken when somebody needs them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import numpy as np

from hrp_model.rigid import Array

from ..engine.schedule import SampleClock
from ..engine.state import ContactPoints
from ..render import RendererUnavailable
from ..sensors import ImageReading
from ..simulation import Simulation

_log = logging.getLogger("hrp_sim")

# Renders an image; RendererUnavailable ends the thread, other errors only skip this image.
Render = Callable[[], ImageReading]


class RenderThread:
    """Background thread that renders the newest image request of each camera.

    The images of a camera arrive in the order of their requests. ``submit``, ``clear`` and
    ``close`` must be called in the stepping thread. A failing camera is logged once, and does not
    affect the others.

    Args:
        on_image: Called in the background thread with the name of a camera and each of its images.
    """

    def __init__(self, on_image: Callable[[str, ImageReading], None]) -> None:
        self._on_image = on_image
        self._waiting: dict[str, Render] = {}
        self._generation = 0  # incremented by ``clear``; images of an earlier one are dropped
        self._closing = self._has_ended = self._is_busy = False
        self._failed: set[str] = set()  # cameras whose failure was logged
        self._changed = threading.Condition()
        self._delivering = threading.Lock()
        self._thread: threading.Thread | None = None  # since the first request

    def submit(self, camera: str, render: Render, *, after_others: bool = False) -> None:
        """Queue a request.

        Args:
            camera: Name of the camera.
            render: Renders the image.
            after_others: Wait until the last request of this camera is being rendered, instead of
                replacing it.
        """
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="render", daemon=True)
                self._thread.start()
            if after_others:
                self._changed.wait_for(lambda: camera not in self._waiting or self._has_ended)
            self._waiting[camera] = render
            self._changed.notify_all()

    def finish(self) -> None:
        """Wait until the images of all requests were delivered."""
        with self._changed:
            self._changed.wait_for(lambda: self._has_ended or not (self._waiting or self._is_busy))

    def clear(self) -> None:
        """Drop all requests, such as after a reset; no image of them arrives after the return."""
        with self._changed:
            self._waiting.clear()
            self._generation += 1
        with self._delivering:
            pass  # wait for an image that is being delivered

    def close(self) -> None:
        """Finish the present image and end the thread; waiting requests are dropped."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        try:
            self._render_all()
        finally:
            with self._changed:
                self._has_ended = True
                self._changed.notify_all()

    def _render_all(self) -> None:
        while True:
            with self._changed:
                self._is_busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._waiting or self._closing)
                if self._closing:
                    return
                camera = next(iter(self._waiting))
                render = self._waiting.pop(camera)
                generation, self._is_busy = self._generation, True
                self._changed.notify_all()
            try:
                image = render()
                with self._delivering:
                    if generation == self._generation:
                        self._on_image(camera, image)
            except RendererUnavailable as error:
                _log.error("camera images are unavailable: %s", error)
                return
            except Exception as error:
                self._log_failure(camera, error)

    def _log_failure(self, camera: str, error: Exception) -> None:
        """Log the first failure of a camera; later ones are likely the same."""
        if camera not in self._failed:
            self._failed.add(camera)
            _log.error("rendering images of '%s' failed", camera, exc_info=error)


class ContactSampler:
    """Samples contacts at a given rate while they are needed.

    Contacts are recorded in the sampled steps only, so that the other steps cost nothing. Several
    samplers of one simulation do not affect each other.

    Args:
        rate_hz: Maximum number of samples per simulated second.
        is_wanted: Returns whether the contacts are needed.
        publish: Called with the contacts of a step and their forces on the movable body of each
            pair, or on the first if both are movable, in W, in [N], shape (n, 3).

    Raises:
        ValueError: The rate is not positive and finite.
    """

    def __init__(
        self,
        rate_hz: float,
        is_wanted: Callable[[], bool],
        publish: Callable[[ContactPoints, Array], None],
    ) -> None:
        self._ticks = SampleClock(rate_hz)
        self._is_wanted = is_wanted
        self._publish = publish
        self._recording: Simulation | None = None  # that records the next step for this sampler

    def next_ns(self, step_ns: int) -> int:
        """Return the time of the next step that ``after_step`` must be called for, in [ns].

        Args:
            step_ns: Time step, in [ns]. The step before a sample is needed to record that.
        """
        due_ns = self._ticks.due_ns
        return due_ns if self._recording is not None else due_ns - step_ns

    def restart(self, time_ns: int) -> None:
        """Continue from another time, in [ns]."""
        self._ticks.wait(time_ns)

    def after_step(self, simulation: Simulation) -> None:
        """Publish the contacts of the last step if they are due; called after steps.

        After each step, or at least after those of ``next_ns``.
        """
        time_ns = simulation.engine.time_ns
        is_due = self._ticks.is_due(time_ns)
        if self._recording is simulation and is_due:
            points = simulation.contacts()
            self._publish(points, _forces_on_movable(points, simulation))
        next_ns = time_ns + simulation.engine.settings.step_ns
        wanted = self._ticks.due_ns <= next_ns and self._is_wanted()
        if (self._recording is simulation) != wanted:
            simulation.record_contacts(self, wanted)
            self._recording = simulation if wanted else None


def _forces_on_movable(points: ContactPoints, simulation: Simulation) -> Array:
    static = {name for name, simulated in simulation.bodies.items() if simulated.body.is_static}
    reversed_ = np.array([a in static and b not in static for a, b in points.bodies], dtype=bool)
    force: Array = np.where(reversed_[:, np.newaxis], -points.force, points.force)
    return force
