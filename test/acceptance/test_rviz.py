"""RViz opens the views that are generated: without a warning of ours, and with the robot in them.

It draws on Xvfb, a display without a screen, which keeps its picture in a file.
"""

import os
import re
import shutil
import subprocess
import time
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
from ros_peer import PATIENCE
from ros_tools import missing_packages, needs

pytestmark = [
    pytest.mark.ros,
    needs("rviz2", "rviz_default_plugins"),
    pytest.mark.skipif(shutil.which("Xvfb") is None, reason="not installed: Xvfb"),
]

MODELS = "package://hrp_ros/models"
# How each is generated, the launch file that opens it, and the packages that this one needs.
VIEWS = {
    "arm": ((), ("hrp_ros", "simulation.launch.py", "world:=arm"), ()),
    "rover": ((), ("hrp_ros", "simulation.launch.py", "world:=rover"), ()),
    "humanoid": ((), ("hrp_ros", "simulation.launch.py", "world:=humanoid_in_room"), ()),
    "model": ((), ("hrp_ros", "display.launch.py", f"model:={MODELS}/arm/arm.body"), ()),
    "package": (
        (f"{MODELS}/humanoid/humanoid.wrl", "--package", "src/shown_humanoid"),
        ("shown_humanoid", "display.launch.py", "gui:=false"),
        ("robot_state_publisher", "joint_state_publisher"),
    ),
    "moveit": (
        (f"{MODELS}/arm/arm.body", "--package", "src/planned_arm", "--moveit"),
        ("planned_arm", "demo.launch.py"),
        ("moveit_ros_move_group", "moveit_ros_visualization", "moveit_configs_utils"),
    ),
    "nav2": (
        (f"{MODELS}/rover/rover.body", "--package", "src/driven_rover", "--nav2"),
        ("driven_rover", "nav2.launch.py", "world:=rover"),
        ("nav2_bt_navigator", "nav2_controller", "nav2_planner", "nav2_lifecycle_manager"),
    ),
}
# Of the names of displays: without a problem, with a warning, with an error.
FINE, WARNING, ERROR = (40, 120, 197), (192, 128, 0), (192, 32, 32)
BACKGROUND = (48, 48, 48)  # of the view, in the files
# Warnings of RViz, MoveIt's panel and graphics drivers that name nothing of ours.
THEIRS = re.compile("GLSL|glsl|/recognize_objects|class_loader")


class Screen:
    """The picture of a display."""

    def __init__(self, name, file):
        self.name = name
        self._file = file

    def pixels(self):
        """Return the colours, shape (height, width, 3); the file is one of xwd."""
        data = self._file.read_bytes()
        head = np.frombuffer(data, ">u4", 25)
        width, height, line = (int(head[k]) for k in (4, 5, 12))
        start = int(head[0]) + 12 * int(head[19])
        rows = np.frombuffer(data, np.uint8, height * line, start).reshape(height, line)
        return rows[:, : 4 * width].reshape(height, width, 4)[:, :, 2::-1]


@pytest.fixture
def screen(tmp_path):
    reading, writing = os.pipe()
    command = ("Xvfb", "-displayfd", str(writing), "-screen", "0", "1600x1000x24")
    with subprocess.Popen(
        [*command, "-fbdir", str(tmp_path), "-nolisten", "tcp"],
        pass_fds=[writing], stderr=subprocess.DEVNULL,
    ) as server:  # fmt: skip
        os.close(writing)
        with os.fdopen(reading) as number:
            yield Screen(f":{number.readline().strip()}", tmp_path / "Xvfb_screen0")
        server.terminate()


def count(pixels, color):
    return int((pixels == color).all(axis=2).sum())


def faults(pixels):
    """Return what is not as it should be in a picture of RViz."""
    rows, columns = np.nonzero((pixels == BACKGROUND).all(axis=2))
    if not rows.size or not count(pixels, FINE):
        return ["it does not show its displays"]
    view = pixels[rows.min() : rows.max(), columns.min() : columns.max()].astype(int)
    colored = int((np.ptp(view, axis=2) > 40).sum())
    return [
        *(["a display has a warning"] * bool(count(pixels, WARNING))),
        *(["a display has an error"] * bool(count(pixels, ERROR))),
        *([f"only {colored} pixels of the view have colours"] * (colored < 1000)),
    ]


@contextmanager
def opened(ros, screen, monkeypatch, *launch):
    """Launch what opens RViz; the block begins when it shows all without a problem."""
    software = {"DISPLAY": screen.name, "QT_QPA_PLATFORM": "xcb", "LIBGL_ALWAYS_SOFTWARE": "1"}
    for name, value in software.items():
        monkeypatch.setitem(ros.environment, name, value)
    with ros.running("ros2", "launch", *launch, until="process started") as launched:
        deadline = time.monotonic() + PATIENCE
        while found := faults(screen.pixels()):
            assert time.monotonic() < deadline, found
            assert "[rviz2" not in died(launched.printed), launched.printed
            time.sleep(0.5)
        yield launched


def died(printed):
    """Return the lines about processes that ended by themselves."""
    return "".join(line for line in printed.splitlines() if "process has died" in line)


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.timeout(600)
def test_rviz_shows_the_robot_and_warns_of_nothing(name, ros, screen, monkeypatch):
    generated, launch, packages = VIEWS[name]
    if lack := missing_packages(*packages):
        pytest.skip(f"not installed: {', '.join(lack)}")
    if generated:
        ros.ask("ros2", "run", "hrp_ros", "hrp-model", "urdf", *generated)
        ros.build(generated[2])
    with opened(ros, screen, monkeypatch, *launch) as launched:
        lines = [x for x in launched.printed.splitlines() if x.startswith("[rviz2")]
    assert [x for x in lines if re.search("WARN|ERROR", x) and not THEIRS.search(x)] == []
