"""Read the events of a scenario file."""

from __future__ import annotations

from collections.abc import Iterator
from math import cos, sin

import numpy as np

from hrp_model.diagnostics import did_you_mean_or_all
from hrp_model.readers.yaml.nodes import Mapping
from hrp_model.rigid import Array

from ...engine.state import MAX_DRIVE_VALUE
from ...world.fields import report_unknown
from .names import Names
from .scenario import CommandEvent, Event, PushEvent, SwitchEvent

EVENT_KINDS = ("push", "command", "set_enabled")
_VALUES = ("positions", "velocities", "efforts")


def read_events(root: Mapping, names: Names, duration: float) -> Iterator[Event]:
    """Yield the events of a scenario.

    Args:
        root: The mapping with the key ``events``.
        names: To which they may refer.
        duration: Of the scenario, in [s].
    """
    written = root.sequence("events")
    for item in written.items if written else ():
        if not isinstance(item, Mapping):
            message = f"an event must be a mapping with 'time' and one of {', '.join(EVENT_KINDS)}"
            root.diagnostics.error("wrong-type", message, item.span)
            continue
        event = _event(item, names, duration)
        if event is not None:
            yield event


def _event(node: Mapping, names: Names, duration: float) -> Event | None:
    node.text("name", default="")  # by which a study refers to it
    time = node.number("time", default=None)
    given = [kind for kind in EVENT_KINDS if kind in node]
    if time is None or len(given) != 1:
        message = f"an event needs 'time' and one of {', '.join(EVENT_KINDS)}"
        node.diagnostics.error("bad-event", message, node.span)
        node.finish(EVENT_KINDS)  # names a misspelt key
        return None
    if not 0.0 <= time < duration:
        message = f"the time of an event must be from 0 to below the duration of {duration:g} s"
        node.diagnostics.error("out-of-range", f"{message}, not {time:g}", node.at("time"))
    inner = node.mapping(given[0])
    node.finish()
    if inner is None:
        return None
    read = {"push": _push, "command": _command, "set_enabled": _switch}[given[0]]
    event = read(inner, time, names)
    if event is not None:
        inner.finish()
    return event


def _push(node: Mapping, time: float, names: Names) -> PushEvent | None:
    body = _body(node, names)
    link = _link(node, body, names)
    force = _force(node)
    zero = np.zeros(3)
    torque, point = (node.numbers(key, count=3, default=zero) for key in ("torque", "point"))
    duration = node.number("duration", default=0.1)
    local = node.boolean("local", default=False)
    for key, vector in (("torque", torque), ("point", point)):
        _check_size(node, key, vector)
    if duration <= 0.0:
        message = f"a push must last longer than 0 s, not {duration:g} s"
        node.diagnostics.error("out-of-range", message, node.at("duration"))
    if body is None or link is None:
        return None
    return PushEvent(
        time=time,
        body=body,
        link=link,
        force=force,
        torque=torque,
        duration=duration,
        point=point,
        local=local,
    )


def _force(node: Mapping) -> Array:
    """Read the force: a vector, or its size and its horizontal direction."""
    size = node.number("size", default=None)
    direction = node.number("direction", default=0.0)
    if size is None:
        force = node.numbers("force", count=3, default=np.zeros(3))
        key = "force"
        if node.lacks("force", "torque"):
            message = "a push needs 'force', 'torque', or 'size' with 'direction'"
            node.diagnostics.error("bad-event", message, node.span)
        elif "direction" in node:
            message = "'direction' goes with 'size', not with 'force'"
            node.diagnostics.error("bad-event", message, node.at("direction"))
    else:
        key = "size"
        force = size * np.array([cos(direction), sin(direction), 0.0])
        if "force" in node:
            message = "give 'force' or 'size', not both"
            node.diagnostics.error("bad-event", message, node.at("force"))
            node.lacks("force")
    _check_size(node, key, force)
    return force


def _check_size(node: Mapping, key: str, vector: Array) -> None:
    if not np.all(np.abs(vector) < MAX_DRIVE_VALUE):
        message = f"each number of '{key}' must be below {MAX_DRIVE_VALUE:g}"
        node.diagnostics.error("out-of-range", message, node.at(key))


def _command(node: Mapping, time: float, names: Names) -> CommandEvent | None:
    body = _body(node, names)
    if body is None:
        node.ignore()
        return None
    joints = [link.joint.name for link in names.bodies[body].jointed_links]
    values = {key: _joint_values(node, key, joints) for key in _VALUES}
    if not any(values.values()):
        message = f"a command needs values by joint name in {', '.join(_VALUES)}"
        node.diagnostics.error("bad-event", message, node.span)
    return CommandEvent(time=time, body=body, **values)


def _joint_values(node: Mapping, key: str, joints: list[str]) -> dict[str, float]:
    given = node.mapping(key)
    if given is None:
        return {}
    report_unknown(given, joints, "the body has no joint", "unknown-joint")
    found: dict[str, float] = {}
    for name in given.entries():
        value = given.number(name, default=0.0)
        if not abs(value) < MAX_DRIVE_VALUE:
            message = f"the value of '{name}' must be below {MAX_DRIVE_VALUE:g}"
            node.diagnostics.error("out-of-range", message, given.at(name))
        found[name] = value
    return found


def _switch(node: Mapping, time: float, names: Names) -> SwitchEvent | None:
    device = node.text("device", default="")
    on = node.boolean("on", default=True)
    if device not in names.devices:
        message = f"the world has no device '{device}'."
        hint = did_you_mean_or_all(device, names.devices)
        node.diagnostics.error("no-device", message + hint, node.at("device"))
        return None
    return SwitchEvent(time=time, device=device, on=on)


def _body(node: Mapping, names: Names) -> str | None:
    """Return the name under ``body``, or None after an error."""
    body = node.text("body", default="")
    return body if names.check_body(body, node.at("body"), node.diagnostics) else None


def _link(node: Mapping, body: str | None, names: Names) -> str | None:
    """Return the name under ``link``, by default that of the root; None after an error."""
    written = node.text("link", default=None)
    if body is None:
        return None
    link = names.bodies[body].root.name if written is None else written
    return link if names.check_link(body, link, node.at("link"), node.diagnostics) else None
