"""What shapes become in the engine: primitives, triangles, grids, hulls."""

import ctypes
import ctypes.util
from dataclasses import replace

import numpy as np
import pytest
from sim.physics.scenes import at, box_inertia, fixed, lone, moving, placed, root, world

from hrp_model.body import Body
from hrp_model.geometry import Box, Capsule, Cone, Cylinder, Mesh, Shape, Sphere
from hrp_model.rigid import axis_angle_matrix
from hrp_model.shapes.meshing import elevation_grid
from hrp_model.shapes.tessellate import mesh_of, shape_mesh
from hrp_sim.engine.articulation.articulation import GeomKind
from hrp_sim.engine.articulation.flatten import flatten
from hrp_sim.engine.engine import PhysicsError, PhysicsSettings, Solver

UPRIGHT = axis_angle_matrix([1.0, 0.0, 0.0], np.pi / 2.0)  # the models' up to the world's
TILT = axis_angle_matrix(np.array([1.0, 2.0, -2.0]) / 3.0, 0.7)
BRICK = np.array([0.3, 0.2, 0.05])
BOX, BALL, ROD, PILL = (
    Box(np.array([0.1, 0.2, 0.3])),
    Sphere(0.1),
    Cylinder(0.1, 0.3),
    Capsule(0.1, 0.3),
)
CONE = Cone(0.1, 0.2)


def flat_geoms(*shapes, static=False, **settings):
    place = fixed if static else moving
    return flatten(place(lone(*shapes)), PhysicsSettings(**settings)).geoms


def scaled(geometry, *scale, offset=(0.0, 0.0, 0.0)):
    """A shape scaled along its axes, then turned and moved; the scale may move as well."""
    S = np.diag([*scale, 1.0])
    S[:3, 3] = offset
    return Shape(geometry, at(0.1, 0.2, 0.3, TILT).matrix() @ S)


def support(geoms, k, directions):
    """How far a primitive reaches along directions, in closed form, shape (n,)."""
    along = directions @ geoms.R[k]
    size, kind = geoms.size[k], geoms.kind[k]
    across = np.linalg.norm(along[:, :2], axis=1)
    reach = {
        GeomKind.BOX: np.abs(along) @ size / 2.0,
        GeomKind.SPHERE: np.full(len(along), size[0]),
        GeomKind.CYLINDER: across * size[0] + np.abs(along[:, 2]) * size[1] / 2.0,
        GeomKind.CAPSULE: size[0] + np.abs(along[:, 2]) * size[1] / 2.0,
    }[kind]
    return reach + directions @ geoms.p[k]


@pytest.mark.parametrize(
    ("geometry", "scale", "kind"),
    [
        (BOX, (1, 1, 1), GeomKind.BOX),
        (BOX, (1, 2, 3), GeomKind.BOX),
        (BOX, (-1, 2, 3), GeomKind.BOX),
        (BOX, (1, -2, -3), GeomKind.BOX),
        (BALL, (2, 2, 2), GeomKind.SPHERE),
        (BALL, (-2, 2, 2), GeomKind.SPHERE),
        (BALL, (1, 2, 1), GeomKind.MESH),
        (ROD, (2, 3, 2), GeomKind.CYLINDER),
        (ROD, (2, -3, 2), GeomKind.CYLINDER),
        (ROD, (-2, 3, 2), GeomKind.CYLINDER),
        (ROD, (2, 3, 1), GeomKind.MESH),
        (PILL, (2, 2, 2), GeomKind.CAPSULE),
        (PILL, (2, 2, -2), GeomKind.CAPSULE),
        (PILL, (1, 2, 1), GeomKind.MESH),
        (CONE, (1, 1, 1), GeomKind.MESH),
        (mesh_of(BOX), (1, 1, 1), GeomKind.BOX),
    ],
)
def test_primitives_take_the_scales_that_keep_their_kind(geometry, scale, kind):
    shape = scaled(geometry, *scale, offset=(0.5, -0.4, 0.2))
    geoms = flat_geoms(shape)
    assert list(geoms.kind) == [kind]
    if kind == GeomKind.MESH:
        return
    assert np.linalg.det(geoms.R[0]) == pytest.approx(1.0)
    directions = np.random.default_rng(0).standard_normal((50, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    drawn = (shape_mesh(shape, divisions=400).vertices @ directions.T).max(axis=0)
    np.testing.assert_allclose(support(geoms, 0, directions), drawn, atol=2e-4)


def test_a_shear_leaves_no_primitive():
    S = np.eye(4)
    S[0, 1] = 0.2
    assert list(flat_geoms(Shape(BOX, S)).kind) == [GeomKind.MESH]


def grid(height, n=21, spacing=0.1, *, ccw=True):
    """A square height field about the origin, heights along Z of the world."""
    steps = (np.arange(n) - (n - 1) / 2.0) * spacing
    heights = [height(x, -z) for z in steps for x in steps]
    mesh = elevation_grid(n, n, spacing, spacing, heights, ccw=ccw)
    return Shape(mesh, at(steps[0], -steps[0], 0.0, UPRIGHT).matrix())


def ground(shape):
    body = Body(name="ground", links=(root("GROUND", mass=0.0, collision=(shape,)),))
    return fixed(body)


GRIDDED = {
    "box": (placed(Box(BRICK)), 0.025),
    "sphere": (placed(BALL), 0.1),
    "small sphere": (placed(Sphere(0.02)), 0.02),
    "capsule": (placed(PILL), 0.1),
    "cylinder": (placed(ROD, at(R=UPRIGHT)), 0.15),
    "lying cylinder": (placed(ROD), 0.1),
    "cone": (placed(CONE, at(R=UPRIGHT)), 0.1),
    "mesh": (placed(mesh_of(Box(BRICK))), 0.025),
}


@pytest.mark.parametrize("spacing", [0.5, 0.1, 0.04])
@pytest.mark.parametrize("name", GRIDDED)
def test_things_rest_on_the_ridges_and_the_plains_of_a_grid(name, spacing):
    shape, height = GRIDDED[name]
    n = 2 * round(1.0 / spacing) + 1
    for relief in (lambda _x, _y: 0.3, lambda x, _y: 0.3 - 0.5 * abs(x)):
        engine, thing, _ = world(
            moving(lone(shape), at(z=0.3 + height + 0.002)), ground(grid(relief, n, spacing))
        )
        engine.step(400)
        assert thing.motion.p[0, 2] == pytest.approx(0.3 + height, abs=5e-4)


def test_a_grid_may_be_as_small_as_a_cell_and_be_turned_over():
    for ccw in (True, False):
        field = grid(lambda _x, _y: 0.0, 2, 1.0, ccw=ccw)
        above, below = at(z=0.102), at(z=-0.102)
        start, pull = (above, -9.8) if ccw else (below, 9.8)
        engine, thing, _ = world(
            moving(lone(placed(BALL)), start), ground(field), gravity=(0, 0, pull)
        )
        engine.step(400)
        assert abs(thing.motion.p[0, 2]) == pytest.approx(0.1, abs=5e-4)


def test_rays_meet_a_grid_on_its_triangles():
    rng = np.random.default_rng(4)
    heights = {}
    field = grid(lambda x, y: heights.setdefault((x, y), 0.2 * rng.random()), n=12)
    engine, _ = world(ground(field))
    origins = np.column_stack([rng.uniform(-0.45, 0.45, (200, 2)), np.full(200, 2.0)])
    slant = rng.uniform(-0.04, 0.04, (200, 2))
    directions = np.column_stack([slant, np.full(200, -1.0)])
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    seen = engine.cast_rays(origins, directions, 10.0)
    a, b, c = np.moveaxis(shape_mesh(field).vertices[field.geometry.triangles], 1, 0)
    normal = np.cross(b - a, c - a)
    for origin, direction, distance in zip(origins, directions, seen, strict=True):
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.einsum("ij,ij->i", a - origin, normal) / (normal @ direction)
        hit = origin + t[:, None] * direction
        sides = [
            np.einsum("ij,ij->i", np.cross(q - p, hit - p), normal)
            for p, q in ((a, b), (b, c), (c, a))
        ]
        inside = np.min(sides, axis=0) >= -1e-12
        assert distance == pytest.approx(t[inside].min(), abs=1e-12)


@pytest.mark.parametrize("height", [np.nan, np.inf, 1e9])
def test_impossible_heights_are_refused(height):
    field = grid(lambda _x, _y: 0.0)
    vertices = field.geometry.vertices.copy()
    vertices[7, 1] = height
    broken = replace(field, geometry=replace(field.geometry, vertices=vertices))
    with pytest.raises(
        PhysicsError, match="'GROUND': the vertices of a collision mesh must be within"
    ):
        world(ground(broken))


def refined(mesh, times):
    """The same surface with every triangle cut in four, several times."""
    for _ in range(times):
        v, t = mesh.vertices, mesh.triangles
        middles = [(v[t[:, k]] + v[t[:, (k + 1) % 3]]) / 2.0 for k in range(3)]
        x, y, z = (len(v) + len(t) * k + np.arange(len(t)) for k in range(3))
        a, b, c = t.T
        rows = [(a, x, z), (x, b, y), (z, y, c), (x, y, z)]
        mesh = Mesh(np.concatenate([v, *middles]), np.concatenate([np.stack(r, 1) for r in rows]))
    return mesh


@pytest.mark.parametrize("steps", [200, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("com", "solver"),
    [
        ((0.0, 0.0, 0.0), Solver.WORLD),
        ((0.0, 0.0, 0.0), Solver.QUICK),
        ((-0.12, 0.07, 0.1), Solver.WORLD),
    ],
)
def test_bricks_neither_creep_nor_tilt_on_fine_triangles(com, solver, steps):
    rng = np.random.default_rng(3)
    n, spacing = 41, 0.02
    plain = grid(lambda _x, _y: 0.0, n, spacing)
    scattered = plain.geometry.vertices.copy()
    scattered[:, (0, 2)] += rng.uniform(-0.3, 0.3, (n * n, 2)) * spacing
    floor = replace(plain, geometry=replace(plain.geometry, vertices=scattered))
    for shape in (placed(Box(BRICK)), placed(refined(mesh_of(Box(BRICK)), 2))):
        brick = lone(shape, com=com, inertia=box_inertia(1.0, BRICK))
        engine, thing, _ = world(
            moving(brick, at(0.013, 0.021, 0.026)), ground(floor), solver=solver
        )
        engine.step(100)
        before = thing.motion.p[0].copy()
        engine.step(steps)
        assert np.linalg.norm(thing.motion.p[0] - before) < 1e-8 * steps  # 0.1 mm in 10 s
        assert thing.motion.R[0, 2, 2] == pytest.approx(1.0, abs=1e-6)
        assert thing.motion.p[0, 2] == pytest.approx(0.025, abs=2e-4)


def test_a_very_fine_sole_does_not_sink_in():
    sole = lone(placed(refined(mesh_of(Box(BRICK)), 4)), inertia=box_inertia(1.0, BRICK))
    slab = placed(Box(np.array([2.0, 2.0, 1.0])), at(z=-0.5))
    engine, thing, _ = world(moving(sole, at(z=0.0252)), ground(slab))
    engine.step(400)
    assert thing.motion.p[0, 2] == pytest.approx(0.025, abs=2e-4)


def test_meshes_and_cones_that_move_may_become_their_hulls():
    star = Mesh(  # two tetrahedra through each other
        np.array([[1, 1, 1], [-1, -1, 1], [-1, 1, -1], [1, -1, -1]] * 2)
        * np.repeat([1, -1], 4)[:, None],
        [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3], [4, 5, 6], [4, 7, 5], [4, 6, 7], [5, 7, 6]],
    )
    shapes = [placed(star), placed(refined(mesh_of(BOX), 2), at(5.0)), placed(CONE, at(9.0))]
    hulls = flat_geoms(*shapes, convex_meshes=True)
    assert list(hulls.kind) == [GeomKind.MESH] * 3
    assert len(hulls.vertices) == 8 + 8 + 21
    assert len(hulls.triangles) == 12 + 12 + 20 + 18
    for static in (False, True):
        kept = flat_geoms(*shapes, static=static, convex_meshes=static)
        assert len(kept.triangles) == 8 + 12 * 16 + 40
    flat_sheet = placed(mesh_of(Box(np.array([1.0, 1.0, 0.0]))))
    np.testing.assert_array_equal(
        flat_geoms(flat_sheet, convex_meshes=True).triangles, flat_geoms(flat_sheet).triangles
    )


LEANING = axis_angle_matrix([0.0, 1.0, 0.0], 0.1)
# The distance of a lying cone's middle from its side; it is drawn with 20 sides.
LYING = 0.1 * 0.1 / np.hypot(0.1, 0.2) * np.cos(np.pi / 20.0)


@pytest.mark.parametrize("solver", list(Solver))
@pytest.mark.parametrize(
    ("shape", "start", "height"),
    [
        (placed(refined(mesh_of(Box(BRICK)), 2)), at(z=0.027), 0.025),
        (placed(CONE, at(R=UPRIGHT)), at(z=0.102), 0.1),
        (placed(CONE, at(R=UPRIGHT.T)), at(z=0.102, R=LEANING), LYING),
    ],
)
def test_hulls_rest_at_their_heights(shape, start, height, solver):
    slab = placed(Box(np.array([2.0, 2.0, 1.0])), at(z=-0.5))
    inertia = np.eye(3) * 3e-3
    engine, thing, _ = world(
        moving(lone(shape, inertia=inertia), start), ground(slab), convex_meshes=True, solver=solver
    )
    engine.step(1000)
    assert thing.motion.p[0, 2] == pytest.approx(height, abs=1e-3)


class _ContactGeom(ctypes.Structure):
    _fields_ = (
        ("pos", ctypes.c_double * 4),
        ("normal", ctypes.c_double * 4),
        ("depth", ctypes.c_double),
        ("geoms", ctypes.c_void_p * 2),
        ("sides", ctypes.c_int * 2),
    )


@pytest.fixture
def ode():
    """ODE's own functions, to show what is not used of it, and why."""
    name = ctypes.util.find_library("ode")
    if name is None:
        pytest.skip("the library of ODE has no file name here")
    library = ctypes.CDLL(name)
    for function in ("dCreateSphere", "dCreateBox", "dCreateConvex", "dCreateHeightfield"):
        getattr(library, function).restype = ctypes.c_void_p
    library.dGeomHeightfieldDataCreate.restype = ctypes.c_void_p
    library.dInitODE2(0)
    library.dAllocateODEDataForThread(~0)
    return library


def contacts_of(ode, a, b):
    found = (_ContactGeom * 64)()
    size = ctypes.sizeof(_ContactGeom)
    count = ode.dCollide(ctypes.c_void_p(a), ctypes.c_void_p(b), 64, found, size)
    return [(tuple(c.pos[:3]), c.depth) for c in found[:count]]


def real(*values):
    return [ctypes.c_double(v) for v in values]


def test_odes_own_height_fields_are_of_no_use(ode):
    """A ball in the top of a ridge touches nothing: so grids are triangles."""
    heights = (ctypes.c_double * 9)(0.0, 0.3, 0.0, 0.0, 0.3, 0.0, 0.0, 0.3, 0.0)
    data = ctypes.c_void_p(ode.dGeomHeightfieldDataCreate())
    ode.dGeomHeightfieldDataBuildDouble(
        data, heights, 1, *real(2.0, 2.0), 3, 3, *real(1.0, 0.0, 0.1), 0
    )
    field = ode.dCreateHeightfield(None, data, 1)
    ball = ode.dCreateSphere(None, *real(0.1))
    ode.dGeomSetPosition(ctypes.c_void_p(ball), *real(0.0, 0.35, 0.01))
    assert contacts_of(ode, ball, field) == []


def test_odes_own_convex_shapes_are_of_no_use(ode):
    """A cube flat on a box touches it in one point: so hulls are triangles."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.5
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    normals = np.repeat(np.eye(3), 2, axis=0) * np.tile([-1.0, 1.0], 3)[:, None]
    planes = np.column_stack([normals, np.full(6, 0.5)])
    polygons = np.array([[4, *face] for face in faces], dtype=np.uint32)
    kept = [np.ascontiguousarray(x) for x in (planes, corners, polygons)]
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in kept]
    cube = ode.dCreateConvex(None, pointers[0], 6, pointers[1], 8, pointers[2])
    slab = ode.dCreateBox(None, *real(4.0, 4.0, 1.0))
    ode.dGeomSetPosition(ctypes.c_void_p(cube), *real(0.2, 0.1, 0.99))
    assert len(contacts_of(ode, cube, slab)) == 1
