"""Limits of a vehicle's motion, against closed forms."""

from dataclasses import replace
from math import inf, pi, tan

import numpy as np
import pytest
from paths import MODELS
from vehicles import vehicle, wheel

from hrp_model import load_body
from hrp_model.body import JointType, Range
from hrp_model.kinematics.drive import DriveKind, drive_limits

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


def test_four_wheels_slip_about_the_centre_of_mass():
    wheels = [wheel(f"{x}{y}", [x, y, 0]) for x in (-0.2, 0.2) for y in (-0.2, 0.2)]
    limits = drive_limits(heavy(vehicle(*wheels), center=(0.14, 0, 0)))
    assert limits.kind is DriveKind.SKID_STEER
    assert limits.turn_center == pytest.approx(0.14 * 10 / 14)
    assert limits.speed == limits.acceleration == inf  # no motor states a limit


def test_a_car_turns_as_tightly_as_its_steering_allows():
    steered = {"axis": [0, 0, 1], "position": Range(-pi / 6, pi / 6)}
    parts = [wheel(f"R{y}", [-0.3, y, 0], id=0, **MOTOR) for y in (-0.2, 0.2)]
    for y in (-0.2, 0.2):
        parts += [
            wheel(f"S{y}", [0.3, y, 0], **steered),
            wheel(f"F{y}", [0, 0, 0], parent=f"S{y}"),
        ]
    rack = [replace(x, visual=(), collision=()) if x.name[0] == "S" else x for x in parts]
    limits = drive_limits(heavy(vehicle(*rack)))
    assert limits.kind is DriveKind.ACKERMANN
    assert limits.turn_center == pytest.approx(-0.3)
    # The inner wheel reaches 30 degrees first.
    assert limits.min_radius == pytest.approx(0.6 / tan(pi / 6) + 0.2)
    assert limits.yaw_rate == pytest.approx(limits.speed / limits.min_radius)


def test_tracks_turn_about_the_centre_of_mass_of_the_rover():
    rover = load_body(MODELS / "rover" / "rover.body")
    limits = drive_limits(rover)
    assert (limits.kind, limits.speed) == (DriveKind.TRACKS, inf)
    # Chassis 18 kg and tracks 12 kg at the origin, the mast 1.5 kg behind it.
    assert limits.turn_center == pytest.approx(-0.15 * 1.5 / 31.5)


def test_a_body_without_wheels_is_no_vehicle():
    with pytest.raises(ValueError, match="'vehicle' has no wheels or tracks"):
        drive_limits(vehicle(wheel("L", [0, 0.2, 0], type=JointType.FIXED)))
