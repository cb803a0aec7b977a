"""Force sensors on roots that are fixed to the world: what they tell of all that stands there."""

from dataclasses import replace

import numpy as np
import pytest
from sim.physics.scenes import (
    FIXED,
    FREE,
    REVOLUTE,
    G,
    X,
    Y,
    at,
    child,
    fixed,
    floor,
    lone,
    moving,
    placed,
    root,
    world,
)
from sim.physics.weighing import run, seen_from_the_origin, simulation
from sim.physics.wrench_peer import between

from hrp_model import Joint
from hrp_model.body import Body
from hrp_model.devices import ForceSensor
from hrp_model.geometry import Box
from hrp_model.rigid import axis_angle_matrix
from hrp_sim.engine.engine import PhysicsSettings
from hrp_sim.world.advice import advise
from hrp_sim.world.config import BodyEntry, WorldConfig

TILT = axis_angle_matrix(np.array([0.6, 0.0, 0.8]), 0.9)
SLAB = (placed(Box(np.array([1.0, 1.0, 0.1])), at(z=-0.05)),)


def arm(**options):
    """A base of 5 kg, an arm of 2 kg on a hinge, and sensors below and above it."""
    links = (
        root(mass=5.0, center_of_mass=0.1 * X, **options),
        child("ARM", "BASE", REVOLUTE, X, X_PL=at(0.1, 0.2, 0.3), mass=2.0, center_of_mass=0.4 * Y),
    )
    sensors = (ForceSensor(name="below", link="BASE"), ForceSensor(name="above", link="ARM"))
    return Body(name="arm", links=links, devices=sensors)


def plate(mass=3.0, **options):
    base = root("PLATE", mass=mass, collision=SLAB, **options)
    return Body(name="plate", links=(base,), devices=(ForceSensor(name="plate", link="PLATE"),))


def block(x, y):
    shape = placed(Box(np.array([0.2, 0.1, 0.1])))
    body = lone(shape, name="block", mass=8.0, inertia=np.eye(3) * 0.05)
    return moving(body, at(x, y, 0.15 - 1e-4))


def test_a_base_bears_itself_and_all_that_swings_on_it():
    sim = simulation(fixed(arm(), at(0.3, 0.1, 0.5, TILT)))
    for _ in range(20):
        run(sim, 19)
        before = sim.bodies["arm"].motion.copy()
        latest = run(sim, 1)
        motion = between(before, sim.bodies["arm"].motion)  # sensors tell what was, where it was
        below, above = (
            seen_from_the_origin(sim, name, latest[name], motion) for name in ("below", "above")
        )
        weight = np.array([0.0, 0.0, -5.0 * G])
        own = weight, np.cross(motion.p[0] + motion.R[0] @ (0.1 * X), weight)
        np.testing.assert_allclose(np.subtract(below, above), own, atol=1e-3)
    np.testing.assert_allclose(motion.p[0], [0.3, 0.1, 0.5], atol=1e-9)
    np.testing.assert_allclose(motion.R[0], TILT, atol=1e-9)


def test_a_base_that_stands_on_the_floor_does_not_lean_on_it():
    """Both are fixed to the world: nobody could tell who bears how much."""
    bodies = fixed(arm(collision=SLAB)), floor()
    reading = run(simulation(*bodies), 50)["below"]
    alone = run(simulation(bodies[0]), 50)["below"]
    np.testing.assert_array_equal(reading.force, alone.force)
    np.testing.assert_array_equal(reading.torque, alone.torque)


@pytest.mark.parametrize("mass", [3.0, 0.0])
def test_a_plate_weighs_what_lies_on_it_and_where(mass):
    sim = simulation(fixed(plate(mass), at(z=0.1)), block(0.3, -0.2), floor())
    reading = run(sim, 500)["plate"]
    np.testing.assert_allclose(reading.force, [0.0, 0.0, -(8.0 + mass) * G], atol=1e-4)
    np.testing.assert_allclose(
        reading.torque, np.cross([0.3, -0.2, 0.05], [0, 0, -8 * G]), atol=0.01
    )


def test_a_body_whose_root_the_world_file_fixes_is_weighed_too(diagnostics):
    body = arm()
    base = replace(body.root, joint=Joint(type=FREE, name="BASE"))
    held = replace(body, links=(base, *body.links[1:]))
    reading = run(simulation(fixed(held), diagnostics=diagnostics), 2)["below"]
    assert reading.force[2] < -5.0 * G
    reading = run(simulation(moving(held), diagnostics=diagnostics), 2)["below"]
    np.testing.assert_array_equal(reading.force, 0.0)
    assert "'below' of body 'arm'" in diagnostics.take("idle-force-sensor").message


def test_a_link_that_hangs_on_nothing_feels_nothing_and_is_a_warning(diagnostics):
    lost = child("LOST", "BASE", FREE, X_PL=at(z=1.0))
    body = Body(name="two", links=(root(), lost), devices=(ForceSensor(name="f", link="LOST"),))
    reading = run(simulation(fixed(body), diagnostics=diagnostics), 10)["f"]
    np.testing.assert_array_equal(reading.force, 0.0)
    assert "'f' of body 'two'" in diagnostics.take("idle-force-sensor").message


def test_the_root_s_own_joint_is_none():
    """A model may give its root a hinge, which has no effect."""
    body = arm()
    joint = Joint(type=REVOLUTE, name="BASE", axis=Y, friction=1.0, damping=1.0)
    hinged = replace(body, links=(replace(body.root, joint=joint), *body.links[1:]))
    engine, simulated = world(fixed(hinged))
    engine.step(50)
    np.testing.assert_allclose(simulated.motion.p[0], 0.0, atol=1e-8)
    np.testing.assert_allclose(simulated.motion.R[0], np.eye(3), atol=1e-8)
    assert simulated.motion.q[0] == 0.0


def test_a_base_that_is_teleported_stays_there_and_weighs_the_same():
    sim = simulation(fixed(arm()))
    q = np.array([0.3])
    sim.move(fixed(arm_of(sim), at(1.0, 2.0, 3.0, TILT), q=q))
    latest = run(sim, 100)
    there = simulation(fixed(arm_of(sim), at(1.0, 2.0, 3.0, TILT), q=q))
    first = run(there, 100)
    for name in ("below", "above"):
        np.testing.assert_allclose(latest[name].force, first[name].force, atol=1e-8)
        np.testing.assert_allclose(latest[name].torque, first[name].torque, atol=1e-8)
    np.testing.assert_allclose(sim.bodies["arm"].motion.p[0], [1.0, 2.0, 3.0], atol=1e-9)


def arm_of(sim):
    return sim.bodies["arm"].body


def test_what_a_sensor_felt_of_a_base_is_saved_and_felt_again():
    sim = simulation(fixed(arm(), at(z=0.5)), block(0.0, 0.0), floor())
    run(sim, 37)
    sim.move(fixed(arm_of(sim), at(0.5, 0.0, 0.7, TILT)))
    run(sim, 20)
    snapshot = sim.save()
    first = run(sim, 50)["below"]
    sim.reset()
    run(sim, 10)
    sim.restore(snapshot)
    again = run(sim, 50)["below"]
    np.testing.assert_array_equal(first.force, again.force)
    np.testing.assert_array_equal(first.torque, again.torque)


def test_a_pedestal_that_sensors_hold_to_a_fixed_root_stands_as_it_does():
    """A link in a fixed joint below a fixed root touches nothing that stands."""
    column = child("COLUMN", "BASE", FIXED, X_PL=at(z=0.1), mass=4.0, collision=SLAB)
    sensor = ForceSensor(name="f", link="COLUMN")
    body = Body(name="pedestal", links=(root(), column), devices=(sensor,))
    sim = simulation(fixed(body), block(0.2, 0.1), floor())
    reading = run(sim, 300)["f"]
    np.testing.assert_allclose(reading.force, [0.0, 0.0, -12.0 * G], atol=1e-3)


def test_a_base_without_mass_is_a_warning_that_says_what_is_weighed():
    body = plate(0.0, inertia=np.zeros((3, 3)))
    config = WorldConfig(physics=PhysicsSettings(), bodies=(BodyEntry(placement=fixed(body)),))
    (found,) = (d for d in advise(config) if d.code.startswith("mended"))
    assert found.code == "mended-mass"
    assert "'PLATE', fixed by a force sensor, has no mass" in found.message
    heavy = replace(config.bodies[0], placement=fixed(plate(2.0, inertia=np.zeros((3, 3)))))
    assert not [d for d in advise(replace(config, bodies=(heavy,))) if "mended" in d.code]
