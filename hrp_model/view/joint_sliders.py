"""Sliders for the joints of a robot."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from math import ceil, degrees, floor, isinf, log10, pi
from typing import TYPE_CHECKING

import numpy as np

from ..body import Body, JointType, Link
from ..description.closed_loops import ClosedLoops
from ..diagnostics import Diagnostics
from ..frames import body_frames
from ..kinematics.loops import loop_closures, mimic_joints
from ..printable import printable
from ..program.body_text import joint_words
from ..rigid import Array
from .viewer import set_value

if TYPE_CHECKING:
    from viser import GuiApi, GuiSliderHandle

MAX_SLIDERS = 200  # more make a browser slow
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
    """

    def __init__(
        self,
        gui: GuiApi,
        body: Body,
        on_move: Callable[[], None],
        positions: Mapping[str, float] | None = None,
    ) -> None:
        self._body, self._on_move = body, on_move
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
                    self._values[name] = min(max(value, slider.min), slider.max)
                    set_value(slider, self._values[name])
                    slider.label = _label(self._body.link(name), self._values[name])
            self._complete()
        self._on_move()

    def _slider(self, gui: GuiApi, link: Link, value: float) -> GuiSliderHandle[float]:
        lower, upper, step = slider_range(link, value)
        slider: GuiSliderHandle[float] = gui.add_slider(
            _label(link, value), lower, upper, step, value, hint=printable(joint_words(link)),
            marks=slider_marks(link, lower, upper),
        )  # fmt: skip
        slider.on_update(lambda _: self._on_slider(link, slider))
        return slider

    def _on_slider(self, link: Link, slider: GuiSliderHandle[float]) -> None:
        with self._lock:
            value = min(max(float(slider.value), slider.min), slider.max)
            if value == self._values[link.name]:
                return  # we have set it, or a later event has been processed
            self._values[link.name] = value
            slider.label = _label(link, value)
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


def _label(link: Link, value: float) -> str:
    """Return the name of a joint; with a revolute joint's position in degrees."""
    name = printable(link.joint.name)
    if link.joint.type is not JointType.REVOLUTE:
        return name
    # The page breaks lines after hyphens, but not after minus signs.
    return f"{name} {degrees(value):.0f}°".replace(" -", " \N{MINUS SIGN}")


def slider_range(link: Link, value: float) -> tuple[float, float, float]:
    """Return the lower and upper end of a joint's slider and its step, in [rad] or [m].

    The ends are the limits of the joint, rounded to few digits within them; the position to start
    from is within, too.
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
    digits = 3 if upper <= lower else max(3, 3 - floor(log10(upper - lower)))
    scale = 10.0**digits
    inner = ceil(lower * scale - 1e-6) / scale, floor(upper * scale + 1e-6) / scale
    if inner[0] <= inner[1]:
        lower, upper = inner
    return min(lower, value), max(upper, value), 1.0 / scale


def slider_marks(link: Link, lower: float, upper: float) -> tuple[tuple[float, str], ...]:
    """Return the marks of a joint's slider: its ends, and the unit between them."""
    unit = link.joint.type.units.position
    if lower == upper:
        return ((lower, f"{lower:.4g} {unit}"),)
    return (lower, f"{lower:.4g}"), ((lower + upper) / 2.0, unit), (upper, f"{upper:.4g}")


def _followers(body: Body) -> set[str]:
    """Return the links whose joints follow from others."""
    closures, _ = loop_closures(body)
    dependent = {body.moving_links[i].name for c in closures for i in c.dependent.tolist()}
    return dependent | set(mimic_joints(body, closures))
