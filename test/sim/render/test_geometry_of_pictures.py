"""Where things appear in a picture, pixel by pixel."""

import numpy as np
import pytest
from message_bytes import read
from sim.render.scenes import (
    LOOKING_ALONG_X,
    OPTICAL,
    body_of,
    box_at,
    camera_world,
    certain,
    glowing,
    in_thread,
    needs_opengl,
    poses_of,
    traced,
)
from sim.sensors.handmade import random_pose, random_rotation

from hrp_model import Pose, devices
from hrp_sim.render import Pinhole, Renderer, Surroundings
from hrp_sim.sensors import CameraSensor

image_messages = pytest.importorskip(
    "hrp_msgs.convert.image", reason="ROS messages are not installed"
)

pytestmark = needs_opengl
BACKGROUND = (20, 40, 60)
RED, GREEN, BLUE, YELLOW = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0)


def camera(bodies, lens, link=0, X_LS=LOOKING_ALONG_X, body="robot"):
    return CameraSensor(
        name="eye",
        body=body,
        rate_hz=30.0,
        link=link,
        X_LS=X_LS,
        lens=lens,
        renderer=Renderer(bodies),
        surroundings=Surroundings(background=tuple(c / 255 for c in BACKGROUND)),
    )


def random_boxes(rng, count):
    """Boxes behind and beside each other, before a camera at the origin that looks along +x."""
    for i in range(count):
        color = (255, (i + 1) * 20, 255 - i * 20)
        p = np.array([rng.uniform(1.5, 6.0), *rng.uniform(-1.6, 1.6, 2)])
        yield Pose(random_rotation(rng), p), rng.uniform(0.2, 1.0, 3), color


@pytest.mark.parametrize(("width", "height"), [(160, 120), (120, 160), (101, 77)])
def test_every_pixel_is_where_camera_info_and_the_optical_frame_say(width, height):
    rng = np.random.default_rng(width)
    boxes = list(random_boxes(rng, 10))
    X_Wworld = random_pose(rng)  # the whole scene somewhere, askew
    X_WL, X_LS = X_Wworld @ random_pose(rng), random_pose(rng)
    boxes = [(X_Wworld @ X, size, color) for X, size, color in boxes]
    # The camera looks along +x of the scene whatever link and mounting are.
    X_LS = X_WL.inverse() @ X_Wworld @ LOOKING_ALONG_X
    shapes = [(box_at(size, (0, 0, 0), glowing(color)),) for _, size, color in boxes]
    bodies = {"robot": body_of("robot", (), ()), "things": body_of("things", *shapes)}
    poses = {
        "robot": poses_of(random_pose(rng), X_WL),
        "things": poses_of(*(X for X, _, _ in boxes)),
    }
    lens = Pinhole(width, height, 1.2, 0.01, 50.0)
    reading = camera(bodies, lens, link=1, X_LS=X_LS).read(camera_world(bodies, poses))

    info = image_messages.camera_info("", reading.lens)
    K = np.array(info.k).reshape(3, 3)

    def draw(offset):
        return traced((width, height), K, X_WL @ X_LS @ OPTICAL, boxes, BACKGROUND, offset)

    expected, sure = certain(draw, tolerance=0.02)
    assert sure.mean() > 0.95
    np.testing.assert_array_equal(reading.color[sure], expected[sure])
    assert len(np.unique(expected[sure], axis=0)) > 6  # the scene is worth looking at


def test_corners_of_a_box_are_within_half_a_pixel():
    # Its front face is parallel to the image, up and to the left of the middle.
    bodies = {"robot": body_of("robot", (box_at((0.2, 0.5, 0.3), (2.1, 0.4, 0.35), glowing(RED)),))}
    pixels = (
        camera(bodies, Pinhole(640, 480, 1.0, 0.01, 50.0))
        .read(camera_world(bodies, {"robot": poses_of(Pose())}))
        .color
    )
    rows, columns = np.nonzero((pixels == RED).all(axis=-1))
    # An edge lies between the last pixel that the box covers and the next; inner edges
    # belong to the farther face, outer ones to the nearer.
    focal, cx, cy = 240 / np.tan(0.5), 319.5, 239.5
    assert columns.min() - 0.5 == pytest.approx(cx - focal * 0.65 / 2.0, abs=0.5)
    assert columns.max() + 0.5 == pytest.approx(cx - focal * 0.15 / 2.2, abs=0.5)
    assert rows.min() - 0.5 == pytest.approx(cy - focal * 0.50 / 2.0, abs=0.5)
    assert rows.max() + 0.5 == pytest.approx(cy - focal * 0.20 / 2.2, abs=0.5)


def test_left_is_left_and_up_is_up():
    shapes = (
        box_at((0.1, 0.4, 0.4), (3, 1, 0), glowing(RED)),  # left
        box_at((0.1, 0.4, 0.4), (3, -1, 0), glowing(GREEN)),  # right
        box_at((0.1, 0.4, 0.4), (3, 0, 1), glowing(BLUE)),  # above
        box_at((0.1, 0.4, 0.4), (3, 0, -1), glowing(YELLOW)),  # below
        box_at((0.1, 0.4, 0.4), (-3, 0, 0), glowing((9, 9, 9))),  # behind
    )
    bodies = {"robot": body_of("robot", shapes)}
    sensor = camera(bodies, Pinhole(90, 90, 1.0, 0.01, 50.0))
    reading = sensor.read(camera_world(bodies, {"robot": poses_of(Pose())}))
    rows = reading.color
    assert tuple(rows[45, 17]) == RED
    assert tuple(rows[45, 72]) == GREEN
    assert tuple(rows[17, 45]) == BLUE
    assert tuple(rows[72, 45]) == YELLOW
    assert tuple(rows[45, 45]) == BACKGROUND
    # ... and the same in the message: row after row from the top, each from the left.
    converter = image_messages.ImageConverter(image_messages.Frames(""))
    msg = read(converter.convert(reading), image_messages.Image)
    assert tuple(msg.data[3 * (17 * 90 + 45) :][:3]) == BLUE
    assert tuple(msg.data[3 * (45 * 90 + 17) :][:3]) == RED


def test_the_nearer_hides_the_farther_in_whatever_order_they_are_drawn():
    near, far = glowing(RED), glowing(BLUE)
    for shapes in (
        (box_at((0.1, 1, 1), (2, 0, 0), near), box_at((0.1, 9, 9), (3, 0, 0), far)),
        (box_at((0.1, 9, 9), (3, 0, 0), far), box_at((0.1, 1, 1), (2, 0, 0), near)),
    ):
        bodies = {"robot": body_of("robot", shapes)}
        sensor = camera(bodies, Pinhole(32, 32, 1.0, 0.01, 50.0))
        pixels = sensor.read(camera_world(bodies, {"robot": poses_of(Pose())})).color
        assert tuple(pixels[16, 16]) == RED
        assert tuple(pixels[1, 1]) == BLUE


@pytest.mark.parametrize(
    ("near", "far", "seen"), [(0.1, 9, True), (2.5, 9, False), (0.1, 1.5, False)]
)
def test_what_is_nearer_or_farther_than_the_clipping_planes_is_not_seen(near, far, seen):
    bodies = {"robot": body_of("robot", (box_at((0.1, 9, 9), (2, 0, 0), glowing(RED)),))}
    sensor = camera(bodies, Pinhole(8, 8, 1.0, near, far))
    pixels = sensor.read(camera_world(bodies, {"robot": poses_of(Pose())})).color
    assert (pixels == (RED if seen else BACKGROUND)).all()


def test_an_exposure_keeps_the_moment_and_any_thread_develops_it():
    bodies = {"robot": body_of("robot", (), (box_at((0.1, 0.4, 0.4), (0, 0, 0), glowing(RED)),))}
    world = camera_world(bodies, {"robot": poses_of(Pose(), Pose(p=np.array([3.0, 1.0, 0.0])))})
    sensor = camera(bodies, Pinhole(90, 90, 1.0, 0.01, 50.0))
    exposure = sensor.capture(world)
    here = sensor.render(exposure)
    world.bodies["robot"].motion.p[1] = [3.0, -1.0, 0.0]
    there = in_thread(lambda: sensor.render(exposure))
    np.testing.assert_array_equal(here.color, there.color)
    assert tuple(there.color[45, 17]) == RED
    assert (there.time_ns, there.body) == (5_000_000, "robot")
    later = sensor.read(world)
    assert tuple(later.color[45, 72]) == RED
    assert tuple(later.color[45, 17]) == BACKGROUND


def test_a_world_with_nothing_to_see_is_background():
    bodies = {"robot": body_of("robot", ())}
    sensor = camera(bodies, Pinhole(8, 4, 1.0, 0.01, 50.0))
    pixels = sensor.read(camera_world(bodies, {"robot": poses_of(Pose())})).color
    assert pixels.shape == (4, 8, 3)
    assert (pixels == BACKGROUND).all()


def test_far_from_the_origin_the_picture_is_the_same():
    rng = np.random.default_rng(6)
    boxes = list(random_boxes(rng, 5))
    shapes = [(box_at(size, (0, 0, 0), glowing(color)),) for _, size, color in boxes]
    bodies = {"robot": body_of("robot", ()), "things": body_of("things", *shapes)}
    sensor = camera(bodies, Pinhole(80, 60, 1.0, 0.01, 50.0))
    pictures = []
    for origin in (np.zeros(3), np.array([1e6, -2e6, 3e5])):
        poses = {
            "robot": poses_of(Pose(p=origin)),
            "things": poses_of(*(Pose(X.R, X.p + origin) for X, _, _ in boxes)),
        }
        pictures.append(sensor.read(camera_world(bodies, poses)).color)
    np.testing.assert_array_equal(*pictures)


@pytest.mark.parametrize(("width", "height"), [(640, 480), (480, 640)])
def test_the_field_of_view_is_across_the_shorter_side(width, height):
    assert Pinhole(width, height, np.pi / 2, 0.1, 10.0).focal_length == pytest.approx(240.0)


def test_a_devices_default_camera_is_a_possible_lens():
    eye = devices.Camera(name="eye", link="L0")
    Pinhole(eye.width, eye.height, eye.field_of_view, eye.near_clip, eye.far_clip)
