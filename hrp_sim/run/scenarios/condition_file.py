"""Read the conditions of a scenario file."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from hrp_model.readers.yaml.nodes import Mapping, Node, Scalar, Sequence

from ..summary import Expectation, ExpectationError
from .conditions import Condition, ContactBetween, Distance, ExpectedCondition, Part, When
from .names import Names

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
    read = {"fell": _fell, "touched": _touched, "force": _force, "distance": _distance}[given[0]]
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


def _force(node: Mapping, names: Names) -> Condition | None:
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
