"""Develops camera exposures in a thread of its own, so that physics never waits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from .sensors import Camera, Exposure, ImageReading

_log = logging.getLogger("hrp_sim")


class Darkroom:
    """A thread that renders. Of each camera only the newest exposure waits.

    Args:
        on_image: Called in that thread with the camera and every image, in order.
    """

    def __init__(self, on_image: Callable[[Camera, ImageReading], None]) -> None:
        self.dropped = 0
        self._on_image = on_image
        self._waiting: dict[Camera, Exposure] = {}
        self._closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="darkroom", daemon=True)
        self._thread.start()

    def submit(self, camera: Camera, exposure: Exposure) -> None:
        """Hand over an exposure. One of the same camera that still waits is dropped."""
        with self._changed:
            self.dropped += camera in self._waiting
            self._waiting[camera] = exposure
            self._changed.notify()

    def close(self) -> None:
        """Finish the image in hand and end the thread; what still waits is dropped."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closing)
                if self._closing:
                    return
                camera = next(iter(self._waiting))
                exposure = self._waiting.pop(camera)
            try:
                image = camera.develop(exposure)
            except RuntimeError as error:
                _log.error("no more images: %s", error)
                return
            self._on_image(camera, image)
