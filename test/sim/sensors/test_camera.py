"""What cameras deliver: where points appear, what depths and clouds say, which parts there are."""

from dataclasses import replace

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
    pixel_rays,
    poses_of,
)
from sim.sensors.cameras import LENS, camera, camera_before, seen, wall
from sim.sensors.handmade import random_pose

from hrp_model import Pose, devices
from hrp_model.devices import ImageType
from hrp_model.geometry import Material, Shape, Sphere
from hrp_model.rigid import rpy_matrix
from hrp_sim import BodyEntry, Placement, Simulation, WorldConfig
from hrp_sim.render import Parts, Pinhole, Renderer

COLOR_TYPES = {ImageType.COLOR, ImageType.COLOR_DEPTH, ImageType.COLOR_POINT_CLOUD}
MONO_TYPES = {ImageType.MONO, ImageType.MONO_DEPTH}
TYPES = [kind for kind in ImageType if kind is not ImageType.NONE]


class BlindRenderer(Renderer):
    """One that must not be asked to draw."""

    def render(self, *args, **kwargs):
        pytest.fail("something was drawn")


def as_camera_info_says(lens):
    """The camera matrix of the message, shape (3, 3)."""
    messages = pytest.importorskip(
        "hrp_msgs.convert.image", reason="ROS messages are not installed"
    )
    info = messages.camera_info("", lens)
    return np.array(info.k).reshape(3, 3)


def ball(p, radius, rgb):
    T = np.eye(4)
    T[:3, 3] = p
    return Shape(Sphere(radius), T, glowing(rgb))


@needs_opengl
@pytest.mark.parametrize("size", [(640, 480), (480, 640)], ids=str)
@pytest.mark.parametrize("field_of_view", [0.3, 0.9, 1.9])
def test_points_appear_where_camera_info_projects_them(size, field_of_view):
    rng = np.random.default_rng(round(10 * field_of_view))
    lens = Pinhole(*size, field_of_view, 0.04, 100.0)
    K = as_camera_info_says(lens)
    # A camera set obliquely on a link that is turned; points all over the image.
    X_WL, X_LS = random_pose(rng), random_pose(rng)
    X_WO = X_WL @ X_LS @ OPTICAL
    u, v = (np.linspace(0.03, 0.97, n) * side for n, side in zip((6, 5), size, strict=True))
    pixels = np.stack(np.meshgrid(u, v), axis=-1).reshape(-1, 2) + rng.uniform(-5, 5, (30, 2))
    depths = rng.uniform(0.3, 20.0, 30)
    points_O = depths[:, None] * (np.c_[pixels, np.ones(30)] @ np.linalg.inv(K).T)
    points_W = points_O @ X_WO.R.T + X_WO.p
    colors = [(255, 5 * i + 50, 255 - 5 * i) for i in range(30)]
    radii = 4.0 / K[0, 0] * depths
    balls = [ball(*each) for each in zip(points_W, radii, colors, strict=True)]
    bodies = {"robot": body_of("robot", (), ()), "balls": body_of("balls", balls)}
    poses = {"robot": poses_of(random_pose(rng), X_WL), "balls": poses_of(Pose())}
    sensor = camera(Renderer(bodies), lens, link=1, X_LS=X_LS)
    image = sensor.read(camera_world(bodies, poses)).color
    greens = np.where(image[..., 0] == 255, image[..., 1], 0)

    expected = points_O @ K.T
    expected = expected[:, :2] / expected[:, 2:]
    for point, (_, green, _) in zip(expected, colors, strict=True):
        rows, columns = np.nonzero(greens == green)
        assert rows.size > 30
        np.testing.assert_allclose([columns.mean(), rows.mean()], point, atol=0.5)


@needs_opengl
@pytest.mark.parametrize("size", [(80, 60), (60, 80)], ids=str)
def test_a_cloud_is_what_depth_and_camera_info_make_of_each_other(size):
    rng = np.random.default_rng(3)
    lens = Pinhole(*size, 1.1, 0.04, 100.0)
    shapes = [
        box_at(rng.uniform(0.3, 1, 3), (4, *rng.uniform(-2, 2, 2)), Material()) for _ in "abcde"
    ]
    reading = seen(*shapes, lens=lens, image_type=ImageType.POINT_CLOUD)
    points = reading.points()
    assert (points.shape, points.dtype) == ((size[1], size[0], 3), np.float32)
    expected = reading.depth[..., None] * pixel_rays(size, as_camera_info_says(lens))
    hit = np.isfinite(reading.depth)
    assert 100 < hit.sum() < hit.size - 100
    np.testing.assert_allclose(points[hit], expected[hit], rtol=1e-6, atol=1e-6)
    assert np.isnan(points[~hit]).all()


@needs_opengl
def test_a_cloud_lies_on_the_surfaces_of_the_world():
    rng = np.random.default_rng(9)
    X_WL, X_LS = random_pose(rng), random_pose(rng)
    X_WO = X_WL @ X_LS @ OPTICAL
    # A box before the camera, turned; none of its faces is like another.
    X_WB = X_WO @ Pose(rpy_matrix(0.5, 0.4, 0.2), [0.1, -0.2, 2.5])
    half = np.array([0.6, 0.4, 0.9])
    bodies = {
        "robot": body_of("robot", ()),
        "box": body_of("box", (box_at(2 * half, (0, 0, 0), Material()),)),
    }
    poses = {"robot": poses_of(X_WL), "box": poses_of(X_WB)}
    sensor = camera(Renderer(bodies), X_LS=X_LS, image_type=ImageType.DEPTH)
    points_O = sensor.read(camera_world(bodies, poses)).points()
    points_B = (points_O.astype(float) @ X_WO.R.T + X_WO.p - X_WB.p) @ X_WB.R
    found = points_B[np.isfinite(points_O[..., 2])]
    assert len(found) > 300
    np.testing.assert_allclose(np.abs(found / half).max(axis=1), 1.0, atol=1e-5)
    faces = {(int(i), bool(p[i] > 0)) for p in found for i in [np.abs(p / half).argmax()]}
    assert len(faces) == 3


@needs_opengl
@pytest.mark.parametrize("kind", TYPES)
def test_a_camera_delivers_what_its_type_says(kind):
    reading = seen(wall(3.0, glowing((10, 200, 90))), image_type=kind)
    assert (reading.color is not None) == (kind in COLOR_TYPES)
    assert (reading.mono is not None) == (kind in MONO_TYPES)
    assert (reading.depth is not None) == (kind not in {ImageType.COLOR, ImageType.MONO})
    assert (reading.time_ns, reading.body, reading.lens) == (5_000_000, "robot", LENS)
    if reading.color is not None:
        assert (reading.color == (10, 200, 90)).all()
    if reading.depth is not None:
        np.testing.assert_allclose(reading.depth, 3.0, rtol=1e-6)
    else:
        with pytest.raises(ValueError, match="without depth"):
            reading.points()


@needs_opengl
@pytest.mark.parametrize(
    "rgb", [(255, 255, 255), (0, 0, 0), (255, 0, 0), (10, 200, 90), (1, 2, 250)]
)
def test_grey_values_are_the_luma_of_bt_601(rgb):
    mono = seen(wall(3.0, glowing(rgb)), image_type=ImageType.MONO).mono
    assert (mono.shape, mono.dtype) == ((48, 64), np.uint8)
    np.testing.assert_allclose(mono, np.dot(rgb, (0.299, 0.587, 0.114)), atol=0.51)


@needs_opengl
@pytest.mark.parametrize(
    ("asked", "kind", "given"),
    [
        ((True, False), ImageType.COLOR_DEPTH, (True, False)),
        ((False, True), ImageType.COLOR_DEPTH, (False, True)),
        ((True, True), ImageType.COLOR, (True, False)),
        ((True, True), ImageType.DEPTH, (False, True)),
    ],
)
def test_parts_are_given_that_are_asked_for_and_there(asked, kind, given):
    sensor, world = camera_before(wall(3.0), image_type=kind)
    reading = sensor.render(sensor.capture(world), Parts(*asked))
    assert (reading.color is not None, reading.depth is not None) == given


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ((False, False), ImageType.COLOR_DEPTH),
        ((False, True), ImageType.COLOR),
        ((True, False), ImageType.DEPTH),
    ],
)
def test_where_no_part_is_asked_for_nothing_is_drawn(asked, kind):
    sensor = camera(BlindRenderer({}), image_type=kind)
    world = camera_world({"robot": body_of("robot", ())}, {"robot": poses_of(Pose())})
    reading = sensor.render(sensor.capture(world), Parts(*asked))
    assert (reading.color, reading.mono, reading.depth) == (None, None, None)
    assert (reading.time_ns, reading.lens) == (5_000_000, LENS)


@needs_opengl
@pytest.mark.parametrize(
    ("distance", "expected"),
    [(0.499, -np.inf), (0.501, 0.501), (3.999, 3.999), (4.001, np.inf), (500.0, np.inf)],
)
def test_what_is_too_near_is_minus_infinity_and_what_is_too_far_infinity(distance, expected):
    reading = seen(
        wall(distance), image_type=ImageType.COLOR_DEPTH, min_distance=0.5, max_distance=4.0
    )
    np.testing.assert_allclose(reading.depth, np.float32(expected), rtol=1e-6)
    assert np.isnan(reading.points()).all() == np.isinf(expected)


@needs_opengl
def test_limits_are_of_depths_not_of_distances():
    reading = seen(wall(3.9), image_type=ImageType.DEPTH, max_distance=4.0)
    np.testing.assert_allclose(reading.depth, 3.9, rtol=1e-6)
    assert np.linalg.norm(reading.points()[0, 0]) > 4.5


@needs_opengl
@pytest.mark.parametrize("defer_images", [False, True])
def test_a_simulation_reads_all_that_a_camera_delivers_or_catches_it_for_later(defer_images):
    eye = devices.Camera(
        name="eye",
        link="L0",
        X_LS=LOOKING_ALONG_X,
        image_type=ImageType.COLOR_DEPTH,
        frame_rate=20.0,
        width=32,
        height=24,
    )
    tower = replace(body_of("tower", (wall(3.0, glowing((9, 8, 7))),)), devices=(eye,))
    world = WorldConfig(
        bodies=(BodyEntry(placement=Placement(name="tower", body=tower, fixed=True)),)
    )
    simulation = Simulation(world, defer_images=defer_images)
    found = [reading for _ in range(170) for reading in simulation.step().values()]
    assert [reading.time_ns for reading in found] == [50_000_000, 100_000_000, 150_000_000]
    if defer_images:
        found = [simulation.sensors["eye"].render(exposure) for exposure in found]
    for reading in found:
        assert (reading.color == (9, 8, 7)).all()
        np.testing.assert_allclose(reading.depth, 3.0, rtol=1e-6)
    simulation.close()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"min_distance": -1.0}, "depth range from -1.0 to inf m"),
        ({"min_distance": np.nan}, "depth range from nan"),
        ({"min_distance": 3.0, "max_distance": 3.0}, "depth range from 3.0 to 3.0 m"),
        ({"X_LS": Pose(R=2.0 * np.eye(3))}, "must be a rigid transform"),
    ],
)
def test_a_camera_that_cannot_be_is_refused(fields, words):
    with pytest.raises(ValueError, match=words):
        camera(Renderer({}), **fields)


CALIBRATED = """
<robot name="r"><link name="base"><inertial><mass value="1"/>
 <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
 <joint name="j" type="fixed"><parent link="base"/><child link="ball"/>
  <origin xyz="2 0.3 -0.2"/></joint>
 <link name="ball"><visual><geometry><sphere radius="0.03"/></geometry>
  <material name="red"><color rgba="1 0 0 1"/></material></visual></link>
 <gazebo><static>true</static></gazebo>
 <gazebo reference="base"><sensor name="eye" type="camera"><update_rate>100</update_rate><camera>
  <image><width>320</width><height>240</height></image><distortion><k1>-0.2</k1></distortion>
  <lens><intrinsics><fx>300</fx><fy>280</fy><cx>150</cx><cy>130</cy></intrinsics></lens>
 </camera></sensor></gazebo></robot>
"""


@needs_opengl
def test_the_lens_that_a_urdf_states_is_that_of_its_images_and_of_camera_info(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(CALIBRATED, encoding="utf-8")
    with Simulation(path) as simulation:
        reading = simulation.run(0.02)["eye"]
    image = reading.color.astype(int)
    rows, columns = np.nonzero((image[..., 0] > 60) & (image[..., 1:].max(axis=2) < 40))
    # Ahead is +X: to the right -0.3 / 2, down 0.2 / 2; drawn inward by the distortion.
    x, y = -0.15, 0.1
    radial = 1.0 - 0.2 * (x**2 + y**2)
    expected = 300.0 * x * radial + 150.0, 280.0 * y * radial + 130.0
    np.testing.assert_allclose((columns.mean(), rows.mean()), expected, atol=0.5)
    np.testing.assert_array_equal(
        as_camera_info_says(reading.lens), [[300, 0, 150], [0, 280, 130], [0, 0, 1]]
    )
    assert tuple(reading.lens.distortion) == (-0.2, 0.0, 0.0, 0.0, 0.0)
