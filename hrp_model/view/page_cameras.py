"""The cameras of open pages, which follow the scene until somebody moves them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from ..rigid import Array

if TYPE_CHECKING:
    from viser import CameraHandle, ClientHandle, InitialCameraConfig, ViserServer

# Difference of positions that are equal, relative to the distance: pages round them.
_TOLERANCE = 1e-3
_MAX_POSITIONS = 100


class PageCameras:
    """Moves the cameras of all pages, except those that somebody has moved.

    Args:
        server: Serves the pages.
    """

    def __init__(self, server: ViserServer) -> None:
        self._server = server
        # Pages report their camera late, so it may be at an earlier one of these.
        self._set: deque[Array] = deque(maxlen=_MAX_POSITIONS)
        # By page: whether its camera is where it was set; none at first, as viser's first reports
        # are of a camera that was not set yet.
        self._follows: dict[int, bool] = {}
        server.on_client_connect(self._on_page)
        server.on_client_disconnect(self._on_page_gone)

    def move(self, position: Array, look_at: Array, near: float, far: float) -> None:
        """Move cameras; new pages begin there.

        Args:
            position: Of the camera, in [m], shape (3,).
            look_at: Point in the centre of its image, in [m], shape (3,).
            near: Nearest visible distance along the view, in [m].
            far: Farthest one, in [m].
        """
        self._set.append(position)
        cameras: list[CameraHandle | InitialCameraConfig] = [self._server.initial_camera]
        for key, page in self._server.get_clients().items():
            if self._follows.get(key, True):
                cameras.append(page.camera)
        for camera in cameras:
            camera.position, camera.look_at = position, look_at
            camera.near, camera.far = near, far

    def _on_page(self, page: ClientHandle) -> None:
        page.camera.on_update(lambda camera: self._on_report(page.client_id, camera))

    def _on_page_gone(self, page: ClientHandle) -> None:
        self._follows.pop(page.client_id, None)

    def _on_report(self, page: int, camera: CameraHandle) -> None:
        tolerance = _TOLERANCE * np.linalg.norm(camera.position - camera.look_at)
        if any(np.linalg.norm(camera.position - p) < tolerance for p in list(self._set)):
            self._follows[page] = True
        elif page in self._follows:
            self._follows[page] = False
