"""Read the events and conditions of a scenario file."""

from __future__ import annotations

from collections.abc import Iterator
from math import cos, inf, sin

import numpy as np

from hrp_model.diagnostics import did_you_mean_or_all, number_text
from hrp_model.readers.yaml.nodes import Mapping, Node, Scalar, Sequence
from hrp_model.rigid import Array

from ...engine.state import MAX_DRIVE_VALUE
from ...world.fields import report_unknown
from ..summary import Expectation, ExpectationError
from .conditions import Condition, ContactBetween, Distance, ExpectedCondition, Part, When
from .course import CommandEvent, Event, Names, PushEvent, SwitchEvent

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
        shown = number_text(time, 6, bound=duration)
        node.diagnostics.error("out-of-range", f"{message}, not {shown} s", node.at("time"))
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


_KINDS = ("fell", "touched", "force", "distance")
_WHEN = {when.value: when for when in When}
_WRITTEN = (
    "a condition is a text such as 'robot.z > 0.5 m', or a mapping with one of 'fell', 'touched', "
    "'force' and 'distance'"
)


def read_stops(root: Mapping, names: Names) -> Iterator[Condition]:
    """Yield the conditions under ``stop``.

    Args:
        root: The mapping with the key ``stop``.
        names: To which they may refer.
    """
    written = root.sequence("stop")
    for item in written.items if written else ():
        condition = _condition(item, names, root)
        if condition is not None:
            yield condition


def read_expectations(root: Mapping, names: Names) -> Iterator[ExpectedCondition]:
    """Yield the conditions under ``expect``.

    Args:
        root: The mapping with the key ``expect``.
        names: To which they may refer.
    """
    written = root.sequence("expect")
    for item in written.items if written else ():
        expected = _expected(item, names, root)
        if expected is not None:
            yield expected


def _expected(node: Node, names: Names, root: Mapping) -> ExpectedCondition | None:
    given = [key for key in _WHEN if isinstance(node, Mapping) and key in node]
    if not isinstance(node, Mapping) or not given:
        condition = _condition(node, names, root)
        return None if condition is None else ExpectedCondition(condition)
    if len(given) > 1:
        message = f"give '{given[0]}' or '{given[1]}', not both"
        root.diagnostics.error("bad-expectation", message, node.at(given[1]))
        node.lacks(*given)
    inner = node.get(given[0])
    start, end = node.number("from", default=0.0), node.number("until", default=inf)
    when = _WHEN[given[0]]
    if when is When.AT_END and not node.lacks("from", "until"):
        message = "'from' and 'until' go with 'always', 'once' and 'never'"
        root.diagnostics.error("bad-expectation", message, node.span)
    elif not 0.0 <= start <= end:
        message = "'from' must be at least 0 s and at most 'until'"
        root.diagnostics.error("out-of-range", message, node.at("from", "until"))
    node.finish()
    condition = None if inner is None else _condition(inner, names, root)
    return None if condition is None else ExpectedCondition(condition, when, start, end)


def _condition(node: Node, names: Names, root: Mapping) -> Condition | None:
    if isinstance(node, Scalar):
        return _compared(node.text, node, names, root)
    given = [key for key in _KINDS if isinstance(node, Mapping) and key in node]
    if not isinstance(node, Mapping) or len(given) != 1:
        root.diagnostics.error("bad-expectation", _WRITTEN, node.span)
        return None
    read = {"fell": _fell, "touched": _touched, "force": _contact, "distance": _distance}[given[0]]
    condition = read(node, names)
    node.finish()
    return condition


def _compared(text: str, node: Node, names: Names, root: Mapping) -> Condition | None:
    try:
        return Condition(Expectation.parse(text, names.quantities))
    except ExpectationError as error:
        found = error.diagnostic
        root.diagnostics.error(found.code, found.message, node.span)
        return None


def _fell(node: Mapping, names: Names) -> Condition | None:
    part = _part(node.get("fell"), names, node)
    if part is None:
        return None
    if part.link is not None:
        message = f"only a body can fall: write '{part.body}'"
        node.diagnostics.error("bad-expectation", message, node.at("fell"))
    return Condition(Expectation(f"{part.body} fell", f"{part.body}.fell", "==", 1.0, ""))


def _touched(node: Mapping, names: Names) -> Condition | None:
    parts = _pair(node, "touched", names)
    if parts is None:
        return None
    text = f"{parts[0]} touched {parts[1]}"
    return Condition(Expectation(text, "contact points", ">", 0.0, ""), ContactBetween(parts))


def _contact(node: Mapping, names: Names) -> Condition | None:
    parts = _pair(node, "force", names)
    name = "" if parts is None else f"force between {parts[0]} and {parts[1]}"
    expectation = _bounded(node, name, "N")
    if parts is None or expectation is None:
        return None
    return Condition(expectation, ContactBetween(parts, forces=True))


def _distance(node: Mapping, names: Names) -> Condition | None:
    written = node.sequence("distance")
    items = written.items if written else []
    if len(items) != 2:
        message = "'distance' needs a list of a part and of another part or a point [x, y, z]"
        node.diagnostics.error("bad-expectation", message, node.at("distance"))
        return None
    part = _part(items[0], names, node)
    to: Part | tuple[float, float, float] | None = None
    if isinstance(items[1], Sequence):
        numbers = items[1].numbers()
        if numbers is not None and len(numbers) == 3:
            x, y, z = numbers.tolist()
            to = x, y, z
        elif numbers is not None:
            message = f"3 numbers are needed here, not {len(numbers)}"
            node.diagnostics.error("wrong-count", message, items[1].span)
    else:
        to = _part(items[1], names, node)
    shown = str(to) if isinstance(to, Part) else f"({', '.join(f'{x:g}' for x in to or ())})"
    expectation = _bounded(node, f"distance from {part} to {shown}", "m")
    if part is None or to is None or expectation is None:
        return None
    return Condition(expectation, Distance(part, to))


def _bounded(node: Mapping, name: str, unit: str) -> Expectation | None:
    """Return a comparison with the number under ``below`` or ``above``."""
    below, above = node.number("below", default=None), node.number("above", default=None)
    bound = above if below is None else below
    if bound is None or None not in (below, above):
        message = f"give 'below' or 'above', a number in [{unit}]"
        node.diagnostics.error("bad-expectation", message, node.span)
        return None
    sign = "<" if above is None else ">"
    return Expectation(f"{name} {sign} {bound:g} {unit}", name, sign, bound, unit)


def _pair(node: Mapping, key: str, names: Names) -> tuple[Part, Part] | None:
    written = node.sequence(key)
    items = written.items if written else []
    if len(items) != 2:
        message = f"'{key}' needs a list of two parts, each BODY or BODY/LINK"
        node.diagnostics.error("bad-expectation", message, node.at(key))
        return None
    first, second = (_part(item, names, node) for item in items)
    return None if first is None or second is None else (first, second)


def _part(node: Node | None, names: Names, parent: Mapping) -> Part | None:
    """Return a part written BODY or BODY/LINK, or None after an error."""
    if not isinstance(node, Scalar):
        place = parent.span if node is None else node.span
        parent.diagnostics.error("wrong-type", "expected BODY or BODY/LINK", place)
        return None
    body, slash, link = node.text.partition("/")
    if not names.check_body(body, node.span, parent.diagnostics):
        return None
    if not slash:
        return Part(body)
    if not names.check_link(body, link, node.span, parent.diagnostics):
        return None
    return Part(body, link)
