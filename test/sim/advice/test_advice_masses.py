"""What is told of links that had to be given mass or inertia; published robots that need it."""

from dataclasses import replace

import numpy as np
import pytest
from loop_bodies import GRASHOF, X, base, four_bar, link
from paths import SHARED, needs_shared

from hrp_model import Diagnostics, Severity
from hrp_model.body import Body, JointType
from hrp_model.kinematics import BodyState
from hrp_sim.cli.main import main
from hrp_sim.control import HOLD, LIMP
from hrp_sim.engine.engine import PhysicsSettings, Placement, Solver
from hrp_sim.simulation import Simulation
from hrp_sim.world.advice import advise
from hrp_sim.world.config import BodyEntry, WorldConfig
from hrp_sim.world.load import load_world

NOTHING = np.zeros((3, 3))
G = 9.80665
MODELS = SHARED / "models"
# Each with what it lacks, and how many links lack it.
PUBLISHED = {
    "isri-aist__hrp4c_description/vrml/HRP4Cmain.wrl": ("mended-inertia", 10),
    "tork-a__rtmros_nextage/nextage_description/models/main.wrl": ("mended-mass", 1),
    "fkanehiro__openhrp3/sample/model/RH2/RH2_withoutArm_withBumpSensor.wrl": (
        "mended-inertia",
        1,
    ),
}


def warnings(body, **settings):
    entry = BodyEntry(placement=Placement(name=body.name, body=body, fixed=True), control=LIMP)
    world = WorldConfig(physics=PhysicsSettings(**settings), bodies=(entry,))
    found = [d for d in advise(world) if d.severity is Severity.WARNING]
    assert all("\n" not in d.message for d in found)
    return [(d.code, d.message) for d in found]


def row(count, **changes):
    """Links on one another, all with the same changes, under one of 1 kg."""
    links = [base(mass=1.0), replace(link("TOP", "BASE", JointType.REVOLUTE), mass=2.0)]
    for k in range(count):
        links.append(replace(link(f"L{k}", links[-1].name, JointType.REVOLUTE, X), **changes))
    return Body(name="row", links=tuple(links))


def test_a_link_without_mass_is_told_with_the_numbers_that_are_used():
    body = row(1, mass=0.0, inertia=NOTHING)
    ((code, message),) = warnings(body)
    assert code == "mended-mass"
    assert "link 'L0' can move but has no mass" in message
    assert "2e-05 kg, 1e-05 of the mass it carries or hangs on" in message
    ((code, message),) = warnings(body, solver=Solver.QUICK, iterations=20)
    assert "0.02 kg, 0.01 of" in message
    assert message.endswith("solver: world needs much smaller replacements")


def test_an_inertia_is_told_with_its_moments_before_and_after():
    ((code, message),) = warnings(row(1, inertia=np.diag([0.2, -1e-9, 0.3])))
    assert code == "mended-inertia"
    assert (
        "'L0' is not positive definite, with principal moments -1e-09, 0.2, 0.3 kg m^2" in message
    )
    assert "simulated with 3e-06, 0.2, 0.3 kg m^2" in message


def test_up_to_three_links_are_told_one_by_one_and_more_in_one_line():
    for changes, code in (
        ({"mass": 0.0}, "mended-mass"),
        ({"inertia": NOTHING}, "mended-inertia"),
    ):
        assert [c for c, _ in warnings(row(3, **changes))] == 3 * [code]
        ((one, message),) = warnings(row(7, **changes))
        assert one == code
        assert "7 links" in message
        assert "'L3'" in message
        assert "'L4'" not in message
        assert " more" in message


def test_what_is_fine_is_not_told():
    assert warnings(row(3)) == []


def test_the_command_says_where_the_model_draws_the_link(capsys, tmp_path):
    model = tmp_path / "universal.body"
    model.write_text("""\
format: ChoreonoidBody
format_version: 2.0
name: Universal
links:
  - { name: BASE, joint_type: fixed, mass: 1 }
  - { name: CROSS, parent: BASE, joint_type: revolute, joint_id: 0, joint_axis: X, mass: 0 }
  - { name: BOB, parent: CROSS, joint_type: revolute, joint_id: 1, joint_axis: Y, mass: 1,
      inertia: [ 1, 0, 0, 0, 1, 0, 0, 0, 1 ] }
""")
    assert main(["run", str(model), "--duration", "0.1"]) == 0
    (line,) = [x for x in capsys.readouterr().err.splitlines() if "[mended-mass]" in x]
    assert "universal.body:6:" in line
    assert "body 'Universal': link 'CROSS' can move but has no mass" in line


@pytest.mark.parametrize("solver", list(Solver))
def test_a_massless_coupler_keeps_its_loop_closed_and_takes_no_energy(solver):
    body = four_bar(*GRASHOF)
    arm, own = 0.1, 0.01 + 0.1**2  # of crank and rocker, each of 1 kg, about its pivot
    changes = {"COUPLER": {"mass": 0.0, "inertia": NOTHING}}
    changes |= {name: {"center_of_mass": arm * X} for name in ("CRANK", "ROCKER")}
    links = tuple(replace(x, **changes.get(x.name, {})) for x in body.links)
    body = replace(body, links=links)
    entry = BodyEntry(placement=Placement(name="b", body=body, fixed=True), control=LIMP)
    physics = PhysicsSettings(solver=solver, gravity=(0.0, -G, 0.0))
    simulation = Simulation(WorldConfig(physics=physics, bodies=(entry,)))
    motion, (tie,) = simulation.bodies["b"].motion, body.extra_joints
    ends = [(body.link_index(x), X) for x, X in zip(tie.links, (tie.X_AJ, tie.X_BJ), strict=True)]

    def energy():
        height = arm * (np.sin(motion.q[0]) + np.sin(motion.q[2]))
        return own * (motion.dq[0] ** 2 + motion.dq[2] ** 2) / 2 + G * height

    start, fastest = energy(), 0.0
    for _ in range(1000):
        simulation.step()
        fastest = max(fastest, abs(motion.dq[0]))
        p, q = (motion.R[i] @ X_LJ.p + motion.p[i] for i, X_LJ in ends)
        assert np.linalg.norm(p - q) < 1e-3
        assert energy() == pytest.approx(start, abs=0.02)  # of 1 J that goes to and fro
    assert fastest > 5.0


@needs_shared
@pytest.mark.parametrize("model", PUBLISHED)
@pytest.mark.parametrize(
    "control", [LIMP, pytest.param(HOLD, marks=pytest.mark.slow)], ids=["limp", "held"]
)
def test_published_robots_that_were_drawn_so_move(model, control):
    quiet = Diagnostics.silent()
    world = load_world(MODELS / model, quiet)
    # Thousands of triangles on each other are another matter, and take long.
    entries = [replace(x, control=control) for x in world.bodies]
    robot = entries[-1].placement.body
    bare = replace(robot, links=tuple(replace(x, collision=()) for x in robot.links))
    entries[-1] = replace(entries[-1], placement=replace(entries[-1].placement, body=bare))
    world = replace(world, bodies=tuple(entries))
    code, count = PUBLISHED[model]
    (told,) = [d for d in advise(world) if d.code.startswith("mended")]
    assert (told.code, told.at is not None) == (code, True)
    assert count == 1 or f"{count} links" in told.message
    simulation = Simulation(world, diagnostics=quiet)
    simulation.wanted = lambda name: False
    for _ in range(500):
        simulation.step()
    motion = simulation.bodies[robot.name].motion
    drawn = BodyState(robot)
    drawn.q[:] = motion.q
    drawn.p[0], drawn.R[0] = motion.p[0], motion.R[0]
    drawn.calc_forward_kinematics()
    assert np.isfinite(motion.dq).all()
    np.testing.assert_allclose(motion.p, drawn.p, atol=1e-3)
