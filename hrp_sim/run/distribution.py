"""Distribute the readings of a run to its consumers, such as topics, a recording and a viewer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Protocol

from ..engine.schedule import NEVER_NS
from ..render import Parts
from ..sensors import CameraSensor, ImageReading, Reading, RenderRequest
from ..simulation import Simulation
from .render_thread import RenderThread
from .runner import Change, Runner


class Consumer(Protocol):
    """Uses the readings of a run; all methods but ``take_image`` are called by its thread."""

    def wants(self, simulation: Simulation, sensor: str) -> bool:
        """Return whether a sensor should be read; called each time before it is read."""

    def wanted_parts(self, camera: str) -> Parts:
        """Return the parts to render of an image for which ``wants`` was true."""

    def next_ns(self, simulation: Simulation) -> int:
        """Return the time of the next step that must be taken even without readings, in [ns]."""

    def take_step(self, time_ns: int, readings: Mapping[str, Reading]) -> None:
        """Take the readings of a step to this time, in [ns].

        Called after each step with readings, and at least after those of ``next_ns``.

        Instead of images there are ``RenderRequest``; the images follow. There may be readings
        that only other consumers want.
        """

    def take_image(self, camera: str, image: ImageReading) -> None:
        """Take an image; called in the render thread. Parts that nobody wants are missing."""


class Distribution:
    """Distributes readings to consumers, and renders each image once for all of them.

    Sensors that no consumer wants are not read.

    Args:
        simulation: The simulation; it must defer images.
        read_all: Whether all sensors are read, also without a consumer. Images are still rendered
            for consumers only.

    Attributes:
        keeps_images: Whether the run waits for the rendering of images. Otherwise a new request of
            a camera replaces one that waits.
    """

    def __init__(self, simulation: Simulation, *, read_all: bool = False) -> None:
        self._consumers: tuple[Consumer, ...] = ()
        self.keeps_images = False
        self._read_all = read_all
        self._time_ns = 0
        self._render_thread = RenderThread(self._take_image)
        self._follow(simulation)

    def add(self, consumer: Consumer) -> None:
        """Add a consumer; to be called before the run, or in its thread."""
        self._consumers = (*self._consumers, consumer)
        self._follow(self._simulation)

    def remove(self, consumer: Consumer) -> None:
        """Remove a consumer; to be called after the run, or in its thread."""
        self._consumers = tuple(c for c in self._consumers if c is not consumer)
        self._follow(self._simulation)

    def serve(self, runner: Runner) -> None:
        """Follow the resets of a run and the replacements of its simulation."""
        runner.on_change.insert(0, partial(self._follow_change, runner))

    def publish(self, time_ns: int, readings: Mapping[str, Reading]) -> None:
        """Give the readings of one step to all consumers; called after steps."""
        self._time_ns = time_ns
        for name, reading in readings.items():
            if isinstance(reading, RenderRequest):
                self._render(name, reading)
        for consumer in self._consumers:
            consumer.take_step(time_ns, readings)

    def next_ns(self) -> int:
        """Return the time of the next step that must be published even without readings."""
        return min((c.next_ns(self._simulation) for c in self._consumers), default=NEVER_NS)

    def finish_images(self) -> None:
        """Wait until all images were taken; called after the run."""
        self._render_thread.finish()

    def close(self) -> None:
        """End the render thread; called after the run."""
        self._render_thread.close()

    def _follow(self, simulation: Simulation) -> None:
        self._simulation = simulation
        if self._read_all:
            simulation.wanted = lambda _: True
        elif len(self._consumers) == 1:  # called often
            simulation.wanted = partial(self._consumers[0].wants, simulation)
        else:
            simulation.wanted = partial(self._is_wanted, simulation)

    def _is_wanted(self, simulation: Simulation, sensor: str) -> bool:
        return any(consumer.wants(simulation, sensor) for consumer in self._consumers)

    def _follow_change(self, runner: Runner, change: Change) -> None:
        simulation = runner.simulation
        if simulation is not self._simulation:
            self._follow(simulation)
        time_ns = simulation.state.time_ns
        if time_ns < self._time_ns or change in (Change.RESET, Change.REPLACE):
            self._render_thread.clear()
        self._time_ns = time_ns

    def _render(self, name: str, request: RenderRequest) -> None:
        """Request the parts of an image that consumers want."""
        simulation = self._simulation
        camera = simulation.sensors.get(name)
        if not isinstance(camera, CameraSensor):
            return
        wanted = [c.wanted_parts(name) for c in self._consumers if c.wants(simulation, name)]
        parts = Parts(any(p.color for p in wanted), any(p.depth for p in wanted))
        if wanted:
            render = partial(camera.render, request, parts)
            self._render_thread.submit(name, render, after_others=self.keeps_images)

    def _take_image(self, camera: str, image: ImageReading) -> None:
        for consumer in self._consumers:
            consumer.take_image(camera, image)
