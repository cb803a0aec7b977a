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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import PosixPath
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
import rich

from ..diagnostics import MissingLibraryError
from ..printable import printable
from ..program.console import print_note, print_text
from ..rigid import Array, Pose
from ..shapes.extents import BodyPoses, Extents, Ground, Viewpoint, first_viewpoint
from ..shapes.measure import BoundingBox
from .address import DEFAULT_PORT, LOOPBACK, check_address, is_own_page, page_url, port_refused
from .browser import CAMERA_ORDER, TOOLBAR, BrowserPages
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
    from viser import (
        CameraHandle,
        ClientHandle,
        GuiApi,
        GuiButtonHandle,
        GuiInputHandle,
        InitialCameraConfig,
        ViserServer,
    )
    from viser.infra import WebsockClientConnection, WebsockServer


_POLICY_VIOLATION = 1008  # RFC 6455, 7.4.1
# Difference of positions that are equal, relative to the distance: pages round them.
_TOLERANCE = 1e-3
_MAX_POSITIONS = 100
_SMOOTHING = 0.2  # [s] after which a camera has followed two thirds of the way
_MAX_PASSED = 0.1  # [s] between two steps of a camera
_SWITCHED: tuple[Literal["gray"], Literal["blue"]] = ("gray", "blue")  # colours of a button
_PATIENCE = 0.4  # [s] for which a camera that somebody moves is left alone
_Value = TypeVar("_Value")
# Relative to the distance of what is looked at; nearer points of scans would cover it.
_NEAREST = 1.0 / 40.0
_FIELD_OF_VIEW = np.radians(45.0)  # vertical
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


class View(Enum):
    """Places from which a camera can look at its subject."""

    FIT = "Fit"
    FRONT = "Front"
    SIDE = "Side"
    TOP = "Top"


@dataclass(frozen=True, eq=False)
class Subject:
    """What cameras look at.

    Attributes:
        center: In the world, in [m], shape (3,).
        radius: Of a ball that contains it, in [m].
        heading: Angle of its front about the vertical, in [rad].
    """

    center: Array
    radius: float
    heading: float = 0.0


@dataclass
class _PageCamera:
    """The camera of a page.

    Attributes:
        follows: Whether it moves with the subject.
        button: Shows and switches this; None where the subject does not move.
        center: Position of the subject, smoothed, that the camera has followed to.
        look_at: Point in the centre of the picture, from there, in [m], shape (3,).
        offset: Of the camera from that point, in [m], shape (3,).
        set: Positions that the camera was given; pages report them late.
        time: Of the last step, in [s].
        free_at: When somebody who moves the camera has probably finished, in [s].
    """

    follows: bool
    button: GuiButtonHandle | None
    center: Array
    look_at: Array
    offset: Array
    set: deque[Array]
    time: float = 0.0
    free_at: float = 0.0

    def turn(self, center: Array, initial: InitialCameraConfig) -> None:
        """Begin with a camera, which was set for a position of the subject."""
        look_at = np.array(initial.look_at)
        self.center, self.look_at = center, look_at - center
        self.offset = np.array(initial.position) - look_at


class PageCameras:
    """Moves the cameras of pages: all to a place, and each by the buttons of its page.

    Args:
        server: Serves the pages.
    """

    def __init__(self, server: ViserServer) -> None:
        self._server = server
        # Pages report their camera late, so it may be at an earlier one of these.
        self._set: deque[Array] = deque(maxlen=_MAX_POSITIONS)
        # By page: whether its camera is where it was set; none at first, as viser's first reports
        # are of a camera that was not set yet.
        self._is_ours: dict[int, bool] = {}
        self._pages: dict[int, _PageCamera] = {}
        self._subject: Subject | None = None
        self._start: Array | None = None  # centre of the subject for which the cameras were set
        self._follows = False
        server.on_client_connect(self._on_page)
        server.on_client_disconnect(self._on_page_gone)

    def move(self, position: Array, look_at: Array, near: float, far: float) -> None:
        """Move cameras, except those that somebody has moved; new pages begin there.

        Args:
            position: Of the camera, in [m], shape (3,).
            look_at: Point in the centre of its image, in [m], shape (3,).
            near: Nearest visible distance along the view, in [m].
            far: Farthest one, in [m].
        """
        self._set.append(position)
        cameras: list[CameraHandle | InitialCameraConfig] = [self._server.initial_camera]
        for key, page in self._server.get_clients().items():
            if self._is_ours.get(key, True):
                cameras.append(page.camera)
        for camera in cameras:
            camera.position, camera.look_at = position, look_at
            camera.near, camera.far = near, far

    def begin(self, subject: Subject, *, follows: bool) -> None:
        """Offer buttons and keys that turn cameras to a subject, which they look at already.

        A second call is for another subject, to which cameras have moved.

        Args:
            subject: At present.
            follows: Whether it moves: cameras follow it until somebody switches this off.
        """
        is_first = self._start is None
        self._subject, self._start, self._follows = subject, subject.center, follows
        for key, page in self._server.get_clients().items():
            if key not in self._pages:
                self._add_buttons(page, subject.center)
            elif self._is_ours.get(key, True):
                self._pages[key].turn(subject.center, self._server.initial_camera)
        if not is_first:
            return
        gui = self._server.gui
        gui.add_html(TOOLBAR, order=CAMERA_ORDER - 0.5)  # ends the row of buttons before
        if follows:
            gui.add_command("Follow", hotkey="F").on_trigger(lambda e: self._switch(e.client_id))
        gui.add_command("Fit", hotkey="0").on_trigger(lambda e: self._view(e.client_id, View.FIT))
        gui.add_command("Front", hotkey="1").on_trigger(
            lambda e: self._view(e.client_id, View.FRONT)
        )
        gui.add_command("Side", hotkey="2").on_trigger(lambda e: self._view(e.client_id, View.SIDE))
        gui.add_command("Top", hotkey="3").on_trigger(lambda e: self._view(e.client_id, View.TOP))

    def follow(self, subject: Subject, now: float, *, is_held: bool = False) -> None:
        """Move the cameras that follow the subject a step toward it.

        Args:
            subject: At present.
            now: Of the steady clock, in [s].
            is_held: Whether cameras stay where they are, as while somebody pulls the subject.
        """
        self._subject = subject
        clients = self._server.get_clients()
        for key, camera in tuple(self._pages.items()):
            passed, camera.time = min(now - camera.time, _MAX_PASSED), now
            if not camera.follows or is_held or now < camera.free_at or key not in clients:
                continue
            if key not in self._is_ours:
                continue
            gain = 1.0 - np.exp(-passed / _SMOOTHING)
            step = gain * (subject.center - camera.center)
            if np.linalg.norm(step) > _TOLERANCE * 0.1 * np.linalg.norm(camera.offset):
                camera.center = camera.center + step
                self._place(clients[key], camera)

    def _switch(self, page: int | None) -> None:
        """Begin or end to follow the subject, which moves to the centre of the picture."""
        camera = None if page is None else self._pages.get(page)
        if camera is None or camera.button is None:
            return
        camera.follows = not camera.follows
        camera.button.color = _SWITCHED[camera.follows]
        if camera.follows:
            camera.center, camera.look_at = camera.center + camera.look_at, np.zeros(3)

    def _view(self, page: int | None, view: View) -> None:
        """Show the whole subject from a place."""
        clients, subject = self._server.get_clients(), self._subject
        if page not in clients or page not in self._pages or subject is None:
            return
        camera, client = self._pages[page], clients[page]
        cosine, sine = np.cos(subject.heading), np.sin(subject.heading)
        direction = {
            View.FIT: camera.offset,
            View.FRONT: np.array([cosine, sine, 0.25]),
            View.SIDE: np.array([sine, -cosine, 0.25]),
            View.TOP: np.array([-0.01 * cosine, -0.01 * sine, 1.0]),
        }[view]
        half = np.arctan(np.tan(_FIELD_OF_VIEW / 2.0) * min(1.0, client.camera.aspect))
        distance = 1.1 * subject.radius / np.sin(half)
        camera.center, camera.look_at = subject.center, np.zeros(3)
        camera.offset = distance * direction / np.linalg.norm(direction)
        self._is_ours.setdefault(page, True)
        self._place(client, camera)

    def _place(self, client: ClientHandle, camera: _PageCamera) -> None:
        look_at = camera.center + camera.look_at
        position = look_at + camera.offset
        camera.set.append(position)
        with client.atomic():
            client.camera.position, client.camera.look_at = position, look_at

    def _on_page(self, page: ClientHandle) -> None:
        if self._start is not None:
            self._add_buttons(page, self._start)
        page.camera.on_update(lambda camera: self._on_report(page.client_id, camera))

    def _add_buttons(self, page: ClientHandle, start: Array) -> None:
        key, button = page.client_id, None
        if self._follows:
            color = _SWITCHED[True]
            button = page.gui.add_button("Follow", color=color, order=CAMERA_ORDER)
            button.on_click(lambda _: self._switch(key))
        made, zero = deque[Array](maxlen=_MAX_POSITIONS), np.zeros(3)
        self._pages[key] = camera = _PageCamera(self._follows, button, zero, zero, zero, made)
        camera.turn(start, self._server.initial_camera)
        for i, view in enumerate(View):
            other = page.gui.add_button(view.value, color="gray", order=CAMERA_ORDER + 1 + i)
            other.on_click(lambda _, view=view: self._view(key, view))  # type: ignore[misc]

    def _on_page_gone(self, page: ClientHandle) -> None:
        self._is_ours.pop(page.client_id, None)
        self._pages.pop(page.client_id, None)

    def _on_report(self, page: int, camera: CameraHandle) -> None:
        own = self._pages.get(page)
        given = [*self._set, *(() if own is None else own.set)]
        tolerance = _TOLERANCE * np.linalg.norm(camera.position - camera.look_at)
        if any(np.linalg.norm(camera.position - p) < tolerance for p in given):
            self._is_ours[page] = True
        elif page in self._is_ours:
            self._is_ours[page] = False
            if own is not None:
                own.offset = camera.position - camera.look_at
                own.look_at = camera.look_at - own.center
                own.free_at = time.monotonic() + _PATIENCE


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
        self.server.initial_camera.fov = _FIELD_OF_VIEW
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
    return float(1.25 * radius / np.sin(_FIELD_OF_VIEW / 2.0))


def set_value(field: GuiInputHandle[_Value], value: _Value) -> None:
    """Set the value of a part of the control panel; its callbacks are called."""
    field.value = value  # type: ignore[misc]  # mypy takes its property for read-only


def quaternion_wxyz(xyzw: tuple[float, float, float, float]) -> Array:
    """Return a quaternion (x, y, z, w) in the order of the scene, (w, x, y, z), shape (4,)."""
    x, y, z, w = xyzw
    return np.array([w, x, y, z])
