"""The robots of recordings: ours, foreign and broken ones."""

import shutil

import numpy as np
import pytest
from motion_recordings import fail, record
from numpy.testing import assert_allclose
from PIL import Image

from hrp_model import BodyState, Diagnostics, ModelError
from hrp_msgs.convert.tf import tf_message, transform
from hrp_msgs.messages import Header, Odometry, String, TFMessage
from hrp_msgs.messages.definitions import serialize
from hrp_msgs.recording import Recorder, Recording, RecordingError
from hrp_sim.cli.main import main
from hrp_sim.recording.recorded_run import RecordedRun

LATCHED = ("/tf_static", "robot_description")
BOX = """<robot name="box"><link name="base_link"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""


def write(path, *messages):
    """Write (time, topic, message) as a recording, and open it."""
    recorder = Recorder(path, on_error=fail)
    for time_ns, topic, message in messages:
        channel = recorder.channel(topic, type(message), latched=topic.endswith(LATCHED))
        channel.write(time_ns, serialize(message))
    recorder.close()
    return Recording(path)


def placed(frame, x, parent="world"):
    return tf_message([transform(0, parent, frame, [x, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0])])


@pytest.mark.parametrize("world", ["humanoid_in_room", "rover", "arm", "stack"])
def test_poses_are_the_kinematics_of_the_recorded_simulation(tmp_path, world):
    path = tmp_path / "run.mcap"
    simulation = record(path, world, tmp_path / "meshes")
    shutil.rmtree(tmp_path / "meshes", ignore_errors=True)  # as on another machine
    run = RecordedRun(Recording(path))
    by_model = {body.body.name: body for body in simulation.bodies.values()}
    by_name = {**by_model, **simulation.bodies}
    assert len(run.bodies) == len(simulation.bodies)
    found = run.poses(simulation.state.time_ns)
    for name, body in run.bodies.items():
        simulated = by_name[name]
        state = BodyState(simulated.body)
        state.p[0], state.R[0] = simulated.motion.p[0], simulated.motion.R[0]
        state.q = simulated.motion.q
        state.calc_forward_kinematics()
        assert {x.name for x in simulated.body.links} <= {x.name for x in body.links}
        for i, link in enumerate(simulated.body.links):
            k = body.link_index(link.name)
            assert_allclose(found[name].p[k], state.p[i], atol=1e-9)
            assert_allclose(found[name].R[k], state.R[i], atol=1e-9)
    simulation.close()


def test_times_are_those_of_the_transforms(tmp_path):
    record(tmp_path / "run.mcap", "arm", tmp_path, duration=0.1).close()
    run = RecordedRun(Recording(tmp_path / "run.mcap"))
    times = run.times()
    assert times[0] == run.start_ns == 0
    assert times[-1] == run.end_ns
    assert np.all(np.diff(times) > 0)


def test_a_body_whose_frames_are_static_is_fixed(tmp_path):
    record(tmp_path / "run.mcap", "humanoid_in_room", tmp_path, duration=0.05).close()
    diagnostics = Diagnostics.silent()
    run = RecordedRun(Recording(tmp_path / "run.mcap"), diagnostics=diagnostics)
    assert run.bodies["Room"].is_static
    assert not run.bodies["Humanoid"].is_root_fixed
    assert diagnostics.found == []


def test_recordings_of_other_programs_work(tmp_path):
    recording = write(
        tmp_path / "a.mcap",
        (0, "/left/robot_description", String(data=BOX)),
        (0, "/right/robot_description", String(data=BOX)),
        (10, "/tf", placed("left/base_link", 1.0, "map")),
        (10, "/tf", placed("right/base_link", 2.0, "map")),
        (20, "/tf", placed("left/base_link", 3.0, "map")),
    )
    run = RecordedRun(recording)
    poses = run.poses(15)
    assert poses["left"].p[0, 0] == 2.0
    assert poses["right"].p[0, 0] == 2.0
    assert run.namespaces == {"left": "left", "right": "right"}


def test_a_robot_that_follows_drifting_odometry_is_where_it_truly_was(tmp_path):
    """Its frame hangs below one of the odometry, which no transform connects with the world."""

    def true(x):
        message = Odometry(header=Header(frame_id="world"), child_frame_id="base_link")
        message.pose.pose.position.x, message.pose.pose.orientation.w = x, 1.0
        return message

    run = RecordedRun(
        write(
            tmp_path / "run.mcap",
            (0, "/robot_description", String(data=BOX)),
            *((i, "/tf", placed("base_link", 0.1 * i, "odom")) for i in range(5)),
            *((i, "/ground_truth/odom", true(1.0 + 0.2 * i)) for i in range(5)),
            *((i, "/odom", true(7.0)) for i in range(5)),
        )
    )
    assert run.poses(3)["box"].p[0].tolist() == pytest.approx([1.6, 0.0, 0.0])


def test_a_robot_whose_frames_never_appear_stands_where_its_urdf_says(tmp_path):
    recording = write(
        tmp_path / "a.mcap",
        (0, "/robot_description", String(data=BOX)),
        (0, "/tf", placed("somebody_else", 1.0)),
    )
    assert_allclose(RecordedRun(recording).poses(0)["box"].p, [[0.0, 0.0, 0.0]])


def test_cycles_of_frames_end(tmp_path):
    recording = write(
        tmp_path / "a.mcap",
        (0, "/robot_description", String(data=BOX)),
        (0, "/tf", placed("base_link", 1.0, "a")),
        (0, "/tf", placed("a", 1.0, "base_link")),
    )
    assert np.isfinite(RecordedRun(recording).poses(0)["box"].p).all()


def test_without_a_description_the_error_names_what_is_missing_and_what_there_is(tmp_path):
    recording = write(tmp_path / "a.mcap", (0, "/tf", TFMessage()))
    with pytest.raises(RecordingError, match=r"'robot_description'.*, and has /tf$"):
        RecordedRun(recording)


def test_an_empty_recording_has_no_robot(tmp_path):
    with pytest.raises(RecordingError, match="no topics at all"):
        RecordedRun(write(tmp_path / "a.mcap"))


def test_one_invalid_robot_does_not_hide_the_others(tmp_path):
    recording = write(
        tmp_path / "a.mcap",
        (0, "/robot_description", String(data=BOX)),
        (0, "/broken/robot_description", String(data="<robot")),
    )
    diagnostics = Diagnostics.silent()
    run = RecordedRun(recording, diagnostics=diagnostics)
    assert list(run.bodies) == ["box"]
    assert "broken/robot_description:1:" in str(diagnostics.found[0])


def test_without_any_valid_robot_all_problems_are_raised(tmp_path):
    recording = write(tmp_path / "a.mcap", (0, "/robot_description", String(data="<robot")))
    with pytest.raises(ModelError, match="robot_description:1:"):
        RecordedRun(recording, diagnostics=Diagnostics.silent())


def test_a_truncated_recording_is_used_up_to_its_end(tmp_path):
    path = tmp_path / "run.mcap"
    recorder = Recorder(path, on_error=fail)
    data = serialize(placed("base_link", 1.0))
    recorder.channel("/robot_description", String, latched=True).write(
        0, serialize(String(data=BOX))
    )
    channel = recorder.channel("/tf", TFMessage, latched=False)
    for time_ns in range(60_000):
        channel.write(time_ns, data)
    recorder.close()
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 2 // 3])
    recording = Recording(path)
    run = RecordedRun(recording)
    assert recording.truncated
    assert 0 < run.end_ns < 59_999
    assert run.poses(run.end_ns)["box"].p[0, 0] == 1.0


def test_a_recording_is_filmed_like_its_simulation(tmp_path):
    record(tmp_path / "run.mcap", "arm", tmp_path / "meshes", duration=0.2).close()
    pictures = []
    for source in (str(tmp_path / "run.mcap"), "arm"):
        output = tmp_path / "picture.png"
        assert main(["video", source, str(output), "--duration", "0.2", "--size", "320x240"]) == 0
        with Image.open(output) as image:
            pictures.append(np.asarray(image.convert("RGB")).astype(int))
    assert np.abs(pictures[0] - pictures[1]).mean() < 3.0
    assert pictures[0].std() > 10.0
