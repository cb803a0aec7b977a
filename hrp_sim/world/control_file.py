"""Read how the joints of a body are driven, from a world file."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from hrp_model import Body
from hrp_model.readers.yaml.nodes import Mapping, Scalar

from ..control import (
    HOLD,
    LIMP,
    CommandRateLimit,
    CommandTimeout,
    ControlMode,
    ControlSettings,
    Fallback,
    JointControl,
)
from .fields import report_unknown

_CONTROL_NAMES = {"hold": HOLD, "none": LIMP}
_MODES = {mode.value: mode for mode in ControlMode}
_FALLBACKS = {fallback.value: fallback for fallback in Fallback}
_RATE_LIMITS = {limit.value: limit for limit in CommandRateLimit}
_OWN_MODES: dict[str, ControlMode | None] = {**_MODES}


def read_control(node: Mapping, body: Body) -> ControlSettings:
    """Read how the joints of a body are driven, under ``control``; it holds them by default."""
    written = node.get("control")
    if written is None:
        return HOLD
    if isinstance(written, Scalar):
        return node.choice("control", choices=_CONTROL_NAMES, default=HOLD)
    control = node.mapping("control")
    if control is None:
        return HOLD
    names = [link.joint.name for link in body.moving_links]
    joints = _joint_controls(control, names)
    settings = ControlSettings(
        mode=control.choice("mode", choices=_MODES, default=ControlMode.POSITION),
        kp=_common_gain(control, "kp", names, joints),
        kd=_common_gain(control, "kd", names, joints),
        joints=joints,
        timeout=_timeout(control),
        rate_limit=control.choice(
            "command_rate_limit", choices=_RATE_LIMITS, default=CommandRateLimit.MODEL
        ),
    )
    control.finish()
    return settings


def _timeout(control: Mapping) -> CommandTimeout | None:
    """Read the command timeout: 'timeout' in [s] and 'fallback'; None if there is none."""
    fallback = control.choice("fallback", choices=_FALLBACKS, default=Fallback.HOLD)
    after_s = control.number("timeout", default=0.0)
    if after_s == 0.0:
        return None
    try:
        return CommandTimeout(after_s=after_s, fallback=fallback)
    except ValueError as error:
        control.diagnostics.error("out-of-range", str(error), control.at("timeout"))
        return None


def _joint_controls(control: Mapping, names: list[str]) -> dict[str, JointControl]:
    """Read the control of single joints: 'hold', 'none', or mode and gains."""
    joints: dict[str, JointControl] = {}
    given = control.mapping("joints")
    if given is None:
        return joints
    report_unknown_joints(given, names)
    for name in names:
        written = given.get(name)
        if isinstance(written, Scalar):
            settings = given.choice(name, choices=_CONTROL_NAMES, default=HOLD)
            joints[name] = JointControl(mode=settings.mode)
        elif (own := given.mapping(name)) is not None:
            mode = own.choice("mode", choices=_OWN_MODES, default=None)
            kp, kd = _gain(own, "kp"), _gain(own, "kd")
            joints[name] = JointControl(mode=mode, kp=kp, kd=kd)
            own.finish()
    return joints


def _common_gain(
    control: Mapping,
    key: Literal["kp", "kd"],
    names: list[str],
    joints: dict[str, JointControl],
) -> float | None:
    """Return a gain for all joints, or store gains by joint name in ``joints``."""
    given = control.get(key)
    if not isinstance(given, Mapping):
        return _gain(control, key)
    report_unknown_joints(given, names)
    for name in names:
        if (gain := _gain(given, name)) is not None:
            own = joints.get(name, JointControl())
            joints[name] = replace(own, kp=gain) if key == "kp" else replace(own, kd=gain)
    return None


def _gain(node: Mapping, key: str) -> float | None:
    gain = node.number(key, default=None)
    if gain is not None and gain < 0.0:
        message = f"a gain must not be negative, but '{key}' is {gain:g}"
        node.diagnostics.error("out-of-range", message, node.at(key))
    return gain


def report_unknown_joints(given: Mapping, names: list[str]) -> None:
    """Report the keys of a mapping that are not among the names of joints."""
    report_unknown(given, names, "the model has no moving joint", "unknown-joint")
