"""The parameter ``engine`` of sim_node, seen from another process."""

from __future__ import annotations

import pytest
from paths import MODELS

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from ros_peer import node_and_peer, stamp_ns
from ros_session import ended
from sensor_msgs.msg import JointState

from hrp_sim import Simulation, load_world

pytestmark = pytest.mark.ros

WORLD = MODELS / "worlds" / "arm.yaml"
NODE = ["-m", "hrp_sim.ros.sim_node", "--ros-args", "-p", f"world:={WORLD}", "-p"]
PRESS = """
format: ChoreonoidBody
name: press
rootLink: BASE
links:
  - { name: BASE, jointType: fixed }
  - name: ARM
    parent: BASE
    jointType: revolute
    jointId: 0
    jointAxis: X
    elements: { type: RigidBody, mass: 1, inertia: [ 1, 0, 0, 0, 1, 0, 0, 0, 1 ] }
extraJoints: [ { link1Name: ARM, link2Name: BASE, jointType: piston, axis: [ 1, 0, 0 ] } ]
"""


def test_joints_by_pyode_are_where_our_engine_has_them(tmp_path):
    pytest.importorskip("ode", reason="PyODE is not installed (python3-pyode)")
    log = tmp_path / "log.txt"
    with node_and_peer([*NODE, "engine:=pyode"], log) as (peer, _):
        peer.follow("joint_states", JointState)
        message = peer.first_after("joint_states", 200_000_000)
    simulation = Simulation(load_world(WORLD), defer_images=True)
    while simulation.state.time_ns < stamp_ns(message.header.stamp):
        simulation.step()
    (arm,) = (b for b in simulation.bodies.values() if len(b.motion.q))
    assert list(message.position) == pytest.approx(arm.motion.q.tolist(), abs=1e-3)
    assert any(message.velocity), "nothing moves: this shows nothing"


def test_what_pyode_cannot_do_is_refused_with_the_link_and_the_other_engine(
    tmp_path, monkeypatch, capfd
):
    pytest.importorskip("ode", reason="PyODE is not installed (python3-pyode)")
    model = tmp_path / "press.body"
    model.write_text(PRESS)
    arguments = ["--ros-args", "-p", f"world:={model}", "-p", "engine:=pyode"]
    status, said = ended(arguments, monkeypatch, capfd)
    assert status == 1, said
    assert "link 'ARM': its extra joint is of type piston" in said
    assert "the parameter engine" in said
    assert said.count("body 'press'") == 1
