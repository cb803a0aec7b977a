"""A gripper whose second finger follows the first, in physics."""

import logging
from math import nan

import numpy as np
import pytest

from hrp_model import Diagnostics, load_body_text
from hrp_sim import Simulation
from hrp_sim.control import HOLD, LIMP, CommandTimeout, Fallback, JointCommand
from hrp_sim.engine.engine import PhysicsSettings, Placement, Solver
from hrp_sim.world.config import BodyEntry, WorldConfig

LINK = """<link name="{}"><inertial><mass value="0.1"/>
  <inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>"""
JOINT = """<joint name="{}" type="revolute"><parent link="world"/><child link="{}"/>
  <origin xyz="0 {} 0"/><axis xyz="0 0 1"/>
  <limit lower="-2" upper="2" effort="10" velocity="3"/>{}</joint>"""
GRIPPER = (
    '<robot name="gripper"><link name="world"/>'
    + LINK.format("left")
    + LINK.format("right")
    + JOINT.format("grip", "left", 0.1, "")
    + JOINT.format("slave", "right", -0.1, '<mimic joint="grip" multiplier="-0.5" offset="0.25"/>')
    + "</robot>"
)


def simulation(control, solver=Solver.WORLD):
    body = load_body_text(GRIPPER, Diagnostics.silent())
    placement = Placement(name="gripper", body=body, fixed=True)
    entry = BodyEntry(placement=placement, control=control)
    return Simulation(WorldConfig(bodies=(entry,), physics=PhysicsSettings(solver=solver)))


def run(sim, steps):
    """Return positions after each step, shape (steps, 2)."""
    found = []
    for _ in range(steps):
        sim.step()
        found.append(sim.bodies["gripper"].motion.q.copy())
    return np.array(found)


@pytest.mark.parametrize(
    ("control", "command"), [(HOLD, {"position": [1.0]}), (LIMP, {"effort": [1e-4]})]
)
@pytest.mark.parametrize("solver", list(Solver))
def test_a_joint_follows_wherever_its_leader_goes(control, command, solver):
    sim = simulation(control, solver)
    sim.command("gripper", JointCommand(names=("grip",), **command))
    q = run(sim, 1500)
    assert q[-1, 0] > 0.3
    np.testing.assert_allclose(q[:, 1], -0.5 * q[:, 0] + 0.25, rtol=0.0, atol=0.02)
    assert q[-1, 1] == pytest.approx(-0.5 * q[-1, 0] + 0.25, abs=2e-3)


def test_who_follows_takes_no_command(caplog):
    sim = simulation(HOLD)
    with caplog.at_level(logging.WARNING):
        sim.command("gripper", JointCommand(names=("grip", "slave"), position=[nan, nan]))
        sim.step()
        assert not caplog.text  # ros2_control names it, without a value
        sim.command("gripper", JointCommand(names=("slave",), position=[2.0]))
        q = run(sim, 300)
    assert "'slave' follows 'grip'" in caplog.text
    np.testing.assert_allclose(q, np.tile([0.0, 0.25], (300, 1)), atol=1e-3)


def test_a_leader_in_position_mode_holds_what_hangs_on_its_follower():
    """The default gains are those of the inertia of both: critically damped."""
    sim = simulation(HOLD)
    sim.command("gripper", JointCommand(names=("grip",), position=[0.2]))
    q = run(sim, 400)
    assert q[:, 0].max() < 0.2 + 1e-3
    assert q[-1, 0] == pytest.approx(0.2, abs=1e-4)


def test_a_time_out_leaves_followers_without_a_servo():
    sim = simulation(HOLD)
    sim.controller("gripper").timeout = CommandTimeout(after_s=0.05, fallback=Fallback.HOLD)
    sim.command("gripper", JointCommand(names=("slave",), effort=[1e-3]))
    run(sim, 200)
    drive = sim.bodies["gripper"].drive
    assert drive.kp[1] == drive.kd[1] == drive.effort[1] == 0.0
