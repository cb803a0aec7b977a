"""Commands to the joints of one body: sliders, postures, hands, and the tip of a limb."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import inf, isfinite
from typing import TYPE_CHECKING

import numpy as np

from hrp_model import JointType, Link
from hrp_model.kinematics.vehicle import rolling_wheels
from hrp_model.late_dataclass import dataclass
from hrp_model.printable import printable
from hrp_model.view.html import padded
from hrp_model.view.joint_sliders import (
    DEGREES,
    DEGREES_HINT,
    MAX_SLIDERS,
    SliderScale,
    is_angle,
    slider_scale,
)
from hrp_model.view.limbs import TipHandle, hands_of, limbs_of
from hrp_model.view.robot import label_text
from hrp_model.view.viewer import Viewer, set_value

from ..control.trajectory import JointTrajectory, TrajectoryPoint
from ..engine.state import SimulatedBody
from ..simulation import Simulation
from .controls import try_for
from .scene import SOURCE, BodySnapshot, Snapshot

if TYPE_CHECKING:
    from viser import (
        ClientHandle,
        GuiButtonGroupHandle,
        GuiDropdownHandle,
        GuiEvent,
        GuiSliderHandle,
    )

_LABEL_PERIOD = 0.2  # [s] of wall time between two updates of the positions
_NONE = "-"
_START, _ZERO, _KEEP = "start", "zero", "keep"
_MAX_POSTURES = 8  # that somebody keeps
_OPEN, _CLOSE = "open", "close"
_MOVE_NS = 1_500_000_000  # in which a posture is reached, in [ns]
# End of a slider of speeds where the joint has no limit, and its step, in [rad/s] or [m/s].
_SPEEDS = {JointType.REVOLUTE: (20.0, 0.1), JointType.TRACK: (2.0, 0.01)}


@dataclass(eq=False)
class _Slider:
    """The slider of one joint.

    Attributes:
        link: Above which the joint is.
        index: Of its joint in joint vectors; of a track, that of its link.
        is_speed: Whether it sets a velocity: of wheels and tracks.
        scale: Its numbers.
        handle: In the panel.
    """

    link: Link
    index: int
    is_speed: bool
    scale: SliderScale
    handle: GuiSliderHandle[float]

    def target(self, simulated: SimulatedBody) -> float:
        """Return the present target, in SI units."""
        drive = simulated.drive
        if self.link.joint.type is JointType.TRACK:
            return float(drive.track_speed[self.index])
        return float((drive.dq if self.is_speed else drive.q)[self.index])

    def label(self, poses: BodySnapshot | None) -> str:
        """Return the name of the joint, with its present position."""
        name, unit = label_text(self.link.joint.name), self.scale.unit
        if self.is_speed or poses is None:
            return f"{name} {unit}" if self.is_speed else name
        number = self.scale.factor * float(poses.q[self.index])
        return f"{name} {round(number, 1 if unit == '°' else 3) + 0.0:g}{unit}"


class JointTargets:
    """Sliders of one body at a time, in the panel's present container.

    A slider that the user has not moved follows the target of its joint, which others command.
    Wheels and tracks have sliders of speeds. Buttons move all joints to postures, and hands open
    and close; a handle in the scene moves the tip of a limb.

    All but callbacks is called in the viewer's thread.

    Args:
        viewer: The page.
    """

    def __init__(self, viewer: Viewer) -> None:
        self._viewer, self._gui = viewer, viewer.server.gui
        self._body: GuiDropdownHandle[str] = self._gui.add_dropdown("Robot", (_NONE,))
        self._none = self._gui.add_html(padded("No body has moving joints."), visible=False)
        self._area = self._gui.add_folder(None)
        with self._area:
            self._buttons = self._gui.add_folder(None)
        self._in_degrees = self._gui.add_checkbox(DEGREES, True, hint=DEGREES_HINT, visible=False)
        self._in_degrees.on_update(lambda _: self._change_unit())
        self._folder = self._gui.add_folder(None)
        self._simulation: Simulation | None = None
        self._bodies: Mapping[str, SimulatedBody] = {}
        self._shown: SimulatedBody | None = None
        self._is_changed = False  # the unit
        self._sliders: list[_Slider] = []
        self._moved: set[str] = set()  # joints whose sliders the user has moved
        self._kept: dict[str, dict[str, float]] = {}  # postures by label
        self._limb: GuiDropdownHandle[str] | None = None
        self._tip: tuple[str, TipHandle] | None = None
        self._drawn = -inf
        viewer.server.on_client_disconnect(lambda page: self._release(page.client_id))

    @property
    def shown(self) -> SimulatedBody | None:
        """The body whose joints are commanded, or None."""
        return self._shown

    def follow(self, simulation: Simulation) -> None:
        """Offer the bodies of a simulation whose joints can be commanded."""
        if simulation is not self._simulation or simulation.bodies is not self._bodies:
            self._simulation, self._bodies = simulation, simulation.bodies
            movable = [k for k, s in self._bodies.items() if s.body.jointed_links]
            self._body.options = tuple(movable) or (_NONE,)
            self._body.visible = len(movable) > 1
            self._none.visible = not movable
        shown = self._bodies.get(self._body.value)
        if shown is not self._shown or self._is_changed:
            if shown is not self._shown:
                self._shown = shown
                self._make_buttons()
            self._is_changed = False
            self._make_sliders()

    def draw(self, snapshot: Snapshot, now: float) -> None:
        """Show the present positions and targets, if it is time.

        Args:
            snapshot: The state of the run.
            now: Of the steady clock, in [s].
        """
        simulated = self._shown
        poses = None if simulated is None else snapshot.bodies.get(simulated.name)
        if simulated is None or poses is None or poses.simulated is not simulated:
            return
        self._draw_tip(simulated, poses)
        if now < self._drawn + _LABEL_PERIOD:
            return
        self._drawn = now
        for slider in self._sliders:
            label, handle = slider.label(poses), slider.handle
            if handle.label != label:
                handle.label = label
            target = slider.scale.shown(slider.target(simulated))
            is_free = slider.link.joint.name not in self._moved
            if is_free and abs(target - handle.value) > handle.step:
                set_value(handle, target)

    def restart(self) -> None:
        """Let all sliders follow the targets of their joints, as after a reset."""
        self._moved.clear()
        self._drawn = -inf

    def _change_unit(self) -> None:
        self._is_changed = True

    def _make_buttons(self) -> None:
        """Offer what can be done with the body: postures, hands and limbs."""
        self._buttons.remove()
        self._kept.clear()
        self._limb = None
        self._remove_tip()
        with self._area:
            self._buttons = self._gui.add_folder(None)
        if self._shown is None:
            return
        body = self._shown.body
        with self._buttons:
            if len(body.moving_links) > 1:
                postures = self._gui.add_button_group("Posture", (_START, _ZERO, _KEEP))
                postures.on_click(self._on_posture)
            for name, (opened, closed) in hands_of(body).items():
                hand = self._gui.add_button_group(f"Hand {name}", (_OPEN, _CLOSE))
                hand.on_click(partial(self._on_hand, {_OPEN: opened, _CLOSE: closed}))
            if limbs := limbs_of(body):
                self._limb = self._gui.add_dropdown(
                    "Move tip", (_NONE, *limbs), hint="shows a handle in the scene"
                )

    def _make_sliders(self) -> None:
        for slider in self._sliders:
            slider.handle.remove()
        self._sliders = []
        self._moved.clear()
        simulated = self._shown
        links = () if simulated is None else simulated.body.jointed_links[:MAX_SLIDERS]
        wheels = frozenset[str]() if simulated is None else rolling_wheels(simulated.body)
        self._in_degrees.visible = any(is_angle(x) and x.name not in wheels for x in links)
        if simulated is None:
            return
        with self._folder:
            for link in links:
                is_track = link.joint.type is JointType.TRACK
                is_speed = is_track or link.name in wheels
                body = simulated.body
                index = body.link_index(link.name) if is_track else body.moving_links.index(link)
                value = 0.0 if is_speed else float(simulated.drive.q[index])
                scale = (
                    _speed_scale(link)
                    if is_speed
                    else slider_scale(link, value, self._in_degrees.value)
                )
                self._sliders.append(self._slider(simulated, link, index, is_speed, scale, value))

    def _slider(
        self,
        simulated: SimulatedBody,
        link: Link,
        index: int,
        is_speed: bool,
        scale: SliderScale,
        value: float,
    ) -> _Slider:
        hint = f"target of {printable(link.joint.name)} in [{scale.unit}]"
        handle = self._gui.add_slider(
            label_text(link.joint.name), scale.lower, scale.upper, scale.step, scale.shown(value),
            marks=(), hint=hint if is_speed else f"{hint}; beside the name is the present position",
        )  # fmt: skip
        slider = _Slider(link, index, is_speed, scale, handle)
        slider.handle.label = slider.label(None)
        handle.on_update(partial(self._on_slider, simulated.name, slider))
        return slider

    def _on_slider(
        self, body: str, slider: _Slider, event: GuiEvent[GuiSliderHandle[float]]
    ) -> None:
        simulation, joint = self._simulation, slider.link.joint.name
        if event.client_id is None or simulation is None:
            return  # not by the user
        self._moved.add(joint)
        target = {joint: slider.scale.value(event.target.value)}

        def send() -> None:
            if slider.is_speed:
                simulation.command(body, velocity=target, source=SOURCE)
            else:
                simulation.command(body, target, source=SOURCE)

        _try_command(event.client, send)

    def _on_posture(self, event: GuiEvent[GuiButtonGroupHandle]) -> None:
        simulation, shown = self._simulation, self._shown
        if simulation is None or shown is None:
            return
        chosen = event.target.value
        names = [link.joint.name for link in shown.body.moving_links]
        if chosen == _KEEP:
            if len(self._kept) < _MAX_POSTURES:
                targets = shown.drive.q.tolist()
                self._kept[f"kept {len(self._kept) + 1}"] = dict(zip(names, targets, strict=True))
                event.target.options = (_START, _ZERO, *self._kept, _KEEP)
            return
        if chosen == _START:
            placement = simulation.placements.initial(shown.name)
            posture = dict(zip(names, placement.initial_q.tolist(), strict=True))
        else:
            posture = self._kept.get(chosen, dict.fromkeys(names, 0.0))
        wheels = {shown.body.link(name).joint.name for name in rolling_wheels(shown.body)}
        posture = {k: v for k, v in posture.items() if k not in wheels}
        self._move_to(event.client, shown, posture)

    def _on_hand(
        self, postures: Mapping[str, Mapping[str, float]], event: GuiEvent[GuiButtonGroupHandle]
    ) -> None:
        if self._shown is not None and event.target.value in postures:
            self._move_to(event.client, self._shown, postures[event.target.value])

    def _move_to(
        self, client: ClientHandle | None, shown: SimulatedBody, posture: Mapping[str, float]
    ) -> None:
        """Move joints smoothly to positions, and let their sliders follow."""
        simulation = self._simulation
        if simulation is None:
            return
        self._moved.difference_update(posture)
        zeros = [0.0] * len(posture)
        point = TrajectoryPoint(_MOVE_NS, [*posture.values()], zeros, zeros)
        trajectory = JointTrajectory([*posture], [point])
        _try_command(client, lambda: simulation.command(shown.name, trajectory, source=SOURCE))

    def _draw_tip(self, simulated: SimulatedBody, poses: BodySnapshot) -> None:
        """Show the handle of the limb that is chosen, at its tip."""
        chosen = _NONE if self._limb is None else self._limb.value
        if self._tip is not None and self._tip[0] != chosen:
            self._remove_tip()
        if self._tip is None and chosen != _NONE:
            limb = limbs_of(simulated.body).get(chosen)
            if limb is None:
                return
            size = 0.25 * max(float(np.ptp(poses.p, axis=0).max()), 0.1)
            move = partial(self._on_tip, simulated)
            path = "/tip"
            self._tip = chosen, TipHandle(self._viewer, path, simulated.body, limb, size, move)
        if self._tip is not None:
            self._tip[1].place(poses.p, poses.R, simulated.drive.q)

    def _release(self, page: int) -> None:
        tip = self._tip
        if tip is not None:
            tip[1].release(page)

    def _remove_tip(self) -> None:
        if self._tip is not None:
            self._tip[1].remove()
            self._tip = None

    def _on_tip(
        self, shown: SimulatedBody, client: ClientHandle | None, targets: Mapping[str, float]
    ) -> None:
        simulation = self._simulation
        if simulation is not None:
            self._moved.difference_update(targets)
            _try_command(client, lambda: simulation.command(shown.name, targets, source=SOURCE))


def _try_command(client: ClientHandle | None, command: Callable[[], None]) -> None:
    """Send a command of a user to a body, which may be gone, or refuse a number of a page."""
    try_for(client, command, KeyError, ValueError)


def _speed_scale(link: Link) -> SliderScale:
    """Return the numbers of a slider for the speed of a wheel or track."""
    limit, (usual, step) = link.joint.max_velocity, _SPEEDS[link.joint.type]
    if not (isfinite(limit) and limit > 0.0):
        limit = usual
    ends = round(min(limit, 10.0 * usual) / step) * step
    return SliderScale(-ends, ends, step, 1.0, link.joint.type.units.velocity)
