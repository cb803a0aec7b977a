"""Projects of OpenHRP, read as worlds."""

import xml.etree.ElementTree as ET
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from paths import MODELS, ROOT, SHARED, needs_shared

from hrp_model import Diagnostics, ModelError, Severity
from hrp_model.rigid import axis_angle_matrix
from hrp_sim import Simulation, load_world
from hrp_sim.control import HOLD, ControlMode
from hrp_sim.engine.engine import PhysicsSettings
from hrp_sim.engine.materials import NO_COLLISION
from hrp_sim.world.load import load_world_text
from hrp_sim.world.projects import ProjectOptions, common

OWN = MODELS / "projects" / "humanoid.xml"
EVERYTHING = ROOT / "test" / "data" / "projects" / "everything.xml"
SAMPLES = SHARED / "models/fkanehiro__openhrp3/sample/project"
PACKAGE = "com.generalrobotix.ui.item."


@pytest.fixture
def recorded():
    return Diagnostics.silent()


def item(kind, name, url="", select="true", **properties):
    lines = "".join(
        f'<property name="{key}" value="{value}"/>\n' for key, value in properties.items()
    )
    written = f'class="{PACKAGE}{kind}" name="{name}" select="{select}" url="{url}"'
    return f"<item {written}>{lines}</item>"


def project(*items):
    return f'<grxui><mode name="Simulation">{"".join(items)}</mode></grxui>'


def model(name, **properties):
    return item("GrxModelItem", name, f"{MODELS}/humanoid/humanoid.wrl", **properties)


def block(name, kind="wood", **properties):
    return item("GrxModelItem", name, f"{MODELS}/blocks/{kind}.body", **properties)


def pair(a, b, link_a="", link_b="", **properties):
    names = {"objectName1": a, "objectName2": b, "jointName1": link_a, "jointName2": link_b}
    return item("GrxCollisionPairItem", f"CP#{a}#{b}", **(names | properties))


def extra_joint(name="rope", **properties):
    ends = {"object1Name": "a", "link1Name": "Wood", "object2Name": "b", "link2Name": "Wood"}
    return item("GrxExtraJointItem", name, **(ends | properties))


def physics(**properties):
    return item("GrxSimulationItem", "simulation", **properties)


def read(*items, diagnostics):
    return load_world_text(project(*items), diagnostics)


def errors_of(path_or_text, diagnostics, load):
    with pytest.raises(ModelError):
        load(path_or_text, diagnostics)
    return [d for d in diagnostics.found if d.severity is Severity.ERROR]


def placements(world):
    return {entry.placement.name: entry.placement for entry in world.bodies}


def surface(world, a, link_a, b, link_b):
    """Return friction and restitution of two links; None if they do not collide."""
    table, bodies = world.physics.materials, placements(world)
    i, j = (
        table.index(bodies[name].contact_material(bodies[name].body.link(link)))
        for name, link in ((a, link_a), (b, link_b))
    )
    mu, e = (matrix[i, j] for matrix in table.matrices(world.physics.friction))
    return None if mu == NO_COLLISION else (mu, e)


# --- the projects of OpenHRP, against a reading by xml.etree ---


class Written:
    """A project as xml.etree reads it."""

    def __init__(self, path):
        self.items = [
            (element.get("class").rpartition(".")[2], element)
            for element in ET.parse(path).getroot().find("mode[@name='Simulation']").iter("item")
            if element.get("select") == "true"
        ]
        self.folder = path.parent

    def of(self, kind):
        return [e for k, e in self.items if k == kind]

    def file(self, element):
        url = element.get("url")
        for variable in ("$(PROJECT_DIR)", "$(CURRENT_DIR)"):
            url = url.replace(variable, str(self.folder))
        return self.folder / url

    @staticmethod
    def properties(element):
        return {p.get("name"): p.get("value").strip() for p in element.iter("property")}


NAMES = sorted(path.name for path in SAMPLES.glob("*.xml")) if SAMPLES.is_dir() else []


def is_complete(name):
    written = Written(SAMPLES / name)
    return all(written.file(e).exists() for e in written.of("GrxModelItem"))


COMPLETE = [name for name in NAMES if is_complete(name)]


@needs_shared
def test_there_are_eight_projects_and_half_have_their_models():
    assert (len(NAMES), len(COMPLETE)) == (8, 4)


@needs_shared
@pytest.mark.parametrize("name", sorted(set(NAMES) - set(COMPLETE)))
def test_all_missing_models_are_reported_at_once_with_their_places(name, recorded):
    written = Written(SAMPLES / name)
    missing = [e for e in written.of("GrxModelItem") if not written.file(e).exists()]
    found = errors_of(SAMPLES / name, recorded, load_world)
    assert [d.code for d in found] == ["missing-model"] * len(missing)
    lines = (SAMPLES / name).read_text().splitlines()
    for diagnostic, element in zip(found, missing, strict=True):
        line, _ = diagnostic.at.source.line_column(diagnostic.at.start)
        assert element.get("url") in lines[line - 1]


@needs_shared
@pytest.mark.parametrize("name", COMPLETE)
def test_a_project_is_read_as_it_is_written(name, recorded):
    check_project(SAMPLES / name, recorded)


@pytest.mark.parametrize("path", [OWN, EVERYTHING], ids=lambda path: path.stem)
def test_own_projects_are_read_as_they_are_written(path, diagnostics):
    check_project(path, diagnostics)
    assert "method" in diagnostics.take("foreign-setting").message  # a note


def check_project(path, diagnostics):
    """Check the world of a project against a reading by xml.etree."""
    written = Written(path)
    world = load_world(path, diagnostics)
    settings = written.properties(*written.of("GrxSimulationItem"))
    assert world.physics.time_step == float(settings["timeStep"])
    assert world.physics.gravity == (0.0, 0.0, -float(settings["gravity"]))
    assert world.duration == float(settings["totalTime"])
    assert [e.get("name") for e in written.of("GrxModelItem")] == list(placements(world))
    for element in written.of("GrxModelItem"):
        properties = written.properties(element)
        placement = placements(world)[element.get("name")]
        body, root = placement.body, placement.body.links[0].name
        assert Path(body.path).resolve() == written.file(element).resolve()
        position = list(map(float, properties[f"{root}.translation"].split()))
        x, y, z, angle = map(float, properties[f"{root}.rotation"].split())
        axis = np.array([x, y, z])
        np.testing.assert_array_equal(placement.X_WL.p, position)
        np.testing.assert_allclose(
            placement.X_WL.R,
            axis_angle_matrix(axis / np.linalg.norm(axis), angle),
            atol=1e-12,
        )
        for link, q in zip(body.moving_links, placement.initial_q, strict=True):
            assert q == float(properties.get(f"{link.name}.angle", 0.0))
    check_pairs(written, world)


def check_pairs(written, world):
    expected = {}
    for element in written.of("GrxCollisionPairItem"):
        p = written.properties(element)
        sides = []
        for i in (1, 2):
            body, link = placements(world)[p[f"objectName{i}"]].body, p[f"jointName{i}"]
            names = [link] if link else [x.name for x in body.links]
            sides.append([(p[f"objectName{i}"], x) for x in names])
        for one, other in product(*sides):
            expected[frozenset((one, other))] = float(p["slidingFriction"])
    links = [(n, link.name) for n, p in placements(world).items() for link in p.body.links]
    for one, other in product(links, links):
        found = surface(world, *one, *other)
        friction = expected.get(frozenset((one, other)))
        if one != other:
            assert found == (None if friction is None else (friction, 0.0)), (one, other)


@needs_shared
@pytest.mark.parametrize("name", COMPLETE)
def test_a_project_can_be_run(name, recorded):
    world = load_world(SAMPLES / name, recorded)
    simulation = Simulation(world, defer_images=True)
    simulation.wanted = lambda _: False
    with simulation:
        simulation.run(0.2)
        assert simulation.state.time_ns == 200_000_000


# --- our own ---


def test_our_own_project_is_read_without_a_warning_and_the_humanoid_stands(diagnostics):
    world = load_world(OWN, diagnostics)
    diagnostics.take("foreign-setting")  # a note: the method of integration
    assert world.duration == 2.0
    with Simulation(world) as simulation:
        simulation.run(world.duration)
        humanoid = simulation.bodies["humanoid"]
        assert humanoid.motion.R[0][2, 2] > 0.999
        assert humanoid.motion.p[0][2] == pytest.approx(0.749, abs=0.01)


def test_defaults_are_those_of_grxui(diagnostics):
    world = read(physics(), block("a"), diagnostics=diagnostics)
    assert (world.physics.time_step, world.duration) == (0.001, 20.0)
    assert world.physics.gravity == (0.0, 0.0, -9.8)
    assert world.physics.solver is PhysicsSettings().solver


def test_old_projects_have_the_settings_in_the_world_state(diagnostics):
    old = item("GrxWorldStateItem", "world", timeStep="0.004", totalTime="3")
    world = read(old, block("a"), diagnostics=diagnostics)
    assert (world.physics.time_step, world.duration) == (0.004, 3.0)


def test_a_body_starts_in_the_motion_of_its_properties(diagnostics):
    world = read(
        model(
            "robot",
            **{
                "PELVIS.velocity": "1 2 3",
                "PELVIS.angularVelocity": "0 0 4",
                "LLEG_KNEE.angle": "0.5",
                "LLEG_KNEE.jointVelocity": "-2",
            },
        ),
        diagnostics=diagnostics,
    )
    (placement,) = placements(world).values()
    knee = [link.name for link in placement.body.moving_links].index("LLEG_KNEE")
    assert (placement.q[knee], placement.dq[knee]) == (0.5, -2.0)
    assert (placement.v.tolist(), placement.w.tolist()) == ([1, 2, 3], [0, 0, 4])
    np.testing.assert_array_equal(placement.X_WL.p, placement.body.root.X_PL.p)


def test_joints_take_torques_unless_they_are_in_high_gain_mode(diagnostics):
    world = read(model("robot", **{"NECK.mode": "HighGain", "HEAD.mode": "Torque"}),
                 diagnostics=diagnostics)  # fmt: skip
    (entry,) = world.bodies
    assert entry.control.mode is ControlMode.EFFORT
    assert {n: c.mode for n, c in entry.control.joints.items()} == {"NECK": ControlMode.POSITION}


def test_joints_whose_program_cannot_run_hold_their_positions(diagnostics):
    (entry,) = read(model("robot", controller="Walk"), diagnostics=diagnostics).bodies
    diagnostics.take("foreign-controller")
    assert entry.control == HOLD


def test_a_program_that_is_replaced_is_only_noted(tmp_path, diagnostics):
    path = tmp_path / "a.xml"
    path.write_text(project(model("robot", controller="Walk")))
    load_world(path, diagnostics, project=ProjectOptions(controlled=("robot",)))
    assert diagnostics.take("foreign-controller").severity is Severity.NOTE


def test_models_that_are_not_selected_are_left_out(diagnostics):
    world = read(block("a"), block("b", select="false"), diagnostics=diagnostics)
    assert list(placements(world)) == ["a"]


def test_bodies_collide_only_in_listed_pairs(diagnostics):
    """One block falls on a plank, another through it."""
    up = {"Wood.translation": "0 0 0.2"}
    items = [item("GrxModelItem", "floor", f"{MODELS}/floor.body")]
    world = read(*items, block("on", **up), block("through", **up), pair("floor", "on"),
                 diagnostics=diagnostics)  # fmt: skip
    with Simulation(world) as simulation:
        simulation.run(1.0)
        assert simulation.bodies["on"].motion.p[0][2] == pytest.approx(0.05, abs=1e-3)
        assert simulation.bodies["through"].motion.p[0][2] == pytest.approx(0.2 - 4.9, abs=0.02)


def test_a_pair_may_name_one_link_and_has_its_friction_and_restitution(diagnostics):
    world = read(
        block("box"),
        model("robot"),
        pair("box", "robot", link_b="HEAD", slidingFriction="0.3", staticFriction="0.3",
             Restitution="0.7"),
        pair("robot", "robot", link_a="HEAD"),
        diagnostics=diagnostics,
    )  # fmt: skip
    assert surface(world, "box", "Wood", "robot", "HEAD") == (0.3, 0.7)
    assert surface(world, "box", "Wood", "robot", "NECK") is None
    assert surface(world, "robot", "HEAD", "robot", "NECK") == (0.5, 0.0)
    assert surface(world, "robot", "CHEST", "robot", "NECK") is None


def test_what_has_no_counterpart_is_reported_once_for_each_class(diagnostics):
    world = read(
        block("a"),
        item("GrxGraphItem", "graph"),
        item("GrxGraphItem", "other"),
        item("GrxPathPlanningAlgorithmItem", "planner"),
        '<view class="com.generalrobotix.ui.view.Grx3DView" name="3DView"/>',
        diagnostics=diagnostics,
    )
    assert len(world.bodies) == 1
    found = [diagnostics.take("foreign-item") for _ in range(3)]
    assert [d.message.split(" ")[0] for d in found] == [
        "GrxGraphItem",
        "GrxPathPlanningAlgorithmItem",
        "Grx3DView",
    ]
    severities = [d.severity for d in found]  # those of the window change no motion
    assert severities == [Severity.NOTE, Severity.WARNING, Severity.NOTE]
    assert all(d.at is not None for d in found)


@pytest.mark.parametrize(
    ("items", "code", "words"),
    [
        ([block("a", controller="Walk")], "foreign-controller", "--controller 'a=MODULE:CLASS'"),
        ([block("a", setupCommand="./Walk")], "foreign-controller", "./Walk"),
        ([block("a", **{"Woo.translation": "0 0 1"})], "unknown-link", "Did you mean 'Wood'?"),
        ([model("a", **{"NECKS.angle": "1"})], "unknown-link", "Did you mean 'NECK'?"),
        ([model("a", **{"NECK.translation": "1 0 0"})], "unknown-link", "root link"),
        ([block("a", isRobo="true")], "unknown-key", "Did you mean 'isRobot'?"),
        ([block("a"), pair("a", "b")], "unknown-body", "no body 'b'"),
        ([block("a"), pair("a", "a", link_a="X")], "unknown-link", "no link 'X'"),
        ([block("a"), pair("a", "a", staticFriction="0.9")], "one-friction", "0.9"),
        ([block("a"), pair("a", "a", springDamperModel="true")], "foreign-setting", "rigid"),
        ([block("a"), physics(integrate="false")], "foreign-setting", "integrate"),
        ([block("a"), physics(), physics()], "foreign-setting", "not used"),
        ([block("a", **{"Wood.rotation": "0 0 0 1"})], "zero-axis", "not rotated"),
    ],
)
def test_what_has_no_effect_is_a_located_warning(items, code, words, diagnostics):
    assert len(read(*items, diagnostics=diagnostics).bodies) == 1
    found = diagnostics.take(code)
    assert found.severity is Severity.WARNING
    assert words in found.message
    assert found.at is not None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("<grxui", "xml-syntax"),
        ("<robot name='a'/>", "not-a-world"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><grxui/>", "xml-entity"),
        ("<grxui>" + 300 * "<mode>" + 300 * "</mode>" + "</grxui>", "too-deep"),
        (project(block("a"), block("a")), "duplicate-name"),
        (project(item("GrxModelItem", "a")), "missing-model"),
        (project(block("")), "missing-key"),
        (project(block("a", **{"Wood.translation": "0 0"})), "wrong-type"),
        (project(block("a", **{"Wood.translation": "0 0 up"})), "wrong-type"),
        (project(model("a", **{"NECK.angle": "1e300"})), "out-of-range"),
        (project(model("a", **{"NECK.mode": "HighGian"})), "unknown-word"),
        (project(physics(timeStep="0")), "out-of-range"),
        (project(physics(totalTime="-1")), "out-of-range"),
        (project(physics(gravity="1e9")), "out-of-range"),
        (project(block("a"), pair("a", "a", Restitution="2")), "out-of-range"),
        (project(block("a"), block("b"), extra_joint(jointType="ball")), "unknown-word"),
        (
            project(block("a"), block("b"), extra_joint(jointType="z", jointAxis="0 0 0")),
            "zero-axis",
        ),
    ],
)
def test_nonsense_is_a_located_error(text, code, recorded):
    (found,) = errors_of(text, recorded, load_world_text)
    assert found.code == code
    assert found.at is not None


def test_a_project_of_too_many_elements_is_refused(recorded, monkeypatch):
    monkeypatch.setattr(common, "_MAX_ELEMENTS", 100)
    text = "<grxui>" + 100 * "<a/>" + "</grxui>"
    (found,) = errors_of(text, recorded, load_world_text)
    assert (found.code, "more than 100 elements" in found.message) == ("too-large", True)


def test_pairs_that_name_too_many_links_are_refused(recorded):
    names = [f"b{i}" for i in range(501)]
    text = project(*map(block, names), *(pair(name, name) for name in names))
    (found,) = errors_of(text, recorded, load_world_text)
    assert found.code == "too-large"


def test_all_missing_models_and_other_errors_are_reported_together(recorded):
    text = project(
        item("GrxModelItem", "a", "$(CURRENT_DIR)/nowhere.wrl"),
        item("GrxModelItem", "b", "$(OPENHRPHOME)/nowhere.wrl"),
        block("c", **{"Wood.translation": "x"}),
        pair("a", "c"),
    )
    found = errors_of(text, recorded, load_world_text)
    assert [d.code for d in found] == ["missing-model", "missing-model", "wrong-type"]


def test_variables_are_taken_from_the_environment_or_the_folders_above(
    tmp_path, monkeypatch, diagnostics
):
    (tmp_path / "sample" / "project").mkdir(parents=True)
    block_file = MODELS / "blocks" / "wood.body"
    (tmp_path / "sample" / "wood.body").write_bytes(block_file.read_bytes())
    path = tmp_path / "sample" / "project" / "a.xml"
    path.write_text(project(item("GrxModelItem", "a", "$(OPENHRPHOME)/sample/wood.body")))
    monkeypatch.delenv("OPENHRPHOME", raising=False)
    assert len(load_world(path, diagnostics).bodies) == 1
    monkeypatch.setenv("OPENHRPHOME", str(MODELS))
    path.write_text(project(item("GrxModelItem", "a", "$(OPENHRPHOME)/blocks/wood.body")))
    assert len(load_world(path, diagnostics).bodies) == 1


def test_extra_joints_connect_links_of_two_bodies(diagnostics):
    points = {"link1LocalPos": "0 0 -0.2 ", "link2LocalPos": "0 0 0.1 "}
    world = read(
        block("a"),
        block("b", **{"Wood.translation": "0 0 1"}),
        extra_joint(**points, jointType="xyz", jointAxis="0 0 0"),
        extra_joint(**points, jointType="xy", jointAxis="0 2 0"),
        extra_joint("rail", jointType="z"),
        diagnostics=diagnostics,
    )
    rope, slot, rail = world.joints
    assert [joint.name for joint in world.joints] == ["rope", "rope_2", "rail"]
    assert [joint.type.value for joint in world.joints] == ["ball", "xy", "z"]
    assert (rope.bodies, rope.links) == (("a", "b"), ("Wood", "Wood"))
    np.testing.assert_array_equal(rope.X_AJ.p, [0, 0, -0.2])
    np.testing.assert_array_equal(rope.X_BJ.p, [0, 0, 0.1])
    np.testing.assert_array_equal(slot.axis, [0, 2, 0])
    np.testing.assert_array_equal(rail.axis, [0, 0, 1])


def test_a_body_hangs_on_an_extra_joint(diagnostics):
    world = read(
        item("GrxModelItem", "a", f"{MODELS}/floor.body"),
        block("b", **{"Wood.translation": "0.3 0 -0.4"}),
        extra_joint(link1Name="FLOOR", link2LocalPos="-0.3 0 0.4"),
        diagnostics=diagnostics,
    )
    with Simulation(world, diagnostics=diagnostics) as simulation:
        motion = simulation.bodies["b"].motion
        for _ in range(300):
            simulation.step()
            hook = motion.p[0] + motion.R[0] @ [-0.3, 0.0, 0.4]
            np.testing.assert_allclose(hook, 0.0, atol=1e-4)


@pytest.mark.parametrize(
    ("properties", "code", "words"),
    [
        ({"object1Name": "c"}, "unknown-body", "no body 'c'"),
        ({"link2Name": "Woof"}, "unknown-link", "'b' has no link 'Woof'. Did you mean 'Wood'?"),
        ({"object2Name": "a"}, "same-body", "must connect two bodies"),
    ],
)
def test_extra_joints_without_two_ends_are_reported(properties, code, words, diagnostics):
    world = read(block("a"), block("b"), extra_joint(**properties), diagnostics=diagnostics)
    assert world.joints == ()
    assert words in diagnostics.take(code).message
