"""Worlds that change while ROS still shows what was there: nothing fails, and the run goes on."""

from __future__ import annotations

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from geometry_msgs.msg import WrenchStamped
from ros_peer import Peer
from ros_session import session
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool, Trigger

from hrp_model import Diagnostics, Pose, load_body, load_body_text
from hrp_sim import BodyEntry, Placement
from hrp_sim.ros.command_parameters import joint_of

pytestmark = pytest.mark.ros

ARM = MODELS / "arm" / "arm.body"
GUEST = """\
format: ChoreonoidBody
format_version: 2.0
name: guest
links:
  - name: TRUNK
    joint_type: fixed
    mass: 1
    elements:
      - {{ type: {kind}, name: probe, id: 0 }}
      - {{ type: SpotLight, name: lamp, id: 0 }}
"""


@pytest.fixture(scope="module")
def world():
    with session({"world": str(ARM), "describe": True, "SWING.kp": -1.0}) as running:
        peer = Peer()
        peer.follow("/clock", Clock)
        try:
            peer.wait_for("/clock")
            yield running, peer
        finally:
            peer.close()


@pytest.fixture
def simulation(world):
    running, _ = world
    found = running.runner.simulation
    yield found
    for name in found.bodies.keys() - {"Arm", "floor"}:
        running.change(lambda name=name: found.remove(name))
    assert running.runner.error is None
    still = found.state.time_ns
    assert running.runner.call(lambda: found.state.time_ns) >= still  # somebody steps it


def guest(kind="ForceSensor"):
    body = load_body_text(GUEST.format(kind=kind), Diagnostics.silent())
    return BodyEntry(placement=Placement(name="guest", body=body, X_WL=Pose(p=(5.0, 5.0, 5.0))))


def steps_until_told(running, peer):
    """Wait until the run has published something of later than now."""
    now_ns = running.runner.call(lambda: running.runner.simulation.state.time_ns)
    peer.wait_until("time", lambda: clock_ns(peer) > now_ns)


def clock_ns(peer):
    time = peer.messages["/clock"][-1].clock
    return time.sec * 1_000_000_000 + time.nanosec


def test_a_service_of_a_body_that_has_gone_says_so_and_the_node_goes_on(world, simulation):
    running, peer = world
    running.change(lambda: simulation.spawn(guest()))
    running.runner.call(lambda: simulation.remove("guest"))  # ROS does not know yet
    for name in ("probe", "lamp"):
        answer = peer.call(f"guest/devices/{name}/set_enabled", SetBool, data=False)
        assert not answer.success
        assert f"no device '{name}'" in answer.message
    running.ros.node.sync()
    assert peer.call("sim_node/reset", Trigger).success


def test_a_body_of_another_kind_may_take_a_name_before_its_topics_are_there(world, simulation):
    running, peer = world
    peer.follow("guest/probe/wrench", WrenchStamped)
    running.change(lambda: simulation.spawn(guest()))
    peer.wait_for("guest/probe/wrench")

    def exchange():
        simulation.remove("guest")
        simulation.spawn(guest("RateGyroSensor"))

    running.runner.change(exchange)
    steps_until_told(running, peer)
    running.ros.node.sync()
    peer.wait_until("its topics", lambda: peer.node.count_publishers("guest/imu/data_raw"))


def test_a_body_that_has_gone_while_its_topics_are_made_is_nothing_to_speak_of(
    world, simulation, monkeypatch
):
    running, _ = world
    topics = running.ros.node.world_topics
    before = len(list(running.ros.node.publishers))
    late = topics.spawned_naming

    def slow(*of_body):
        running.runner.call(lambda: simulation.remove("guest"))
        return late(*of_body)

    monkeypatch.setattr(topics, "spawned_naming", slow)
    running.change(lambda: simulation.spawn(guest()))
    assert len(list(running.ros.node.publishers)) == before


def test_what_is_published_of_a_body_whose_topics_have_ended_goes_nowhere(world, simulation):
    running, _ = world
    topics = running.ros.node.world_topics
    placement = Placement(name="guest", body=load_body(ARM), X_WL=Pose(p=(5.0, 5.0, 5.0)))
    running.change(lambda: simulation.spawn(BodyEntry(placement=placement)))
    shown = topics.bodies["guest"]
    (key,) = (k for k, s in simulation.sensors.items() if s.body == "guest" and "joint" in k)
    reading = running.runner.call(lambda: simulation.sensors[key].read(simulation.state))
    running.change(lambda: simulation.remove("guest"))
    for output in shown.outputs[key].outputs:
        output.publish(reading)
    for call in shown.after_step:
        call()


def test_parameters_of_joints_that_make_no_sense_leave_a_body_without_topics(world, simulation):
    running, _ = world
    node = running.ros.node
    text = (
        GUEST.format(kind="ForceSensor")
        + """\
  - { name: HIP, parent: TRUNK, joint_type: revolute, joint_id: 0, joint_axis: Z, mass: 1 }
  - { name: SWING, parent: HIP, joint_type: revolute, joint_id: 1, joint_axis: Z, mass: 1 }
"""
    )
    body = load_body_text(text, Diagnostics.silent())
    placement = Placement(name="guest", body=body, X_WL=Pose(p=(5.0, 5.0, 5.0)))
    running.change(lambda: simulation.spawn(BodyEntry(placement=placement)))
    node.sync()  # once more: nothing is half there
    assert "guest" not in node.world_topics.bodies
    joints = {joint_of(name) for name in node.list_parameters([], 0).names}
    assert not joints & {"HIP", "SWING", "guest/HIP", "guest/SWING"}
