"""The drive pad of a page: keys and buttons that drive a vehicle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hrp_model.kinematics.drive import drive_limits
from hrp_model.kinematics.vehicle import vehicle_drive
from hrp_model.view.browser import DRIVE_ORDER, PageState, drive_button
from hrp_model.view.viewer import Viewer, set_value

from ..control import vehicle_command
from ..engine.state import SimulatedBody
from ..simulation import Simulation
from .scene import SOURCE

if TYPE_CHECKING:
    from viser import GuiSliderHandle

_SPEED, _MAX_SPEED = 0.6, 3.0  # of a slider, in [m/s]
_SHARE = 0.9  # of the speed that the wheels can reach
_RAMP = 0.4  # [s] until the vehicle is as fast as wanted
_HELP = "W A S D or the arrow keys drive"
# A page reports several times a second while a key is held; one that does not has gone, in [s].
_PATIENCE = 1.0
_PAD = (
    f'<div class="hrp-pad" title="{_HELP}"><span></span>{drive_button(1, 0, "▲", "forward")}'
    f"<span></span>{drive_button(0, 1, '◀', 'turn left')}{drive_button(-1, 0, '▼', 'backward')}"
    f"{drive_button(0, -1, '▶', 'turn right')}</div>"
)


class DrivePad:
    """Drives one vehicle with keys and buttons, as the page that pressed one last wants.

    ``report`` is called in the server's event loop, the others in the viewer's thread.

    Args:
        viewer: The page.
    """

    def __init__(self, viewer: Viewer) -> None:
        gui = viewer.server.gui
        self._pad = gui.add_html(_PAD, order=DRIVE_ORDER, visible=False)
        self._limit: GuiSliderHandle[float] = gui.add_slider(
            "Drive m/s", 0.05, _MAX_SPEED, 0.05, _SPEED, marks=(), order=DRIVE_ORDER + 1,
            visible=False, hint=f"speed while a button of the pad is held; {_HELP}",
        )  # fmt: skip
        self._vehicle: SimulatedBody | None = None
        self._turn = 1.0  # [rad/s] at full speed, by the speed in [m/s]
        self._simulation: Simulation | None = None
        self._bodies: object = None  # those offered, and the one that is commanded
        self._shown: SimulatedBody | None = None
        # By page, the time of its last report, and what it wants; replaced, never changed.
        self._wanted: Mapping[int, tuple[float, tuple[float, float]]] = {}
        self._clock = 0.0
        self._speed = (0.0, 0.0)  # as commanded, from -1 to 1
        self._time: float | None = None  # of the last command; None while it is not driven
        viewer.pages.on_report(self.report)

    def follow(self, simulation: Simulation, shown: SimulatedBody | None) -> None:
        """Drive the body that is commanded if it is a vehicle, else the first one."""
        if simulation.bodies is self._bodies and shown is self._shown:
            return
        self._bodies, self._shown = simulation.bodies, shown
        bodies = [*([] if shown is None else [shown]), *simulation.bodies.values()]
        vehicles = [x for x in bodies if not isinstance(vehicle_drive(x.body), str)]
        self._vehicle = vehicles[0] if vehicles else None
        self._pad.visible = self._limit.visible = bool(vehicles)
        if vehicles:
            self._set_speeds(vehicles[0])

    def draw(self, simulation: Simulation, now: float) -> None:
        """Command the vehicle, if it is driven.

        Args:
            simulation: Of the vehicle.
            now: Of the steady clock, in [s].
        """
        self._clock = now
        vehicle = self._vehicle
        held = [way for reported, way in self._wanted.values() if now < reported + _PATIENCE]
        wanted = held[-1] if held else (0.0, 0.0)
        if vehicle is None or (self._time is None and wanted == (0.0, 0.0)):
            return
        passed = 0.0 if self._time is None else now - self._time
        step = max(passed, 0.03) / _RAMP
        self._speed = (
            _toward(self._speed[0], wanted[0], step), _toward(self._speed[1], wanted[1], step)
        )  # fmt: skip
        self._time = None if self._speed == (0.0, 0.0) and wanted == (0.0, 0.0) else now
        self._simulation = simulation
        self._command(vehicle)

    def stop(self) -> None:
        """Let go of all buttons, and halt the vehicle, as nobody looks."""
        self._wanted = {}
        if self._vehicle is not None and self._time is not None:
            self._time, self._speed = None, (0.0, 0.0)
            self._command(self._vehicle)

    def _command(self, vehicle: SimulatedBody) -> None:
        ahead = self._limit.value * self._speed[0]
        turn = self._limit.value * self._turn * self._speed[1]
        if self._simulation is None:
            return
        try:
            command = vehicle_command(vehicle.body, ahead, turn)
            self._simulation.command(vehicle.name, command, source=SOURCE)
        except (KeyError, ValueError):  # it was removed
            self._time = None

    def _set_speeds(self, vehicle: SimulatedBody) -> None:
        limits = drive_limits(vehicle.body)
        radius = max(limits.track / 1.5, limits.min_radius, 1e-3)
        self._turn = min(1.0 / radius, 3.0)
        self._limit.max = max(0.1, min(_MAX_SPEED, _SHARE * limits.speed))
        set_value(self._limit, min(_SPEED, self._limit.max))

    def report(self, page: int, state: PageState) -> None:
        """Keep what a page wants; the one that has changed its mind last comes last."""
        before = self._wanted.get(page)
        others = {k: v for k, v in self._wanted.items() if k != page}
        if state.drive is None:
            self._wanted = others
        elif before is not None and before[1] == state.drive:
            self._wanted = {**self._wanted, page: (self._clock, state.drive)}
        else:
            self._wanted = {**others, page: (self._clock, state.drive)}


def _toward(now: float, wanted: float, step: float) -> float:
    return min(max(wanted, now - step), now + step)
