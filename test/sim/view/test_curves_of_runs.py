"""Quantities of joints and sensors, sampled in simulation time."""

import numpy as np
import pytest

pytest.importorskip("viser")

from run_page_tools import gui

from hrp_model.view.curves import PERIOD_NS
from hrp_model.view.viewer import Viewer, set_value
from hrp_sim import Simulation
from hrp_sim.view.curves import Curves, quantities_by_source


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
