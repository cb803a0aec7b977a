"""Bodies that appear and go in a running world, its time and its fixed frames, as ROS sees them."""

from __future__ import annotations

import threading
from dataclasses import replace
from itertools import pairwise

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.parameter import Parameter, parameter_value_to_python
from ros_peer import LATCHED, Peer, matrix_of, stamp_ns
from ros_session import session
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage

from hrp_model import Pose, load_body
from hrp_sim import BodyEntry, Placement, load_world
from hrp_sim.world.naming import NamespaceError

pytestmark = pytest.mark.ros

ARM = MODELS / "arm" / "arm.body"
FAR = Pose(p=(9.0, 9.0, 9.0))
OF_WORLD = {"base_link", "floor/FLOOR"}  # who names a model has a floor under it


def entry(name, p=(2.0, 0.0, 0.0), **options):
    body = load_body(ARM)
    placement = Placement(name=name, body=body, X_WL=Pose(p=p), fixed=True)
    return BodyEntry(placement=placement, **options)


@pytest.fixture(scope="module")
def shared_world():
    parameters = {"world": str(ARM), "describe": True, "force_stdev": 0.25}
    with session(parameters) as running:
        peer = Peer()
        peer.follow("/clock", Clock)
        peer.follow("/tf_static", TFMessage, LATCHED)
        peer.follow("joint_states", JointState)
        try:
            for topic in ("joint_states", "/clock"):
                peer.wait_for(topic)
            peer.wait_until("all roots", lambda: fixed_roots(peer).keys() == OF_WORLD)
            yield running, peer
        finally:
            peer.close()


@pytest.fixture
def world(shared_world):
    """A running world with an arm; afterwards it runs again, and what was spawned is gone."""
    running, peer = shared_world
    yield running, peer
    simulation = running.runner.simulation
    for name in simulation.bodies.keys() - {"Arm", "floor"}:
        running.change(lambda name=name: simulation.remove(name))
    running.runner.call(running.runner.resume)


def fixed_roots(peer):
    """Return where the newest message of /tf_static puts the children of the world."""
    newest = [m.transforms for m in list(peer.messages["/tf_static"])][-1:]
    of_world = [t for ts in newest for t in ts if t.header.frame_id == "world"]
    return {t.child_frame_id: matrix_of(t.transform)[:3, 3].tolist() for t in of_world}


def test_a_body_that_appears_has_topics_of_its_own_until_it_goes(world):
    running, peer = world
    count = len(peer.messages["joint_states"])
    running.change(lambda: running.runner.simulation.spawn(entry("arm-2", (2.0, 1.0, 0.0))))
    peer.follow("arm_2/joint_states", JointState)
    peer.follow("arm_2/robot_description", String, LATCHED)
    peer.follow("arm_2/devices", DiagnosticStatus, LATCHED)
    peer.wait_for("arm_2/joint_states", 3)
    peer.wait_until("a description", lambda: peer.messages["arm_2/robot_description"])
    peer.wait_until("its root", lambda: fixed_roots(peer).keys() == {*OF_WORLD, "arm_2/base_link"})
    assert fixed_roots(peer)["arm_2/base_link"] == [2.0, 1.0, 0.0]
    assert peer.call("arm_2/devices/wrist_force/set_enabled", SetBool, data=False).success

    def told():
        """Return what the newest message says of the device."""
        return [v.value for v in peer.messages["arm_2/devices"][-1].values]

    peer.wait_until("news", lambda: peer.messages["arm_2/devices"] and told() == ["off"])
    publisher = peer.node.create_publisher(JointState, "arm_2/joint_commands", 1)
    peer.wait_until("a listener", publisher.get_subscription_count)
    assert len(peer.wait_for("joint_states")) > count  # whose name has not changed

    running.change(lambda: running.runner.simulation.remove("arm-2"))
    peer.wait_until("its end", lambda: not publisher.get_subscription_count())
    peer.wait_until("no root of it", lambda: fixed_roots(peer).keys() == OF_WORLD)
    publishers = peer.node.count_publishers
    peer.wait_until("no publisher", lambda: not publishers("arm_2/joint_states"))
    peer.wait_until("no description", lambda: not publishers("arm_2/robot_description"))
    peer.wait_for("joint_states", 3)


def test_a_name_may_come_again_and_another_namespace_may_be_wished_for(world):
    running, peer = world
    for namespace in (None, "team/b"):
        wish = entry("again", namespace=namespace)
        running.change(lambda wish=wish: running.runner.simulation.spawn(wish))
        topic = f"{namespace or 'again'}/joint_states"
        peer.follow(topic, JointState)
        peer.wait_for(topic)
        running.change(lambda: running.runner.simulation.remove("again"))


def belongings(node):
    """Return what a node has, by kind."""
    return {
        "parameters": sorted(node.list_parameters([], 0).names),
        "publishers": sorted(p.topic_name for p in node.publishers),
        "subscriptions": sorted(s.topic_name for s in node.subscriptions),
        "services": sorted(s.service_name for s in node.services),
        "others": len(list(node.waitables)),
        "timers": len(list(node.timers)),
    }


@pytest.mark.parametrize("model", ["rover/rover.body", "humanoid/humanoid.wrl"])
def test_bodies_that_have_gone_leave_nothing(world, model):
    running, peer = world
    node, simulation = running.ros.node, running.runner.simulation
    before, threads = belongings(node), threading.active_count()
    for number in range(3):
        placement = Placement(name=f"guest_{number}", body=load_body(MODELS / model), X_WL=FAR)
        running.change(lambda placement=placement: simulation.spawn(BodyEntry(placement=placement)))
        assert belongings(node) != before
        running.change(lambda name=placement.name: simulation.remove(name))
        running.serve(lambda: None)  # twice: an action ends a little later
        assert belongings(node) == before
        # One of an earlier test may only now come to its end.
        peer.wait_until("the end of threads", lambda: threading.active_count() <= threads)


def test_a_namespace_that_is_taken_is_refused_with_words_and_the_run_goes_on(world):
    running, peer = world
    topics, simulation = running.ros.node.world_topics, running.runner.simulation
    running.change(lambda: simulation.spawn(entry("new", namespace="")))
    with pytest.raises(NamespaceError, match="'Arm' and 'new' would both have no namespace"):
        topics.check_names(simulation, ["new"])
    peer.wait_for("joint_states", 3)
    running.change(lambda: running.runner.simulation.remove("new"))


def test_a_fixed_root_that_is_moved_is_told_anew_and_so_is_its_return(world):
    running, peer = world
    simulation = running.runner.simulation
    peer.wait_until("no other root", lambda: fixed_roots(peer).keys() == OF_WORLD)
    before = fixed_roots(peer)
    moved = replace(entry("Arm").placement, body=simulation.bodies["Arm"].body)
    running.change(lambda: simulation.move(replace(moved, X_WL=Pose(p=(0.5, 0.0, 0.25)))))
    peer.wait_until("the move", lambda: fixed_roots(peer)["base_link"] == [0.5, 0.0, 0.25])
    assert peer.call("sim_node/reset", Trigger).success
    peer.wait_until("the return", lambda: fixed_roots(peer) == before)


def clock_times(peer):
    return [stamp_ns(m.clock) for m in list(peer.messages["/clock"])]


def test_the_clock_of_a_standing_world_is_shown_and_shown_again(world):
    running, peer = world
    assert peer.call("sim_node/pause", SetBool, data=True).success
    now_ns = running.runner.simulation.state.time_ns
    peer.wait_until("the time of the pause", lambda: clock_times(peer)[-1] == now_ns)
    count = len(clock_times(peer))
    peer.wait_until("the same once more", lambda: set(clock_times(peer)[count:]) == {now_ns})
    running.runner.step(3)
    peer.wait_until("the steps", lambda: clock_times(peer)[-1] == now_ns + 3_000_000)
    assert peer.call("sim_node/reset", Trigger).success
    peer.wait_until("the reset", lambda: clock_times(peer)[-1] == 1)  # 0 would mean no time
    assert peer.call("sim_node/pause", SetBool, data=False).success
    peer.wait_until("time", lambda: clock_times(peer)[-1] > 1)
    backwards = [b < a for a, b in pairwise(clock_times(peer)[count:])]
    assert sum(backwards) == 1


def parameter(peer, name):
    [value] = peer.call("sim_node/get_parameters", GetParameters, names=[name]).values
    return parameter_value_to_python(value)


def set_parameter(peer, name, value):
    message = Parameter(name, value=value).to_parameter_msg()
    [result] = peer.call("sim_node/set_parameters", SetParameters, parameters=[message]).results
    return result


def test_the_real_time_factor_may_be_changed_at_any_time_within_its_range(world):
    running, peer = world
    assert set_parameter(peer, "real_time_factor", 0.5).successful
    peer.wait_until("the change", lambda: running.runner.real_time_factor == 0.5)
    refused = set_parameter(peer, "real_time_factor", -1.0)
    assert not refused.successful
    assert "real_time_factor" in refused.reason
    assert not set_parameter(peer, "time_step", 0.001).successful  # which the world is made of
    assert running.runner.real_time_factor == 0.5


def test_another_world_in_place_of_this_one_hears_the_same_parameters(world):
    running, peer = world
    node = running.ros.node
    config = load_world(MODELS / "worlds" / "humanoid_in_room.yaml")
    assert parameter(peer, "force_stdev") == 0.25
    other = node.make_simulation(
        replace(config, sensors=replace(config.sensors, wrench_cutoff=7.0))
    )
    assert parameter(peer, "force_stdev") == 0.25
    assert parameter(peer, "wrench_cutoff") == 7.0
    assert node.world.sensors.force_stdev == 0.25
    before = running.runner.replace(other)
    node.sync()
    before.close()
    peer.wait_until("its feet", lambda: peer.node.count_publishers("left_foot_force/wrench"))
    peer.wait_until(
        "its joints", lambda: "LARM_SHOULDER_P" in peer.wait_for("joint_states")[-1].name
    )
    peer.wait_until("no wrist", lambda: not peer.node.count_publishers("wrist_force/wrench"))
