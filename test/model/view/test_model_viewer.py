"""The page of a model: sliders, switches, lists, and what happens on a click in them."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from browser_tools import client_of
from view_models import GREEN, TWO_CUBES, two_cubes

pytest.importorskip("viser")

from hrp_model.body import Body, Viewpoint
from hrp_model.diagnostics import Diagnostics, Source, Span
from hrp_model.kinematics.state import BodyState
from hrp_model.load import load_body
from hrp_model.rigid import Pose
from hrp_model.view.model_viewer import ModelViewer
from hrp_model.view.viewer import Viewer

HOSTILE = "<script>document.title='owned'</script>\u202e'\"\\ arm"
SELECTED = (255, 170, 0)


def problems(text):
    """A warning at the place of a text that names no link."""
    diagnostics = Diagnostics.silent()
    diagnostics.warn("unknown-key", f"'x' is not used {HOSTILE}", text)
    return diagnostics.found


@pytest.fixture(scope="module")
def shown(shared_pages):
    """The page of the two cubes, and the camera of its browser."""
    with Viewer(0) as viewer:
        model = ModelViewer(viewer, "cubes.body")
        model.show(two_cubes(), [])
        page = shared_pages.open(viewer.address)
        yield model, page, client_of(viewer, page).camera


def test_a_page_begins_at_the_first_viewpoint_of_the_model():
    R = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # looks along y
    front = Viewpoint(name="front", X_MV=Pose(R, np.array([0.5, -7.0, 1.0])), field_of_view=0.7)
    with Viewer(0) as viewer:
        ModelViewer(viewer, "cubes.body").show(replace(two_cubes(), viewpoints=(front,)), [])
        camera = viewer.server.initial_camera
        np.testing.assert_allclose(camera.position, (0.5, -7.0, 1.0))
        ahead = np.subtract(camera.look_at, camera.position)
        np.testing.assert_allclose(ahead / np.linalg.norm(ahead), (0.0, 1.0, 0.0), atol=1e-12)


def arm_position(q):
    """Where the kinematics has the green cube of two_cubes."""
    state = BodyState(two_cubes())
    state.q[0] = q
    state.calc_forward_kinematics()
    return state.link("arm").p.copy()


def test_a_number_in_the_field_of_a_slider_moves_the_link(shown):
    model, page, camera = shown
    page.wait_for_point(GREEN, arm_position(0.0), camera)
    page.field("arm").fill("40")
    page.wait_until(lambda: model.positions == pytest.approx({"arm": np.radians(40.0)}))
    page.field("degrees").uncheck()
    page.wait_until(lambda: float(page.field("arm").input_value()) == pytest.approx(0.698))
    page.tab.get_by_text("initial posture").click()
    page.wait_until(lambda: model.positions == {"arm": 0.0})
    page.wait_until(lambda: page.field("arm").input_value() == "0")


def test_a_slider_is_on_one_line_with_its_name_and_number(shown):
    _, page, _ = shown
    parts = [page.tab.get_by_text("arm", exact=True), page.tab.locator(".mantine-Slider-root")]

    def is_on_one_line():  # as soon as all is where it stays
        boxes = [part.first.bounding_box() for part in (*parts, page.field("arm"))]
        middles = [box["y"] + box["height"] / 2.0 for box in boxes]
        in_order = all(a["x"] + a["width"] <= b["x"] for a, b in itertools.pairwise(boxes))
        return np.ptp(middles) < 8.0 and in_order

    page.wait_until(is_on_one_line, "on one line")


def test_a_number_beyond_the_limits_moves_to_the_limit(shown):
    model, page, _ = shown
    page.field("arm").fill("3.0")
    page.wait_until(lambda: model.positions == {"arm": 1.5})
    page.tab.get_by_text("zero", exact=True).click()
    page.wait_until(lambda: model.positions == {"arm": 0.0})


def test_switches_show_and_hide(shown):
    _, page, camera = shown
    page.open_part("Show")
    page.field("visual shapes").uncheck()
    page.wait_until(lambda: not page.shows(GREEN, page.project(arm_position(0.0), camera)))
    page.field("visual shapes").check()
    page.wait_for_point(GREEN, arm_position(0.0), camera)


def test_a_link_is_selected_in_the_list_the_scene_and_by_name(shown):
    model, page, camera = shown
    page.open_part("Links")
    page.tab.locator("[data-link=base]").first.click()
    page.wait_until(lambda: model.selected == "base")
    page.wait_for_point(SELECTED, [0.0, 0.0, 0.0], camera)
    page.wait_for_text("box")
    page.wait_for_point(GREEN, arm_position(0.0), camera)
    page.click(page.project(arm_position(0.0), camera))
    page.wait_until(lambda: model.selected == "arm")
    page.wait_for_text("-1.5 to 1.5 rad")
    page.field("Selected link").fill("")
    page.wait_until(lambda: model.selected is None)
    page.field("Selected link").fill("base")
    page.wait_until(lambda: model.selected == "base")


def test_a_new_state_of_the_model_keeps_positions_and_selection(shown):
    model, page, camera = shown
    page.open_part("Joints")
    page.field("arm").fill("-0.5")
    page.wait_until(lambda: model.positions == {"arm": -0.5})
    model.select("arm")
    model.show(two_cubes(), [])
    assert model.positions == {"arm": -0.5}
    assert model.selected == "arm"
    page.wait_for_point(SELECTED, arm_position(-0.5), camera)
    page.wait_until(lambda: page.field("arm").input_value() == "-0.5")


def test_hostile_names_and_texts_are_shown_as_text(shown):
    model, page, _ = shown
    body = two_cubes(arm_name=HOSTILE)
    source = Source(HOSTILE, "text")
    model.show(body, problems(Span(source, 0, 1)))
    shown_text = HOSTILE.replace("\u202e", "\ufffd")
    page.open_part("Links")
    page.wait_for_text(shown_text)
    assert page.tab.title() != "owned"
    row = page.tab.locator("[data-link]").filter(has_text=shown_text).first
    assert row.get_attribute("data-link") == shown_text
    row.click()
    page.wait_until(lambda: model.selected == HOSTILE)
    assert page.tab.title() != "owned"
    assert page.tab.locator("script").filter(has_text="owned").count() == 0


def test_a_click_on_a_problem_selects_its_link(shown, tmp_path):
    model, page, _ = shown
    file = tmp_path / "cubes.body"
    text = TWO_CUBES.format(name="cubes", more="      - {type: Gyroscope}\n")
    line = text[: text.index("Gyro")].count("\n") + 1
    file.write_text(text)
    found = Diagnostics.silent()
    model.show(load_body(file, found), found.found)
    page.tab.get_by_role("button", name="1 warning").click()  # which opens the problems
    page.wait_for_text(f"cubes.body:{line}:")
    page.wait_for_text("hint:")
    page.tab.get_by_text("Gyroscope").filter(visible=True).first.click()
    page.wait_until(lambda: model.selected == "arm")


def test_a_model_that_no_longer_loads_keeps_the_last_good_one(shown):
    model, page, _ = shown
    before = model.positions
    found = Diagnostics.silent()
    found.error("yaml-syntax", "nothing can be read")
    model.show_problems(found.found)
    page.wait_for_text("nothing can be read")
    page.wait_for_text("The last model without errors is shown.")
    assert model.positions == before
    page.open_part("Links")
    page.wait_for_text("base")


def test_a_model_without_joints_or_selection_says_so(shown):
    model, page, _ = shown
    base = two_cubes().root
    model.show(Body(name="alone", links=(base,)), [])
    page.wait_for_text("Click a link in the scene or in the list.")
    page.open_part("Joints")
    page.wait_for_text("no moving joints")
    page.wait_until(lambda: page.tab.get_by_text("initial posture").count() == 0)


def test_a_button_turns_the_camera(shown):
    _, page, camera = shown
    assert not page.tab.get_by_role("button", name="Follow").count()  # a model stays
    page.tab.get_by_role("button", name="Top", exact=True).click()

    def is_above():
        back = camera.position - camera.look_at
        return back[2] > 0.99 * np.linalg.norm(back)

    page.wait_until(is_above, "on top")
