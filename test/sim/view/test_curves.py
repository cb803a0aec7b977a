"""Live curves of joints and sensors: plots in the panel, and samples of a run."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("viser")

from run_page_tools import gui

from hrp_model.view.viewer import Viewer, set_value
from hrp_sim import Simulation
from hrp_sim.view.curves import PERIOD_NS, WINDOW, CurvePlots, Curves, quantities_by_source


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


@pytest.fixture(scope="module")
def viewer():
    with Viewer(0) as made:
        yield made


def test_every_joint_has_its_quantities_with_their_units():
    with Simulation("arm") as simulation:
        sources = quantities_by_source(simulation)
        units = {label: q.unit for label, q in sources["J2"].items()}
        assert units == {"position": "rad", "velocity": "rad/s", "effort": "N m"}
        for _ in range(20):
            simulation.step()
        motion = simulation.bodies["arm"].motion
        for label, values in (
            ("position", motion.q),
            ("velocity", motion.dq),
            ("effort", motion.effort),
        ):
            assert sources["J2"][label].value(simulation, None) == values[1]


def test_quantities_of_sensors_are_those_of_their_readings():
    with Simulation("rover", defer_images=True) as simulation:
        sources = quantities_by_source(simulation)
        readings = {}
        for _ in range(200):
            readings |= simulation.step()
        imu = readings["imu"]
        for axis, letter in enumerate("xyz"):
            quantity = sources["imu"][f"linear_acceleration.{letter}"]
            assert quantity.unit == "m/s^2"
            assert quantity.value(simulation, imu) == imu.linear_acceleration[axis]
        finite = readings["scanner"].ranges[np.isfinite(readings["scanner"].ranges)]
        assert sources["scanner"]["nearest"].value(simulation, readings["scanner"]) == finite.min()
        assert sources["imu"]["turn_rate"].value(simulation, None) is None


def test_chosen_curves_are_sampled_at_their_period(viewer):
    with viewer.server.gui.add_folder("test"):
        curves = Curves(viewer)
    with Simulation("arm", defer_images=True) as simulation:
        curves.follow(simulation)
        add = gui(viewer, "Add curve")
        set_value(add, True)
        set_value(gui(viewer, "Joint or sensor"), "wrist_force")
        assert "force.z" in gui(viewer, "Quantity").options
        set_value(gui(viewer, "Quantity"), "force.z")
        set_value(add, True)
        set_value(add, True)  # twice is once
        assert curves.wants("wrist_force")
        forces, positions = {}, {}
        for _ in range(300):
            readings = simulation.step()
            curves.take(simulation, simulation.state.time_ns, readings)
            if "wrist_force" in readings:
                forces[simulation.state.time_ns] = readings["wrist_force"].force[2]
            positions[simulation.state.time_ns] = simulation.bodies["arm"].motion.q[0]
        curves.draw(0.0)
        plots = {unit: p.handle.data for unit, p in curves._plots._plots.items()}
    assert list(plots) == ["rad", "N"]
    times, q = plots["rad"]
    np.testing.assert_allclose(np.diff(times), PERIOD_NS / 1e9)
    assert len(times) == 15
    np.testing.assert_array_equal(q, [positions[round(t * 1e9)] for t in times])
    last = [forces[max(k for k in forces if k <= round(t * 1e9))] for t in times[1:]]
    np.testing.assert_array_equal(plots["N"][1][1:], last)
    set_value(gui(viewer, "Remove all"), True)
    assert not curves.wants("wrist_force")
