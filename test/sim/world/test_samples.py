"""Samples of Choreonoid: projects that name their programs run our controllers."""

from types import SimpleNamespace

import numpy as np
import pytest
from each_case import mostly_slow
from paths import ROOT, SHARED
from silent_diagnostics import silent

from hrp_model import Severity, load_body
from hrp_sim import Simulation, load_world
from hrp_sim.cli.main import main
from hrp_sim.world.projects import ProjectOptions
from hrp_sim.world.reporting import OUTLINE
from hrp_sim.world.samples import SAMPLES
from hrp_sim.world.samples.conveyor import Belt
from hrp_sim.world.samples.drive import Course
from hrp_sim.world.samples.fly import Fly
from hrp_sim.world.samples.pd import PDController
from hrp_sim.world.samples.sway import LookAround

CHOREONOID = SHARED / "models" / "choreonoid__choreonoid" / "sample"
ARMS = """\
format: ChoreonoidBody
format_version: 2.0
name: arms
links:
  - { name: BASE, joint_type: fixed }
  - &JOINT { name: LEFT_WRIST1, parent: BASE, joint_type: revolute, joint_id: 0, mass: 1.0,
      joint_axis: [ 0, 0, 1 ], inertia: [ 1, 0, 0, 0, 1, 0, 0, 0, 1 ] }
  - { <<: *JOINT, name: LEFT_HAND, joint_id: 1 }
  - { <<: *JOINT, name: RIGHT_WRIST1, joint_id: 2 }
"""
PENDULUM = """\
format: ChoreonoidBody
format_version: 2.0
name: pendulum
links:
  - { name: BASE, joint_type: fixed, translation: [ 0, 0, 2 ] }
  - name: ARM
    parent: BASE
    joint_type: revolute
    joint_id: 0
    joint_axis: [ 1, 0, 0 ]
    max_joint_effort: 3.0
    mass: 1.0
    center_of_mass: [ 0, 0, 0.5 ]
    inertia: [ 0.1, 0, 0, 0, 0.1, 0, 0, 0, 0.01 ]
"""
WALKER = """\
format: ChoreonoidBody
format_version: 2.0
name: walker
links:
  - { name: WAIST, joint_type: fixed, mass: 1.0 }
  - &HIP { name: LLEG_HIP_R, parent: WAIST, joint_type: revolute, joint_id: 0, mass: 1.0,
      joint_axis: [ 0, 0, 1 ], inertia: [ 1, 0, 0, 0, 1, 0, 0, 0, 1 ] }
  - { <<: *HIP, name: RLEG_HIP_R, joint_id: 1 }
  - { <<: *HIP, name: WAIST_P, joint_id: 2 }
"""
SIMULATORS = """\
        - { class: AISTSimulatorItem, name: AIST, data: { time_step: 0.002 } }
        - { class: AISTSimulatorItem, name: HighGain,
            data: { time_step: 0.002, controller_options: position } }
"""


@pytest.fixture
def project(tmp_path):
    """Return a function that writes a project with a body and the program that controls it."""

    def project(model, program, state=""):
        (tmp_path / "robot.body").write_text(model)
        path = tmp_path / "robot.cnoid"
        path.write_text(
            "items:\n  class: RootItem\n  children:\n    - class: WorldItem\n      children:\n"
            f"        - {{ class: BodyItem, name: robot, data: {{ file: robot.body, {state} }},\n"
            f"            children: [ {{ class: SimpleControllerItem, name: C,\n"
            f"              data: {{ controller: {program} }} }} ] }}\n{SIMULATORS}"
        )
        return path

    return project


def read(path, **options):
    found = silent()
    world = load_world(path, found, project=ProjectOptions(**options))
    return world, [(d.severity, d.code) for d in found.found if d.code.endswith("-controller")]


@pytest.mark.parametrize("suffix", ["", ".so"])
def test_a_project_runs_the_controller_of_the_same_name(suffix, project):
    path = project(PENDULUM, f"PendulumSampleController{suffix}", "joint_displacements: [ 180 ]")
    world, found = read(path)
    assert found == [(Severity.NOTE, "sample-controller")]
    with Simulation(world, diagnostics=silent()) as simulation:
        q = simulation.bodies["robot"].motion.q
        assert q[0] == pytest.approx(np.pi)
        simulation.run(10.0)
        assert simulation.controllers.failures == []
        assert (q[0] + np.pi) % (2 * np.pi) - np.pi == pytest.approx(0.0, abs=1e-3)


def test_a_run_says_so_and_a_given_controller_replaces_it(project, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = project(PENDULUM, "PendulumSampleController")
    assert main(["run", str(path), "--duration", "0.01"]) == 0
    assert "hrp_sim.world.samples.swing:SwingUp runs for" in capsys.readouterr().err
    (tmp_path / "own.py").write_text(OUTLINE)
    given = ("--controller", "robot=own.py:MyController")
    assert main(["run", str(path), "--duration", "0.01", *given]) == 0
    assert "samples" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("model", "program"),
    [
        (PENDULUM, "NobodysController"),
        (PENDULUM, "SR1MinimumController"),  # of another body
        (PENDULUM, '"../../x:Y\\e[31m"'),
    ],
)
def test_what_has_none_says_how_to_write_one(model, program, project, capsys):
    path = project(model, program)
    world, found = read(path)
    assert world.controllers == ()
    assert found == [(Severity.WARNING, "foreign-controller")]
    assert main(["run", str(path), "--duration", "0.01"]) == 0
    printed = capsys.readouterr().err
    assert "class MyController(Controller):" in printed
    assert "\x1b" not in printed


def test_of_several_arms_that_of_the_prefix_moves(project):
    world, found = read(project(ARMS, "Jaco2Controller, controllerOptions: RIGHT_"))
    assert found == [(Severity.NOTE, "sample-controller")]
    with Simulation(world, diagnostics=silent()) as simulation:
        simulation.run(1.0)
        q = simulation.bodies["robot"].motion.q
        np.testing.assert_allclose(q, [0.0, 0.0, 0.8], atol=0.05)


@pytest.mark.parametrize(("simulator", "error"), [("", 2e-3), ("HighGain", 2e-2)])
def test_a_walk_plays_the_first_motion_there_is(simulator, error, project, tmp_path):
    path = project(WALKER, "SR1WalkPatternController")
    assert read(path)[1] == [(Severity.WARNING, "foreign-controller")]  # there is no motion
    folder = tmp_path / "share" / "motion" / "SR1"
    folder.mkdir(parents=True)
    for i, goal in ((3, -0.2), (2, 0.2)):
        rows = "".join(f"{t} {goal} {t * goal} 0.0\n" for t in (0.0, 0.5, 1.0))
        (folder / f"SR1WalkPattern{i}.seq").write_text(rows)
    world, found = read(path, simulator=simulator)
    assert found == [(Severity.NOTE, "sample-controller")]
    with Simulation(world, diagnostics=silent()) as simulation:
        simulation.run(2.0)
        q = simulation.bodies["robot"].motion.q
        np.testing.assert_allclose(q, [0.2, 0.2, 0.0], atol=error)
    assert ("options" in world.controllers[0].args) is True


@pytest.fixture(params=[Course, LookAround, Belt])
def rover(request):
    """Return the rover with a controller, as one of our classes with names of its joints."""
    given = {"amplitudes": {"MAST": 0.5}, "track": "TRACK_L"}
    with Simulation("rover", diagnostics=silent()) as simulation:
        simulation.add_controller("rover", type("Own", (request.param,), given)())
        yield simulation


def test_they_go_on_from_a_saved_state_until_somebody_takes_over(rover):
    motion = rover.bodies["rover"].motion
    rover.run(1.0)
    snapshot, before = rover.save(), motion.q[:].tolist() + motion.p[0].tolist()
    assert before != [0.0] * len(before)
    rover.run(0.5)
    expected = rover.state_hash()
    rover.command("rover", velocity=dict.fromkeys(("TRACK_L", "TRACK_R"), 0.1))
    rover.run(2.0)
    assert np.linalg.norm(motion.v[0]) == pytest.approx(0.1, abs=1e-2)
    np.testing.assert_allclose(motion.dq, 0.0, atol=1e-2)
    rover.restore(snapshot)
    rover.run(0.5)
    assert rover.state_hash() == expected
    rover.reset()
    assert rover.controllers.failures == []


def test_all_are_documented():
    page = (ROOT / "docs" / "projects.md").read_text(encoding="utf-8")
    assert not [x for x in SAMPLES if x.program not in page or f"`{x.name}`" not in page]


def has_walked(simulation):
    body = next(body for name, body in simulation.bodies.items() if name.startswith("SR1"))
    feet = [body.body.link_index(f"{side}LEG_ANKLE_R") for side in "LR"]
    standing, lifts = body.motion.p[feet, 2].min(), np.zeros((650, 2), dtype=bool)
    for i in range(650):
        simulation.run(0.02)
        lifts[i] = body.motion.p[feet, 2] > standing + 0.02
    assert (np.diff(lifts, axis=0).sum(axis=0) >= 6).all()  # each up and down
    assert body.motion.R[0, 2, 2] > 0.99
    assert body.motion.p[0, 0] > 0.85


def slides(simulation):
    motion = simulation.bodies["SR1"].motion
    simulation.run(13.0)
    assert motion.R[0, 2, 2] > 0.99
    assert 0.5 < motion.p[0, 0] < 0.8


def stands(simulation):
    simulation.run(3.0)
    assert simulation.bodies["SR1"].motion.p[0, 2] == pytest.approx(0.71, abs=0.01)


def has_moved_on_the_belt(simulation):
    start = simulation.bodies["Ellipsoid1"].motion.p[0, 0]
    simulation.run(3.0)
    assert simulation.bodies["Ellipsoid1"].motion.p[0, 0] == pytest.approx(start - 3.0, abs=0.3)


def sways_about_its_rest(simulation):
    simulation.run(4.0)
    q, period = simulation.bodies["SpringModel"].motion.q, 2 * np.pi * np.sqrt(10.0 / 2e3)
    samples = []
    for _ in range(40):
        simulation.run(period / 20)
        samples.append(q[0])
    assert np.ptp(samples) > 0.01  # it is damped little
    assert np.mean(samples) == pytest.approx(-10.0 * 9.80665 / 2e3, abs=4e-3)


def is_at_the_top(simulation):
    simulation.run(10.0)
    q = simulation.bodies["Pendulum"].motion.q[0]
    assert (q + np.pi) % (2 * np.pi) - np.pi == pytest.approx(0.0, abs=1e-2)


def drives_round(name):
    def drives(simulation):
        motion = simulation.bodies[name].motion
        simulation.run(2.0)
        assert motion.p[0, 0] > 0.5
        simulation.run(6.0)
        assert motion.R[0, 2, 2] > 0.99
        assert np.arctan2(motion.R[0, 1, 0], motion.R[0, 0, 0]) > 0.5

    return drives


def climbs(simulation):
    motion = simulation.bodies["Crawler"].motion
    heights = []
    for _ in range(25):
        simulation.run(0.1)
        heights.append(motion.p[0, 2])
    assert max(heights) > 0.13
    assert motion.v[0, 0] < -1.0  # on the way back


def holds_the_barrel(simulation):
    simulation.run(1.0)
    np.testing.assert_allclose(simulation.bodies["Tank"].motion.q, 0.0, atol=0.02)


def looks_around(simulation):
    simulation.run(1.5)
    np.testing.assert_allclose(simulation.bodies["Tank"].motion.q, [0.8, 0.15], atol=0.1)


def is_lifted_and_thrown(simulation):
    body = simulation.bodies["SR1-Floor-Box"]
    robot, box = body.body.link_index("WAIST"), body.body.link_index("Box")
    simulation.run(9.0)
    assert body.motion.p[box, 2] > 1.0
    grip = body.motion.p[box, 0]
    simulation.run(4.0)
    assert body.motion.p[box, 0] > grip  # 4 to 6 cm, unless joints are soft
    assert body.motion.p[box, 2] == pytest.approx(0.15, abs=0.01)
    assert body.motion.R[robot, 2, 2] > 0.99


SHOWN = {
    "SimpleController/SR1Walk": has_walked,
    "SimpleController/SR1Walk2D": has_walked,
    "SimpleController/SR1DHWalk": has_walked,
    "SimpleController/SR1WalkSlippy": slides,
    "SimpleController/SR1Minimum": stands,
    "SimpleController/SR1LiftupOneModel": is_lifted_and_thrown,
    "SimpleController/ConveyorSample": has_moved_on_the_belt,
    "SimpleController/ControlledSpringModel": sways_about_its_rest,
    "SimpleController/PendulumSample": is_at_the_top,
    "SimpleController/FourWheelCarJoystick": drives_round("FourWheelCar"),
    "SimpleController/SampleCrawlerSlope": climbs,
    "tutorial/Tank/step2": holds_the_barrel,
    "tutorial/Tank/step3": looks_around,
    "tutorial/Tank/step4": drives_round("Tank"),
}


@pytest.mark.skipif(not CHOREONOID.is_dir(), reason="there are no samples of Choreonoid here")
@pytest.mark.parametrize("name", mostly_slow(SHOWN, 2))
def test_a_sample_does_what_it_is_for(name):
    world = load_world(CHOREONOID / f"{name}.cnoid", silent())
    assert world.controllers
    with Simulation(world, defer_images=True, diagnostics=silent()) as simulation:
        SHOWN[name](simulation)
        assert simulation.controllers.failures == []


BOX = """\
format: ChoreonoidBody
format_version: 2.0
name: box
links:
  - name: BOX
    joint_type: free
    mass: 1.0
    inertia: [ 0.01, 0, 0, 0, 0.01, 0, 0, 0, 0.01 ]
    elements: [ {{ type: Shape, geometry: {{ type: Box, size: [ {0}, {1}, {2} ] }} }} ]
"""
PICKING = """\
items:
  class: WorldItem
  children:
    - {{ class: BodyItem, name: PA10, data: {{ file: {0}, fix_root: true,
        joint_displacements: [ 0, -30, 0, 60, 0, -30, 0, -1.43239, 1.43239 ] }},
        children: [ {{ class: SimpleControllerItem, name: C,
          data: {{ controller: PA10PickupController }} }} ] }}
    - {{ class: BodyItem, name: table,
        data: {{ file: table.body, root_translation: [ 0, 0.7, 0.15 ], fix_root: true }} }}
    - {{ class: BodyItem, name: floor,
        data: {{ file: floor.body, root_translation: [ 0.9, 0, -0.05 ], fix_root: true }} }}
    - {{ class: BodyItem, name: box,
        data: {{ file: box.body, root_translation: [ 0.9, 0, 0.035 ] }} }}
"""
# With the lengths of a UR5, and fingers without shapes.
SIX_JOINTS = """\
format: ChoreonoidBody
format_version: 2.0
name: UR5-like
links:
  - { name: BASE, joint_type: fixed }
  - &LINK { name: SHOULDER, parent: BASE, translation: [ 0, 0, 0.089 ], joint_type: revolute,
      joint_id: 0, joint_axis: [ 0, 0, 1 ], rotor_inertia: 0.5, mass: 4.0,
      inertia: [ 0.2, 0, 0, 0, 0.2, 0, 0, 0, 0.2 ] }
  - { <<: *LINK, name: UPPER_ARM, parent: SHOULDER, translation: [ 0, 0.136, 0 ], joint_id: 1,
      joint_axis: [ 0, 1, 0 ] }
  - { <<: *LINK, name: FOREARM, parent: UPPER_ARM, translation: [ 0.425, -0.12, 0 ], joint_id: 2,
      joint_axis: [ 0, 1, 0 ] }
  - { <<: *LINK, name: WRIST1, parent: FOREARM, translation: [ 0.392, 0, 0 ], joint_id: 3,
      joint_axis: [ 0, 1, 0 ] }
  - { <<: *LINK, name: WRIST2, parent: WRIST1, translation: [ 0, 0.093, 0 ], joint_id: 4 }
  - { <<: *LINK, name: WRIST3, parent: WRIST2, translation: [ 0, 0, -0.095 ], joint_id: 5,
      joint_axis: [ 0, 1, 0 ] }
  - { <<: *LINK, name: Finger1_knuckle, parent: WRIST3, joint_id: 6, mass: 0.1 }
  - { <<: *LINK, name: Finger2_knuckle, parent: WRIST3, joint_id: 9, mass: 0.1 }
"""


def test_an_arm_of_six_joints_reaches_down_to_the_box(project):
    path = project(SIX_JOINTS, "UniversalRobotPickupController", "fix_root: true")
    with Simulation(read(path)[0], diagnostics=silent()) as simulation:
        simulation.run(3.5)
        body = simulation.bodies["robot"]
        wrist = body.body.link_index("WRIST3")
        np.testing.assert_allclose(body.motion.p[wrist], [0.8, 0.0, 0.33], atol=0.03)
        np.testing.assert_allclose(body.motion.R[wrist, :, 1], [0.0, 0.0, -1.0], atol=0.05)
        assert body.motion.q[-2:].min() > 0.1  # the fingers close
        assert simulation.controllers.failures == []


@pytest.mark.slow
def test_an_arm_puts_a_box_on_another_one(tmp_path):
    arm = CHOREONOID.parent / "share" / "model" / "PA10" / "PA10.body"
    if not arm.is_file():
        pytest.skip("there is no model of the PA10 here")
    sizes = {"table": (0.3, 0.3, 0.3), "floor": (0.5, 0.5, 0.1), "box": (0.08, 0.03, 0.07)}
    for name, size in sizes.items():
        (tmp_path / f"{name}.body").write_text(BOX.format(*size))
    (tmp_path / "pick.cnoid").write_text(PICKING.format(arm))
    with Simulation(tmp_path / "pick.cnoid", diagnostics=silent()) as simulation:
        simulation.run(8.0)
        assert simulation.controllers.failures == []
        box = simulation.bodies["box"].motion
        np.testing.assert_allclose(box.p[0], [0.0, 0.7, 0.335], atol=0.01)
        assert simulation.bodies["PA10"].motion.p[-1, 2] > 0.6  # the hand has let go


DRONE = """\
format: ChoreonoidBody
format_version: 2.0
name: drone
links:
  - { name: FRAME, joint_type: free, mass: 0.5, inertia: [ 3e-3, 0, 0, 0, 3e-3, 0, 0, 0, 5e-3 ] }
  - &ROTOR { name: ROTOR0, parent: FRAME, joint_type: fixed, translation: [ 0.2, 0.1, 0 ],
      mass: 0.05, inertia: [ 1e-5, 0, 0, 0, 1e-5, 0, 0, 0, 1e-5 ] }
  - { <<: *ROTOR, name: ROTOR1, translation: [ -0.1, -0.2, 0 ] }
  - { <<: *ROTOR, name: ROTOR2, translation: [ -0.2, 0.1, 0.05 ] }
  - { <<: *ROTOR, name: ROTOR3, translation: [ 0.1, -0.2, 0 ] }
  - &PROP { name: PROP0, parent: FRAME, joint_type: revolute, joint_id: 0, mass: 0.001,
      joint_axis: [ 0, 0, 1 ], inertia: [ 1e-5, 0, 0, 0, 1e-5, 0, 0, 0, 1e-5 ] }
  - { <<: *PROP, name: PROP3, joint_id: 1 }
"""


def test_a_body_with_more_joints_than_its_sample_is_an_error():
    class Short(PDController):
        kp = (1.0, 2.0)

    arm = load_body("package://hrp_ros/models/arm/arm.body")
    io = SimpleNamespace(model=arm, args={}, drive=lambda *_: None)
    with pytest.raises(ValueError, match="id 5, but the sample has 2 joints"):
        Short().initialize(io)
    with pytest.raises(ValueError, match="rotor"):
        Fly().initialize(io)


def test_a_drone_of_any_shape_flies_its_circle(project):
    with Simulation(read(project(DRONE, "QuadcopterController"))[0]) as simulation:
        motion = simulation.bodies["robot"].motion
        middle = motion.p[0] + np.array([0.0, Fly.radius, Fly.height])
        simulation.run(4.0)
        assert simulation.controllers.failures == []
        assert np.linalg.norm(motion.p[0] - middle) == pytest.approx(Fly.radius, abs=0.05)
        assert abs(motion.p[0, 2] - middle[2]) < 0.02
        assert motion.R[0, 0, 0] > 0.99  # it looks ahead


@pytest.mark.parametrize(
    ("model", "program"),
    [
        (PENDULUM, "PendulumSampleController"),
        (WALKER, "SR1WalkPatternController"),
        (SIX_JOINTS, "UniversalRobotPickupController"),
        (DRONE, "QuadcopterController"),
    ],
)
def test_they_go_on_in_another_process(model, program, project, tmp_path):
    folder = tmp_path / "share" / "motion" / "SR1"
    folder.mkdir(parents=True)
    (folder / "SR1WalkPattern1.seq").write_text("0.0 0.2 0.0 0.0\n1.0 0.2 0.4 0.0\n")
    world, _ = read(project(model, program))
    with Simulation(world, diagnostics=silent()) as simulation:
        simulation.run(2.7)
        snapshot = simulation.save()
        simulation.run(0.3)
        expected = simulation.state_hash()
    with Simulation(world, diagnostics=silent()) as simulation:
        assert len(simulation.controllers.plugins) == 1
        simulation.restore(snapshot)
        simulation.run(0.3)
        assert simulation.state_hash() == expected
