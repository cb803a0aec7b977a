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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import PosixPath
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import rich

from ..diagnostics import MissingLibraryError
from ..printable import printable
from ..program.console import print_note, print_text
from ..rigid import Array, Pose
from ..shapes.extents import BodyPoses, Extents, Ground, Viewpoint, first_viewpoint
from ..shapes.measure import BoundingBox
from .address import DEFAULT_PORT, LOOPBACK, check_address, is_own_page, page_url, port_refused
from .browser import BrowserPages
from .cameras import FIELD_OF_VIEW, PageCameras
from .html import SCENE_END, escaped, padded
from .surroundings import add_background, add_floor, add_light

try:
    import viser
    import viser.infra
except ImportError:
    raise MissingLibraryError(
        "the viewer needs viser: pip install 'hrp_ros[view]', or pip install viser"
    ) from None

if TYPE_CHECKING:
    from viser import GuiApi, GuiInputHandle
    from viser.infra import WebsockClientConnection, WebsockServer


_POLICY_VIOLATION = 1008  # RFC 6455, 7.4.1
_Value = TypeVar("_Value")
# Relative to the distance of what is looked at; nearer points of scans would cover it.
_NEAREST = 1.0 / 40.0
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


class _PageFile(PosixPath):
    """A file of viser's page, whose document ends with a script of ours."""

    def read_bytes(self) -> bytes:
        content = super().read_bytes()
        return content + SCENE_END.encode() if self.suffix == ".html" else content


class _FileServer(viser.infra.WebsockServer):
    """Serves the files of the page as ``_PageFile``."""

    def start(self) -> None:
        root = getattr(self, "_http_server_root", None)
        if root is not None:
            self._http_server_root = _PageFile(root)
        super().start()


_replacing = threading.Lock()


@contextmanager
def _own_files() -> Iterator[None]:
    """Let viser make servers with our files, which it has no option for."""
    with _replacing:
        original = viser.infra.WebsockServer
        viser.infra.WebsockServer = _FileServer  # type: ignore[misc]
        try:
            yield
        finally:
            viser.infra.WebsockServer = original  # type: ignore[misc]


class PageServer(viser.ViserServer):
    """A server that contacts nobody, and that pages of other servers cannot use.

    Args:
        host: Address of the network interface to listen on.
        port: The port, or the next one that is free; 0 takes any.

    Raises:
        MissingLibraryError: The installed version of viser does not fit.
    """

    def __init__(self, host: str, port: int) -> None:
        with _own_files():
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


class Viewer:
    """Shows a scene to every browser that opens its address; all of them share one state.

    Everybody who reaches the port sees the page and can use its controls; by default that is
    this machine alone. Pages of other servers, which run in the same browsers, are refused. The
    page loads nothing from anywhere else. rich's global console, to which viser prints, is
    silenced for good.

    Attributes:
        server: The server; parts of the page are added to its ``scene`` and ``gui``.
        pages: What runs in the browsers, and what it reports.
        cameras: The cameras of the pages.
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
        add_light(self.server.scene)
        self.server.initial_camera.fov = FIELD_OF_VIEW
        self.cameras = PageCameras(self.server)
        self.look_at(BoundingBox(-np.ones(3), np.ones(3)))

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def set_title(self, title: str) -> None:
        """Set the title of the pages."""
        self.pages.set_title(printable(title))

    def _set_dark(self, page: int, dark: bool) -> None:
        client = self.server.get_clients().get(page)
        if client is not None:
            set_theme(client.gui, dark=dark)
            add_background(client.scene, dark=dark)

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

    def look_at(
        self,
        box: BoundingBox,
        viewpoint: Pose | Viewpoint | None = None,
        ground: Ground | None = None,
    ) -> None:
        """Let pages show a part of the scene, with a floor of its size.

        Pages whose camera somebody has moved keep it.

        Args:
            box: In the world, in [m].
            viewpoint: Direction to look from, or pose of the camera in the world, which looks
                along -Z; by default the direction ``Viewpoint()``.
            ground: Height of the floor; by default below the box and not above zero.
        """
        radius = max(box.radius, 1e-3)
        seen_from = viewpoint if isinstance(viewpoint, Viewpoint) else Viewpoint()
        distance = seen_from.distance or fitting_distance(radius)
        position, centre = box.center + distance * seen_from.backward, box.center
        if isinstance(viewpoint, Pose):
            ahead = -viewpoint.R[:, 2]
            position = viewpoint.p
            centre = position + max(float(ahead @ (box.center - position)), radius) * ahead
        far = max(1000.0, 200.0 * distance)
        self.cameras.move(position, centre, near=_NEAREST * distance, far=far)
        ground = ground or Ground(min(0.0, float(box.low[2])))
        add_floor(self.server.scene, radius, ground)

    def begin(self, extents: Extents, poses: BodyPoses, points: Array) -> None:
        """Let pages begin with a view of the robots of a world; arguments as of its parts."""
        outer_walls = extents.outer_walls(poses)
        box = BoundingBox(points.min(axis=0), points.max(axis=0))
        viewpoint = first_viewpoint(
            extents,
            poses,
            points,
            lambda _: fitting_distance(max(box.radius, 1e-3)),
            lambda _: outer_walls,
        )
        self.look_at(box, viewpoint, extents.ground(poses))

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


def fitting_distance(radius: float) -> float:
    """Return the distance at which a sphere is in the picture of a page, in [m]."""
    return float(1.25 * radius / np.sin(FIELD_OF_VIEW / 2.0))


def set_value(field: GuiInputHandle[_Value], value: _Value) -> None:
    """Set the value of a part of the control panel; its callbacks are called."""
    field.value = value  # type: ignore[misc]  # mypy takes its property for read-only


def quaternion_wxyz(xyzw: tuple[float, float, float, float]) -> Array:
    """Return a quaternion (x, y, z, w) in the order of the scene, (w, x, y, z), shape (4,)."""
    x, y, z, w = xyzw
    return np.array([w, x, y, z])
