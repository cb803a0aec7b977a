"""The page of a run in a real browser."""

import re
from dataclasses import replace

import numpy as np
import pytest
from browser_tools import client_of, has_color
from PIL import Image

pytest.importorskip("viser")

from run_page_tools import RunPage, gui, labels, node, parts
from sim.physics.scenes import Z, at, box_inertia, floor, root
from viser import GuiSliderHandle, GuiUplotHandle

from hrp_model.body import Body
from hrp_model.diagnostics import Diagnostic, Severity
from hrp_model.geometry import Box, Material, Shape
from hrp_model.load import load_body
from hrp_msgs.recording import Recording
from hrp_sim import BodyEntry, WorldConfig
from hrp_sim.engine.engine import PhysicsSettings, Placement

RED = (255, 0, 0)
SIZE = np.full(3, 0.3)
# viser 1.1.1 causes it with every drag; the drag works.
DRAG_ERROR = "Unable to preventDefault inside passive event listener invocation."


def block_in_space():
    """A red block of 2 kg that floats without gravity, 1 m above the origin."""
    shape = Shape(Box(SIZE), np.eye(4), Material(diffuse=(1.0, 0.0, 0.0)))
    link = root(
        "BLOCK", free=True, mass=2.0, inertia=box_inertia(2.0, SIZE), visual=(shape,),
        collision=(shape,),
    )  # fmt: skip
    body = Body(name="block", links=(link,))
    placement = Placement(name="block", body=body, X_WL=at(z=1.0))
    physics = PhysicsSettings(gravity=(0.0, 0.0, 0.0))
    return WorldConfig(physics=physics, bodies=(BodyEntry(placement=placement),))


@pytest.fixture(scope="module")
def arm(shared_pages):
    """The run of an arm on a floor that has a problem, and its page.

    It runs, as the page then changes with every frame.
    """
    with RunPage("arm") as run:
        bodies = run.simulation.bodies
        (floor_link,) = next(bodies[name].body.links for name in bodies if name != "arm")
        problem = Diagnostic(Severity.WARNING, "massless-link", "something is odd", floor_link.at)
        run.run_viewer.show_problems([problem])
        yield run, run.open(shared_pages)


def shown_time(page):
    found = re.search(r"([\d.]+) s", page.tab.locator("[data-clock]").inner_text())
    return float(found.group(1))


def press(page, label):
    page.tab.get_by_role("button", name=label, exact=True).click()


def test_the_controls_act_on_the_run_and_its_clock_and_sensors_appear(pages):
    with RunPage("rover") as run:
        page = run.open(pages)
        page.wait_until(lambda: shown_time(page) > 0.2, "a running clock")
        press(page, "Pause")
        page.wait_until(lambda: run.runner.paused, "paused")
        page.wait_until(lambda: shown_time(page) == pytest.approx(run.time, abs=5e-4))
        before = run.runner.call(lambda: run.time)  # when the step under way has ended
        page.tab.get_by_label("Steps", exact=True).fill("25")
        press(page, "Step")
        page.wait_until(lambda: run.time == pytest.approx(before + 0.025), "25 steps")
        page.wait_until(lambda: shown_time(page) == pytest.approx(before + 0.025, abs=5e-4))
        press(page, "Reset")
        page.wait_until(lambda: shown_time(page) == 0.0, "a clock at zero")
        assert run.time == 0.0
        press(page, "Play")
        page.wait_until(lambda: run.time > 0.05, "running")
        scan_and_camera_appear(run, page)


def it_records_and_takes_a_picture(run, page):
    press(page, "Record")
    page.wait_until(lambda: "Stop and save the recording" in labels(run.viewer), "recording")
    begin = run.time
    page.wait_until(lambda: run.time > begin + 0.3)
    with page.tab.expect_download() as download:
        press(page, "Stop and save the recording")
    recording = Recording(download.value.path())
    assert max(m.time_ns for m in recording.messages(["/tf"])) / 1e9 > begin
    press(page, "Pause")
    with page.tab.expect_download() as download:
        press(page, "Picture")
    with Image.open(download.value.path()) as image:
        assert has_color(np.asarray(image), RED).mean() > 0.01


def test_a_link_that_is_pulled_with_the_mouse_follows(pages):
    with RunPage(block_in_space()) as run:
        page = run.open(pages)
        camera = client_of(run.viewer, page).camera
        page.wait_for_point(RED, Z, camera)
        it_records_and_takes_a_picture(run, page)
        press(page, "Play")
        goal = page.project(1.2 * Z, camera)  # pixels
        mouse = page.tab.mouse
        page.tab.keyboard.down("Control")
        mouse.move(*page.project(Z, camera))
        mouse.down()
        mouse.move(*goal, steps=5)
        motion = run.simulation.bodies["block"].motion

        def is_at_mouse():
            pull = run.run_viewer.pulling.present
            if pull is None:  # the server has not heard of it yet
                return False
            grabbed = motion.p[0] + motion.R[0] @ pull.point
            return np.linalg.norm(np.subtract(page.project(grabbed, camera), goal)) < 10.0

        page.wait_until(is_at_mouse, "the block at the mouse")
        page.wait_until(lambda: node(run.viewer, "/pull") is not None, "an arrow")
        mouse.up()
        page.tab.keyboard.up("Control")
        page.wait_until(lambda: run.run_viewer.pulling.present is None, "let go")
        page.wait_until(lambda: not node(run.viewer, "/pull").visible, "no arrow")
    assert set(page.errors) <= {DRAG_ERROR}
    page.errors.clear()


def test_keys_drive_a_vehicle_which_the_camera_follows_also_on_a_phone_in_the_dark(pages):
    with RunPage(rover_on_a_plain()) as run:
        page = run.open(pages, (900, 450))
        camera = client_of(run.viewer, page).camera
        page.wait_until(lambda: shown_time(page) > 0.2, "a running clock")
        motion = run.simulation.bodies["rover"].motion
        page.open_part("Control")  # and keeps the focus
        page.tab.keyboard.down("w")
        page.wait_until(lambda: motion.p[0, 0] > 1.5, "driven ahead")
        page.tab.keyboard.up("w")
        page.wait_until(lambda: np.abs(motion.v[0]).max() < 0.01, "stopped")

        def is_in_the_middle():  # of the scene, to the left of the panel, 330 pixels wide
            return 570 / 3 < page.project(motion.p[0], camera)[0] < 2 * 570 / 3

        page.wait_until(is_in_the_middle, "followed by the camera")
        page.wait_until(lambda: _elevation(camera) > np.radians(30.0), "looking over the wall")
        page.tab.keyboard.press("3")
        page.wait_until(lambda: camera.position[2] > 1.2 and _is_above(camera, motion), "on top")
        page.close()
        phone = run.open(pages, (390, 844), dark=True)
        pad = phone.tab.get_by_label("backward", exact=True)
        phone.wait_until(pad.is_visible, "a drive pad")
        left = phone.tab.get_by_label("turn left", exact=True)
        pad.dispatch_event("pointerdown", {"pointerId": 1})
        left.dispatch_event("pointerdown", {"pointerId": 2})  # by a second finger
        phone.wait_until(lambda: motion.w[0, 2] > 0.1, "turning")
        left.dispatch_event("pointerup", {"pointerId": 2})
        phone.wait_until(lambda: motion.R[0, :, 0] @ motion.v[0] < -0.2, "driven back")
        pad.dispatch_event("pointerup", {"pointerId": 1})
        phone.wait_until(lambda: np.abs(motion.v[0]).max() < 0.01, "stopped")
        phone.wait_until(lambda: phone.pixels()[-20:, :].mean() < 80, "a dark panel")
        sheet = (
            phone.tab.locator(".mantine-Paper-root").filter(has_text="rover").first.bounding_box()
        )
        scene = phone.tab.locator("canvas[data-engine]").bounding_box()
        assert sheet["width"] == 390
        assert scene["height"] + sheet["height"] < 844 + 20


def rover_on_a_plain():
    """The rover without sensors, on a floor; from 1.5 m on, a wall hides it from its left."""
    body = load_body("package://hrp_ros/models/rover/rover.body")
    placement = Placement(name="rover", body=replace(body, devices=()), X_WL=at(z=0.2))
    wall = root("WALL", mass=0.0, visual=(Shape(Box(np.array([14.0, 0.1, 1.2])), np.eye(4)),))
    screen = Placement(
        name="screen", body=Body(name="screen", links=(wall,)), X_WL=at(8.5, 0.8, 0.6), fixed=True
    )
    return WorldConfig(bodies=tuple(BodyEntry(placement=x) for x in (placement, floor(), screen)))


def _elevation(camera):
    """Return how steeply a camera looks down, in [rad]."""
    x, y, z = camera.position - camera.look_at
    return np.arctan2(z, np.hypot(x, y))


def _is_above(camera, motion):
    return np.hypot(*(camera.position - motion.p[0])[:2]) < 0.2


def scan_and_camera_appear(run, page):
    page.open_part("Sensors")
    picture = page.tab.get_by_role("img").first
    page.wait_until(picture.is_visible, "a picture")
    points = [k for k in run.simulation.sensors if "scan" in k]
    assert points
    for name in points:
        page.wait_until(lambda name=name: node(run.viewer, name) is not None, name)
        assert len(node(run.viewer, name).points) > 10


@pytest.mark.slow
def test_the_end_of_a_run_and_a_browser_that_comes_and_goes(pages):
    with RunPage("rover", hint="none") as run:
        first = run.open(pages)
        first.wait_until(lambda: shown_time(first) > 0.0)
        first.close()  # in mid-run
        count = len(run.times)
        second = run.open(pages)
        second.wait_until(lambda: shown_time(second) > 0.0)
        second.wait_until(lambda: len(run.times) > count + 100, "steps meanwhile")
        run.end("It is over at 12 s.")
        second.wait_for_text("It is over at 12 s.")
        second.errors.clear()  # of the connection that is gone


def test_curves_of_joints_and_sensors_are_drawn_and_a_slider_commands_its_joint(arm):
    run, page = arm
    a_slider_commands_its_joint(run, page)
    page.open_part("Curves")
    page.wait_until(lambda: page.tab.locator(".uplot").count() == 1, "a plot")
    page.wait_for_text("J3 position")  # chosen at first
    press(page, "Remove all")
    page.wait_until(lambda: page.tab.locator(".uplot").count() == 0, "no plot")
    press(page, "Add curve")
    page.wait_for_text("J1 position")
    page.wait_until(lambda: len(_data(run)[0]) > 20, "samples")
    times, values = _data(run)
    np.testing.assert_allclose(np.diff(times), 0.02, atol=1e-9)
    assert np.isfinite(values).all()
    press(page, "Remove all")
    page.wait_until(lambda: page.tab.locator(".uplot").count() == 0, "no plot")


def _data(run):
    return parts(run.viewer, GuiUplotHandle)[0].data


def a_slider_commands_its_joint(run, page):
    page.open_part("Control")
    slider = page.tab.get_by_role("slider").first
    page.wait_until(slider.is_visible, "a slider")
    for _ in range(30):
        slider.press("ArrowRight")
    simulated = run.simulation.bodies["arm"]
    target = next(x for x in parts(run.viewer, GuiSliderHandle) if x.label.startswith("J1 "))
    page.wait_until(lambda: target.value > 0.0, "a target")

    def is_at_target():
        return abs(simulated.motion.q[0] - np.radians(target.value)) < 0.02

    page.wait_until(is_at_target, "joint at target")


def test_a_click_selects_a_link_or_that_of_a_problem_of_any_body(arm):
    run, page = arm
    other = next(name for name in run.simulation.bodies if name != "arm")
    link = run.simulation.bodies[other].body.links[0]
    page.tab.get_by_role("button", name="1 warning").click()
    page.wait_until(lambda: gui(run.viewer, "Body").value == "arm")
    page.tab.locator("[data-link=J3]").first.click()
    page.wait_until(lambda: gui(run.viewer, "Selected link").value == "J3", "selected")
    page.wait_until(lambda: node(run.viewer, "/selection") is not None, "highlighted")
    page.tab.get_by_text("something is odd").click()
    page.wait_until(lambda: gui(run.viewer, "Body").value == other, "the other body")
    page.wait_until(lambda: gui(run.viewer, "Selected link").value == link.name, "selected")
    page.tab.get_by_text("something is odd").click()  # now of the body that is shown
    page.wait_until(lambda: node(run.viewer, "/selection") is not None, "highlighted")
