"""``hrp-model rviz``: a configuration for one model, as model_node publishes it."""

import json
import struct

import numpy as np
import yaml
from arm_model import ARM, write_model
from paths import MODELS, ROOT

from hrp_model.cli.main import main

HUMANOID = str(MODELS / "humanoid" / "humanoid.wrl")


def shown(text):
    manager = yaml.safe_load(text)["Visualization Manager"]
    displays = {d["Class"].rpartition("/")[2]: d for d in manager["Displays"]}
    return manager["Global Options"]["Fixed Frame"], displays


def test_the_model_stands_in_the_world_on_a_grid_that_is_its_floor(tmp_path):
    path = tmp_path / "a.rviz"
    assert main(["rviz", HUMANOID, "--world-frame", "world", "-o", str(path)]) == 0
    text = path.read_text(encoding="utf-8")
    assert text == (ROOT / "config" / "display.rviz").read_text(encoding="utf-8")
    frame, displays = shown(text)
    assert frame == displays["Grid"]["Reference Frame"] == "world"
    assert displays["Grid"]["Offset"]["Z"] == 0.0
    topic = displays["RobotModel"]["Description Topic"]
    assert (topic["Value"], topic["Durability Policy"]) == ("/robot_description", "Transient Local")
    panels = [panel["Class"] for panel in yaml.safe_load(text)["Panels"]]
    assert panels == ["rviz_common/Displays"]  # no time, as it is not simulated


def test_prefix_and_namespace_are_those_of_the_node(capsys):
    assert main(["rviz", HUMANOID, "--namespace", "/lab/", "--frame-prefix", "a/b/"]) == 0
    frame, displays = shown(capsys.readouterr().out)
    assert frame == "a/b/PELVIS"
    assert displays["RobotModel"]["TF Prefix"] == "a/b"
    assert displays["RobotModel"]["Description Topic"]["Value"] == "/lab/robot_description"


def test_names_that_reorder_text_are_escaped(tmp_path, capsys):
    """The name is the same when the file is read."""
    name = "A\u202egnp.\u202c腕"
    path = write_model(tmp_path, ARM.replace("BASE", json.dumps(name)))
    assert main(["rviz", path]) == 0
    out = capsys.readouterr().out
    assert "\u202e" not in out
    assert "腕" in out or "\\u8155" in out
    assert shown(out)[0] == name


def test_absurd_sizes_are_shown_as_far_as_numbers_reach(tmp_path, capsys):
    path = write_model(tmp_path, ARM.replace("radius: 0.1", "radius: 1e308"))
    assert main(["rviz", path]) == 0
    manager = yaml.safe_load(capsys.readouterr().out)["Visualization Manager"]
    assert np.isfinite(manager["Views"]["Current"]["Distance"])


def test_a_prefix_that_rviz_cannot_have_is_wrong_use(capsys):
    assert main(["rviz", HUMANOID, "--frame-prefix", "left_"]) == 2
    assert "use 'left_/'" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_told(tmp_path, capsys):
    assert main(["rviz", HUMANOID, "-o", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_the_view_has_most_of_the_window_and_markers_can_be_dragged(capsys):
    """Of the bytes of QMainWindow, these are place, width and height of the first area of docks."""
    assert main(["rviz", str(MODELS / "arm" / "arm.body")]) == 0
    text = capsys.readouterr().out
    window = yaml.safe_load(text)["Window Geometry"]
    state = bytes.fromhex(window["QMainWindow State"])
    place, width, height = struct.unpack(">3i", state[13:25])
    assert place == 0
    assert 300 < width < window["Width"] / 3
    assert height < window["Height"]
    assert "Displays".encode("utf-16-be") in state
    manager = yaml.safe_load(text)["Visualization Manager"]
    assert manager["Tools"][0]["Class"] == "rviz_default_plugins/Interact"
    assert shown(text)[1]["Grid"]["Offset"]["Z"] == 0.0  # not the rounding error of a sum
