"""Files with what they must give: a body's dump, or diagnostics, word for word."""

import json

import pytest
from body_tools import read_file
from paths import ROOT

from hrp_model.diagnostics import Severity
from hrp_model.dump import dump_body

CORPUS = ROOT / "test" / "data" / "choreonoid"
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


@pytest.mark.parametrize("path", sorted((CORPUS / "valid").glob("*.body")), ids=lambda p: p.stem)
def test_a_valid_file_gives_its_body(path, diagnostics):
    body = read_file(path, diagnostics)
    assert summary(body) == json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", sorted((CORPUS / "invalid").glob("*.body")), ids=lambda p: p.stem)
def test_an_invalid_file_gives_its_diagnostics(path, diagnostics):
    read_file(path, diagnostics)
    found = "".join(f"{d}\n" for d in diagnostics.found)
    assert found == path.with_suffix(".txt").read_text(encoding="utf-8")
    assert any(d.severity is Severity.ERROR for d in diagnostics.found)
    diagnostics.found.clear()
