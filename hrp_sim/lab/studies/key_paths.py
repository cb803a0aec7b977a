"""Values of a study that vary: where they stand in its document, and how they are replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeAlias

from hrp_model.diagnostics import did_you_mean_or_all

from ...engine.engine import PhysicsSettings
from ...run.scenarios.course_file import EVENT_KINDS

# YAML as plain values: mappings, lists, numbers, texts.
Document: TypeAlias = Mapping[str, Any]
KeyPath: TypeAlias = tuple[str | int, ...]

# Keys of a scenario that make its world, and those that make its course.
WORLD_KEYS = ("world", "physics", "sensors", "bodies", "controllers")
COURSE_KEYS = ("duration", "events", "stop", "expect")
_PHYSICS = frozenset(field.name for field in fields(PhysicsSettings))
_LISTS = ("controllers", "events", "stop", "expect")
# Mappings whose keys are names, which may contain dots.
_BY_NAME = frozenset(("joints", "joint_velocities", "masses", "positions", "velocities", "efforts"))
_AXES = {"x": 0, "y": 1, "z": 2}
_UNITS = {
    "time_step": "s",
    "duration": "s",
    "time": "s",
    "size": "N",
    "direction": "rad",
    "force": "N",
    "torque": "N m",
    "point": "m",
    "position": "m",
    "rpy": "rad",
    "masses": "kg",
    "gravity": "m/s^2",
    "max_correcting_velocity": "m/s",
    "surface_layer": "m",
    "rate": "Hz",
}


class KeyPathError(ValueError):
    """A name of a varied value leads nowhere."""


def locate(document: Document, name: str, bodies: Iterable[str]) -> KeyPath:
    """Return the key path of a varied value.

    Args:
        document: The study.
        name: Its keys, separated by dots, such as "bodies.arm.masses.HAND". Events and controllers
            are selected by their name, body or number. Settings of the physics need no "physics.".
        bodies: Names of the bodies of the world.

    Raises:
        KeyPathError: It leads nowhere; the message has the reason.
    """
    first = name.partition(".")[0]
    known = [*WORLD_KEYS, *COURSE_KEYS]
    if first in _PHYSICS:
        name, first = f"physics.{name}", "physics"
    if first not in known:
        hint = did_you_mean_or_all(first, [*known, *sorted(_PHYSICS)])
        raise KeyPathError(f"a study has no '{first}' that could vary.{hint}")
    path: KeyPath = ()
    node: object = document
    rest = name
    while rest:
        key, rest = _next(node, path, rest, bodies)
        path = (*path, key)
        if isinstance(node, Mapping):
            node = node.get(str(key))
        elif isinstance(node, list):
            node = node[int(key)]
    return path


def _next(node: object, path: KeyPath, rest: str, bodies: Iterable[str]) -> tuple[str | int, str]:
    """Return the next key of a key path, and what is left of the name."""
    if isinstance(node, list):
        head = _beginning(rest, _labels(node)) or rest.partition(".")[0]
        return _index(node, path, head), rest[len(head) + 1 :]
    if node is None and len(path) == 1 and path[0] in _LISTS:
        raise KeyPathError(f"the study has no '{path[0]}', so '{rest}' cannot vary")
    if node is not None and not isinstance(node, Mapping):
        where = ".".join(map(str, path))
        raise KeyPathError(f"'{where}' is a single value; it has no '{rest}'")
    known = list(node or ())
    if path == ("bodies",):
        known += bodies
    key = _beginning(rest, known)
    if key is not None:
        return key, rest[len(key) + 1 :]
    if len(path) == 2 and path[0] == "events":  # below the kind of the event
        for kind in EVENT_KINDS:
            if kind in known:
                return kind, rest
    if _is_by_name(path):
        return rest, ""
    head, _, tail = rest.partition(".")
    return head, tail


def _beginning(rest: str, known: Iterable[str]) -> str | None:
    """Return the longest known key with which a name begins; keys may contain dots."""
    found = [key for key in known if rest == key or rest.startswith(f"{key}.")]
    return max(found, key=len, default=None)


def _labels(items: Sequence[object]) -> list[str]:
    """Return what selects items of a list: their names and bodies."""
    return [
        str(item[key])
        for item in items
        if isinstance(item, Mapping)
        for key in ("name", "body")
        if key in item
    ]


def _index(items: Sequence[object], path: KeyPath, name: str) -> int:
    """Return the index of an item that is selected by its number, axis, name or body."""
    number = int(name) if name.isdecimal() and len(name) < 10 else _AXES.get(name, -1)
    chosen = [
        i
        for i, item in enumerate(items)
        if isinstance(item, Mapping) and name in (item.get("name"), item.get("body"))
    ]
    if len(chosen) == 1:
        return chosen[0]
    where = ".".join(map(str, path))
    if len(chosen) > 1:
        raise KeyPathError(f"'{where}' has several '{name}'; select one by its number, from 0")
    if 0 <= number < len(items):
        return number
    hint = did_you_mean_or_all(name, [*_labels(items), *map(str, range(len(items)))])
    raise KeyPathError(f"'{where}' has no item '{name}'.{hint}")


def replaced(document: Document, path: KeyPath, value: object) -> dict[str, Any]:
    """Return a document with another value at a key path."""
    changed = _replaced(document, path, value)
    assert isinstance(changed, dict)
    return changed


def _replaced(node: object, path: KeyPath, value: object) -> object:
    if not path:
        return value
    key, *rest = path
    if isinstance(key, int):
        assert isinstance(node, list)
        changed = list(node)
        changed[key] = _replaced(node[key], tuple(rest), value)
        return changed
    old = node if isinstance(node, Mapping) else {}
    return {**old, key: _replaced(old.get(key), tuple(rest), value)}


def unit_of(path: KeyPath, joint_units: Mapping[tuple[str, str], str]) -> str:
    """Return the unit of the value at a key path; "" if it has none or it is not known.

    Args:
        path: The key path.
        joint_units: Of joint positions, by the names of body and joint.
    """
    if "args" in path:
        return ""
    if _is_by_name(path[:-1]):
        body = path[1] if path[:1] == ("bodies",) else None
        if path[-2] == "joints":
            return joint_units.get((str(body), str(path[-1])), "")
        path = path[:-1]
    named = [key for key in path if isinstance(key, str)]
    return _UNITS.get(named[-1], "")


def _is_by_name(path: KeyPath) -> bool:
    """Whether keys below a key path are names; below the joints of a control are further keys."""
    return bool(path) and path[-1] in _BY_NAME and "control" not in path


def is_of_world(path: KeyPath) -> bool:
    """Whether a key path belongs to the world, not to the course."""
    return path[0] in WORLD_KEYS
