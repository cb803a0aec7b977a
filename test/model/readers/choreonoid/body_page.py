"""The published lists of what is read of ``.body`` files, and what the reader really asks for."""

import ast
import dataclasses
import re
from enum import Enum
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from body_tools import read_file
from model.readers.choreonoid.body_samples import CONTEXTS, written
from paths import ROOT

from hrp_model.diagnostics import Diagnostics, Severity, Span
from hrp_model.readers.yaml.nodes import Mapping

PAGE = ROOT / "docs" / "formats" / "choreonoid.md"
SUPPORTED, IGNORED, UNSUPPORTED = "Supported", "Ignored on purpose", "Unsupported, with a warning"
EVERY_NODE, EVERY_DEVICE = "every node", "every device"
DEVICES = (
    *("AccelerationSensor", "RateGyroSensor", "IMU", "ForceSensor", "Camera", "RangeSensor"),
    *("SpotLight", "PointLight", "DirectionalLight", "Holder", "Attachment", "Conveyor"),
)


def tables():
    """Return the rows of the page's tables, as lists of cells, by heading."""
    found = {}
    heading = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line[3:].strip().partition(". ")[2]
            found[heading] = []
        elif line.startswith("|") and set(line) <= set("|- :"):
            found[heading].pop()  # the headings of the columns
        elif line.startswith("|"):
            node, *cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            found[heading].append([node or found[heading][-1][0], *cells])
    return found


TABLES = tables()


def words_in(cell):
    """Return what a cell sets in code type."""
    return re.findall(r"`([^`]+)`", cell)


def nodes_in(cell):
    """Return the nodes that a cell names."""
    names = cell.split(", ")
    return [name for n in names for name in (DEVICES if n == EVERY_DEVICE else [n])]


def rows(heading):
    """Yield (node, spellings of one key) for each node and key of each row."""
    for names, keys, _ in TABLES[heading]:
        found = [words_in(key) for key in keys.split(", ") if words_in(key)]
        for name, spellings in product(nodes_in(names), found):
            for node in CONTEXTS if name == EVERY_NODE else [name]:
                if name != EVERY_NODE or spellings[0] in known(node):
                    yield node, spellings


def read(node, keys, folder):
    """Return the body of a tiny model with these keys on a node, and what was found."""
    for name, text in written(node, keys).items():
        (folder / name).write_text(text, encoding="utf-8")
    diagnostics = Diagnostics.silent()
    body = read_file(folder / "m.body", diagnostics)
    return body, [d for d in diagnostics.found if d.severity is not Severity.NOTE]


@cache
def known(node):
    """Return every spelling that the reader asks for or passes over in a node."""
    found = set()
    get, lacks, finish = Mapping._get, Mapping.lacks, Mapping.finish

    def noting_get(self, spellings):
        if "probe" in self:
            found.update(spellings)
        return get(self, spellings)

    def noting_lacks(self, *keys):
        if "probe" in self:
            found.update(keys)
        return lacks(self, *keys)

    def noting_finish(self, ignore=()):
        if "probe" in self:
            found.update(set(ignore) - set(self.entries()))
        finish(self, ignore)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Mapping, "_get", noting_get)  # of every way to ask
        patch.setattr(Mapping, "lacks", noting_lacks)
        patch.setattr(Mapping, "finish", noting_finish)
        with TemporaryDirectory() as folder:
            read(node, {**CONTEXTS[node].defaults, "probe": "1"}, Path(folder).resolve())
    return found


def plain(value):
    """Return a body as nested tuples, but for places in files and information for others."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if dataclasses.is_dataclass(value):
        names = [f.name for f in dataclasses.fields(value) if f.name not in ("at", "info")]
        return (type(value).__name__, *(plain(getattr(value, name)) for name in names))
    if isinstance(value, tuple | list):
        return [plain(inner) for inner in value]
    if isinstance(value, frozenset):
        return sorted(map(str, map(plain, map(sorted, value))))
    return value if isinstance(value, Enum | Span) else str(value)


def emitted_codes():
    """Return every code that the readers of this format and of YAML may report."""
    paths = [
        *sorted((ROOT / "hrp_model" / "readers" / "choreonoid").glob("*.py")),
        *(
            ROOT / "hrp_model" / "readers" / "yaml" / f"{name}.py"
            for name in ("tree", "nodes", "scalars")
        ),
    ]
    found = set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            found.update(codes_of(node))
    return found


def codes_of(node):
    """Return the codes in a call that reports, or in a parameter or variable for one."""
    if isinstance(node, ast.keyword | ast.arg) and getattr(node, "arg", "") == "code":
        value = getattr(node, "value", None)
        return {value.value} if isinstance(value, ast.Constant) else set()
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        first = node.args[0] if node.args else None
        if name in ("warn", "error", "note", "_UnusableError"):
            values = [first] if isinstance(first, ast.Constant) else []
            return {v.value for v in values}
    if isinstance(node, ast.FunctionDef):
        defaults = [*node.args.defaults, *node.args.kw_defaults]
        constants = {d.value for d in defaults if isinstance(d, ast.Constant)}
        return {c for c in constants if isinstance(c, str) and "-" in c}
    if isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "code" for t in node.targets):
        return {n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant) and n.value}
    return set()
