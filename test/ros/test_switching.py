"""Sensors and lights that another process switches, and the parameters that tell their options."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python
from ros_peer import LATCHED, Peer, running, stamp_ns
from sensor_msgs.msg import Imu, JointState
from std_srvs.srv import SetBool, Trigger

pytestmark = pytest.mark.ros

ROBOT = """\
format: ChoreonoidBody
format_version: 2.0
name: robot
links:
  - { name: BASE, joint_type: fixed, mass: 1, rotation: [ 1, 0, 0, 90 ] }
  - name: ARM
    parent: BASE
    joint_type: revolute
    joint_id: 0
    joint_axis: Z
    mass: 1
    inertia: [ 0.1, 0, 0, 0, 0.1, 0, 0, 0, 0.1 ]
    elements:
      - { type: ForceSensor, name: wrist, id: 0 }
      - { type: RateGyroSensor, name: gyro, id: 0 }
      - { type: AccelerationSensor, name: spare-1, id: 0, on: false }
      - { type: SpotLight, name: lamp, id: 0 }
"""
WORLD = """\
sensors: { force_stdev: 0.5 }
bodies:
  - model: robot.body
    sensors: { wrist: { rate: 200 }, gyro: { rate: 250 } }
"""
STATES = {"wrist": "on", "gyro": "on", "spare-1": "off", "lamp": "on"}
QUIET_NS = 300_000_000


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("switching")
    log, world = folder / "log.txt", folder / "world.yaml"
    (folder / "robot.body").write_text(ROBOT, encoding="utf-8")
    world.write_text(WORLD, encoding="utf-8")
    given = (f"world:={world}", "torque_stdev:=0.25", "wrist.rate:=100.0", "gyroo.rate:=1.0")
    imu = ("gyro.orientation:=true", "gyro.angular_velocity_stdev:=0.5")
    given = [word for pair in (*given, *imu, "sead:=1", "rate:=5.0") for word in ("-p", pair)]
    with running(["-m", "hrp_sim.ros.sim_node", "--ros-args", *given], log) as process:
        peer = Peer()
        peer.follow("devices", DiagnosticStatus, LATCHED)
        peer.follow("joint_states", JointState)
        peer.follow("wrist/wrench", WrenchStamped)
        peer.follow("imu/data_raw", Imu)
        peer.follow("spare_1/data_raw", Imu)
        peer.log = log
        try:
            peer.wait_for("joint_states")
            yield peer
        except AssertionError:
            print(log.read_text(encoding="utf-8"))
            raise
            assert process.poll() is None
        finally:
            peer.close()


def wait_for_states(peer, **changed):
    """Wait until the newest message has the states at the start but for these."""
    wanted = {**STATES, **{name.replace("_", "-"): state for name, state in changed.items()}}

    def states():
        return [{v.key: v.value for v in m.values} for m in peer.messages["devices"][-1:]]

    peer.wait_until(f"{wanted}", lambda: states() == [wanted])


def test_late_listeners_hear_what_is_on(peer):
    wait_for_states(peer)
    status = peer.messages["devices"][-1]
    assert (status.name, status.hardware_id) == ("robot: devices", "robot")
    assert status.level == DiagnosticStatus.OK
    assert status.message == "3 of 4 devices are on"


def test_there_is_one_topic_and_a_service_of_each_device(peer):
    kinds = peer.node.get_topic_names_and_types()
    assert not [name for name, _ in kinds if name.endswith(("enabled", "/devices/joint_states"))]
    places = {f"/devices/{name}/set_enabled" for name in ("wrist", "gyro", "spare_1", "lamp")}

    def services():
        found = peer.node.get_service_names_and_types()
        return {name for name, _ in found if name.endswith("enabled")}

    peer.wait_until("the services", lambda: services() >= places)
    assert services() == places


def test_the_only_one_that_is_on_has_the_plain_topic(peer):
    peer.wait_for("imu/data_raw")
    assert peer.messages["spare_1/data_raw"] == []


def test_a_service_switches_off_and_on_again_even_while_paused(peer):
    peer.wait_for("wrist/wrench")
    switch = "devices/wrist/set_enabled"
    assert peer.call(switch, SetBool, data=False).message == "wrist is off"
    wait_for_states(peer, wrist="off")

    def newest_ns(topic):
        return stamp_ns(peer.messages[topic][-1].header.stamp)

    def have_wrenches_ended():
        return newest_ns("joint_states") > newest_ns("wrist/wrench") + QUIET_NS

    # Samples from before may come late, but joint states go on and wrenches do not.
    peer.wait_until("the end of the wrenches", have_wrenches_ended)
    assert peer.call("sim_node/pause", SetBool, data=True).success
    try:
        assert peer.call(switch, SetBool, data=True).message == "wrist is on"
        wait_for_states(peer)
    finally:
        assert peer.call("sim_node/pause", SetBool, data=False).success
    stamps = [stamp_ns(m.header.stamp) for m in peer.wait_for("wrist/wrench", 3)[-3:]]
    assert [stamp % 10_000_000 for stamp in stamps] == [0, 0, 0]  # on the grid of 100 Hz


def test_a_light_is_switched_and_a_reset_puts_back_what_the_model_says(peer):
    assert peer.call("devices/lamp/set_enabled", SetBool, data=False).success
    wait_for_states(peer, lamp="off")
    assert peer.call("devices/spare_1/set_enabled", SetBool, data=True).success
    wait_for_states(peer, lamp="off", spare_1="on")
    peer.wait_for("spare_1/data_raw")
    assert peer.call("sim_node/reset", Trigger).success
    wait_for_states(peer)


def values(peer, *names):
    answer = peer.call("sim_node/get_parameters", GetParameters, names=names)
    return [parameter_value_to_python(value) for value in answer.values]


def test_parameters_tell_the_options_that_count(peer):
    names = ("force_stdev", "torque_stdev", "wrist.rate", "gyro.rate", "wrench_on", "orientation")
    assert values(peer, *names) == [0.5, 0.25, 100.0, 250.0, "model", False]


def test_parameters_give_an_imu_an_orientation_and_the_variance_of_its_noise(peer):
    """It stands on a base that is turned by 90 degrees about X."""
    imu = peer.wait_for("imu/data_raw")[-1]
    q = imu.orientation
    half = 0.5**0.5
    assert [abs(v) for v in (q.x, q.y, q.z, q.w)] == pytest.approx([half, 0.0, 0.0, half], abs=1e-3)
    assert q.x * q.w > 0.0
    assert imu.orientation_covariance.tolist() == [0.0] * 9
    assert imu.angular_velocity_covariance.tolist() == [0.25, 0, 0, 0, 0.25, 0, 0, 0, 0.25]
    assert imu.linear_acceleration_covariance.tolist() == [-1.0] + [0.0] * 8


def test_what_means_nothing_is_told_with_the_nearest_name(peer):
    said = peer.log.read_text(encoding="utf-8")
    assert "'gyroo.rate': there is no sensor 'gyroo'. Did you mean 'gyro'?" in said
    assert "there is no parameter 'sead'. Did you mean 'seed'?" in said
    assert "'rate' can be set for single sensors only, not for all at once" in said
    assert len(re.findall(r"WARN.*sim_node", said)) == 3  # the middleware may have its own
