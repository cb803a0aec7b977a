"""Files as shapes only: names to pick parts by, and files within files."""

import json

import numpy as np
import pytest
from each_case import check_each, some_or_all
from paths import SHARED, needs_shared
from vrml_tools import read_context, write

from hrp_model.diagnostics import Diagnostics, Span
from hrp_model.read_context import read_source
from hrp_model.readers import vrml
from hrp_model.shapes.measure import bounding_box
from hrp_model.shapes.tessellate import shape_mesh

BOX = "Shape { geometry Box { } }"


def scene_of(path, diagnostics):
    bundle = read_context(diagnostics)
    return bundle.read_scene(path, Span(read_source(path), 0, 0))


def names(scene):
    return [scene.name, *(n for child in scene.children for n in names(child))]


def test_groups_and_shapes_keep_their_names(tmp_path, diagnostics):
    path = write(tmp_path, m=f"DEF A Transform {{ scale 2 2 2 children [ DEF B {BOX} {BOX} ] }}")
    scene = scene_of(path, diagnostics)
    (a,) = scene.children
    assert a.name == "A"
    np.testing.assert_array_equal(a.T_PN, np.diag([2, 2, 2, 1]))
    assert a.children[0].name == a.children[0].shapes[0].name == "B"
    assert len(scene.flattened()) == 2


def test_shapes_keep_the_order_of_the_file(tmp_path, diagnostics):
    spheres = [f"Shape {{ geometry Sphere {{ radius {i} }} }}" for i in range(5)]
    group = f"Group {{ children [ {spheres[1]} {spheres[2]} ] }}"
    path = write(tmp_path, m=f"{spheres[0]} {group} {spheres[3]} DEF X {spheres[4]}")
    radii = [s.geometry.radius for s in scene_of(path, diagnostics).flattened()]
    assert radii == [0, 1, 2, 3, 4]


def test_a_robot_is_drawn_in_its_zero_posture(tmp_path, diagnostics):
    text = f"""DEF R Humanoid {{ humanoidBody DEF J Joint {{ translation 0 0 1 children [
      DEF S Segment {{ children [ {BOX} Surface {{ visual {BOX} collision {BOX} }} ] }}
      DEF G Gyro {{ translation 1 0 0 children {BOX} }} ] }} }}"""
    scene = scene_of(write(tmp_path, m=text), diagnostics)
    places = [s.T_FG[:3, 3].tolist() for s in scene.flattened()]
    assert places == [[0, 0, 1], [0, 0, 1], [1, 0, 1]]
    assert {"R", "J", "S", "G"} <= set(names(scene))


def test_scenery_is_passed_over(tmp_path, diagnostics):
    path = write(tmp_path, m=f"Viewpoint {{ }} DEF S Sound {{ }} PointLight {{ }} {BOX}")
    assert names(scene_of(path, diagnostics)) == [""]


def test_inlines_are_relative_to_their_own_file(tmp_path, diagnostics):
    (tmp_path / "parts").mkdir()
    path = write(tmp_path, m='DEF I Inline { url "parts/a.wrl" } Inline { url "./b.wrl" }', b=BOX)
    write(
        tmp_path / "parts", a='Inline { url "b.wrl" } Inline { url "../b.wrl" }', b="DEF P " + BOX
    )
    scene = scene_of(path, diagnostics)
    assert len(scene.flattened()) == 3
    assert {"I", "P"} <= set(names(scene))


def test_names_do_not_cross_files(tmp_path, diagnostics):
    path = write(tmp_path, m=f'DEF A {BOX} Inline {{ url "a.wrl" }}', a="USE A")
    assert len(scene_of(path, diagnostics).flattened()) == 1
    assert diagnostics.take("unknown-use").at.source.path.name == "a.wrl"


def test_an_inline_takes_the_first_file_there_is(tmp_path, diagnostics):
    path = write(tmp_path, m='Inline { url [ "none.wrl" "a.wrl" "b.wrl" ] }', a=BOX, b=BOX)
    assert len(scene_of(path, diagnostics).flattened()) == 1
    assert "'b.wrl'" in diagnostics.take("inline-list").message


def test_an_inline_without_any_file_names_them_all(tmp_path, diagnostics):
    path = write(tmp_path, m=f'{BOX} Inline {{ url [ "x.wrl" "y.wrl" ] }} Inline {{ url "" }}')
    assert len(scene_of(path, diagnostics).flattened()) == 1
    for name in ("'x.wrl'", "'y.wrl'"):
        assert name in diagnostics.take("missing-resource").message


def test_a_missing_file_is_an_oserror(tmp_path, diagnostics):
    with pytest.raises(OSError, match=r"none\.wrl"):
        vrml.read_scene(tmp_path / "none.wrl", read_context(diagnostics))


def _parts():
    folder = SHARED / "reference"
    if not (folder / "index.json").is_file():
        return []
    rows = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    return [(r["model_file"], r["file"]) for r in rows if r["file"].startswith("choreonoid_wrl")]


@needs_shared
@some_or_all("parts", _parts(), 30)
def test_real_parts_have_the_shapes_of_the_reference(parts):
    check_each(parts, check_part)


def check_part(part):
    model, file = part
    diagnostics = Diagnostics.silent()
    (link,) = json.loads((SHARED / "reference" / file).read_text(encoding="utf-8"))["links"]
    ours = scene_of(SHARED / model, diagnostics).flattened()
    assert {d.code for d in diagnostics.found} <= {"empty-mesh", "missing-def-name"}
    boxes = np.array([bounding_box(shape_mesh(shape)) for shape in ours])
    theirs = link["visual"]["shapes"]
    assert len(ours) == link["visual"]["num_shapes"]
    listed = slice(len(theirs))  # of many shapes only the first are described
    for shape, box, expected in zip(ours[listed], boxes[listed], theirs, strict=True):
        assert type(shape.geometry).__name__ == expected["primitive"]
        np.testing.assert_allclose(shape.T_FG[:3], expected["T34"], rtol=0, atol=1e-9)
        if expected["primitive"] == "Mesh":
            limits = expected["bbox_min"], expected["bbox_max"]
            np.testing.assert_allclose(box, limits, rtol=0, atol=1e-6)
