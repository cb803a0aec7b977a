"""The cameras of pages: they follow a subject, and turn to it by buttons and keys."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from enum import Enum
from math import atan2, cos, hypot, sin
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..late_dataclass import dataclass
from ..rigid import Array
from .browser import CAMERA_ORDER, TOOLBAR

if TYPE_CHECKING:
    from viser import (
        CameraHandle,
        ClientHandle,
        GuiButtonHandle,
        InitialCameraConfig,
        ViserServer,
    )

FIELD_OF_VIEW = np.radians(45.0)  # vertical
# Difference of positions that are equal, relative to the distance: pages round them.
_TOLERANCE = 1e-3
_MAX_POSITIONS = 600  # of 20 s, after which a slow page has reported its camera
_SMOOTHING = 0.2  # [s] after which a camera has followed two thirds of the way
_MAX_PASSED = 0.1  # [s] between two steps of a camera
_SWITCHED: tuple[Literal["gray"], Literal["blue"]] = ("gray", "blue")  # colours of a button
_PATIENCE = 0.4  # [s] for which a camera that somebody moves is left alone
# Angles by which a camera rises to see over what hides the subject, the highest elevation to which
# it does, in [rad], two thirds of the time that it takes, and the time between two looks, in [s].
_LIFTS, _HIGHEST, _RISE, _LOOK_PERIOD = (0.0, 0.3, 0.6, 0.9), 1.4, 0.6, 0.2


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
        lift: Angle by which the camera is above the offset, to see over what hides the subject.
        wanted_lift: To which this goes, both in [rad].
        looked: When it was last seen whether something hides the subject, in [s].
    """

    follows: bool
    button: GuiButtonHandle | None
    center: Array
    look_at: Array
    offset: Array
    set: deque[Array]
    time: float = 0.0
    free_at: float = 0.0
    lift: float = 0.0
    wanted_lift: float = 0.0
    looked: float = 0.0

    def turn(self, center: Array, initial: InitialCameraConfig) -> None:
        """Begin with a camera, which was set for a position of the subject."""
        look_at = np.array(initial.look_at)
        self.center, self.look_at = center, look_at - center
        self.set_offset(np.array(initial.position) - look_at)

    def set_offset(self, offset: Array) -> None:
        """Look from another place."""
        self.offset, self.lift, self.wanted_lift = offset, 0.0, 0.0

    def position(self, lift: float) -> Array:
        """Return where the camera is with a lift in [rad], in [m], shape (3,)."""
        x, y, z = self.offset.tolist()
        around, elevation = hypot(x, y), atan2(z, hypot(x, y))
        found: Array = self.center + self.look_at + self.offset
        if lift > 0.0 and around > 0.0:
            risen = max(elevation, min(elevation + lift, _HIGHEST))
            level = cos(risen) / around
            back = np.array([level * x, level * y, sin(risen)])
            found = self.center + self.look_at + hypot(around, z) * back
        return found

    def look(self, now: float, hides: Callable[[Array], bool]) -> None:
        """Decide at times how far to rise, so that nothing hides the subject."""
        if now < self.looked + _LOOK_PERIOD:
            return
        self.looked = now
        self.wanted_lift = next((x for x in _LIFTS if not hides(self.position(x))), 0.0)


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

    def follow(
        self,
        subject: Subject,
        now: float,
        *,
        is_held: bool = False,
        hides: Callable[[Array], bool] | None = None,
    ) -> None:
        """Move the cameras that follow the subject a step toward it.

        Args:
            subject: At present.
            now: Of the steady clock, in [s].
            is_held: Whether cameras stay where they are, as while somebody pulls the subject.
            hides: Returns whether something hides the subject from a position in [m], shape (3,);
                then cameras rise.
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
            if hides is not None:
                camera.look(now, hides)
            rise = (1.0 - np.exp(-passed / _RISE)) * (camera.wanted_lift - camera.lift)
            least = 0.1 * _TOLERANCE
            if np.linalg.norm(step) > least * np.linalg.norm(camera.offset) or abs(rise) > least:
                camera.center, camera.lift = camera.center + step, camera.lift + rise
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
        half = np.arctan(np.tan(FIELD_OF_VIEW / 2.0) * min(1.0, client.camera.aspect))
        distance = 1.1 * subject.radius / np.sin(half)
        camera.center, camera.look_at = subject.center, np.zeros(3)
        camera.set_offset(distance * direction / np.linalg.norm(direction))
        self._is_ours.setdefault(page, True)
        self._place(client, camera)

    def _place(self, client: ClientHandle, camera: _PageCamera) -> None:
        look_at, position = camera.center + camera.look_at, camera.position(camera.lift)
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
        given = [*reversed(() if own is None else own.set), *reversed(self._set)]
        tolerance = _TOLERANCE * np.linalg.norm(camera.position - camera.look_at)
        if any(np.linalg.norm(camera.position - p) < tolerance for p in given):
            self._is_ours[page] = True
        elif page in self._is_ours:
            self._is_ours[page] = False
            if own is not None:
                own.set_offset(camera.position - camera.look_at)
                own.look_at = camera.look_at - own.center
                own.free_at = time.monotonic() + _PATIENCE
