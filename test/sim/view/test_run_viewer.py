"""The viewer of a run without a browser: what it costs, what it follows, what its controls do."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("viser")

from run_page_tools import RunPage, gui, labels, node, parts, text, wait_until
from sim.physics.scenes import at, moving, one_joint, root
from viser import GuiSliderHandle, GuiUplotHandle

from hrp_model import JointType, Pose, devices
from hrp_model.body import Body
from hrp_model.view.browser import PageState
from hrp_model.view.viewer import Viewer, set_value
from hrp_sim import BodyEntry, Simulation, WorldConfig
from hrp_sim.engine.engine import PhysicsError
from hrp_sim.view import capture, run_viewer
from hrp_sim.view.controls import MAX_STEPS
from hrp_sim.view.curves import Curves
from hrp_sim.view.driving import DrivePad
from hrp_sim.view.scene import Contacts
from hrp_sim.view.sensor_displays import SensorDisplays


class WatchedViewer(Viewer):
    """A page as if somebody looked at it."""

    is_watched = True


@pytest.fixture
def copies(monkeypatch):
    """The simulation times at which the state of a run was copied."""
    times = []
    copy = run_viewer.take_snapshot

    def recorded(runner):
        times.append(runner.simulation.state.time_ns)
        return copy(runner)

    monkeypatch.setattr(run_viewer, "take_snapshot", recorded)
    return times


def test_with_nobody_looking_nothing_is_copied_read_or_rendered(copies, monkeypatch):
    with RunPage("rover", real_time_factor=0.0) as run:
        calls = []
        for kind in (SensorDisplays, Curves, Contacts):
            monkeypatch.setattr(kind, "take", lambda *_, kind=kind: calls.append(kind))
        wait_until(lambda: len(run.times) > 500)
        assert copies == [0]  # to show the first state, before the run
        assert calls == []
        assert not any(run.run_viewer.wants(run.simulation, k) for k in run.simulation.sensors)
        assert not run.simulation.engine.record_contacts


def test_with_somebody_looking_sensors_are_read_at_the_rate_of_drawing(copies):
    with RunPage("rover", viewer=WatchedViewer(0)) as run:
        set_value(gui(run.viewer, "contact forces"), True)
        wait_until(lambda: len(copies) > 10)
        wait_until(lambda: node(run.viewer, "scanner") is not None)
        wait_until(lambda: node(run.viewer, "/contacts/forces") is not None)
        vertices = node(run.viewer, "/contacts/forces").vertices
        assert np.isfinite(vertices).all()
        set_value(gui(run.viewer, "contact forces"), False)
        set_value(gui(run.viewer, "contact points"), False)
        wait_until(lambda: not node(run.viewer, "/contacts/forces").visible)
        wait_until(lambda: not run.simulation.engine.record_contacts)


def test_bodies_that_are_added_and_removed_are_followed():
    with RunPage("rover", viewer=WatchedViewer(0)) as run:
        assert set(gui(run.viewer, "Body").options) == set(run.simulation.bodies)
        placement = moving(one_joint(JointType.REVOLUTE, free=True), at(z=3.0), name="new")
        run.runner.change(lambda: run.simulation.spawn(BodyEntry(placement=placement)))
        wait_until(lambda: "new" in gui(run.viewer, "Body").options)
        assert node(run.viewer, "_ARM") is not None
        run.runner.change(lambda: run.simulation.remove("new"))
        wait_until(lambda: "new" not in gui(run.viewer, "Body").options)
        assert node(run.viewer, "_ARM") is None


def test_another_world_with_sensors_of_the_same_names_is_followed(caplog):
    def named(device):
        body = Body(name="box", links=(root("BOX", free=True),), devices=(device,))
        return WorldConfig(bodies=(BodyEntry(placement=moving(body, at(z=9.0))),))

    imu = devices.AccelerationSensor(name="sensor", link="BOX")
    scanner = devices.RangeSensor(name="sensor", link="BOX", scan_rate=200.0)
    with RunPage(named(imu), viewer=WatchedViewer(0)) as run:
        set_value(gui(run.viewer, "Joint or sensor"), "sensor")
        set_value(gui(run.viewer, "Quantity"), "linear_acceleration.z")
        set_value(gui(run.viewer, "Add curve"), True)
        wait_until(lambda: is_plotted(run, "sensor linear_acceleration.z"))
        run.runner.replace(Simulation(named(scanner), defer_images=True)).close()
        count = len(run.times)
        set_value(gui(run.viewer, "Joint or sensor"), "sensor")
        wait_until(lambda: "nearest" in gui(run.viewer, "Quantity").options)
        wait_until(lambda: len(run.times) > count + 50)
        wait_until(lambda: not is_plotted(run, "sensor linear_acceleration.z"))
    assert "drawing the page" not in caplog.text


def is_plotted(run, curve):
    plots = parts(run.viewer, GuiUplotHandle)
    return any(series["label"] == curve for plot in plots for series in plot.series)


def test_the_links_are_drawn_where_they_are():
    with RunPage("arm", viewer=WatchedViewer(0)) as run:
        run.simulation.command("arm", {"J1": 0.7}, source="test")
        wait_until(lambda: run.simulation.bodies["arm"].motion.q[0] > 0.5)
        run.runner.pause()
        wait_until(lambda: run.runner.measured_factor == 0.0)
        motion = run.simulation.bodies["arm"].motion
        handle = node(run.viewer, "_TOOL")
        wait_until(lambda: np.allclose(handle.position, motion.p[-1], atol=1e-9))


def test_the_controls_act_on_the_run():
    with RunPage("arm", viewer=WatchedViewer(0), paused=True) as run:
        wait_until(lambda: gui(run.viewer, "Play"))
        set_value(gui(run.viewer, "Steps"), 7)
        set_value(gui(run.viewer, "Step"), True)
        wait_until(lambda: len(run.times) == 7)
        set_value(gui(run.viewer, "Play"), True)
        wait_until(lambda: len(run.times) > 20)
        wait_until(lambda: "Pause" in labels(run.viewer))
        set_value(gui(run.viewer, "Pause"), True)
        wait_until(lambda: run.runner.paused)
        set_value(gui(run.viewer, "Reset"), True)
        assert run.runner.simulation.state.time_ns == 0
        run.runner.real_time_factor = 5.0
        wait_until(lambda: gui(run.viewer, "Speed").value == "5 x real time")
        run.runner.real_time_factor = 0.0
        wait_until(lambda: gui(run.viewer, "Speed").value == "as fast as possible")


def test_the_steps_that_a_page_may_request_are_limited(monkeypatch):
    with RunPage("arm", viewer=WatchedViewer(0), paused=True) as run:
        requested = []
        monkeypatch.setattr(run.runner, "step", requested.append)
        wait_until(lambda: not gui(run.viewer, "Step").disabled)
        for steps in (10**15, -3):
            set_value(gui(run.viewer, "Steps"), steps)
            set_value(gui(run.viewer, "Step"), True)
        assert requested == [MAX_STEPS, 1]


def test_a_world_without_joints_and_sensors_says_so_and_shows_a_movable_body_first():
    with RunPage("stack", viewer=WatchedViewer(0), paused=True) as run:
        assert gui(run.viewer, "Body").value == "block0"
        for sentence in ("No body has moving joints.", "No sensor has readings to draw."):
            wait_until(lambda sentence=sentence: sentence in text(run.viewer))
    with RunPage("arm", viewer=WatchedViewer(0), paused=True) as run:
        assert gui(run.viewer, "Body").value == "arm"
        assert "No body has moving joints." not in text(run.viewer)


def test_a_failure_of_the_physics_is_shown_with_its_hint_until_a_reset():
    page = WatchedViewer(0)
    hint = "use <smaller> steps"
    with RunPage("arm", viewer=page, hint=hint, on_failure=lambda _: None) as run:

        def fail():
            def step(count=1):
                raise PhysicsError("link 'J3' is nowhere")

            run.simulation.engine.step = step

        run.runner.call(fail)
        wait_until(lambda: "link &#x27;J3&#x27; is nowhere" in text(run.viewer))
        assert "use &lt;smaller&gt; steps" in text(run.viewer)
        assert "failed" in text(run.viewer)
        run.runner.call(lambda: delattr(run.simulation.engine, "step"))
        set_value(gui(run.viewer, "Reset"), True)
        wait_until(lambda: "failed" not in text(run.viewer))


def test_a_vehicle_stops_when_the_page_that_drives_it_goes_silent_or_away():
    with RunPage("rover", viewer=WatchedViewer(0)) as run:
        drive, pad = run.simulation.bodies["rover"].drive, run.run_viewer.pad

        def presses(*way):  # as a page does several times a second
            pad.report(7, PageState(False, way, frozenset()))
            return True

        for end in (pad.stop, lambda: pad.report(7, PageState(False, None, frozenset()))):
            wait_until(lambda: presses(1.0, 0.0) and drive.track_speed.max() > 0.3)
            assert (drive.track_speed >= 0.0).all()  # straight ahead
            end()
            wait_until(lambda: not drive.track_speed.any())
        turns = lambda: drive.track_speed.min() < 0.0 < drive.track_speed.max()  # noqa: E731
        wait_until(lambda: presses(0.0, 1.0) and turns())
        wait_until(lambda: not drive.track_speed.any())  # no further report


def test_a_recording_whose_file_was_removed_ends_and_the_page_goes_on(tmp_path, monkeypatch):
    pytest.importorskip("mcap")
    folder = tmp_path / "recording"
    folder.mkdir()
    monkeypatch.setattr(capture.tempfile, "mkdtemp", lambda **_: str(folder))
    with RunPage("rover", viewer=WatchedViewer(0)) as run:
        record = gui(run.viewer, "Record")
        set_value(record, True)
        wait_until(lambda: record.label != "Record")
        shutil.rmtree(folder)
        wait_until(lambda: record.label == "Record")
        shown = text(run.viewer)
        wait_until(lambda: text(run.viewer) != shown)


def test_a_vehicle_obeys_the_page_that_pressed_last_and_none_that_went_silent():
    with Viewer(0) as viewer, Simulation("rover") as simulation:
        rover, pad = simulation.bodies["rover"], DrivePad(viewer)
        pad.follow(simulation, rover)

        def way(now, **held):
            for page, drive in held.items():
                pad.report(int(page[-1]), PageState(False, drive, frozenset()))
            pad.draw(simulation, now)
            pad.draw(simulation, now + 0.5)  # after the ramp
            simulation.step()
            return np.sign(rover.drive.track_speed.sum())

        ahead, back = (1.0, 0.0), (-1.0, 0.0)
        assert way(0.1, page1=ahead) == 1.0
        assert way(0.7, page2=back) == -1.0
        assert way(1.3, page2=back, page1=ahead) == -1.0  # held longer, though reported later
        assert way(1.9, page2=None, page1=ahead) == 1.0
        assert way(2.5, page2=back) == -1.0
        for i in range(4):  # page 1 is silent
            assert way(3.1 + 0.6 * i, page2=back) == -1.0
        assert way(6.0, page2=None) == 0.0


def test_sliders_follow_the_targets_that_others_command():
    with RunPage("arm", viewer=WatchedViewer(0)) as run:
        (slider,) = (x for x in parts(run.viewer, GuiSliderHandle) if x.label.startswith("J2 "))
        assert slider.value == pytest.approx(np.degrees(0.5), abs=0.1)  # of the world file
        run.simulation.command("arm", {"J2": 0.1}, source="test")
        q = run.simulation.bodies["arm"].motion.q
        wait_until(lambda: abs(q[1] - 0.1) < 0.02)
        wait_until(lambda: slider.label.startswith("J2 5."))
        wait_until(lambda: slider.value == pytest.approx(np.degrees(0.1), abs=0.1))
        set_value(gui(run.viewer, "Reset"), True)
        wait_until(lambda: slider.value == pytest.approx(np.degrees(0.5), abs=0.1))


def test_a_robot_that_fell_is_stood_up_by_a_button_while_the_world_goes_on():
    with RunPage("humanoid_in_room", viewer=WatchedViewer(0)) as run:
        button, simulation = gui(run.viewer, "Stand up"), run.simulation
        motion = simulation.bodies["humanoid"].motion
        assert not button.visible
        start = simulation.placements.present("humanoid")
        lying = Pose(np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]), [0, 0, 0.3])
        run.runner.call(lambda: simulation.move(replace(start, X_WL=lying)))
        wait_until(lambda: button.visible)
        time_ns = simulation.state.time_ns
        set_value(button, True)
        wait_until(lambda: not button.visible)
        np.testing.assert_allclose(motion.p[0], [0.0, 0.0, 0.76], atol=0.01)
        assert simulation.state.time_ns >= time_ns
