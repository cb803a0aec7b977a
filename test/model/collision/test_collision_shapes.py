"""Simpler collision shapes: what they contain, how they are formed, where they stand."""

import numpy as np
import pytest
import trimesh
from each_case import mostly_slow
from hypothesis import given
from hypothesis import strategies as st
from paths import MODELS
from urdf_tools import random_pose, with_visuals

from hrp_model import load_body
from hrp_model.collision import decompose as decompose_module
from hrp_model.collision.hull import convex_hull, tight_box
from hrp_model.collision.shapes import CollisionShapes, with_collision
from hrp_model.diagnostics import MissingLibraryError
from hrp_model.geometry import Box, Capsule, Cone, Cylinder, Mesh, Shape, Sphere
from hrp_model.rigid import Pose, rpy_matrix
from hrp_model.shapes.measure import signed_volume
from hrp_model.shapes.tessellate import shape_mesh

TURNED = Pose(rpy_matrix(0.4, -1.1, 2.2), [0.5, -2.0, 1.5]).matrix()
MIRRORED = TURNED @ np.diag([1.0, -2.0, 1.0, 1.0])
SHEARED = np.array([[1.0, 0.6, 0, 1], [0, 2, 0, 2], [0, 0, 3, 3], [0, 0, 0, 1]])
MAPS = {"turned": TURNED, "mirrored": MIRRORED, "sheared": SHEARED}
PRIMITIVES = (Box([1, 2, 3]), Sphere(0.5), Cylinder(0.2, 1.0))
SIMPLER = [CollisionShapes.CONVEX, CollisionShapes.BOX, CollisionShapes.DECOMPOSED]


def mesh_of(solid):
    return Mesh(solid.vertices, solid.faces)


def solid_of(mesh):
    return trimesh.Trimesh(mesh.vertices, mesh.triangles, process=False)


CUBE = mesh_of(trimesh.creation.box((1.0, 2.0, 3.0)))
TORUS = mesh_of(trimesh.creation.torus(1.0, 0.25, major_sections=24, minor_sections=12))


def prism(outline, fan, height):
    """Return a prism over an outline with its triangles, closed."""
    n = len(outline)
    floor = np.column_stack([outline, np.zeros(n)])
    sides = [[i, (i + 1) % n, (i + 1) % n + n] for i in range(n)]
    sides += [[i, (i + 1) % n + n, i + n] for i in range(n)]
    caps = [*(np.array(fan) + n).tolist(), *np.array(fan)[:, ::-1].tolist()]
    return Mesh(np.concatenate([floor, floor + np.array([0, 0, height])]), [*sides, *caps])


L_SHAPE = prism(
    [(0, 0), (2, 0), (2, 0.4), (0.4, 0.4), (0.4, 2), (0, 2)],
    [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)],
    0.5,
)
PLATE = Mesh([[0, 0, 0], [1, 0, 0], [1, 2, 0], [0, 2, 0]], [[0, 1, 2], [0, 2, 3]])


def simplified(shape, how, diagnostics, **options):
    body = with_visuals(shape, collision=[shape])
    simpler = with_collision(body, how, diagnostics, **options)
    (link,) = simpler.links
    assert link.visual == body.root.visual
    return link.collision


def distances(solid, points):
    """Return how far points lie outside of a convex solid, by its faces' planes."""
    planes = solid.face_normals, solid.triangles[:, 0]
    return np.einsum("pfi,fi->pf", points[:, None] - planes[1], planes[0]).max(axis=1)


def random_points(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rng.integers(8, 200), 3)) * rng.uniform(0.01, 10.0, size=3)


# Hulls and boxes of points


@given(st.integers(0, 10_000))
def test_a_hull_is_convex_closed_and_contains_its_points(seed):
    points = random_points(seed)
    mesh = convex_hull(points)
    solid = solid_of(mesh)
    assert solid.is_watertight
    assert solid.is_winding_consistent
    assert signed_volume(mesh) == pytest.approx(trimesh.convex.convex_hull(points).volume)
    size = np.ptp(points, axis=0).max()
    assert distances(solid, points).max() < 1e-9 * size
    assert distances(solid, mesh.vertices).max() < 1e-9 * size  # no vertex outside a face
    assert {tuple(v) for v in mesh.vertices} <= {tuple(p) for p in points}


@given(st.integers(0, 10_000))
def test_a_box_contains_its_mesh_and_is_about_as_small_as_the_smallest(seed):
    mesh = mesh_of(trimesh.convex.convex_hull(random_points(seed)))
    X, size = tight_box(mesh)
    inside = (mesh.vertices - X.p) @ X.R
    assert (np.abs(inside) <= size / 2 * (1 + 1e-9)).all()
    np.testing.assert_allclose(X.R @ X.R.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(X.R) == pytest.approx(1.0)
    _, smallest = trimesh.bounds.oriented_bounds(mesh.vertices)
    assert size.prod() <= 1.05 * smallest.prod()


@given(st.integers(0, 10_000))
def test_the_box_of_a_turned_box_is_that_box(seed):
    rng = np.random.default_rng(seed)
    size, X = rng.uniform(0.01, 3.0, size=3), random_pose(rng)
    solid = trimesh.creation.box(size, X.matrix())
    found, sides = tight_box(mesh_of(solid))
    np.testing.assert_allclose(sorted(sides), sorted(size), rtol=1e-6)
    np.testing.assert_allclose(found.p, X.p, atol=1e-9)


def test_of_equally_small_boxes_the_one_along_the_given_axes_is_taken():
    ball = mesh_of(trimesh.creation.icosphere(subdivisions=0))
    R = rpy_matrix(0.3, 0.2, 0.1)
    X, _ = tight_box(Mesh(CUBE.vertices, CUBE.triangles), np.eye(3))
    np.testing.assert_array_equal(X.R, np.eye(3))
    X, size = tight_box(Mesh(ball.vertices @ R.T, ball.triangles), R)
    assert size.prod() <= np.ptp(ball.vertices, axis=0).prod() * (1 + 1e-6)


def test_the_hull_of_a_plate_is_a_thin_plate():
    hull = convex_hull(PLATE.vertices)
    np.testing.assert_allclose(np.ptp(hull.vertices, axis=0), [1, 2, 1e-3], atol=1e-12)
    assert signed_volume(hull) == pytest.approx(2e-3)
    tiny = convex_hull(PLATE.vertices * 1e-3)
    np.testing.assert_allclose(np.ptp(tiny.vertices, axis=0), [1e-3, 2e-3, 2e-5], atol=1e-12)
    line = convex_hull(np.array([[0, 0, 0], [1, 1, 1], [3, 3, 3.0]]))
    assert signed_volume(line) == pytest.approx(1e-6 * 27**0.5)


# Bodies


@pytest.mark.parametrize("T", MAPS.values(), ids=MAPS.keys())
def test_convex_is_the_hull_of_the_shape_as_it_stands(T, diagnostics):
    shape = Shape(TORUS, T, name="ring")
    (part,) = simplified(shape, CollisionShapes.CONVEX, diagnostics)
    points = shape_mesh(shape).vertices
    mesh = shape_mesh(part)
    assert distances(solid_of(mesh), points).max() < 1e-9
    assert signed_volume(mesh) == pytest.approx(trimesh.convex.convex_hull(points).volume)
    assert part.name == "ring"


@pytest.mark.parametrize("T", MAPS.values(), ids=MAPS.keys())
def test_box_is_a_box_around_the_shape_as_it_stands(T, diagnostics):
    shape = Shape(L_SHAPE, T)
    (part,) = simplified(shape, CollisionShapes.BOX, diagnostics)
    assert isinstance(part.geometry, Box)
    pose, scale = part.rigid_parts()
    np.testing.assert_allclose(scale, 1.0)
    points = shape_mesh(shape).vertices
    inside = (points - pose.p) @ pose.R
    assert (np.abs(inside) <= part.geometry.size / 2 * (1 + 1e-9)).all()
    _, smallest = trimesh.bounds.oriented_bounds(points)
    assert part.geometry.size.prod() <= 1.02 * smallest.prod()


@pytest.mark.parametrize("library", mostly_slow(["vhacdx", "coacd"], 1))
def test_convex_parts_are_convex_and_together_about_the_shape(library, diagnostics, monkeypatch):
    pytest.importorskip(library)
    use_only(monkeypatch, library)
    shape = Shape(L_SHAPE, MIRRORED)
    parts = simplified(shape, CollisionShapes.DECOMPOSED, diagnostics)
    solids = [solid_of(shape_mesh(part)) for part in parts]
    whole = solid_of(shape_mesh(shape))
    assert 2 <= len(parts) <= 16
    assert all(solid.is_convex and solid.is_watertight for solid in solids)
    assert all(solid.volume > 0 for solid in solids)
    # Overlap counts twice here, so this bounds the union's error, and the hull is far off.
    assert sum(solid.volume for solid in solids) == pytest.approx(whole.volume, rel=0.15)
    assert whole.convex_hull.volume > 1.8 * whole.volume
    samples = whole.sample(400, seed=1)
    nearest = np.min([distances(solid, samples) for solid in solids], axis=0)
    assert nearest.max() < 0.05 * whole.scale


def use_only(monkeypatch, library):
    """Let one library only be found."""
    find = decompose_module.find_spec
    monkeypatch.setattr(decompose_module, "find_spec", lambda n: find(n) if n == library else None)


@pytest.mark.slow
def test_convex_parts_are_the_same_every_time(diagnostics):
    pytest.importorskip("vhacdx")
    shape = Shape(L_SHAPE)
    first, second = (
        [s.geometry.vertices for s in simplified(shape, CollisionShapes.DECOMPOSED, diagnostics)]
        for _ in range(2)
    )
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_is_nearly_convex_is_not_cut(diagnostics):
    pytest.importorskip("vhacdx")
    assert len(simplified(Shape(CUBE), CollisionShapes.DECOMPOSED, diagnostics)) == 1


def test_a_flat_shape_is_cut_only_where_its_hull_would_fill_a_corner(diagnostics):
    pytest.importorskip("vhacdx")
    flat = Shape(L_SHAPE, np.diag([1.0, 1.0, 0.0, 1.0]))
    parts = simplified(flat, CollisionShapes.DECOMPOSED, diagnostics)
    assert len(parts) > 1
    assert diagnostics.take("flat-collision-shape")


def test_parts_as_large_as_the_hull_are_not_worth_it(diagnostics, monkeypatch):
    """Of an open mesh the library may return parts that fill it."""
    pytest.importorskip("vhacdx")
    closed = convex_hull(L_SHAPE.vertices)

    def cut(_, mesh):
        return [closed, Mesh(closed.vertices / 10.0, closed.triangles)]

    monkeypatch.setattr(decompose_module._Worker, "parts", cut)
    (part,) = simplified(Shape(L_SHAPE), CollisionShapes.DECOMPOSED, diagnostics)
    assert signed_volume(shape_mesh(part)) == pytest.approx(signed_volume(closed))


def test_too_little_time_gives_the_hull_aloud(diagnostics):
    pytest.importorskip("vhacdx")
    shape = Shape(TORUS)
    (part,) = simplified(shape, CollisionShapes.DECOMPOSED, diagnostics, time_limit=1e-3)
    assert "link 'ROOT'" in diagnostics.take("not-decomposed").message
    assert distances(solid_of(shape_mesh(part)), TORUS.vertices).max() < 1e-9


@pytest.mark.parametrize("how", SIMPLER)
def test_primitives_stay_primitives(how, diagnostics):
    pytest.importorskip("vhacdx")
    for geometry in PRIMITIVES:
        shape = Shape(geometry, TURNED)
        assert simplified(shape, how, diagnostics) == (shape,)


def test_boxes_stand_for_what_urdf_has_no_primitive_for(diagnostics):
    for shape in (Shape(Cone(1, 2)), Shape(Capsule(1, 2)), Shape(Sphere(1.0), SHEARED)):
        assert simplified(shape, CollisionShapes.CONVEX, diagnostics) == (shape,)
        (part,) = simplified(shape, CollisionShapes.BOX, diagnostics)
        assert isinstance(part.geometry, Box)


@pytest.mark.parametrize("how", SIMPLER)
def test_flat_shapes_get_a_thickness_aloud(how, diagnostics):
    pytest.importorskip("vhacdx")
    (part,) = simplified(Shape(PLATE, TURNED), how, diagnostics)
    assert "link 'ROOT'" in diagnostics.take("flat-collision-shape").message
    mesh = shape_mesh(part)
    assert signed_volume(mesh) == pytest.approx(2e-3, rel=1e-6)
    assert distances(solid_of(mesh), shape_mesh(Shape(PLATE, TURNED)).vertices).max() < 1e-9


@pytest.mark.parametrize("how", SIMPLER)
def test_a_flattened_solid_gets_a_thickness_too(how, diagnostics):
    pytest.importorskip("vhacdx")
    shape = Shape(CUBE, np.diag([1.0, 1.0, 0.0, 1.0]))
    (part,) = simplified(shape, how, diagnostics)
    diagnostics.take("flat-collision-shape")
    assert signed_volume(shape_mesh(part)) == pytest.approx(2e-3, rel=1e-6)


@pytest.mark.parametrize("how", SIMPLER)
def test_nothing_stays_nothing(how, diagnostics):
    pytest.importorskip("vhacdx")
    empty = Shape(Mesh(np.empty((0, 3)), np.empty((0, 3), np.int32)))
    point = Shape(Mesh(np.zeros((3, 3)), [[0, 1, 2]]))
    for shape in (empty, point):
        assert simplified(shape, how, diagnostics) == (shape,)


def test_a_large_mesh_is_no_trouble(diagnostics):
    ball = Shape(mesh_of(trimesh.creation.icosphere(subdivisions=6)))
    (part,) = simplified(ball, CollisionShapes.BOX, diagnostics)
    np.testing.assert_allclose(part.geometry.size, 2.0, rtol=1e-2)
    (part,) = simplified(ball, CollisionShapes.CONVEX, diagnostics)
    assert len(part.geometry.vertices) == len(ball.geometry.vertices)


def test_nothing_else_of_a_body_changes(diagnostics):
    body = load_body(MODELS / "humanoid" / "humanoid.wrl")
    assert with_collision(body, CollisionShapes.AS_MODELLED) is body
    simpler = with_collision(body, CollisionShapes.CONVEX, diagnostics)
    for before, after in zip(body.links, simpler.links, strict=True):
        assert (before.name, before.parent, before.X_PL) == (after.name, after.parent, after.X_PL)
        assert before.visual is after.visual
        assert len(before.collision) == len(after.collision)


def test_a_missing_library_is_named(diagnostics, monkeypatch):
    monkeypatch.setattr(decompose_module, "find_spec", lambda _: None)
    with pytest.raises(MissingLibraryError, match=r"coacd.*hrp_ros\[decompose\]"):
        simplified(Shape(CUBE), CollisionShapes.DECOMPOSED, diagnostics)


def test_simulators_take_the_shapes(tmp_path, diagnostics):
    """MuJoCo refuses what is flat or has no volume; coal wants convex meshes closed."""
    mujoco = pytest.importorskip("mujoco")
    from hrp_model.urdf import write_meshes

    shapes = [Shape(PLATE, TURNED), Shape(TORUS, MIRRORED), Shape(L_SHAPE, SHEARED)]
    body = with_collision(with_visuals(collision=shapes), CollisionShapes.CONVEX, diagnostics)
    diagnostics.take("flat-collision-shape")
    write_meshes(body, tmp_path)
    files = sorted(tmp_path.glob("*.stl"))
    assert len(files) == 3
    meshes = "".join(f'<mesh name="{p.stem}" file="{p}"/>' for p in files)
    geoms = "".join(f'<geom type="mesh" mesh="{p.stem}"/>' for p in files)
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><asset>{meshes}</asset><worldbody><body>{geoms}</body></worldbody></mujoco>"
    )
    assert model.nmesh == 3
