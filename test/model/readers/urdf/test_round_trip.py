"""What is written as URDF and read again is the same robot."""

from dataclasses import fields, replace
from math import tan

import numpy as np
import pytest
from each_case import all_cases, check_each, some_or_all
from paths import MODELS, SHARED, needs_shared
from urdf_tools import random_body
from verify_samples import crane, main_models, silent

from hrp_model import BodyState, JointType, load_body, load_body_text
from hrp_model.devices import (
    AccelerationSensor,
    AxisNoise,
    Camera,
    Distortion,
    ForceSensor,
    Imu,
    Intrinsics,
    RangeSensor,
    RateGyroSensor,
    WrenchFrame,
    pitch_angles,
    yaw_angles,
)
from hrp_model.frames import Base
from hrp_model.geometry import Mesh
from hrp_model.kinematics.loops import mimic_joints
from hrp_model.rigid import axis_angle_matrix
from hrp_model.shapes.tessellate import shape_mesh
from hrp_model.urdf import Hardware, UrdfOptions, convert
from hrp_model.urdf.shapes import rgba_of

OURS = sorted(p for p in MODELS.rglob("*") if p.suffix in (".wrl", ".body"))
ALL_OF_IT = UrdfOptions(gazebo=True, ros2_control=Hardware.MOCK)
TURN = {"rtol": 0.0, "atol": 1e-12}


def there_and_back(body, folder=None, options=ALL_OF_IT):
    """Return a body as it was written, and as it is read again."""
    conversion = convert(body, folder, options=options, diagnostics=silent())
    return conversion.body, load_body_text(conversion.urdf, silent(), folder=folder)


def assert_same_links(a, b):
    known = {link.name for link in b.links}
    assert known.issuperset(link.name for link in a.links)
    for x in a.links:
        y = b.link(x.name)
        if x.parent is not None:
            assert y.parent == x.parent
            np.testing.assert_allclose(y.X_PL.matrix(), x.X_PL.matrix(), **TURN)
        assert y.mass == x.mass
        upper = np.triu_indices(3)
        np.testing.assert_array_equal(y.inertia[upper], x.inertia[upper])
        if x.mass or x.inertia.any():
            np.testing.assert_array_equal(y.center_of_mass, x.center_of_mass)
    order = [link.name for link in a.links]
    assert [link.name for link in b.links if link.name in set(order)] == order


def assert_same_joints(a, b):
    for x in a.links[1:]:
        joint, other = x.joint, b.link(x.name).joint
        kind = JointType.FIXED if joint.type is JointType.TRACK else joint.type
        assert (other.name, other.type) == (joint.name, kind)
        if not joint.moves:
            continue
        np.testing.assert_array_equal(other.axis, joint.axis)
        assert other.position == joint.position_limits
        assert (other.damping, other.friction) == (joint.damping, joint.friction)
        assert other.velocity == (-joint.max_velocity, joint.max_velocity)
        assert other.effort == (-joint.max_effort, joint.max_effort)


def assert_same_shapes(a, b, tolerance):
    for x in a.links:
        y = b.link(x.name)
        for mine, other in ((x.visual, y.visual), (x.collision, y.collision)):
            assert len(other) >= len(mine)  # a mesh file may hold one in several parts
            low, high = box(mine), box(other)
            np.testing.assert_allclose(high, low, rtol=tolerance, atol=tolerance)


def box(shapes):
    """Return the box around shapes, shape (2, 3)."""
    vertices = [shape_mesh(shape).vertices for shape in shapes]
    vertices = np.concatenate([v for v in vertices if len(v)] or [np.zeros((1, 3))])
    return np.array([vertices.min(axis=0), vertices.max(axis=0)])


@pytest.mark.parametrize("path", OURS, ids=lambda p: p.name)
def test_our_models_come_back(path, tmp_path):
    a, b = there_and_back(load_body(path, silent()), tmp_path)
    assert_same_links(a, b)
    assert_same_joints(a, b)
    assert_same_shapes(a, b, 1e-6)  # mesh files have single precision
    numbered = [x.name for x in a.joints if x is not None and x.joint.moves]
    followers = mimic_joints(a)
    assert [x.name for x in b.joints] == [name for name in numbered if name not in followers]
    for name, mimic in followers.items():
        assert b.link(name).joint.mimic == mimic
    for link in b.moving_links:
        assert link.joint.initial == a.link(link.name).joint.initial


@needs_shared
@some_or_all("models", main_models(), 20)
def test_published_models_come_back(models):
    check_each(models, check_published)


def check_published(model):
    a, b = there_and_back(load_body(SHARED / "models" / model, silent()))
    assert_same_links(a, b)
    assert_same_joints(a, b)


@pytest.mark.parametrize("seed", range(4))
def test_random_bodies_move_alike(seed):
    a, b = there_and_back(random_body(seed))
    assert_same_links(a, b)
    states = BodyState(a), BodyState(b)
    rng = np.random.default_rng(seed)
    positions = {link.name: rng.uniform(-1, 1) for link in a.moving_links}
    for state in states:
        state.q[:] = [positions[link.name] for link in state.body.moving_links]
        state.calc_forward_kinematics()
    for i, link in enumerate(a.links):
        j = b.link_index(link.name)
        np.testing.assert_allclose(states[1].p[j], states[0].p[i], **TURN)
        np.testing.assert_allclose(states[1].R[j], states[0].R[i], **TURN)
    np.testing.assert_allclose(states[1].calc_cm(), states[0].calc_cm(), **TURN)


def test_shapes_keep_their_sizes_colours_and_places(tmp_path):
    a, b = there_and_back(crane(), tmp_path)
    assert_same_shapes(a, b, 1e-6)
    for x in a.links:
        for mine, other in zip(x.visual, b.link(x.name).visual, strict=True):
            np.testing.assert_allclose(rgba_of(other.material), rgba_of(mine.material), atol=5e-3)
            if not isinstance(mine.geometry, Mesh):
                assert type(other.geometry) is type(mine.geometry)
                assert other.material.name == mine.material.name


def tilted(x=0.0):
    """Return a pose that no symmetry can mistake."""
    R = axis_angle_matrix(np.array([2.0, -1.0, 2.0]) / 3.0, 0.7)
    return replace(random_body(0).links[1].X_PL, R=R, p=np.array([0.1 + x, -0.2, 0.3]))


QUIET = AxisNoise()
LOUD = AxisNoise(
    mean=0.5, mean_stdev=0.25, stdev=0.125, walk=2.0, correlation_time=30.0, precision=0.01
)
DEVICES = [
    Imu(name="IMU 1", link="LINK1", X_LS=tilted()),
    Imu(
        name="NOISY", link="LINK1", sample_rate=120.0, angular_velocity_noise=(LOUD, QUIET, LOUD),
        acceleration_noise=(QUIET, AxisNoise(stdev=0.5), QUIET),
    ),
    ForceSensor(
        name="WRIST", link="LINK2", X_LS=tilted(), frame=WrenchFrame.CHILD, on_link=True,
        sample_rate=75.0, force_noise=(QUIET, LOUD, QUIET), torque_noise=(LOUD, LOUD, LOUD),
    ),
    Camera(
        name="CALIBRATED", link="LINK3", X_LS=tilted(), width=320, height=200, field_of_view=1.0,
        intrinsics=Intrinsics(100.0 / tan(0.5) * 1.1, 100.0 / tan(0.5), 150.5, 90.25),
        distortion=Distortion(0.1, 0.2, 0.3, 0.4, 0.5), color_mean=0.25, color_stdev=0.125,
        rectified=(Intrinsics(90.0, 91.0, 92.0, 93.0), -9.0, 1.0),
    ),
    ForceSensor(name="FT", link="LINK2", X_LS=tilted()),
    ForceSensor(name="FT0", link="LINK2"),
    ForceSensor(name="BELOW", link="LINK2", X_LS=tilted(), frame=WrenchFrame.PARENT),
    Camera(name="EYE", link="LINK3", X_LS=tilted(), width=320, height=200, field_of_view=1.1),
    Camera(name="TALL", link="LINK3", X_LS=tilted(), width=200, height=320, field_of_view=1.1),
    RangeSensor(name="SCAN", link="LINK1", X_LS=tilted(), yaw_range=4.0, yaw_step=0.1),
    RangeSensor(
        name="LAYERS", link="LINK1", X_LS=tilted(), pitch_range=0.5, pitch_step=0.125,
        yaw_range=1.0, yaw_step=0.25, error_deviation=0.01, max_distance=30.0,
    ),
    RangeSensor(
        name="ROUND", link="LINK1", X_LS=tilted(), yaw_range=2 * np.pi, yaw_step=np.pi / 180
    ),
    RangeSensor(name="RAY", link="LINK1", X_LS=tilted(), yaw_range=0.0, yaw_step=0.0),
    RangeSensor(
        name="COLUMN", link="LINK1", X_LS=tilted(), yaw_range=0.0, yaw_step=0.0,
        pitch_range=0.5, pitch_step=0.125,
    ),
]  # fmt: skip


@all_cases("device", DEVICES)
def test_a_device_comes_back(device):
    plain = random_body(2)
    a, b = there_and_back(replace(plain, devices=(device,)))
    assert [link.name for link in b.links] == [link.name for link in a.links]
    [other] = b.devices
    assert type(other) is type(device)
    assert (other.name, other.link) == (device.name, device.link)
    np.testing.assert_allclose(other.X_LS.matrix(), device.X_LS.matrix(), **TURN)
    if isinstance(device, Imu | ForceSensor):
        noise = [field.name for field in fields(device) if field.name.endswith("_noise")]
        assert [getattr(other, x) for x in noise] == [getattr(device, x) for x in noise]
        assert other.sample_rate == (device.sample_rate or 500.0)
    if isinstance(device, ForceSensor):
        assert other.on_link == device.on_link
    if isinstance(device, Camera):
        same = ("image_type", "width", "height", "near_clip", "far_clip", "frame_rate")
        same += ("intrinsics", "distortion", "rectified", "color_mean", "color_stdev")
        assert [getattr(other, x) for x in same] == [getattr(device, x) for x in same]
        assert other.field_of_view == pytest.approx(device.field_of_view, rel=1e-14)
    if isinstance(device, RangeSensor):
        assert (other.min_distance, other.max_distance) == (
            device.min_distance,
            device.max_distance,
        )
        assert (other.scan_rate, other.error_deviation) == (10.0, device.error_deviation)
        rays = [yaw_angles(x.yaw_range, x.yaw_step) for x in (device, other)]
        np.testing.assert_allclose(rays[1], rays[0], rtol=0.0, atol=1e-12)
        layers = [pitch_angles(x.pitch_range, x.pitch_step) for x in (device, other)]
        np.testing.assert_allclose(layers[1], layers[0], rtol=0.0, atol=1e-12)


def test_a_pair_of_inertial_sensors_becomes_one():
    gyro = RateGyroSensor(name="GYRO", link="LINK1", X_LS=tilted())
    accelerometer = AccelerationSensor(name="ACC", link="LINK1", X_LS=tilted())
    _, b = there_and_back(replace(random_body(2), devices=(gyro, accelerometer)))
    assert [(type(x), x.name) for x in b.devices] == [(Imu, "GYRO")]


@pytest.mark.parametrize("base", Base)
def test_a_root_that_gazebo_holds_is_fixed(base):
    body = random_body(1)
    root = replace(body.root, joint=replace(body.root.joint, type=JointType.FIXED))
    options = replace(ALL_OF_IT, base=base)
    a, b = there_and_back(replace(body, links=(root, *body.links[1:])), options=options)
    assert a.is_root_fixed
    assert b.is_root_fixed
    assert not there_and_back(body, options=options)[1].is_root_fixed
