"""``hrp-sim plot``: pictures, pages and tables of recordings."""

import csv
import io
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from recording_tools import record_messages

from hrp_sim.cli.main import main

S = 1_000_000_000
HOSTILE = "$\\frac{</script><script>alert(1)</script>\x1b[31m"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    joints = {"name": ["ELBOW", "_WRIST", HOSTILE]}
    states = [(n * S // 100, {**joints, "position": [n, n * n, -n]}) for n in range(100)]
    forces = [(n * S // 50, {"wrench": {"force": {"z": 9.5 * n}}}) for n in range(50)]
    return record_messages(
        tmp_path / "run.mcap",
        {
            ("/joint_states", "sensor_msgs/msg/JointState"): states,
            ("/foot/wrench", "geometry_msgs/msg/WrenchStamped"): forces,
            ("/robot_description", "std_msgs/msg/String"): [(0, {"data": "<robot/>"})],
        },
    )


def texts_of(svg):
    return ["".join(text.itertext()) for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def plotted(*arguments):
    assert main(["plot", "run.mcap", *arguments]) == 0


def test_topics_and_their_numbers_are_listed(recorded, capsys):
    plotted()
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["topic", "messages", "field", "unit"]
    assert ["foot/wrench", "50", "wrench.force.x", "N"] in lines
    assert ["joint_states", "100", "position[ELBOW]", "and", "2", "more", "rad", "or", "m"] in lines
    assert ["robot_description", "1", "(no", "numbers:", "std_msgs/msg/String)"] in lines


def test_a_picture_is_drawn_by_default(recorded, capsys):
    plotted("joint_states.position[ELBOW]")
    assert capsys.readouterr().err == "wrote run.png, 1 curve\n"
    with Image.open("run.png") as image:
        pixels = np.asarray(image.convert("RGB")).astype(int)
    blue = np.abs(pixels - [31, 119, 180]).max(axis=2) < 20  # the first colour
    rows, columns = np.nonzero(blue[:, : pixels.shape[1] * 3 // 4])
    # A straight line from the lower left to the upper right.
    assert abs(np.corrcoef(columns, rows)[0, 1]) > 0.99


def test_labels_name_topic_field_unit_and_element(recorded):
    plotted("joint_states.position", "foot/wrench.wrench.force.z", "-o", "a.svg")
    texts = texts_of((recorded.parent / "a.svg").read_bytes())
    for text in ("run.mcap", "joint_states", "position [rad or m]", "ELBOW", "_WRIST", "time [s]"):
        assert text in texts
    assert "wrench.force.z [N]" in texts
    assert HOSTILE.replace("\x1b", "\ufffd") in texts


def test_an_overview_is_drawn_without_a_selection(recorded):
    plotted("-o", "a.svg")
    texts = texts_of((recorded.parent / "a.svg").read_bytes())
    assert {"position [rad or m]", "wrench.force [N]"} <= set(texts)


def test_the_same_curves_give_the_same_files(recorded):
    for suffix in (".svg", ".png", ".html"):
        for name in ("a", "b"):
            plotted("joint_states", "-o", f"{name}{suffix}")
        folder = recorded.parent
        assert (folder / f"a{suffix}").read_bytes() == (folder / f"b{suffix}").read_bytes()


def test_a_table_has_all_values(recorded):
    plotted("joint_states.position[ELBOW]", "foot/wrench.wrench.force.z", "-o", "a.csv")
    content = (recorded.parent / "a.csv").read_text(encoding="utf-8")
    head, *lines = csv.reader(io.StringIO(content))
    assert head == [
        "time [s]", "joint_states.position[ELBOW] [rad or m]", "foot/wrench.wrench.force.z [N]"
    ]  # fmt: skip
    assert len(lines) == 150
    assert [float(b) for _, b, _ in lines if b] == list(range(100))
    assert [float(t) for t, _, c in lines if c] == pytest.approx(np.arange(50) / 50)


def test_a_page_shows_values_under_the_pointer(recorded, pages):
    plotted("joint_states.position[ELBOW]", f"joint_states.position[{HOSTILE}]", "-o", "a.html")
    page = pages.open((recorded.parent / "a.html").as_uri())
    assert page.tab.title() == "run.mcap"
    panel = page.tab.evaluate("panels[0]")
    box = page.tab.locator("svg").bounding_box()
    time, value = 0.5, 25.0

    def at(a, b, part):
        return a + (b - a) * part

    x = at(panel["x0"], panel["x1"], (time - panel["t0"]) / (panel["t1"] - panel["t0"]))
    y = at(panel["y1"], panel["y0"], (value - panel["low"]) / (panel["high"] - panel["low"]))
    page.tab.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
    page.wait_until(lambda: page.tab.text_content("#readout"))
    shown, *unit = page.tab.text_content("#readout").split(" ", 1)
    assert float(shown) == pytest.approx(value, abs=1.0)
    assert unit[0].startswith("rad or m at 0.")
    assert page.tab.locator("g.curve").count() == 2


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["joint_state"], 2, "no topic 'joint_state'; there is"),
        (["joint_states", "-o", "a.txt"], 2, "the suffix must be one of .png, .svg, .html, .csv"),
        (["joint_states", "-o", "run.mcap/a.png"], 2, "cannot write run.mcap/a.png"),
        (["joint_states", "-o", "run.mcap"], 2, "cannot write run.mcap"),
    ],
)
def test_wrong_use_is_explained(recorded, capsys, arguments, status, message):
    assert main(["plot", "run.mcap", *arguments]) == status
    assert message in capsys.readouterr().err


def test_files_that_are_no_recordings_are_explained(recorded, capsys):
    (recorded.parent / "text.mcap").write_text("text")
    assert main(["plot", "text.mcap"]) == 1
    assert "error: text.mcap is not an MCAP file" in capsys.readouterr().err
    assert main(["plot", "none.mcap"]) == 2
    assert "none.mcap" in capsys.readouterr().err


def test_a_truncated_recording_is_drawn_with_a_warning(recorded, capsys):
    data = recorded.read_bytes()
    recorded.write_bytes(data[: data.rindex(b"\x0f\x04" + bytes(7))])  # at the end of the data
    plotted("joint_states", "-o", "a.png")
    assert "warning: run.mcap has no proper end" in capsys.readouterr().err


def test_a_missing_library_is_named(recorded, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "hrp_sim.recording.plot", raising=False)
    plotted()  # the list needs no pictures
    assert main(["plot", "run.mcap", "joint_states"]) == 2
    error = capsys.readouterr().err
    assert error == "hrp-sim: error: matplotlib is not installed: pip install 'hrp_ros[record]'\n"
