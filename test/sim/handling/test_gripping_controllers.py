"""Controllers that grip by holders: snapshots, resets, removals, changed initial positions."""

from math import nan

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sim.handling.lifters import box, entry, lifter
from sim.physics.scenes import REVOLUTE, Z, at, child, floor, root

from hrp_model.body import Body, ExtraJointType
from hrp_model.rigid import axis_angle_matrix
from hrp_sim import (
    Controller,
    ForceHook,
    JointEntry,
    PhysicsError,
    Simulation,
    Snapshot,
    load_world,
)
from hrp_sim.world.config import BodyEntry, WorldConfig

# Calls of ``control``, one in each step of 1 ms, at which it grips, and lets go.
GRIP_AT, DROP_AT = 50, 450


class Lift(Controller, ForceHook):
    """Grips a box, lifts it and drops it; a damper acts on the hand meanwhile."""

    def __init__(self, simulation):
        self.handling, self.body, self.stops = simulation.handling, "lifter", []

    def initialize(self, io):
        self.io = io
        io.drive("position")

    def start(self):
        self.count = 0

    def control(self):
        self.count += 1
        if self.count == GRIP_AT:
            self.io.set_enabled("cup", True)
        elif self.count == DROP_AT:
            self.io.set_enabled("cup", False)
        self.io.q_target = 0.2 * np.clip((self.count - GRIP_AT) / 300.0, 0.0, 1.0)
        return True

    def apply(self, state, dt):
        state.joint_effort[0] = -5.0 * state.dq[0]

    def stop(self):
        self.stops.append(self.io.time_ns)
        if "cup" in self.handling.tools:
            self.handling.let_go("cup")

    def save(self):
        return {"count": self.count}

    def restore(self, arrays):
        self.count = int(arrays["count"])


@pytest.fixture
def lifting():
    """Return a function that makes a simulation with a Lift, a conveyor and joined bodies."""
    made = []

    def make():
        ground = BodyEntry(placement=floor(), surface_velocity={"FLOOR": np.array([0.05, 0, 0])})
        hitch = JointEntry(
            name="hitch",
            type=ExtraJointType.HINGE,
            bodies=("cart", "trailer"),
            links=("BASE", "BASE"),
            X_AJ=at(0.15),
            X_BJ=at(-0.15),
            axis=Z,
        )
        bodies = (
            ground,
            entry(lifter(max_distance=0.1), at(z=0.27), fixed=True),
            entry(box(), at(z=0.1)),
            entry(box(), at(1.0, 0.0, 0.1), name="cart"),
            entry(box(), at(1.3, 0.0, 0.1), name="trailer"),
        )
        simulation = Simulation(WorldConfig(bodies=bodies, joints=(hitch,)))
        made.append(simulation)
        simulation.add_controller("lifter", lift := Lift(simulation))
        return simulation, lift

    yield make
    for simulation in made:
        simulation.close()


def height(simulation, body="box"):
    return float(simulation.bodies[body].motion.p[0, 2])


@pytest.mark.parametrize("at_s", [0.03, 0.2, 0.6])  # before, in and after the grip
def test_a_run_goes_on_bit_by_bit(at_s, lifting, tmp_path):
    """In the same simulation, and from a file in another one."""
    one, _ = lifting()
    one.run(at_s)
    one.save().to_file(tmp_path / "state.npz")
    snapshot = Snapshot.from_file(tmp_path / "state.npz")
    one.run(0.7 - at_s)
    expected = one.state_hash()
    other, _ = lifting()
    for simulation in (one, other):
        simulation.restore(snapshot)
        assert (simulation.handling.held("cup") is not None) == (at_s == 0.2)
        assert simulation.is_enabled("cup") == (at_s == 0.2)
        simulation.run(0.7 - at_s)
        assert simulation.state_hash() == expected
        assert list(simulation.handling.joints) == ["hitch"]


def test_a_reset_in_mid_grip_repeats_the_run(lifting):
    simulation, lift = lifting()
    simulation.run(0.4)
    assert height(simulation) > 0.25
    expected = simulation.state_hash()
    simulation.reset()
    assert simulation.handling.held("cup") is None
    assert_allclose(height(simulation), 0.1)
    assert lift.stops == [400_000_000]  # stopped before the reset, in the world that it knows
    simulation.run(0.4)
    assert simulation.state_hash() == expected


def test_the_gripped_body_is_removed(lifting):
    simulation, lift = lifting()
    simulation.run(0.2)
    simulation.remove("box")
    assert (simulation.handling.held("cup"), simulation.is_enabled("cup")) == (None, False)
    simulation.run(0.5)
    assert (lift.count, lift.stops) == (700, [])
    simulation.spawn(entry(box(), at(z=0.1)))
    simulation.reset()
    simulation.run(0.4)
    assert height(simulation) > 0.25


def test_the_gripping_body_is_removed(lifting):
    simulation, lift = lifting()
    simulation.run(0.4)
    simulation.remove("lifter")
    assert lift.stops == [400_000_000]
    assert list(simulation.handling.joints) == ["hitch"]
    simulation.run(0.5)
    assert_allclose(height(simulation), 0.1, atol=1e-3)
    simulation.reset()
    simulation.run(0.1)
    assert lift.count == 400
    other, _ = lifting()
    with pytest.raises(PhysicsError, match="lifter"):
        other.restore(simulation.save())


def test_joints_between_bodies_start_closed_from_changed_initial_positions():
    """Without rotations of its own, a joint holds the links as they are at the reset."""
    arm = Body(name="arm", links=(root(), child("ARM", "BASE", REVOLUTE, Z, id=0)))
    weld = JointEntry(
        name="weld",
        type=ExtraJointType.FIXED,
        bodies=("arm", "load"),
        links=("ARM", "BASE"),
    )
    bodies = (entry(arm, at(z=2.0), fixed=True), entry(box("load"), at(z=2.0)))
    with Simulation(WorldConfig(bodies=bodies, joints=(weld,))) as simulation:
        simulation.placements.set_initial_positions("arm", {"ARM": 0.5})
        simulation.reset()
        simulation.run(0.5)
        motion = simulation.bodies["load"].motion
        assert_allclose(motion.R[0], np.eye(3), atol=1e-3)
        relative = simulation.bodies["arm"].motion.R[1].T @ motion.R[0]
        assert_allclose(relative, axis_angle_matrix(Z, -0.5), atol=1e-3)


class Switch(Controller):
    """Tries to switch devices in the first step, and keeps what that raised."""

    def __init__(self, *calls):
        self.calls = calls

    def initialize(self, io):
        self.io = io

    def control(self):
        self.errors = [self.error_of(*call) for call in self.calls]
        return False

    def error_of(self, name, *arguments):
        try:
            getattr(self.io, name)(*arguments)
        except (KeyError, ValueError, PhysicsError) as error:
            return str(error)
        return ""


def test_a_controller_switches_devices_of_its_body_by_their_names_in_the_model():
    world = load_world("conveyor")
    with Simulation(world) as simulation:
        belt = Switch(("set_speed", "belt", 0.7), ("is_enabled", "cup"), ("set_speed", "belt", nan))
        simulation.add_controller("conveyor", belt)
        cup = Switch(("set_enabled", "cup", True))
        simulation.add_controller("lifter", cup)
        simulation.step()
        assert belt.errors[0] == ""
        assert "body 'conveyor' has no device 'cup'; it has belt" in belt.errors[1]
        assert belt.errors[2] != ""
        assert "cup" in cup.errors[0]  # nothing is in its reach
        assert not simulation.controllers.failures
        simulation.run(0.3)
        assert_allclose(simulation.bodies["block"].motion.v[0], [0.7, 0.0, 0.0], atol=1e-3)
