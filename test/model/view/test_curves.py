"""Live curves: their samples of the last seconds, by unit."""

import numpy as np
import pytest

pytest.importorskip("viser")

from hrp_model.view.curves import PERIOD_NS, WINDOW, CurvePlots
from hrp_model.view.viewer import Viewer


@pytest.fixture
def plots():
    with Viewer(0) as viewer:
        yield CurvePlots(viewer, viewer.server.gui.add_folder("curves"))


def drawn(plots):
    return {unit: plot.handle for unit, plot in plots._plots.items()}


def test_curves_of_one_unit_share_a_plot_of_the_last_seconds(plots):
    plots.set([("sine", "rad"), ("cosine", "rad"), ("force", "N")])
    times = np.arange(1, 700) * PERIOD_NS / 1e9
    for t in times.tolist():
        values = {("sine", "rad"): np.sin(t), ("cosine", "rad"): np.cos(t), ("force", "N"): t}
        plots.sample(t, values)
    plots.draw()
    found = drawn(plots)
    assert [series["label"] for series in found["rad"].series] == ["t [s]", "sine", "cosine"]
    assert found["rad"].title == "[rad]"
    t, sine, cosine = found["rad"].data
    np.testing.assert_allclose(t, times[-round(WINDOW * 1e9 / PERIOD_NS) :])
    np.testing.assert_allclose(sine, np.sin(t))
    np.testing.assert_allclose(cosine, np.cos(t))
    np.testing.assert_allclose(found["N"].data[1], t)


def test_a_curve_that_stays_keeps_its_samples_when_another_is_added(plots):
    plots.set([("a", "m")])
    for i in range(5):
        plots.sample(float(i), {("a", "m"): 10.0 + i})
    plots.set([("a", "m"), ("b", "m")])
    plots.sample(5.0, {("a", "m"): 15.0, ("b", "m"): -1.0})
    plots.draw()
    t, a, b = drawn(plots)["m"].data
    assert t.tolist() == [0, 1, 2, 3, 4, 5]
    assert a.tolist() == [10, 11, 12, 13, 14, 15]
    assert np.isnan(b[:5]).all()
    assert b[5] == -1.0


def test_a_restart_discards_all_samples(plots):
    plots.set([("a", "m")])
    plots.sample(7.0, {("a", "m"): 1.0})
    plots.restart()
    plots.sample(0.5, {("a", "m"): 2.0})
    plots.draw()
    assert [values.tolist() for values in drawn(plots)["m"].data] == [[0.5], [2.0]]


def test_the_axis_of_almost_constant_values_has_distinct_numbers(plots):
    plots.set([("a", "m"), ("b", "N")])
    for i in range(10):
        plots.sample(float(i), {("a", "m"): 0.5 + 1e-5 * (i % 2), ("b", "N"): float(i)})
    plots.draw()
    found = drawn(plots)
    assert found["m"].scales["y"]["range"] == pytest.approx((0.488, 0.512))
    assert "y" not in found["N"].scales
    plots.sample(10.0, {("a", "m"): 0.7, ("b", "N"): 0.0})
    plots.draw()
    assert "y" not in found["m"].scales
