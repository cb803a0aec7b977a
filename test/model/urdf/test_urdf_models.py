"""URDFs of whole robots, ours and others', against what independent programs know of them."""

import shutil

import numpy as np
import pytest
import reference_data
import trimesh
from each_case import check_each, some_or_all
from paths import MODELS, SHARED, needs_shared
from silent_diagnostics import silent
from urdf_tools import body_poses, check_urdf, file_of, origin_matrix, parsed, urdf_poses

from hrp_model import load_body
from hrp_model.frames import Base, body_frames
from hrp_model.shapes.tessellate import shape_mesh
from hrp_model.urdf import UrdfOptions, body_to_urdf, write_meshes

LOADED = [row["file"] for row in reference_data.index() if row["loaded"]]
REFERENCES = [row["file"] for row in reference_data.index() if row["loaded"] and row["links"] > 1]

OURS = ("humanoid/humanoid.wrl", "humanoid/humanoid.body", "arm/arm.body", "rover/rover.body")
FOOTPRINT = UrdfOptions(base=Base.FOOTPRINT)
CHOREONOID = SHARED / "models" / "choreonoid__choreonoid" / "share" / "model"
OPENHRP = SHARED / "models" / "fkanehiro__openhrp3" / "sample" / "model"
THEIRS = {
    "sample1.wrl": OPENHRP / "sample1.wrl",
    "pa10.main.wrl": OPENHRP / "PA10" / "pa10.main.wrl",
    "SR1.body": CHOREONOID / "SR1" / "SR1.body",
    "GR001.body": CHOREONOID / "GR001" / "GR001.body",
    "PA10.body": CHOREONOID / "PA10" / "PA10.body",
    "floor.body": CHOREONOID / "misc" / "floor.body",
}
whole_robots = pytest.mark.parametrize(
    "path",
    [
        *(pytest.param(MODELS / name, id=name) for name in OURS),
        pytest.param(THEIRS["SR1.body"], id="SR1.body", marks=needs_shared),
        *(
            pytest.param(path, id=name, marks=[needs_shared, pytest.mark.slow])
            for name, path in THEIRS.items()
            if name != "SR1.body"
        ),
    ],
)


@needs_shared
@some_or_all("files", REFERENCES, 8)
def test_its_links_stand_where_the_reference_says(files):
    """With bodies made of the reference's own numbers, so that no reader is involved."""
    check_each(files, check_places)


def check_places(file):
    reference = reference_data.load(file)
    body = reference_data.body_of(reference)
    names = body_frames(body, silent())
    robot = parsed(body_to_urdf(body, diagnostics=silent()))
    for pose in reference["poses"]:
        positions = zip(body.links[1:], pose["q_by_link_index"][1:], strict=True)
        found = urdf_poses(robot, {names.joints[link.name]: q for link, q in positions})
        root = np.eye(4)
        root[:3, :3], root[:3, 3] = pose["root_R"], pose["root_p"]
        for link, expected in zip(body.links, pose["links"], strict=True):
            X = root @ found[names.links[link.name]]
            np.testing.assert_allclose(X[:3, 3], expected["p"], atol=1e-9)
            np.testing.assert_allclose(X[:3, :3], expected["R"], atol=1e-9)


@needs_shared
@some_or_all("files", LOADED, 8)
def test_every_model_that_loads_becomes_a_urdf(files, tmp_path):
    check_each(files, lambda file: check_urdf_of(file, tmp_path))


def check_urdf_of(file, tmp_path):
    body = load_body(reference_data.model_files()[file], silent())
    diagnostics = silent()
    text = body_to_urdf(body, diagnostics=diagnostics, options=FOOTPRINT)
    told = {d.code for d in diagnostics.found}
    assert told <= {"shape-without-mesh", "open-loops", "frame-name-collision", "still-track"}
    robot = parsed(text)
    names = body_frames(body, silent(), FOOTPRINT)
    assert robot.get_root() == names.root
    for link in body.links[1:]:
        joint = robot.joint_map[names.joints[link.name]]
        assert (joint.parent, joint.child) == (names.links[link.parent], names.links[link.name])
        if joint.type in ("revolute", "prismatic"):
            limits = joint.limit
            assert -1e6 <= limits.lower <= limits.upper <= 1e6
            assert 0.0 <= limits.effort <= 1e6
            assert 0.0 <= limits.velocity <= 1e6
    if shutil.which("check_urdf") and file in LOADED[::10]:  # it starts slowly
        assert check_urdf(text, tmp_path) == ""


@whole_robots
def test_it_is_the_robot_of_the_model(path, tmp_path):
    body = load_body(path, silent())
    text = body_to_urdf(body, write_meshes(body, tmp_path / "meshes"), silent())
    robot = parsed(text)
    rng = np.random.default_rng(1)
    q = {link.joint.name: rng.uniform(-2, 2) for link in body.moving_links}
    theirs = urdf_poses(robot, q)
    for name, X in body_poses(body, q).items():
        np.testing.assert_allclose(theirs[name], X, atol=1e-9)
    masses = [link.inertial.mass for link in robot.links if link.inertial]
    assert sum(masses) == pytest.approx(body.total_mass, rel=1e-12)
    for link in body.links:
        assert_same_extent(robot.link_map[link.name].visuals, link.visual)
        assert_same_extent(robot.link_map[link.name].collisions, link.collision)
    if shutil.which("check_urdf"):
        assert check_urdf(text, tmp_path) == ""


def assert_same_extent(elements, shapes):
    """Compare boxes around the shapes of a link: the URDF's by trimesh, the model's by us."""
    shapes = [s for s in shapes if len(shape_mesh(s).triangles)]
    assert len(elements) == len(shapes)
    for element, shape in zip(elements, shapes, strict=True):
        mesh = shape_mesh(shape, divisions=64)
        corners = mesh.vertices[mesh.triangles].reshape(-1, 3)
        size = np.ptp(corners, axis=0).max()
        bounds = mesh_of_element(element).bounds
        expected = [corners.min(axis=0), corners.max(axis=0)]
        np.testing.assert_allclose(bounds, expected, atol=0.02 * size)


def mesh_of_element(element):
    geometry = element.geometry
    if hasattr(geometry, "filename"):
        mesh = trimesh.load(file_of(geometry.filename), force="mesh")
    elif hasattr(geometry, "size"):
        mesh = trimesh.creation.box(geometry.size)
    elif hasattr(geometry, "length"):
        mesh = trimesh.creation.cylinder(geometry.radius, geometry.length, sections=64)
    else:
        mesh = trimesh.creation.uv_sphere(geometry.radius)
    return mesh.apply_transform(origin_matrix(element.origin))
