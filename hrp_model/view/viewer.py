"""A page in the browser: a server with a 3D scene and a control panel."""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
import webbrowser
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import rich

from ..program.console import print_note, print_text
from ..rigid import Array, Pose
from ..shapes.measure import BoundingBox
from .address import DEFAULT_PORT, LOOPBACK, check_address, page_url, port_refused
from .html import escaped, padded
from .page_cameras import PageCameras
from .server import PageServer

if TYPE_CHECKING:
    from viser import GuiInputHandle

_Value = TypeVar("_Value")
_FIELD_OF_VIEW = np.radians(45.0)  # vertical
_VIEW_DIRECTION = np.array([1.0, -0.85, 0.5])  # from the robot to the camera: it faces +x
_FAREWELL = 0.2  # [s] in which the last message reaches the browsers


class Viewer:
    """Shows a scene to every browser that opens its address; all of them share one state.

    Everybody who reaches the port sees the page and can use its controls; by default that is
    this machine alone. Pages of other servers, which run in the same browsers, are refused. The
    page loads nothing from anywhere else. rich's global console, to which viser prints, is
    silenced for good.

    Attributes:
        server: The server; parts of the page are added to its ``scene`` and ``gui``.
        port: The port that it listens on.

    Args:
        port: The port; by default ``DEFAULT_PORT``, or the next one that is free. 0 takes any.
        host: Address of the network interface to listen on.

    Raises:
        UsageError: The given port is in use or may not be used, or the host is not an address
            of this machine.
    """

    def __init__(self, port: int | None = None, host: str = LOOPBACK) -> None:
        rich.get_console().quiet = True
        wanted = DEFAULT_PORT if port is None else port
        check_address(host, port or 0)
        self._host = host
        self.server = PageServer(host, wanted)
        self.port = self.server.get_port()
        self._is_other = self.port != wanted and wanted != 0
        self._closing = threading.Lock()
        self._is_open = True
        if self._is_other and port is not None:
            self.close("")
            raise port_refused(port, os.strerror(errno.EADDRINUSE))
        self.server.gui.configure_theme(
            control_width="large", show_logo=False, show_share_button=False
        )
        self.server.gui.main_panel.dock_right()
        self.server.scene.set_up_direction("+z")
        self.server.initial_camera.fov = _FIELD_OF_VIEW
        self._cameras = PageCameras(self.server)
        self.look_at(BoundingBox(-np.ones(3), np.ones(3)))

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    @property
    def address(self) -> str:
        """The URL of the page."""
        return page_url(self._host, self.port)

    @property
    def is_watched(self) -> bool:
        """Whether any browser shows the page."""
        return bool(self.server.get_clients())

    def print_address(self) -> None:
        """Print the address on standard output."""
        other = f"  (port {DEFAULT_PORT} is in use)" if self._is_other else ""
        print_text(f"view: {self.address}{other}")

    def open_browser(self) -> None:
        """Open the page in the default browser, if there is a display."""
        if sys.platform == "linux" and not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
            print_note("there is no display: open the address in a browser")
            return
        # A browser may take long to start.
        threading.Thread(target=webbrowser.open, args=[self.address], daemon=True).start()

    def look_at(self, box: BoundingBox, viewpoint: Pose | None = None) -> None:
        """Let pages show a part of the scene, with a floor grid of its size.

        Pages whose camera somebody has moved keep it.

        Args:
            box: In the world, in [m].
            viewpoint: Pose of the camera in the world, which looks along -Z; by default one from
                which the whole box is visible.
        """
        radius = max(box.radius, 1e-3)
        distance = 1.25 * radius / np.sin(_FIELD_OF_VIEW / 2.0)
        direction = _VIEW_DIRECTION / np.linalg.norm(_VIEW_DIRECTION)
        position, centre = box.center + distance * direction, box.center
        if viewpoint is not None:
            ahead = -viewpoint.R[:, 2]
            position = viewpoint.p
            centre = position + max(float(ahead @ (box.center - position)), radius) * ahead
        far = max(1000.0, 200.0 * distance)
        self._cameras.move(position, centre, near=distance / 200.0, far=far)
        section = 10.0 ** np.floor(np.log10(2.0 * radius))
        self.server.scene.add_grid(
            "/floor",
            infinite_grid=True,
            cell_size=section / 10.0,
            section_size=section,
            cell_color=(215, 215, 215),
            section_color=(165, 165, 165),
            fade_distance=30.0 * radius,
        )

    def close(self, message: str = "The program that served it has ended.") -> None:
        """Tell open pages that the server ends, and stop it; a second call does nothing.

        Args:
            message: Shown in the pages; empty for none.
        """
        with self._closing:
            if not self._is_open:
                return
            self._is_open = False
            if message and self.is_watched:
                with self.server.gui.add_modal("This page is no longer updated"):
                    self.server.gui.add_html(padded(escaped(message)))
                self.server.flush()
                time.sleep(_FAREWELL)
            with suppress(RuntimeError):  # its loop may have ended with the interpreter
                self.server.stop()


def set_value(field: GuiInputHandle[_Value], value: _Value) -> None:
    """Set the value of a part of the control panel; its callbacks are called."""
    field.value = value  # type: ignore[misc]  # mypy takes its property for read-only


def quaternion_wxyz(xyzw: tuple[float, float, float, float]) -> Array:
    """Return a quaternion (x, y, z, w) in the order of the scene, (w, x, y, z), shape (4,)."""
    x, y, z, w = xyzw
    return np.array([w, x, y, z])
