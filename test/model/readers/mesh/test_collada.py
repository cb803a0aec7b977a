"""COLLADA: what each feature means, and what is lost with a broken part."""

import re

import numpy as np
import pytest
from body_tools import read_context
from mesh_samples import DAE

from hrp_model.readers.mesh.mesh_file import read_scene
from hrp_model.shapes.measure import area, bounding_box
from hrp_model.shapes.tessellate import shape_mesh

PLATE = re.search(r"<polylist.*</polylist>", DAE, re.DOTALL)[0]
VERTEX = '<input semantic="VERTEX" source="#v" offset="0"/>'
EFFECT = re.search(r"<effect.*</effect>", DAE, re.DOTALL)[0]
INSTANCE = re.search(r"<instance_geometry.*</instance_geometry>", DAE, re.DOTALL)[0]
# The plate of DAE is 2 x 1, scaled by 2, 10 above the ground, in inches.
PLATE_AREA = 2.0 * 1.0 * 4.0
INCH = 0.0254


def scene_of(text, tmp_path, diagnostics):
    path = tmp_path / "a.dae"
    path.write_text(text)
    return read_scene(path, read_context(diagnostics))


def shapes_of(text, tmp_path, diagnostics):
    return scene_of(text, tmp_path, diagnostics).flattened()


def measured(text, tmp_path, diagnostics):
    """Triangles, area and bounding box of a file, in its own unit."""
    meshes = [shape_mesh(shape) for shape in shapes_of(text, tmp_path, diagnostics)]
    boxes = [bounding_box(mesh) for mesh in meshes]
    low = np.min([box.low for box in boxes], axis=0) / INCH
    high = np.max([box.high for box in boxes], axis=0) / INCH
    count = sum(len(mesh.triangles) for mesh in meshes)
    return count, sum(map(area, meshes)) / INCH**2, low, high


def with_points(primitive, points):
    """DAE with other points and polygons."""
    written = " ".join(f"{x:g}" for x in np.asarray(points, dtype=float).ravel())
    text = re.sub(r"(<float_array[^>]*>)[^<]*", rf"\g<1>{written}", DAE, count=1)
    return text.replace(PLATE, primitive)


def ring(radius, count, center=(0.0, 0.0)):
    angles = 2.0 * np.pi * np.arange(count) / count
    return np.c_[
        center[0] + radius * np.cos(angles), center[1] + radius * np.sin(angles), np.zeros(count)
    ]


def regular(radius, count):
    """The area of a regular polygon."""
    return 0.5 * count * radius**2 * np.sin(2.0 * np.pi / count)


STRIP = [(x, y, 0) for x in range(4) for y in (0, 1)]  # 3 x 1
HEXAGON = ring(1.0, 6)
FRAME = [*ring(3.0, 8), *ring(1.0, 5), *ring(0.25, 4, (2.0, 0.0))]
CONCAVE = [(0, 0, 0), (4, 0, 0), (4, 3, 0), (2, 1, 0), (0, 3, 0)]
# Name: primitive, points, triangles, area.
PRIMITIVES = {
    "tristrips": (
        f"<tristrips>{VERTEX}<p>1 0 3 2 5 4</p><p>5 4 7 6</p></tristrips>", STRIP, 6, 3.0,
    ),
    "trifans": (f"<trifans>{VERTEX}<p>0 1 2 3 4 5</p></trifans>", HEXAGON, 4, regular(1.0, 6)),
    "polygons": (
        f"<polygons>{VERTEX}<p>0 1 2 3 4 5</p><p>0 1 2</p></polygons>", HEXAGON, 5,
        regular(1.0, 6) + np.sqrt(3.0) / 4.0,
    ),
    "concave polygon": (f"<polygons>{VERTEX}<p>0 1 2 3 4</p></polygons>", CONCAVE, 3, 8.0),
    "polygon with holes": (
        f"<polygons>{VERTEX}<ph><p>0 1 2 3 4 5 6 7</p><h>8 9 10 11 12</h><h>13 14 15 16</h></ph>"
        "</polygons>", FRAME, 19, regular(3.0, 8) - regular(1.0, 5) - regular(0.25, 4),
    ),
    "points and lines in a polylist": (
        f"<polylist>{VERTEX}<vcount>0 1 4 2 3</vcount><p>5 0 1 2 3 4 5 3 4 5</p></polylist>",
        HEXAGON, 3, regular(1.0, 6) * 2.0 / 3.0,
    ),
    "lines beside triangles": (
        f"<lines>{VERTEX}<p>0 1</p></lines><linestrips>{VERTEX}<p>0 1 2</p></linestrips>"
        f"<triangles>{VERTEX}<p>0 1 2</p></triangles>", HEXAGON, 1, np.sqrt(3.0) / 4.0,
    ),
    "two primitives": (
        f"<triangles>{VERTEX}<p>0 1 2</p></triangles><triangles>{VERTEX}<p>3 4 5</p></triangles>",
        HEXAGON, 2, np.sqrt(3.0) / 2.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PRIMITIVES)
def test_a_primitive_has_its_triangles(name, tmp_path, diagnostics):
    primitive, points, triangles, size = PRIMITIVES[name]
    text = with_points(primitive, points)
    count, found, low, high = measured(text, tmp_path, diagnostics)
    assert count == triangles
    assert found == pytest.approx(4.0 * size)
    used = np.array(points)[:3] if name == "lines beside triangles" else np.array(points)
    used = used[:, :2]
    np.testing.assert_allclose(low[:2], 2.0 * used.min(axis=0), atol=1e-6)
    np.testing.assert_allclose(high[:2], 2.0 * used.max(axis=0), atol=1e-6)


def test_all_triangles_of_a_strip_have_the_winding_of_the_first(tmp_path, diagnostics):
    primitive, points, _, size = PRIMITIVES["tristrips"]
    (shape,) = shapes_of(with_points(primitive, points), tmp_path, diagnostics)
    corners = shape.geometry.vertices[shape.geometry.triangles]
    areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 2] / 2.0
    np.testing.assert_allclose(areas, np.full(6, size / 6.0))


@pytest.mark.parametrize(("declared", "name"), [("GBK", "右臂"), ("ISO-8859-1", "élbowéb")])
def test_the_declared_encoding_counts(declared, name, tmp_path, diagnostics):
    text = DAE.replace('encoding="utf-8"', f'encoding="{declared}"').replace("plate", name)
    (tmp_path / "a.dae").write_bytes(text.encode(declared))
    (shape,) = read_scene(tmp_path / "a.dae", read_context(diagnostics)).flattened()
    assert shape.name == name


def test_a_false_encoding_is_reported(tmp_path, diagnostics):
    text = DAE.replace('encoding="utf-8"', 'encoding="utf-16"')
    assert len(shapes_of(text, tmp_path, diagnostics)) == 1
    diagnostics.take("false-encoding")


ACCESSOR = '<accessor source="#pa" count="4" stride="3">'
UNCHANGED = {
    "a broken colour": DAE.replace("1 0 0.5 1</color>", "red</color>"),
    "an empty property": DAE.replace("<float>0.75</float>", ""),
    "no shader": re.sub("<phong>.*</phong>", "<newmtl/>", DAE, flags=re.DOTALL),
    "no technique": re.sub("<technique .*?</technique>", "", DAE, count=1, flags=re.DOTALL),
    "another profile": DAE.replace("profile_COMMON", "profile_GLSL"),
    "no effect": DAE.replace(EFFECT, ""),
    "no url of the effect": DAE.replace('<instance_effect url="#e"/>', "<instance_effect/>"),
    "no instance of the effect": DAE.replace('<instance_effect url="#e"/>', ""),
    "no material": DAE.replace('target="#m"', 'target="#other"'),
    "no target": DAE.replace('target="#m"', ""),
    "a missing sampler": DAE.replace(
        "<color>1 0 0.5 1</color>", '<texture texture="k" texcoord="U"/>'
    ),
    "a missing camera": DAE.replace("<scale>", '<instance_camera url="#c"/><scale>'),
    "a missing light": DAE.replace("<scale>", '<instance_light url="#c"/><scale>'),
    "a broken camera": DAE.replace(
        "<library_effects>",
        '<library_cameras><camera id="c"><optics/></camera></library_cameras><library_effects>',
    ),
    "a broken animation": DAE.replace(
        "<library_effects>",
        "<library_animations><animation/></library_animations><library_effects>",
    ),
    "a missing node": DAE.replace("<scale>", '<instance_node url="#c"/><scale>'),
    "a node in itself": DAE.replace("<scale>", '<instance_node url="#N1"/><scale>'),
    "a missing geometry": DAE.replace("<scale>", '<instance_geometry url="#c"/><scale>'),
    "a missing controller": DAE.replace("<scale>", '<instance_controller url="#c"/><scale>'),
    "an unknown element": DAE.replace("<scale>", "<sparkle/><scale>"),
    "an unknown part of the mesh": DAE.replace(PLATE, f"{PLATE}<sparkle/>"),
    "a primitive without points": DAE.replace(PLATE, f"{PLATE}<triangles><p>0 1 2</p></triangles>"),
    "a primitive of words": DAE.replace(PLATE, f"{PLATE}<triangles>{VERTEX}<p>a</p></triangles>"),
    "a missing source": DAE.replace(
        VERTEX, f'{VERTEX}<input semantic="NORMAL" source="#n" offset="0"/>'
    ),
    "normals beyond their end": DAE.replace(
        VERTEX, f'{VERTEX}<input semantic="COLOR" source="#p" offset="1"/>'
    ).replace("<p>0 1 2 3</p>", "<p>0 0 1 1 2 2 3 99</p>"),
    "no scene": DAE.replace('<scene><instance_visual_scene url="#w"/></scene>', ""),
    "another scene": DAE.replace('url="#w"', 'url="#other"'),
    "a prefix": re.sub("<(/?)(?=[a-zA-Z])", r"<\1c:", DAE).replace("xmlns=", "xmlns:c="),
    "version 1.5": DAE.replace("2005/11", "2008/03").replace("1.4.1", "1.5.0"),
    "an offset": DAE.replace(ACCESSOR, ACCESSOR.replace("count", 'offset="2" count')).replace(
        '<float_array id="pa" count="12">', '<float_array id="pa" count="14">9 9 '
    ),
    "a stride": DAE.replace(ACCESSOR, ACCESSOR.replace('"3"', '"4"')).replace(
        "0 0 0 2 0 0 2 1 0 0 1 0", "0 0 0 7 2 0 0 7 2 1 0 7 0 1 0 7"
    ),
    "a column without a name": DAE.replace('<param name="X"', '<param/><param name="X"')
    .replace(ACCESSOR, ACCESSOR.replace('"3"', '"4"'))
    .replace("0 0 0 2 0 0 2 1 0 0 1 0", "7 0 0 0 7 2 0 0 7 2 1 0 7 0 1 0"),
}  # fmt: skip
SILENT = {
    "a missing camera", "a missing light", "a broken camera", "a broken animation", "a prefix",
    "version 1.5", "an offset", "a stride", "a column without a name", "no scene",
    "an unknown element",
}  # fmt: skip


@pytest.mark.parametrize("name", UNCHANGED)
def test_the_geometry_stays_whatever_else_is_broken(name, tmp_path, diagnostics):
    text = UNCHANGED[name]
    count, found, low, high = measured(text, tmp_path, diagnostics)
    assert count == 2
    assert found == pytest.approx(PLATE_AREA)
    np.testing.assert_allclose(low, (0, 0, 10), atol=1e-6)
    np.testing.assert_allclose(high, (4, 2, 10), atol=1e-6)
    codes = [diagnostic.code for diagnostic in diagnostics.found]
    if name in SILENT:
        assert codes == []
    else:
        assert codes in (["unreadable-part"], ["missing-resource"])
        (warning,) = diagnostics.found
        assert warning.at.source.path == tmp_path / "a.dae"
    diagnostics.found.clear()
