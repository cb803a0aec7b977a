"""A page in the browser: a server with a 3D scene and a control panel.

The server is viser's, closed to foreign pages; only this module uses private parts of viser. The
cameras of open pages follow the scene until somebody moves them.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
import webbrowser
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import rich

from ..diagnostics import MissingLibraryError
from ..printable import printable
from ..program.console import print_note, print_text
from ..rigid import Array, Pose
from ..shapes.measure import BoundingBox
from .address import DEFAULT_PORT, LOOPBACK, check_address, is_own_page, page_url, port_refused
from .browser import BrowserPages
from .html import escaped, padded

try:
    import viser
except ImportError:
    raise MissingLibraryError(
        "the viewer needs viser: pip install 'hrp_ros[view]', or pip install viser"
    ) from None

if TYPE_CHECKING:
    from viser import (
        CameraHandle,
        ClientHandle,
        GuiApi,
        GuiInputHandle,
        InitialCameraConfig,
        ViserServer,
    )
    from viser.infra import WebsockClientConnection, WebsockServer


_POLICY_VIOLATION = 1008  # RFC 6455, 7.4.1
# Difference of positions that are equal, relative to the distance: pages round them.
_TOLERANCE = 1e-3
_MAX_POSITIONS = 100
_Value = TypeVar("_Value")
_FIELD_OF_VIEW = np.radians(45.0)  # vertical
_VIEW_DIRECTION = np.array([1.0, -0.85, 0.5])  # from the robot to the camera: it faces +x
_PANEL_WIDTH = 330  # pixels
_FAREWELL = 0.2  # [s] in which the last message reaches the browsers


def websocket_server(server: viser.ViserServer) -> WebsockServer:
    """Return the part of a server that pages connect to, with its private ``_live_connections``.

    Raises:
        MissingLibraryError: The installed version of viser does not have them.
    """
    try:
        found = server._websock_server
        _ = found._live_connections
    except AttributeError as error:
        raise MissingLibraryError(
            f"the viewer cannot use viser {viser.__version__} ({error}): "
            "pip install --upgrade 'hrp_ros[view]'"
        ) from None
    return found


class PageServer(viser.ViserServer):
    """A server that contacts nobody, and that pages of other servers cannot use.

    Args:
        host: Address of the network interface to listen on.
        port: The port, or the next one that is free; 0 takes any.

    Raises:
        MissingLibraryError: The installed version of viser does not fit.
    """

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host=host, port=port, verbose=False)
        try:
            websockets = websocket_server(self)
        except MissingLibraryError:
            self.stop()
            raise

        @websockets.on_client_connect
        async def _(client: WebsockClientConnection) -> None:
            """Close the connection of a foreign page before anything is sent."""
            connection = websockets._live_connections.get(client.client_id)
            if connection is None or connection.request is None:
                return
            headers = connection.request.headers
            if not is_own_page(headers.get("Origin"), headers.get("Host", ""), host):
                await connection.close(_POLICY_VIOLATION, "This page belongs to another server.")

        websockets.disconnect_all_clients()  # who came before this check connects again

    def request_share_url(self, verbose: bool = True) -> str | None:  # noqa: ARG002
        """Refuse: a browser may ask for an address on a public server."""
        return None


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


class Viewer:
    """Shows a scene to every browser that opens its address; all of them share one state.

    Everybody who reaches the port sees the page and can use its controls; by default that is
    this machine alone. Pages of other servers, which run in the same browsers, are refused. The
    page loads nothing from anywhere else. rich's global console, to which viser prints, is
    silenced for good.

    Attributes:
        server: The server; parts of the page are added to its ``scene`` and ``gui``.
        pages: What runs in the browsers, and what it reports.
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
        set_theme(self.server.gui, dark=False)
        self.server.gui.main_panel.dock_right()
        self.server.gui.main_panel.set_width(_PANEL_WIDTH)
        self.pages = BrowserPages(self.server, self._set_dark)
        self.server.scene.set_up_direction("+z")
        self.server.initial_camera.fov = _FIELD_OF_VIEW
        self._cameras = PageCameras(self.server)
        self.look_at(BoundingBox(-np.ones(3), np.ones(3)))

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def set_title(self, title: str) -> None:
        """Set the title of the pages and of their panel."""
        shown = printable(title)
        self.server.gui.set_panel_label(shown)
        self.pages.set_title(shown)

    def _set_dark(self, page: int, dark: bool) -> None:
        client = self.server.get_clients().get(page)
        if client is not None:
            set_theme(client.gui, dark=dark)

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


def set_theme(gui: GuiApi, *, dark: bool) -> None:
    """Set the theme of all pages, or of one."""
    gui.configure_theme(
        control_width="medium", show_logo=False, show_share_button=False, dark_mode=dark
    )


def set_value(field: GuiInputHandle[_Value], value: _Value) -> None:
    """Set the value of a part of the control panel; its callbacks are called."""
    field.value = value  # type: ignore[misc]  # mypy takes its property for read-only


def quaternion_wxyz(xyzw: tuple[float, float, float, float]) -> Array:
    """Return a quaternion (x, y, z, w) in the order of the scene, (w, x, y, z), shape (4,)."""
    x, y, z, w = xyzw
    return np.array([w, x, y, z])
