"""A page in the browser: a server with a 3D scene and a control panel."""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import numpy as np
import rich

from ..diagnostics import MissingLibraryError
from ..program.command import UsageError
from ..program.console import print_text
from ..rigid import Array
from ..shapes.measure import BoundingBox
from .html import escaped, padded

try:
    import viser
except ImportError:
    raise MissingLibraryError(
        "the viewer needs viser: pip install 'hrp_ros[view]', or pip install viser"
    ) from None

if TYPE_CHECKING:
    from viser import GuiInputHandle
    from viser.infra import WebsockClientConnection

_Value = TypeVar("_Value")
LOOPBACK = "127.0.0.1"
DEFAULT_PORT = 8080
_LOCAL_NAMES = ("localhost", LOOPBACK)
_POLICY_VIOLATION = 1008  # RFC 6455, 7.4.1
_EVERYWHERE = ("0.0.0.0", "::", "")  # hosts that mean all addresses of the machine
_FIELD_OF_VIEW = np.radians(45.0)  # vertical
_VIEW_DIRECTION = np.array([1.0, -0.85, 0.5])  # from the robot to the camera: it faces +x
_FAREWELL = 0.2  # [s] in which the last message reaches the browsers


class _Server(viser.ViserServer):
    """A server that contacts nobody, and that pages of other servers cannot use."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host=host, port=port, verbose=False)
        connections = self._websock_server._live_connections

        @self._websock_server.on_client_connect
        async def _(client: WebsockClientConnection) -> None:
            """Close the connection of a foreign page before anything is sent."""
            connection = connections.get(client.client_id)
            if connection is None or connection.request is None:
                return
            headers = connection.request.headers
            if not _is_own_page(headers.get("Origin"), headers.get("Host", ""), host):
                await connection.close(_POLICY_VIOLATION, "This page belongs to another server.")

    def request_share_url(self, verbose: bool = True) -> str | None:  # noqa: ARG002
        """Refuse: a browser may ask for an address on a public server."""
        return None


def _is_own_page(origin: str | None, host: str, listening: str) -> bool:
    """Return whether a page that connects was served by this server.

    Browsers let every page connect to every server (RFC 6455, 10.2), and a foreign name may lead
    to this machine.

    Args:
        origin: The server of the page; None if no page connects, but a program.
        host: Name and port by which the server was reached.
        listening: Address that the server listens on.
    """
    if origin is None:
        return True
    is_name_known = listening != LOOPBACK or urlsplit(f"//{host}").hostname in _LOCAL_NAMES
    return is_name_known and urlsplit(origin).netloc == host


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
        _check_address(host, port or 0)
        self._host = host
        self.server = _Server(host, wanted)
        self.port = self.server.get_port()
        self._is_other = self.port != wanted and wanted != 0
        self._closing = threading.Lock()
        self._is_open = True
        if self._is_other and port is not None:
            self.close("")
            raise _refused(port, os.strerror(errno.EADDRINUSE))
        self.server.gui.configure_theme(
            control_width="large", show_logo=False, show_share_button=False
        )
        self.server.gui.main_panel.dock_right()
        self.server.scene.set_up_direction("+z")
        self.server.initial_camera.fov = _FIELD_OF_VIEW
        self.look_at(BoundingBox(-np.ones(3), np.ones(3)))

    def __enter__(self) -> Viewer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def address(self) -> str:
        """The URL of the page."""
        host = "localhost" if self._host in (LOOPBACK, *_EVERYWHERE) else self._host
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def is_watched(self) -> bool:
        """Whether any browser shows the page."""
        return bool(self.server.get_clients())

    def print_address(self) -> None:
        """Print the address on standard output."""
        other = f"  (port {DEFAULT_PORT} is in use)" if self._is_other else ""
        print_text(f"view: {self.address}{other}")

    def look_at(self, box: BoundingBox) -> None:
        """Let pages show a part of the scene when they are opened, with a floor grid of its size.

        Args:
            box: In the world, in [m].
        """
        radius = max(box.radius, 1e-3)
        distance = 1.25 * radius / np.sin(_FIELD_OF_VIEW / 2.0)
        camera = self.server.initial_camera
        direction = _VIEW_DIRECTION / np.linalg.norm(_VIEW_DIRECTION)
        camera.position = box.center + distance * direction
        camera.look_at = box.center
        camera.near, camera.far = distance / 200.0, max(1000.0, 200.0 * distance)
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


def _refused(port: int, reason: str) -> UsageError:
    return UsageError(
        f"--port {port}: {reason}; choose another port, or leave the option out to take a free one"
    )


def _check_address(host: str, port: int) -> None:
    """Raise an error for an address that the server could not listen on: it would not return."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
            probe.bind(address)
    except (OSError, UnicodeError) as error:
        if isinstance(error, OSError) and error.errno in (errno.EADDRINUSE, errno.EACCES):
            raise _refused(port, error.strerror) from None
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"--host {host}: cannot listen on this address: {reason}") from None
