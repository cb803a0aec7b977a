"""Actions: targets of joints as one vector, with its space."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from hrp_model import Body, Joint, JointType
from hrp_model.body import Range
from hrp_model.diagnostics import did_you_mean_or_all, names_with_hint
from hrp_model.rigid import Array

from ...control import ControlMode, JointCommand
from ...control.controller import BodyController
from ...control.conversions import commanded_joints
from ...control.joints import JointTargets
from ...engine.articulation.numeric_limits import MAX_COORDINATE, MAX_SPEED
from ...engine.state import MAX_DRIVE_VALUE

Action = NDArray[np.float32]
Modes = ControlMode | str | Mapping[str, ControlMode | str]
Limits = Mapping[str, tuple[float, float]]
_LARGEST = {  # of the engine
    ControlMode.POSITION: MAX_COORDINATE,
    ControlMode.VELOCITY: MAX_SPEED,
    ControlMode.EFFORT: MAX_DRIVE_VALUE,
}
_ROWS = ControlMode.POSITION, ControlMode.VELOCITY, ControlMode.EFFORT  # of JointTargets.values


class JointActions:
    """Sets targets of the joints of a robot from vectors.

    Args:
        body: The model.
        modes: Control mode of all joints that commands without names are for, or of single
            joints by name, in the order of the vector.
        limits: Lower and upper limit by joint, in the units of its mode, within those of the model
            and of the engine.
        normalized: Whether -1 and 1 stand for the limits.

    Attributes:
        joints: Names of the joints, in the order of the vector.
        modes: The mode by joint.
        lower, upper: Limits of the targets, shape (joints,).
        space: Of the vectors.

    Raises:
        ValueError: There is no such joint or mode, a joint cannot have that mode or has no limit,
            or a limit is not within that of the model or of the engine.
    """

    def __init__(self, body: Body, modes: Modes, limits: Limits, *, normalized: bool) -> None:
        chosen = _modes_by_joint(body, modes)
        self.joints, self.modes = tuple(chosen), chosen
        if unknown := limits.keys() - chosen.keys():
            name = min(unknown)
            raise ValueError(
                f"there is a limit for joint '{name}', but no action: the actions are for "
                f"{names_with_hint(name, chosen)}"
            )
        known = {link.joint.name: link.joint for link in body.jointed_links}
        ranges = [_limits(known[k], mode, limits.get(k)) for k, mode in chosen.items()]
        self.lower, self.upper = np.array(ranges, dtype=np.float64).T.copy()
        self._middle, self._half = 0.5 * (self.lower + self.upper), 0.5 * (self.upper - self.lower)
        self._normalized = normalized
        ones = np.ones(len(chosen))
        lower, upper = (-ones, ones) if normalized else (self.lower, self.upper)
        self.space = spaces.Box(lower.astype(np.float32), upper.astype(np.float32))
        elements = {link.joint.name: i for i, link in enumerate(body.moving_links)}
        self._tracks = [name for name in chosen if name not in elements]
        is_joint = np.array([name in elements for name in chosen])
        self._columns: slice | NDArray[np.intp] = (
            np.flatnonzero(is_joint) if self._tracks else slice(None)
        )
        self._track_columns = np.flatnonzero(~is_joint)
        self._targets = JointTargets(len(elements))
        driven = {name: mode for name, mode in chosen.items() if name in elements}
        self._targets.drive({elements[name]: mode for name, mode in driven.items()})
        self._places = np.array(
            [_ROWS.index(mode) * len(elements) + elements[name] for name, mode in driven.items()],
            dtype=np.intp,
        )
        self._flat = self._targets.values.reshape(-1)

    def apply(self, action: Action, controller: BodyController, time_ns: int) -> Array:
        """Set the targets of an action; return them, clipped to the limits, shape (joints,).

        Args:
            action: The vector; numbers outside of the space are clipped.
            controller: Of the robot.
            time_ns: The present time, in [ns].

        Raises:
            ValueError: It has another shape, or a number that is not finite.
        """
        values = np.array(action, dtype=np.float64)
        if values.shape != self.lower.shape:
            raise ValueError(
                f"an action must have shape {self.lower.shape}, one number for each of "
                f"{', '.join(self.joints)}, not {values.shape}"
            )
        if not isfinite(sum(values.tolist())):  # which is faster than to look at each
            self._check_finite(values)
        if self._normalized:
            np.maximum(values, -1.0, out=values)  # large numbers would overflow below
            np.minimum(values, 1.0, out=values)
            values *= self._half
            values += self._middle
        np.maximum(values, self.lower, out=values)
        np.minimum(values, self.upper, out=values)
        self._flat[self._places] = values[self._columns]
        controller.set_targets(self._targets, time_ns)
        if self._tracks:
            speeds = values[self._track_columns].tolist()
            controller.apply(JointCommand(self._tracks, velocity=speeds), time_ns)
        return values

    def _check_finite(self, values: Array) -> None:
        for name, value in zip(self.joints, values.tolist(), strict=True):
            if not isfinite(value):
                raise ValueError(f"the action of joint '{name}' must be finite, not {value}")


def _modes_by_joint(body: Body, modes: Modes) -> dict[str, ControlMode]:
    joints = {link.joint.name: link.joint for link in body.jointed_links}
    if not isinstance(modes, Mapping):
        mode = _mode(modes)
        modes = {joint.name: mode for joint in commanded_joints(body)}
    if not modes:
        raise ValueError("there must be an action for at least one joint")
    for name in modes:
        if name not in joints:
            hint = did_you_mean_or_all(name, joints)
            raise ValueError(f"the robot has no joint '{name}' that actions can move.{hint}")
        if joints[name].mimic is not None:
            raise ValueError(f"joint '{name}' follows another joint and has no action")
    return {name: _mode(mode) for name, mode in modes.items()}


def _mode(mode: ControlMode | str) -> ControlMode:
    try:
        return ControlMode(mode)
    except ValueError:
        known = [each.value for each in ControlMode]
        raise ValueError(
            f"there is no control mode '{mode}'.{did_you_mean_or_all(str(mode), known)}"
        ) from None


def _limits(joint: Joint, mode: ControlMode, given: tuple[float, float] | None) -> Range:
    """Return the finite limits of an action.

    Raises:
        ValueError: There are none.
    """
    if joint.type is JointType.TRACK and mode is not ControlMode.VELOCITY:
        raise ValueError(f"joint '{joint.name}' is a track: its action must be 'velocity'")
    own: Range = getattr(joint, f"{mode.value}_limits")
    if given is None and inf in (abs(own.lower), own.upper):
        raise ValueError(
            f"the model does not limit the {mode.value} of joint '{joint.name}': give its "
            f"action limits, as {{'{joint.name}': (-1.0, 1.0)}} in "
            f"[{getattr(joint.type.units, mode.value)}]"
        )
    if own.lower == own.upper:
        raise ValueError(
            f"joint '{joint.name}' can have no action, since the model keeps its {mode.value} at "
            f"{own.lower:g}: name the joints that have one, as {{'JOINT': '{mode.value}'}}"
        )
    largest = _LARGEST[mode]
    own = Range(max(own.lower, -largest), min(own.upper, largest))
    try:
        lower, upper = own if given is None else given
        found = Range(float(lower), float(upper))
    except (TypeError, ValueError):
        raise ValueError(
            f"the limits of the action of joint '{joint.name}' must be two numbers, lower and "
            f"upper, not {given!r:.100}"
        ) from None
    if not own.lower <= found.lower < found.upper <= own.upper:
        raise ValueError(
            f"the limits of the action of joint '{joint.name}' must be ascending and within those "
            f"of its {mode.value}, {own.lower:g} to {own.upper:g}, not {found.lower:g} to "
            f"{found.upper:g}"
        )
    return found
