"""Lenses off centre, distorted and wide: small balls appear where closed forms have them."""

from math import pi

import numpy as np
import pytest
from sim.render.scenes import (
    LOOKING_ALONG_X,
    OPTICAL,
    body_of,
    box_at,
    camera_world,
    glowing,
    needs_opengl,
    poses_of,
)
from sim.sensors.cameras import camera

from hrp_model import Pose
from hrp_model.devices import (
    EQUIDISTANT,
    LENS_FUNCTIONS,
    Camera,
    Distortion,
    ImageType,
    Intrinsics,
    LensFunction,
    LensType,
)
from hrp_model.geometry import Material, Shape, Sphere
from hrp_sim.render import BrownLens, DualFisheyeLens, FisheyeLens, Pinhole, Renderer, make_lens

SIZE = 320, 240
OFF_CENTRE = Intrinsics(260.0, 240.0, 140.5, 131.0)
SMALL, LARGE = 0.03, 0.09  # radii of balls at 2 m, for narrow and wide lenses
STEREOGRAPHIC = LensFunction("tan", 2.0, 2.0)
EQUISOLID = LensFunction("sin", 2.0, 2.0)
FUNCTIONS = {
    "equidistant": (EQUIDISTANT, lambda angle: angle),
    "stereographic": (STEREOGRAPHIC, lambda angle: 2.0 * np.tan(angle / 2.0)),
    "equisolid": (EQUISOLID, lambda angle: 2.0 * np.sin(angle / 2.0)),
    "orthographic": (LensFunction("sin"), np.sin),
}


def read(lens, *shapes, image_type=ImageType.COLOR):
    """What a camera at the origin that looks along x sees of shapes."""
    bodies = {"robot": body_of("robot", shapes)}
    sensor = camera(Renderer(bodies), lens, image_type=image_type)
    return sensor.read(camera_world(bodies, {"robot": poses_of(Pose())}))


def found(lens, rays_O, radius=LARGE):
    """Return the pixel in whose middle each ball appears, in these directions, shape (n, 2)."""
    rays = rays_O / np.linalg.norm(rays_O, axis=1, keepdims=True)
    shapes = []
    for i, ray in enumerate(rays):
        T = np.eye(4)
        T[:3, 3] = (LOOKING_ALONG_X @ OPTICAL).R @ (2.0 * ray)
        shapes.append(Shape(Sphere(radius), T, glowing((255, 10 * i, 0))))
    image = read(lens, *shapes).color.astype(int)
    pixels = []
    for i in range(len(rays)):
        rows, columns = np.nonzero(np.abs(image - [255, 10 * i, 0]).max(axis=2) <= 3)
        assert rows.size > 4
        pixels.append((columns.mean(), rows.mean()))
    return np.array(pixels)


def grid(low, high):
    x, y = np.meshgrid(np.linspace(low[0], high[0], 4), np.linspace(low[1], high[1], 4))
    return np.column_stack([x.ravel(), y.ravel(), np.ones(16)])


def brown(rays, lens, d):
    """Pixels of directions according to OpenCV's documentation, written down again."""
    x, y = (rays[:, :2] / rays[:, 2:]).T
    r2 = x**2 + y**2
    radial = 1.0 + d.k1 * r2 + d.k2 * r2**2 + d.k3 * r2**3
    u = x * radial + 2.0 * d.p1 * x * y + d.p2 * (r2 + 2.0 * x**2)
    v = y * radial + d.p1 * (r2 + 2.0 * y**2) + 2.0 * d.p2 * x * y
    return np.column_stack([lens.fx * u + lens.cx, lens.fy * v + lens.cy])


def around(angles):
    """Directions at angles from the axis, all around it."""
    turns = 2.4 * np.arange(len(angles))
    across = np.sin(angles)
    rays = np.column_stack([across * np.cos(turns), across * np.sin(turns), np.cos(angles)])
    return rays, np.column_stack([np.cos(turns), np.sin(turns)])


@needs_opengl
def test_points_appear_where_intrinsics_project_them():
    lens = Pinhole(*SIZE, 1.0, 0.1, 10.0, OFF_CENTRE)
    rays = grid((-0.5, -0.5), (0.6, 0.4))
    expected = brown(rays, OFF_CENTRE, Distortion())
    np.testing.assert_allclose(found(lens, rays, SMALL), expected, atol=0.5)


@needs_opengl
@pytest.mark.parametrize(
    "distortion",
    [Distortion(0.1, 0.2, 0.01, -0.02, 0.05), Distortion(-0.3, 0.1, 0.001, 0.002, -0.02)],
    ids=str,
)
def test_points_appear_where_a_distorted_lens_shows_them(distortion):
    lens = BrownLens(*SIZE, OFF_CENTRE, 0.1, 10.0, coefficients=distortion)
    rays = grid((-0.42, -0.42), (0.48, 0.32))
    expected = brown(rays, OFF_CENTRE, distortion)
    np.testing.assert_allclose(found(lens, rays, SMALL), expected, atol=0.75)


@needs_opengl
@pytest.mark.parametrize("name", FUNCTIONS)
def test_points_appear_where_a_fisheye_lens_shows_them(name):
    function, radius = FUNCTIONS[name]
    focal = 160.0 / radius(pi / 2)
    intrinsics = Intrinsics(focal, focal, 150.0, 165.0)
    lens = FisheyeLens(320, 320, intrinsics, 0.1, 10.0, function=function, cut_off_angle=pi / 2)
    angles = np.linspace(0.05, 1.2, 14)
    rays, turns = around(angles)
    expected = (150.0, 165.0) + focal * radius(angles)[:, np.newaxis] * turns
    np.testing.assert_allclose(found(lens, rays), expected, atol=0.75)


@needs_opengl
def test_a_fisheye_lens_sees_beyond_a_right_angle_and_nothing_beyond_its_cut_off_angle():
    focal = 160.0 / 2.2
    middle = Intrinsics(focal, focal, 159.5, 159.5)
    lens = FisheyeLens(320, 320, middle, 0.1, 10.0, cut_off_angle=2.0)
    angles = np.linspace(1.6, 1.9, 6)
    rays, turns = around(angles)
    expected = 159.5 + focal * angles[:, np.newaxis] * turns
    np.testing.assert_allclose(found(lens, rays), expected, atol=0.75)
    image = read(lens).color
    x, y = np.meshgrid(np.arange(320) - 159.5, np.arange(320) - 159.5)
    is_black = ~image.any(axis=2)
    np.testing.assert_array_equal(is_black, np.hypot(x, y) > focal * 2.0)


@needs_opengl
def test_a_dual_fisheye_lens_shows_the_front_and_the_back_turned_as_choreonoid_does():
    focal = 80.0 / (pi / 2)
    lens = DualFisheyeLens(320, 160, Intrinsics(focal, focal, 79.5, 79.5), 0.1, 10.0)
    angle = 0.6
    s, c = np.sin(angle), np.cos(angle)
    # Right and above, seen ahead; right of one who looks back (the camera's left), and above.
    rays = np.array([[s, 0, c], [0, -s, c], [-s, 0, -c], [0, -s, -c]])
    r = focal * angle
    expected = [(79.5, 79.5 - r), (79.5 - r, 79.5), (239.5, 79.5 + r), (239.5 + r, 79.5)]
    np.testing.assert_allclose(found(lens, rays), expected, atol=0.75)


LENSES = {
    "off centre": Pinhole(*SIZE, 1.0, 0.1, 10.0, OFF_CENTRE),
    "distorted": BrownLens(*SIZE, OFF_CENTRE, 0.1, 10.0, coefficients=Distortion(-0.2, 0.05)),
    "fisheye": FisheyeLens(*SIZE, Intrinsics(80.0, 80.0, 159.5, 119.5), 0.1, 90.0),
}


@needs_opengl
@pytest.mark.parametrize("name", LENSES)
def test_depths_and_points_are_those_of_a_plane_across_the_axis(name):
    wall = box_at((0.1, 400, 400), (3.05, 0, 0), Material(diffuse=(0.5, 0.5, 0.5)))
    lens = LENSES[name]
    reading = read(lens, wall, image_type=ImageType.COLOR_DEPTH)
    # Near a right angle the depths of neighbouring pixels differ much.
    hit = np.isfinite(reading.depth) & (lens.cosines > 0.4)
    assert hit.mean() > 0.3
    np.testing.assert_allclose(reading.depth[hit], 3.0, rtol=2e-4)
    np.testing.assert_allclose(reading.points()[hit][:, 2], 3.0, rtol=2e-4)
    # The headlight shines along the axis, however many pictures there are of the wall.
    assert np.ptp(reading.color[hit].astype(int)) <= 1


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("angle", [0.8, pi / 2])
def test_camera_info_describes_a_fisheye_lens_by_its_polynomial(name, angle):
    function, radius = FUNCTIONS[name]
    focal = 400.0 / radius(angle)
    middle = Intrinsics(focal, focal, 399.5, 399.5)
    lens = FisheyeLens(800, 800, middle, 0.1, 10.0, function=function, cut_off_angle=angle)
    angles = np.linspace(0.0, angle, 50)
    k = (1.0, *lens.distortion)
    polynomial = sum(k[i] * angles ** (2 * i + 1) for i in range(5))
    np.testing.assert_allclose(focal * polynomial, focal * radius(angles), atol=0.05)
    assert lens.distortion_model == "equidistant"


def test_a_gnomonical_lens_is_one_without_distortion():
    middle = Intrinsics(100.0, 100.0, 49.5, 49.5)
    lens = FisheyeLens(100, 100, middle, 0.1, 10.0, function=LensFunction("tan"))
    assert (lens.distortion_model, lens.distortion) == ("plumb_bob", Distortion())
    expected = Pinhole(100, 100, 1.0, 0.1, 10.0, middle)
    np.testing.assert_allclose(lens.cosines, expected.cosines, rtol=1e-5)


def test_pixels_that_a_distortion_does_not_reach_see_nothing():
    # r (1 - 0.5 r^2) is at most 0.544, at r = 0.816; the corners of the image are at 0.9.
    lens = BrownLens(
        *SIZE, Intrinsics(222.0, 222.0, 159.5, 119.5), 0.1, 9.0, None, Distortion(-0.5)
    )
    rays = lens.rays()
    assert np.isnan(rays[0, 0]).all()
    seen = np.isfinite(rays[..., 2])
    slope = np.hypot(*np.moveaxis(rays[seen][:, :2] / rays[seen][:, 2:], 1, 0))
    assert slope.max() <= np.sqrt(2.0 / 3.0)
    assert 0.5 < seen.mean() < 0.9


def any_camera(rng):
    """A camera with a lens of any numbers, and an image of a few pixels."""

    def number():
        extremes = (0.0, 1e-300, 1e-9, 0.5, 6.2, 1e6, 1e300, np.inf, np.nan)
        is_extreme = rng.random() < 0.4
        return float(
            rng.choice(extremes) if is_extreme else rng.normal() * 10 ** rng.uniform(-3, 3)
        )

    return Camera(
        name="c",
        link="l",
        width=int(rng.integers(1, 30)),
        height=int(rng.integers(1, 30)),
        field_of_view=float(rng.uniform(0.0, 6.5)),
        lens_type=rng.choice(list(LensType)),
        intrinsics=Intrinsics(*(number() for _ in range(4))) if rng.random() < 0.5 else None,
        distortion=Distortion(*(number() for _ in range(5))),
        lens_function=LensFunction(str(rng.choice(LENS_FUNCTIONS)), number(), number(), number()),
        cut_off_angle=number() if rng.random() < 0.5 else None,
    )


def test_a_lens_of_any_numbers_is_refused_or_can_be_drawn():
    rng, drawable = np.random.default_rng(3), 0
    for _ in range(400):
        try:
            lens = make_lens(any_camera(rng))
        except ValueError:
            continue
        drawable += 1
        assert np.isfinite(lens.distortion).all()
        assert lens.cosines.shape == (lens.height, lens.width)
        for view in getattr(lens, "views", ()):
            width, height = view.lens.width, view.lens.height
            assert max(width, height) <= 4096
            for corner in view.corners():
                assert 0 <= corner.min() <= corner.max() < width * height
            np.testing.assert_allclose(view.shares.sum(axis=0), 1.0, rtol=1e-5)
    assert drawable > 20


@pytest.mark.parametrize("kind", [LensType.NORMAL, LensType.FISHEYE])
def test_a_lens_for_images_of_another_size_sees_the_same_across_their_shorter_side(kind):
    device = Camera(
        name="c", link="l", width=300, height=200, lens_type=kind,
        intrinsics=Intrinsics(200.0, 220.0, 170.5, 90.5),
    )  # fmt: skip
    lens = make_lens(device, (800, 400))
    # Twice as large, about the middles (149.5, 99.5) and (399.5, 199.5).
    assert lens.intrinsics == (400.0, 440.0, 399.5 + 42.0, 199.5 - 18.0)
    assert make_lens(device).intrinsics == device.intrinsics
