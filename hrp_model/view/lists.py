"""The links and the problems of a model in HTML."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np

from ..body import Body, JointType, Link
from ..devices import Device
from ..diagnostics import Diagnostic, Severity, Span, counted
from ..geometry import Mesh, Shape
from ..program.body_text import axis_words, device_words, joint_words, range_words
from ..program.report import CODES, by_place
from ..rigid import Array
from .html import escaped, link_attribute, padded, table

_MAX_ROWS = 3000  # of links and devices; more make a browser slow
_MAX_INDENT = 20  # levels
_MAX_SHAPES = 12  # listed of one link
_COLORS = {Severity.ERROR: "#d32f2f", Severity.WARNING: "#e08700", Severity.NOTE: "#888"}
_QUOTED = re.compile(r"'([^']+)'")
_MAX_PROBLEMS = 500  # shown
_NO_PROBLEMS = "no problems"


def heading(body: Body) -> str:
    """Return the name of a model with the number of its parts and its mass."""
    parts = [
        counted(len(body.links), "link"),
        counted(len(body.moving_links), "moving joint"),
        counted(len(body.devices), "device"),
        f"{body.total_mass:.6g} kg",
    ]
    return padded(f"<b>{escaped(body.name)}</b><div>{escaped(', '.join(parts))}</div>")


def link_list(body: Body) -> str:
    """Return links, joints, masses and devices as rows that are indented like a tree.

    A click on a row selects its link.
    """
    devices: dict[str, list[Device]] = {}
    for device in body.devices:
        devices.setdefault(device.link, []).append(device)
    depth: dict[str, int] = {}
    children: dict[str | None, list[Link]] = {}
    for link in body.links:
        depth[link.name] = 0 if link.parent is None else depth[link.parent] + 1
        children.setdefault(link.parent, []).append(link)
    rows: list[str] = []
    waiting = [body.root]
    while waiting and len(rows) < _MAX_ROWS:
        link = waiting.pop()
        waiting += reversed(children.get(link.name, ()))
        rows.append(_link_row(link, depth[link.name]))
        rows += (_device_row(device, depth[link.name] + 1) for device in devices.get(link.name, ()))
    left = len(body.links) + len(body.devices) - len(rows)
    if left > 0:
        rows.append(escaped(f"... and {left} more"))
    rows += (
        escaped(f"loop ({x.type.value}) between {x.links[0]} and {x.links[1]}")
        for x in body.extra_joints[:_MAX_ROWS]
    )
    return padded("".join(f"<div>{row}</div>" for row in rows))


def link_details(body: Body, link: Link) -> str:
    """Return the properties of a link and its joint as a table."""
    rows = [] if link.joint.name == link.name else [("joint", link.joint.name)]
    rows.append(("type", link.joint.type.value))
    if link.parent is not None:
        rows.append(("parent", link.parent))
    rows += [*_joint_rows(link), ("mass", f"{link.mass:.6g} kg")]
    if link.mass != 0.0:
        rows.append(("centre of mass", f"{_vector(link.center_of_mass)} m"))
    if link.inertia.any():
        rows += [
            (label, f"{_vector(row)} {unit}")
            for label, row, unit in zip(
                ("inertia", "", ""), link.inertia, ("", "", "kg m²"), strict=True
            )
        ]
    if link.contact_material:
        rows.append(("contact material", link.contact_material))
    rows += _shape_rows("visual", link.visual)
    if link.collision is link.visual and link.visual:
        rows.append(("collision", "the visual shapes"))
    else:
        rows += _shape_rows("collision", link.collision)
    rows += [
        (device_words(device), device.name) for device in body.devices if device.link == link.name
    ]
    return padded(table(rows))


def _link_row(link: Link, depth: int) -> str:
    mass = f" {link.mass:.4g} kg" if link.mass else ""
    return (
        f'<div{link_attribute(link.name)} title="{escaped(joint_words(link))}">'
        f'<div class="hrp-row" style="padding-left: {_indent(depth)}em">'
        f"<b>{escaped(link.name)}</b> "
        f'<span style="color: #888">{escaped(link.joint.type.value)}{escaped(mass)}</span>'
        "</div></div>"
    )


def _device_row(device: Device, depth: int) -> str:
    return (
        f"<div{link_attribute(device.link)}>"
        f'<div class="hrp-row" style="padding-left: {_indent(depth)}em; color: #b07000">'
        f'{escaped(device.name)} <span style="opacity: 0.7">{escaped(device_words(device))}</span>'
        "</div></div>"
    )


def _indent(depth: int) -> float:
    return 0.3 + 0.7 * min(depth, _MAX_INDENT)


def _joint_rows(link: Link) -> list[tuple[str, str]]:
    joint, units = link.joint, link.joint.type.units
    if joint.type in (JointType.FIXED, JointType.FREE):
        return []
    rows = [("axis", axis_words(joint))]
    if not joint.moves:
        return rows
    lower, upper = joint.position
    position = f"{lower:.5g} to {upper:.5g} {units.position}"
    if joint.type is JointType.REVOLUTE:
        position += f" {range_words(joint.position, in_degrees=True)}"
    rows.append(("positions", position))
    if np.isfinite(joint.max_velocity):
        rows.append(("velocity", f"up to {joint.max_velocity:.5g} {units.velocity}"))
    if np.isfinite(joint.max_effort):
        rows.append(("effort", f"up to {joint.max_effort:.5g} {units.effort}"))
    if joint.mimic is not None:
        mimic = joint.mimic
        rows.append(("follows", f"{mimic.multiplier:.5g} × {mimic.link} + {mimic.offset:.5g}"))
    return rows


def _shape_rows(kind: str, shapes: tuple[Shape, ...]) -> list[tuple[str, str]]:
    rows = [(kind, _shape_words(shape)) for shape in shapes[:_MAX_SHAPES]]
    if len(shapes) > _MAX_SHAPES:
        rows.append((kind, f"and {counted(len(shapes) - _MAX_SHAPES, 'more shape')}"))
    return rows


def _shape_words(shape: Shape) -> str:
    geometry = shape.geometry
    words = type(geometry).__name__.lower()
    if isinstance(geometry, Mesh):
        words += f" of {counted(len(geometry.triangles), 'triangle')}"
    named = [name for name in (shape.name, shape.material.name) if name]
    return f"{words} ({', '.join(named)})" if named else words


def _vector(vector: Array) -> str:
    return "(" + ", ".join(f"{x:.5g}" for x in vector.tolist()) + ")"


def problem_list(
    found: Iterable[Diagnostic],
    link: Callable[[Diagnostic], str | None],
    notes: Iterable[str] = (),
) -> str:
    """Return problems with severity, message, code, place and hint.

    A click on one selects the link that it is about.

    Args:
        found: The diagnostics of the model; notes are left out.
        link: Returns what a click on a problem writes as the selected link; None for nothing.
        notes: Further sentences, about the page itself.
    """
    problems = [d for d in by_place(found) if d.severity is not Severity.NOTE]
    rows = [_row(problem, link(problem)) for problem in problems[:_MAX_PROBLEMS]]
    if len(problems) > _MAX_PROBLEMS:
        rows.append(escaped(f"... and {len(problems) - _MAX_PROBLEMS} more"))
    rows += [f'<div style="color: #888">{escaped(note)}</div>' for note in notes]
    return padded("".join(rows))


def problem_count(found: Iterable[Diagnostic]) -> str:
    """Return the number of errors and warnings, such as "1 error, 2 warnings"."""
    counts = Counter(diagnostic.severity for diagnostic in found)
    parts = [counted(counts[s], s.value) for s in (Severity.ERROR, Severity.WARNING) if counts[s]]
    return ", ".join(parts) or _NO_PROBLEMS


def problem_badge(found: Iterable[Diagnostic], tab: str, notes: int = 0) -> str:
    """Return the number of errors and warnings as a button that opens a tab; "" without any.

    Args:
        found: The diagnostics of the model.
        tab: Label of the tab.
        notes: Number of further sentences, which are counted if there is no problem.
    """
    count = problem_count(found := tuple(found))
    is_bad = any(d.severity is Severity.ERROR for d in found)
    kind = "hrp-warn hrp-bad" if is_bad else "hrp-warn"
    if count == _NO_PROBLEMS:
        count, kind = counted(notes, "note"), "hrp-button"
        if not notes:
            return ""
    return (
        f'<div class="hrp-status"><button type="button" data-tab="{escaped(tab)}" '
        f'class="hrp-chip {kind}">{escaped(count)}</button></div>'
    )


def link_of(problem: Diagnostic, body: Body | None) -> str | None:
    """Return the link that a problem is about: the one that it names, else the one at its place."""
    if body is None:
        return None
    named = {device.name: device.link for device in body.devices}
    named |= {link.joint.name: link.name for link in body.links}
    named |= {link.name: link.name for link in body.links}
    for name in _QUOTED.findall(problem.message):
        if name in named:
            return named[name]
    if problem.at is None:
        return None
    return _link_at(problem.at, body)


def is_within(problem: Diagnostic, body: Body) -> bool:
    """Return whether the place of a problem is in a file that defines links of a body."""
    at = problem.at
    return at is not None and any(
        link.at is not None and link.at.source is at.source for link in body.links
    )


def _link_at(at: Span, body: Body) -> str | None:
    """Return the link or its device whose definition contains a place, or begins nearest before."""
    parts = [(link.at, link.name) for link in body.links]
    parts += [(device.at, device.link) for device in body.devices]
    before = [
        (span.end > at.start, span.start, name)
        for span, name in parts
        if span is not None and span.source is at.source and span.start <= at.start
    ]
    return max(before)[2] if before else None


def _row(problem: Diagnostic, link: str | None) -> str:
    color = _COLORS[problem.severity]
    place = "" if problem.at is None else f"{problem.at} "
    hint = CODES[problem.code].hint if problem.code in CODES else ""
    if "Did you mean" in problem.message:
        hint = ""
    return (
        f'<div{link_attribute(link)} style="margin-bottom: 0.6em; overflow-wrap: anywhere">'
        f'<b style="color: {color}">{escaped(problem.severity.value)}</b> '
        f"{escaped(problem.message)} "
        f'<span style="color: #888">[{escaped(problem.code)}]</span>'
        f'<div style="color: #888">{escaped(place)}</div>'
        + (f'<div style="color: #888">hint: {escaped(hint)}</div>' if hint else "")
        + "</div>"
    )
