"""The published lists: each node and field stands in one, and does what its list promises."""

import ast
import re
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path

import numpy as np
from each_case import check_each
from model.readers.vrml.vrml_examples import models
from paths import ROOT
from vrml_tools import body_of

from hrp_model.diagnostics import Diagnostics, Severity, Span
from hrp_model.program.report import CODES
from hrp_model.readers import vrml
from hrp_model.readers.vrml.fields import known_types
from hrp_model.readers.vrml.nodes import FIELD_TYPES

PAGE = ROOT / "docs" / "formats" / "openhrp.md"
CORPUS = ROOT / "test" / "data" / "vrml"
LISTS = {"Supported": "1.", "Ignored on purpose": "2.", "Unsupported, with a warning": "3."}


def rows(heading):
    """Return the cells of each row of the tables below a heading of the second level."""
    (section,) = re.findall(
        rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.M | re.S
    )
    lines = [line for line in section.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if row[0].startswith("`")]


def entries(heading):
    """Yield (node, field) for each field that a list names."""
    for nodes, names, _ in rows(heading):
        for node in re.findall(r"`(\w+)`", nodes):
            assert node in known_types(), f"the page names a node '{node}'"
            every = list(known_types()[node].fields) if names == "every field" else []
            for field in every or re.findall(r"`(\w+)`", names):
                assert field in known_types()[node].fields, f"{node} has no '{field}'"
                yield node, field


TABLE = {name: list(entries(f"{number} {name}")) for name, number in LISTS.items()}


def test_every_field_stands_in_exactly_one_list():
    listed = [entry for name in LISTS for entry in TABLE[name]]
    known = [(node, field) for node, t in known_types().items() for field in t.fields]
    assert sorted(listed) == sorted(known)


def plain(value, leave_out=()):
    """Return a body as nested plain values, to compare two of them."""
    if is_dataclass(value) and not isinstance(value, type):
        names = [f.name for f in fields(value) if f.name not in (*leave_out, "at")]
        return [type(value).__name__, *(plain(getattr(value, n), leave_out) for n in names)]
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {key: plain(below, leave_out) for key, below in value.items()}
    if isinstance(value, tuple | list):
        return [plain(below, leave_out) for below in value]
    return sorted(map(sorted, value)) if isinstance(value, frozenset) else repr(value)


def read(node, field, leave_out=()):
    """Read a model without and with a field: both as plain values, and what was said of it."""
    declared = known_types()[node].fields[field]
    (type_name,) = [n for n, t in FIELD_TYPES.items() if t == declared.type][:1]
    bodies = []
    for text in models(node, field, type_name, declared.default):
        found = Diagnostics.silent()
        body = body_of(text, found, path=CORPUS / "valid" / "m.wrl")
        bodies.append(None if body is None else plain(body, leave_out))
    return *bodies, found.found


def test_what_is_supported_matters_and_is_read_without_a_word():
    check_each(TABLE["Supported"], check_supported)


def check_supported(entry):
    node, field = entry
    without, with_it, found = read(node, field)
    assert [str(d) for d in found] == []
    assert without != with_it


def test_what_is_ignored_changes_nothing_and_is_noted_at_most():
    check_each(TABLE["Ignored on purpose"], check_ignored)


def check_ignored(entry):
    node, field = entry
    without, with_it, found = read(node, field, leave_out=("info",))
    assert {d.severity for d in found} <= {Severity.NOTE}
    assert without == with_it


def test_what_is_unsupported_changes_nothing_and_is_warned_about():
    check_each(TABLE["Unsupported, with a warning"], check_unsupported)


def check_unsupported(entry):
    node, field = entry
    without, with_it, found = read(node, field, leave_out=("info",))
    assert {d.severity for d in found} == {Severity.WARNING}
    assert all(isinstance(d.at, Span) for d in found)
    assert without == with_it


# --- diagnostics


def codes_in_sources():
    """Yield the codes that the reader's own modules write out where they report."""
    for path in Path(vrml.__file__).parent.glob("*.py"):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args:
                first = call.args[0]
                reports = call.func.attr in ("note", "warn", "error", "_error")
                if reports and isinstance(first, ast.Constant):
                    yield first.value


def codes_in_corpus():
    for path in (CORPUS / "invalid").glob("*.txt"):
        for line in path.read_text("utf-8").splitlines():
            yield re.fullmatch(r".*?: (note|warning|error): .* \[([a-z0-9-]+)\]", line).groups()


def test_every_code_is_explained_and_has_a_file_that_shows_it():
    shown = {code for _, code in codes_in_corpus()}
    assert set(codes_in_sources()) <= shown <= CODES.keys()
