"""Masses estimated from shapes, against closed forms."""

from dataclasses import replace

import numpy as np
import pytest

from hrp_model import Body, Diagnostics, Joint, JointType, Link, load_body
from hrp_model.cli.main import main
from hrp_model.collision.masses import solid, with_estimated_masses
from hrp_model.geometry import Box, Mesh, Shape
from hrp_model.rigid import rpy_matrix
from hrp_model.shapes.tessellate import shape_mesh

SIZE = np.array([0.2, 0.3, 0.5])
ROBOT = """<robot name="r"><link name="base">
<collision><geometry><box size="0.2 0.3 0.5"/></geometry></collision></link>
<link name="arm"><visual><origin xyz="0 0 1"/><geometry><sphere radius="0.1"/></geometry></visual>
</link><link name="frame"/><link name="envelope"><collision><geometry><box size="1 1 1"/>
</geometry></collision></link><link name="heavy"><inertial><mass value="3"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="1 1 1"/></geometry></collision></link>
<joint name="a" type="continuous"><parent link="base"/><child link="arm"/></joint>
<joint name="b" type="fixed"><parent link="arm"/><child link="frame"/></joint>
<joint name="d" type="fixed"><parent link="arm"/><child link="envelope"/></joint>
<link name="mount"><visual><geometry><box size="1 1 1"/></geometry></visual></link>
<joint name="c" type="continuous"><parent link="arm"/><child link="heavy"/></joint>
<joint name="e" type="fixed"><parent link="heavy"/><child link="mount"/></joint></robot>"""


def placed_box(R, p):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return Shape(Box(SIZE), T)


def box_inertia(mass, R):
    x, y, z = np.square(SIZE)
    return R @ np.diag([y + z, x + z, x + y]) @ R.T * mass / 12.0


def test_a_solid_box_has_its_closed_form_wherever_it_is():
    R, p = rpy_matrix(0.3, -0.8, 2.0), np.array([100.0, -20.0, 3.0])
    mesh = shape_mesh(placed_box(R, p), solid=True)
    for triangles in (mesh.triangles, mesh.triangles[:, ::-1]):  # also with its inside out
        made = solid(Mesh(mesh.vertices, triangles), 1000.0)
        assert made.mass == pytest.approx(30.0)
        np.testing.assert_allclose(made.center_of_mass, p, atol=1e-9)
        np.testing.assert_allclose(made.inertia, box_inertia(30.0, R), atol=1e-9)


@pytest.mark.parametrize("gap", [0, 2])
def test_an_open_surface_counts_as_its_hull(gap):
    mesh = shape_mesh(placed_box(np.eye(3), np.zeros(3)), solid=True)
    corners = mesh.vertices[mesh.triangles[gap:]].reshape(-1, 3)  # as STL has them: none is shared
    loose = Mesh(corners, np.arange(len(corners)).reshape(-1, 3))
    link = Link(
        name="BASE", parent=None, joint=Joint(type=JointType.FREE, name="BASE"),
        collision=(Shape(loose),),
    )  # fmt: skip
    found = Diagnostics.silent()
    (made,) = with_estimated_masses(Body(name="b", links=(link,)), 1000.0, found).links
    assert made.mass == pytest.approx(30.0)
    np.testing.assert_allclose(made.inertia, box_inertia(30.0, np.eye(3)), atol=1e-9)
    (told,) = found.found
    assert ("hull" in told.message) is bool(gap)


def test_closed_shapes_that_face_inward_and_parts_of_one_surface_are_solid():
    R, places = np.eye(3), np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    one, inward, split = (shape_mesh(placed_box(R, p), solid=True) for p in places)
    meshes = [one, replace(inward, triangles=inward.triangles[:, ::-1])]
    meshes += [replace(split, triangles=half) for half in np.split(split.triangles, 2)]
    joint = Joint(type=JointType.FREE, name="BASE")
    link = Link(name="BASE", parent=None, joint=joint, collision=tuple(map(Shape, meshes)))
    found = Diagnostics.silent()
    (made,) = with_estimated_masses(Body(name="b", links=(link,)), 1000.0, found).links
    assert made.mass == pytest.approx(90.0)
    np.testing.assert_allclose(made.center_of_mass, [1.0, 0.0, 0.0], atol=1e-9)
    expected = 3.0 * box_inertia(30.0, R) + 60.0 * np.diag([0.0, 1.0, 1.0])
    np.testing.assert_allclose(made.inertia, expected, atol=1e-9)
    assert "hull" not in found.found[0].message
    open_box = replace(split, triangles=split.triangles[2:])
    point = Mesh(np.ones((3, 3)), np.array([[0, 1, 2]], dtype=np.int32))
    link = replace(link, collision=tuple(map(Shape, [*meshes[:2], open_box, point])))
    (made,) = with_estimated_masses(Body(name="b", links=(link,)), 1000.0, found).links
    assert made.mass == pytest.approx(90.0)  # the hull is that of the open one only
    assert "hull" in found.found[1].message


def test_a_sheet_of_two_sides_is_as_thick_as_a_flat_collision_shape():
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    corners = square @ rpy_matrix(0.3, -0.8, 2.0).T + np.array([1.0, 2.0, 3.0])
    sides = np.array([[0, 1, 2], [0, 2, 3], [1, 0, 3], [1, 3, 2]], dtype=np.int32)
    sheet = Shape(Mesh(corners, sides))
    joint = Joint(type=JointType.FREE, name="BASE")
    link = Link(name="BASE", parent=None, joint=joint, visual=(sheet,))
    body = Body(name="b", links=(link,))
    (made,) = with_estimated_masses(body, 1000.0, Diagnostics.silent()).links
    assert made.mass == pytest.approx(1.0, rel=1e-3)  # 1 mm
    assert np.linalg.eigvalsh(made.inertia).min() > 0.0
    np.testing.assert_allclose(made.center_of_mass, corners.mean(axis=0))


def test_the_command_names_each_link_that_it_gives_a_mass(tmp_path, capsys):
    model, out = tmp_path / "r.urdf", tmp_path / "heavy.urdf"
    model.write_text(ROBOT)
    assert main(["urdf", str(model), "-o", str(out), "--estimate-masses", "500"]) == 0
    told = capsys.readouterr().err
    for words in ("'base' states no mass", "collision shapes", "'arm' states no mass", "visible"):
        assert words in told
    for name in ("frame", "envelope", "mount", "heavy"):
        assert f"'{name}' states" not in told
    body = load_body(out, Diagnostics.silent())
    assert body.link("base").mass == pytest.approx(15.0)
    arm = body.link("arm")
    assert arm.mass == pytest.approx(500.0 * 4.0 / 3.0 * np.pi * 1e-3, rel=0.05)  # of facets
    np.testing.assert_allclose(arm.center_of_mass, [0, 0, 1], atol=1e-6)
    assert (body.link("frame").mass, body.link("heavy").mass) == (0.0, 3.0)
    assert main(["urdf", str(model), "--estimate-masses", "-1"]) == 2
