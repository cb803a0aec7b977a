"""What varies in a study: lists, grids and random values, and the cases that they make."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Mapping as AbstractMapping
from collections.abc import Sequence as AbstractSequence
from dataclasses import dataclass
from enum import Enum
from math import isfinite, prod
from typing import Any

import numpy as np

from hrp_model.diagnostics import Span, did_you_mean, did_you_mean_or_all, needs_extra
from hrp_model.readers.yaml.nodes import Mapping, Node, Scalar, Sequence

from .key_paths import KeyPath

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
