"""What force sensors tell of known loads, through the whole simulation, against closed forms."""

from dataclasses import replace

import numpy as np
import pytest
from loop_bodies import tie
from paths import MODELS
from sim.physics.scenes import (
    FIXED,
    PRISMATIC,
    REVOLUTE,
    G,
    X,
    Y,
    Z,
    at,
    child,
    fixed,
    floor,
    placed,
    root,
)
from sim.physics.weighing import run, seen_from_the_origin, simulation
from sim.sensors.handmade import random_pose

from hrp_model.body import Body, ExtraJointType, Range
from hrp_model.devices import ForceSensor
from hrp_model.geometry import Box
from hrp_sim import Simulation, load_world
from hrp_sim.control import HOLD
from hrp_sim.sensors import SensorSettings

MASS = 2.0
BOX = np.array([0.2, 0.2, 0.2])
FEET = ("left_foot_force", "right_foot_force")


def bracket(kind=FIXED, axis=Y, *, X_LS=None, **options):
    """A weight half a metre in front of the joint that holds it, and a sensor there."""
    hand = child("HAND", "BASE", kind, axis, mass=MASS, center_of_mass=0.5 * X, **options)
    sensor = ForceSensor(name="wrist", link="HAND", X_LS=X_LS or at())
    return Body(name="bracket", links=(root(), hand), devices=(sensor,))


def test_a_weight_pulls_its_parent_down_and_is_itself_held_up():
    reading = run(simulation(fixed(bracket())), 50)["wrist"]
    np.testing.assert_allclose(reading.force, [0.0, 0.0, -19.6133], atol=1e-6)
    np.testing.assert_allclose(reading.torque, [0.0, 9.80665, 0.0], atol=1e-6)
    upside_down = SensorSettings(wrench_on="link")
    reading = run(simulation(fixed(bracket()), sensors=upside_down), 50)["wrist"]
    np.testing.assert_allclose(reading.force, [0.0, 0.0, 19.6133], atol=1e-6)
    np.testing.assert_allclose(reading.torque, [0.0, -9.80665, 0.0], atol=1e-6)


@pytest.mark.parametrize("kind", [REVOLUTE, PRISMATIC, FIXED])
@pytest.mark.parametrize("axis", [X, Y, Z])
def test_servos_of_every_joint_hold_the_weight_that_is_felt(kind, axis):
    sim = simulation(fixed(bracket(kind, axis)), control=HOLD)
    reading = run(sim, 1000)["wrist"]
    R_WS = sim.bodies["bracket"].motion.R[1]  # a servo gives way a little
    np.testing.assert_allclose(R_WS @ reading.force, [0.0, 0.0, -MASS * G], atol=1e-4)
    np.testing.assert_allclose(
        R_WS @ reading.torque, np.cross(R_WS @ X, [0.0, 0.0, -0.5 * MASS * G]), atol=1e-4
    )


def test_sensors_mounted_anyhow_on_a_swinging_link_agree():
    rng = np.random.default_rng(4)
    mounted = [ForceSensor(name=f"s{i}", link="HAND", X_LS=random_pose(rng)) for i in range(8)]
    body = replace(bracket(REVOLUTE, X_PL=random_pose(rng), initial=0.7), devices=tuple(mounted))
    sim = simulation(fixed(body, random_pose(rng)))
    latest = run(sim, 200)
    motion = sim.bodies["bracket"].motion
    force = -motion.force[1]
    about_W = -motion.torque[1] + np.cross(motion.p[1], force)
    for sensor in mounted:
        found = seen_from_the_origin(sim, sensor.name, latest[sensor.name])
        np.testing.assert_allclose(found, [force, about_W], atol=1e-12)


@pytest.mark.parametrize("rate", [2.0, 20.0])
def test_a_weight_that_is_whirled_pulls_outwards(rate):
    body = bracket(REVOLUTE, Z)
    sim = simulation(fixed(body, dq=np.array([rate])), gravity=(0.0, 0.0, 0.0))
    reading = run(sim, 300)["wrist"]
    outwards = MASS * sim.bodies["bracket"].motion.dq[0] ** 2 * 0.5
    np.testing.assert_allclose(reading.force, [outwards, 0.0, 0.0], atol=1e-3 * outwards)
    np.testing.assert_allclose(reading.torque, 0.0, atol=1e-3 * outwards)


def test_a_push_is_felt_while_it_lasts():
    sim = simulation(fixed(bracket()))
    still = run(sim, 20)["wrist"]
    force, point = np.array([3.0, -4.0, 5.0]), np.array([0.5, 0.1, 0.0])
    sim.push("bracket", "HAND", force, np.zeros(3), 0.05, point)
    reading = run(sim, 40)["wrist"]
    np.testing.assert_allclose(reading.force - still.force, force, atol=1e-6)
    np.testing.assert_allclose(reading.torque - still.torque, np.cross(point, force), atol=1e-6)
    reading = run(sim, 40)["wrist"]
    np.testing.assert_allclose(reading.force, still.force, atol=1e-6)


@pytest.mark.parametrize("kind", [REVOLUTE, PRISMATIC])
def test_a_stop_carries_what_no_servo_does(kind):
    axis = Y if kind is REVOLUTE else Z
    body = bracket(kind, axis, position=Range(-1e-9, 1e-9), rotor=0.2)
    sim = simulation(fixed(body))
    latest = run(sim, 2000)
    np.testing.assert_allclose(latest["joint_states"].effort, 0.0)
    np.testing.assert_allclose(latest["wrist"].force, [0.0, 0.0, -MASS * G], atol=1e-3)
    np.testing.assert_allclose(latest["wrist"].torque, [0.0, 0.5 * MASS * G, 0.0], atol=1e-3)


def test_what_the_floor_carries_no_sensor_feels():
    """A block that stands on the floor pulls no more at the slider that it hangs on."""
    block = (placed(Box(BOX)),)
    hand = child("HAND", "BASE", PRISMATIC, Z, X_PL=at(z=0.1), mass=MASS, collision=block)
    sensors = (ForceSensor(name="wrist", link="HAND"),)
    body = Body(name="lift", links=(root(), hand), devices=sensors)
    reading = run(simulation(fixed(body), floor()), 500)["wrist"]
    np.testing.assert_allclose(reading.force, 0.0, atol=1e-6)
    np.testing.assert_allclose(reading.torque, 0.0, atol=1e-6)


def test_each_leg_of_a_frame_bears_its_weight_and_the_thrust_of_the_other():
    """Two legs that lean on each other: H = m g cos(a) / (2 sin(a)), from moments about a foot.

    A sensor in the foot of a leg feels both, though nothing of the extra joint at the top.
    """
    lean, length = 1.1, 0.6
    reach = length * np.array([np.cos(lean), 0.0, np.sin(lean)])
    legs = [
        child(f"LEG{k}", "BASE", REVOLUTE, Y, X_PL=at(x), center_of_mass=middle)
        for k, (x, middle) in enumerate([(0.0, reach / 2), (2 * reach[0], reach / 2 * (-1, 1, 1))])
    ]
    top = tie("LEG0", "LEG1", at(*reach), at(*(reach * (-1, 1, 1))), ExtraJointType.BALL)
    sensors = tuple(ForceSensor(name=leg.name, link=leg.name) for leg in legs)
    body = Body(name="frame", links=(root(), *legs), devices=sensors, extra_joints=(top,))
    latest = run(simulation(fixed(body)), 200)
    thrust = G * np.cos(lean) / (2.0 * np.sin(lean))
    np.testing.assert_allclose(latest["LEG0"].force, [-thrust, 0.0, -G], atol=1e-4)
    np.testing.assert_allclose(latest["LEG1"].force, [thrust, 0.0, -G], atol=1e-4)
    np.testing.assert_allclose([latest[leg.name].torque for leg in legs], 0.0, atol=1e-5)


def test_a_sensor_that_is_off_in_the_model_weighs_when_it_is_switched_on():
    body = bracket()
    off = replace(body, devices=tuple(replace(device, on=False) for device in body.devices))
    sim = simulation(fixed(off))
    assert "wrist" not in run(sim, 10)
    sim.set_enabled("wrist", on=True)
    np.testing.assert_allclose(run(sim, 10)["wrist"].force, [0.0, 0.0, -MASS * G], atol=1e-6)


def test_the_low_pass_sees_what_comes_and_goes_between_two_samples():
    """A push of 20 ms, sampled before and after it, has left its mark: a sampled one has none."""
    settings = SensorSettings(rate=25.0, wrench_cutoff=5.0)
    sim = simulation(fixed(bracket()), sensors=settings)
    still = run(sim, 80)["wrist"].force
    run(sim, 10)
    sim.push("bracket", "HAND", np.array([100.0, 0.0, 0.0]), np.zeros(3), 0.02)
    after = run(sim, 30)["wrist"].force
    rate = 2.0 * np.pi * 5.0
    left = 100.0 * (1.0 - np.exp(-0.02 * rate)) * np.exp(-0.01 * rate)
    np.testing.assert_allclose(after - still, [left, 0.0, 0.0], rtol=1e-6, atol=1e-4)


def test_two_feet_bear_the_weight_above_them_below_its_centre():
    sim = Simulation(load_world(MODELS / "worlds" / "humanoid_in_room.yaml"), defer_images=True)
    sim.wanted = FEET.__contains__
    latest = run(sim, 500)
    feet = [seen_from_the_origin(sim, foot, latest[foot]) for foot in FEET]
    force, torque = np.sum(feet, axis=0)
    body, motion = sim.bodies["humanoid"].body, sim.bodies["humanoid"].motion
    above = [i for i, link in enumerate(body.links) if "SOLE" not in link.name]
    masses = np.array([body.links[i].mass for i in above])
    centers = [motion.p[i] + motion.R[i] @ body.links[i].center_of_mass for i in above]
    center = masses @ centers / masses.sum()
    # The soles press upwards on the ankles.
    np.testing.assert_allclose(force, [0.0, 0.0, masses.sum() * G], rtol=1e-6, atol=1e-3)
    # Where the force meets the ground, the torque about it has no level part.
    zmp = np.array([-torque[1], torque[0]]) / force[2]
    np.testing.assert_allclose(zmp, center[:2], atol=1e-5)
