"""A COLLADA robot with all that OpenHRP writes, read as its frames and numbers say."""

from math import atan, inf, pi, radians
from xml.etree import ElementTree

import numpy as np
import pytest
from collada_tools import ARM, arm
from paths import ROOT
from silent_diagnostics import silent

from hrp_model import body_to_urdf, load_body, load_body_text
from hrp_model.body import JointType, Mimic, Range, link_pair
from hrp_model.devices import ImageType
from hrp_model.kinematics import BodyState
from hrp_model.rigid import rpy_matrix

UNIT = 0.01  # of the file, in [m]
PLATE = np.array([(0.0, 0.0, 0.0), (2.0, 0.0, 0.0), (0.0, 1.0, 0.0)]) * UNIT
NAMESPACE = "{http://www.collada.org/2008/03/COLLADASchema}"


@pytest.fixture(scope="module")
def body():
    return arm()


def test_it_is_read_without_a_warning(diagnostics):
    load_body(ROOT / "test" / "data" / "collada" / "arm.dae", diagnostics)


@pytest.fixture(scope="module")
def devices(body):
    return {device.name: device for device in body.devices}


def test_links_are_a_tree_in_the_order_of_the_file(body):
    assert body.name == "ARM"
    assert [(x.name, x.parent) for x in body.links] == [
        ("BASE_S", None),
        ("TURN_S", "BASE_S"),
        ("SLIDE_S", "TURN_S"),
        ("TOOL_S", "SLIDE_S"),
        ("FINGER_S", "TURN_S"),
    ]


def test_joints_have_types_names_and_ids(body):
    assert [(x.joint.name, x.joint.type, x.joint.id) for x in body.links] == [
        ("BASE_S", JointType.FIXED, None),  # by a constraint
        ("TURN", JointType.REVOLUTE, 0),
        ("SLIDE", JointType.PRISMATIC, 1),
        ("TOOL", JointType.FIXED, None),
        ("FINGER", JointType.REVOLUTE, None),  # it follows another
    ]


def test_poses_are_those_of_attachments_in_the_unit_of_the_file(body):
    quarter = radians(90.0)
    expected = {
        "BASE_S": (rpy_matrix(0, 0, quarter), (0, 0, 0.5)),
        "TURN_S": (rpy_matrix(quarter, 0, 0), (0.1, 0, 0)),
        "SLIDE_S": (np.eye(3), (0, 0.2, 0)),
        "TOOL_S": (rpy_matrix(0, pi, 0), (0, 0, 0)),
        # Its origin is on the axis of the joint, not where the <link> is.
        "FINGER_S": (rpy_matrix(0, 0, quarter), (0, 0, 0.08)),
    }
    for name, (R, p) in expected.items():
        np.testing.assert_allclose(body.link(name).X_PL.R, R, atol=1e-15)
        np.testing.assert_allclose(body.link(name).X_PL.p, p, atol=1e-15)


def test_axes_are_in_the_frame_of_the_attachment_and_become_those_of_the_link(body):
    axes = [body.link(name).joint.axis for name in ("TURN_S", "SLIDE_S", "FINGER_S")]
    np.testing.assert_allclose(axes, [(0, 0, 1), (0, 1, 0), (0, -1, 0)], atol=1e-15)


def test_limits_of_the_articulated_system_replace_those_of_the_joint(body):
    turn, slide = body.link("TURN_S").joint, body.link("SLIDE_S").joint
    assert turn.position == Range(radians(-90.0), radians(45.0))
    assert slide.position == pytest.approx((-0.05, 0.2))
    assert turn.velocity == Range(-3.5, 3.5)
    assert slide.velocity == pytest.approx((-0.3, 0.3))
    assert body.link("FINGER_S").joint.position == Range(-inf, inf)


def test_joints_begin_where_the_scene_places_them(body):
    assert body.link("TURN_S").joint.initial == 0.5
    assert body.link("SLIDE_S").joint.initial == pytest.approx(0.02)
    assert body.link("FINGER_S").joint.initial == pytest.approx(-0.5 * 0.5 + 0.25)


def test_a_formula_makes_a_joint_follow_another(body):
    assert body.link("FINGER_S").joint.mimic == Mimic("TURN_S", -0.5, 0.25)


def test_actuators_give_motors(body):
    joint = body.link("TURN_S").joint
    assert (joint.gear_ratio, joint.rotor_inertia, joint.torque_const) == (100.0, 2e-4, 0.05)
    assert joint.equivalent_rotor_inertia == pytest.approx(100.0**2 * 2e-4)
    assert joint.encoder_pulse == 1000.0
    assert joint.effort == Range(-40.0, 40.0)
    assert body.link("SLIDE_S").joint.effort == Range(-inf, inf)


def test_mass_frames_of_openhrp_are_relative_to_the_root_link(body):
    assert [x.mass for x in body.links] == [5.0, 2.0, 1.0, 0.0, 0.5]
    centers = [x.center_of_mass for x in body.links]
    expected = [(0, 0, 0.07), (0.01, 0.02, 0.03), (0, 0, 0), (0, 0, 0), (0.07, 0, 0)]
    np.testing.assert_allclose(centers, expected, atol=1e-15)
    np.testing.assert_allclose(body.root.inertia, np.diag([0.001, 0.002, 0.0025]), atol=1e-18)
    # Turned by a quarter about Z, the first two axes change places.
    turned = np.diag([0.0002, 0.0001, 0.00025])
    np.testing.assert_allclose(body.link("TURN_S").inertia, turned, atol=1e-18)


def test_links_that_never_collide_are_those_at_joints_and_those_written(body):
    joints = {link_pair(x.name, x.parent) for x in body.links if x.parent is not None}
    assert body.self_collision_disabled == joints | {link_pair("BASE_S", "TOOL_S")}


def transform(element, q):
    """Return the product of the transforms in a node, with joints at positions q by SID."""
    T = np.eye(4)
    for child in element:
        own = np.eye(4)
        numbers = np.array((child.text or "").split() if child.tag != f"{NAMESPACE}node" else [])
        joint = child.get("sid", "")
        if child.tag == f"{NAMESPACE}rotate":
            x, y, z, angle = numbers.astype(float)
            angle = q.get(joint, radians(angle))
            K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
            own[:3, :3] += np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
        elif child.tag == f"{NAMESPACE}translate":
            own[:3, 3] = numbers.astype(float) * UNIT + np.array([0, q.get(joint, 0.0), 0])
        T = T @ own
    return T


def drawn(node, library, T, q):
    """Yield the places of the plates at and below a node."""
    T = T @ transform(node, q)
    yield from (T for _ in node.findall(f"{NAMESPACE}instance_geometry"))
    for child in node.findall(f"{NAMESPACE}node"):
        yield from drawn(child, library, T, q)
    for instance in node.findall(f"{NAMESPACE}instance_node"):
        yield from drawn(library[instance.get("url")], library, T, q)


@pytest.mark.parametrize("turn", [0.0, -1.2, 0.7])
def test_shapes_move_as_the_nodes_that_joints_are_bound_to(body, turn):
    root = ElementTree.fromstring(ARM.encode())
    library = {f"#{x.get('id')}": x for x in root.find(f"{NAMESPACE}library_nodes")}
    q = {"node_joint1_axis0": turn, "node_joint2_axis0": turn / 10.0}
    places = list(drawn(root.find(f".//{NAMESPACE}visual_scene")[0], library, np.eye(4), q))
    state = BodyState(body)
    state.link("TURN_S").q, state.link("SLIDE_S").q = turn, turn / 10.0
    state.calc_forward_kinematics()
    expected = [(T @ np.append(x, 1.0))[:3] for T in places for x in PLATE]
    found = [
        state.link(link.name).R @ (shape.T_FG @ np.append(x, 1.0))[:3] + state.link(link.name).p
        for link in body.links
        for shape in link.visual
        for x in shape.geometry.vertices
    ]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_shapes_have_their_materials(body):
    assert body.root.visual[0].material.diffuse == (0.25, 0.5, 0.75)
    assert body.root.collision is body.root.visual


def test_an_imu_has_the_limits_that_are_written(devices):
    np.testing.assert_array_equal(devices["gsensor"].max_acceleration, [20.0, inf, 40.0])
    np.testing.assert_array_equal(devices["gyrometer"].max_angular_velocity, [1.0, 2.0, inf])
    np.testing.assert_array_equal(devices["imu"].max_acceleration, inf)
    assert [type(devices[x]).__name__ for x in ("gsensor", "gyrometer", "imu")] == [
        "AccelerationSensor",
        "RateGyroSensor",
        "Imu",
    ]


def test_sensors_are_placed_in_their_links(devices):
    X_LS = devices["gsensor"].X_LS
    np.testing.assert_allclose(X_LS.p, (0.01, 0.02, 0.03))
    np.testing.assert_allclose(X_LS.R, rpy_matrix(0, 0, pi / 2), atol=1e-15)
    assert (devices["gsensor"].link, devices["gsensor"].id) == ("BASE_S", 0)
    assert devices["wrist_force"].link == "TOOL_S"


def test_a_force_sensor_has_load_ranges(devices):
    np.testing.assert_array_equal(devices["wrist_force"].max_force, [100.0, 200.0, inf])
    np.testing.assert_array_equal(devices["wrist_force"].max_torque, [inf, inf, 5.0])


def test_a_camera_looks_along_z_of_its_frame_with_y_down(devices):
    eye = devices["eye"]
    # Its frame is turned by a quarter about Y, after which Z is X of the link.
    np.testing.assert_allclose(eye.X_LS.R @ (0, 0, -1), (1, 0, 0), atol=1e-15)
    np.testing.assert_allclose(eye.X_LS.R @ (0, 1, 0), (0, -1, 0), atol=1e-15)
    assert (eye.width, eye.height, eye.image_type) == (640, 480, ImageType.COLOR_DEPTH)
    assert eye.field_of_view == pytest.approx(2.0 * atan(240.0 / 240.0))
    assert (eye.near_clip, eye.far_clip, eye.frame_rate) == (0.05, 10.0, 20.0)


def test_a_scanner_of_openhrp_has_one_angle_in_radians(devices):
    ranger = devices["ranger"]
    assert (ranger.yaw_range, ranger.yaw_step, ranger.max_distance) == (1.5, 0.01, 30.0)
    assert ranger.scan_rate == 10.0
    np.testing.assert_array_equal(ranger.X_LS.R, np.eye(3))


def test_a_scanner_of_openrave_has_two_angles_in_degrees_about_z(devices):
    lidar = devices["lidar"]
    assert lidar.yaw_range == pytest.approx(radians(180.0))
    assert lidar.yaw_step == pytest.approx(radians(0.5))
    assert (lidar.min_distance, lidar.max_distance) == (0.2, 8.0)
    # The middle of -60 and 120 degrees, from +X about +Z; the <link> is 6 cm from the joint.
    ahead = (np.cos(radians(30.0)), np.sin(radians(30.0)), 0.0)
    np.testing.assert_allclose(lidar.X_LS.R @ (0, 0, -1), ahead, atol=1e-15)
    np.testing.assert_allclose(lidar.X_LS.R @ (0, 1, 0), (0, 0, 1), atol=1e-15)
    np.testing.assert_allclose(lidar.X_LS.p, (0.06, 0.0, 0.0), atol=1e-15)


def test_the_urdf_of_the_robot_moves_in_the_same_way(body, diagnostics):
    again = load_body_text(body_to_urdf(body, diagnostics=silent()), diagnostics)
    states = [BodyState(x) for x in (body, again)]
    for state in states:
        state.link("TURN_S").q, state.link("SLIDE_S").q = 0.7, 0.1
        state.link("FINGER_S").q = -0.4
        state.calc_forward_kinematics()
    for link in body.links[1:]:
        own, other = (state.link(link.name) for state in states)
        root, base = (state.link("BASE_S") for state in states)
        np.testing.assert_allclose(
            base.R.T @ (other.p - base.p), root.R.T @ (own.p - root.p), atol=1e-12
        )
        np.testing.assert_allclose(base.R.T @ other.R, root.R.T @ own.R, atol=1e-12)
        np.testing.assert_allclose(again.link(link.name).inertia, link.inertia, atol=1e-12)
