"""The robot in the scene of a page: its pixels are where a projection of its links says."""

import numpy as np
import pytest
from browser_tools import client_of
from view_models import GREEN, RED, two_cubes

pytest.importorskip("viser")

from hrp_model.rigid import rpy_matrix
from hrp_model.view.robot import Layer, RobotView
from hrp_model.view.viewer import Viewer

pytestmark = pytest.mark.slow  # test_model_viewer looks at links, layers and clicks, too
P = np.array([[0.0, 0.0, 0.0], [0.0, 0.8, 0.4]])
R = np.stack([np.eye(3)] * 2)
ASIDE = np.array([0.0, 0.1, 0.0])
SELECTED = (255, 170, 0)
PINK = (200, 40, 160)


@pytest.fixture(scope="module")
def shown(shared_pages):
    """A robot, its page, the camera of the page, and the links that were clicked."""
    clicked = []
    with Viewer(0) as viewer:
        robot = RobotView(viewer, "cubes", two_cubes(), on_select=clicked.append)
        viewer.look_at(robot.bounds())
        page = shared_pages.open(viewer.address)
        yield robot, page, client_of(viewer, page).camera, clicked


def test_links_are_drawn_where_a_projection_says_and_move(shown):
    robot, page, camera, _ = shown
    page.wait_for_point(RED, P[0], camera)
    page.wait_for_point(GREEN, P[1], camera)
    before = page.project(P[1], camera)
    p, turned = P.copy(), R.copy()
    p[1] = [0.0, -0.5, 0.3]
    turned[1] = rpy_matrix(0.3, 0.2, 0.1)
    robot.move(p, turned)
    page.wait_for_point(GREEN, p[1], camera)
    assert not page.shows(GREEN, before)
    robot.move(P, R)
    page.wait_for_point(GREEN, P[1], camera)


def test_poses_that_are_not_finite_are_ignored(shown):
    robot, page, camera, _ = shown
    robot.move(np.full((2, 3), np.nan), R)
    robot.move(P, np.full((2, 3, 3), np.inf))
    page.wait_for_point(GREEN, P[1], camera)
    assert page.errors == []


def test_layers_are_switched(shown):
    robot, page, camera, _ = shown
    beside = P[1] + np.array([0.0, 0.0, 0.19])  # in the collision shape, above the visual one
    place = page.project(beside, camera)
    before = page.color_at(place)
    robot.show(Layer.COLLISION, True)  # translucent orange
    page.wait_until(lambda: page.color_at(place)[2] < before[2] - 25.0, "collision shape")
    robot.show(Layer.COLLISION, False)
    robot.show(Layer.VISUAL, False)
    page.wait_until(lambda: not page.shows(RED, page.project(P[0], camera)))
    robot.show(Layer.CENTERS_OF_MASS, True)
    total = (1.0 * P[0] + 3.0 * P[1]) / 4.0
    page.wait_for_point(RED, total, camera)
    page.wait_for_point(PINK, P[1], camera)
    robot.move(P + ASIDE, R)
    page.wait_for_point(RED, total + ASIDE, camera)
    robot.move(P, R)
    robot.show(Layer.FRAMES, True)
    robot.show(Layer.INERTIA, True)
    robot.show(Layer.VISUAL, True)
    for layer in (Layer.CENTERS_OF_MASS, Layer.FRAMES, Layer.INERTIA):
        robot.show(layer, False)
    page.wait_for_point(GREEN, P[1], camera)


def test_a_click_on_a_link_selects_it(shown):
    robot, page, camera, clicked = shown
    page.click(page.project(P[1], camera))
    page.wait_until(lambda: clicked == ["arm"], "clicked")
    robot.select("arm")
    page.wait_for_point(SELECTED, P[1], camera)
    robot.select("base")
    page.wait_for_point(GREEN, P[1], camera)
    page.wait_for_point(SELECTED, P[0], camera)
    robot.select(None)
    page.wait_for_point(RED, P[0], camera)
    with pytest.raises(KeyError, match="arms"):
        robot.select("arms")


def test_a_robot_that_is_removed_disappears(shown):
    robot, page, camera, _ = shown
    robot.remove()
    page.wait_until(lambda: not page.shows(RED, page.project(P[0], camera)))
