"""RViz configurations of worlds: displays for all that is published, and nothing else."""

import pytest
import yaml
from paths import MODELS, ROOT

from hrp_model import load_body
from hrp_sim import Simulation, load_world
from hrp_sim.cli.main import main
from hrp_sim.publishing.device_topics import device_topics
from hrp_sim.ros.rviz_config import RvizOptions, rviz_config, world_rviz
from hrp_sim.world.naming import name_bodies

WORLDS = sorted((MODELS / "worlds").glob("*.yaml"))
# The message that each display shows.
SHOWN = {
    "LaserScan": "LaserScan",
    "PointCloud2": "PointCloud2",
    "Image": "Image",
    "Wrench": "WrenchStamped",
    "Odometry": "Odometry",
}


def manager(text):
    return yaml.safe_load(text)["Visualization Manager"]


def flat(displays):
    """Yield displays, those of groups too, with their short class."""
    for display in displays:
        if "Displays" in display:
            yield from flat(display["Displays"])
        else:
            yield display["Class"].rpartition("/")[2], display


def topics(text):
    """Return the display of each topic."""
    shown = flat(manager(text)["Displays"])
    return {d["Topic"]["Value"]: (kind, d) for kind, d in shown if "Topic" in d}


@pytest.mark.parametrize("path", WORLDS, ids=lambda p: p.stem)
def test_all_that_rviz_can_show_is_shown_where_it_is_published(path, diagnostics):
    simulation = Simulation(load_world(path, diagnostics), defer_images=True)
    text = rviz_config(simulation)
    bodies = {name: s.body for name, s in simulation.bodies.items()}
    naming = name_bodies(bodies)
    published = set()
    for name in bodies:
        for found in device_topics(simulation, name, naming[name]).values():
            published |= {f"/{topic}" for topic in found.data}
    unseen = ("joint_states", "data_raw", "camera_info")
    assert set(topics(text)) == {t for t in published if not t.endswith(unseen)}
    described = {
        d["Description Topic"]["Value"]: d["TF Prefix"]
        for kind, d in flat(manager(text)["Displays"])
        if kind == "RobotModel"
    }
    assert described == {
        f"/{naming[name].topic('robot_description')}": naming[name].frame_prefix.rstrip("/")
        for name in bodies
    }
    simulation.close()


def test_displays_listen_as_the_publishers_speak(diagnostics):
    text = world_rviz(MODELS / "worlds" / "rover.yaml", diagnostics=diagnostics)
    for kind, display in topics(text).values():
        assert kind in SHOWN
        assert display["Topic"]["Reliability Policy"] == "Reliable"
        assert display["Topic"]["Durability Policy"] == "Volatile"
    models = [d for kind, d in flat(manager(text)["Displays"]) if kind == "RobotModel"]
    assert {d["Description Topic"]["Durability Policy"] for d in models} == {"Transient Local"}


def test_a_namespace_and_frames_are_those_of_the_node(diagnostics):
    options = RvizOptions("lab/one", "left/", "map")
    text = world_rviz(MODELS / "worlds" / "arm.yaml", options, diagnostics)
    assert all(topic.startswith("/lab/one/") for topic in topics(text))
    assert manager(text)["Global Options"]["Fixed Frame"] == "map"
    models = {d["Name"]: d["TF Prefix"] for k, d in flat(manager(text)["Displays"]) if "Model" in k}
    assert models == {"arm": "left", "Floor": "left/Floor"}


@pytest.mark.parametrize(
    ("given", "found"), [("cell/arm", "/lab/cell/arm/"), ("/cell/arm", "/cell/arm/")]
)
def test_a_namespace_that_the_world_gives_is_kept(given, found, tmp_path, diagnostics):
    world = tmp_path / "w.yaml"
    arm = MODELS / "arm" / "arm.body"
    world.write_text(f"bodies: [ {{ model: {arm}, namespace: {given} }} ]", encoding="utf-8")
    text = world_rviz(world, RvizOptions("lab"), diagnostics)
    assert all(topic.startswith(found) for topic in topics(text))
    models = [d for kind, d in flat(manager(text)["Displays"]) if kind == "RobotModel"]
    assert [d["Description Topic"]["Value"] for d in models] == [f"{found}robot_description"]


def test_topics_of_another_naming_are_shown(diagnostics):
    options = RvizOptions(naming="choreonoid")
    found = topics(world_rviz(MODELS / "worlds" / "humanoid_in_room.yaml", options, diagnostics))
    assert found["/humanoid/left_foot_force"][0] == "Wrench"
    assert found["/humanoid/scanner/scan"][0] == "LaserScan"
    assert found["/humanoid/head_camera/point_cloud"][0] == "PointCloud2"


def test_contacts_are_shown_to_who_asks(diagnostics, capsys):
    world = MODELS / "worlds" / "arm.yaml"
    assert "/contacts/markers" not in topics(world_rviz(world, None, diagnostics))
    assert main(["rviz", str(world), "--contacts", "--namespace", "lab"]) == 0
    kind, display = topics(capsys.readouterr().out)["/lab/contacts/markers"]
    assert kind == "MarkerArray"
    assert display["Enabled"]
    assert display["Topic"]["Reliability Policy"] == "Reliable"


def test_several_robots_have_a_group_each(diagnostics):
    text = world_rviz(MODELS / "worlds" / "stack.yaml", diagnostics=diagnostics)
    groups = [d for d in manager(text)["Displays"] if d["Class"] == "rviz_common/Group"]
    assert [d["Name"] for d in groups] == [f"block{i}" for i in range(10)]


def test_the_first_camera_alone_is_drawn_at_once(diagnostics):
    text = world_rviz(MODELS / "worlds" / "rover.yaml", diagnostics=diagnostics)
    on = {topic for topic, (kind, d) in topics(text).items() if kind == "Image" and d["Enabled"]}
    assert on == {"/mast_camera/image_raw"}


def test_arrows_of_forces_fit_the_robot(diagnostics):
    body = load_body(MODELS / "humanoid" / "humanoid.wrl", diagnostics)
    text = world_rviz(MODELS / "worlds" / "humanoid_in_room.yaml", diagnostics=diagnostics)
    _, foot = topics(text)["/left_foot_force/wrench"]
    weight = 9.81 * sum(link.mass for link in body.links)
    assert 0.2 < foot["Force Arrow Scale"] * weight < 2.0


def test_the_view_is_on_the_robot_and_the_grid_on_the_ground(diagnostics):
    shown = manager(world_rviz(MODELS / "worlds" / "humanoid_in_room.yaml", None, diagnostics))
    view = shown["Views"]["Current"]
    assert 0.3 < view["Focal Point"]["Z"] < 0.9
    assert 1.0 < view["Distance"] < 5.0
    assert shown["Displays"][0]["Offset"]["Z"] == 0.0


def test_an_empty_world_is_shown_too():
    from hrp_sim.world.config import WorldConfig

    shown = manager(rviz_config(Simulation(WorldConfig())))
    assert {kind for kind, _ in flat(shown["Displays"])} == {"Grid", "TF"}


def test_a_prefix_that_rviz_cannot_have_is_refused_with_the_one_it_can(capsys):
    assert main(["rviz", str(MODELS / "worlds" / "arm.yaml"), "--frame-prefix", "left"]) == 2
    assert "use 'left/' instead of 'left'" in capsys.readouterr().err


def test_the_command_writes_what_is_shipped(tmp_path):
    world = MODELS / "worlds" / "humanoid_in_room.yaml"
    assert main(["rviz", str(world), "-o", str(tmp_path / "new" / "a.rviz")]) == 0
    shipped = (ROOT / "config" / "simulation.rviz").read_text(encoding="utf-8")
    assert (tmp_path / "new" / "a.rviz").read_text(encoding="utf-8") == shipped


def test_the_command_prints(capsys):
    assert main(["rviz", str(MODELS / "arm" / "arm.body"), "--namespace", "x"]) == 0
    assert "/x/robot_description" in capsys.readouterr().out


def test_a_world_that_is_none_is_told(tmp_path, capsys):
    assert main(["rviz", str(tmp_path / "none.yaml")]) == 1
    assert "none.yaml" in capsys.readouterr().err
