"""Cameras of films: what they show, and how they move."""

from dataclasses import replace
from math import pi

import numpy as np
import pytest
from sim.render.scenes import body_of, box_at, glowing, needs_opengl, poses_of

from hrp_model import Joint, JointType, Pose
from hrp_model.devices import Camera
from hrp_model.geometry import Material
from hrp_model.rigid import rpy_matrix
from hrp_model.shapes import light
from hrp_sim import Simulation
from hrp_sim.recording.video.film import SimulationSource, StudioRenderer
from hrp_sim.recording.video.views import (
    Extents,
    FixedView,
    FollowingView,
    SensorView,
    Viewpoint,
    find_camera,
    find_link,
)
from hrp_sim.sensors import CameraSensor

SIZE = 160, 90
GREY = Material(diffuse=(0.5, 0.5, 0.5))


def pixels_of(points, lens, X_WC):
    """Where points in W are in an image, in pixels from its middle, and their depth."""
    x, y, z = ((points - X_WC.p) @ X_WC.R).T
    return lens.focal_length * np.column_stack([x, y]) / -z[:, np.newaxis], -z


@pytest.mark.parametrize("azimuth", [0.0, 35.0, -120.0])
@pytest.mark.parametrize("elevation", [-20.0, 15.0, 80.0])
@pytest.mark.parametrize("size", [SIZE, (90, 160)])
def test_a_fixed_view_has_all_robots_in_the_picture_and_no_smaller_than_needed(
    azimuth, elevation, size
):
    points = np.random.default_rng(7).normal(size=(40, 3)) * [1.0, 0.3, 2.0]
    lens, X_WC = FixedView(size, Viewpoint(azimuth, elevation), points).look({})
    place, depth = pixels_of(points, lens, X_WC)
    share = np.abs(place) / (np.array(size) / 2)
    assert share.max() < 1.0
    assert share.max() > 0.6
    assert (depth > lens.near).all()
    assert (depth < lens.far).all()
    assert X_WC.R[2, 1] > 0.0  # upright


def test_a_viewpoint_is_where_its_angles_say():
    points = np.array([[1.0, 2.0, 3.0]])
    _, X_WC = FixedView(SIZE, Viewpoint(90.0, 30.0, 4.0), points).look({})
    np.testing.assert_allclose(X_WC.p - points[0], [0.0, 4.0 * np.cos(pi / 6), 2.0], atol=1e-12)
    np.testing.assert_allclose(X_WC.R[:, 2], (X_WC.p - points[0]) / 4.0, atol=1e-12)


@pytest.mark.parametrize(
    "numbers", [(400.0, 0.0), (0.0, 90.0), (0.0, 0.0, 0.0), (float("nan"), 0.0)]
)
def test_an_impossible_viewpoint_is_refused(numbers):
    with pytest.raises(ValueError, match="must be"):
        Viewpoint(*numbers)


def test_a_followed_link_stays_at_its_pixel_and_the_camera_does_not_turn():
    with Simulation("rover") as sim:
        source = SimulationSource(sim)
        poses = sim.state.poses()
        body, link = find_link(source.bodies, "MAST")
        start = FixedView(SIZE, Viewpoint(), Extents(source.bodies).points(poses))
        view = FollowingView(start, body, link, poses)
        lens, X_WC = view.look(poses)
        origin, _ = pixels_of(poses[body].p[[link]], lens, X_WC)
        sim.command("rover", velocity={"TRACK_L": 0.5, "TRACK_R": 0.3})
        for frame in [f for f, _ in zip(source.frames(10.0), range(6), strict=False)]:
            lens, X_now = view.look(frame.poses)
            place, _ = pixels_of(frame.poses[body].p[[link]], lens, X_now)
            np.testing.assert_allclose(place, origin, atol=1e-6)
            np.testing.assert_array_equal(X_now.R, X_WC.R)
        moved = np.linalg.norm(frame.poses[body].p[link] - poses[body].p[link])
        assert moved > 0.05
        assert np.linalg.norm(X_now.p - X_WC.p) == pytest.approx(moved)


@needs_opengl
def test_a_camera_sees_what_the_sensor_sees():
    with Simulation("rover", defer_images=True) as sim:
        sensor = sim.sensors["mast_camera"]
        assert isinstance(sensor, CameraSensor)
        poses = sim.state.poses()
        bodies = SimulationSource(sim).bodies
        body, device = find_camera(bodies, "rover/mast_camera")
        size = sensor.lens.width, sensor.lens.height
        view = SensorView(size, body, bodies[body].link_index(device.link), device)
        assert view.look(poses)[0] == sensor.lens
        seen = StudioRenderer(bodies, view, poses, hide_walls=False).picture(poses).astype(int)
        expected = sensor.read(sim.state).color.astype(int)
    # The silhouettes of things in saturated colours.
    for channel in range(3):
        others = [c for c in range(3) if c != channel]
        mask, reference = (
            image[..., channel] > 2.0 * image[..., others].max(axis=2) + 20
            for image in (seen, expected)
        )
        assert inner(reference).sum() > 100
        assert mask[inner(reference)].all()
        assert reference[inner(mask)].all()


def inner(mask):
    """A mask without its edge, which a studio picture smooths."""
    shifted = [np.roll(mask, d, axis) for axis in (0, 1) for d in (-1, 1)]
    return np.all([mask, *shifted], axis=0)


def robot(name):
    """A body with two cameras of which one has a name of its own."""
    body = body_of(name, (box_at((1, 1, 1), (0, 0, 0), GREY),))
    cameras = (Camera(name="eye", link="L0", id=0), Camera(name=f"{name}_eye", link="L0", id=1))
    return replace(body, devices=cameras)


def test_names_are_unique_or_given_with_their_body():
    bodies = {"a": robot("a"), "b": robot("b")}
    assert find_camera(bodies, "a_eye")[0] == "a"
    assert find_camera(bodies, "b/eye")[0] == "b"
    assert find_link(bodies, "b/L0") == ("b", 0)
    with pytest.raises(ValueError, match="several bodies have a camera 'eye': choose a/eye, b/eye"):
        find_camera(bodies, "eye")
    with pytest.raises(ValueError, match=r"there is no link 'b/L1', only .*Did you mean"):
        find_link(bodies, "b/L1")
    with pytest.raises(ValueError, match="there is no camera 'x', only none"):
        find_camera({}, "x")


def room():
    """A room of 4 m x 4 m around the origin, with a floor, four walls and a ceiling."""
    colors = {
        "front": (255, 0, 0),
        "back": (0, 255, 0),
        "left": (0, 0, 255),
        "right": (255, 0, 255),
    }
    walls = [
        box_at((0.1, 4, 3), (2, 0, 1.5), glowing(colors["front"])),
        box_at((0.1, 4, 3), (-2, 0, 1.5), glowing(colors["back"])),
        box_at((4, 0.1, 3), (0, 2, 1.5), glowing(colors["left"])),
        box_at((4, 0.1, 3), (0, -2, 1.5), glowing(colors["right"])),
        box_at((4, 4, 0.1), (0, 0, -0.05), GREY),
        box_at((4, 4, 0.1), (0, 0, 3.05), glowing((10, 10, 10))),
    ]
    return body_of("room", tuple(walls)), colors


def loose(name, *shapes):
    """A body that can move."""
    body = body_of(name, shapes)
    root = replace(body.links[0], joint=Joint(type=JointType.FREE, name="L0"))
    return replace(body, links=(root,))


@needs_opengl
@pytest.mark.parametrize(
    ("viewpoint", "hidden"),
    [
        (Viewpoint(30.0, 10.0, 8.0), {"front"}),
        (Viewpoint(45.0, 10.0, 12.0), {"front", "left"}),
        (Viewpoint(180.0, 50.0, 9.0), {"back"}),
        (Viewpoint(30.0, 10.0, 1.5), set()),  # inside
    ],
    ids=["front", "corner", "above", "inside"],
)
def test_walls_do_not_hide_the_robots(viewpoint, hidden):
    walls, colors = room()
    white = loose("robot", box_at((0.4, 0.4, 1.0), (0, 0, 0.5), glowing((255, 255, 255))))
    bodies = {"room": walls, "robot": white}
    poses = {name: poses_of(Pose()) for name in bodies}
    assert Extents(bodies).robots == ["robot"]
    view = FixedView(SIZE, viewpoint, Extents(bodies).points(poses))
    shown = StudioRenderer(bodies, view, poses).picture(poses).astype(int)
    seen = {name: light.shown(np.array(c) / 255) * 255 for name, c in colors.items()}
    assert (shown[45, 80] > 200).all()
    visible = {w for w, c in seen.items() if (np.abs(shown - c) < 12).all(axis=2).any()}
    assert visible
    assert not visible & hidden


def test_a_table_between_is_no_wall():
    block = box_at((0.5, 0.5, 0.5), (1.5, 0, 0.25), GREY)
    bodies = {
        "things": body_of("things", (block,)),
        "robot": loose("robot", box_at((0.4, 0.4, 1.0), (0, 0, 0.5), GREY)),
    }
    poses = {name: poses_of(Pose()) for name in bodies}
    eye, target = np.array([4.0, 0, 1.0]), np.array([0, 0, 0.5])
    assert Extents(bodies).walls_between(eye, target, 0.3, poses) == set()


def test_the_floor_is_the_lowest_level_thing_as_large_as_the_robot():
    plates = (
        box_at((4, 4, 0.1), (0, 0, -0.35), GREY),
        box_at((4, 4, 0.1), (0, 0, 2.0), GREY),  # a ceiling
        box_at((0.2, 0.2, 0.02), (0, 0, -3.0), GREY),  # too small
        box_at((4, 0.1, 4), (0, 2, -4.0), GREY),  # a wall
    )
    robot = loose("robot", box_at((0.4, 0.4, 1.0), (0, 0, 0.2), GREY))
    bodies = {"things": body_of("things", plates), "robot": robot}
    poses = {name: poses_of(Pose()) for name in bodies}
    found = Extents(bodies).ground(poses)
    assert found.height == pytest.approx(-0.3)
    assert found.color == GREY.diffuse
    tilted = {**poses, "things": poses_of(Pose(rpy_matrix(0.1, 0.0, 0.0)))}
    assert Extents(bodies).ground(tilted).color is None


def test_extents_follow_the_links():
    bodies = {"robot": loose("robot", box_at((0.4, 0.6, 1.0), (0, 0, 0.5), GREY))}
    X = Pose(rpy_matrix(0.0, 0.0, pi / 2), [1.0, 2.0, 3.0])
    points = Extents(bodies).points({"robot": poses_of(X)})
    np.testing.assert_allclose(points.min(axis=0), [0.7, 1.8, 3.0], atol=1e-12)
    np.testing.assert_allclose(points.max(axis=0), [1.3, 2.2, 4.0], atol=1e-12)
