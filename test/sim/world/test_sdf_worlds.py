"""Worlds of Gazebo."""

import json

import numpy as np
import pytest

from hrp_model import Diagnostics, ModelError, Severity
from hrp_sim import Simulation, load_world
from hrp_sim.cli.main import main
from hrp_sim.control import HOLD, LIMP
from hrp_sim.run.requests.resources import available_worlds, spawnables
from hrp_sim.world.load import load_world_text

GROUND = "<include><uri>model://ground_plane</uri></include>"
SUN = "<include><uri>model://sun</uri></include>"
INERTIAL = (
    "<inertial><mass>2</mass><inertia><ixx>0.01</ixx><iyy>0.01</iyy><izz>0.01</izz></inertia>"
    "</inertial>"
)
BALL = '<collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision>'
LINK = f'<link name="a">{INERTIAL}{BALL}</link>'
PENDULUM = (
    f'{LINK}<joint name="j" type="revolute"><parent>world</parent><child>a</child>'
    "<axis><xyz>0 1 0</xyz></axis></joint>"
)


@pytest.fixture
def recorded():
    return Diagnostics.silent()


def ball(name, pose="", more=""):
    return f'<model name="{name}">{f"<pose>{pose}</pose>" if pose else ""}{more}{LINK}</model>'


def world(*parts, version="1.9", **attributes):
    return f'<sdf version="{version}"><world name="w">{"".join(parts)}</world></sdf>'


def read(text, recorded):
    return {x.placement.name: x for x in load_world_text(text, recorded).bodies}


def refused(text, recorded):
    with pytest.raises(ModelError):
        load_world_text(text, recorded)
    return [(d.code, str(d.at)) for d in recorded.found if d.severity is Severity.ERROR]


def test_models_are_where_the_world_places_them(recorded):
    frame = '<frame name="f"><pose>1 0 0 0 0 1.5707963267948966</pose></frame>'
    placed = '<model name="c"><pose relative_to="f">1 0 0 0 0 0</pose>' + LINK + "</model>"
    on_model = '<model name="d"><pose relative_to="c">0 0 5 0 0 0</pose>' + LINK + "</model>"
    static = ball("b", "0 0 3 0 0 0", "<static>true</static>")
    bodies = read(world(ball("a", "1 2 3 0 0 0.5"), static, frame, placed, on_model), recorded)
    assert list(bodies) == ["a", "b", "c", "d"]
    positions = {name: x.placement.X_WL.p for name, x in bodies.items()}
    np.testing.assert_array_equal(positions["a"], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(positions["c"], [1.0, 1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(positions["d"], [1.0, 1.0, 5.0], atol=1e-12)
    assert [x.placement.fixed for x in bodies.values()] == [False, True, False, False]
    assert recorded.found == []


def test_included_models_are_named_and_placed(tmp_path, recorded):
    (tmp_path / "models" / "box").mkdir(parents=True)
    text = f'<sdf version="1.6"><model name="box"><pose>0 0 7 0 0 0</pose>{LINK}</model></sdf>'
    (tmp_path / "models" / "box" / "model.sdf").write_text(text, encoding="utf-8")
    (tmp_path / "worlds").mkdir()
    path = tmp_path / "worlds" / "w.world"
    include = "<include><uri>model://box</uri>{}</include>"
    more = "<name>other</name><pose>1 0 0 0 0 0</pose><static>1</static>"
    path.write_text(world(include.format(""), include.format(more)), encoding="utf-8")
    box, other = (x.placement for x in load_world(path, recorded).bodies)
    assert (box.name, box.X_WL.p.tolist(), box.fixed) == ("box", [0.0, 0.0, 7.0], False)
    assert (other.name, other.X_WL.p.tolist(), other.fixed) == ("other", [1.0, 0.0, 0.0], True)


def test_a_urdf_may_be_included(tmp_path, recorded):
    (tmp_path / "robot").mkdir()
    robot = '<robot name="r"><link name="l"><inertial><mass value="1"/>'
    robot += '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></robot>'
    (tmp_path / "robot" / "r.urdf").write_text(robot, encoding="utf-8")
    config = "<model><sdf>r.urdf</sdf></model>"
    (tmp_path / "robot" / "model.config").write_text(config, encoding="utf-8")
    path = tmp_path / "w.sdf"
    include = "<include><uri>model://robot</uri><pose>0 0 1 0 0 0</pose>{}</include>"
    more = "<name>s</name><static>true</static>"
    path.write_text(world(include.format(""), include.format(more)), encoding="utf-8")
    one, two = (x.placement for x in load_world(path, recorded).bodies)
    assert (one.name, one.X_WL.p.tolist(), one.fixed) == ("r", [0.0, 0.0, 1.0], False)
    assert (two.name, two.fixed) == ("s", True)


@pytest.mark.parametrize(
    ("parts", "version", "step", "gravity"),
    [
        ((), "1.9", 0.001, -9.8),
        (("<gravity>0 0 -3.7</gravity>",), "1.9", 0.001, -3.7),
        (("<physics><max_step_size>0.002</max_step_size></physics>",), "1.9", 0.002, -9.8),
        (("<physics><gravity>0 0 -1.6</gravity></physics>",), "1.4", 0.001, -1.6),
        (
            ("<physics><ode><solver><dt>0.005</dt></solver></ode></physics>",),
            "1.3",
            0.005,
            -9.8,
        ),
        (
            (
                "<physics><max_step_size>0.002</max_step_size></physics>",
                '<physics default="true"><max_step_size>0.004</max_step_size></physics>',
            ),
            "1.9",
            0.004,
            -9.8,
        ),
    ],
)
def test_time_step_and_gravity(parts, version, step, gravity, recorded):
    physics = load_world_text(world(ball("a"), *parts, version=version), recorded).physics
    assert (physics.time_step, physics.gravity) == (step, (0.0, 0.0, gravity))


def test_a_ball_comes_to_rest_on_the_ground_of_gazebo(recorded):
    """Also far from the middle, as the plane has no edges."""
    config = load_world_text(world(SUN, GROUND, ball("far", "200 0 0.12 0 0 0")), recorded)
    assert recorded.found == []
    simulation = Simulation(config)
    simulation.run(1.0)
    height = simulation.state.bodies["far"].motion.p[0, 2]
    assert height == pytest.approx(0.1, abs=2e-4)


def test_a_plane_is_perpendicular_to_its_normal(recorded):
    plane = "<plane><normal>1 0 1</normal><size>4 4</size></plane>"
    shape = f'<collision name="c"><geometry>{plane}</geometry></collision>'
    slope = f'<model name="slope"><static>1</static><link name="l">{shape}</link></model>'
    down = np.array([1.0, 0.0, -1.0]) / np.sqrt(2.0)
    height = 0.1 * np.sqrt(2.0)
    config = load_world_text(world(slope, ball("b", f"0 0 {height} 0 0 0")), recorded)
    simulation = Simulation(config)
    simulation.run(0.3)
    v = simulation.state.bodies["b"].motion.v[0]
    # It rolls: a = g sin(45 deg) / (1 + I / m r^2).
    expected = 9.8 * np.sin(np.pi / 4.0) / (1.0 + 0.01 / (2.0 * 0.1**2)) * 0.3
    np.testing.assert_allclose(v, expected * down, atol=0.01 * expected)


def test_only_models_with_plugins_have_driven_joints(recorded):
    plugin = '<plugin name="p" filename="joint-controller"/>'
    robot = f'<model name="robot">{PENDULUM}{plugin}</model>'
    bodies = read(world(f'<model name="door">{PENDULUM}</model>', robot), recorded)
    assert (bodies["door"].control, bodies["robot"].control) == (LIMP, HOLD)


def test_links_that_no_joint_connects_are_bodies_of_their_own(recorded):
    second = LINK.replace('"a"', '"b"').replace(INERTIAL, f"<pose>0 0 1 0 0 0</pose>{INERTIAL}")
    model = f'<model name="m"><pose>1 0 0 0 0 0</pose>{LINK}{second}</model>'
    bodies = read(world(model, ball("n")), recorded)
    assert list(bodies) == ["m::a", "m::b", "n"]
    assert bodies["m::b"].placement.X_WL.p.tolist() == [1.0, 0.0, 1.0]


def test_a_gear_between_bodies_is_left_out(recorded):
    def part(n, mimic=""):
        ends = f"<parent>a{n}</parent><child>b{n}</child>"
        joint = f'<joint name="j{n}" type="revolute">{ends}<axis>{mimic}</axis></joint>'
        return LINK.replace('"a"', f'"a{n}"') + LINK.replace('"a"', f'"b{n}"') + joint

    mimic = '<mimic joint="j1"/>'
    model = f'<model name="m">{part(1)}{part(2, mimic)}</model>'
    bodies = read(world(model), recorded)
    assert bodies["m::a2"].placement.body.link("b2").joint.mimic is None
    assert "unknown-joint" in [d.code for d in recorded.found]


def test_bodies_of_equal_names_are_numbered(recorded):
    assert list(read(world(ball("a"), ball("a")), recorded)) == ["a", "a_2"]
    assert "duplicate-name" in [d.code for d in recorded.found]


def test_what_has_no_effect_is_reported_once(recorded):
    parts = '<gui/><light type="sun"/><light/><actor name="x"/><wind/><plugin/>'
    read(world(ball("a"), parts), recorded)
    found = {d.message.split(" ")[0]: d.severity for d in recorded.found}
    notes = dict.fromkeys(("gui", "light", "plugin"), Severity.NOTE)
    assert found == {**notes, **dict.fromkeys(("actor", "wind"), Severity.WARNING)}
    assert len(recorded.found) == 5


@pytest.mark.parametrize(
    ("text", "code", "at"),
    [
        (world("<include><uri>model://x</uri></include>"), "missing-resource", "1:45"),
        (world("<gravity>0 0</gravity>"), "wrong-type", "1:36"),
        (world("<gravity>0 0 nan</gravity>"), "out-of-range", "1:36"),
        (world("<gravity>0 0 1e300</gravity>"), "out-of-range", "1:36"),
        (world("<physics><max_step_size>0</max_step_size></physics>"), "out-of-range", "1:45"),
        (world('<model name="a"/>'), "no-links", "1:36"),
        (world(ball("a", "0 0 0")), "wrong-value", "1:52"),
        ('<sdf version="x"><world name="w"/></sdf>', "unknown-version", "1:6"),
        ('<sdf version="1.9"><world name="w"></sdf>', "xml-syntax", "1:38"),
    ],
)
def test_problems_have_places(text, code, at, recorded):
    found = refused(text, recorded)
    assert (code, f"text:{at}") in [(x, place) for x, place in found]


def test_all_missing_models_are_reported_at_once(recorded):
    include = "<include><uri>model://missing_{}</uri></include>"
    found = refused(world(*(include.format(i) for i in range(5))), recorded)
    assert [code for code, _ in found] == ["missing-resource"] * 5


def test_a_world_of_too_many_models_is_located(tmp_path, recorded):
    text = f'<sdf version="1.9"><model name="m">{LINK}</model></sdf>'
    (tmp_path / "m.sdf").write_text(text, encoding="utf-8")
    include = "<include><uri>m.sdf</uri><name>m{}</name></include>\n"
    path = tmp_path / "w.sdf"
    path.write_text(world("\n", *(include.format(i) for i in range(2000))), encoding="utf-8")
    with pytest.raises(ModelError):
        load_world(path, recorded)
    (error,) = (d for d in recorded.found if d.severity is Severity.ERROR)
    assert (error.code, str(error.at)) == ("too-large", f"{path}:1002:1")


def test_a_world_that_includes_itself_is_located(tmp_path, recorded):
    path = tmp_path / "w.sdf"
    path.write_text(world("<include><uri>w.sdf</uri></include>"), encoding="utf-8")
    with pytest.raises(ModelError):
        load_world(path, recorded)
    assert [d.code for d in recorded.found] == ["resource-cycle"]


@pytest.mark.parametrize("name", ["w.world", "w.sdf", "W.SDF", "w.xml"])
def test_worlds_are_taken_wherever_a_world_is(name, tmp_path, capsys):
    text = f"<?xml version='1.0'?>\n<!-- <mujoco> -->\n{world(GROUND, ball('b', '0 0 0.1 0 0 0'))}"
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert main(["run", str(tmp_path / name), "--duration", "0.1", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["bodies"]) >= {"b"}
    if name != "w.xml":
        found, _ = available_worlds([str(tmp_path)])
        assert any(x.uri.endswith(name) for x in found)
        models, _ = spawnables([str(tmp_path)])
        assert not any(x.uri.endswith(name) for x in models)


def test_comments_may_contain_hyphens(recorded):
    """As in worlds of Gazebo itself, whose parser is no strict one."""
    text = world(ball("a")).replace("<world", "<!-- gz sim -s --iterations 1 <x> -->\n<world")
    assert list(read(text, recorded)) == ["a"]
    assert [d.code for d in recorded.found] == ["xml-comment"]
    assert "xml-syntax" in [x for x, _ in refused(text.replace("</world>", "</word>"), recorded)]
