"""What varies in a study: its places in the document; lists, grids and random values; the cases."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterable
from collections.abc import Mapping as AbstractMapping
from collections.abc import Sequence as AbstractSequence
from dataclasses import fields
from enum import Enum
from math import isfinite, prod
from typing import Any, TypeAlias

import numpy as np

from hrp_model.diagnostics import Span, did_you_mean, did_you_mean_or_all, needs_extra
from hrp_model.late_dataclass import dataclass
from hrp_model.readers.yaml.nodes import Mapping, Node, Scalar, Sequence

from ...engine.engine import PhysicsSettings
from ...run.scenarios.course_file import EVENT_KINDS

# YAML as plain values: mappings, lists, numbers, texts.
Document: TypeAlias = AbstractMapping[str, Any]
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
        if isinstance(node, AbstractMapping):
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
    if node is not None and not isinstance(node, AbstractMapping):
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


def _labels(items: AbstractSequence[object]) -> list[str]:
    """Return what selects items of a list: their names and bodies."""
    return [
        str(item[key])
        for item in items
        if isinstance(item, AbstractMapping)
        for key in ("name", "body")
        if key in item
    ]


def _index(items: AbstractSequence[object], path: KeyPath, name: str) -> int:
    """Return the index of an item that is selected by its number, axis, name or body."""
    number = int(name) if name.isdecimal() and len(name) < 10 else _AXES.get(name, -1)
    chosen = [
        i
        for i, item in enumerate(items)
        if isinstance(item, AbstractMapping) and name in (item.get("name"), item.get("body"))
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
    old = node if isinstance(node, AbstractMapping) else {}
    return {**old, key: _replaced(old.get(key), tuple(rest), value)}


def unit_of(path: KeyPath, joint_units: AbstractMapping[tuple[str, str], str]) -> str:
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


MAX_CASES = 100_000
_SPACINGS: dict[str, bool | None] = {"linear": False, "logarithmic": True}
_WRITTEN = (
    "values are a list, or a mapping with 'from', 'to' and 'count', or one with 'distribution'"
)


class Kind(Enum):
    """How the values of a variable are chosen.

    GRID variables are combined with each other, LISTED ones have a value for each listed case,
    RANDOM ones a value for each sample.
    """

    GRID = "grid"
    LISTED = "list"
    RANDOM = "random"


@dataclass(frozen=True, eq=False)
class Variable:
    """A varied value.

    Attributes:
        name: As the user wrote it.
        kind: How its values are chosen.
        values: Of a GRID variable the values that are combined with those of others, else those
            of all listed cases or samples.
        at: Where they are written, for messages.
        key_path: Where the value stands in the study; empty until it is known.
        unit: Of the values; "" if they have none.
    """

    name: str
    kind: Kind
    values: tuple[Any, ...]
    at: Span
    key_path: KeyPath = ()
    unit: str = ""

    @property
    def is_numeric(self) -> bool:
        """Whether all values are numbers."""
        return all(isinstance(v, int | float) and not isinstance(v, bool) for v in self.values)


def cases_of(variables: AbstractSequence[Variable]) -> list[dict[str, object]]:
    """Return all cases: each combination of the grid with each sample or listed case."""
    grid = [variable for variable in variables if variable.kind is Kind.GRID]
    others = [variable for variable in variables if variable.kind is not Kind.GRID]
    rows: list[dict[str, object]] = [{}]
    if others:
        values = zip(*(variable.values for variable in others), strict=True)
        rows = [dict(zip((v.name for v in others), row, strict=True)) for row in values]
    return [
        {**dict(zip((v.name for v in grid), combination, strict=True)), **row}
        for combination in itertools.product(*(v.values for v in grid))
        for row in rows
    ]


def read_variables(root: Mapping) -> list[Variable]:
    """Read what varies: the keys ``vary`` and ``random``; problems are reported.

    Args:
        root: The study.
    """
    samples = _samples(root)
    node = root.get("vary")
    if samples is not None and not _has_distribution(node):
        message = "'random' goes with a distribution under 'vary'"
        root.diagnostics.error("bad-study", message, root.at("random"))
    if node is None or (isinstance(node, Scalar) and node.is_null):
        return []
    if isinstance(node, Sequence):
        found = _listed(node, root)
    elif isinstance(node, Mapping):
        found = [
            variable
            for key, values in node.items()
            if (variable := _variable(key, values, samples, root)) is not None
        ]
    else:
        message = "'vary' must be a mapping from names to values, or a list of cases"
        root.diagnostics.error("wrong-type", message, node.span)
        return []
    count = prod(len(v.values) for v in found if v.kind is Kind.GRID)
    count *= max((len(v.values) for v in found if v.kind is not Kind.GRID), default=1)
    if count > MAX_CASES:
        message = f"these are {count} cases; a study can have {MAX_CASES}"
        root.diagnostics.error("too-many-cases", message, node.span)
        return []
    return found


def _has_distribution(node: Node | None) -> bool:
    return isinstance(node, Mapping) and any(
        isinstance(values, Mapping) and "distribution" in values for _, values in node.items()
    )


def _samples(root: Mapping) -> tuple[int, int] | None:
    """Return the number of samples and the seed under ``random``; None if there are none."""
    node = root.mapping("random")
    if node is None:
        return None
    count, seed = node.integer("count", default=0), node.integer("seed", default=0)
    if not 0 < count <= MAX_CASES:
        message = f"'random' needs 'count', the number of samples, from 1 to {MAX_CASES}"
        node.diagnostics.error("out-of-range", message, node.at("count"))
        count = 1
    if seed < 0:
        message = "the seed must not be negative"
        node.diagnostics.error("out-of-range", message, node.at("seed"))
        seed = 0
    node.finish()
    return count, seed


def _listed(node: Sequence, root: Mapping) -> list[Variable]:
    """Read a list of cases, which have the same names."""
    rows = [item for item in node.items if isinstance(item, Mapping)]
    if len(rows) < node.count or not rows:
        message = "each case must be a mapping from names to values"
        root.diagnostics.error("wrong-type", message, node.span)
        return []
    names = list(rows[0].entries())
    for row in rows:
        for name, (key, _) in row.entries().items():
            if name not in names:
                message = f"the first case has no '{name}'; all cases must have the same names"
                root.diagnostics.error("bad-study", message, key.span)
        if missing := [name for name in names if name not in row]:
            message = f"this case lacks '{missing[0]}' of the first case"
            root.diagnostics.error("bad-study", message, row.span)
            return []
    values = {name: tuple(row.plain_value()[name] for row in rows) for name in names}
    return [Variable(name, Kind.LISTED, values[name], rows[0].at(name)) for name in names]


def _variable(
    key: Scalar, node: Node, samples: tuple[int, int] | None, root: Mapping
) -> Variable | None:
    name = key.text
    if isinstance(node, Sequence):
        listed = tuple(node.plain_value())
        if not listed:
            root.diagnostics.error("bad-study", f"'{name}' has no values", node.span)
            return None
        return Variable(name, Kind.GRID, listed, node.span)
    if not isinstance(node, Mapping) or ("distribution" not in node and "from" not in node):
        root.diagnostics.error("bad-study", _WRITTEN, node.span)
        return None
    if "distribution" in node:
        drawn = _drawn(name, node, samples)
        return None if drawn is None else Variable(name, Kind.RANDOM, drawn, key.span)
    values = _spaced(node)
    node.finish()
    return None if values is None else Variable(name, Kind.GRID, values, key.span)


def _spaced(node: Mapping) -> tuple[float, ...] | None:
    """Return evenly spaced numbers."""
    start, end = node.number("from", default=None), node.number("to", default=None)
    count = node.integer("count", default=None)
    logarithmic = bool(node.choice("spacing", choices=_SPACINGS, default=False))
    if start is None or end is None or count is None:
        node.diagnostics.error("bad-study", _WRITTEN, node.span)
        return None
    if not 1 <= count <= MAX_CASES or (count == 1 and start != end):
        message = f"'count' must be from 2 to {MAX_CASES}, not {count}"
        node.diagnostics.error("out-of-range", message, node.at("count"))
        return None
    if logarithmic and not (start > 0.0 and end > 0.0):
        message = "with logarithmic spacing 'from' and 'to' must be above 0"
        node.diagnostics.error("out-of-range", message, node.at("from"))
        return None
    spaced = (np.geomspace if logarithmic else np.linspace)(start, end, count)
    # Whole numbers stay whole, such as those of seeds and counts; 12 digits hide rounding errors.
    rounded = [float(f"{value:.12g}") for value in spaced.tolist()]
    if all(value == int(value) for value in rounded):
        return tuple(int(value) for value in rounded)
    return tuple(rounded)


def _drawn(name: str, node: Mapping, samples: tuple[int, int] | None) -> tuple[float, ...] | None:
    """Return samples of a distribution of scipy."""
    with needs_extra("sweep"):
        import scipy.stats  # takes half a second

    word = node.text("distribution", default="")
    known = _distributions(scipy.stats)
    if word not in known:
        message = f"scipy.stats has no distribution '{word}'.{did_you_mean(word, known)}"
        node.diagnostics.error("unknown-distribution", message, node.at("distribution"))
        node.ignore()
        return None
    distribution = known[word]
    shapes = [shape.strip() for shape in (distribution.shapes or "").split(",") if shape]
    scale = ["scale"] if isinstance(distribution, scipy.stats.rv_continuous) else []
    arguments = {
        key: value
        for key in (*shapes, "loc", *scale)
        if (value := node.number(key, default=None)) is not None
    }
    if missing := [shape for shape in shapes if shape not in arguments]:
        message = f"the distribution '{word}' needs {', '.join(missing)}"
        node.diagnostics.error("bad-study", message, node.span)
    for key, (place, _) in node.entries().items():
        if key not in (*shapes, "loc", *scale, "distribution"):
            hint = did_you_mean_or_all(key, [*shapes, "loc", *scale])
            message = f"the distribution '{word}' has no parameter '{key}'.{hint}"
            node.diagnostics.error("unknown-key", message, place.span)
    node.ignore()
    if samples is None:
        message = "distributions need 'random: {count: N}' in the study, the number of samples"
        node.diagnostics.error("missing-key", message, node.span)
    if missing or samples is None:
        return None
    count, seed = samples
    # A variable draws the same numbers whichever others there are.
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    if not scale:  # discrete distributions refuse 3.0 as a count
        arguments = {k: int(v) if v.is_integer() else v for k, v in arguments.items()}
    try:
        with np.errstate(all="ignore"):
            drawn = np.asarray(distribution.rvs(**arguments, size=count, random_state=rng)).tolist()
    except (ArithmeticError, RuntimeError, TypeError, ValueError):  # as scipy happens to raise
        drawn = []
    if not drawn or not all(isfinite(value) for value in drawn):
        given = ", ".join(f"{key} = {value:g}" for key, value in arguments.items())
        message = f"the distribution '{word}' does not exist for {given}"
        node.diagnostics.error("out-of-range", message, node.span)
        return None
    return tuple(drawn)


def _distributions(stats: Any) -> AbstractMapping[str, Any]:
    """Return the distributions of one number in ``scipy.stats``, by name."""
    kinds = stats.rv_continuous, stats.rv_discrete
    return {name: item for name, item in vars(stats).items() if isinstance(item, kinds)}
