"""Drags as a page sends them: any page may send any position."""

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("viser")

from run_page_tools import RunPage

from hrp_model.view.viewer import Viewer


@pytest.mark.parametrize("far", [np.nan, np.inf, 1e300])
def test_impossible_positions_of_a_mouse_are_ignored(far):
    with RunPage("arm", viewer=Viewer(0)) as run:
        pulling = run.run_viewer._pulling
        _, view = run.run_viewer._bodies.views["arm"]
        path = f"{view.node_of('TOOL')}/visual"
        (entry,) = run.viewer.server.scene.get_handle_by_name(path)._impl.drag_cb
        assert (entry.button, entry.modifier) == ("left", "cmd/ctrl")

        def drag(phase, end):
            event = SimpleNamespace(phase=phase, start_position=(0.0, 0.0, 1.0), end_position=end)
            asyncio.run(entry.callback(event))

        drag("start", (0.0, 0.0, far))
        assert pulling.present is None
        drag("start", (0.0, 0.0, 1.0))
        drag("update", (0.0, 0.0, far))
        np.testing.assert_array_equal(pulling.present.target, [0.0, 0.0, 1.0])
        drag("update", (0.0, 0.0, 1.5))
        np.testing.assert_array_equal(pulling.present.target, [0.0, 0.0, 1.5])
        drag("end", (0.0, 0.0, 1.5))
        assert pulling.present is None
