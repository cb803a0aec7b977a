"""How vehicles turn, measured in the simulation, against closed forms."""

from dataclasses import replace

import numpy as np
import pytest
from each_case import mostly_slow
from paths import MODELS
from vehicles import car, vehicle, wheel

from hrp_model.body import JointType
from hrp_model.geometry import Shape, Sphere
from hrp_model.kinematics.drive import drive_kinematics
from hrp_model.kinematics.vehicle import vehicle_drive
from hrp_model.rigid import Pose
from hrp_sim.cli.main import main
from hrp_sim.engine.engine import Placement
from hrp_sim.lab.benchmark.runs import check_drives, measure_turning
from hrp_sim.world.config import BodyEntry, WorldConfig
from hrp_sim.world.load import load_world

# Wheels that touch the floor in a point.
ROUND = {"shape": Shape(Sphere(0.1))}


def in_world(body, x=0.0):
    """Return a world with a body that has masses, its centre of mass near x."""
    solid = [replace(x, mass=0.5, inertia=2e-3 * np.eye(3)) for x in body.links[1:]]
    root = replace(body.root, mass=10.0, inertia=0.3 * np.eye(3), X_PL=Pose(p=[0, 0, 0.1]))
    root = replace(root, center_of_mass=[x, 0, 0])
    body = replace(body, links=(root, *solid))
    return WorldConfig(bodies=(BodyEntry(placement=Placement(name="cart", body=body)),))


def two_wheels(x):
    """Return a vehicle whose axle is at x, with small balls that slide before and behind it."""
    balls = [
        wheel(f"BALL{dx}", [x + dx, 0, -0.079], type=JointType.FIXED, shape=Shape(Sphere(0.02)))
        for dx in (-0.2, 0.2)
    ]
    wheels = (wheel("L", [x, 0.2, 0], **ROUND), wheel("R", [x, -0.2, 0], **ROUND))
    return vehicle(*wheels, *balls)


@pytest.mark.parametrize("x", [0.0, 0.12])
def test_two_wheels_turn_about_their_axle(x):
    world = in_world(two_wheels(x), x)
    found = measure_turning(world.bodies[0], world)
    assert found.rate == pytest.approx(found.wanted, rel=0.03)
    assert found.center == pytest.approx(x, abs=0.01)
    severities = {d.code: d.severity.name for d in check_drives(world)}
    center = "WARNING" if x else "NOTE"
    assert severities == {"no-level-scan": "WARNING", "turn-rate": "NOTE", "turn-center": center}


def rover():
    return load_world(MODELS / "worlds" / "rover.yaml")


def four_wheels(x):
    wheels = [wheel(f"{x}{y}", [x, y, 0]) for x in (-0.15, 0.15) for y in (-0.2, 0.2)]
    return in_world(vehicle(*wheels), x)


SLIPPING = {
    "rover": rover,
    "four wheels": lambda: four_wheels(0.0),
    "four wheels, a heavy front": lambda: four_wheels(0.05),
}


@pytest.mark.parametrize("name", mostly_slow(SLIPPING, 2))
def test_vehicles_that_slip_turn_as_fast_as_they_are_asked(name):
    world = SLIPPING[name]()
    entry = next(x for x in world.bodies if not isinstance(vehicle_drive(x.placement.body), str))
    found = measure_turning(entry, world)
    assert found.rate == pytest.approx(found.wanted, rel=0.03)
    predicted = drive_kinematics(entry.placement.body).turn_center
    assert found.center == pytest.approx(predicted, abs=0.01)


def test_a_car_turns_about_its_rear_axle():
    world = in_world(car(velocity=(-20.0, 20.0)))
    found = measure_turning(world.bodies[0], world)
    assert found.center == pytest.approx(-0.3, abs=0.02)
    assert found.rate == pytest.approx(found.wanted, rel=0.05)


def test_the_check_names_what_keeps_a_world_from_being_driven(capsys):
    assert main(["check", "--drive", "arm"]) == 1
    assert "no vehicle" in capsys.readouterr().err
    assert main(["check", "--drive", "--all", "rover"]) == 0
    assert "'rover' turns about a point" in capsys.readouterr().err
