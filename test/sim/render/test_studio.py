"""Studio pictures: shadows, grid, ground and colours lie where geometry says."""

import numpy as np
import pytest
from sim.render.scenes import (
    LENS,
    LOOKING_ALONG_X,
    OPTICAL,
    body_of,
    box_at,
    camera_matrix,
    glowing,
    needs_opengl,
    pixel_rays,
    poses_of,
)

from hrp_model import Pose
from hrp_model.devices import Intrinsics
from hrp_model.geometry import Material, Shape, Sphere
from hrp_model.shapes import light
from hrp_sim.render import FisheyeLens, Pinhole, Renderer
from hrp_sim.render.studio import Studio

pytestmark = needs_opengl
GREY = Material(diffuse=(0.6, 0.6, 0.6))
# Looks straight down at the origin from 4 m: x to the right, y up.
LENS_ABOVE = Pinhole(160, 120, 0.8, 0.1, 50.0)
ABOVE = Pose(p=[0, 0, 4.0])
TOWARD_LIGHT = light.KEY.direction


def studio(**changes):
    return Studio(
        **{
            "center": np.zeros(3),
            "radius": 2.0,
            "height": 1.5,
            **changes,
        }
    )


def picture(*shapes, lens=LENS_ABOVE, X_WC=ABOVE, **changes):
    """A studio picture of shapes in W, as numbers from 0 to 255."""
    renderer = Renderer({"b": body_of("b", shapes)})
    return renderer.render_studio(lens, X_WC, {"b": poses_of(Pose())}, studio(**changes)).astype(
        int
    )


def ground_points(z=0.0):
    """Where the pixels of LENS_ABOVE meet a height, shape (height, width, 2)."""
    size = LENS_ABOVE.width, LENS_ABOVE.height
    rays = pixel_rays(size, camera_matrix(LENS_ABOVE)) @ (ABOVE.R @ OPTICAL.R).T
    return (ABOVE.p + rays * ((z - ABOVE.p[2]) / rays[..., 2:]))[..., :2]


def shaded_by(center, size, points):
    """Whether a box lies between points on the ground and the light: its slabs along the ray."""
    start = np.concatenate([points, np.zeros((*points.shape[:2], 1))], axis=2)
    low = (np.array(center) - np.array(size) / 2 - start) / TOWARD_LIGHT
    high = (np.array(center) + np.array(size) / 2 - start) / TOWARD_LIGHT
    return np.minimum(low, high).max(axis=2) < np.maximum(low, high).min(axis=2)


def test_a_shadow_lies_where_the_light_projects_the_box():
    center, size = (0.2, 0.1, 0.6), (0.5, 0.4, 0.1)
    with_box = picture(box_at(size, center, GREY)).mean(axis=2)
    without = picture().mean(axis=2)
    points = ground_points()
    around = [points + np.array(d) * 0.05 for d in ((1, 0), (-1, 0), (0, 1), (0, -1))]
    shaded = [shaded_by(center, size, p) for p in around]
    inside, outside = np.all(shaded, axis=0), ~np.any(shaded, axis=0)
    # The box itself, as seen from above.
    top = (np.abs(ground_points(0.65) - center[:2]) < np.array(size[:2]) / 2 + 0.05).all(axis=2)
    bottom = (np.abs(ground_points(0.55) - center[:2]) < np.array(size[:2]) / 2 + 0.05).all(axis=2)
    box = top | bottom
    assert (inside & ~box).sum() > 100
    assert (with_box[inside & ~box] < 0.85 * without[inside & ~box]).all()
    np.testing.assert_allclose(with_box[outside & ~box], without[outside & ~box], atol=1.5)


def test_what_lies_above_the_region_of_shadows_casts_none():
    ceiling = box_at((9, 9, 0.1), (0, 0, 4.5), GREY)
    np.testing.assert_array_equal(picture(ceiling), picture())
    assert picture(ceiling, height=9.0).mean() < 0.9 * picture().mean()


def test_lines_of_the_grid_lie_at_whole_metres():
    bright = picture().mean(axis=2)
    off = np.abs(ground_points() - np.round(ground_points()))
    pixel = ground_points()[0, 1, 0] - ground_points()[0, 0, 0]
    on_line = (off < 0.3 * pixel).any(axis=1 + 1)
    apart = (np.abs((ground_points() / 0.2) % 1.0 - 0.5) < 0.5 - 1.5 * pixel / 0.2).all(axis=2)
    assert on_line.sum() > 200
    assert bright[on_line].max() < bright[apart].min() - 20
    assert np.ptp(bright[apart]) < 4


def test_a_floor_hides_the_ground_and_carries_its_grid():
    floor = box_at((9, 9, 0.2), (0, 0, -0.1), Material(diffuse=(0.8, 0.2, 0.2)))
    red, bare = picture(floor), picture()
    assert (red[..., 0] > red[..., 2] + 40).all()
    brightness = np.corrcoef(red.mean(axis=2).ravel(), bare.mean(axis=2).ravel())
    assert brightness[0, 1] > 0.95  # the same lines
    below = picture(floor, ground=-0.5)  # no longer the height of the floor
    assert np.ptp(below.mean(axis=2)) < 4


@pytest.mark.parametrize("rgb", [(1, 2, 3), (250, 128, 0), (77, 255, 199), (0, 0, 255)])
def test_surfaces_show_the_colours_that_the_definition_of_the_light_says(rgb):
    color, up = np.array(rgb) / 255, np.array([0.0, 0.0, 1.0])
    matt = picture(box_at((9, 9, 0.1), (0, 0, 1), Material(diffuse=tuple(color))))
    expected = 255 * light.shown(color, light.irradiance(up))
    assert np.abs(matt - expected).max() <= 1
    glows = picture(box_at((9, 9, 0.1), (0, 0, 1), glowing(rgb)))
    black = light.albedo(np.zeros(3)) * light.irradiance(up)
    expected = 255 * light.encoded(light.toned(light.emission(color) + black))
    assert np.abs(glows - expected).max() <= 1


def test_edges_are_smooth():
    white, X_WC = glowing((255, 255, 255)), Pose(ABOVE.R, ABOVE.p)
    # An edge across pixels: at 10 degrees to the rows.
    tilted = Pose(np.array([[0.985, -0.174, 0], [0.174, 0.985, 0], [0, 0, 1]]))
    renderer = Renderer({"b": body_of("b", (box_at((1, 1, 0.1), (0, 0, 1), white),))})
    shown = renderer.render_studio(LENS_ABOVE, X_WC, {"b": poses_of(tilted)}, studio())
    levels = np.unique(shown[:, 60].mean(axis=1))
    inside = shown[60, 80].mean()
    assert inside > 210
    columns = [np.unique(shown[:, u].mean(axis=1)) for u in range(70, 90)]
    assert np.unique(np.concatenate([*columns, levels])).size > 6


def test_the_background_is_brightest_at_the_horizon():
    lens = Pinhole(64, 64, 1.6, 0.1, 50.0)
    shown = picture(lens=lens, X_WC=Pose(LOOKING_ALONG_X.R, [0, 0, 1.0])).mean(axis=2)
    upward = shown[:32, 32]
    assert (np.diff(upward) >= 0).all()
    assert upward[-1] > upward[0] + 10


def test_pictures_of_sensors_do_not_depend_on_studio_pictures():
    shapes = (
        box_at((1, 1, 1), (3, 0, 0), GREY),
        box_at((1, 1, 1), (3, 0.5, 1), glowing((1, 2, 3))),
    )
    glass = box_at((0.1, 2, 2), (2, 0.5, 0), Material(diffuse=(0, 0, 1), transparency=0.5))
    renderer, poses = Renderer({"b": body_of("b", (*shapes, glass))}), {"b": poses_of(Pose())}
    before = renderer.render(LENS, LOOKING_ALONG_X, poses)
    studio_before = renderer.render_studio(LENS, LOOKING_ALONG_X, poses, studio())
    after = renderer.render(LENS, LOOKING_ALONG_X, poses)
    np.testing.assert_array_equal(after.color, before.color)
    np.testing.assert_array_equal(after.depth, before.depth)
    studio_after = renderer.render_studio(LENS, LOOKING_ALONG_X, poses, studio())
    np.testing.assert_array_equal(studio_after, studio_before)
    assert (before.color != studio_before).any()


def test_a_fisheye_lens_has_studio_pictures_too():
    focal = 60.0 / (np.pi / 2)
    lens = FisheyeLens(120, 120, Intrinsics(focal, focal, 59.5, 59.5), 0.1, 50.0)
    for angle, radius in ((np.pi / 4, 0.3), (np.radians(75.0), 0.9)):
        T = np.eye(4)
        T[0, 3] = 4.0 * np.tan(angle)
        image = picture(Shape(Sphere(radius), T, glowing((255, 0, 0))), lens=lens, ground=-50.0)
        rows, columns = np.nonzero((image[..., 0] > 200) & (image[..., 1] < 60))
        assert rows.mean() == pytest.approx(59.5, abs=0.5)
        assert columns.mean() == pytest.approx(59.5 + focal * angle, abs=0.5)
