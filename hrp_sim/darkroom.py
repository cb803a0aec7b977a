"""Develops camera exposures in a thread of its own, so that physics never waits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from .render import RendererUnavailable
from .sensors import CameraSensor, Exposure, ImageReading

_log = logging.getLogger("hrp_sim")


class Darkroom:
    """A thread that renders. Of each camera only the newest exposure waits.

    Args:
        cameras: By the names under which their exposures will come.
        on_image: Called in that thread with a camera's name and each of its images, in order.
    """

    def __init__(
        self,
        cameras: Mapping[str, CameraSensor],
        on_image: Callable[[str, ImageReading], None],
    ) -> None:
        self._cameras = dict(cameras)
        self._on_image = on_image
        self._waiting: dict[str, Exposure] = {}
        self._closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="darkroom", daemon=True)
        self._thread.start()

    def submit(self, name: str, exposure: Exposure) -> None:
        """Hand over an exposure. One of the same camera that still waits is dropped."""
        with self._changed:
            self._waiting[name] = exposure
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
                name = next(iter(self._waiting))
                exposure = self._waiting.pop(name)
            try:
                image = self._cameras[name].develop(exposure)
            except RendererUnavailable as error:
                _log.error("there will be no images: %s", error)
                return
            self._on_image(name, image)
