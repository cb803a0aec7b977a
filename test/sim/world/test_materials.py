"""The table of contact materials, and the files it is read from."""

from itertools import product

import numpy as np
import pytest

from hrp_model import Diagnostics
from hrp_model.diagnostics import Severity, Source
from hrp_model.readers.yaml.tree import parse
from hrp_sim.engine.materials import (
    NO_COLLISION,
    ContactMaterial,
    Material,
    MaterialTable,
    material_pair,
)
from hrp_sim.world.load import load_world
from hrp_sim.world.physics_file import read_materials

TABLE = """
materials:
  - { name: Default, roughness: 0.8 }
  - { name: Ice, roughness: 0.02, viscosity: 0.75 }
  - { name: Rubber, roughness: 1.28, viscosity: 0.36, youngs_modulus: 1e6 }
contact_materials:
  - { materials: [ Ice, Rubber, Felt ], friction: 0.3, restitution: 0.2 }
  - { materials: [ Rubber, Rubber ], staticFriction: 1.1, dynamicFriction: 0.9 }
"""


class Found(list):
    """What a reader says, by code."""

    def take(self, code, *words):
        (only,) = [d for d in self if d.code == code]
        self.remove(only)
        assert all(word in only.message for word in words), only
        return only


def read(text):
    found = Found()
    diagnostics = Diagnostics(listener=found.append)
    table = read_materials(parse(Source("materials.yaml", text), diagnostics))
    return table, found


def touching(table, a, b, friction=0.5):
    i, j = table.index(a), table.index(b)
    mu, e = table.matrices(friction)
    np.testing.assert_array_equal(mu, mu.T)
    np.testing.assert_array_equal(e, e.T)
    return mu[i, j], e[i, j]


def test_without_a_table_everything_has_the_friction_of_the_world():
    assert touching(MaterialTable(), "", "Anything", friction=0.37) == pytest.approx((0.37, 0.0))


def test_a_pair_has_what_is_said_about_it_else_the_geometric_mean():
    table, _ = read(TABLE)
    assert touching(table, "Ice", "Rubber") == (0.3, 0.2)
    assert touching(table, "Felt", "Ice") == (0.3, 0.2)
    assert touching(table, "Rubber", "Rubber") == (0.9, 0.0)
    assert touching(table, "Ice", "Ice") == pytest.approx((0.02, 0.25))
    assert touching(table, "Ice", "") == pytest.approx((np.sqrt(0.02 * 0.8), 0.0))
    table = MaterialTable({"A": Material(0.5, 0.0), "B": Material(0.5, 0.75)})
    assert touching(table, "A", "B") == pytest.approx((0.5, 0.5))


def test_a_closed_table_lets_only_listed_pairs_collide():
    table, found = read("only_pairs: true\n" + TABLE)
    assert table.only_pairs
    found.take("one-friction")
    assert touching(table, "Ice", "Rubber") == (0.3, 0.2)
    assert touching(table, "Rubber", "Rubber") == (0.9, 0.0)
    assert touching(table, "Ice", "Ice")[0] == NO_COLLISION
    assert touching(table, "Default", "Ice")[0] == pytest.approx(np.sqrt(0.8 * 0.02))
    names = ("Default", "Chewing gum", "Ice", "Rubber", "Felt")
    for a, b in product(names, names):
        assert table.collide(a, b) == (touching(table, a, b)[0] != NO_COLLISION), (a, b)


def test_a_material_that_is_unknown_or_not_named_is_the_default():
    table, _ = read(TABLE)
    for name in ("", "default", "Default", "Chewing gum"):
        assert touching(table, name, name) == pytest.approx((0.8, 0.0))
    assert table.has("default")
    assert not table.has("Chewing gum")
    assert touching(table, "Felt", "Felt") == pytest.approx((0.8, 0.0))
    no_default = MaterialTable({"Ice": Material(roughness=0.1)})
    assert touching(no_default, "Ice", "", friction=0.9)[0] == pytest.approx(np.sqrt(0.09))


def test_words_are_those_of_the_original_with_its_defaults():
    table, found = read("materials: [ { name: A } ]\ncontactMaterials: [ { materials: [A, B] } ]")
    assert table.materials == {"A": Material(roughness=0.5, viscosity=1.0)}
    assert table.pairs == {material_pair("A", "B"): ContactMaterial(0.5, 0.0)}
    assert found == []


def test_what_is_for_other_libraries_is_noted_and_what_is_wrong_is_warned_about():
    table, found = read(TABLE.replace("0.2 }", "0.2, fricton: 3 }"))
    assert found.take("unused-key", "youngs_modulus").severity is Severity.NOTE
    assert found.take("one-friction", "0.9", "1.1").severity is Severity.WARNING
    assert found.take("unknown-key", "'friction'").severity is Severity.WARNING
    assert found == []
    assert len(table.materials) == 3


def test_one_kind_of_friction_serves_where_the_other_is_not_said():
    for key in ("friction", "static_friction", "dynamic_friction"):
        table, found = read(f"contact_materials: [ {{ materials: [A, A], {key}: 0.7 }} ]")
        assert (touching(table, "A", "A")[0], found) == (0.7, [])


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("materials: [ { name: A, roughness: -1 } ]", "out-of-range", "1:36"),
        ("materials: [ { name: A, roughness: .inf } ]", "wrong-type", "1:36"),
        ("materials: [ { roughness: 1 } ]", "missing-name", "1:14"),
        ("materials: [ A ]", "wrong-type", "1:14"),
        ("contact_materials: [ { materials: [A] } ]", "missing-pair", "1:35"),
        ("contact_materials: [ { friction: 1 } ]", "missing-pair", "1:22"),
        ("contact_materials: [ { materials: [A, B], restitution: 1.5 } ]", "out-of-range", "1:56"),
        ("contact_materials: [ { materials: [A, B], friction: -2 } ]", "out-of-range", "1:53"),
    ],
)
def test_nonsense_is_an_error_with_a_place(text, code, place):
    _, found = read(text)
    wrong = [d for d in found if d.severity is Severity.ERROR]
    assert [(d.code, str(d.at)) for d in wrong] == [(code, f"materials.yaml:{place}")]


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_no_material_is_made_of_impossible_numbers(value):
    for make in (Material, ContactMaterial):
        for numbers in ((value, 0.5), (0.5, value)):
            with pytest.raises(ValueError, match="must be from"):
                make(*numbers)


def test_more_materials_than_a_table_can_have_are_refused():
    names = ", ".join(f"m{i}" for i in range(600))
    _, found = read(f"contact_materials: [ {{ materials: [ {names} ] }} ]")
    found.take("too-large", "500")


def test_a_name_that_is_nearly_one_of_the_list_is_asked_about():
    pairs = "contact_materials: [ { materials: [Stel, Skin], friction: 0.2 } ]"
    _, found = read(f"materials: [ {{ name: Steel }} ]\n{pairs}")
    assert "no 'Stel'. Did you mean 'Steel'?" in found.take("unlisted-material").message
    assert not found  # Skin may be the material of a link


def test_a_world_names_a_file_or_holds_the_table(tmp_path):
    (tmp_path / "surfaces.yaml").write_text(TABLE)
    (tmp_path / "a.yaml").write_text("physics: { materials: surfaces.yaml }\nbodies: []")
    inside = "\n".join("    " + line for line in TABLE.splitlines())
    (tmp_path / "b.yaml").write_text(f"physics:\n  materials:{inside}\nbodies: []")
    first, second = (load_world(tmp_path / name).physics.materials for name in ("a.yaml", "b.yaml"))
    assert first == second == read(TABLE)[0]


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("nowhere.yaml", "missing-resource"),
        ("list.yaml", "not-materials"),
        ("world.yaml", "not-materials"),
        ("[1]", "wrong-type"),
    ],
)
def test_a_table_that_cannot_be_read_is_an_error_of_the_world(tmp_path, written, code):
    (tmp_path / "list.yaml").write_text("[ 1, 2 ]")
    (tmp_path / "world.yaml").write_text(f"physics: {{ materials: {written} }}\nbodies: []")
    found = []
    with pytest.raises(ValueError, match=code):
        load_world(tmp_path / "world.yaml", Diagnostics(listener=found.append))
    assert [d.code for d in found] == [code]
