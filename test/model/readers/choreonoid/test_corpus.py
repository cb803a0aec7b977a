"""Files with what they must give: a body's dump, or diagnostics, word for word."""

import json
import re
from dataclasses import replace

import pytest
from body_tools import read_file
from each_case import all_cases
from model.readers.choreonoid.body_page import IGNORED, SUPPORTED, emitted_codes, plain, rows
from paths import ROOT

from hrp_model.cli.dump import dump_body
from hrp_model.diagnostics import Severity
from hrp_model.readers.choreonoid import devices, elements, geometries, tree

CORPUS = ROOT / "test" / "data" / "choreonoid"
VALID = sorted([*(CORPUS / "valid").glob("*.body"), *(CORPUS / "valid").glob("*wrapper.yaml")])
INVALID = sorted((CORPUS / "invalid").glob("*.body"))
# What the corpus is about; the rest of a dump follows from it and is tested elsewhere.
LINK_KEYS = (
    *("name", "parent", "joint_name", "joint_type", "joint_id", "axis", "b", "Rb"),
    *("q_lower", "q_upper", "dq_lower", "dq_upper", "mass", "c", "I"),
)


def summary(body):
    """Return the part of a dump that a file's author can work out by hand, rounded."""
    dump = dump_body(body)
    links = []
    for link in dump["links"]:
        shapes = {
            kind: [[s["type"], [row[3] for row in s["T"][:3]]] for s in link[kind]["shapes"]]
            for kind in ("visual", "collision")
        }
        links.append({key: link[key] for key in LINK_KEYS} | shapes)
    return rounded(
        {
            "model_name": dump["model_name"],
            "mass": dump["mass"],
            "links": links,
            "devices": [[d["class"], d["name"], d["link"], d["id"]] for d in dump["devices"]],
            "extra_joints": len(dump["extra_joints"]),
            "self_collision_disabled": sorted(map(sorted, dump["self_collision_disabled"])),
        }
    )


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return round(value, 12) + 0.0 if isinstance(value, float) else value


@all_cases("path", VALID)
def test_a_valid_file_gives_its_body(path, diagnostics):
    body = read_file(path, diagnostics)
    assert summary(body) == json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    diagnostics.found = [d for d in diagnostics.found if d.severity is not Severity.NOTE]


@all_cases("path", INVALID)
def test_an_invalid_file_gives_its_diagnostics(path, diagnostics):
    body = read_file(path, diagnostics)
    # Some messages name a file that was looked for, with all its folders.
    found = "".join(f"{d}\n" for d in diagnostics.found).replace(str(path.parent), "...")
    assert found == path.with_suffix(".txt").read_text(encoding="utf-8")
    assert found
    expected = path.with_suffix(".json")
    if expected.exists():
        assert not diagnostics.has_errors
        assert summary(body) == json.loads(expected.read_text(encoding="utf-8"))
    diagnostics.found.clear()


def test_every_code_is_in_the_corpus():
    found = " ".join(path.with_suffix(".txt").read_text(encoding="utf-8") for path in INVALID)
    # Only a file that the user may not read cannot be read, and no test can count on one.
    missing = {c for c in emitted_codes() if f"[{c}]" not in found} - {"unreadable-file"}
    assert missing == set()


SINKS = (
    *(
        f"{name}.body"
        for name in ("kitchen_sink_1", "kitchen_sink_2", "variants", "old_collision_rules")
    ),
    *("wrapper.yaml", "old_wrapper.yaml", "parts/scene.scen", "parts/old_scene.scen"),
)


def test_every_node_and_every_key_is_in_the_kitchen_sinks():
    sinks = " ".join((CORPUS / "valid" / name).read_text(encoding="utf-8") for name in SINKS)
    written = set(re.findall(r"([A-Za-z_0-9]+):", sinks))
    keys = {key for kind in (SUPPORTED, IGNORED) for _, keys in rows(kind) for key in keys}
    assert keys - written == set()
    types = set(re.findall(r"type: ([A-Za-z]+)", sinks)) | written
    read = {*tree._ENTRIES, *elements._NODES, *devices.READERS, *geometries.READERS}
    assert read - types == set()


@pytest.mark.parametrize(
    "names", [("kitchen_sink_1.body", "kitchen_sink_2.body"), ("old_wrapper.yaml", "wrapper.yaml")]
)
def test_both_generations_of_the_spelling_give_the_same_body(names, diagnostics):
    one, two = (read_file(CORPUS / "valid" / name, diagnostics) for name in names)
    assert plain(replace(one, path=None)) == plain(replace(two, path=None))
    diagnostics.found = [d for d in diagnostics.found if d.severity is not Severity.NOTE]
