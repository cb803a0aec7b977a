"""A state that cannot be pauses the simulation, says where and when, and can be reset."""

import re

import numpy as np
import pytest
from run_tools import OnStep
from sim.physics.scenes import REVOLUTE, X, at, fixed, floor, lone, moving, one_joint, placed

from hrp_model.geometry import Sphere
from hrp_sim.control import LIMP, JointCommand
from hrp_sim.engine.engine import PhysicsSettings
from hrp_sim.run.run import Run
from hrp_sim.simulation import Simulation
from hrp_sim.world.config import BodyEntry, WorldConfig

BALL = lone(placed(Sphere(0.1)), name="ball")
NAN = float("nan")


def simulation(*placements, **settings):
    entries = tuple(BodyEntry(placement=p, control=LIMP) for p in placements)
    return Simulation(WorldConfig(physics=PhysicsSettings(**settings), bodies=entries))


def run(simulated, seconds):
    steps = []
    runner = Run(
        simulated, [OnStep(lambda t, _: steps.append(t))], real_time_factor=0, duration=seconds
    )
    runner.run()
    return runner.error, steps


def arm_and_ball(**settings):
    arm = fixed(one_joint(REVOLUTE, X), q=np.array([0.5]))
    return simulation(arm, moving(BALL, at(z=1.0)), floor(), **settings)


def test_an_absurd_motion_pauses_and_the_message_says_which_when_and_what_to_try():
    sim = arm_and_ball()
    sim.command("one", JointCommand(["ARM"], effort=[5e4]))
    error, steps = run(sim, 1.0)
    said = re.fullmatch(
        r"body 'one', link 'ARM': its motion has diverged at (\S+) s "
        r"\(step (\d+)\); before, it moved at \S+ m/s and (\S+) rad/s\. "
        r"A shorter time_step, weaker drives, or more mass and inertia of this link may help",
        str(error),
    )
    assert said
    assert int(said[2]) == len(steps) == round(float(said[1]) * 1000)
    assert float(said[3].replace(",", "")) == pytest.approx(
        np.linalg.norm(sim.bodies["one"].motion.w[1]), rel=1e-2
    )


def test_a_paused_world_is_as_before_the_step_and_still_tells_its_state():
    sim = arm_and_ball()
    sim.command("one", JointCommand(["ARM"], effort=[5e4]))
    error, steps = run(sim, 1.0)
    assert sim.state.time_ns == steps[-1]
    before = sim.state_hash()
    again, none = run(sim, 1.0)
    assert (str(again), none) == (str(error), [])
    assert sim.state_hash() == before
    for body in sim.bodies.values():
        assert np.all(np.isfinite(body.motion.p))
    for sensor in sim.sensors.values():
        sensor.read(sim.state)


def test_what_could_not_go_on_can_when_its_cause_is_gone():
    sim = arm_and_ball()
    sim.command("one", JointCommand(["ARM"], effort=[5e4]))
    _, steps = run(sim, 1.0)
    sim.command("one", JointCommand(["ARM"], effort=[0.0]))
    sim.command("one", JointCommand(["ARM"], velocity=[0.0]))
    error, more = run(sim, 0.05)
    assert error is None
    assert more[0] == steps[-1] + 1_000_000


def test_a_reset_after_a_pause_repeats_the_run():
    quiet, sim = arm_and_ball(), arm_and_ball()
    sim.command("one", JointCommand(["ARM"], effort=[5e4]))
    assert run(sim, 1.0)[0] is not None
    sim.reset()
    assert run(sim, 0.5)[0] is run(quiet, 0.5)[0] is None
    assert sim.state_hash() == quiet.state_hash()


def test_numbers_that_reach_the_drive_past_the_controllers_pause():
    sim = arm_and_ball()
    run(sim, 0.01)
    sim.bodies["one"].drive.effort[0] = NAN
    error, steps = run(sim, 1.0)
    assert "body 'one', link 'ARM': the drive of its joint" in str(error)
    assert "effort nan) must be finite" in str(error)
    assert "at 0.01 s (step 10)" in str(error)
    assert not steps


@pytest.mark.parametrize("name", ["position", "velocity", "effort"])
@pytest.mark.parametrize("value", [NAN, np.inf, -np.inf, 1e308])
def test_commands_that_cannot_be_change_nothing(name, value):
    sim, quiet = arm_and_ball(), arm_and_ball()
    sim.command("one", JointCommand(["ARM"], **{name: [value]}))
    sim.command("one", JointCommand(["NOBODY"], **{name: [1.0]}))
    sim.command("one", JointCommand(["ARM"], **{name: [1.0, 2.0]}))
    assert run(sim, 0.1)[0] is run(quiet, 0.1)[0] is None
    assert sim.state_hash() == quiet.state_hash()


def test_a_ball_thrown_out_of_the_world_names_itself():
    sim = simulation(moving(BALL, at(z=9.9e5), v=np.array([0.0, 0.0, 9.0e4])), floor())
    error, _ = run(sim, 1.0)
    assert str(error).startswith("body 'ball', link 'BASE': its motion has diverged")
