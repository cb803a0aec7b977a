"""Drags as a page sends them: any page may send any position."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("viser")

from run_page_tools import RunPage

from hrp_model.view.viewer import Viewer


@pytest.fixture(scope="module")
def run():
    with RunPage("arm", viewer=Viewer(0)) as made:
        yield made


def drag(run, phase, end, client=1):
    """Let the page of a client drag the link TOOL."""
    _, view = run.run_viewer._bodies.views["arm"]
    path = f"{view.node_of('TOOL')}/visual"
    (entry,) = run.viewer.server.scene.get_handle_by_name(path)._impl.drag_cb
    assert (entry.button, entry.modifier) == ("left", "cmd/ctrl")
    event = SimpleNamespace(
        phase=phase, start_position=(0.0, 0.0, 1.0), end_position=end, client_id=client
    )
    with pytest.raises(StopIteration):  # it is a coroutine that waits for nothing
        entry.callback(event).send(None)


@pytest.mark.parametrize("far", [np.nan, np.inf, 1e300])
def test_impossible_positions_of_a_mouse_are_ignored(run, far):
    pulling = run.run_viewer._pulling
    drag(run, "start", (0.0, 0.0, far))
    assert pulling.present is None
    drag(run, "start", (0.0, 0.0, 1.0))
    drag(run, "update", (0.0, 0.0, far))
    np.testing.assert_array_equal(pulling.present.target, [0.0, 0.0, 1.0])
    drag(run, "update", (0.0, 0.0, 1.5))
    np.testing.assert_array_equal(pulling.present.target, [0.0, 0.0, 1.5])
    drag(run, "end", (0.0, 0.0, 1.5))
    assert pulling.present is None


def test_the_last_browser_that_grabs_a_link_pulls_it_until_it_goes(run):
    pulling = run.run_viewer._pulling
    drag(run, "start", (0.0, 0.0, 1.0), client=1)
    drag(run, "start", (0.0, 0.0, 1.1), client=2)
    drag(run, "update", (0.0, 0.0, 7.0), client=1)
    drag(run, "end", (0.0, 0.0, 7.0), client=1)
    np.testing.assert_array_equal(pulling.present.target, [0.0, 0.0, 1.1])
    pulling.release(1)
    assert pulling.present is not None
    pulling.release(2)
    assert pulling.present is None
