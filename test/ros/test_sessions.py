"""Simulations side by side and one after the other in a process, and what --ros-args do to them."""

from __future__ import annotations

import pytest
from paths import MODELS, ROOT

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from rclpy.qos import ReliabilityPolicy
from ros_peer import LATCHED, Peer, stamp_ns
from ros_session import session
from sensor_msgs.msg import JointState, LaserScan
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from hrp_model import ModelError
from hrp_msgs import names
from hrp_msgs.node.start import WrongUseError
from hrp_msgs.topics.commands import KINDS
from hrp_sim.sensors import CameraSensor

pytestmark = pytest.mark.ros

ARM = MODELS / "arm" / "arm.body"
ONE = f"bodies: [ {{ model: {ARM}, position: [ 0, 0, 0 ] }} ]"
TWO = f"""
bodies:
  - {{ name: left, model: {ARM}, position: [ 0, 1, 0 ] }}
  - {{ name: right, model: {ARM}, position: [ 0, -1, 0 ] }}
"""


@pytest.fixture
def peer():
    peer = Peer()
    yield peer
    peer.close()


def test_a_project_is_read_as_the_parameters_say():
    project = ROOT / "test" / "data" / "projects" / "workshop.cnoid"
    given = {"world": str(project), "variables": f"SHARE={MODELS}"}
    with session({**given, "simulator": "AIST"}) as running:
        assert [entry.placement.name for entry in running.ros.node.world.bodies] == [
            *("rover", "cargo", "arm", "cargo_2")
        ]
        assert running.ros.node.world.physics.time_step == 0.005
    for variables, words in {
        "SHARE": "parameter 'variables': must be NAME=FOLDER, such as SHARE=share, not 'SHARE'",
        f"SHARE={MODELS}:LAB=/nowhere": "parameter 'variables': there is no folder '/nowhere'",
    }.items():
        with (
            pytest.raises(WrongUseError, match=words),
            session({**given, "variables": variables}),
        ):
            pass


@pytest.fixture
def two(tmp_path):
    (tmp_path / "two.yaml").write_text(TWO, encoding="utf-8")
    return {"world": str(tmp_path / "two.yaml"), "describe": True}


def nodes(peer):
    found = peer.node.get_node_names_and_namespaces()
    return {f"{namespace.rstrip('/')}/{name}" for name, namespace in found} - {"/test_peer"}


def test_a_namespace_holds_a_whole_simulation_and_two_of_them_live_side_by_side(peer, two):
    everything = {"/a/sim"}
    with session(two, ["--ros-args", "-r", "__ns:=/a", "-r", "__node:=sim"]):
        with session(two, ["--ros-args", "-r", "__ns:=/b"]):
            for robot in ("a/left", "a/right", "b/left", "b/right"):
                peer.follow(f"{robot}/joint_states", JointState)
                peer.follow(f"{robot}/robot_description", String, LATCHED)
            for robot in ("a/left", "a/right", "b/left", "b/right"):
                peer.wait_for(f"{robot}/joint_states")
                said = peer.messages[f"{robot}/robot_description"]
                peer.wait_until("a URDF", lambda said=said: said)
            others = {"/b/sim_node"}
            peer.wait_until("all nodes", lambda: nodes(peer) == everything | others)
        peer.wait_until("the end of one", lambda: nodes(peer) == everything)
        peer.wait_for("a/left/joint_states", 3)
        with session(two, ["--ros-args", "-r", "__ns:=/b"]):
            peer.wait_for("b/right/joint_states", 3)
            peer.wait_for("a/right/joint_states", 3)


def test_frames_of_two_simulations_are_kept_apart_by_prefixes(peer, two):
    peer.follow("/tf_static", TFMessage, LATCHED)
    peer.follow("/tf", TFMessage)
    one = {**two, "frame_prefix": "a/"}
    other = {**two, "frame_prefix": "b/", "world_frame": "map"}

    def told(*topics):
        return [t for topic in topics for m in list(peer.messages[topic]) for t in m.transforms]

    def children(*topics):
        return {t.child_frame_id for t in told(*topics)}

    with (
        session(one, ["--ros-args", "-r", "__ns:=/a"]),
        session(other, ["--ros-args", "-r", "__ns:=/b"]),
    ):
        robots = [f"{sim}/{side}" for sim in "ab" for side in ("left", "right")]
        roots = {f"{robot}/base_link" for robot in robots}
        hands = {f"{robot}/J6" for robot in robots}
        peer.wait_until("all hands", lambda: hands <= children("/tf"))
        peer.wait_until("all roots", lambda: roots <= children("/tf_static"))
    assert not children("/tf") & children("/tf_static")
    # Nobody else tells of a frame, and none has two places at a time.
    parents = {(t.child_frame_id, t.header.frame_id) for t in told("/tf", "/tf_static")}
    assert len(parents) == len(dict(parents)) == len(children("/tf", "/tf_static"))
    times = [(t.child_frame_id, stamp_ns(t.header.stamp)) for t in told("/tf")]
    assert len(times) == len(set(times))
    own = {r: {c.removeprefix(r) for c in dict(parents) if c.startswith(r)} for r in robots}
    assert sum(map(len, own.values())) == len(parents)
    assert all(frames == own["a/left"] for frames in own.values())
    worlds = {"a": "world", "b": "map"}
    assert {(root, worlds[root[0]]) for root in roots} <= parents
    assert {child for child, parent in parents if parent in worlds.values()} == roots


def test_what_nobody_listens_to_is_neither_read_nor_published():
    with session({"world": str(MODELS / "worlds" / "rover.yaml")}) as running:
        runner = running.runner
        readings = runner.call(lambda: [runner.simulation.step() for _ in range(20)])
        while runner.simulation.state.time_ns < 50_000_000:
            runner.call(lambda: None)
        counts = {name: count for name, (_, count) in running.ros.published().items() if count}
    assert not any(readings)
    assert counts.keys() <= {"/tf_static", "/diagnostics"}


HARDWARE = {names.HARDWARE_COMMANDS, names.EXTERNAL_WRENCH}


@pytest.mark.parametrize("lock_step", ["", "joint_commands"], ids=["free", "lock-step"])
@pytest.mark.parametrize(
    ("hardware", "kinds"),
    [(False, {*KINDS} - {names.HARDWARE_COMMANDS}), (True, HARDWARE)],
    ids=["own topics", "hardware topics"],
)
def test_every_publisher_can_command_and_in_lock_step_no_command_is_lost(
    peer, lock_step, hardware, kinds
):
    rover = {"world": str(MODELS / "worlds" / "rover.yaml"), "hardware_topics": hardware}
    waiting = {"lock_step": lock_step, "lock_step_timeout": 0.05}
    reliability = ReliabilityPolicy.RELIABLE if lock_step else ReliabilityPolicy.BEST_EFFORT
    told = peer.node.get_subscriptions_info_by_topic
    with session({**rover, **waiting}) as running:
        depths = {s.topic_name: s.qos_profile.depth for s in running.ros.node.subscriptions}
        for topic in (f"/{kind}" for kind in kinds):
            peer.wait_until(topic, lambda topic=topic: told(topic))
            assert [info.qos_profile.reliability for info in told(topic)] == [reliability], topic
            # How many may wait is told to nobody else.
            assert (depths[topic] == 1) is not bool(lock_step), topic


def scan_heard(peer, listens):
    """Return the second scan of a run in lock-step, of which somebody hears at least the end."""
    parameters = {
        "world": str(MODELS / "worlds" / "rover.yaml"),
        "lock_step": "joint_commands",
        "start_paused": True,
        # Rays are cast one after the other in the 100 ms of a scan, and each is wrong by a little.
        "scanner.spread_scan": True,
        "scanner.error_deviation": 0.01,
    }
    with session(parameters) as running:
        runner = running.runner

        def step(count):
            return runner.call(lambda: [runner.simulation.step() for _ in range(count)])[-1]

        def listen():
            peer.follow("/scan", LaserScan)
            peer.wait_until("a listener", lambda: "/scan" in running.ros.subscribed())

        if listens:
            listen()
        step(150)
        if not listens:
            listen()
        reading = step(50)["scanner"]
    return reading.time_ns, reading.ranges.tolist()


def test_in_lock_step_readings_do_not_depend_on_who_listens():
    found = []
    for listens in (True, False):
        peer = Peer()  # each time one that has never listened
        try:
            found.append(scan_heard(peer, listens))
        finally:
            peer.close()
    assert found[0] == found[1]


def test_in_lock_step_all_sensors_are_read_but_for_cameras():
    parameters = {"world": str(MODELS / "worlds" / "rover.yaml"), "start_paused": True}
    with session({**parameters, "lock_step": "joint_commands"}) as running:
        simulation = running.runner.simulation
        seen = running.runner.call(lambda: [simulation.step().keys() for _ in range(200)])
        cameras = {k for k, s in simulation.sensors.items() if isinstance(s, CameraSensor)}
    assert cameras
    assert set().union(*seen) == simulation.sensors.keys() - cameras


def test_remaps_parameter_files_and_qos_overrides_are_honoured(peer, tmp_path):
    world, file, topic = tmp_path / "one.yaml", tmp_path / "parameters.yaml", "/deep/down/joints"
    world.write_text(ONE, encoding="utf-8")
    file.write_text(
        f"""
/**:
  ros__parameters:
    world: {world}
    wrist_force: {{ rate: 50.0 }}
    qos_overrides:
      {topic}: {{ publisher: {{ reliability: best_effort }} }}
      /deep/down/joint_commands: {{ subscription: {{ reliability: reliable }} }}
/**/sim_node:
  ros__parameters: {{ seed: 7 }}
""",
        encoding="utf-8",
    )
    arguments = ["--params-file", str(file), "-r", "joint_states:=joints", "-r", "__ns:=/deep/down"]
    arguments += ["--log-level", "warn"]
    with session({}, ["--ros-args", *arguments]) as running:
        node = running.ros.node
        assert node.get_name() == "sim_node"
        assert node.settings["seed"] == 7
        assert node.world.physics.seed == 7
        assert running.runner.simulation.sensors["wrist_force"].rate_hz == 50.0
        peer.wait_until("its joints", lambda: peer.node.get_publishers_info_by_topic(topic))
        [publisher] = peer.node.get_publishers_info_by_topic(topic)
        assert publisher.qos_profile.reliability is ReliabilityPolicy.BEST_EFFORT
        subscriptions = peer.node.get_subscriptions_info_by_topic
        peer.wait_until("its commands", lambda: subscriptions("/deep/down/joint_commands"))
        [subscription] = subscriptions("/deep/down/joint_commands")
        assert subscription.qos_profile.reliability is ReliabilityPolicy.RELIABLE


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        ({}, WrongUseError, "parameter 'world' is empty"),
        ({"world": str(ARM), "real_time_factor": -1.0}, WrongUseError, "0 .. 1000, not -1"),
        ({"world": str(ARM), "seed": "x"}, WrongUseError, "seed must be an integer, not 'x'"),
        ({"world": "nowhere.yaml"}, ModelError, "cannot read"),
    ],
)
def test_a_start_that_fails_says_why_and_leaves_nothing_behind(peer, parameters, error, words):
    with pytest.raises(error, match=words), session(parameters):
        pass
    with session({"world": str(ARM)}):
        peer.wait_until("the next one", lambda: nodes(peer) == {"/sim_node"})
    peer.wait_until("its end", lambda: nodes(peer) == set())
