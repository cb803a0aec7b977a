"""Read how the joints of a body are driven, and the controllers of a world: none is executed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from hrp_model import Body, Diagnostics
from hrp_model.diagnostics import Span, did_you_mean_or_all
from hrp_model.files.resources import ResourceError, resolve
from hrp_model.read_context import read_source
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
from ..control.controllers.classes import ControllerEntry, class_name_problem, rate_problem
from .config import WorldConfig
from .fields import mappings, report_unknown

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


def read_controllers(
    root: Mapping, bodies: Collection[str] | None, folder: Path
) -> Iterator[ControllerEntry]:
    """Yield the controllers of a world.

    Args:
        root: The mapping with the key ``controllers``.
        bodies: Names of the bodies of the world; None if some of them could not be read.
        folder: Folder of the world file.
    """
    problem = "a controller must be a mapping with 'class: MODULE:CLASS' and 'body: NAME'"
    for item in mappings(root.sequence("controllers"), root, problem):
        entry = _controller(item, bodies, folder)
        item.finish()
        if entry is not None:
            yield entry


def with_controllers(
    world: WorldConfig, given: Iterable[str], diagnostics: Diagnostics
) -> WorldConfig:
    """Return a world with further controllers.

    Args:
        world: The world.
        given: Each as BODY=MODULE:CLASS or BODY=FILE.py:CLASS, with a path relative to the
            working directory.
        diagnostics: Receives errors.
    """
    bodies = {entry.placement.name for entry in world.bodies}
    entries = [_given(text, bodies, diagnostics) for text in given]
    return replace(world, controllers=(*world.controllers, *(x for x in entries if x is not None)))


def _given(text: str, bodies: Collection[str], diagnostics: Diagnostics) -> ControllerEntry | None:
    body, separator, class_name = text.partition("=")
    if not (body and separator):
        message = f"a controller is written BODY=MODULE:CLASS or BODY=FILE.py:CLASS, not '{text}'"
        diagnostics.error("bad-controller", message)
        return None
    if not _is_body(body, bodies, diagnostics):
        return None
    entry = ControllerEntry(class_name=class_name, body=body, folder=Path.cwd())
    return _checked(entry, diagnostics)


def _is_body(
    body: str, bodies: Collection[str], diagnostics: Diagnostics, at: Span | None = None
) -> bool:
    """Return whether a world has a body; report an error if not."""
    if body in bodies:
        return True
    message = f"the world has no body '{body}'.{did_you_mean_or_all(body, bodies)}"
    diagnostics.error("bad-controller", message, at)
    return False


def _controller(
    node: Mapping, bodies: Collection[str] | None, folder: Path
) -> ControllerEntry | None:
    diagnostics = node.diagnostics
    class_name = node.text("class", default="")
    body = node.text("body", default="")
    rate = node.number("rate", default=None)
    args = node.mapping("args")
    values: dict[str, Any] = {} if args is None else dict(args.plain_value())
    for key in ("class", "body"):
        if key not in node:
            message = f"a controller needs '{key}'"
            diagnostics.error("bad-controller", message, node.at(key))
    if not (class_name and body):
        return None
    if bodies is not None and not _is_body(body, bodies, diagnostics, node.at("body")):
        return None
    if rate is not None and (problem := rate_problem(rate)):
        diagnostics.error("out-of-range", problem, node.at("rate"))
        return None
    entry = ControllerEntry(
        class_name=class_name,
        body=body,
        rate=rate,
        args=values,
        folder=folder,
        at=node.at("class"),
    )
    return _checked(entry, diagnostics)


def _checked(entry: ControllerEntry, diagnostics: Diagnostics) -> ControllerEntry | None:
    """Return an entry whose class may exist; None after reporting an error."""
    if problem := class_name_problem(entry.class_name):
        diagnostics.error("bad-controller", problem, entry.at)
        return None
    file, _, name = entry.class_name.rpartition(":")
    if not file.endswith(".py"):
        return entry
    try:
        text = read_source(resolve(file, entry.folder)).text
    except (ResourceError, OSError) as error:
        reason = str(error) if isinstance(error, ResourceError) else error.strerror or str(error)
        diagnostics.error("bad-controller", f"cannot read '{file}': {reason}", entry.at)
        return None
    if not re.search(rf"\b{name}\b", text):
        hint = did_you_mean_or_all(name, re.findall(r"(?m)^class +(\w+)", text))
        diagnostics.error("bad-controller", f"'{file}' has no class '{name}'.{hint}", entry.at)
        return None
    return entry
