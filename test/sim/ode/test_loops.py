"""Extra joints close loops, and keep them closed."""

from dataclasses import replace

import numpy as np
import pytest
from paths import SHARED, needs_shared
from sim.physics.scenes import PRISMATIC, REVOLUTE, X, Y, Z, at, child, fixed, placed, root, world

from hrp_model import Diagnostics
from hrp_model.body import Body, ExtraJoint, ExtraJointType
from hrp_model.geometry import Box
from hrp_model.kinematics.loops import LoopClosure
from hrp_model.kinematics.loops.constraints import LoopConstraints
from hrp_model.rigid import axis_angle_matrix
from hrp_sim.control import HOLD, LIMP, JointCommand
from hrp_sim.engine.engine import PhysicsSettings, Solver
from hrp_sim.simulation import Simulation
from hrp_sim.world.config import BodyEntry, WorldConfig
from hrp_sim.world.load import load_world


def slider_crank(kind):
    """A crank of 0.2 and a rod of 0.5 about Z; the rod's end is tied to a slider along X."""
    links = (
        root(),
        child("CRANK", "BASE", REVOLUTE, Z),
        child("ROD", "CRANK", REVOLUTE, Z, X_PL=at(0.2)),
        child("SLIDER", "BASE", PRISMATIC, X),
    )
    tie = ExtraJoint(
        type=kind, links=("ROD", "SLIDER"), X_AJ=at(0.5), X_BJ=at(0.7), axis=Z, name="tie"
    )
    return Body(name="crank", links=links, extra_joints=(tie,))


@pytest.mark.parametrize("kind", [ExtraJointType.BALL, ExtraJointType.HINGE])
def test_a_slider_crank_follows_its_kinematics(kind):
    engine, crank = world(fixed(slider_crank(kind)), gravity=(0, 0, 0))
    crank.drive.kd[0], crank.drive.dq[0] = 100.0, 2.0
    for _ in range(30):
        engine.step(100)
        angle = crank.motion.q[0]
        x = 0.2 * np.cos(angle) + np.sqrt(0.25 - (0.2 * np.sin(angle)) ** 2)
        assert crank.motion.q[2] == pytest.approx(x - 0.7, abs=1e-4)
    assert crank.motion.q[0] == pytest.approx(6.0, abs=0.05)


def test_a_piston_leaves_sliding_and_turning_about_its_axis():
    links = (
        root(),
        child("A", "BASE", REVOLUTE, Z),
        child("B", "BASE", REVOLUTE, Z, X_PL=at(0.3)),
    )
    # A point of B at 0.1 beside its axis runs along a slot in A.
    slot = ExtraJoint(
        type=ExtraJointType.BALL, links=("A", "B"), X_AJ=at(0.3, 0.1), X_BJ=at(0.0, 0.1)
    )
    rigid = Body(name="m", links=links, extra_joints=(slot,))
    engine, stuck = world(fixed(rigid), gravity=(0, 0, 0))
    stuck.drive.effort[0] = 1.0
    engine.step(300)
    assert abs(stuck.motion.q[0]) < 1e-4  # a triangle cannot move
    links = (links[0], links[1], child("B", "BASE", PRISMATIC, X, X_PL=at(0.3)))
    rail = ExtraJoint(type=ExtraJointType.PISTON, links=("A", "B"), axis=X, X_AJ=at(0.3))
    engine, free = world(
        fixed(Body(name="m", links=links, extra_joints=(rail,))), gravity=(0, 0, 0)
    )
    free.drive.effort[:] = 1.0, 1.0
    engine.step(300)
    assert abs(free.motion.q[0]) < 1e-4
    assert free.motion.q[1] == pytest.approx(0.5 * 0.3**2, rel=1e-2)


def test_a_fixed_extra_joint_holds_to_a_static_link():
    links = (root(), child("A", "BASE", REVOLUTE, X, center_of_mass=0.3 * Y, initial=0.5))
    weld = ExtraJoint(type=ExtraJointType.FIXED, links=("A", "BASE"))
    body = Body(name="weld", links=links, extra_joints=(weld,))
    engine, held = world(fixed(body, at(R=axis_angle_matrix(Z, 0.3)), q=np.array([0.6])))
    engine.step(500)
    # As the model has them turned in its own initial posture.
    assert held.motion.q[0] == pytest.approx(0.5, abs=1e-4)


def four_bar():
    """Bars of 0.15, 0.35 and 0.25 about Z on a base of 0.4: the first turns all round."""
    links = (
        root(),
        child("CRANK", "BASE", REVOLUTE, Z, center_of_mass=0.07 * X),
        child("BAR", "CRANK", REVOLUTE, Z, X_PL=at(0.15), center_of_mass=0.17 * X),
        child("ROCKER", "BASE", REVOLUTE, Z, X_PL=at(0.4), center_of_mass=0.12 * Y),
    )
    tie = ExtraJoint(
        type=ExtraJointType.HINGE, links=("BAR", "ROCKER"), X_AJ=at(0.35), X_BJ=at(y=0.25), axis=Z
    )
    return Body(name="bars", links=links, extra_joints=(tie,))


def oscillating_cylinder(kind):
    """A crank of 0.1 about Z; its pin slides in a barrel that turns about Z at 0.4."""
    links = (
        root(),
        child("BARREL", "BASE", REVOLUTE, Z, X_PL=at(0.4)),
        child("CRANK", "BASE", REVOLUTE, Z, center_of_mass=0.05 * X),
        child("PIN", "CRANK", REVOLUTE, Z, X_PL=at(0.1)),
    )
    tie = ExtraJoint(type=kind, links=("BARREL", "PIN"), X_AJ=at(0.0), X_BJ=at(0.0), axis=X)
    return Body(name="cylinder", links=links, extra_joints=(tie,))


def scotch_yoke():
    """The pin of a crank of 0.2 about Z runs along Y in a slider that moves along X."""
    links = (
        root(),
        child("YOKE", "BASE", PRISMATIC, X),
        child("CRANK", "BASE", REVOLUTE, Z, center_of_mass=0.1 * X),
    )
    tie = ExtraJoint(
        type=ExtraJointType.XY, links=("YOKE", "CRANK"), X_AJ=at(0.2), X_BJ=at(0.2), axis=Y
    )
    return Body(name="yoke", links=links, extra_joints=(tie,))


def lift():
    """A table that moves along Z rests on the pin of a crank of 0.2 about -Y."""
    links = (
        root(),
        child("TABLE", "BASE", PRISMATIC, Z),
        child("CRANK", "BASE", REVOLUTE, -Y, center_of_mass=0.1 * X),
    )
    tie = ExtraJoint(type=ExtraJointType.Z, links=("TABLE", "CRANK"), X_BJ=at(0.2), axis=Z)
    return Body(name="lift", links=links, extra_joints=(tie,))


LOOPS = pytest.mark.parametrize(
    ("body", "crank"),
    [
        (four_bar(), 0),
        (slider_crank(ExtraJointType.HINGE), 0),
        (oscillating_cylinder(ExtraJointType.PISTON), 1),
        (oscillating_cylinder(ExtraJointType.XY), 1),
        (scotch_yoke(), 1),
        (lift(), 1),
    ],
    ids=["four-bar", "slider-crank", "piston", "xy", "yoke", "z"],
)


def turning(body, crank, solver):
    """Return a world in which a loop's crank turns at 3 rad/s."""
    start = LoopClosure(body).assembled
    engine, loop = world(fixed(body, q=start), gravity=(0.0, -5.0, -5.0), solver=solver)
    loop.drive.kd[crank], loop.drive.dq[crank] = 100.0, 3.0
    return engine, loop


@LOOPS
@pytest.mark.parametrize("solver", list(Solver))
def test_loops_stay_closed_for_three_seconds(body, crank, solver):
    engine, loop = turning(body, crank, solver)
    constraints, open_by = LoopConstraints(body), 0.0
    for _ in range(120):
        engine.step(25)
        open_by = max(open_by, np.abs(constraints.residual(loop.motion.q)).max())
    assert open_by < (1e-5 if solver is Solver.WORLD else 5e-4)
    assert abs(loop.motion.q[crank]) > 7.5


@LOOPS
def test_all_joints_of_a_loop_are_where_its_kinematics_say(body, crank):
    engine, loop = turning(body, crank, Solver.WORLD)
    closure, near = LoopClosure(body, prefer=[body.moving_links[crank].name]), None
    for _ in range(200):
        engine.step(10)
        near = closure.close(loop.motion.q, near=near)
        np.testing.assert_allclose(loop.motion.q, near, atol=1e-4)


SAMPLES = (
    "choreonoid__choreonoid/share/model/misc/ClosedLinkSample.body",
    "choreonoid__choreonoid/share/model/misc/FourWheelCar.body",
    "fkanehiro__choreonoid/share/model/misc/ClosedLinkSample.wrl",
    "fkanehiro__openhrp3/sample/model/closed-link-sample.wrl",
)


@needs_shared
@pytest.mark.parametrize("control", [HOLD, LIMP], ids=["hold", "limp"])
@pytest.mark.parametrize("model", SAMPLES)
def test_the_loops_of_published_models_stay_closed(model, control, caplog):
    config = load_world(SHARED / "models" / model, Diagnostics())
    *others, entry = config.bodies
    bodies = (*others, replace(entry, control=control))
    caplog.clear()
    simulation = Simulation(replace(config, bodies=bodies))
    simulated = simulation.bodies[entry.placement.name]
    closure = LoopClosure(simulated.body)
    told = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    # One model is drawn with its bars in two planes: said once, and simulated that way.
    assert told == [f"body '{simulated.name}': {gap}" for gap in closure.gap_messages()]
    simulation.command(
        simulated.name, JointCommand([simulated.body.moving_links[0].name], position=[0.05])
    )
    for _ in range(600):
        simulation.step()
        assert max(gap.length for gap in closure.gaps(simulated.motion.q)) < 1e-3
    simulation.close()


@pytest.mark.parametrize("solver", list(Solver))
def test_a_loop_that_is_held_follows_the_joint_that_has_a_motor(solver):
    body = four_bar()
    base, crank, *others = body.links
    crank = replace(crank, joint=replace(crank.joint, id=0))
    body = replace(body, links=(base, crank, *others))
    closure = LoopClosure(body)
    entry = BodyEntry(placement=fixed(body, q=closure.assembled))
    settings = PhysicsSettings(gravity=(0.0, -9.8, 0.0), solver=solver)
    simulation = Simulation(WorldConfig(physics=settings, bodies=(entry,)))
    motor = closure.assembled[0] + 1.0
    simulation.command("bars", JointCommand(["CRANK"], position=[motor]))
    for _ in range(1500):
        simulation.step()
    q = simulation.bodies["bars"].motion.q
    assert q[0] == pytest.approx(motor, abs=0.01)  # it sags a little
    np.testing.assert_allclose(q, closure.close(q, given=[0], near=q), atol=1e-3)


def test_links_that_overlap_at_the_start_are_named():
    bar = (placed(Box(np.array([0.1, 0.5, 0.1])), at(y=0.2)),)
    links = (
        root(),
        child("A", "BASE", REVOLUTE, X, collision=bar),
        child("B", "BASE", REVOLUTE, X, collision=bar),
    )
    _, simulated = world(fixed(Body(name="b", links=links)))
    [remark] = simulated.remarks
    assert "overlap by more than 1 mm at the start: A-B" in remark
