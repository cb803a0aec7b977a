"""Sliders for the joints of a robot."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from math import ceil, degrees, floor, isinf, log10, pi
from typing import TYPE_CHECKING

import numpy as np

from ..body import Body, JointType, Link
from ..diagnostics import Diagnostics
from ..frames import body_frames
from ..kinematics.loops import loop_closures, mimic_joints
from ..kinematics.loops.mimic import ClosedLoops
from ..late_dataclass import dataclass
from ..printable import printable
from ..program.body_text import joint_words
from ..rigid import Array
from .viewer import set_value

if TYPE_CHECKING:
    from viser import GuiApi, GuiSliderHandle

MAX_SLIDERS = 200  # more make a browser slow
DEGREES, DEGREES_HINT = "degrees", "angles in degrees, or else in radians"
_UNLIMITED = {JointType.REVOLUTE: pi, JointType.PRISMATIC: 1.0}
_MAX_POSITION = 1e6  # of a slider, in [rad] or [m]


class JointSliders:
    """Sliders for the independent joints; mimic joints and closed loops follow.

    Attributes:
        positions: Of all moving joints by link name, in [rad] or [m].
        problem: Why loops are open at these positions; empty if they are closed.
        left_out: Number of joints without a slider.

    Args:
        gui: The control panel, in the current container of which they are added.
        body: The robot.
        on_move: Called in a thread of the server after positions have changed.
        positions: Positions to start from by link name; other joints are where the model
            starts.
        in_degrees: Whether angles are shown in degrees.
    """

    def __init__(
        self,
        gui: GuiApi,
        body: Body,
        on_move: Callable[[], None],
        positions: Mapping[str, float] | None = None,
        in_degrees: bool = True,
    ) -> None:
        self._body, self._on_move, self._in_degrees = body, on_move, in_degrees
        self._lock = threading.RLock()
        frames = body_frames(body, Diagnostics.silent())
        self._joint_names = frames.joints
        self._loops = ClosedLoops(body, frames)
        followers = _followers(body)
        free = [link for link in body.moving_links if link.name not in followers]
        self.left_out = max(0, len(free) - MAX_SLIDERS)
        self._initial = {link.name: link.joint.initial for link in free}
        before = positions or {}
        self._values = {name: before.get(name, q) for name, q in self._initial.items()}
        self.positions: dict[str, float] = {}
        self.problem = ""
        self._scales: dict[str, SliderScale] = {}
        self._shown: dict[str, float] = {}  # numbers of the sliders, which are rounded
        self._sliders = {
            link.name: self._slider(gui, link, self._values[link.name])
            for link in free[:MAX_SLIDERS]
        }
        self._complete()

    def vector(self) -> Array:
        """Return the positions of all moving joints, in the order of joint vectors."""
        with self._lock:
            return np.array([self.positions[link.name] for link in self._body.moving_links])

    def reset(self) -> None:
        """Move all joints to the initial posture of the model."""
        self._set(self._initial)

    def set_zero(self) -> None:
        """Move all joints to zero, or to the limit that is nearest to it."""
        self._set(dict.fromkeys(self._initial, 0.0))

    def _set(self, positions: Mapping[str, float]) -> None:
        with self._lock:
            for name, value in positions.items():
                self._values[name] = value
                slider = self._sliders.get(name)
                if slider is not None:
                    scale = self._scales[name]
                    self._shown[name] = scale.shown(value)
                    self._values[name] = scale.clipped(value)
                    set_value(slider, self._shown[name])
            self._complete()
        self._on_move()

    def _slider(self, gui: GuiApi, link: Link, value: float) -> GuiSliderHandle[float]:
        scale = self._scales[link.name] = slider_scale(link, value, self._in_degrees)
        shown = self._shown[link.name] = scale.shown(value)
        slider: GuiSliderHandle[float] = gui.add_slider(
            printable(link.joint.name), scale.lower, scale.upper, scale.step, shown,
            marks=(), hint=f"{printable(joint_words(link))}, in [{scale.unit}]",
        )  # fmt: skip
        slider.on_update(lambda _: self._on_slider(link, slider))
        return slider

    def _on_slider(self, link: Link, slider: GuiSliderHandle[float]) -> None:
        with self._lock:
            if slider.value == self._shown[link.name]:
                return  # we have set it, or a later event has been processed
            self._shown[link.name] = slider.value
            self._values[link.name] = self._scales[link.name].value(slider.value)
            self._complete()
        self._on_move()

    def _complete(self) -> None:
        """Compute the positions of the joints that follow."""
        names = self._joint_names
        completed = self._loops.complete({names[k]: v for k, v in self._values.items()})
        self.problem = "; ".join(completed.problems)
        self.positions = {
            link.name: completed.positions.get(names[link.name], link.joint.initial)
            for link in self._body.moving_links
        }


def is_angle(link: Link) -> bool:
    """Return whether the position of a joint is an angle, which can be shown in degrees."""
    return link.joint.type is JointType.REVOLUTE


@dataclass(frozen=True)
class SliderScale:
    """The numbers that a slider shows.

    Attributes:
        lower, upper, step: Ends and step of the slider, in the shown unit.
        factor: Shown unit by SI unit.
        unit: The shown unit.
    """

    lower: float
    upper: float
    step: float
    factor: float
    unit: str

    def shown(self, value: float) -> float:
        """Return a value in [rad] or [m] as it is shown: rounded, within the slider."""
        steps = round(self.factor * value / self.step)
        return min(max(round(steps * self.step, 9), self.lower), self.upper)

    def clipped(self, value: float) -> float:
        """Return a value in [rad] or [m] that is within the slider."""
        return min(max(value, self.lower / self.factor), self.upper / self.factor)

    def value(self, shown: float) -> float:
        """Return a shown number, which a page may have sent, in [rad] or [m]."""
        return min(max(float(shown), self.lower), self.upper) / self.factor


def slider_scale(link: Link, value: float, in_degrees: bool) -> SliderScale:
    """Return the numbers of a joint's slider, with the position to start from within."""
    if in_degrees and is_angle(link):
        return SliderScale(*slider_range(link, value, degrees(1.0), 1), degrees(1.0), "°")
    return SliderScale(*slider_range(link, value), 1.0, link.joint.type.units.position)


def slider_range(
    link: Link, value: float, factor: float = 1.0, digits: int = 3
) -> tuple[float, float, float]:
    """Return the lower and upper end of a joint's slider and its step, in [rad] or [m].

    The ends are the limits of the joint, rounded to few digits within them; the position to start
    from is within, too.

    Args:
        link: Above which the joint is.
        value: Its position, in [rad] or [m].
        factor: By which all returned numbers are multiplied.
        digits: Decimals to which they are rounded; more where the range is small.
    """
    default = _UNLIMITED[link.joint.type]
    lower, upper = link.joint.position_limits
    lower = max(-default if isinf(lower) else lower, -_MAX_POSITION)
    upper = min(default if isinf(upper) else upper, _MAX_POSITION)
    if lower > upper:  # one end is not limited, and the other beyond the default
        lower, upper = (
            (lower, lower + default)
            if isinf(link.joint.position_limits[1])
            else (upper - default, upper)
        )
    lower, upper = factor * lower, factor * upper
    if upper > lower:
        digits = max(digits, 3 - floor(log10(upper - lower)))
    scale = 10.0**digits
    inner = ceil(lower * scale - 1e-6) / scale, floor(upper * scale + 1e-6) / scale
    if inner[0] <= inner[1]:
        lower, upper = inner
    return min(lower, factor * value), max(upper, factor * value), 1.0 / scale


def _followers(body: Body) -> set[str]:
    """Return the links whose joints follow from others."""
    closures, _ = loop_closures(body)
    dependent = {body.moving_links[i].name for c in closures for i in c.dependent.tolist()}
    return dependent | set(mimic_joints(body, closures))
