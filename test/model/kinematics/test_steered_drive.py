"""Cars: which wheels are steered, and that no wheel slips sideways in a turn."""

from dataclasses import replace
from math import inf, pi

import numpy as np
import pytest
from each_case import all_cases
from vehicles import vehicle, wheel

from hrp_model.body import JointType, Mimic, Range
from hrp_model.geometry import Box, Shape
from hrp_model.kinematics import BodyState
from hrp_model.kinematics.drive import drive_kinematics
from hrp_model.kinematics.vehicle import differential_drive, rolling_wheels, vehicle_drive
from hrp_model.kinematics.wheels import SteeredDrive
from hrp_model.rigid import Pose, axis_angle_matrix

TINY = Shape(Box([0.02] * 3))
RADIUS = 0.1
LIMIT = Range(-0.6, 0.6)
REAR = (wheel("RL", [0, 0.2, 0]), wheel("RR", [0, -0.2, 0]))


def knuckle(name, p, **joint):
    """Return a link that steers a wheel."""
    return wheel(name, p, **{"axis": [0, 0, 1], "shape": TINY, "position": LIMIT, **joint})


def steered(name, p, at=(0, 0, 0), **joint):
    """Return a steered wheel, with its centre relative to the steering axis."""
    return knuckle(f"{name}_STEER", p, **joint), wheel(name, list(at), parent=f"{name}_STEER")


def front(x=0.5, y=0.2, left=(0, 0, 0), right=(0, 0, 0), **joint):
    return (
        *steered("FL", [x, y, 0], left, **joint),
        *steered("FR", [x, -y, 0], right, **joint),
    )


WAGON = (
    knuckle("POLE", [0.5, 0, 0]),
    wheel("FL", [0, 0.2, 0], parent="POLE"),
    wheel("FR", [0, -0.2, 0], parent="POLE"),
)
MIRRORED = Pose(axis_angle_matrix([1, 0, 0], pi))
ASKEW = Pose(axis_angle_matrix([0, 0, 1], 0.2))
STRUT = wheel("STRUT", [0, 0, 0], type=JointType.PRISMATIC, axis=[0, 0, 1], shape=TINY)
CARS = {
    "car": vehicle(*REAR, *front()),
    "limits of none": vehicle(*REAR, *front(position=Range(-inf, inf))),
    "mirrored wheels": vehicle(
        REAR[0],
        wheel("RR", [0, -0.2, 0], axis=[0, -1, 0]),
        *(replace(x, X_PL=x.X_PL @ MIRRORED) if x.name == "FL" else x for x in front()),
    ),
    "axes down": vehicle(*REAR, *front(axis=[0, 0, -1])),
    "wheels beside their axes": vehicle(*REAR, *front(left=(0, 0.06, 0), right=(0, -0.06, 0))),
    "trail": vehicle(*REAR, *front(left=(-0.02, 0.03, 0), right=(-0.02, -0.03, 0))),
    "turned at first": vehicle(*REAR, *front(left=(0.02, 0.03, 0), initial=0.3)),
    "mounted askew": vehicle(
        *REAR, *(replace(x, X_PL=x.X_PL @ ASKEW) if "STEER" in x.name else x for x in front())
    ),
    "one wheel ahead": vehicle(*REAR, *steered("F", [0.5, 0, 0])),
    "steered behind": vehicle(*REAR, *front(x=-0.4)),
    "all steered": vehicle(
        *front(), *steered("BL", [-0.3, 0.2, 0]), *steered("BR", [-0.3, -0.2, 0])
    ),
    "wagon": vehicle(*REAR, *WAGON),
    "suspended": vehicle(
        *REAR, STRUT, *(replace(x, parent="STRUT") for x in WAGON[:1]), *WAGON[1:]
    ),
}  # fmt: skip


def rolling(body, v, w, axle_x):
    """Yield the velocities of each wheel along its axle and ahead, and as it turns, in [m/s].

    In a posture in which the vehicle is steered for a forward velocity and a yaw rate; points at
    ``axle_x`` do not move sideways.
    """
    drive = vehicle_drive(body)
    positions, speeds = drive.motion(v, w)
    state = BodyState(body)
    names = [link.name for link in body.moving_links]
    state.q[[names.index(name) for name in positions]] = list(positions.values())
    state.calc_forward_kinematics()
    R, origin = state.R[0].copy(), state.p[0].copy()
    for name, speed in speeds.items():
        i = [link.name for link in body.links].index(name)
        center = R.T @ (state.p[i] - origin)
        axle = R.T @ state.R[i] @ body.links[i].joint.axis
        velocity = np.array([v - w * center[1], w * (center[0] - axle_x), 0.0])
        ahead = np.cross(axle, [0, 0, 1])
        yield velocity @ axle, velocity @ ahead, RADIUS * speed


@all_cases("v", [0.8, -0.5])
@all_cases("body", CARS.values())
def test_no_wheel_slips_in_a_turn(body, v):
    axle_x = 0.1 if body is CARS["all steered"] else 0.0
    for curvature in (-0.7, -0.2, 1e-7, 0.5, 0.7):
        moved = list(rolling(body, v, v * curvature, axle_x))
        assert len(moved) == len(rolling_wheels(body)) > 2
        for sideways, ahead, turned in moved:
            assert sideways == pytest.approx(0.0, abs=1e-12)
            assert turned == pytest.approx(ahead, abs=1e-12)


@all_cases("curvature", [0.0, 0.4, -0.7])
@all_cases("body", CARS.values())
def test_a_car_moves_on_the_arc_for_which_its_wheels_turn(body, curvature):
    drive, kinematics = vehicle_drive(body), drive_kinematics(body)
    distance, rolled, steering = 0.01, {}, {}
    for x in drive.wheels:
        angle, speed = x.turned(curvature, drive.axle_x)
        rolled[x.link.joint.name] = x.direction * distance * speed / x.radius
        if x.steering is not None:
            steering[x.steering.link.joint.name] = x.steering.position(angle)
    change = np.array([rolled[joint] for joint in kinematics.joints])
    angles = [steering[joint] for joint in kinematics.steering]
    moved, jacobian = kinematics.moved(change, angles, angles)
    yaw = curvature * distance
    np.testing.assert_allclose(moved, [distance, -yaw * drive.axle_x, yaw], atol=1e-12)
    np.testing.assert_allclose(jacobian @ change, moved, atol=1e-12)


def test_a_car_stands_while_the_wheels_on_its_pole_roll_about_it():
    kinematics = drive_kinematics(CARS["wagon"])
    turn = 0.02
    rolled = {"FL": -0.2 * turn / RADIUS, "FR": 0.2 * turn / RADIUS}
    change = np.array([rolled.get(joint, 0.0) for joint in kinematics.joints])
    moved, _ = kinematics.moved(change, [0.1], [0.1 + turn])
    np.testing.assert_allclose(moved, 0.0, atol=1e-12)


def test_straight_ahead_all_wheels_are_parallel():
    positions, speeds = vehicle_drive(CARS["mounted askew"]).motion(0.5, 0.0)
    assert list(positions.values()) == pytest.approx([-0.2, -0.2])
    assert list(speeds.values()) == pytest.approx([5.0] * 4)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_turn_that_is_too_tight_is_the_tightest_that_the_limits_allow(side):
    body = CARS["car"]
    # The inner wheel is at its limit: its axle meets that of the rear wheels.
    radius = 0.2 + 0.5 / np.tan(0.6)
    positions, speeds = vehicle_drive(body).motion(0.5, 9.0 * side)
    inner, outer = ("FL_STEER", "FR_STEER") if side > 0.0 else ("FR_STEER", "FL_STEER")
    assert positions[inner] == pytest.approx(0.6 * side)
    assert positions[outer] == pytest.approx(side * np.arctan(0.5 / (radius + 0.2)))
    mean = 0.5 * (speeds["RL"] + speeds["RR"])
    assert mean * RADIUS == pytest.approx(0.5)
    turned = (speeds["RR"] - speeds["RL"]) * RADIUS / 0.4
    assert turned == pytest.approx(side * 0.5 / radius)


def test_without_limits_a_turn_is_never_about_a_point_between_the_wheels():
    drive = vehicle_drive(CARS["limits of none"])
    assert drive.curvatures == pytest.approx((-5.0, 5.0))
    positions, speeds = drive.motion(0.0, -1.0)
    assert positions["FR_STEER"] == pytest.approx(-pi / 2)
    assert set(speeds.values()) == {0.0}


def test_at_rest_the_wheels_are_straight():
    positions, speeds = vehicle_drive(CARS["car"]).motion(0.0, 0.0)
    assert set(positions.values()) == {0.0}
    assert set(speeds.values()) == {0.0}


def test_wheels_that_follow_a_steering_wheel_get_their_mean():
    column = wheel("COLUMN", [0.3, 0, 0.1], axis=[0, 0.6, 0.8], shape=TINY)
    gear = Mimic(link="COLUMN", multiplier=0.5, offset=0.1)
    body = vehicle(*REAR, column, *front(mimic=gear))
    positions, _ = vehicle_drive(body).motion(1.0, 0.5)
    angles = [np.arctan(0.5 / (2.0 - y)) for y in (0.2, -0.2)]
    assert positions == pytest.approx({"COLUMN": (np.mean(angles) - 0.1) / 0.5})


def test_wheels_without_motors_roll_along():
    motors = [replace(x, joint=replace(x.joint, id=i)) for i, x in enumerate(REAR)]
    _, speeds = vehicle_drive(vehicle(*motors, *front())).motion(1.0, 0.0)
    assert set(speeds) == {"RL", "RR"}


CASTERS = {
    "one without limits": steered("F", [0.5, 0, 0], position=Range(-inf, inf)),
    "two behind their axes": front(left=(-0.06, 0, 0), right=(-0.06, 0, 0)),
}


@pytest.mark.parametrize("casters", CASTERS.values(), ids=CASTERS)
def test_casters_are_not_steered(casters):
    drive = differential_drive(vehicle(*REAR, *casters))
    assert [link.name for link in (*drive.left, *drive.right)] == ["RL", "RR"]


REFUSED = {
    "counterpart": vehicle(REAR[0], *front()),
    "axis": vehicle(*(replace(x, X_PL=x.X_PL @ ASKEW) for x in REAR), *front()),
    "axle": vehicle(*front()),
    "world": vehicle(*REAR, *front(), root=JointType.FIXED),
}


@pytest.mark.parametrize(("word", "body"), REFUSED.items(), ids=REFUSED)
def test_cars_that_cannot_drive_have_a_reason(word, body):
    assert word in vehicle_drive(body)
    assert differential_drive(body) is None


def test_a_car_is_no_differential_drive():
    assert isinstance(vehicle_drive(CARS["car"]), SteeredDrive)
    assert differential_drive(CARS["car"]) is None
