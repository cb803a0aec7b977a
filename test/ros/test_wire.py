"""Other implementations on the same wire: another DDS, and the other ROS 2 distribution."""

import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from paths import MODELS, ROOT

pytest.importorskip("rclpy", reason="ROS 2 is not importable")

from ros_peer import DOMAIN_ID, ENVIRONMENT, PATIENCE, Peer, running, stamp_ns
from sensor_msgs.msg import JointState

pytestmark = pytest.mark.ros

WORLD = MODELS / "worlds" / "rover.yaml"
NAMES = ["TRACK_L", "TRACK_R", "MAST"]
# Fast DDS 3 describes its types in a way that Cyclone DDS 11 takes for invalid; names are enough.
NO_TYPES = """<?xml version="1.0"?>
<dds xmlns="http://www.eprosima.com"><profiles>
  <participant profile_name="no_types" is_default_profile="true">
    <rtps><propertiesPolicy><properties><property>
      <name>fastdds.type_propagation</name><value>disabled</value>
    </property></properties></propertiesPolicy></rtps>
  </participant>
</profiles></dds>
"""
LOOPBACK = """<CycloneDDS><Domain>
  <General><AllowMulticast>false</AllowMulticast>
    <Interfaces><NetworkInterface address="127.0.0.1"/></Interfaces></General>
  <Discovery><ParticipantIndex>auto</ParticipantIndex>
    <Peers><Peer address="127.0.0.1"/></Peers></Discovery>
</Domain></CycloneDDS>"""
OTHER_VENV = {".venv": ".venv-kilted", ".venv-kilted": ".venv"}


@pytest.fixture(scope="module")
def rover(tmp_path_factory):
    """A simulated rover in another process, and a peer that follows its joints."""
    folder = tmp_path_factory.mktemp("rover")
    log = folder / "log.txt"
    profile = folder / "profile.xml"
    profile.write_text(NO_TYPES, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FASTDDS_DEFAULT_PROFILES_FILE", str(profile))
        with running(["-m", "hrp_sim.cli.main", "run", str(WORLD), "--ros"], log):
            patch.undo()
            peer = Peer()
            peer.follow("joint_states", JointState)
            try:
                peer.wait_for("joint_states")
                yield peer
            except AssertionError:
                print(log.read_text(encoding="utf-8"))
                raise
            finally:
                peer.close()


@pytest.fixture
def cyclone():
    """A participant of Cyclone DDS in the tests' domain."""
    domain = pytest.importorskip("cyclonedds.domain", reason="cyclonedds is not installed")
    configured = domain.Domain(DOMAIN_ID, LOOPBACK)
    yield domain.DomainParticipant(DOMAIN_ID)
    del configured


def joint_state_type():
    """Return sensor_msgs/JointState as its IDL has it, and a function that makes one."""
    from cyclonedds.idl import IdlStruct, types

    @dataclass
    class Time(IdlStruct, typename="builtin_interfaces.msg.dds_.Time_"):
        sec: types.int32
        nanosec: types.uint32

    @dataclass
    class Header(IdlStruct, typename="std_msgs.msg.dds_.Header_"):
        stamp: Time
        frame_id: str

    @dataclass
    class State(IdlStruct, typename="sensor_msgs.msg.dds_.JointState_"):
        header: Header
        name: types.sequence[str]
        position: types.sequence[types.float64]
        velocity: types.sequence[types.float64]
        effort: types.sequence[types.float64]

    return State, lambda **fields: State(Header(Time(0, 0), ""), **fields)


def test_another_dds_reads_the_joints_to_the_last_bit(rover, cyclone):
    from cyclonedds.core import Policy, Qos
    from cyclonedds.sub import DataReader
    from cyclonedds.topic import Topic
    from cyclonedds.util import duration

    state_type, _ = joint_state_type()
    reliable = Qos(Policy.Reliability.Reliable(duration(seconds=1)), Policy.History.KeepLast(5))
    reader = DataReader(cyclone, Topic(cyclone, "rt/joint_states", state_type), qos=reliable)
    for heard in reader.take_iter(timeout=duration(seconds=PATIENCE)):
        same = rover.first_after("joint_states", stamp_ns(heard.header.stamp))
        if stamp_ns(same.header.stamp) == stamp_ns(heard.header.stamp):
            break  # else the peer has missed it
    assert stamp_ns(heard.header.stamp) == stamp_ns(same.header.stamp)
    assert heard.header.frame_id == same.header.frame_id
    assert heard.name == same.name == NAMES
    for kind in ("position", "velocity", "effort"):
        np.testing.assert_array_equal(getattr(heard, kind), getattr(same, kind))


def test_another_dds_turns_the_mast(rover, cyclone):
    from cyclonedds.pub import DataWriter
    from cyclonedds.topic import Topic

    state_type, made = joint_state_type()
    writer = DataWriter(cyclone, Topic(cyclone, "rt/joint_commands", state_type))
    command = made(name=["MAST"], position=[0.4], velocity=[], effort=[])
    heard = rover.messages["joint_states"]

    def turned():
        writer.write(command)
        return abs(heard[-1].position[2] - 0.4) < 0.01

    rover.wait_until("the mast to turn", turned)


def other_python() -> tuple[Path, dict[str, str]]:
    """Return the Python of the other distribution's virtual environment, and what it needs."""
    prefix = Path(sys.prefix)
    path = prefix.parent / OTHER_VENV.get(prefix.name, "") / "bin" / "python"
    if not path.is_file():
        pytest.skip("the other distribution is not set up: HRP_ROS_DISTRO=... scripts/bootstrap.sh")
    # What the wheels of this one told their processes is not for those of the other.
    own = ("LD_LIBRARY_PATH", "_ROS_WHEELS_BOOTSTRAP_COMPLETE", "AMENT_PREFIX_PATH", "PYTHONPATH")
    return path, {k: v for k, v in {**os.environ, **ENVIRONMENT}.items() if k not in own}


def test_a_process_of_the_other_distribution_hears_commands_and_asks(rover):
    python, environment = other_python()
    done = subprocess.run(
        [str(python), str(ROOT / "test" / "ros" / "far_peer.py"), "MAST", "-0.2"],
        env=environment, capture_output=True, text=True, timeout=2 * PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["rclpy"] != version("ros-rclpy")
    assert told["use_sim_time"] is False
    same = rover.first_after("joint_states", told["ns"])
    assert stamp_ns(same.header.stamp) == told["ns"]
    assert told["name"] == list(same.name)
    assert told["position"] == same.position.tolist()
    assert math.isclose(same.position[2], -0.2, abs_tol=0.01)
