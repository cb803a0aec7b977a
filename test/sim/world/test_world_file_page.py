"""docs/world-file.md names every key of a world file, and gives its default and range."""

import re
from contextlib import suppress
from dataclasses import fields, replace

import pytest
from numpy.testing import assert_array_equal
from paths import ROOT

from hrp_model import Diagnostics, ModelError
from hrp_model.readers.yaml.nodes import Mapping
from hrp_sim.sensors.settings import IDEAL
from hrp_sim.world.load import load_world


def prose(page):
    """Return the text of a page without its examples."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


PAGE = prose("world-file.md")
ARM = """\
format: ChoreonoidBody
format_version: 2.0
name: Arm
links:
  - { name: BASE, joint_type: fixed, translation: [ 0, 0, 1 ] }
  - { name: J1, parent: BASE, joint_type: revolute, joint_id: 0, mass: 1,
      inertia: [ 1, 0, 0, 0, 1, 0, 0, 0, 1 ] }
"""
TWO = "bodies: [ { model: arm.body, name: a }, { model: arm.body, name: b } ]\n"
# Where the keys of each table stand: "?" is the key with its value.
PLACES = {
    "the file": "?",
    "physics": "physics: { ? }\nbodies: []",
    "materials": "physics: { materials: { ? } }\nbodies: []",
    "bodies": "bodies: [ { model: arm.body, ? } ]",
    "velocity": "bodies: [ { model: arm.body, velocity: { ? } } ]",
    "controllers": "bodies: [ { model: arm.body } ]\ncontrollers: [ { class: a:A, body: Arm, ? } ]",
    "control": "bodies: [ { model: arm.body, control: { ? } } ]",
    "joints": TWO + "joints: [ { type: ball, link1: { body: a }, link2: { body: b }, ? } ]",
    "links": TWO + "joints: [ { type: ball, link1: { body: a, ? }, link2: { body: b } } ]",
    "named poses": "?",
}
# What has to stand beside a key.
NEEDED = {
    "named_poses[].": "name: A",
    "materials[].": "name: A",
    "contact_materials[].": "materials: [ A, B ]",
}


def rows(name):
    """Return the cells of the rows between two marks."""
    [text] = re.findall(rf"<!-- {name}: .*?-->\n(.*?)<!-- end of the ", PAGE, re.DOTALL)
    lines = [line for line in text.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def quoted(text):
    return re.findall(r"`([^`]+)`", text)


KEYS = [(place, row) for place in PLACES for row in rows(f"Keys of {place}")]
FIRST = KEYS[0][1]  # "bodies", without which it is no world


def case(place, key, value):
    """Return the text of a world in which a key of a table has a value."""
    outer, is_of_list, inner = key.rpartition("[].")
    written = f"{inner}: {value}"
    if is_of_list:
        needed = NEEDED[outer + is_of_list]
        beside = "" if needed.startswith(f"{inner}:") else f"{needed}, "
        written = f"{outer}: [ {{ {beside}{written} }} ]"
    around = PLACES[place].replace("type: ball, ", "") if key == "type" else PLACES[place]
    text = around.replace("?", written)
    return text if "bodies" in text else f"{text}\nbodies: []"


@pytest.fixture
def read(tmp_path):
    """Return a function that reads a text: its world and the codes of all that is reported."""
    (tmp_path / "arm.body").write_text(ARM, encoding="utf-8")

    def read(text):
        path = tmp_path / "world.yaml"
        path.write_text(text, encoding="utf-8")
        diagnostics = Diagnostics.silent()
        world = None
        with suppress(ModelError):
            world = load_world(path, diagnostics)
        return world, [found.code for found in diagnostics.found]

    return read


def described(world):
    """Return what can be compared of a world: arrays as lists."""
    bodies = []
    for entry in world.bodies:
        placement = {f.name: getattr(entry.placement, f.name) for f in fields(entry.placement)}
        placement |= {"body": entry.placement.body.path, "X_WL": str(placement["X_WL"].matrix())}
        placement = {name: getattr(v, "tolist", lambda v=v: v)() for name, v in placement.items()}
        bodies.append((placement, replace(entry, placement=None)))
    joints = []
    for joint in world.joints:
        values = {f.name: getattr(joint, f.name) for f in fields(joint)}
        values |= {"X_AJ": joint.X_AJ.matrix().tolist(), "X_BJ": joint.X_BJ.matrix().tolist()}
        joints.append(values | {"axis": joint.axis.tolist()})
    poses = [(pose.name, pose.X_WP.matrix().tolist(), pose.tags) for pose in world.named_poses]
    return world.physics, world.sensors, bodies, joints, poses


def test_the_page_names_every_key_that_the_reader_asks_for(read, monkeypatch):
    asked = set()
    for name in ("get", "number", "integer", "boolean", "text", "choice", "numbers", "mapping",
                 "sequence", "lacks"):  # fmt: skip
        getter = getattr(Mapping, name)

        def recording(self, *keys, _getter=getter, **options):
            if self.span.source.name.endswith("world.yaml"):
                asked.update(keys)
            return _getter(self, *keys, **options)

        monkeypatch.setattr(Mapping, name, recording)
    _, codes = read(
        """\
physics:
  materials:
    materials: [ { name: A } ]
    contact_materials: [ { materials: [ A, A ] } ]
sensors: { }
bodies:
  - model: arm.body
    velocity: { }
    sensors: { joint_states: { } }
    control: { joints: { J1: { mode: effort } } }
    surface_velocity: { BASE: [ 1, 0, 0 ] }
  - { model: arm.body, name: other }
joints:
  - { type: ball, link1: { body: Arm }, link2: { body: other } }
named_poses: [ { name: A, bounds: { lower: [ 0, 0, 0 ], upper: [ 1, 1, 1 ] } } ]
"""
    )
    assert codes == []
    page = PAGE + prose("physics.md")  # which has Choreonoid's names
    options = {option.name for option in fields(IDEAL)}  # in docs/data/sensor_options.csv
    assert asked - {"J1", "joint_states", "BASE"} - options <= {
        name for key in quoted(page) for name in key.split("[].")
    }


@pytest.mark.parametrize(
    ("place", "row"),
    [(place, row) for place, row in KEYS if re.fullmatch("`[^`]+`", row[2]) and row != FIRST],
    ids=lambda x: x if isinstance(x, str) else x[0],
)
def test_a_default_is_what_holds_without_the_key(read, place, row):
    key, value = quoted(row[0])[0], quoted(row[2])[0]
    written = case(place, key, value)
    without = written.replace(f"{key.rpartition('.')[2]}: {value}", "")
    with_key, codes = read(written)
    assert codes == []
    assert described(with_key) == described(read(without)[0])


@pytest.mark.parametrize(
    ("place", "row"),
    [(place, row) for place, row in KEYS if re.match(r"[\d.e-]+ (to|and)", row[3])],
    ids=lambda x: x if isinstance(x, str) else x[0],
)
def test_a_range_is_what_the_reader_accepts(read, place, row):
    key = quoted(row[0])[0]
    least, most = re.match(r"(\S+) (?:to (\S+)|and more)", row[3]).groups()
    accepted = [least] if most is None else [least, most]
    for value in accepted:
        assert read(case(place, key, value))[1] == []
    beyond = [str(float(least) - 1.0)]
    beyond += [] if most is None else [str(2.0 * float(most))]
    for value in beyond:
        assert "out-of-range" in read(case(place, key, value))[1]


@pytest.mark.parametrize(
    ("place", "row"),
    [(place, row) for place, row in KEYS if row[1] == "choice"],
    ids=lambda x: x if isinstance(x, str) else x[0],
)
def test_choices_are_those_that_the_reader_knows(read, place, row):
    key = quoted(row[0])[0]
    for word in quoted(row[3]):
        assert read(case(place, key, word))[1] == []
    assert read(case(place, key, "something"))[1] == ["unknown-word"]


def test_what_the_model_says_is_the_default_of_a_body(read):
    world, _ = read(case("bodies", "namespace", "a"))
    [entry] = world.bodies
    placement, body = entry.placement, entry.placement.body
    assert placement.name == body.name
    assert placement.fixed == body.is_root_fixed
    assert_array_equal(placement.X_WL.matrix(), body.root.X_PL.matrix())
