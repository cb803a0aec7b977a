"""Conveyors and other links whose surfaces move."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sim.physics.scenes import X, at, box_inertia, floor, placed, root

from hrp_model.body import Body
from hrp_model.devices import Conveyor
from hrp_model.geometry import Box
from hrp_model.rigid import Pose, axis_angle_matrix
from hrp_sim import Simulation
from hrp_sim.engine.engine import PhysicsError, PhysicsSettings, Placement, Solver
from hrp_sim.world.config import BodyEntry, WorldConfig

SOLVERS = pytest.mark.parametrize("solver", list(Solver))
SIZE = np.array([0.2, 0.1, 0.1])
Z = np.array([0.0, 0.0, 1.0])


def belt(**device):
    """A table of 20 m x 20 m whose top is at z = 0."""
    top = placed(Box(np.array([20.0, 20.0, 1.0])), at(z=-0.5))
    made = Conveyor(**{"name": "belt", "link": "TOP", "speed": 0.5} | device)
    return Body(name="conveyor", links=(root("TOP", collision=(top,)),), devices=(made,))


def thing(mass=1.0):
    link = root(
        free=True, mass=mass, inertia=box_inertia(mass, SIZE), collision=(placed(Box(SIZE)),)
    )
    return Body(name="box", links=(link,))


def simulated(conveyor, X_WC=None, p=(0.0, 0.0, 0.05), **settings):
    """Return a simulation of a box on a fixed conveyor."""
    bodies = (
        Placement(name="conveyor", body=conveyor, X_WL=X_WC or Pose(), fixed=True),
        Placement(name="box", body=thing(), X_WL=at(*p)),
    )
    physics = PhysicsSettings(**settings)
    world = WorldConfig(
        physics=physics, bodies=tuple(BodyEntry(placement=placement) for placement in bodies)
    )
    return Simulation(world)


@SOLVERS
def test_a_box_on_a_conveyor_reaches_its_speed(solver):
    sim = simulated(belt(), solver=solver)
    motion = sim.bodies["box"].motion
    sim.run(0.5 / 9.80665 * 0.9)  # it slips, at the acceleration mu g
    assert_allclose(motion.v[0, 0], 0.45, atol=0.02)
    sim.run(1.0)
    assert_allclose(motion.v[0], [0.5, 0.0, 0.0], atol=1e-4)
    assert_allclose(motion.w[0], 0.0, atol=1e-3)
    assert_allclose(motion.p[0, 1:], [0.0, 0.05], atol=1e-3)
    sim.set_enabled("belt", False)
    sim.run(1.0)
    assert_allclose(motion.v[0], 0.0, atol=1e-6)


def test_the_axis_is_in_the_frame_of_the_device():
    R_LS, R_WL = axis_angle_matrix(Z, 0.4), axis_angle_matrix(Z, 0.5)
    conveyor = belt(X_LS=at(R=R_LS), axis=np.array([0.0, 1.0, 0.0]))
    sim = simulated(conveyor, at(R=R_WL))
    sim.run(1.0)
    expected = 0.5 * np.array([-np.sin(0.9), np.cos(0.9), 0.0])
    assert_allclose(sim.bodies["box"].motion.v[0], expected, atol=1e-3)


def test_a_turntable_carries_a_box_around_its_axis():
    conveyor = belt(is_rotary=True, axis=Z, speed=0.5, X_LS=at(1.0, 2.0))
    sim = simulated(conveyor, p=(1.0, 3.0, 0.05))
    sim.run(1.0)
    motion = sim.bodies["box"].motion
    arm = motion.p[0] - [1.0, 2.0, 0.0]
    assert_allclose(np.linalg.norm(arm[:2]), 1.0, atol=0.05)
    assert_allclose(motion.w[0], [0.0, 0.0, 0.5], atol=0.02)
    assert_allclose(motion.v[0], np.cross([0.0, 0.0, 0.5], arm), atol=0.02)


def test_the_speed_is_set_at_run_time_and_is_that_of_the_model_after_a_reset():
    sim = simulated(belt())
    sim.handling.set_speed("belt", -0.3)
    sim.run(1.0)
    assert_allclose(sim.bodies["box"].motion.v[0, 0], -0.3, atol=1e-4)
    sim.reset()
    sim.run(1.0)
    assert_allclose(sim.bodies["box"].motion.v[0, 0], 0.5, atol=1e-4)


def test_a_conveyor_that_is_off_in_its_model_starts_at_rest():
    sim = simulated(belt(on=False))
    sim.run(0.5)
    assert_allclose(sim.bodies["box"].motion.v[0], 0.0, atol=1e-6)
    sim.set_enabled("belt", True)
    sim.run(0.5)
    assert_allclose(sim.bodies["box"].motion.v[0, 0], 0.5, atol=1e-4)


def test_any_link_can_be_a_conveyor():
    sim = simulated(belt(on=False))
    sim.handling.set_surface_velocity("conveyor", "TOP", np.array([0.0, 0.2, 0.0]))
    sim.run(0.5)
    assert_allclose(sim.bodies["box"].motion.v[0], [0.0, 0.2, 0.0], atol=1e-4)
    sim.handling.set_surface_velocity("conveyor", "TOP", np.zeros(3))
    sim.run(0.5)
    assert_allclose(sim.bodies["box"].motion.v[0], 0.0, atol=1e-6)
    sim.reset()
    assert_array_equal(sim.bodies["conveyor"].drive.surface_velocity, 0.0)


@pytest.mark.parametrize("side", ["above", "below"])
def test_a_body_drives_on_its_own_moving_surface(side):
    moving = Conveyor(name="belt", link="BASE", axis=X, speed=0.2)
    tank = Body(name="tank", links=thing().links, devices=(moving,))
    heights = {"above": (0.05, 0.15), "below": (0.15, 0.05)}[side]
    entries = [
        Placement(name="tank", body=tank, X_WL=at(z=heights[0])),
        Placement(name="box", body=thing(), X_WL=at(z=heights[1])),
        floor(),
    ]
    physics = PhysicsSettings()
    sim = Simulation(
        WorldConfig(physics=physics, bodies=tuple(BodyEntry(placement=p) for p in entries))
    )
    sim.run(0.3)
    a, b = (sim.bodies[name].motion.v[0, 0] for name in ("tank", "box"))
    lower, upper = (a, b) if side == "above" else (b, a)
    if side == "above":  # the tank drives on the floor, and the box on its back moves on
        assert_allclose(lower, -0.2, atol=1e-3)
        assert_allclose(upper, 0.0, atol=1e-3)
    else:  # it drives on the box, which stays on the floor
        assert_allclose([lower, upper], [0.0, -0.2], atol=1e-3)


def test_a_snapshot_continues_bit_by_bit():
    sim = simulated(belt())
    sim.handling.set_speed("belt", 0.7)
    sim.run(0.05)
    saved = sim.save()
    sim.run(0.2)
    end = sim.state_hash()
    sim.handling.set_speed("belt", 0.1)
    sim.restore(saved)
    sim.run(0.2)
    assert sim.state_hash() == end
    assert_allclose(sim.bodies["box"].motion.v[0, 0], 0.7, atol=1e-3)


@pytest.mark.parametrize("speed", [np.nan, np.inf, 1e12])
def test_an_impossible_speed_is_refused(speed):
    sim = simulated(belt())
    with pytest.raises(ValueError, match="body 'conveyor', link 'TOP': a surface velocity"):
        sim.handling.set_speed("belt", speed)
    with pytest.raises(KeyError, match="no link 'TIP'"):
        sim.handling.set_surface_velocity("conveyor", "TIP", np.zeros(3))
    sim.run(0.01)


def test_a_bad_velocity_in_the_drive_names_the_link():
    sim = simulated(belt())
    sim.bodies["conveyor"].drive.surface_velocity[0, 2] = np.nan
    with pytest.raises(PhysicsError, match=r"link 'TOP': the surface velocity .*must be finite"):
        sim.run(0.01)


def test_a_conveyor_of_absurd_speed_stands_still(caplog):
    sim = simulated(belt(speed=1e300))
    assert "three finite numbers below 1e+12" in caplog.text
    assert not sim.is_enabled("belt")
    with pytest.raises(ValueError, match="link 'TOP': a surface velocity must be"):
        sim.set_enabled("belt", on=True)
    sim.run(0.1)
    assert_allclose(sim.bodies["box"].motion.v[0], 0.0, atol=1e-3)
