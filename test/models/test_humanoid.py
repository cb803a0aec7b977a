"""The humanoid stands, its two sides mirror each other, its sensors look where they should."""

import numpy as np
import pytest
from paths import MODELS

from hrp_model import BodyState, JointType, load_body
from hrp_model.devices import (
    AccelerationSensor,
    Camera,
    ForceSensor,
    ImageType,
    RangeSensor,
    RateGyroSensor,
)

# A reflection in the plane between left and right.
MIRROR = np.diag([1.0, -1.0, 1.0])


@pytest.fixture(scope="module", params=["humanoid.wrl", "humanoid.body"])
def body(request):
    return load_body(MODELS / "humanoid" / request.param)


@pytest.fixture
def standing(body):
    state = BodyState(body)
    np.testing.assert_array_equal(state.q, 0.0)
    return state


def sole_corners(body, state, name):
    """Return the lower corners of a sole plate in the world, shape (4, 3)."""
    link = body.link(name)
    (plate,) = link.collision
    x, y, z = plate.geometry.size / 2.0
    corners = np.array([[sx * x, sy * y, -z] for sx in (1, -1) for sy in (1, -1)])
    in_link = corners @ plate.T_FG[:3, :3].T + plate.T_FG[:3, 3]
    index = body.link_index(name)
    return in_link @ state.R[index].T + state.p[index]


def test_the_soles_lie_flat_on_the_ground(body, standing):
    for name in ("LLEG_SOLE", "RLEG_SOLE"):
        np.testing.assert_allclose(sole_corners(body, standing, name)[:, 2], 0.0, atol=1e-12)


def test_the_centre_of_mass_is_well_inside_the_soles(body, standing):
    center = standing.calc_cm()
    corners = np.vstack([sole_corners(body, standing, n) for n in ("LLEG_SOLE", "RLEG_SOLE")])
    low, high = corners.min(axis=0), corners.max(axis=0)
    margin = np.minimum(center - low, high - center)[:2]
    assert margin[0] > 0.09
    assert margin[1] > 0.14
    np.testing.assert_allclose(center[1], 0.0, atol=1e-12)


def test_the_plates_below_the_force_sensors_are_less_than_a_hundredth_of_the_weight(body):
    np.testing.assert_allclose(body.total_mass, 42.0, rtol=1e-12)
    sensors = [d for d in body.devices if isinstance(d, ForceSensor)]
    assert [(d.name, d.id, d.link) for d in sensors] == [
        ("left_foot_force", 0, "LLEG_SOLE"),
        ("right_foot_force", 1, "RLEG_SOLE"),
    ]
    parents = {link.parent for link in body.links}
    below = sum(body.link(d.link).mass for d in sensors)
    assert not parents & {d.link for d in sensors}
    assert all(body.link(d.link).joint.type is JointType.FIXED for d in sensors)
    assert below < 0.01 * body.total_mass


def test_the_right_side_mirrors_the_left(body):
    for left in body.links:
        if left.name[0] != "L":
            continue
        right = body.link("R" + left.name[1:])
        joint = right.joint
        np.testing.assert_allclose(right.X_PL.p, MIRROR @ left.X_PL.p, atol=1e-12)
        assert right.mass == left.mass
        np.testing.assert_allclose(right.center_of_mass, MIRROR @ left.center_of_mass, atol=1e-12)
        np.testing.assert_allclose(right.inertia, MIRROR @ left.inertia @ MIRROR, atol=1e-12)
        # A rotation about y keeps its sense in the mirror; about x and z it turns round.
        lower, upper = left.joint.position
        turned = (lower, upper) if abs(joint.axis[1]) == 1.0 else (-upper, -lower)
        np.testing.assert_allclose(joint.position, turned, atol=1e-12)
        assert joint.effort == left.joint.effort
        assert joint.equivalent_rotor_inertia == left.joint.equivalent_rotor_inertia


def test_left_is_red_and_right_is_green(body):
    for part in ("LEG_KNEE", "ARM_ELBOW", "ARM_SHOULDER_R"):
        assert any(red(s) and not green(s) for s in body.link("L" + part).visual)
        assert any(green(s) and not red(s) for s in body.link("R" + part).visual)
        assert not any(green(s) and not red(s) for s in body.link("L" + part).visual)


def red(shape):
    return shape.material.diffuse[0] > 0.5


def green(shape):
    return shape.material.diffuse[1] > 0.5


def test_gyro_and_accelerometer_share_a_pose_so_that_they_make_one_imu(body):
    (gyro,) = (d for d in body.devices if isinstance(d, RateGyroSensor))
    (accelerometer,) = (d for d in body.devices if isinstance(d, AccelerationSensor))
    assert gyro.link == accelerometer.link == body.root.name
    np.testing.assert_array_equal(gyro.X_LS.matrix(), accelerometer.X_LS.matrix())


@pytest.mark.parametrize(
    ("kind", "place"), [(RangeSensor, [0.12, 0.0, 0.95]), (Camera, [0.12, 0.0, 1.30])]
)
def test_it_looks_forward_with_its_head_up(body, standing, kind, place):
    (device,) = (d for d in body.devices if isinstance(d, kind))
    link = body.link_index(device.link)
    R = standing.R[link] @ device.X_LS.R
    np.testing.assert_allclose(-R[:, 2], [1.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(R[:, 1], [0.0, 0.0, 1.0], atol=1e-12)
    p = standing.R[link] @ device.X_LS.p + standing.p[link]
    np.testing.assert_allclose(p, place, atol=1e-12)


def test_the_camera_is_small_and_sees_colours_and_depths(body):
    (camera,) = (d for d in body.devices if isinstance(d, Camera))
    assert (camera.width, camera.height, camera.frame_rate) == (320, 240, 30.0)
    assert camera.image_type is ImageType.COLOR_DEPTH
    assert (camera.min_distance, camera.max_distance) == (0.1, 10.0)
    np.testing.assert_allclose(np.degrees(camera.field_of_view), 60.0, rtol=1e-12)


def test_the_scan_reaches_beyond_both_sides(body):
    (scanner,) = (d for d in body.devices if isinstance(d, RangeSensor))
    np.testing.assert_allclose(np.degrees(scanner.yaw_range), 200.0, rtol=1e-12)
    np.testing.assert_allclose(np.degrees(scanner.yaw_step), 1.0, rtol=1e-12)
    assert scanner.pitch_range == 0.0
    assert (scanner.min_distance, scanner.max_distance, scanner.scan_rate) == (0.05, 10.0, 20.0)
