"""A recording in the browser: the robots and sensors of a time, and the controls of the replay."""

import time
from contextlib import ExitStack

import numpy as np
import pytest
from browser_tools import client_of
from motion_recordings import fail
from run_page_tools import gui

from hrp_model.shapes.measure import BoundingBox
from hrp_model.view.viewer import Viewer, set_value
from hrp_msgs.convert.tf import tf_message, transform
from hrp_msgs.messages import Image, LaserScan, String, TFMessage
from hrp_msgs.messages.definitions import serialize
from hrp_msgs.recording import Recorder, Recording
from hrp_sim.recording.recorded_run import RecordedRun
from hrp_sim.recording.replay import Playback, Replay
from hrp_sim.recording.replay_view import ReplayView

RED = (220, 20, 20)
SIZE = (800, 350)
SECOND = 1_000_000_000
BOX = """<robot name="box"><link name="base_link"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><box size="0.4 0.4 0.4"/></geometry>
<material name="red"><color rgba="0.9 0.05 0.05 1"/></material></visual></link></robot>"""


class Session:
    """A replay of a box that moves by 2 m along y in 4 s, which has a scanner and a camera."""

    def __init__(self, path, stack, *, waits=False):
        recorder = Recorder(path, on_error=fail)
        text = recorder.channel("/robot_description", String, latched=True)
        text.write(0, serialize(String(data=BOX)))
        tf = recorder.channel("/tf", TFMessage, latched=False)
        scan = recorder.channel("/scan", LaserScan, latched=False)
        image = recorder.channel("/eye/image_raw", Image, latched=False)
        for i in range(41):
            pose = [0.0, i / 20.0 - 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]
            time_ns = i * SECOND // 10
            tf.write(
                time_ns, serialize(tf_message([transform(time_ns, "world", "base_link", *pose)]))
            )
            message = LaserScan(angle_increment=0.1, range_max=9.0, ranges=[1.0] * 10)
            message.header.frame_id = "base_link"
            scan.write(time_ns, serialize(message))
            message = Image(height=2, width=2, step=6, encoding="rgb8" if i else "secret")
            message.data = [10 * (i // 2)] * 12
            image.write(time_ns, serialize(message))
        recorder.close()
        recording = Recording(path)
        self.problems = []
        self.viewer = stack.enter_context(Viewer(0))
        # So slow that a page on a loaded machine has time to pause it.
        self.clock = Playback(recording.start_ns, recording.end_ns, 0.02)
        if not waits:
            self.clock.pause()
        run = RecordedRun(recording)
        arguments = self.viewer, recording, run, self.clock, self.problems.append
        self.view = ReplayView(*arguments, waits=waits)
        self.viewer.look_at(BoundingBox(np.full(3, -1.2), np.full(3, 1.2)))  # all of its way
        self.replay = Replay(
            recording, self.clock, [self.view], sleep=time.sleep, wall=time.monotonic
        )

    def wait_until(self, page, condition, what):
        def advanced():
            self.replay.advance()
            return condition()

        page.wait_until(advanced, what)

    def wait_for_robot(self, page, camera):
        """Wait until the robot is drawn where it is at the present time; cameras follow it."""

        def is_drawn():
            point = [0.0, self.clock.now_ns / SECOND / 2.0 - 1.0, 0.0]
            return page.shows(RED, page.project(point, camera))

        self.wait_until(page, is_drawn, "a red robot in its place")


@pytest.fixture
def stack():
    with ExitStack() as made:
        yield made


def test_a_replay_begins_with_the_first_browser_and_its_button_and_slider_act(
    pages, tmp_path, stack
):
    session = Session(tmp_path / "a.mcap", stack, waits=True)
    session.replay.advance()
    assert session.clock.now_ns == 0
    page = pages.open(session.viewer.address, SIZE)
    session.wait_until(page, lambda: session.clock.now_ns > 0, "a running clock")
    session.wait_until(page, lambda: page_has(page, "Pause"), "a button to pause")
    page.tab.get_by_role("button", name="Pause").click()
    session.wait_until(page, lambda: session.clock.is_paused, "a pause")
    camera = client_of(session.viewer, page).camera
    session.wait_for_robot(page, camera)
    slider = page.tab.locator(".mantine-Slider-root").first.bounding_box()
    page.tab.mouse.click(slider["x"] + 0.5 * slider["width"], slider["y"] + slider["height"] / 2)
    session.wait_until(page, lambda: session.clock.now_ns > SECOND, "a jump")
    assert session.clock.now_ns == pytest.approx(2 * SECOND, abs=SECOND // 5)
    assert session.clock.is_paused
    session.wait_for_robot(page, camera)
    session.wait_until(page, lambda: page_has(page, "Play"), "a button to play")
    page.tab.get_by_role("button", name="Play").click()
    session.wait_until(page, lambda: not session.clock.is_paused, "going on")
    session.clock.jump(session.clock.end_ns)
    session.wait_until(page, lambda: page_has(page, "Play"), "the end")


def page_has(page, name):
    return page.tab.get_by_role("button", name=name).count() == 1


def test_sensors_show_their_messages_also_after_a_jump(tmp_path, stack):
    session = Session(tmp_path / "a.mcap", stack)
    scene = session.viewer.server.scene
    (points,) = (x for name, x in nodes(scene) if "scan" in name)
    assert points.points[:, 1].min() == pytest.approx(-1.0, abs=0.01)
    session.clock.jump(2 * SECOND)
    session.replay.advance()
    session.view.refresh(session.clock.now_ns)
    assert points.points[:, 1].min() == pytest.approx(0.0, abs=0.01)
    assert session.problems == [
        "topic '/eye/image_raw': images with encoding 'secret' are not shown"
    ]


def test_speeds_that_are_not_offered_are_ignored(tmp_path, stack):
    session = Session(tmp_path / "a.mcap", stack)
    speed = gui(session.viewer, "Speed")
    for value in ("0", "-1", "nan", "fast"):
        set_value(speed, value)
        assert session.clock.factor == 0.02
    set_value(speed, "2")
    assert session.clock.factor == 2.0


def nodes(scene):
    return list(scene._handle_from_node_name.items())
