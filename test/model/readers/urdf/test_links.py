"""Shapes and looks of the links of a URDF."""

import numpy as np
import pytest
from urdf_reader_tools import arm, codes, equal, read, robot

from hrp_model.geometry import Box, Capsule, Cylinder, Mesh, Sphere
from hrp_model.shapes.tessellate import shape_mesh

TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 2 0\nf 1 2 3\n"
PPM = b"P6\n1 1\n255\n\xff\x00\x00"


def shown(geometry, more="", kind="visual", **options):
    """Return the shapes of a link, and what was found, but for masses."""
    link = f"<{kind}><geometry>{geometry}</geometry>{more}</{kind}>"
    body, found = read(robot(f'<link name="base">{link}</link>'), **options)
    return getattr(body.root, kind), [c for c in codes(found) if c != "massless-link"]


@pytest.mark.parametrize(
    ("text", "kind", "size"),
    [
        ('<box size="1 2 3"/>', Box, [1, 2, 3]),
        ('<sphere radius="0.5"/>', Sphere, [1, 1, 1]),
        ('<cylinder radius="0.5" length="4"/>', Cylinder, [1, 1, 4]),
        ('<capsule radius="0.5" length="4"/>', Capsule, [1, 1, 5]),
    ],
)
def test_primitives_lie_along_z(text, kind, size):
    [shape], found = shown(text)
    assert found == []
    assert isinstance(shape.geometry, kind)
    vertices = shape_mesh(shape).vertices
    # Twenty corners of a circle come this near to its whole width.
    np.testing.assert_allclose(np.ptp(vertices, axis=0), size, rtol=0.02)


def test_a_mesh_is_scaled_in_its_own_axes(tmp_path):
    (tmp_path / "part.obj").write_text(TRIANGLE)
    origin = '<origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/>'
    [shape], found = shown('<mesh filename="part.obj" scale="2 3 1"/>', origin, folder=tmp_path)
    assert found == []
    assert isinstance(shape.geometry, Mesh)
    equal(sorted(shape_mesh(shape).vertices.tolist()), [[-6, 0, 1], [0, 0, 1], [0, 2, 1]])


def test_a_scale_of_zero_is_told_where_it_stands(tmp_path):
    (tmp_path / "part.obj").write_text(TRIANGLE)
    mesh = '<visual><geometry><mesh filename="part.obj" scale="1 0 1"/></geometry></visual>'
    _, found = read(robot(f'<link name="base">{mesh}</link>'), folder=tmp_path)
    assert (found[0].code, str(found[0].at)) == ("empty-shape", "r.urdf:2:63")


def test_a_mesh_that_is_not_there_is_left_out(tmp_path):
    shapes, found = shown('<mesh filename="package://no_such_package/a.stl"/>', folder=tmp_path)
    assert (shapes, found) == ((), ["unsourced-package"])


def test_what_touches_is_what_the_link_says_and_nothing_else():
    body, _ = read(arm(link='<visual><geometry><box size="1 1 1"/></geometry></visual>'))
    assert len(body.link("arm").visual) == 1
    assert body.link("arm").collision == ()


RED = '<color rgba="1 0 0 0.25"/>'


@pytest.mark.parametrize(
    "text",
    [
        # of its own, of the robot, of another link above and below
        f'<link name="a">@<material name="m">{RED}</material></visual></link>',
        f'<material name="m">{RED}</material><link name="a">@<material name="m"/></visual></link>',
        f'<link name="a">@<material name="m"/></visual></link><material name="m">{RED}</material>',
        f'<link name="a">@<material name="m"/></visual>'
        f'@<material name="m">{RED}</material></visual></link>',
    ],
)
def test_a_material_may_be_defined_anywhere(text):
    body, found = read(robot(text.replace("@", "<visual><geometry><box size='1 1 1'/></geometry>")))
    material = body.root.visual[0].material
    assert material.name == "m"
    assert (material.diffuse, material.transparency) == ((1.0, 0.0, 0.0), 0.75)
    assert codes(found) == ["massless-link"]


def test_a_material_that_is_wrong_costs_no_link():
    visual = '<material name="m"><color rgba="red"/></material>'
    [shape], found = shown('<box size="1 1 1"/>', visual)
    assert shape.material.diffuse == (0.8, 0.8, 0.8)
    assert set(found) == {"wrong-count"}
    _, found = shown('<box size="1 1 1"/>', '<material name="blu"/>')
    assert found == ["unknown-material"]


def test_a_texture_shows_as_it_is(tmp_path):
    (tmp_path / "red.ppm").write_bytes(PPM)
    visual = '<material name="m"><texture filename="red.ppm"/></material>'
    [shape], found = shown('<box size="1 1 1"/>', visual, folder=tmp_path)
    assert found == []
    assert shape.material.texture.path == tmp_path / "red.ppm"
    assert shape.material.diffuse == (1.0, 1.0, 1.0)


def test_a_mesh_keeps_the_looks_of_its_file_unless_others_are_given(tmp_path):
    (tmp_path / "part.obj").write_text("mtllib a.mtl\nusemtl blue\n" + TRIANGLE)
    (tmp_path / "a.mtl").write_text("newmtl blue\nKd 0 0 1\n")
    mesh = '<mesh filename="part.obj"/>'
    [shape], _ = shown(mesh, folder=tmp_path)
    assert shape.material.diffuse == (0.0, 0.0, 1.0)
    [shape], _ = shown(mesh, f'<material name="m">{RED}</material>', folder=tmp_path)
    assert shape.material.diffuse == (1.0, 0.0, 0.0)
    [shape], found = shown(mesh, '<material name="defined_nowhere"/>', folder=tmp_path)
    assert (shape.material.diffuse, found) == ((0.0, 0.0, 1.0), ["unknown-material"])


def test_a_mesh_is_called_as_the_link_says_else_as_its_file_does(tmp_path):
    (tmp_path / "part.obj").write_text("o inside\n" + TRIANGLE)
    names = {}
    for name in ('name="hull"', ""):
        mesh = f'<visual {name}><geometry><mesh filename="part.obj"/></geometry></visual>'
        body, _ = read(robot(f'<link name="base">{mesh}</link>'), folder=tmp_path)
        [names[name]] = [shape.name for shape in body.root.visual]
    assert list(names.values()) == ["hull", "inside"]


@pytest.mark.parametrize(
    ("looks", "shown_as"),
    [
        ('<texture/><color rgba="1 0 0 1"/>', (1.0, 0.0, 0.0)),
        ('<color rgba="red"/><texture filename="red.ppm"/>', (1.0, 1.0, 1.0)),
    ],
)
def test_a_wrong_half_of_a_material_does_not_cost_the_other(looks, shown_as, tmp_path):
    (tmp_path / "red.ppm").write_bytes(PPM)
    one = f'<material name="m">{looks}</material>'
    [shape], found = shown('<box size="1 1 1"/>', one, folder=tmp_path)
    assert shape.material.diffuse == shown_as
    assert (shape.material.texture is None) == ("filename" not in looks)
    assert found in (["missing-attribute"], ["wrong-count"])
    at_top = f'{one}<link name="a"><visual><geometry><box size="1 1 1"/></geometry>'
    body, _ = read(robot(f'{at_top}<material name="m"/></visual></link>'), folder=tmp_path)
    assert body.root.visual[0].material.diffuse == shown_as


def test_a_colour_beyond_its_range_is_cut_and_told():
    for rgba, told in (("255 0 -1 1", ["color-range"]), ("1.0001 0 0 1", [])):
        [shape], found = shown(
            '<box size="1 1 1"/>', f'<material name="m"><color rgba="{rgba}"/></material>'
        )
        assert shape.material.diffuse == (1.0, 0.0, 0.0)
        assert found == told
