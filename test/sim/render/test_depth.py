"""Depths against closed forms, pixel by pixel: along the optical axis, in metres."""

import numpy as np
import pytest
from sim.render.scenes import (
    LOOKING_ALONG_X,
    OPTICAL,
    body_of,
    box_at,
    camera_matrix,
    glowing,
    in_thread,
    needs_opengl,
    pixel_rays,
    poses_of,
)
from sim.sensors.handmade import random_pose, random_rotation

from hrp_model import Pose
from hrp_model.geometry import (
    Attribute,
    Capsule,
    Cone,
    Cylinder,
    Material,
    Mesh,
    Shape,
    Sphere,
    Texture,
)
from hrp_model.rigid import rpy_matrix
from hrp_sim.render import ALL_PARTS, Parts, Pinhole, Renderer

pytestmark = needs_opengl
DEPTH, COLOR = Parts(color=False, depth=True), Parts(color=True, depth=False)
NEAR, FAR = 0.04, 200.0
LENS = Pinhole(64, 48, 1.0, NEAR, FAR)


def picture(*shapes, lens=LENS, X_WC=LOOKING_ALONG_X, parts=ALL_PARTS):
    renderer = Renderer({"b": body_of("b", shapes)})
    return renderer.render(lens, X_WC, {"b": poses_of(Pose())}, parts=parts)


def wall(distance, material=None, half=60.0):
    """A wall across the line of sight, its face at a distance."""
    return box_at((0.1, 2 * half, 2 * half), (distance + 0.05, 0, 0), material or Material())


def plane_depths(lens, X_WC, point, normal):
    """Depths of a plane through a point in W."""
    X_WO = X_WC @ OPTICAL
    directions = pixel_rays((lens.width, lens.height), camera_matrix(lens)) @ X_WO.R.T
    with np.errstate(divide="ignore"):
        depths = (normal @ (point - X_WO.p)) / (directions @ normal)
    return np.where(depths > 0.0, depths, np.inf)


@pytest.mark.parametrize("distance", [0.041, 0.3, 5.0, 60.0, 199.0])
def test_a_wall_has_one_depth_everywhere(distance):
    depth = picture(wall(distance, half=2 * distance)).depth
    assert (depth.shape, depth.dtype) == ((48, 64), np.float32)
    np.testing.assert_allclose(depth, distance, rtol=1e-5)


@pytest.mark.parametrize("size", [(64, 48), (48, 64)])
@pytest.mark.parametrize("height", [0.5, 1.5, 15.0])
def test_a_floor_is_as_deep_as_its_plane_from_the_near_to_the_far_end(size, height):
    lens = Pinhole(*size, 1.4, NEAR, FAR)
    # Some way to the left and a little downwards, the head askew.
    X_WC = Pose(rpy_matrix(0.3, 0.15, 0.5) @ LOOKING_ALONG_X.R, [0.3, -0.2, height])
    floor = box_at((600, 600, 2), (0, 0, -1), Material())
    expected = plane_depths(lens, X_WC, np.zeros(3), np.array([0.0, 0, 1]))
    sure = np.abs(np.log(expected / FAR)) > 1e-3
    depth = picture(floor, lens=lens, X_WC=X_WC).depth
    expected[(expected > FAR) | (expected < NEAR)] = np.inf
    np.testing.assert_allclose(depth[sure], expected[sure], rtol=1e-4)
    seen = depth[np.isfinite(depth)]
    assert seen.size > 1000
    assert seen.max() / seen.min() > 10.0


@pytest.mark.parametrize("scale", [0.1, 10.0])
def test_walls_at_random_angles_are_as_deep_as_their_planes(scale):
    rng = np.random.default_rng(4)
    for _ in range(5):
        X_WC = random_pose(rng)
        middle = (X_WC @ OPTICAL) @ Pose(p=[0.0, 0.0, scale])
        face = middle @ Pose(rpy_matrix(*rng.uniform(-0.6, 0.6, 2), 0.0))
        plate = box_at((20 * scale, 20 * scale, 0.2), (0, 0, 0.1), Material())
        depth = picture(plate.moved(face.matrix()), X_WC=X_WC).depth
        expected = plane_depths(LENS, X_WC, face.p, face.R[:, 2])
        np.testing.assert_allclose(depth, expected, rtol=1e-4)


@pytest.mark.parametrize("distance", [0.12, 1.0, 50.0])
def test_a_sphere_is_as_deep_as_its_equation_says(distance):
    radius = distance / 3.0
    center = np.array([0.1, -0.05, 1.0]) * distance  # in the optical frame
    T = (LOOKING_ALONG_X @ OPTICAL @ Pose(p=center)).matrix()
    depth = picture(Shape(Sphere(radius), T)).depth
    directions = pixel_rays((64, 48), camera_matrix(LENS))
    a, b = (directions**2).sum(axis=-1), directions @ center
    discriminant = b**2 - a * (center @ center - radius**2)
    expected = (b - np.sqrt(np.maximum(discriminant, 0.0))) / a
    # At the rim depths change without bound from one pixel to the next.
    inside, outside = discriminant > 0.01 * b**2, discriminant < -0.001 * b**2
    np.testing.assert_allclose(depth[inside], expected[inside], rtol=1e-4)
    assert np.isposinf(depth[outside]).all()
    assert min(inside.sum(), outside.sum()) > 500


def off_sphere(p, radius=1.0):
    return np.linalg.norm(p, axis=-1) - radius


def off_cylinder(p):
    return np.maximum(np.hypot(p[:, 0], p[:, 2]) - 1.0, np.abs(p[:, 1]) - 1.5)


def off_cone(p):
    """Distance from a cone of radius 1 and height 2, apex up."""
    side = (np.hypot(p[:, 0], p[:, 2]) * 2.0 + p[:, 1] - 1.0) / np.sqrt(5.0)
    return np.maximum(side, -1.0 - p[:, 1])


def off_capsule(p):
    return off_sphere(p - np.clip(p, [0, -1.5, 0], [0, 1.5, 0]))


CURVED = [
    (Sphere(1.0), off_sphere),
    (Sphere(1.0, divisions=7), off_sphere),
    (Cylinder(1.0, 3.0), off_cylinder),
    (Cone(1.0, 2.0), off_cone),
    (Capsule(1.0, 3.0), off_capsule),
]


@pytest.mark.parametrize(("geometry", "off"), CURVED, ids=str)
@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0), (0.02, 0.02, 0.02), (1.5, 0.7, -1.2)])
def test_curved_primitives_are_as_deep_as_their_surfaces_whatever_their_corners(
    geometry, off, scale
):
    rng = np.random.default_rng(2)
    size = max(np.abs(scale))
    for _ in range(2):
        X_WC = random_pose(rng)
        X_WO = X_WC @ OPTICAL
        X_WS = X_WO @ Pose(random_rotation(rng), [0.3 * size, -0.2 * size, 6.0 * size])
        T_WG = X_WS.matrix() @ np.diag([*scale, 1.0])
        depth = picture(Shape(geometry, T_WG), X_WC=X_WC, parts=DEPTH).depth
        directions = pixel_rays((64, 48), camera_matrix(LENS)) @ X_WO.R.T
        hit = np.isfinite(depth)
        assert hit.sum() > 50
        points = X_WO.p + depth[hit, None] * directions[hit]
        T_GW = np.linalg.inv(T_WG)
        here = points @ T_GW[:3, :3].T + T_GW[:3, 3]
        ray = directions[hit] @ T_GW[:3, :3].T * depth[hit, None]
        # On the surface, and on its near side: a step of 1e-4 of the depth goes in and out.
        assert (off(here + 1e-4 * ray) < off(here - 1e-4 * ray)).mean() > 0.97
        np.testing.assert_allclose(off(here), 0.0, atol=1e-4 * np.linalg.norm(ray, axis=1).min())


@pytest.mark.parametrize(
    "geometry",
    [
        Sphere(1.0),
        Sphere(0.0),
        Sphere(1e-300),
        Cylinder(1.0, 0.0),
        Cone(1.0, 0.0),
        Capsule(1.0, 0.0),
    ],
    ids=str,
)
@pytest.mark.parametrize("scale", [(1, 1, 0), (0, 1, 1), (1, 1, 1e-17), (1e-100,) * 3, (1, 1, 1)])
def test_what_is_as_good_as_flat_has_the_depth_of_what_is_drawn(geometry, scale):
    T = np.diag([*scale, 1.0])
    T[:3, 3] = (3.0, 0.0, 0.0)
    depth = picture(Shape(geometry, T)).depth
    seen = depth[np.isfinite(depth)]
    assert np.isposinf(depth[~np.isfinite(depth)]).all()
    assert ((seen >= 1.99) & (seen <= 4.01)).all()


def test_a_floor_beside_a_curved_thing_is_as_deep_as_ever():
    ball = Shape(Sphere(0.3), Pose(p=[3.0, 0, 0]).matrix())
    depth = picture(wall(4.0), ball, wall(5.0)).depth
    np.testing.assert_allclose(depth[:, :15], 4.0, rtol=1e-6)
    assert depth.min() == pytest.approx(2.7, rel=0.005)


def test_colours_and_depths_are_of_the_same_things():
    red, green = glowing((255, 0, 0)), glowing((0, 255, 0))
    shapes = wall(4.0, red), box_at((0.2, 1, 1), (3.1, 0.6, 0.4), green)
    color, depth = picture(*shapes)
    np.testing.assert_array_equal((color == (0, 255, 0)).all(axis=-1), depth < 3.5)
    np.testing.assert_array_equal((color == (255, 0, 0)).all(axis=-1), depth > 3.5)
    assert (depth < 3.5).sum() > 100
    # Up and to the left.
    rows, columns = np.nonzero(depth < 3.5)
    assert rows.mean() < 20
    assert columns.mean() < 25


def test_parts_are_alike_whether_drawn_together_or_alone():
    rng = np.random.default_rng(8)
    shapes = [
        box_at(rng.uniform(0.2, 1.0, 3), (rng.uniform(1.5, 6.0), *rng.uniform(-1, 1, 2)), material)
        for material in [glowing((9, 8, 7)), glowing((200, 100, 50), transparency=0.3)] * 4
    ]
    shapes = [s.moved(Pose(random_rotation(rng), [3.0, 0, 0]).matrix()) for s in shapes]
    both, color, depth = (picture(*shapes, parts=p) for p in (ALL_PARTS, COLOR, DEPTH))
    np.testing.assert_array_equal(both.color, color.color)
    np.testing.assert_array_equal(both.depth, depth.depth)
    assert np.isfinite(both.depth).any()
    assert color.depth is None
    assert depth.color is None


def test_parts_may_change_from_picture_to_picture_in_any_thread():
    renderer = Renderer({"b": body_of("b", (wall(3.0, glowing((1, 2, 3))),))})

    def draw(parts):
        return renderer.render(LENS, LOOKING_ALONG_X, {"b": poses_of(Pose())}, parts=parts)

    for parts in (COLOR, DEPTH, ALL_PARTS, DEPTH, COLOR):
        for color, depth in (draw(parts), in_thread(lambda parts=parts: draw(parts))):
            assert color is None or (color == (1, 2, 3)).all()
            assert depth is None or np.allclose(depth, 3.0)
            assert (color is not None, depth is not None) == parts


def test_where_nothing_is_the_depth_is_infinite():
    assert np.isposinf(picture().depth).all()
    assert np.isposinf(picture(wall(250.0)).depth).all()  # behind the far plane


def test_what_is_nearer_than_the_near_plane_is_looked_through():
    lens = Pinhole(64, 48, 1.0, 1.0, 200.0)
    near = box_at((0.1, 9, 9), (0.5, 0, 0), Material())
    np.testing.assert_allclose(picture(near, wall(5.0), lens=lens).depth, 5.0, rtol=1e-6)


@pytest.mark.parametrize(("transparency", "stops"), [(0.3, True), (0.5, True), (0.6, False)])
@pytest.mark.parametrize("parts", [ALL_PARTS, DEPTH])
def test_what_lets_through_more_than_half_does_not_stop_a_depth(transparency, stops, parts):
    glass = wall(2.0, glowing((0, 0, 255), transparency=transparency))
    depth = picture(wall(5.0), glass, parts=parts).depth
    np.testing.assert_allclose(depth, 2.0 if stops else 5.0, rtol=1e-6)


@pytest.mark.parametrize("parts", [ALL_PARTS, DEPTH])
@pytest.mark.parametrize("order", [1, -1])
def test_of_panes_one_behind_the_other_the_nearest_counts(parts, order):
    pane = Material(transparency=0.2)
    # The middle of the nearer one is farther away, so that it is blended first.
    shapes = [wall(3.0, pane).moved(Pose(p=[0.0, 40.0, 0]).matrix()), wall(3.4, pane), wall(9.0)]
    depth = picture(*shapes[::order], parts=parts).depth
    np.testing.assert_allclose(depth, 3.0, rtol=1e-6)


@pytest.mark.parametrize("parts", [ALL_PARTS, DEPTH])
def test_an_opaque_surface_before_a_pane_is_what_counts(parts):
    depth = picture(wall(3.0), wall(4.0, Material(transparency=0.2)), parts=parts).depth
    np.testing.assert_allclose(depth, 3.0, rtol=1e-6)


@pytest.mark.parametrize("parts", [ALL_PARTS, DEPTH])
def test_a_hole_in_a_texture_is_a_hole_in_the_depths(parts):
    pixels = np.zeros((8, 8, 4), np.uint8)
    pixels[:, 4:] = (0, 255, 0, 255)
    corners = np.array([[2.0, 2, -2], [2, -2, -2], [2, -2, 2], [2, 2, 2]])
    triangles = np.array([[0, 1, 2], [0, 2, 3]], np.int32)
    st = Attribute(np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]]), triangles)
    curtain = Shape(
        Mesh(corners, triangles, tex_coords=st), material=Material(texture=Texture(image=pixels))
    )
    depth = picture(wall(5.0), curtain, parts=parts).depth
    np.testing.assert_allclose(depth[:, :30], 5.0, rtol=1e-6)
    np.testing.assert_allclose(depth[:, 34:], 2.0, rtol=1e-6)


def test_far_from_the_origin_depths_are_the_same():
    rng = np.random.default_rng(6)
    shapes = [(box_at(rng.uniform(0.2, 1, 3), (0, 0, 0), Material()),) for _ in range(5)]
    places = [
        Pose(random_rotation(rng), [rng.uniform(2, 6), *rng.uniform(-1, 1, 2)]) for _ in shapes
    ]
    renderer = Renderer({"things": body_of("things", *shapes)})
    depths = []
    for origin in (np.zeros(3), np.array([1e6, -2e6, 3e5])):
        poses = poses_of(*(Pose(X.R, X.p + origin) for X in places))
        X_WC = Pose(LOOKING_ALONG_X.R, origin)
        depths.append(renderer.render(LENS, X_WC, {"things": poses}, parts=DEPTH).depth)
    np.testing.assert_allclose(*depths, rtol=1e-6)
