"""Holders and conveyors of a running node, by service and by topic."""

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
from diagnostic_msgs.msg import DiagnosticStatus
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Log
from ros_peer import LATCHED, Peer, running
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64
from std_srvs.srv import SetBool, Trigger

WORLD = """\
bodies:
  - model: {models}/floor.body
  - name: conveyor
    model: {models}/conveyor/conveyor.body
    position: [ 0, 0, 0 ]
  - name: lifter
    model: {models}/lifter/lifter.body
    joints: {{ LIFT: -0.645 }}
  - name: block
    model: {models}/blocks/wood.body
    position: [ 0, 0, 0.55 ]
"""


@pytest.fixture
def peer(tmp_path):
    world, log = tmp_path / "world.yaml", tmp_path / "log.txt"
    world.write_text(WORLD.format(models=MODELS), encoding="utf-8")
    with running(
        ["-m", "hrp_sim.ros.sim_node", "--ros-args", "-p", f"world:={world}"], log
    ) as process:
        peer = Peer()
        peer.follow("devices", DiagnosticStatus, LATCHED)
        peer.follow("joint_states", JointState)
        peer.follow("block/ground_truth/odom", Odometry)
        peer.follow("rosout", Log)
        try:
            peer.wait_for("joint_states")
            peer.wait_for("block/ground_truth/odom")
            yield peer
        except AssertionError:
            print(log.read_text(encoding="utf-8"))
            raise
        finally:
            assert process.poll() is None
            peer.close()


def wait_for_switch(peer, state):
    def states():
        messages = peer.messages["devices"]
        return messages and {v.key: v.value for v in messages[-1].values}["cup"]

    peer.wait_until(f"the cup being {state}", lambda: states() == state)


def block(peer):
    return peer.messages["block/ground_truth/odom"][-1]


def test_a_block_is_carried_by_a_belt_and_lifted_by_a_cup(peer):
    cup = "devices/cup/set_enabled"
    hold = peer.node.create_publisher(Bool, "devices/cup/hold", 1)
    speed = peer.node.create_publisher(Float64, "conveyor/devices/belt/speed", 1)
    lift = peer.node.create_publisher(JointState, "joint_commands", 1)
    # The belt has carried the block away, so that there is nothing to hold.
    peer.wait_until("the belt", lambda: block(peer).pose.pose.position.x > 0.3)
    assert peer.call("conveyor/devices/belt/set_enabled", SetBool, data=False).success
    answer = peer.call(cup, SetBool, data=True)
    assert not answer.success
    assert answer.message.startswith("'lifter/cup' holds nothing: the nearest body 'block' is 0.")

    def warned():
        hold.publish(Bool(data=True))
        return any("'lifter/cup' holds nothing" in log.msg for log in peer.messages["rosout"])

    peer.wait_until("a warning", warned)

    def is_held():  # it stays below the cup, however long a call takes
        x = block(peer).pose.pose.position.x
        speed.publish(Float64(data=max(-0.1, min(-0.5 * x, 0.1))))
        return peer.call(cup, SetBool, data=True).success

    peer.wait_until("the way back below the cup", is_held)
    wait_for_switch(peer, "on")

    def is_up():
        lift.publish(JointState(name=["LIFT"], position=[-0.3]))
        return block(peer).pose.pose.position.z > 0.8

    peer.wait_until("the block in the air", is_up)

    def has_fallen():
        hold.publish(Bool(data=False))
        return block(peer).pose.pose.position.z < 0.6

    peer.wait_until("the fall", has_fallen)
    wait_for_switch(peer, "off")
    assert peer.call("sim_node/reset", Trigger).success
