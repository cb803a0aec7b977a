"""Launch files and RViz configurations, checked against the nodes they start.

``launch`` is not on PyPI. Where it is missing, stand-ins that only remember what they were
made from let the files run all the same; where it is there, it reads them too.
"""

import ast
import importlib.util
import sys
from types import ModuleType

import pytest
import yaml
from paths import MODELS, ROOT

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from hrp_model import load_body
from hrp_model.diagnostics import Diagnostics
from hrp_msgs import names
from hrp_msgs.node_params import MODEL_NODE, SIM_NODE

FILES = sorted((ROOT / "launch").glob("*.launch.py"))
CONFIGS = sorted((ROOT / "config").glob("*.rviz"))
PARAMS = {
    "model_node": {p.name: p for p in MODEL_NODE},
    "sim_node": {p.name: p for p in SIM_NODE},
}
OF_EVERY_NODE = {"use_sim_time": bool}


class Remembers:
    """Stands in for a class of ``launch``: keeps what it was made from."""

    def __init__(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs

    def perform(self, context):
        """Return the value of the launch argument of this name."""
        return context[self.args[0]]


class PackageNotFoundError(KeyError):
    pass


def no_package(name):
    if name != "hrp_ros":
        raise PackageNotFoundError(name)
    return str(ROOT)


STAND_INS = {
    "launch": ["LaunchDescription", "LaunchContext"],
    "launch.actions": ["DeclareLaunchArgument", "LogInfo", "OpaqueFunction", "Shutdown"],
    "launch.conditions": ["IfCondition"],
    "launch.substitutions": ["LaunchConfiguration"],
    "launch_ros": [],
    "launch_ros.actions": ["Node"],
    "launch_ros.parameter_descriptions": ["ParameterValue"],
}


@pytest.fixture
def stand_ins(monkeypatch):
    for module_name, classes in STAND_INS.items():
        module = ModuleType(module_name)
        for name in classes:
            setattr(module, name, type(name, (Remembers,), {}))
        monkeypatch.setitem(sys.modules, module_name, module)
    packages = ModuleType("ament_index_python.packages")
    packages.PackageNotFoundError = PackageNotFoundError
    packages.get_package_share_directory = no_package
    monkeypatch.setitem(sys.modules, "ament_index_python.packages", packages)


@pytest.fixture
def described(request, stand_ins):
    """Return what a launch file describes: (arguments by name, nodes)."""
    (entities,) = loaded(request.param).generate_launch_description().args
    kinds = {}
    for entity in entities:
        kinds.setdefault(type(entity).__name__, []).append(entity)
    arguments = {a.args[0]: a.kwargs for a in kinds["DeclareLaunchArgument"]}
    return arguments, kinds["Node"]


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.name.replace(".", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


each_file = pytest.mark.parametrize("described", FILES, ids=lambda p: p.name, indirect=True)


@each_file
def test_every_argument_says_what_it_is_for(described):
    arguments, _ = described
    assert all(a["description"].endswith(".") and "default_value" in a for a in arguments.values())


@each_file
def test_default_files_exist(described):
    arguments, _ = described
    paths = [a["default_value"] for a in arguments.values() if "/" in a["default_value"]]
    assert paths
    assert all((ROOT / path).is_file() for path in paths)


@each_file
def test_our_nodes_get_parameters_that_they_have_in_the_type_they_want(described):
    _, nodes = described
    ours = [n for n in nodes if n.kwargs["package"] == "hrp_ros"]
    assert ours
    for node in ours:
        known = PARAMS[node.kwargs["executable"]]
        for name, value in node.kwargs["parameters"][0].items():
            kind = value.kwargs["value_type"] if hasattr(value, "kwargs") else type(value)
            default = known[name].default if name in known else None
            assert kind is (OF_EVERY_NODE.get(name) or type(default)), name


@pytest.mark.parametrize(("gui", "words"), [("true", ["not installed"]), ("false", [])])
def test_missing_sliders_are_told_to_those_who_asked_for_them(gui, words, stand_ins):
    found = loaded(ROOT / "launch" / "display.launch.py").sliders({"gui": gui})
    assert len(found) == len(words)
    assert all(word in log.kwargs["msg"] for word, log in zip(words, found, strict=True))


@pytest.mark.parametrize(
    ("described", "path"), [(path, path) for path in FILES], indirect=["described"]
)
def test_every_argument_used_is_declared(described, path):
    arguments, _ = described
    calls = [n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if is_call(n)]
    by_name = {}
    for call in calls:
        by_name.setdefault(call.func.id, set()).add(call.args[0].value)
    used = by_name.get("LaunchConfiguration", set()) | by_name.get("parameter", set())
    assert used == set(arguments)


def is_call(node):
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and bool(node.args)
        and isinstance(node.args[0], ast.Constant)
    )


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_launch_itself_reads_the_file(path):
    pytest.importorskip("launch_ros", reason="launch_ros is not importable")
    assert loaded(path).generate_launch_description().entities


# RViz


def displays(path):
    config = yaml.safe_load(path.read_text(encoding="utf-8"))["Visualization Manager"]
    return {d["Class"].rpartition("/")[2]: d for d in config["Displays"]}, config


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.name)
def test_the_robot_is_drawn_from_its_latched_description(path):
    found, config = displays(path)
    topic = found["RobotModel"]["Description Topic"]
    assert topic["Value"] == f"/{names.ROBOT_DESCRIPTION}"
    assert topic["Durability Policy"] == "Transient Local"
    assert topic["Reliability Policy"] == "Reliable"
    assert config["Global Options"]["Fixed Frame"] == "world"
    assert "TF" in found


def test_the_simulation_shows_the_sensors_of_the_default_robot():
    path = MODELS / "humanoid" / "humanoid.wrl"
    body = load_body(path, Diagnostics(listener=lambda _: None))
    sensors = {type(d).__name__: names.topic_token(d.name) for d in body.devices}
    _, config = displays(ROOT / "config" / "simulation.rviz")
    topics = {d["Topic"]["Value"]: d for d in config["Displays"] if "Topic" in d}
    forces = [d.name for d in body.devices if type(d).__name__ == "ForceSensor"]
    depth, _, points = names.depth_topics(sensors["Camera"])
    kinds = {
        f"/{names.scan_topic(sensors['RangeSensor'], only_one=True)}": "LaserScan",
        f"/{names.image_topics(sensors['Camera'])[0]}": "Image",
        f"/{depth}": "Image",
        f"/{points}": "PointCloud2",
        **{f"/{names.wrench_topic(names.topic_token(name))}": "Wrench" for name in forces},
    }
    assert {topic: d["Class"].rpartition("/")[2] for topic, d in topics.items()} == kinds
    assert all(d["Topic"]["Reliability Policy"] == "Reliable" for d in topics.values())
