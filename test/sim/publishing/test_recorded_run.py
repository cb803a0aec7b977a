"""Recordings of runs without ROS, as other programs read them."""

import json
import os
import re
import subprocess
import sys
from itertools import count
from xml.etree import ElementTree

import pytest
from paths import MODELS, ROOT
from recorded_runs import attachments, contents, decoded, log_times, small_files
from run_tools import OnStep

from hrp_model import Diagnostics, load_body
from hrp_sim import BodyEntry, Placement, Simulation
from hrp_sim.cli.main import main
from hrp_sim.run.run import Run
from hrp_sim.topics.run_recording import RunRecording
from hrp_sim.topics.world import recorded_world
from hrp_sim.world.load import load_world

ARM = MODELS / "arm" / "arm.body"
# Per simulated second; odometry and frames are also those of the first step.
RATES = {
    "/clock": 250,
    "/ground_truth/odom": 100,
    "/head_camera/camera_info": 30,
    "/head_camera/depth/camera_info": 30,
    "/head_camera/depth/image_rect_raw": 30,
    "/head_camera/depth/points": 30,
    "/head_camera/image_raw": 30,
    "/imu/data_raw": 500,
    "/joint_states": 500,
    "/left_foot_force/wrench": 500,
    "/right_foot_force/wrench": 500,
    "/scan": 20,
    "/tf": 100,
}
DURATION = 0.5  # [s], of the humanoid; every image is rendered
ONCE = {"/Room/robot_description", "/devices", "/robot_description", "/tf_static"}
TETRAHEDRON = """\
solid tip
facet normal 0 0 0 outer loop vertex 0 0 0 vertex 0 1 0 vertex 1 0 0 endloop endfacet
facet normal 0 0 0 outer loop vertex 0 0 0 vertex 1 0 0 vertex 0 0 1 endloop endfacet
facet normal 0 0 0 outer loop vertex 0 0 0 vertex 0 0 1 vertex 0 1 0 endloop endfacet
facet normal 0 0 0 outer loop vertex 1 0 0 vertex 0 1 0 vertex 0 0 1 endloop endfacet
endsolid
"""
WITH_MESH = """\
<robot name="tip"><link name="base">
  <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><geometry><mesh filename="tip.stl"/></geometry></visual>
</link></robot>
"""


def run(capsys, *arguments):
    return (main(["run", *(str(argument) for argument in arguments)]), *capsys.readouterr())


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Record the humanoid in a process where ROS cannot be imported."""
    path = tmp_path_factory.mktemp("alone") / "run.mcap"
    code = "import sys, without_ros; from hrp_sim.cli.main import main; sys.exit(main())"
    arguments = ["run", "humanoid_in_room", "--duration", str(DURATION), "--record", path]
    subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'test' / 'support'}"},
        check=True,
        timeout=300,
    )
    return path


def test_without_ros_all_topics_are_recorded_at_their_rates(alone):
    counts = {topic: len(messages) for (topic, _), messages in contents(alone).items()}
    assert {topic for topic, count in counts.items() if count == 1} == ONCE
    rates = {topic: count for topic, count in counts.items() if topic not in ONCE}
    expected = {topic: pytest.approx(DURATION * rate, abs=1) for topic, rate in RATES.items()}
    assert rates == expected


def test_messages_lie_at_the_simulation_time_of_their_stamps(alone):
    times = log_times(alone)["/joint_states"]
    stamps = [m.header.stamp for m in decoded(alone, "/joint_states")]
    assert times == [s.sec * 10**9 + s.nanosec for s in stamps]


def test_the_same_run_gives_the_same_recording(alone, tmp_path, capsys):
    again = tmp_path / "again.mcap"
    assert run(capsys, "humanoid_in_room", "--duration", DURATION, "--record", again)[0] == 0
    assert contents(again) == contents(alone)
    times, expected = log_times(again), log_times(alone)
    assert times.keys() == expected.keys()
    for topic in times:
        if "camera" not in topic:  # whose images come when they are rendered
            assert times[topic] == expected[topic]


def test_robots_are_where_they_are_although_odometry_drifts(tmp_path, capsys):
    """Nothing in a recording localizes them."""
    path = tmp_path / "run.mcap"
    asked = ("--sensor", "odometry=wheels", "--duration", "0.02", "--record", path)
    assert run(capsys, "rover", *asked)[0] == 0
    frames = {
        (t.header.frame_id, t.child_frame_id) for m in decoded(path, "/tf") for t in m.transforms
    }
    assert ("world", "base_link") in frames
    assert {m.header.frame_id for m in decoded(path, "/odom")} == {"odom"}
    assert {m.header.frame_id for m in decoded(path, "/ground_truth/odom")} == {"world"}


def test_meshes_of_the_description_are_attached(tmp_path, capsys):
    (tmp_path / "tip.stl").write_text(TETRAHEDRON)
    (tmp_path / "tip.urdf").write_text(WITH_MESH)
    path = tmp_path / "run.mcap"
    assert run(capsys, tmp_path / "tip.urdf", "--duration", "0.01", "--record", path)[0] == 0
    [text] = [m.data for m in decoded(path, "/robot_description")]
    [uri] = {mesh.get("filename") for mesh in ElementTree.fromstring(text).iter("mesh")}
    assert uri.startswith("file:///")
    with open(uri.removeprefix("file://"), "rb") as file:
        assert attachments(path) == {uri: file.read()}


def test_too_many_bytes_of_meshes_are_left_out_with_a_warning(tmp_path, monkeypatch, capsys):
    (tmp_path / "tip.stl").write_text(TETRAHEDRON)
    (tmp_path / "tip.urdf").write_text(WITH_MESH)
    path = tmp_path / "run.mcap"
    monkeypatch.setattr("hrp_sim.topics.run_recording._MAX_MESH_BYTES", 100)
    status, _, err = run(capsys, tmp_path / "tip.urdf", "--duration", "0.01", "--record", path)
    assert status == 0
    assert "warning: the recording is without the meshes" in err
    assert attachments(path) == {}


def test_the_result_has_the_size_and_the_number_of_messages(tmp_path, capsys):
    path = tmp_path / "new" / "run.mcap"
    status, out, err = run(capsys, ARM, "--duration", "0.2", "--record", path)
    count = sum(len(messages) for messages in contents(path).values())
    assert (status, err) == (0, f"wrote {path}\n")
    assert f"recording: {count} messages, " in out
    _, out, _ = run(capsys, ARM, "--duration", "0.2", "--record", path, "--json")
    size = path.stat().st_size
    expected = {"path": str(path), "messages": count, "bytes": size, "error": None}
    assert json.loads(out)["recording"] == expected


def test_a_full_disk_ends_the_recording_but_not_the_run(tmp_path, capsys):
    path = tmp_path / "run.mcap"
    with small_files(100_000):
        status, out, err = run(capsys, "rover", "--duration", "1", "--record", path)
    assert status == 1
    lines = err.splitlines()
    assert f"error: the recording {path} has ended: File too large" in lines
    assert sum("error" in line for line in lines) == 1
    assert "simulated 1.000 s" in out
    assert "recording: incomplete" in out


def test_a_failure_of_the_physics_leaves_a_complete_file(tmp_path, capsys):
    world, path = tmp_path / "mad.yaml", tmp_path / "run.mcap"
    world.write_text(
        "physics: { joint_limits: false }\n"
        f"bodies: [ {{ model: {ARM}, joint_velocities: {{ J1: 9e4, J2: 9e4 }} }} ]"
    )
    assert run(capsys, world, "--duration", "1", "--record", path)[0] == 1
    assert ("/robot_description", "std_msgs/msg/String") in contents(path)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (["--trace", "{0}"], "--trace and --record are the same file"),
        (["--record", str(ARM)], "cannot write .*arm.body: this command reads it"),
        (["--record", "/proc/run.mcap"], "cannot write /proc/run.mcap"),
        (["--record", "/dev/full"], "cannot write /dev/full: No space left on device"),
        (["--record", str(MODELS / "floor.body")], "not of the kind that --record writes"),
    ],
)
def test_what_must_not_be_written_is_refused(tmp_path, capsys, other, words):
    path = tmp_path / "run.mcap"
    record = [] if "--record" in other else ["--record", path]
    arguments = [text.format(path) for text in other]
    status, _, err = run(capsys, ARM, "--duration", "0.1", *record, *arguments)
    assert status == 2
    assert re.search(words, err)
    assert not path.exists()


def test_after_a_reset_and_in_other_worlds_the_recording_goes_on(tmp_path):
    path = tmp_path / "run.mcap"
    quiet = Diagnostics.silent()
    first, second = (
        Simulation(load_world(name, quiet), defer_images=True, diagnostics=quiet)
        for name in ("arm", "rover")
    )
    guest = BodyEntry(placement=Placement(name="guest", body=load_body(ARM)))
    recording = RunRecording(path, warn=pytest.fail, on_error=pytest.fail)
    steps = count(1)
    changes = {
        100: lambda: runner.reset(),
        200: lambda: runner.replace(second),
        300: lambda: runner.change(lambda: second.spawn(guest)),
        400: lambda: runner.stop(),
    }

    def on_step(time_ns, readings):
        changes.get(next(steps), int)()

    world = recorded_world(recording, first, quiet, lambda _: None)
    with Run(first, [world, OnStep(on_step)], real_time_factor=0.0) as runner:
        runner.run()
    recording.close()
    first.close()
    second.close()
    texts = [message.data for message in decoded(path, "/robot_description")]
    assert [ElementTree.fromstring(text).get("name") for text in texts] == ["Arm", "Rover"]
    assert {"/guest/joint_states", "/guest/robot_description"} < log_times(path).keys()
    for times in log_times(path).values():
        assert times == sorted(times)
    stamps = [m.clock.sec * 10**9 + m.clock.nanosec for m in decoded(path, "/clock")]
    assert stamps.count(1) == 2  # after the reset, and in the other world
