"""Sliders in the panel that command the joints of a body, with their present positions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import degrees, inf
from typing import TYPE_CHECKING

from hrp_model import JointType, Link
from hrp_model.view.html import padded
from hrp_model.view.joint_sliders import slider_marks, slider_range
from hrp_model.view.robot import label_text
from hrp_model.view.viewer import Viewer, set_value

from ..engine.state import SimulatedBody
from ..simulation import Simulation
from .pulling import SOURCE
from .snapshot import Snapshot

if TYPE_CHECKING:
    from viser import GuiDropdownHandle, GuiEvent, GuiSliderHandle

MAX_SLIDERS = 200
_PERIOD = 0.2  # [s] of wall time between two updates of the positions
_NONE = "-"


class JointTargets:
    """Sliders of one body at a time, in the panel's present container.

    A slider that the user has not moved follows the target of its joint, which others command.

    All but the callbacks of the sliders is called in the viewer's thread.

    Args:
        viewer: The page.
    """

    def __init__(self, viewer: Viewer) -> None:
        self._gui = viewer.server.gui
        self._body: GuiDropdownHandle[str] = self._gui.add_dropdown("Robot", (_NONE,))
        self._none = self._gui.add_html(padded("No body has moving joints."), visible=False)
        self._folder = self._gui.add_folder(None)
        self._simulation: Simulation | None = None
        self._bodies: Mapping[str, SimulatedBody] = {}
        self._shown: SimulatedBody | None = None
        self._sliders: list[tuple[int, Link, GuiSliderHandle[float]]] = []
        self._moved: set[str] = set()  # joints whose sliders the user has moved
        self._drawn = -inf

    def follow(self, simulation: Simulation) -> None:
        """Offer the bodies of a simulation whose joints can be commanded."""
        if simulation is not self._simulation or simulation.bodies is not self._bodies:
            self._simulation, self._bodies = simulation, simulation.bodies
            movable = [k for k, s in self._bodies.items() if s.body.moving_links]
            self._body.options = tuple(movable) or (_NONE,)
            self._body.visible = len(movable) > 1
            self._none.visible = not movable
        shown = self._bodies.get(self._body.value)
        if shown is not self._shown:
            self._shown = shown
            self._make_sliders()

    def draw(self, snapshot: Snapshot, now: float) -> None:
        """Show the present positions and targets, if it is time.

        Args:
            snapshot: The state of the run.
            now: Of the steady clock, in [s].
        """
        poses = None if self._shown is None else snapshot.bodies.get(self._shown.name)
        if poses is None or poses.simulated is not self._shown or now < self._drawn + _PERIOD:
            return
        self._drawn = now
        for index, link, slider in self._sliders:
            label = _label(link, float(poses.q[index]))
            if slider.label != label:
                slider.label = label
            target = min(max(float(self._shown.drive.q[index]), slider.min), slider.max)
            if link.joint.name not in self._moved and abs(target - slider.value) > slider.step:
                set_value(slider, target)

    def restart(self) -> None:
        """Let all sliders follow the targets of their joints, as after a reset."""
        self._moved.clear()
        self._drawn = -inf

    def _make_sliders(self) -> None:
        for _, _, slider in self._sliders:
            slider.remove()
        self._sliders = []
        self._moved.clear()
        if self._shown is None:
            return
        with self._folder:
            for index, link in enumerate(self._shown.body.moving_links[:MAX_SLIDERS]):
                slider = self._slider(link, float(self._shown.drive.q[index]))
                slider.on_update(partial(self._command, self._shown.name, link.joint.name))
                self._sliders.append((index, link, slider))

    def _slider(self, link: Link, value: float) -> GuiSliderHandle[float]:
        lower, upper, step = slider_range(link, value)
        unit = link.joint.type.units.position
        return self._gui.add_slider(
            _label(link, value), lower, upper, step, value,
            marks=slider_marks(link, lower, upper),
            hint=f"target in [{unit}]; the present position is on the left",
        )  # fmt: skip

    def _command(self, body: str, joint: str, event: GuiEvent[GuiSliderHandle[float]]) -> None:
        simulation = self._simulation
        if event.client_id is None or simulation is None:
            return  # not by the user
        self._moved.add(joint)
        try:
            simulation.command(body, {joint: float(event.target.value)}, source=SOURCE)
        except (KeyError, ValueError) as error:  # the body was removed, for instance
            if event.client is not None:
                event.client.add_notification("Not possible", str(error), color="orange")


def _label(link: Link, position: float) -> str:
    """Return the name of a joint and its present position."""
    is_angle = link.joint.type is JointType.REVOLUTE
    number = round(degrees(position), 1) if is_angle else round(position, 4)
    return f"{label_text(link.joint.name)} {number + 0.0:g}{'°' if is_angle else ' m'}"
