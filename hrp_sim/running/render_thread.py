"""Develops pictures in a thread of its own, so that physics need not wait for them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from ..render import RendererUnavailable
from ..sensors import ImageReading

_log = logging.getLogger("hrp_sim")

# Draws an exposure; RendererUnavailable ends it all, other errors this image.
Develop = Callable[[], ImageReading]


class RenderThread:
    """A thread that renders. Of each camera only the newest exposure waits.

    The images of a camera come in the order of their exposures. What is handed in, dropped
    and closed is so by one thread, that of the physics. A camera whose images fail is an
    error in the log, said once, and none to the others.

    Args:
        on_image: Called in the render_thread's thread with a camera's name and each of its images.
    """

    def __init__(self, on_image: Callable[[str, ImageReading], None]) -> None:
        self._on_image = on_image
        self._waiting: dict[str, Develop] = {}
        self._generation = 0  # of what is drawn; an image of an earlier one is dropped
        self._closing = False
        self._failed: set[str] = set()  # cameras whose failure was told
        self._changed = threading.Condition()
        self._handing_out = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="render_thread", daemon=True)
        self._thread.start()

    def submit(self, camera: str, develop: Develop) -> None:
        """Hand over an exposure. One of the same camera that still waits is dropped."""
        with self._changed:
            self._waiting[camera] = develop
            self._changed.notify()

    def clear(self) -> None:
        """Drop all that was handed over: afterwards no image comes of it, not even the one in hand.

        For when time begins anew.
        """
        with self._changed:
            self._waiting.clear()
            self._generation += 1
        with self._handing_out:
            pass  # one that was on its way out has arrived now

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
                develop = self._waiting.pop(camera)
                generation = self._generation
            try:
                image = develop()
                with self._handing_out:
                    if generation == self._generation:
                        self._on_image(camera, image)
            except RendererUnavailable as error:
                _log.error("there will be no images: %s", error)
                return
            except Exception as error:
                self._tell_failure(camera, error)

    def _tell_failure(self, camera: str, error: Exception) -> None:
        """Say why an image of a camera is missing; that of those to come is likely the same."""
        if camera not in self._failed:
            self._failed.add(camera)
            _log.error("images of '%s' are missing", camera, exc_info=error)
