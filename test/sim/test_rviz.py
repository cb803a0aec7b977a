"""RViz configurations of worlds: displays for all that is published, and nothing else."""

import numpy as np
import pytest
import yaml
from paths import MODELS, ROOT

from hrp_model import load_body
from hrp_sim import Simulation, load_world
from hrp_sim.cli.main import main
from hrp_sim.ros.rviz_config import RvizOptions, rviz_config, world_rviz
from hrp_sim.topics.devices import device_topics
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


# Properties of the displays, as RViz 14.3 saves them, besides Class, Name, Enabled, Value.
TOPIC = {"Value", "Depth", "History Policy", "Reliability Policy", "Durability Policy"}
POINTS = {
    "Topic", "Style", "Position Transformer", "Decay Time", "Alpha", "Size (Pixels)",
    "Color Transformer",
}  # fmt: skip
PROPERTIES = {
    "Grid": {"Reference Frame", "Plane", "Offset", "Cell Size", "Plane Cell Count", "Color",
             "Alpha"},
    "RobotModel": {"Description Source", "Description Topic", "TF Prefix", "Visual Enabled",
                   "Collision Enabled", "Alpha", "Update Interval"},
    "TF": {"Show Names", "Show Axes", "Show Arrows", "Marker Scale", "Frame Timeout",
           "Update Interval"},
    "LaserScan": POINTS | {"Color"},
    "PointCloud2": POINTS | {"Axis"},
    "Image": {"Topic", "Normalize Range", "Min Value", "Max Value"},
    "Wrench": {"Topic", "Force Color", "Force Arrow Scale", "Torque Color", "Torque Arrow Scale",
               "Arrow Width", "History Length", "Alpha"},
    "Odometry": {"Topic", "Keep", "Shape", "Covariance"},
    "MarkerArray": {"Topic", "Namespaces"},
}  # fmt: skip


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
    text = rviz_config(simulation, RvizOptions(contacts=True))
    bodies = {name: s.body for name, s in simulation.bodies.items()}
    naming = name_bodies(bodies)
    published = set()
    for name in bodies:
        for found in device_topics(simulation, name, naming[name]).values():
            published |= {f"/{topic}" for topic in found.data}
    unseen = ("joint_states", "data_raw", "camera_info")
    shown = {t for t in published if not t.endswith(unseen)}
    assert set(topics(text)) == {*shown, "/contacts/markers"}
    described = {
        d["Description Topic"]["Value"]: d["TF Prefix"]
        for kind, d in flat(manager(text)["Displays"])
        if kind == "RobotModel"
    }
    for kind, display in flat(manager(text)["Displays"]):
        assert display.keys() - {"Class", "Name", "Enabled", "Value"} <= PROPERTIES[kind]
        assert display.get("Topic", {}).keys() <= TOPIC
        assert display.get("Size (Pixels)") == {"LaserScan": 4, "PointCloud2": 2}.get(kind)
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
    shown = manager(text)["Displays"]
    # RViz opens the windows of disabled images, and enables them, unless their group is disabled.
    images = [d for d in shown if d["Class"].endswith("/Image")]
    assert [d["Topic"]["Value"] for d in images] == ["/mast_camera/image_raw"]
    (group,) = (d for d in shown if d["Class"] == "rviz_common/Group")
    assert not group["Enabled"]
    assert {d["Class"] for d in group["Displays"]} == {"rviz_default_plugins/Image"}
    clouds = {topic: d["Enabled"] for topic, (kind, d) in topics(text).items() if "Cloud" in kind}
    assert clouds == {"/lidar/points": True, "/mast_camera/depth/points": False}


def test_arrows_of_forces_fit_the_robot(diagnostics):
    body = load_body(MODELS / "humanoid" / "humanoid.wrl", diagnostics)
    text = world_rviz(MODELS / "worlds" / "humanoid_in_room.yaml", diagnostics=diagnostics)
    _, foot = topics(text)["/left_foot_force/wrench"]
    weight = 9.81 * sum(link.mass for link in body.links)
    assert 0.2 < foot["Force Arrow Scale"] * weight < 2.0
    models = [d for kind, d in flat(manager(text)["Displays"]) if kind == "RobotModel"]
    assert {d["Name"]: d["Alpha"] for d in models} == {"Room": 0.5, "humanoid": 0.5}


def test_walls_before_a_robot_are_translucent(diagnostics):
    text = world_rviz(MODELS / "worlds" / "rover.yaml", diagnostics=diagnostics)
    models = [d for kind, d in flat(manager(text)["Displays"]) if kind == "RobotModel"]
    assert {d["Name"]: d["Alpha"] for d in models} == {"Room": 0.5, "rover": 1}


@pytest.mark.parametrize(
    ("world", "size", "sensors"),
    [
        ("humanoid_in_room", 1.39, ["left_foot_force", "right_foot_force"]),
        ("arm", 0.81, ["wrist_force"]),
    ],
)
def test_the_arrow_at_rest_is_a_third_of_the_robot(world, size, sensors, diagnostics):
    path = MODELS / "worlds" / f"{world}.yaml"
    shown = topics(world_rviz(path, None, diagnostics))
    with Simulation(load_world(path, diagnostics), defer_images=True) as simulation:
        simulation.wanted = lambda name: name in sensors
        readings = simulation.run(0.5)
    for name in sensors:
        _, display = shown[f"/{name}/wrench"]
        arrow = np.linalg.norm(readings[name].force) * display["Force Arrow Scale"]
        assert size / 6 < arrow < size / 1.5
        assert 0.1 < display["Arrow Width"] < arrow  # shorter ones are not drawn


def test_the_view_is_on_the_robot_and_the_grid_on_the_ground(diagnostics):
    shown = manager(world_rviz(MODELS / "worlds" / "humanoid_in_room.yaml", None, diagnostics))
    view = shown["Views"]["Current"]
    assert view["Target Frame"] == "world"
    assert 0.3 < view["Focal Point"]["Z"] < 0.9
    assert view["Distance"] == pytest.approx(3 * 1.39)
    assert view["Yaw"] == 3.6  # behind it, as it looks along +x
    assert shown["Displays"][0]["Offset"]["Z"] == 0.0


@pytest.mark.parametrize(
    ("options", "frame"),
    [
        (RvizOptions(), "base_link"),
        (RvizOptions(frame_prefix="r/"), "r/base_link"),
        (RvizOptions(base="none"), "CHASSIS"),
    ],
)
def test_the_view_follows_a_vehicle(options, frame, diagnostics):
    shown = manager(world_rviz(MODELS / "worlds" / "rover.yaml", options, diagnostics))
    view = shown["Views"]["Current"]
    assert view["Target Frame"] == frame
    assert shown["Global Options"]["Fixed Frame"] == "world"
    # It is driven from x = -1: in its own frame it is in the middle.
    assert np.hypot(view["Focal Point"]["X"], view["Focal Point"]["Y"]) < 0.1


def test_window_panels_and_tools_are_ready_for_use(diagnostics):
    options = RvizOptions(namespace="lab")
    config = yaml.safe_load(world_rviz(MODELS / "worlds" / "arm.yaml", options, diagnostics))
    window = {"Width": 1600, "Height": 1000, "Hide Left Dock": False, "Hide Right Dock": False}
    assert window.items() <= config["Window Geometry"].items()
    panels = [panel["Class"] for panel in config["Panels"]]
    assert panels == ["rviz_common/Displays", "rviz_common/Time"]
    tools = {t["Class"].rpartition("/")[2]: t for t in config["Visualization Manager"]["Tools"]}
    assert tools.keys() > {"Select", "SetInitialPose", "SetGoal", "PublishPoint"}
    published = {name: t["Topic"]["Value"] for name, t in tools.items() if "Topic" in t}
    assert published == {
        "SetInitialPose": "/lab/initialpose",
        "SetGoal": "/lab/goal_pose",
        "PublishPoint": "/lab/clicked_point",
    }


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
