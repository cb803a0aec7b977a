"""Pages in one file, opened from disk in a browser without any network."""

import numpy as np
import pytest
from browser_tools import has_color
from each_case import mostly_slow
from mcap.reader import make_reader
from motion_recordings import fail, record
from paths import MODELS, SHARED

from hrp_model.diagnostics import Severity
from hrp_model.view.page_html import Section, page_html
from hrp_msgs.convert.tf import tf_message, transform
from hrp_msgs.messages import String, TFMessage
from hrp_msgs.messages.definitions import serialize
from hrp_msgs.recording import Recorder
from hrp_sim.cli.main import main

RED = (220, 20, 20)
SIZE = (900, 400)  # small pages are drawn fast
SECOND = 1_000_000_000
BOX = """<robot name="box"><link name="base_link"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><box size="0.4 0.4 0.4"/></geometry>
<material name="red"><color rgba="0.9 0.05 0.05 1"/></material></visual></link></robot>"""
HOSTILE = "</pre></script><script>document.title='owned'</script><img src=x onerror=alert(1)>"

COUNT_FADES = """() => {
  const canvas = document.querySelector('canvas[data-engine]');
  window.fades = 0;
  const count = () => { window.fades += canvas.style.opacity !== '' && canvas.style.opacity < 1; };
  new MutationObserver(count).observe(canvas, { attributeFilter: ['style'] });
}"""


def slide(path, urdf=BOX):
    """Record a robot that moves by 2 m along y, which is to the right on the page, in 2 s."""
    recorder = Recorder(path, on_error=fail)
    description = recorder.channel("/robot_description", String, latched=True)
    description.write(0, serialize(String(data=urdf)))
    tf = recorder.channel("/tf", TFMessage, latched=False)
    for i in range(21):
        pose = [0.0, i / 10.0 - 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]
        message = tf_message([transform(i * SECOND // 10, "world", "base_link", *pose)])
        tf.write(i * SECOND // 10, serialize(message))
    recorder.close()
    return path


def make(source, output, *options):
    assert main(["page", str(source), str(output), *options]) == 0
    return f"file://{output}"


def slide_to(page, time, duration=2.0):
    """Click on the time slider of a run of a duration, until it is at a time, both in [s].

    While the scene is drawn for the first time, the player's own timer may still change it.
    """
    scene = page.tab.frame_locator("iframe")
    slider, shown = scene.locator(".mantine-Slider-root").first, scene.locator("input").first
    slider.wait_for(timeout=300_000)

    def is_there():
        box = slider.bounding_box()
        x, y = box["x"] + time / duration * box["width"], box["y"] + box["height"] / 2.0
        page.tab.mouse.click(x, y)
        page.tab.wait_for_timeout(100)  # the timer
        return shown.input_value() == f"{time:.1f}"

    page.wait_until(is_there, f"a slider at {time} s")


def it_keeps_its_light_when_it_begins_again(page):
    """viser fades its picture in while it shows its own lights."""
    shown = page.tab.frame_locator("iframe").locator("input").first
    shown.wait_for(timeout=300_000)
    scene = page.tab.frames[1]
    scene.evaluate(COUNT_FADES)
    seen = [0.0]

    def has_begun_again():
        seen.append(float(shown.input_value()))
        return seen[-1] < max(seen) - 0.5

    page.wait_until(has_begun_again, "begun again")
    page.wait_until(lambda: float(shown.input_value()) > 0.5, "going on")
    assert scene.evaluate("window.fades") == 0


def red_at(page):
    """Return the column of the middle of what is red, or None."""
    columns = np.nonzero(has_color(page.pixels(), RED))[1]
    return float(columns.mean()) if len(columns) > 100 else None


def test_the_slider_moves_the_robot_to_where_it_was_and_its_hostile_names_are_text(
    pages, tmp_path, capsys
):
    name = HOSTILE.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    joint = f'<joint name="j" type="fixed"><parent link="base_link"/><child link="{name}"/></joint>'
    urdf = BOX.replace('name="box"', f'name="{name}"').replace(
        "</robot>", f'<link name="{name}"/>{joint}</robot>'
    )
    page = pages.open(make(slide(tmp_path / "run.mcap", urdf), tmp_path / "run.html"), SIZE)
    page.wait_for_text("onerror=alert")
    assert page.tab.title() == "run"
    assert page.tab.locator("aside img").count() == 0
    it_keeps_its_light_when_it_begins_again(page)
    middle = page.tab.locator("iframe").bounding_box()["width"] / 2.0
    for time, low, high in (
        (1.9, middle + 50.0, 2.0 * middle),
        (0.1, 0.0, middle - 50.0),  # backwards
    ):
        slide_to(page, time)

        def is_there(low=low, high=high):
            column = red_at(page)
            return column is not None and low < column < high

        page.wait_until(is_there, f"the robot where it was at {time} s")
    assert "2 s" in capsys.readouterr().err


OPENHRP = SHARED / "models" / "fkanehiro__openhrp3" / "sample" / "model"
CHOREONOID = SHARED / "models" / "choreonoid__choreonoid" / "share" / "model"
ROBOTS = [
    MODELS / "humanoid" / "humanoid.wrl",
    MODELS / "arm" / "arm.body",
    MODELS / "rover" / "rover.body",
    MODELS / "press" / "press.body",
    OPENHRP / "sample1.wrl",
    OPENHRP / "simple_vehicle_with_camera.wrl",
    CHOREONOID / "SR1" / "SR1.body",
    CHOREONOID / "GR001" / "GR001.body",
    CHOREONOID / "Tank" / "Tank.body",
    CHOREONOID / "JACO2" / "JACO2.body",
]


@pytest.mark.parametrize("model", mostly_slow(ROBOTS, 1), ids=lambda path: path.stem)
def test_robots_are_visible_and_the_slider_moves_them(pages, tmp_path, model):
    if not model.is_file():
        pytest.skip("the models of others are not beside this checkout")
    world = tmp_path / "world.yaml"
    # Everything moves: no floor, limp joints, and gravity that no posture balances.
    world.write_text(
        "physics: {gravity: [2.0, 3.0, -4.0]}\n"
        f"bodies: [{{model: '{model}', name: robot, control: none}}]\n"
    )
    address = make(world, tmp_path / "page.html", "--duration", "0.8")
    page = pages.open(address, (500, 200))

    # It warns of a machine without a GPU.
    page.tab.frames[1].add_style_tag(content=".mantine-Notifications-root { display: none }")
    width = int(page.tab.locator("iframe").bounding_box()["width"])

    def picture():
        return page.pixels()[:140, :width].astype(int)

    def changed():
        return (np.abs(picture() - early).max(axis=2) > 40).sum()

    def goes_and_comes_back():
        nonlocal early
        slide_to(page, 0.7, 0.8)
        page.wait_until(lambda: changed() > 100, "a moved robot")
        slide_to(page, 0.2, 0.8)
        if any(changed() == 0 for _ in range(20)):
            return True
        early = picture()  # not all was drawn before
        return False

    slide_to(page, 0.2, 0.8)
    early = picture()
    page.wait_until(goes_and_comes_back, "a robot that goes and comes back with the slider")


def test_a_page_shows_names_as_text_and_refuses_what_it_does_not_contain(pages, tmp_path):
    scene = (
        "<!DOCTYPE html><body><script>fetch('https://example.com').catch("
        "() => document.body.append('refused'))</script>"
    )
    section = Section("Problems: 1", [(Severity.ERROR, f"error: link '{HOSTILE}'")])
    content = page_html(HOSTILE, [("file", HOSTILE)], [section], scene)
    (tmp_path / "page.html").write_text(content)
    page = pages.open(f"file://{tmp_path}/page.html")
    page.wait_for_text("error: link")
    assert page.tab.title() == HOSTILE
    assert page.tab.locator("aside img").count() == 0
    assert page.tab.locator("h1").text_content() == HOSTILE
    page.tab.frame_locator("iframe").get_by_text("refused").wait_for(timeout=300_000)
    assert page.foreign == []
    page.errors.clear()  # the browser reports the refusal


def test_the_problems_of_check_are_shown_with_their_hints(tmp_path, capsys):
    model = tmp_path / "light.urdf"
    model.write_text(BOX.replace('<mass value="1"/>', '<mass value="0"/>'))
    make(model, tmp_path / "page.html")  # a posture, as the physics needs a mass
    content = (tmp_path / "page.html").read_text()
    assert "0 s, simulated" in content
    assert 'class="text warning"' in content
    assert "[massless-link]" in content
    assert "hint: " in content
    assert "listed in the page" in capsys.readouterr().err


def test_a_model_that_cannot_be_used_gives_no_page(tmp_path, capsys):
    model = tmp_path / "broken.urdf"
    model.write_text("<robot")
    assert main(["page", str(model), str(tmp_path / "page.html")]) == 1
    assert not (tmp_path / "page.html").exists()
    assert "broken.urdf:1:" in capsys.readouterr().err


def test_a_truncated_recording_is_shown_up_to_its_end(tmp_path, capsys):
    path = slide(tmp_path / "run.mcap")
    with path.open("rb") as file:
        last = make_reader(file).get_summary().chunk_indexes[-1]
    path.write_bytes(path.read_bytes()[: last.chunk_start_offset + last.chunk_length])
    make(path, tmp_path / "run.html")
    assert "has no proper end" in (tmp_path / "run.html").read_text()
    assert "listed in the page" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "status", "message"),
    [
        (b"not MCAP", 1, "is not an MCAP file"),
        (b"", 1, "is empty"),
        (None, 2, "No such file"),
    ],
)
@pytest.mark.parametrize("command", ["page", "replay"])
def test_what_is_no_recording_is_an_error(tmp_path, capsys, content, status, message, command):
    path = tmp_path / "run.mcap"
    if content is not None:
        path.write_bytes(content)
    output = [str(tmp_path / "page.html")] if command == "page" else []
    assert main([command, str(path), *output]) == status
    error = capsys.readouterr().err
    assert message in error
    assert str(path) in error
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("command", ["page", "replay"])
def test_a_recording_without_a_robot_is_an_error_that_says_what_is_missing(
    tmp_path, capsys, command
):
    recorder = Recorder(tmp_path / "run.mcap", on_error=fail)
    recorder.channel("/chatter", String, latched=False).write(0, serialize(String(data="hi")))
    recorder.close()
    output = [str(tmp_path / "page.html")] if command == "page" else []
    assert main([command, str(tmp_path / "run.mcap"), *output]) == 1
    assert "it needs a topic 'robot_description'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["page", "replay", "plot"])
def test_a_recording_that_ends_before_its_first_chunk_says_so(tmp_path, capsys, command):
    path = slide(tmp_path / "run.mcap")
    with path.open("rb") as file:
        first = make_reader(file).get_summary().chunk_indexes[0]
    path.write_bytes(path.read_bytes()[: first.chunk_start_offset + first.chunk_length // 2])
    output = [str(tmp_path / "page.html")] if command == "page" else []
    assert main([command, str(path), *output]) == (0 if command == "plot" else 1)
    error = capsys.readouterr().err
    assert "has no proper end" in error
    assert "no topics" in error


def test_an_output_that_cannot_be_written_is_a_usage_error(tmp_path, capsys):
    path = slide(tmp_path / "run.mcap")
    before = path.read_bytes()
    assert main(["page", str(path), str(tmp_path)]) == 2
    assert main(["page", str(path), str(path)]) == 2
    assert "cannot write" in capsys.readouterr().err
    assert path.read_bytes() == before
    model = tmp_path / "box.urdf"
    model.write_text(BOX)
    assert main(["page", str(path), str(model)]) == 2
    assert model.read_text() == BOX


def test_a_page_of_unbounded_size_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("hrp_sim.cli.page.MAX_SIZE", 500_000)
    path = slide(tmp_path / "run.mcap")
    assert main(["page", str(path), str(tmp_path / "page.html")]) == 1
    assert "simplify the meshes" in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()


def test_long_runs_have_fewer_postures(tmp_path, monkeypatch):
    monkeypatch.setattr("hrp_sim.cli.page.MAX_POSES", 20)
    make(slide(tmp_path / "run.mcap"), tmp_path / "run.html")
    assert "10 per second" in (tmp_path / "run.html").read_text()


def test_a_long_recording_in_which_nothing_moves_takes_little_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("hrp_sim.cli.page.MAX_POSES", 1000)
    recorder = Recorder(tmp_path / "run.mcap", on_error=fail)
    description = recorder.channel("/robot_description", String, latched=True)
    description.write(0, serialize(String(data=BOX)))
    description.write(24 * 3600 * SECOND, serialize(String(data=BOX)))
    recorder.close()
    make(tmp_path / "run.mcap", tmp_path / "run.html")
    assert "86400 s, recorded" in (tmp_path / "run.html").read_text()


def test_recordings_of_runs_become_pages(tmp_path, capsys):
    record(tmp_path / "run.mcap", "rover", tmp_path / "meshes", duration=0.2).close()
    make(tmp_path / "run.mcap", tmp_path / "run.html")
    content = (tmp_path / "run.html").read_text()
    assert len(content) < 1_000_000
    assert "0.2 s, recorded" in content
    assert "CHASSIS" in content
    assert "Problems: none" in content
    assert "wrote" in capsys.readouterr().err
