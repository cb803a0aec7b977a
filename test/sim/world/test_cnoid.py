"""Projects of Choreonoid: everything that one states, and every mistake with its place."""

from math import pi, radians

import numpy as np
import pytest
from numpy.testing import assert_allclose
from paths import MODELS, ROOT
from scipy.spatial.transform import Rotation
from silent_diagnostics import silent

from hrp_model import ModelError, load_body
from hrp_model.body import ExtraJointType
from hrp_sim import Simulation
from hrp_sim.cli.main import main
from hrp_sim.control import HOLD, LIMP
from hrp_sim.engine.engine import Solver
from hrp_sim.engine.materials import Material, material_pair
from hrp_sim.world.load import load_world, load_world_text
from hrp_sim.world.projects import ProjectOptions

WORKSHOP = ROOT / "test" / "data" / "projects" / "workshop.cnoid"
SHARE = {"SHARE": str(MODELS)}
WOOD = MODELS / "blocks" / "wood.body"


@pytest.fixture(scope="module")
def workshop():
    return load_world(WORKSHOP, silent(), project=ProjectOptions(variables=SHARE))


@pytest.fixture(scope="module")
def bodies(workshop):
    return {entry.placement.name: entry for entry in workshop.bodies}


def item(kind, name="", data="", children=""):
    """Return an item in one line."""
    return f"{{ class: {kind}, name: {name!r}, data: {{ {data} }}, children: [ {children} ] }}"


def project(*items, more=""):
    world = item("WorldItem", "World", children=", ".join(items))
    return f"items: {item('RootItem', children=world)}\n{more}"


def block(name="block", data=""):
    return item("BodyItem", name, f"file: {WOOD}, {data}")


@pytest.fixture
def read(tmp_path):
    """Read a project of this text; return the world and the problems, without their places."""

    def load(text, **options):
        found = silent()
        (tmp_path / "p.cnoid").write_text(text)
        try:
            world = load_world(tmp_path / "p.cnoid", found, project=ProjectOptions(**options))
        except ModelError:
            world = None
        return world, [f"{d.severity.value}: {d.code}: {d.message}" for d in found.found]

    return load


def test_bodies_of_folders_bodies_and_sub_projects_are_in_the_world(workshop):
    names = [entry.placement.name for entry in workshop.bodies]
    assert names == ["rover", "cargo", "arm", "cargo_2"]


def test_bodies_begin_in_their_initial_state(bodies):
    rover, cargo = bodies["rover"].placement, bodies["cargo"].placement
    quarter = Rotation.from_euler("z", pi / 2).as_matrix()
    assert_allclose(rover.X_WL.p, [1, -2, 0.2])
    assert_allclose(rover.X_WL.R, quarter, atol=1e-12)
    assert_allclose(cargo.X_WL.p, [1, -2, 0.6])
    assert_allclose(cargo.X_WL.R, quarter, atol=1e-12)
    assert_allclose(bodies["arm"].placement.X_WL.p, [3, 0, 0])


def test_rotations_of_a_list_are_multiplied(bodies):
    expected = Rotation.from_euler("z", 90, degrees=True) * Rotation.from_euler(
        "x", 90, degrees=True
    )
    assert_allclose(bodies["cargo_2"].placement.X_WL.R, expected.as_matrix(), atol=1e-12)


def test_joint_positions_are_those_by_id_in_the_unit_of_their_key(bodies):
    # The rover's tracks have the ids 0 and 1; its mast has 2, which the initial list lacks.
    assert_allclose(bodies["rover"].placement.q, [radians(30)])
    assert_allclose(bodies["arm"].placement.q, [-0.1, -0.2, 0.3, 0.4, 0.5, 0.6])


def test_roots_are_fixed_as_the_items_say(bodies):
    fixed = {name: entry.placement.fixed for name, entry in bodies.items()}
    assert fixed == {"rover": False, "cargo": False, "arm": True, "cargo_2": True}


def test_bodies_collide_as_their_items_say(bodies):
    cargo, arm, rover = (bodies[name].placement.body for name in ("cargo", "arm", "rover"))
    assert cargo.collision_disabled == {"Wood"}
    shaped = [link.name for link in arm.links if link.collision]
    assert len(arm.self_collision_disabled) == len(shaped) * (len(shaped) - 1) // 2
    alone = load_body(MODELS / "rover" / "rover.body", silent())
    assert rover.self_collision_disabled == alone.self_collision_disabled


def test_joints_hold_their_positions_where_a_controller_is_missing_else_nothing_drives_them(bodies):
    assert bodies["rover"].control == HOLD
    assert bodies["arm"].control == LIMP


def test_the_first_simulator_gives_the_settings(workshop):
    physics = workshop.physics
    assert physics.time_step == 0.002
    assert physics.gravity == (0, 0, -1.62)
    assert physics.friction == 0.75
    assert physics.solver is Solver.QUICK
    assert physics.iterations == 70
    assert physics.erp == 0.3
    assert workshop.duration == 12


def test_another_simulator_is_chosen_by_its_name():
    def load(name):
        options = ProjectOptions(simulator=name, variables=SHARE)
        return load_world(WORKSHOP, silent(), project=options)

    aist, bullet = load("AIST"), load("Bullet")
    assert (aist.physics.time_step, aist.physics.friction, aist.duration) == (0.005, 1.0, 30)
    # Without a time step it is that of the time bar.
    assert (bullet.physics.time_step, bullet.duration) == (0.004, None)


@pytest.mark.parametrize("command", ["rviz", "page", "check", "sensors"])
def test_commands_take_the_options_of_projects(command, tmp_path, capsys):
    output = [str(tmp_path / "out.html"), "--duration", "0.01"] if command == "page" else []
    options = ["--variable", f"SHARE={MODELS}", "--simulator"]
    assert main([command, str(WORKSHOP), *output, *options, "AIST"]) == 0
    assert main([command, str(WORKSHOP), *output, *options, "AITS"]) == 1
    assert "Did you mean 'AIST'?" in "".join(capsys.readouterr())


def test_materials_of_items_replace_those_of_the_world(workshop):
    table = workshop.physics.materials
    assert table.materials == {"Wood": Material(0.9, 1.0), "Ice": Material(0.01, 1.0)}
    assert table.pairs[material_pair("Wood", "Ice")].restitution == 0.1


def test_a_vision_simulator_limits_the_rates_of_its_sensors(bodies):
    # The camera has 30 Hz; the scanner has less than the limit, and the lidar is not named.
    assert bodies["rover"].sensors == {"mast_camera": {"rate": 15.0}}


def test_what_has_no_meaning_is_reported_once_for_each_class():
    found = silent()
    load_world(WORKSHOP, found, project=ProjectOptions(variables=SHARE))
    assert sorted((d.severity.value, d.code) for d in found.found) == [
        ("note", "duplicate-name"),
        ("note", "foreign-item"),
        ("note", "several-simulators"),
        ("warning", "foreign-controller"),
        ("warning", "foreign-item"),
    ]
    (fluid, _) = [d for d in found.found if d.code == "foreign-item"]
    assert fluid.message.startswith("MultiColliderItem has no effect here (2 items)")
    assert str(fluid.at).endswith("workshop.cnoid:84:53")


def test_a_controller_that_is_given_replaces_that_of_the_project(read):
    driven = item(
        "BodyItem", "block", f"file: {WOOD}", item("SimpleControllerItem", "C", "controller: Lift")
    )
    _, found = read(project(driven))
    assert found == [
        "warning: foreign-controller: the controller 'Lift' (SimpleControllerItem) of 'block' "
        "cannot run here, so its joints hold their positions; a Python class can replace it: "
        "--controller 'block=MODULE:CLASS'"
    ]
    _, found = read(project(driven), controlled=["block"])
    assert [text.split(":")[0] for text in found] == ["note"]


def test_a_motion_is_played_from_its_first_posture():
    world = load_world(MODELS / "projects" / "arm_waves.cnoid", silent())
    arm = next(x.placement for x in world.bodies if x.placement.name == "arm")
    assert_allclose(arm.q, [0, 0.35, 0.7, 0, 0.5, 0])
    assert world.duration == 6
    part = 1.5 / 3.5  # of the way of joint 3 from 0 to 0.6, a cubic between two stops
    turned = 0.6 * (3 * part**2 - 2 * part**3)
    with Simulation(world) as simulation:
        target = simulation.bodies["arm"]
        for seconds, expected in (
            (1.5, [0.8, 0.0, 0.4, turned, 0.9, 0.0]),
            (5.5, [0, 0.35, 0.7, 0, 0.5, 1]),
        ):
            while simulation.engine.time_ns < seconds * 1e9:
                simulation.step()
            assert_allclose(target.motion.q, expected, atol=2e-3)


def test_a_motion_is_not_played_on_a_body_that_is_controlled_otherwise():
    project = MODELS / "projects" / "arm_waves.cnoid"
    world = load_world(project, silent(), project=ProjectOptions(controlled=["arm"]))
    assert world.controllers == ()


def test_a_text_may_be_a_project():
    world = load_world_text(project(block("alone")), silent())
    assert [entry.placement.name for entry in world.bodies] == ["alone"]


def test_all_missing_models_are_reported_at_once(read):
    world, found = read(
        project(
            item("BodyItem", "a", "file: a.body"),
            item("BodyItem", "b", "modelFile: '${SHARE}/b.body'"),
            item("BodyItem", "c"),
        )
    )
    assert world is None
    assert [text.split(": ")[1] for text in found] == ["missing-model"] * 3
    assert "nor in folders 'share' further above; the variable SHARE is not set" in found[1]
    assert found[2].endswith("the body 'c' has no 'file', the path of its model")


def test_a_folder_named_share_above_a_project_is_found(tmp_path):
    (tmp_path / "share").symlink_to(MODELS)
    (tmp_path / "sample" / "deep").mkdir(parents=True)
    path = tmp_path / "sample" / "deep" / "p.cnoid"
    path.write_text(project(item("BodyItem", "w", "file: '${SHARE}/blocks/wood.body'")))
    assert len(load_world(path, silent()).bodies) == 1


def test_environment_variables_name_folders_unless_an_option_does(tmp_path, monkeypatch, read):
    text = project(item("BodyItem", "w", "file: '${PROGRAM_TOP}/blocks/wood.body'"))
    monkeypatch.setenv("PROGRAM_TOP", str(MODELS))
    assert read(text)[0] is not None
    world, found = read(text, variables={"PROGRAM_TOP": str(tmp_path)})
    assert world is None
    assert str(tmp_path / "blocks") in found[0]


def test_projects_that_contain_each_other_are_refused(tmp_path):
    for name, other in (("a", "b"), ("b", "a")):
        sub = item("SubProjectItem", other, f"file: {other}.cnoid")
        (tmp_path / f"{name}.cnoid").write_text(project(block(name), sub))
    with pytest.raises(ModelError) as caught:
        load_world(tmp_path / "a.cnoid", silent())
    (cycle,) = caught.value.diagnostics
    assert cycle.code == "project-cycle"
    assert cycle.message == "the projects contain each other: a.cnoid -> b.cnoid -> a.cnoid"
    assert str(cycle.at).startswith(str(tmp_path / "b.cnoid:1:"))


def test_many_uses_of_a_sub_project_are_bounded(tmp_path):
    for depth in range(6):
        inside = [item("SubProjectItem", "s", f"file: {depth + 1}.cnoid")] * 12
        (tmp_path / f"{depth}.cnoid").write_text(project(*inside))
    (tmp_path / "6.cnoid").write_text(project(block()))
    with pytest.raises(ModelError, match="more than 20000 items, or 1000 sub-projects"):
        load_world(tmp_path / "0.cnoid", silent())


def test_a_long_chain_of_projects_is_refused(tmp_path):
    for depth in range(300):
        inner = item("FolderItem", children=item("SubProjectItem", "s", f"file: {depth + 1}.cnoid"))
        (tmp_path / f"{depth}.cnoid").write_text(project(inner))
    (tmp_path / "300.cnoid").write_text(project(block()))
    with pytest.raises(ModelError, match="items are nested more than 200 levels deep"):
        load_world(tmp_path / "0.cnoid", silent())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "error: not-a-project: a project of Choreonoid needs 'items'"),
        ("items: 3", "error: not-a-project: a project of Choreonoid needs 'items'"),
        ("items: [", "error: yaml-syntax"),
        (project(), "error: no-bodies: the project has no BodyItem"),
        (project("3"), "error: wrong-type: an item of a project must be a mapping with 'class'"),
        (
            project(block(data="root_rotation: [0, 0, 0, 90]")),
            "error: bad-rotation: 'root_rotation' needs an axis and an angle",
        ),
        (
            project(block(data="rootAttitude: [1, 0, 0, 0, 2, 0, 0, 0, 1]")),
            "error: bad-rotation: 'rootAttitude' is no rotation matrix",
        ),
        (project(block(data="root_translation: [1, 2]")), "error: wrong-count: 3 numbers"),
        (project(block(data="joint_displacements: [.nan]")), "error: wrong-type: expected a"),
        (
            project(block(), item("AISTSimulatorItem", "A", "timestep: 3")),
            "error: out-of-range: 'timestep' must be from 1e-06 to 0.1, not 3",
        ),
        (
            project(block(), item("MaterialTableItem", "M", "file: none.yaml")),
            "error: missing-resource: no such file",
        ),
        (
            project(block(), item("SubProjectItem", "S", "file: none.cnoid")),
            "error: missing-project: no such file",
        ),
        (
            project(block(), item("SubProjectItem", "S")),
            "error: missing-project: the sub-project 'S' has no 'file'",
        ),
        (
            project(item("BodyItem", "b", f"file: {WOOD}", item("BodyMotionControllerItem", "P"))),
            "warning: no-motion: 'P' has no motion",
        ),
        (
            project(
                item(
                    "BodyItem",
                    "b",
                    f"file: {WOOD}",
                    item(
                        "BodyMotionControllerItem",
                        "P",
                        children=item("PoseSeqItem", "M", "file: none.pseq"),
                    ),
                )
            ),
            "error: missing-motion: no such file",
        ),
        (
            project(block(), item("KinematicSimulatorItem", "K")),
            "warning: foreign-setting: bodies move by the laws of physics here",
        ),
        (project(block(), item("TeapotItem", "T")), "warning: foreign-item: TeapotItem has no"),
        (
            project(block()).replace("children: [ {", f"children: [ {block('lost')}, {{", 1),
            "warning: outside-world: bodies that are not in the world 'World' are left out: 'lost'",
        ),
    ],
)
def test_a_problem_is_reported(read, text, expected):
    _, found = read(text)
    assert found[0].startswith(expected), found


def test_a_project_for_an_unknown_simulator_lists_those_that_it_has(read):
    text = project(block(), item("AISTSimulatorItem", "Fast"), item("ODESimulatorItem", "Slow"))
    _, found = read(text, simulator="Slaw")
    assert found == [
        "error: unknown-simulator: the project has no simulator 'Slaw'. Did you mean 'Slow'?"
    ]
    _, found = read(text, simulator="X")
    assert found[0].endswith("It is one of Fast, Slow.")


@pytest.mark.parametrize(
    ("data", "more", "expected"),
    [
        ("time_range_mode: unlimited, time_length: 9", "", None),
        ("time_range_mode: specified, time_length: 9", "", 9),
        ("timeRangeMode: Specified time, timeLength: 9", "", 9),
        ("timeRangeMode: Active control period, timeLength: 9", "", 9),
        ("is_active_control_time_range_mode: true, time_length: 9", "", 9),
        ("time_range_mode: timebar, time_length: 9", "toolbars: {TimeBar: {max_time: 4}}", 4),
        ("timeRangeMode: TimeBar range", "toolbars: {TimeBar: {maxTime: 4}}", 4),
        ("time_range_mode: timebar", "", None),
        ("", "", None),
    ],
)
def test_the_time_range_is_that_of_the_mode(read, data, more, expected):
    world, _ = read(project(block(), item("AISTSimulatorItem", "A", data), more=more))
    assert world.duration == expected


# Bodies attached to the one that contains them.

TOOL = """\
format: ChoreonoidBody
format_version: 2.0
name: Tool
links:
  - name: TOOL
    joint_type: free
    mass: 0.1
    inertia: [ 1e-4, 0, 0, 0, 1e-4, 0, 0, 0, 1e-4 ]
    elements:
      - { type: Shape, geometry: { type: Box, size: [ 0.05, 0.05, 0.05 ] } }
      - { type: Attachment, category: CATEGORY, translation: [ 0, 0, 0.025 ] }
"""
LIFTER = MODELS / "lifter" / "lifter.body"
LIFTED = "joint_displacements: [ 10, -20 ], root_translation: [ 1, 2, 0 ]"  # of 180/pi m


def on_lifter(child):
    return project(item("BodyItem", "lifter", f"file: {LIFTER}, {LIFTED}", child))


def attached(data="", name="block", file=WOOD):
    return item("BodyItem", name, f"file: {file}, {data}")


def by_name(world):
    return {entry.placement.name: entry.placement for entry in world.bodies}


def test_the_cargo_of_the_rover_is_attached_where_it_is(workshop, bodies):
    (joint,) = workshop.joints
    assert (joint.type, joint.bodies) == (ExtraJointType.FIXED, ("rover", "cargo"))
    rover, cargo = bodies["rover"].placement, bodies["cargo"].placement
    X_WB = rover.X_WL @ joint.X_AJ
    assert_allclose(X_WB.matrix(), cargo.X_WL.matrix(), atol=1e-12)


@pytest.mark.parametrize("key", ["parent_body_linkage: attached", "enable_attachment: true"])
def test_a_body_is_attached_to_a_link_at_its_local_pose(read, key):
    pose = "local_translation: [ 0, 0, -0.2 ], local_rotation: [ 0, 0, 1, 90 ]"
    world, problems = read(on_lifter(attached(f"{key}, parent_link: LIFT, {pose}")))
    assert problems == []
    (joint,) = world.joints
    assert joint.links == ("LIFT", "Wood")
    block = by_name(world)["block"]
    hand = [1, 2 + radians(10), 1.4 - radians(20)]
    assert_allclose(block.X_WL.p, hand - np.array([0, 0, 0.2]), atol=1e-12)
    assert_allclose(block.X_WL.R, Rotation.from_euler("z", 90, degrees=True).as_matrix(), atol=1e-9)
    with Simulation(world, diagnostics=silent()) as simulation:
        for _ in range(100):
            simulation.step()
        lifter, motion = simulation.bodies["lifter"].motion, simulation.bodies["block"].motion
        assert lifter.p[2][2] < hand[2] - 1e-3  # nothing drives the joints
        assert_allclose(motion.p[0] - lifter.p[2], [0, 0, -0.2], atol=1e-5)


def test_a_body_on_something_that_cannot_move_is_fixed(read):
    data = "enable_attachment: true, root_translation: [ 0, 0, 3 ]"
    world, problems = read(on_lifter(attached(data)))
    assert (world.joints, problems) == ((), [])
    assert by_name(world)["block"].fixed
    assert_allclose(by_name(world)["block"].X_WL.p, [0, 0, 3])


def test_a_holder_takes_hold_of_an_attachment_and_can_let_go(read, tmp_path):
    (tmp_path / "tool.body").write_text(TOOL)
    child = attached("enable_attachment: true", "tool", "tool.body")
    world, problems = read(on_lifter(child))
    assert problems == []
    cup = [1, 2 + radians(10), 1.4 - radians(20) - 0.15]
    assert_allclose(by_name(world)["tool"].X_WL.p, cup - np.array([0, 0, 0.025]), atol=1e-12)
    with Simulation(world, diagnostics=silent()) as simulation:
        handling = simulation.handling
        assert handling.held("cup").bodies == ("lifter", "tool")
        simulation.reset()
        assert handling.held("cup") is not None
        handling.let_go("cup")
        assert handling.joints == {}


def test_bodies_are_not_attached_unless_their_items_say_so(read):
    for linkage in ("coordinated", "unlinked"):
        data = f"parent_body_linkage: {linkage}, enable_attachment: true"
        world, _ = read(on_lifter(attached(data)))
        assert world.joints == ()
        assert not by_name(world)["block"].fixed


def test_an_unknown_link_is_reported(read):
    world, problems = read(on_lifter(attached("enable_attachment: true, parent_link: LIFTT")))
    assert world.joints == ()
    assert problems == [
        "warning: unknown-link: 'block' is not attached: the body 'lifter' has no link 'LIFTT'. "
        "Did you mean 'LIFT'?"
    ]


# Scenes.


def scene(data, name="block", checked="true"):
    return item("SceneItem", name, data).replace("{", f"{{ is_checked: {checked},", 1)


def test_scenes_are_shown_and_collide_with_nothing(read, tmp_path):
    (tmp_path / "table.wrl").write_text("#VRML V2.0 utf8\nShape { geometry Box { size 1 1 1 } }\n")
    pose = "translation: [ 0, 0, 1 ], rotation: [ 0, 0, 1, ANGLE ]"
    old, new = pose.replace("ANGLE", str(pi / 2)), pose.replace("ANGLE", "90")
    world, problems = read(
        project(
            block(),
            scene(f"file: table.wrl, {old}"),
            scene(f"file: table.wrl, angle_unit: degree, {new}"),
            scene("file: table.wrl", "hidden", "false"),
        )
    )
    assert problems == []
    shown = by_name(world)
    assert list(shown) == ["block", "block_2", "block_3"]
    for name in ("block_2", "block_3"):
        (link,) = shown[name].body.links
        assert (len(link.visual), len(link.collision), shown[name].fixed) == (1, 0, True)
        assert_allclose(shown[name].X_WL.p, [0, 0, 1])
        quarter = Rotation.from_euler("z", pi / 2).as_matrix()
        assert_allclose(shown[name].X_WL.R, quarter, atol=1e-12)
    with Simulation(world, diagnostics=silent()) as simulation:
        for _ in range(10):
            simulation.step()
        assert len(simulation.engine.contact_points().links) == 0


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("", "it has no 'file'"),
        ("file: nowhere.wrl", "no such file"),
        ("file: p.cnoid", "p.cnoid"),
    ],
)
def test_scenes_that_cannot_be_shown_are_warnings(read, data, words):
    world, (problem,) = read(project(block(), scene(data, "Sky")))
    assert list(by_name(world)) == ["block"]
    assert problem.startswith("warning: unusable-scene: the scene 'Sky' is not shown: ")
    assert words in problem
