"""The pages docs/ros2*.md say what the nodes do: their tables are held to nodes that run here.

What README.md says of ROS is held to the same.
"""

import importlib
import math
import re
import shlex
import signal
import time
from contextlib import ExitStack, closing
from functools import cache

import launch_double
import pytest
import yaml
from launch_double import CONTROL, Launched
from page_tools import ROS2_PAGES, data_rows, marked_rows
from paths import MODELS, ROOT

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from ros_peer import ENVIRONMENT, Peer, running, stamp_ns
from sensor_msgs.msg import JointState

from hrp_model import load_body
from hrp_msgs import qos
from hrp_msgs.node.qos import profile
from hrp_sim.ros.sim_node import RosSession
from hrp_sim.run.run import Run
from scripts.pages import parameters as tables

PAGE = ROS2_PAGES
README = (ROOT / "README.md").read_text(encoding="utf-8")
TEXTS = README + PAGE
EXAMPLE = ROOT / "docs" / "examples" / "pd_controller.py"
PROFILES = {
    "sensor": profile(qos.sensor(500.0, 1000)),
    "image": profile(qos.IMAGE),
    "latched": profile(qos.LATCHED),
    "tf": profile(qos.TF),
    "clock": profile(qos.CLOCK),
    "diagnostics": profile(qos.DIAGNOSTICS),
}
WORLDS = [
    MODELS / "worlds" / f"{name}.yaml" for name in ("humanoid_in_room", "rover", "arm", "conveyor")
]
WORLDS.append(ROOT / "test" / "data" / "robots" / "turnstile.wrl")
# Of every node, and of no interest to the reader.
USUAL = re.compile(
    r"/rosout|/parameter_events|.*/(describe|get|list|set)_parameter.*|.*/get_type_description"
)


def rows(name):
    found = marked_rows(PAGE, name)
    if name == "Topics":
        for topics, *rest in data_rows("sensors"):
            found.append([f"`{'`, `'.join(topics.split(' or '))}`", *rest])
    return found


def patterns(cell):
    """Return the regular expressions of names in code, any body's namespace before them."""
    found = []
    for name in re.findall(r"`([^`]+)`", cell):
        own = "" if name.startswith("/") else "/(?:[A-Za-z0-9_]+/)?" if name[0] != "~" else "/"
        name = name.replace("~/", "sim_node/")
        found.append(re.compile(own + re.sub("<[a-z]+>", "[A-Za-z0-9_]+", name)))
    return found


def wait_until_alone(node):
    """Wait until the namesakes of earlier sessions, which have ended, have left the graph."""
    deadline = time.monotonic() + 300.0
    while node.get_node_names().count(node.get_name()) > 1:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@cache
def surface():
    """Return what nodes of several worlds publish, take and offer: (name, type) and QoS."""
    published, taken, offered = {}, set(), set()
    for world, settings in [*((w, {}) for w in WORLDS), (WORLDS[2], {"hardware_topics": True})]:
        parameters = {"world": str(world), "describe": True}
        with ExitStack() as stack:
            session = stack.enter_context(closing(RosSession({**parameters, **settings}, [])))
            session.serve(Run(session.simulation))
            wait_until_alone(session.node)
            node = session.node
            me = node.get_name(), node.get_namespace()
            for name, kinds in node.get_publisher_names_and_types_by_node(*me):
                for info in node.get_publishers_info_by_topic(name):
                    published[name, kinds[0]] = info.qos_profile
            taken |= {(n, k[0]) for n, k in node.get_subscriber_names_and_types_by_node(*me)}
            offered |= {(n, k[0]) for n, k in node.get_service_names_and_types_by_node(*me)}
    return published, taken, offered


@pytest.fixture(autouse=True)
def apart(monkeypatch):
    """Keep the nodes of this file out of others' domains."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def spelled(kind):
    """Return a type as the page spells it: without the folder in the middle."""
    package, _, name = kind.split("/")
    return f"{package}/{name}"


def same_kind(kind, cell):
    package, *names = re.split(r"/| or ", cell.removesuffix(" (action)"))
    return spelled(kind) in {f"{package}/{name}" for name in names}


def check(found, table, kind_of=1):
    """Check that each thing has a row with its type, and each row a thing."""
    unused = {row[0] for row in table}
    for name, kind in sorted(found):
        if USUAL.fullmatch(name):
            continue
        fitting = [
            row
            for row in table
            if any(p.fullmatch(name) for p in patterns(row[0])) and same_kind(kind, row[kind_of])
        ]
        assert fitting, f"docs/ros2*.md have no row for {name} ({spelled(kind)})"
        unused -= {row[0] for row in fitting}
    assert not unused


def test_all_that_is_published_is_told():
    published, _, _ = surface()
    check({x for x in published if "/_action/" not in x[0]}, rows("Topics"))


def test_the_qos_of_what_is_published_is_told():
    published, _, _ = surface()
    for (name, kind), found in published.items():
        for row in rows("Topics"):
            if any(p.fullmatch(name) for p in patterns(row[0])) and same_kind(kind, row[1]):
                told = PROFILES[row[2]]
                assert found.reliability == told.reliability, name
                assert found.durability == told.durability, name


def test_the_words_for_qos_mean_what_the_page_says():
    text = PAGE[PAGE.index("| QoS above |") :].split("\n\n")[0]
    told = {line.strip("| ").split(" | ")[0]: line for line in text.splitlines()[2:]}
    assert set(told) == set(PROFILES)
    for word, expected in PROFILES.items():
        latched = expected.durability is DurabilityPolicy.TRANSIENT_LOCAL
        assert expected.reliability is ReliabilityPolicy.RELIABLE
        assert ("transient local" in told[word]) == latched
        depth = rf"the last {expected.depth} \||the last two seconds \({expected.depth} at 500 Hz\)"
        assert re.search(depth, told[word])


def test_all_that_is_taken_is_told():
    _, taken, _ = surface()
    commands = [row for row in rows("Commands") if "(action)" not in row[1]]
    check(taken, commands)


def test_all_services_are_told():
    _, _, offered = surface()
    services = {(name, kind) for name, kind in offered if "/_action/" not in name}
    check(services, [row for row in rows("Services") if "(action)" not in row[1]])


def test_the_actions_are_told():
    _, _, offered = surface()
    goals = {
        (name.removesuffix("/_action/send_goal"), kind.removesuffix("_SendGoal"))
        for name, kind in offered
        if name.endswith("/_action/send_goal")
    }
    actions = [
        row for part in ("Commands", "Services") for row in rows(part) if "(action)" in row[1]
    ]
    check(goals, actions)


@pytest.mark.parametrize("node", tables.TABLES)
def test_the_parameters_are_those_of_the_nodes(node):
    _, rows = tables.parameter_table(tables.TABLES[node])
    assert data_rows(f"parameters_{node}") == rows


def test_parameters_that_the_text_names_exist():
    named = set(re.findall(r"-p (\w+):=|[ `](\w+):=", TEXTS))
    known = {p.name for params in tables.TABLES.values() for p in params} | launch_arguments()
    assert {a or b for a, b in named} <= known | {"world", "model"}


@cache
def launch_arguments():
    found = set()
    for path in sorted((ROOT / "launch").glob("*.launch.py")):
        with launch_double.in_place(CONTROL):
            launched = Launched({"rviz": "false"})
            launched.run(path)
            found |= set(launched.arguments)
            launched.shut_down()
    return found


def test_the_arguments_of_launch_files_are_told():
    text = PAGE[PAGE.index("| argument |") :].split("\n\n")[0]
    told = set(re.findall(r"`(\w+)`", " ".join(x.split("|")[1] for x in text.splitlines()[2:])))
    parameters = {p.name for params in tables.TABLES.values() for p in params}
    assert told - {"frame_prefix"} == launch_arguments() - parameters - tables.SENSORS


@pytest.mark.ros
def test_the_example_leads_the_arm_in_lock_step(tmp_path):
    [command] = re.findall(r"^sim_node (--ros-args .*)$", EXAMPLE.read_text(), re.MULTILINE)
    quick = [*shlex.split(command), "-p", "real_time_factor:=0.0"]
    logs = tmp_path / "sim.txt", tmp_path / "controller.txt"
    with (
        running(["-m", "hrp_sim.ros.sim_node", *quick], logs[0], folder=ROOT),
        running([str(EXAMPLE)], logs[1]) as controller,
    ):
        peer = Peer()
        try:
            peer.follow("joint_states", JointState)
            # If nobody answered, each period would take the whole time-out.
            peer.first_after("joint_states", 1_200_000_000)
        except AssertionError:
            print(*(log.read_text(encoding="utf-8") for log in logs))
            raise
        finally:
            peer.close()
        controller.send_signal(signal.SIGINT)
        assert controller.wait(timeout=300) == 0, logs[1].read_text(encoding="utf-8")
    # A PD controller is late by damping / stiffness, and gravity bends it a little.
    for reading in peer.messages["joint_states"]:
        time = stamp_ns(reading.header.stamp) * 1e-9
        where = dict(zip(reading.name, reading.position, strict=True))
        if time > 1.0:
            assert where["J1"] == pytest.approx(0.5 * math.sin(2.0 * (time - 0.13)), abs=0.05)
        assert where["J2"] == pytest.approx(0.5, abs=0.03)
        assert where["J3"] == pytest.approx(0.9, abs=0.03)
    assert logs[1].read_text(encoding="utf-8") == ""


def fill(message, values):
    """Give fields of a message values as ``ros2 topic pub`` does."""
    for name, value in values.items():
        kind = message.get_fields_and_field_types()[name]
        if isinstance(value, dict):
            fill(getattr(message, name), value)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            package, name_of_item = re.search(r"(\w+)/(\w+)>", kind).groups()
            item = getattr(importlib.import_module(f"{package}.msg"), name_of_item)
            parts = [item() for _ in value]
            for part, inner in zip(parts, value, strict=True):
                fill(part, inner)
            setattr(message, name, parts)
        else:
            setattr(message, name, value)


def test_commands_to_type_are_messages_about_joints_that_there_are():
    found = re.findall(r"topic pub [^/]*(/\w+) (\w+)/msg/(\w+) (?:\\\n\s*)?'(.*)'", TEXTS)
    assert len(found) == TEXTS.count("topic pub")
    body = load_body(MODELS / "humanoid" / "humanoid.wrl")
    joints = {link.joint.name for link in body.moving_links}
    for topic, package, name, text in found:
        message = getattr(importlib.import_module(f"{package}.msg"), name)()
        fill(message, yaml.safe_load(text))
        assert any(p.fullmatch(topic) for row in rows("Commands") for p in patterns(row[0]))
        assert joints.issuperset(getattr(message, "name", getattr(message, "joint_names", [])))


def test_service_calls_to_type_are_requests_to_services_of_the_page():
    found = re.findall(r"service call (/\S+) (\w+)/srv/(\w+) (?:\\\n\s*)?'(.*)'", TEXTS)
    assert len(found) == TEXTS.count("service call")
    for service, package, name, text in found:
        module = pytest.importorskip(f"{package}.srv", reason=f"{package} is not importable")
        fill(getattr(module, name).Request(), yaml.safe_load(text))
        fitting = [
            row
            for row in rows("Services")
            if any(p.fullmatch(service) for p in patterns(row[0]))
            and same_kind(f"{package}/srv/{name}", row[1])
        ]
        assert fitting, service


def test_parameters_of_joints_are_those_of_the_node():
    named = re.findall(r"param set /sim_node (\S+) (\S+)", TEXTS)
    assert named
    parameters = {"world": str(MODELS / "worlds" / "humanoid_in_room.yaml")}
    with closing(RosSession(parameters, [])) as session:
        for name, value in named:
            given = Parameter(name, value=yaml.safe_load(value))
            [result] = session.node.set_parameters([given])
            assert result.successful, result.reason
