"""Which bodies are vehicles with driven wheels, and which only look like it."""

from dataclasses import replace
from math import inf, pi

import numpy as np
import pytest
import reference_data
from each_case import all_cases, some_or_all
from paths import MODELS, needs_shared
from vehicles import vehicle, wheel

from hrp_model import load_body
from hrp_model.body import JointType, Range
from hrp_model.diagnostics import Diagnostics
from hrp_model.geometry import Box, Cylinder, Mesh, Shape, Sphere, Surface, SurfaceRule
from hrp_model.kinematics.actuation import CommandInterface, controlled_joints
from hrp_model.kinematics.vehicle import differential_drive, rolling_wheels, vehicle_drive
from hrp_model.rigid import Pose, axis_angle_matrix

LEFT, RIGHT = wheel("L", [0, 0.2, 0]), wheel("R", [0, -0.2, 0])


def test_two_equal_wheels_opposite_each_other_drive():
    drive = differential_drive(vehicle(RIGHT, LEFT))
    assert [link.name for link in drive.left] == ["L"]
    assert [link.name for link in drive.right] == ["R"]
    assert drive.wheel_radius == pytest.approx(0.1)
    assert drive.wheel_separation == pytest.approx(0.4)


def test_four_wheels_drive_in_pairs_front_to_back():
    wheels = [
        wheel(f"{s}{x}", [x, y, 0]) for x in (-0.2, 0.2) for s, y in (("L", 0.2), ("R", -0.2))
    ]
    drive = differential_drive(vehicle(*wheels))
    assert [link.name for link in drive.left] == ["L0.2", "L-0.2"]
    assert [link.name for link in drive.right] == ["R0.2", "R-0.2"]


def test_where_the_vehicle_stands_does_not_matter():
    pose = Pose(axis_angle_matrix(np.array([0.6, 0.0, 0.8]), 2.0), [3, 4, 5])
    assert differential_drive(vehicle(LEFT, RIGHT, pose=pose)).wheel_radius == pytest.approx(0.1)


def test_a_wheel_may_turn_about_any_axis_of_its_own_link():
    turn = Pose(axis_angle_matrix([1, 0, 0], -pi / 2))  # its z axis is the vehicle's y axis

    def turned(link):
        rim = (link.collision[0].moved(turn.inverse().matrix()),)
        joint = replace(link.joint, axis=[0, 0, 1])
        return replace(link, joint=joint, X_PL=link.X_PL @ turn, visual=rim, collision=rim)

    drive = differential_drive(vehicle(turned(LEFT), turned(RIGHT)))
    assert drive.wheel_separation == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("error", "is_wheel"), [(1.57 - pi / 2, True), (0.009, True), (0.02, False)]
)
def test_rounded_angles_are_angles(error, is_wheel):
    """As most URDFs have them: 1.57 for pi/2."""
    turn = Pose(axis_angle_matrix([1, 0, 0], -pi / 2 - error))

    def turned(link):
        rim = (Shape(Cylinder(0.1, 0.04), Pose(axis_angle_matrix([1, 0, 0], 1.57)).matrix()),)
        joint = replace(link.joint, axis=[0, 0, 1])
        return replace(link, joint=joint, X_PL=link.X_PL @ turn, collision=rim)

    body = vehicle(turned(LEFT), turned(RIGHT))
    drive = differential_drive(body)
    assert (drive is not None) is is_wheel
    assert bool(rolling_wheels(body)) is is_wheel
    if drive is not None:  # in numbers that a command gives back exactly
        assert (drive.wheel_radius, drive.wheel_separation) == pytest.approx((0.1, 0.4), rel=1e-12)


def test_a_wheel_may_carry_frames_and_hang_on_a_suspension():
    cap = wheel("CAP", [0, 0.03, 0], parent="L", type=JointType.FIXED, shape=Shape(Box([0.01] * 3)))
    strut = wheel("STRUT", [0, 0, 0], type=JointType.PRISMATIC, axis=[0, 0, 1], shape=cap.visual[0])
    drive = differential_drive(vehicle(strut, replace(LEFT, parent="STRUT"), cap, RIGHT))
    assert [link.name for link in (*drive.left, *drive.right)] == ["L", "R"]


def test_wheels_that_stand_beside_the_origin_of_their_links_are_measured_where_they_are():
    def outward(link, y):
        rim = (link.collision[0].moved(Pose(p=[0, y, 0]).matrix()),)
        return replace(link, visual=rim, collision=rim)

    drive = differential_drive(vehicle(outward(LEFT, 0.05), outward(RIGHT, -0.05)))
    assert drive.wheel_separation == pytest.approx(0.5)


def test_the_radius_of_a_ball_is_its_own():
    ball = Shape(Sphere(0.1))
    drive = differential_drive(
        vehicle(replace(LEFT, collision=(ball,)), replace(RIGHT, collision=(ball,)))
    )
    assert drive.wheel_radius == pytest.approx(0.1, rel=1e-12)


@all_cases(
    "body",
    [
        vehicle(LEFT, RIGHT, root=JointType.FIXED),
        vehicle(LEFT),
        vehicle(LEFT, wheel("L2", [0.3, 0.2, 0])),
        vehicle(LEFT, wheel("R", [0, -0.2, 0], radius=0.12)),
        vehicle(LEFT, wheel("R", [0.05, -0.2, 0])),
        vehicle(LEFT, wheel("R", [0, -0.3, 0])),
        vehicle(LEFT, wheel("R", [0, -0.2, 0.05])),
        vehicle(LEFT, wheel("R", [0, -0.2, 0], axis=[0, 0.8, 0.6])),
        vehicle(LEFT, wheel("R", [0, -0.2, 0], position=Range(-3.0, inf))),
        vehicle(LEFT, wheel("R", [0, -0.2, 0], type=JointType.PRISMATIC)),
        vehicle(LEFT, wheel("R", [0, -0.2, 0], shape=Shape(Box([0.2, 0.05, 0.2])))),
        vehicle(LEFT, RIGHT, wheel("L2", [0.3, 0.2, 0])),
        vehicle(LEFT, RIGHT, wheel("ARM", [0, 0, 0], parent="R")),
        vehicle(
            LEFT,
            RIGHT,
            wheel("HUB", [0, 0, 0], parent="R", type=JointType.FIXED),
            wheel("ARM", [0, 0, 0], parent="HUB"),
        ),
        vehicle(LEFT, RIGHT, chassis=(0.4, 0.3, 0.3)),
        vehicle(replace(LEFT, collision=()), replace(RIGHT, collision=())),
    ],
)  # fmt: skip
def test_what_is_in_doubt_is_no_vehicle(body):
    assert differential_drive(body) is None
    assert isinstance(vehicle_drive(body), str)  # the reason


@pytest.mark.parametrize("names", [["L"], ["R"], ["L", "R"]])
def test_wheels_that_turn_backward_drive_but_not_by_a_diff_drive_controller(names):
    """As those on the left of many a vehicle, which are the mirror images of the right ones."""
    turn = Pose(axis_angle_matrix([1, 0, 0], pi))
    body = vehicle(
        *(replace(x, X_PL=x.X_PL @ turn) if x.name in names else x for x in (LEFT, RIGHT))
    )
    drive = vehicle_drive(body)
    assert ([x.name for x in drive.left], [x.name for x in drive.right]) == (["L"], ["R"])
    assert drive.backward == set(names)
    assert drive.wheel_separation == pytest.approx(0.4)
    assert rolling_wheels(body) == {"L", "R"}
    assert differential_drive(body) is None


def one_way(link, across):
    """Return the wheel with friction along its axle, and less across it."""
    declared = Surface(
        rule=SurfaceRule.GAZEBO, friction=1.0, friction_across=across, direction=(0, 1, 0)
    )
    return replace(link, collision=(replace(link.collision[0], surface=declared),))


def rolling_at(degrees, *, shape=None):
    """Return a wheel that rolls in this direction, beside the circle of radius 0.2 m."""
    turn = Pose(axis_angle_matrix([0, 0, 1], degrees * pi / 180))
    X = turn @ Pose(p=[0, 0.2, 0])
    return replace(wheel(f"W{degrees}", [0, 0, 0], shape=shape), X_PL=X)


def with_rollers(link):
    return link, *(wheel(f"{link.name}{i}", [0, 0, 0], parent=link.name) for i in range(6))


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (vehicle(*map(rolling_at, (0, 120, 240))), "different directions"),
        (vehicle(*map(rolling_at, (0, 90, 180, 270))), "different directions"),
        (vehicle(*with_rollers(LEFT), *with_rollers(RIGHT)), "'L' has 6 rollers"),
        (vehicle(one_way(LEFT, 0.0), one_way(RIGHT, 0.0)), "friction in one direction"),
    ],
)
def test_an_omnidirectional_vehicle_is_refused_with_the_reason(body, word):
    assert word in vehicle_drive(body)
    assert "omnidirectional" in vehicle_drive(body)


def test_ball_casters_and_wheels_that_slide_more_easily_sideways_drive_as_others():
    ball = rolling_at(270, shape=Shape(Sphere(0.1)))
    assert differential_drive(vehicle(LEFT, RIGHT, ball)) is not None
    assert differential_drive(vehicle(one_way(LEFT, 0.5), one_way(RIGHT, 0.5))) is not None


def test_a_wheel_below_a_swivel_is_a_caster():
    swivel = wheel("SWIVEL", [0.3, 0, 0], axis=[0, 0, 1], shape=Shape(Box([0.01, 0.01, 0.01])))
    caster = wheel("CASTER", [0, 0, -0.05], radius=0.05, parent="SWIVEL")
    drive = differential_drive(vehicle(LEFT, RIGHT, swivel, caster))
    assert [link.name for link in (*drive.left, *drive.right)] == ["L", "R"]
    assert [link.name for link in drive.casters] == ["SWIVEL", "CASTER"]


def test_a_car_rolls_on_wheels_that_are_steered():
    tiny = Shape(Box([0.02] * 3))
    fork = wheel("FORK", [0.3, 0, 0], axis=[0, 0, 1], shape=tiny, initial=0.7)
    front = wheel("FRONT", [0, 0, 0], parent="FORK")
    assert rolling_wheels(vehicle(fork, front, LEFT, RIGHT)) == {"FRONT", "L", "R"}


def test_raised_wheels_of_a_track_turn_with_the_others():
    raised = wheel("RAISED", [0.3, 0.2, 0.05])
    assert rolling_wheels(vehicle(raised, LEFT)) == {"RAISED", "L"}


@all_cases(
    "joint",
    [
        {"axis": [0, 0, 1]},
        {"axis": [0, 0.8, 0.6]},
        {"position": Range(-3.0, inf)},
        {"type": JointType.PRISMATIC},
        {"shape": Shape(Box([0.2, 0.05, 0.2]))},
        {"parent": "MAST"},
    ],
)
def test_what_turns_without_rolling_is_no_wheel(joint):
    mast = wheel("MAST", [0, 0, 0.5], type=JointType.FIXED, shape=Shape(Box([0.1] * 3)))
    body = vehicle(LEFT, RIGHT, mast, wheel("TURRET", [0.3, 0, 0], **joint))
    assert rolling_wheels(body) == {"L", "R"}


def test_what_is_fixed_to_the_ground_does_not_roll():
    assert rolling_wheels(vehicle(LEFT, RIGHT, root=JointType.FIXED)) == frozenset()


@pytest.mark.parametrize("name", ["humanoid/humanoid.body", "arm/arm.body", "rover/rover.body"])
def test_our_own_models_have_no_wheels(name):
    body = load_body(MODELS / name)
    assert differential_drive(body) is None
    assert not rolling_wheels(body)


def test_shapes_are_measured_once_for_a_body(monkeypatch):
    body = vehicle(LEFT, RIGHT)
    drive, joints = differential_drive(body), controlled_joints(body)

    def measured(*_args, **_options):
        pytest.fail("shapes are measured again")

    monkeypatch.setattr("hrp_model.kinematics.wheels.shape_mesh", measured)
    assert differential_drive(body) is drive
    assert rolling_wheels(body) == {"L", "R"}
    assert controlled_joints(body) is joints
    assert len(controlled_joints(body, CommandInterface.EFFORT)) == len(joints)


def test_triangles_without_vertices_are_left_to_the_check_of_bodies():
    corners = np.array([[0.1, 0, 0], [0, 0, 0.1], [-0.1, 0, -0.1]])
    broken = Shape(Mesh(corners, np.array([[0, 1, 2], [0, 1, 2**31 - 1], [-5, 1, 2]])), np.eye(4))
    chassis, left, right = vehicle(LEFT, RIGHT).links
    chassis, dented = (replace(x, collision=(broken,)) for x in (chassis, left))
    body = vehicle(left, right)
    assert differential_drive(replace(body, links=(chassis, left, right))) is not None
    assert differential_drive(replace(body, links=(chassis, dented, right))) is None


VEHICLES = {
    "choreonoid/AizuWheel__AizuWheel.json": (1, 0.1),
    "choreonoid/Tank__AgxTank.json": (3, 0.075),
    "choreonoid/Tank__PxTank.json": (2, 0.075),
    "openhrp3/RH2__RH2_WithArm_withoutSensor.json": (1, 0.1),
    "openhrp3/RH2__RH2_withoutArm_withBumpSensor.json": (1, 0.1),
}
OTHERS = [
    row["file"]
    for row in reference_data.index()
    if row["links"] not in (None, 1) and row["file"] not in VEHICLES
]


@needs_shared
@some_or_all("others", OTHERS, 20)
def test_of_the_published_robots_the_vehicles_drive(others):
    files = reference_data.model_files()
    found = {}
    for name in (*others, *VEHICLES):
        drive = differential_drive(load_body(files[name], Diagnostics.silent()))
        if drive is not None:
            found[name] = (len(drive.left), round(drive.wheel_radius, 6))
    assert found == VEHICLES
