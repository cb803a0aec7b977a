"""The page of one model: the robot, its joints, its tree and its problems."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..body import Body
from ..diagnostics import Diagnostic
from ..kinematics.kinematic_state import KinematicState
from ..late_dataclass import dataclass
from ..printable import printable
from .html import SELECTION_LABEL, escaped, padded, style
from .joint_sliders import DEGREES, DEGREES_HINT, MAX_SLIDERS, JointSliders, is_angle
from .lists import (
    heading,
    link_details,
    link_list,
    link_of,
    problem_badge,
    problem_count,
    problem_list,
)
from .robot import Layer, RobotView
from .sensor_views import DeviceViews
from .viewer import Viewer, set_value

if TYPE_CHECKING:
    from viser import (
        GuiButtonGroupHandle,
        GuiCheckboxHandle,
        GuiEvent,
        GuiFolderHandle,
        GuiHtmlHandle,
    )

_LAYERS = {layer.value: layer for layer in Layer}
_SENSORS = "sensors"
_SHOWN_FIRST = (Layer.VISUAL.value, _SENSORS)
_INSIDE = "often inside the visual shapes: hide these to see it"
_HINTS = {
    Layer.INERTIA.value: "solid boxes with the mass and the inertia of the links",
    Layer.CENTERS_OF_MASS.value: f"of the links, and in red of the whole model; {_INSIDE}",
    Layer.FRAMES.value: f"x red, y green, z blue; {_INSIDE}",
}
_INITIAL, _ZERO = "initial posture", "zero"
_SELECTION_HINT = "click a link in the scene or in the list, or type its name"
_NOTHING_SELECTED = padded("Click a link in the scene or in the list.")


@dataclass(frozen=True)
class _Shown:
    """The model in the page."""

    robot: RobotView
    devices: DeviceViews
    sliders: JointSliders
    folder: GuiFolderHandle  # of the sliders
    loop_problem: GuiHtmlHandle
    state: KinematicState


class ModelViewer:
    """Shows one model in a page, and after a change the next state of it.

    Attributes:
        selected: Name of the selected link, or None.

    Args:
        viewer: The page.
        title: What is shown, such as the name of the file.
    """

    def __init__(self, viewer: Viewer, title: str) -> None:
        self._viewer, self._gui = viewer, viewer.server.gui
        self._lock = threading.RLock()
        self.selected: str | None = None
        self._shown: _Shown | None = None
        self._add_panel(title)

    @property
    def positions(self) -> dict[str, float]:
        """Positions of the moving joints by link name, in [rad] or [m]."""
        return {} if self._shown is None else dict(self._shown.sliders.positions)

    def show(self, body: Body, found: Sequence[Diagnostic]) -> None:
        """Show a model instead of the last one; joints keep their positions by name.

        Args:
            body: The model.
            found: Its problems and notes.
        """
        with self._lock, self._viewer.server.atomic():
            before, positions = self._shown, self.positions
            if before is not None:
                before.robot.remove()
                before.folder.remove()
            self._shown = shown = self._added(body, positions)
            self._move()
            for name, switch in self._switches.items():
                self._show(name, switch.value)
            self._heading.content = heading(body)
            self._links.content = link_list(body)
            self._show_problems(body, found, _notes(shown))
            names = {link.name for link in body.links}
            self._select(self.selected if self.selected in names else None)
            box = shown.robot.bounds()
            if before is None and box is not None:
                first = next(iter(body.viewpoints), None)
                self._viewer.look_at(box, None if first is None else first.X_MV)
                self._viewer.cameras.begin(shown.robot.subject(), follows=False)
            else:
                self._viewer.cameras.follow(shown.robot.subject(), time.monotonic())

    def show_problems(self, found: Sequence[Diagnostic]) -> None:
        """Show why the model could not be read; the last good one stays."""
        with self._lock:
            kept = () if self._shown is None else ("The last model without errors is shown.",)
            self._show_problems(None, found, kept)

    def select(self, link: str | None) -> None:
        """Highlight a link and show its properties; None selects none."""
        with self._lock:
            if self._shown is not None and link != self.selected:
                self._select(link)

    def _add_panel(self, title: str) -> None:
        gui = self._gui
        self._viewer.set_title(title)
        self._heading = gui.add_html(padded(f"reading {escaped(title)} ..."))
        self._badge = gui.add_html("", visible=False)
        tabs = gui.add_tab_group()
        with tabs.add_tab("Joints"):
            self._in_degrees = gui.add_checkbox(DEGREES, True, hint=DEGREES_HINT)
            self._joints = gui.add_folder(None)
        with tabs.add_tab("Show"):
            self._switches: dict[str, GuiCheckboxHandle] = {}
            for name in (*_LAYERS, _SENSORS):
                switch = gui.add_checkbox(name, name in _SHOWN_FIRST, hint=_HINTS.get(name))
                switch.on_update(self._on_switch(name))
                self._switches[name] = switch
        with tabs.add_tab("Links"):
            self._style = gui.add_html(style(None))
            self._selection = gui.add_text(SELECTION_LABEL, "", hint=_SELECTION_HINT)
            self._details = gui.add_html("")
            self._links = gui.add_html("")
        with tabs.add_tab("Problems"):
            self._problems = gui.add_html("")
        self._selection.on_update(lambda _: self._on_selection())
        self._in_degrees.on_update(lambda _: self._on_degrees())

    def _added(self, body: Body, positions: Mapping[str, float]) -> _Shown:
        """Add the parts of the page that depend on the model."""
        sliders = self._added_sliders(body, positions)
        robot = RobotView(self._viewer, "robot", body, on_select=self.select)
        return _Shown(robot, DeviceViews(self._viewer, robot), *sliders, KinematicState(body))

    def _added_sliders(
        self, body: Body, positions: Mapping[str, float]
    ) -> tuple[JointSliders, GuiFolderHandle, GuiHtmlHandle]:
        """Return sliders, the folder that contains them, and the place for problems of loops."""
        self._in_degrees.visible = any(is_angle(link) for link in body.moving_links)
        with self._joints:
            folder = self._gui.add_folder(None)
        with folder:
            if body.moving_links:
                buttons = self._gui.add_button_group("set to", (_INITIAL, _ZERO))
            else:
                buttons = None
                self._gui.add_html(padded("no moving joints"))
            loop_problem = self._gui.add_html("")
            in_degrees = self._in_degrees.value
            sliders = JointSliders(self._gui, body, self._on_move, positions, in_degrees)

        def set_all(event: GuiEvent[GuiButtonGroupHandle]) -> None:
            if event.target.value == _ZERO:
                sliders.set_zero()
            else:
                sliders.reset()

        if buttons is not None:
            buttons.on_click(set_all)
        return sliders, folder, loop_problem

    def _on_degrees(self) -> None:
        """Make the sliders again, with angles in the unit that was chosen."""
        with self._lock:
            shown = self._shown
            if shown is None:
                return
            positions = dict(shown.sliders.positions)
            shown.folder.remove()
            sliders, folder, loop_problem = self._added_sliders(shown.robot.body, positions)
            self._shown = replace(shown, sliders=sliders, folder=folder, loop_problem=loop_problem)

    def _on_move(self) -> None:
        with self._lock:
            self._move()

    def _move(self) -> None:
        shown = self._shown
        if shown is not None:
            shown.state.q = shown.sliders.vector()
            shown.state.calc_forward_kinematics()
            shown.robot.move(shown.state.p, shown.state.R)
            shown.loop_problem.content = padded(escaped(shown.sliders.problem))

    def _on_switch(self, name: str) -> Callable[[GuiEvent[GuiCheckboxHandle]], None]:
        def switch(event: GuiEvent[GuiCheckboxHandle]) -> None:
            with self._lock:
                self._show(name, event.target.value)

        return switch

    def _show(self, name: str, on: bool) -> None:
        """Show or hide a layer or the sensors."""
        if self._shown is None:
            return
        if name == _SENSORS:
            self._shown.devices.show(on)
        else:
            self._shown.robot.show(_LAYERS[name], on)

    def _on_selection(self) -> None:
        """Select the link whose name is in the text field."""
        with self._lock:
            if self._shown is None:
                return
            links = self._shown.robot.body.links
            names = {printable(link.name): link.name for link in reversed(links)}
            name = self._selection.value
            if name in names or not name:
                self.select(names.get(name))

    def _select(self, link: str | None) -> None:
        if self._shown is None:
            return
        body = self._shown.robot.body
        self.selected = link
        self._shown.robot.select(link)
        self._style.content = style(link)
        self._details.content = (
            _NOTHING_SELECTED if link is None else link_details(body, body.link(link))
        )
        set_value(self._selection, "" if link is None else printable(link))

    def _show_problems(
        self, body: Body | None, found: Sequence[Diagnostic], notes: Sequence[str]
    ) -> None:
        count = f"<b>{escaped(problem_count(found))}</b>"
        links = problem_list(found, lambda problem: link_of(problem, body), notes)
        self._problems.content = padded(count) + links
        self._badge.content = problem_badge(found, "Problems", len(notes))
        self._badge.visible = bool(self._badge.content)


def _notes(shown: _Shown) -> list[str]:
    """Return what the page does not show of a model."""
    notes = list(shown.robot.meshes.notes)
    if shown.sliders.left_out:
        text = f"{shown.sliders.left_out} joints beyond the first {MAX_SLIDERS} have no slider"
        notes.append(text)
    return notes
