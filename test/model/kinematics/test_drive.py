"""Limits of a vehicle's motion, against closed forms."""

from dataclasses import replace
from math import inf, pi, tan

import numpy as np
import pytest
from paths import MODELS
from vehicles import car, vehicle, wheel

from hrp_model import load_body
from hrp_model.body import JointType, Range
from hrp_model.geometry import Cylinder, Shape, Sphere
from hrp_model.kinematics.drive import DriveKind, drive_kinematics, drive_limits

MOTOR = {"velocity": Range(-8.0, 8.0), "effort": Range(-3.0, 3.0)}


def heavy(body, mass=10.0, inertia=(0.1, 0.2, 0.4), center=(0.0, 0.0, 0.0)):
    root = replace(body.root, mass=mass, inertia=np.diag(inertia), center_of_mass=center)
    return replace(body, links=(root, *body.links[1:]))


def test_two_wheels_turn_about_their_axle():
    wheels = (wheel("L", [0.1, 0.2, 0], **MOTOR), wheel("R", [0.1, -0.2, 0], **MOTOR))
    limits = drive_limits(heavy(vehicle(*wheels), center=(0.3, 0, 0)))
    assert (limits.kind, limits.min_radius) == (DriveKind.DIFFERENTIAL, 0.0)
    assert limits.turn_center == pytest.approx(0.1)
    assert (limits.speed, limits.yaw_rate) == pytest.approx((0.8, 4.0))
    # Two motors of 3 Nm push with 60 N; the wheels have a mass of 1 kg and no inertia.
    assert limits.acceleration == pytest.approx(60.0 / 12.0)
    inertia = 0.4 + 2 * 0.2**2 + 10 * 2 / 12 * 0.2**2
    assert limits.yaw_acceleration == pytest.approx(60.0 * 0.2 / inertia)


def test_rotors_make_motors_slower():
    geared = MOTOR | {"equivalent_rotor_inertia": 0.06}
    wheels = (wheel("L", [0, 0.2, 0], **geared), wheel("R", [0, -0.2, 0], **geared))
    assert drive_limits(heavy(vehicle(*wheels))).acceleration == pytest.approx(60.0 / (12 + 12))


POINT = Shape(Sphere(0.1))  # of contact


def four_wheels(a=0.2, b=0.2, shape=POINT):
    return [wheel(f"{x}{y}", [x, y, 0], shape=shape) for x in (-a, a) for y in (-b, b)]


def test_four_wheels_with_equal_loads_seem_to_be_further_apart():
    """The moments of friction balance: each slips as fast, ahead by w a^2 / b, aside by w a."""
    body = heavy(vehicle(*four_wheels(0.15, 0.2)))
    limits, kinematics = drive_limits(body), drive_kinematics(body)
    assert limits.kind is DriveKind.SKID_STEER
    assert limits.turn_center == pytest.approx(0.0, abs=1e-12)
    assert limits.speed == limits.acceleration == inf  # no motor states a limit
    assert kinematics.effective_track == pytest.approx(2 * (0.2 + 0.15**2 / 0.2))
    sides = np.array([-1.0 if contact.y > 0.0 else 1.0 for contact in kinematics.contacts])
    moved, _ = kinematics.moved(0.3 * sides)
    np.testing.assert_allclose(moved, [0, 0, 0.03 / (0.2 + 0.15**2 / 0.2)], atol=1e-12)


@pytest.mark.parametrize("center", [0.03, -0.05])
def test_friction_of_unequal_loads_is_in_balance_in_a_turn(center):
    a, b = 0.2, 0.25
    body = heavy(vehicle(*four_wheels(a, b)), center=(center, 0, 0), mass=1e6)
    kinematics = drive_kinematics(body)
    half, turn = 0.5 * kinematics.effective_track, kinematics.turn_center
    load = np.array([a - center, a + center])  # of the rear and the front wheels
    slip = np.array([[b - half, x - turn] for x in (-a, a)])  # of right wheels, per yaw rate
    force = -load[:, None] * slip / np.linalg.norm(slip, axis=1)[:, None]
    assert abs(force[:, 1].sum()) < 1e-6 * load.sum()
    moment = b * force[:, 0].sum() + np.array([-a, a]) @ force[:, 1]
    assert abs(moment) < 1e-6 * load.sum() * a


def test_wide_wheels_turn_about_the_part_of_their_rims_that_pulls():
    """Rims of the front axle, which has the load, pull the rear one aside.

    Of the friction N of a rim from b - h to b + h that does not slip at y, a share s = (y - b) / h
    pulls ahead, and N (1 - s^2) h / 2 is the moment against its turning.
    """
    a, b, h, center = 0.2, 0.25, 0.02, 0.15
    wheels = four_wheels(a, b, Shape(Cylinder(0.1, 2 * h)))
    kinematics = drive_kinematics(heavy(vehicle(*wheels), center=(center, 0, 0), mass=1e6))
    share = (0.5 * kinematics.effective_track - b) / h
    assert kinematics.turn_center == pytest.approx(a, abs=0.02)
    rear, front = 0.5 * (1.0 - center / a), 0.5 * (1.0 + center / a)
    moment = front * (b * share - 0.5 * h * (1.0 - share**2))
    assert moment == pytest.approx(rear * 2.0 * a, rel=0.05)  # by 50 points


def test_a_car_turns_as_tightly_as_its_steering_allows():
    limits = drive_limits(heavy(car(**MOTOR)))
    assert limits.kind is DriveKind.ACKERMANN
    assert limits.turn_center == pytest.approx(-0.3)
    # The inner wheel reaches 30 degrees first.
    assert limits.min_radius == pytest.approx(0.6 / tan(pi / 6) + 0.2)
    assert limits.yaw_rate == pytest.approx(limits.speed / limits.min_radius)


def test_the_rover_turns_a_little_behind_its_middle_where_its_load_is():
    kinematics = drive_kinematics(load_body(MODELS / "rover" / "rover.body"))
    assert (kinematics.kind, kinematics.track) == (DriveKind.TRACKS, pytest.approx(0.5))
    assert kinematics.root_height == pytest.approx(0.17)
    assert kinematics.joints == ("TRACK_L", "TRACK_R")
    # The mast of 1.5 kg behind the middle moves the centre of mass by 7 mm.
    assert -0.02 < kinematics.turn_center < -0.007
    assert 0.5 < kinematics.effective_track < 0.62  # twice the distance of the outer edges


def test_a_body_without_wheels_is_no_vehicle():
    with pytest.raises(ValueError, match="'vehicle' has no wheels or tracks"):
        drive_limits(vehicle(wheel("L", [0, 0.2, 0], type=JointType.FIXED)))
