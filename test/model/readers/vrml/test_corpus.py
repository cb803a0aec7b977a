"""Files and what they must give: ``x.wrl`` beside the robot in ``x.json``, ``y.wrl`` beside
the problems in ``y.txt``."""

import json
from math import isinf

import numpy as np
from each_case import all_cases
from paths import ROOT
from vrml_tools import read_context

from hrp_model.devices import Camera
from hrp_model.diagnostics import Diagnostics
from hrp_model.geometry import Mesh
from hrp_model.read_context import read_source
from hrp_model.readers.vrml.fields import known_types
from hrp_model.readers.vrml.nodes import Node
from hrp_model.readers.vrml.parser import parse

CORPUS = ROOT / "test" / "data" / "vrml"


def files(folder):
    return sorted((CORPUS / folder).glob("*.wrl"))


def read(path):
    found = Diagnostics.silent()
    return read_context(found).read_body(path, name=path.name), found


@all_cases("path", files("valid"))
def test_a_valid_file_gives_its_robot_without_a_word(path):
    body, found = read(path)
    assert [str(d) for d in found.found] == []
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert summary(body) == expected


@all_cases("path", files("invalid"))
def test_an_invalid_file_gives_its_diagnostics(path):
    body, found = read(path)
    expected = path.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    written = [str(d).replace(str(path.parent), "FOLDER") for d in found.found]
    assert written == expected
    assert body is not None or found.has_errors


def written_fields(value):
    """Yield the type of each node written, and (type, field) for each field it writes."""
    if isinstance(value, tuple):
        for item in value:
            yield from written_fields(item)
    elif isinstance(value, Node):
        yield value.type_name, None
        for name, below in value.values.items():
            yield value.type_name, name
            yield from written_fields(below)


def test_the_kitchen_sinks_hold_every_node_and_every_field():
    written = set()
    for path in (CORPUS / "valid/kitchen_sink.wrl", CORPUS / "invalid/kitchen_sink_rest.wrl"):
        nodes = parse(read_source(path), Diagnostics.silent(), known_types()).nodes
        written.update(written_fields(nodes))
    known = {(name, None) for name in known_types()}
    # The fields of a Script are not read, so the tree has none.
    known |= {(n, f) for n, t in known_types().items() for f in t.fields if n != "Script"}
    assert sorted(map(str, known - written)) == []


def summary(body):
    """Return a robot as plain data, what is as by default left out."""
    links = []
    for link in body.links:
        joint = link.joint
        row = {
            "name": link.name,
            "parent": link.parent,
            "joint": joint.type.value,
            "id": joint.id,
            "axis": numbers(joint.axis) if joint.type.value not in ("fixed", "free") else None,
            "p": numbers(link.X_PL.p),
            "R": numbers(link.X_PL.R) if not np.array_equal(link.X_PL.R, np.eye(3)) else None,
            "position": limits(joint.position),
            "velocity": limits(joint.velocity),
            "effort": limits(joint.effort),
            "rotor": joint.equivalent_rotor_inertia,
            "mass": link.mass,
            "c": numbers(link.center_of_mass),
            "I": numbers(link.inertia.ravel()),
            "visual": [shape(s) for s in link.visual],
            "collision": [shape(s) for s in link.collision]
            if link.collision is not link.visual
            else None,
        }
        links.append({k: v for k, v in row.items() if v or (k == "id" and v is not None)})
    return {
        "name": body.name,
        "info": body.info,
        "links": links,
        "devices": [device(d) for d in body.devices],
        "extra_joints": [[e.type.value, *e.links, numbers(e.axis)] for e in body.extra_joints],
    }


def device(made):
    row = [type(made).__name__, made.name, made.link, made.id, numbers(made.X_LS.p)]
    return [*row, made.image_type.value] if isinstance(made, Camera) else row


def numbers(values):
    rounded = [round(float(v), 9) + 0.0 for v in np.ravel(values)]
    return rounded if any(rounded) else None


def limits(interval):
    return [None if isinf(v) else v for v in interval] if not all(map(isinf, interval)) else None


def shape(placed):
    size = placed.geometry
    if isinstance(size, Mesh):
        text = f"Mesh {len(size.vertices)} {len(size.triangles)}"
    else:
        text = type(size).__name__
    return [text, numbers(placed.T_FG[:3, 3]), list(placed.material.diffuse)]
