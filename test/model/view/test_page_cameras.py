"""Cameras of pages that are open when the scene changes."""

import numpy as np
import pytest

pytest.importorskip("viser")

from browser_tools import client_of

from hrp_model.shapes.measure import BoundingBox
from hrp_model.view.viewer import Viewer


def box(size):
    return BoundingBox(-size * np.ones(3), size * np.ones(3))


@pytest.mark.slow
def test_an_open_page_follows_the_scene_until_somebody_moves_its_camera(pages):
    with Viewer(0) as viewer:
        page = pages.open(viewer.address, (800, 400))
        camera = client_of(viewer, page).camera
        for size in (3.0, 0.5, 8.0):  # sooner than the page can report its camera
            viewer.look_at(box(size))
        expected = viewer.server.initial_camera.position
        page.wait_until(lambda: np.allclose(camera.position, expected, rtol=1e-3), "at the scene")
        canvas = page.tab.locator("canvas").first.bounding_box()
        page.tab.mouse.move(canvas["x"] + 20, canvas["y"] + canvas["height"] / 2)
        page.tab.mouse.down()
        page.tab.mouse.move(canvas["x"] + 60, canvas["y"] + canvas["height"] / 2 + 20, steps=4)
        page.tab.mouse.up()
        page.wait_until(lambda: not np.allclose(camera.position, expected, rtol=1e-2), "moved")
        viewer.look_at(box(1.0))
        moved = viewer.server.initial_camera.position
        assert np.linalg.norm(camera.position - moved) > 1.0
