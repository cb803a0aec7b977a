"""URDF: the same robot as the body, in the words of URDF."""

import math

import numpy as np
import pytest
from each_case import all_cases
from urdf_tools import (
    check_urdf,
    needs_check_urdf,
    origin_matrix,
    parsed,
    random_body,
    urdf_poses,
    wheel,
    with_visuals,
)

from hrp_model.body import (
    MAX_LIMIT,
    Body,
    ExtraJoint,
    ExtraJointType,
    Joint,
    JointType,
    Link,
    Range,
)
from hrp_model.devices import AccelerationSensor, Camera, Device, RangeSensor, RateGyroSensor
from hrp_model.diagnostics import Diagnostics
from hrp_model.frames import body_frames
from hrp_model.geometry import Box, Cone, Cylinder, Material, Shape, Sphere
from hrp_model.rigid import Pose, rpy_matrix
from hrp_model.urdf import body_to_urdf

SEEDS = range(5)


def joint_of(body, diagnostics):
    (joint,) = parsed(body_to_urdf(body, diagnostics=diagnostics)).joints
    return joint


def scaled(*factors):
    return np.diag([*factors, 1.0])


@all_cases("off", [0.0, 1e-16, 1e-13, 1e-11, 6.8e-9, 1e-7, 1e-4])
def test_a_pitch_near_a_right_angle_loses_no_digits(off, diagnostics):
    R = rpy_matrix(0.7, math.pi / 2 - off, -1.9)
    body = wheel()
    rest = Link(name="WHEEL", parent="FRAME", joint=body.links[1].joint, X_PL=Pose(R))
    joint = joint_of(Body(name="w", links=(body.root, rest)), diagnostics)
    np.testing.assert_allclose(origin_matrix(joint.origin)[:3, :3], R, atol=1e-12)


@all_cases("seed", SEEDS)
def test_masses_and_inertias_are_exact(seed, diagnostics):
    body = random_body(seed)
    robot = parsed(body_to_urdf(body, diagnostics=diagnostics))
    diagnostics.take("still-track")
    for link in body.links:
        inertial = robot.link_map[link.name].inertial
        assert inertial.mass == link.mass
        assert inertial.origin.xyz == link.center_of_mass.tolist()
        assert inertial.origin.rpy == [0.0, 0.0, 0.0]
        upper = link.inertia[np.triu_indices(3)]
        assert np.array_equal(np.array(inertial.inertia.to_matrix())[np.triu_indices(3)], upper)


def test_a_link_without_mass_has_no_inertial(diagnostics):
    robot = parsed(body_to_urdf(wheel(), diagnostics=diagnostics))
    assert all(link.inertial is None for link in robot.links)


def test_joints_keep_their_names_types_and_axes(diagnostics):
    body = random_body(1)
    robot = parsed(body_to_urdf(body, diagnostics=diagnostics))
    diagnostics.take("still-track")
    expected = {
        "revolute": "revolute",
        "prismatic": "prismatic",
        "fixed": "fixed",
        "track": "fixed",
    }
    for link in body.links[1:]:
        joint = robot.joint_map[link.joint.name]
        assert joint.type == expected[link.joint.type.value]
        assert (joint.parent, joint.child) == (link.parent, link.name)
        if link.joint.moves:
            assert joint.axis == link.joint.axis.tolist()


def test_limits_are_the_models(diagnostics):
    limits = {"position": Range(-0.3, 1.1), "velocity": Range(-5, 5), "effort": Range(-9, 9)}
    limit = joint_of(wheel(**limits), diagnostics).limit
    assert (limit.lower, limit.upper, limit.velocity, limit.effort) == (-0.3, 1.1, 5.0, 9.0)


def test_of_two_directions_count_the_lesser_velocity_and_the_larger_effort(diagnostics):
    limits = {"velocity": Range(-4, 5), "effort": Range(-9, 3)}
    limit = joint_of(wheel(**limits), diagnostics).limit
    assert (limit.velocity, limit.effort) == (4.0, 9.0)
    told = [diagnostics.take("lopsided-limits").message for _ in range(2)]
    assert ["velocity" in message for message in told].count(True) == 1


def test_friction_at_a_joint_is_its_dynamics(diagnostics):
    dynamics = joint_of(wheel(damping=2.25, friction=0.1), diagnostics).dynamics
    assert (dynamics.damping, dynamics.friction) == (2.25, 0.1)
    assert joint_of(wheel(), diagnostics).dynamics is None


def test_a_turning_joint_without_limits_is_continuous(diagnostics):
    text = body_to_urdf(wheel(), diagnostics=diagnostics)
    assert parsed(text).joints[0].type == "continuous"
    assert "lower" not in text
    assert "inf" not in text


@pytest.mark.parametrize("kind", [JointType.REVOLUTE, JointType.PRISMATIC])
def test_a_missing_limit_is_a_large_finite_number(kind, diagnostics):
    joint = joint_of(wheel(type=kind, position=Range(upper=0.5)), diagnostics)
    assert joint.type == kind.value
    limit = joint.limit
    assert (limit.lower, limit.upper) == (-MAX_LIMIT, 0.5)
    assert (limit.velocity, limit.effort) == (MAX_LIMIT, MAX_LIMIT)


def test_inverted_limits_are_none(diagnostics):
    joint = joint_of(wheel(position=Range(0.5, -0.2)), diagnostics)
    assert joint.type == "continuous"
    assert (joint.limit.lower, joint.limit.upper) == (0.0, 0.0)  # absent
    assert "AXLE" in diagnostics.take("inverted-range").message


def test_a_link_that_floats_inside_the_body_is_floating(diagnostics):
    assert joint_of(wheel(type=JointType.FREE), diagnostics).type == "floating"


def test_the_axis_of_a_cylinder_is_y_in_the_model_and_z_in_the_urdf(diagnostics):
    robot = parsed(body_to_urdf(wheel(), diagnostics=diagnostics))
    for element in (robot.link_map["WHEEL"].visual, robot.link_map["WHEEL"].collision):
        assert (element.geometry.radius, element.geometry.length) == (0.3, 0.1)
        np.testing.assert_allclose(
            origin_matrix(element.origin)[:3, :3] @ [0, 0, 1], [0, -1, 0], atol=1e-15
        )
        np.testing.assert_allclose(
            origin_matrix(element.origin)[:3, :3] @ [1, 0, 0], [1, 0, 0], atol=1e-15
        )


def test_scale_goes_into_the_sizes_of_primitives(diagnostics):
    body = with_visuals(
        Shape(Box([1, 2, 3]), scaled(2, 3, 4)),
        Shape(Sphere(0.5), scaled(3, 3, 3)),
        Shape(Cylinder(0.5, 2.0), scaled(2, 5, 2)),
    )
    box, sphere, cylinder = (v.geometry for v in parsed(body_to_urdf(body)).links[0].visuals)
    assert box.size == [2.0, 6.0, 12.0]
    assert sphere.radius == 1.5
    assert (cylinder.radius, cylinder.length) == (1.0, 10.0)


@pytest.mark.parametrize(
    "shape",
    [
        Shape(Cone(1.0, 2.0)),
        Shape(Sphere(1.0), scaled(1, 2, 1)),
        Shape(Cylinder(1.0, 1.0), scaled(1, 1, 2)),
        Shape(
            Box([1, 1, 1]), np.array([[1, 0.5, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])
        ),
    ],
)
def test_what_is_no_primitive_is_left_out_aloud(shape, diagnostics):
    text = body_to_urdf(with_visuals(shape, collision=[shape]), diagnostics=diagnostics)
    link = parsed(text).links[0]
    assert not link.visuals
    assert not link.collisions
    assert "'ROOT'" in diagnostics.take("shape-without-mesh").message


def test_visual_and_collision_are_apart(diagnostics):
    body = with_visuals(Shape(Box([1, 1, 1])), collision=[Shape(Sphere(1.0)), Shape(Sphere(2.0))])
    link = parsed(body_to_urdf(body, diagnostics=diagnostics)).links[0]
    assert [v.geometry.size for v in link.visuals] == [[1.0, 1.0, 1.0]]
    assert [c.geometry.radius for c in link.collisions] == [1.0, 2.0]


def test_materials_have_unique_names_and_are_written_once(diagnostics):
    red, blue = Material("paint", (1, 0, 0)), Material("paint", (0, 0, 1), transparency=0.25)
    looks = [red, blue, Material(), red, Material("paint", (1, 0, 0))]
    body = with_visuals(*(Shape(Sphere(1.0), material=m) for m in looks))
    robot = parsed(body_to_urdf(body, diagnostics=diagnostics))
    used = [v.material.name for v in robot.links[0].visuals]
    assert used == ["paint", "paint_2", "material", "paint", "paint"]
    colors = {m.name: list(m.color.rgba) for m in robot.materials}
    assert colors == {
        "paint": [1, 0, 0, 1],
        "paint_2": [0, 0, 1, 0.75],
        "material": [0.8, 0.8, 0.8, 1],
    }


def test_a_constraint_that_closes_a_loop_is_told(diagnostics):
    body = wheel()
    loop = ExtraJoint(type=ExtraJointType.BALL, links=("FRAME", "WHEEL"))
    body_to_urdf(Body(name="loop", links=body.links, extra_joints=(loop,)), diagnostics=diagnostics)
    diagnostics.take("open-loops")


# Devices


def test_cameras_and_scanners_have_frames_that_look_where_rep_103_says(diagnostics):
    X = Pose(rpy_matrix(0.3, -0.4, 2.0), [1.0, 2.0, 3.0])
    devices = (
        Camera(name="EYE", link="FRAME", X_LS=X),
        RangeSensor(name="LASER", link="FRAME", X_LS=X),
    )
    body = Body(name="b", links=wheel().links, devices=devices)
    poses = urdf_poses(parsed(body_to_urdf(body, diagnostics=diagnostics)), {})
    right, up, ahead = X.R @ [1, 0, 0], X.R @ [0, 1, 0], X.R @ [0, 0, -1]
    for name, columns in {
        "EYE": (right, up, -ahead),
        "EYE_optical_frame": (right, -up, ahead),
        "LASER": (right, up, -ahead),
        "LASER_frame": (ahead, -right, up),
    }.items():
        np.testing.assert_allclose(poses[name][:3, :3], np.transpose(columns), atol=1e-12)
        np.testing.assert_allclose(poses[name][:3, 3], X.p, atol=1e-12)


def test_optical_and_scan_frames_have_the_angles_of_the_conventions(diagnostics):
    devices = (Camera(name="EYE", link="FRAME"), RangeSensor(name="LASER", link="FRAME"))
    body = Body(name="b", links=wheel().links, devices=devices)
    joints = {j.child: j for j in parsed(body_to_urdf(body, diagnostics=diagnostics)).joints}
    pi = math.pi
    assert joints["EYE_optical_frame"].origin.rpy == pytest.approx([pi, 0, 0])
    assert joints["LASER_frame"].origin.rpy == pytest.approx([-pi / 2, pi / 2, 0])


def test_a_device_named_like_a_link_gets_a_name_of_its_own(diagnostics):
    body = Body(name="b", links=wheel().links, devices=(Device(name="WHEEL", link="FRAME"),))
    robot = parsed(body_to_urdf(body, diagnostics=diagnostics))
    assert [link.name for link in robot.links] == ["FRAME", "WHEEL", "WHEEL_2"]
    assert "WHEEL_2" in diagnostics.take("frame-name-collision").message


def test_two_devices_that_are_one_instrument_share_a_frame(diagnostics):
    pose = Pose(p=[1, 2, 3])
    almost = Pose(p=[1, 2, 3 + 1e-12])
    devices = (
        RateGyroSensor(name="IMU", link="WHEEL", X_LS=pose),
        AccelerationSensor(name="IMU", link="WHEEL", X_LS=almost),
    )
    body = Body(name="b", links=wheel().links, devices=devices)
    frames = body_frames(body, diagnostics)
    assert frames.devices == ("IMU", "IMU")
    assert [f.name for f in frames.fixed] == ["IMU"]


def test_names_that_xml_cannot_hold_are_changed_aloud(diagnostics):
    root = Link(name="a\x00b", parent=None, joint=Joint(type=JointType.FIXED, name="r"))
    rest = Link(
        name="/<&\"'>日本", parent="a\x00b", joint=Joint(type=JointType.FIXED, name="\ud800j")
    )
    robot = parsed(body_to_urdf(Body(name="", links=(root, rest)), diagnostics=diagnostics))
    assert robot.name == "robot"
    assert [link.name for link in robot.links] == ["a_b", "<&\"'>日本"]
    assert robot.joints[0].name == "_j"
    for _ in range(3):
        diagnostics.take("illegal-name")


def test_equal_joint_names_are_told_apart(diagnostics):
    links = [Link(name="R", parent=None, joint=Joint(type=JointType.FIXED, name="R"))]
    joint = Joint(type=JointType.REVOLUTE, name="J")
    links += [Link(name=n, parent="R", joint=joint) for n in "AB"]
    robot = parsed(body_to_urdf(Body(name="b", links=tuple(links)), diagnostics=diagnostics))
    assert [j.name for j in robot.joints] == ["J", "J_2"]
    diagnostics.take("joint-name-collision")


@needs_check_urdf
@pytest.mark.parametrize("seed", SEEDS)
def test_check_urdf_accepts_it_without_a_word_of_complaint(seed, tmp_path):
    text = body_to_urdf(random_body(seed), diagnostics=Diagnostics(strict=True))
    assert check_urdf(text, tmp_path) == ""
