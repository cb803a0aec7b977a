"""Controllers inside of a simulation: when they are called, and what they read and set."""

import numpy as np
import pytest
from controller_samples import Counter, Idle, Recorder, Swing

from hrp_model import JointType
from hrp_sim import Controller, JointCommand, Placement, Simulation, load_world
from hrp_sim.control.conversions import vehicle_command
from hrp_sim.world.config import BodyEntry

MS = 1_000_000


@pytest.fixture
def arm(diagnostics):
    with Simulation("arm", diagnostics=diagnostics) as simulation:
        yield simulation


class WithIo(Idle):
    def initialize(self, io):
        self.io = io


def final_hash(world, diagnostics, *controllers, run=lambda s: s.run(0.5), rate=None):
    with Simulation(world, diagnostics=diagnostics) as simulation:
        for controller in controllers:
            simulation.add_controller("arm", controller, rate=rate)
        run(simulation)
        return simulation.state_hash()


def single_steps(simulation):
    for _ in range(500):
        simulation.step()


def test_it_is_called_before_each_step_and_before_the_first(arm):
    recorder = Recorder()
    arm.add_controller("arm", recorder)
    arm.run(0.05)
    assert recorder.calls == ["initialize", "start"]
    assert recorder.times == [k * MS for k in range(50)]


def test_with_a_rate_it_is_called_before_the_first_step_at_or_after_each_period(arm):
    recorder = Recorder()
    arm.add_controller("arm", recorder, rate=300.0)
    arm.run(0.1)
    periods = [-(-k * 10_000_000 // 3) for k in range(30)]  # rounded up to [ns]
    assert recorder.times == [-(-t // MS) * MS for t in periods]
    assert recorder.io.time_step == pytest.approx(1 / 300)


def test_periods_count_from_when_it_was_added(arm):
    arm.run(0.0123)
    recorder = Recorder()
    arm.add_controller("arm", recorder, rate=100.0)
    arm.run(0.03)
    assert recorder.times == [12 * MS, 22 * MS, 32 * MS]


def test_an_idle_controller_changes_nothing(diagnostics):
    assert final_hash("arm", diagnostics) == final_hash("arm", diagnostics, Idle())
    assert final_hash("arm", diagnostics) == final_hash("arm", diagnostics, Idle(), rate=100.0)


@pytest.mark.parametrize("rate", [None, 500.0, 333.0])
@pytest.mark.parametrize("made", [Swing, Counter])
def test_many_steps_at_once_equal_single_steps(made, rate, diagnostics):
    many = final_hash("arm", diagnostics, made(), rate=rate)
    assert final_hash("arm", diagnostics, made(), rate=rate, run=single_steps) == many
    assert many != final_hash("arm", diagnostics)


def test_its_targets_are_those_of_a_command_with_the_same_numbers(diagnostics):
    goal = np.array([0.2, 0.4, 0.7, -0.5, 0.9, 0.1])

    class Move(Controller):
        def initialize(self, io):
            self.io = io
            io.drive("position")

        def control(self):
            self.io.q_target, self.io.dq_target, self.io.effort_target = goal, 0.1, 0.5
            return True

    def commanded(simulation):
        names = [link.joint.name for link in simulation.bodies["arm"].body.moving_links]
        command = JointCommand(names, goal, [0.1] * 6, [0.5] * 6)
        for _ in range(250):
            simulation.command("arm", command)
            simulation.run(0.002)

    by_command = final_hash("arm", diagnostics, run=commanded)
    assert final_hash("arm", diagnostics, Move(), rate=500.0) == by_command


def test_efforts_drive_joints_without_their_servos(arm):
    class Push(Controller):
        def initialize(self, io):
            self.io = io
            io.drive("effort", ["J1"])

        def control(self):
            self.io.effort_target[self.io.joint("J1")] = 3.0
            return True

    arm.add_controller("arm", Push())
    arm.run(0.01)
    motion = arm.bodies["arm"].motion
    assert motion.effort[0] == 3.0
    assert motion.dq[0] > 0.0
    assert abs(motion.q[1] - 0.5) < 1e-2  # the others hold


def test_velocities(arm):
    class Turn(Controller):
        def initialize(self, io):
            self.io = io
            io.drive("velocity", [0])

        def control(self):
            self.io.dq_target[0] = 0.5
            return True

    arm.add_controller("arm", Turn())
    arm.run(0.5)
    assert arm.bodies["arm"].motion.dq[0] == pytest.approx(0.5, abs=1e-3)


def test_without_a_mode_joints_keep_theirs(arm):
    arm.controller("arm").set_mode("J2", arm.controller("arm").mode("J2").VELOCITY)
    controller = Idle()
    controller.initialize = lambda io: io.drive()
    arm.add_controller("arm", controller)
    arm.run(0.01)
    kp = arm.bodies["arm"].drive.kp
    assert kp[1] == 0.0
    assert (kp[[0, 2, 3, 4, 5]] > 0.0).all()


def test_state_is_live_and_cannot_be_written(arm):
    recorder = Recorder()
    arm.add_controller("arm", recorder)
    arm.run(0.1)
    io, motion = recorder.io, arm.bodies["arm"].motion
    np.testing.assert_array_equal(io.q, motion.q)
    np.testing.assert_array_equal(io.motion.p, motion.p)
    np.testing.assert_array_equal(io.effort, motion.effort)
    assert io.time == pytest.approx(0.1)
    with pytest.raises(ValueError, match="read-only"):
        io.q[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        io.motion.R[0, 0, 0] = 2.0


def test_joints_and_links_are_found_by_name_and_id(arm):
    recorder = Recorder()
    arm.add_controller("arm", recorder, args={"gain": 3})
    io = recorder.io
    assert io.joint("J3") == io.joint(2) == 2
    assert io.link("J1") == arm.bodies["arm"].body.link_index("J1")
    assert io.args["gain"] == 3
    with pytest.raises(KeyError, match=r"no moving joint 'J9'\. It is one of J1, J2"):
        io.joint("J9")
    with pytest.raises(KeyError, match=r"no joint of id 6; its ids are 0, 1"):
        io.joint(6)
    with pytest.raises(KeyError, match="no link 'HAND'"):
        io.link("HAND")


def test_readings_of_enabled_sensors(arm):
    counter = Recorder()
    arm.wanted = lambda _: False
    arm.add_controller("arm", counter)
    counter.io.enable("wrist_force")
    assert counter.io.reading("wrist_force") is None
    arm.run(0.01)
    reading = counter.io.reading("wrist_force")
    assert reading.time_ns == 10 * MS
    np.testing.assert_allclose(np.linalg.norm(reading.force), 2.9, atol=0.5)
    with pytest.raises(KeyError, match=r"call io\.enable\('gyro'\) first"):
        counter.io.reading("gyro")
    with pytest.raises(KeyError, match="no sensor 'gyro'; it has joint_states"):
        counter.io.enable("gyro")


def test_images_are_rendered(diagnostics):
    with Simulation("rover", defer_images=True, diagnostics=diagnostics) as simulation:
        recorder = Recorder()
        simulation.add_controller("rover", recorder)
        recorder.io.enable("mast_camera")
        simulation.run(0.2)
        assert recorder.io.reading("mast_camera").color.ndim == 3


def test_tracks_are_driven_by_commands(diagnostics):
    class Drive(Controller):
        def initialize(self, io):
            self.io = io

        def control(self):
            self.io.command(vehicle_command(self.io.model, 0.3, 0.0))
            return self.io.time < 0.5

    with Simulation("rover", diagnostics=diagnostics) as simulation:
        simulation.add_controller("rover", Drive(), rate=50.0)
        body = simulation.bodies["rover"]
        tracks = [i for i, x in enumerate(body.body.links) if x.joint.type is JointType.TRACK]
        simulation.run(0.4)
        np.testing.assert_allclose(body.drive.track_speed[tracks], 0.3)
        simulation.run(0.2)  # it has ended
        assert not body.drive.track_speed.any()


def test_false_ends_it_and_releases_its_joints(arm):
    class Brief(Recorder):
        def initialize(self, io):
            super().initialize(io)
            io.drive("effort")

        def control(self):
            self.io.effort_target = 2.0
            super().control()
            return self.io.time < 0.002

    brief = Brief()
    arm.add_controller("arm", brief)
    arm.run(0.01)
    assert brief.times == [0, MS, 2 * MS]
    assert brief.calls == ["initialize", "start", "stop"]
    assert not arm.bodies["arm"].drive.effort.any()
    assert arm.controllers.failures == []


def test_reset_starts_it_again(arm):
    recorder = Recorder()
    arm.add_controller("arm", recorder, rate=100.0)
    arm.run(0.025)
    arm.reset()
    arm.run(0.015)
    assert recorder.calls == ["initialize", "start", "stop", "start"]
    assert recorder.times == [0, 10 * MS, 20 * MS, 0, 10 * MS]


def test_a_reset_run_equals_the_first(diagnostics):
    with Simulation("arm", diagnostics=diagnostics) as simulation:
        for controller in (Swing(), Counter()):
            simulation.add_controller("arm", controller)
        simulation.run(0.2)
        first = simulation.state_hash()
        simulation.reset()
        simulation.run(0.2)
        assert simulation.state_hash() == first


def test_it_ends_with_its_body_its_removal_or_the_simulation(arm, diagnostics):
    body = load_world("arm", diagnostics).bodies[1].placement.body
    arm.spawn(BodyEntry(placement=Placement(name="other", body=body)))
    diagnostics.take("starts-inside")
    recorders = [Recorder() for _ in range(3)]
    for name, recorder in zip(("other", "arm", "arm"), recorders, strict=True):
        arm.add_controller(name, recorder)
    arm.run(0.002)
    arm.remove("other")
    arm.remove_controller(recorders[1])
    arm.run(0.003)
    assert [len(r.times) for r in recorders] == [2, 2, 5]
    assert [r.calls[-1] for r in recorders] == ["stop", "stop", "start"]
    arm.close()
    assert recorders[2].calls[-1] == "stop"
    with pytest.raises(KeyError, match="Recorder is no controller of this world"):
        arm.remove_controller(recorders[1])


def test_the_clock_may_be_set(arm):
    recorder = Recorder()
    arm.add_controller("arm", recorder, rate=100.0)
    arm.run(0.015)
    arm.retime(1_000 * MS)
    arm.run(0.02)
    assert recorder.times == [0, 10 * MS, 1010 * MS]


def test_wrong_arguments(arm):
    with pytest.raises(KeyError, match=r"no body 'amr'; there is Floor, arm\. Did you mean 'arm'"):
        arm.add_controller("amr", Idle())
    with pytest.raises(TypeError, match="a Controller or ForceHook is needed"):
        arm.add_controller("arm", object())
    with pytest.raises(ValueError, match=r"the rate must be from 0\.001 to 1,000,000 Hz, not 0"):
        arm.add_controller("arm", Idle(), rate=0.0)


def test_a_controller_places_its_body_before_the_next_step(arm):
    class Jump(WithIo):
        def control(self):
            if self.io.time_ns == 10 * MS:
                self.io.place([0.0, 0.5, 0.0], np.eye(3), np.full(6, 0.1))
            return True

    arm.add_controller("arm", Jump())
    motion = arm.bodies["arm"].motion
    before = motion.p[0].copy()
    arm.run(0.01)
    np.testing.assert_array_equal(motion.p[0], before)
    arm.run(0.001)
    np.testing.assert_allclose(motion.p[0], [0.0, 0.5, 0.0], atol=1e-9)
    np.testing.assert_allclose(motion.q, 0.1, atol=1e-3)


def test_a_place_that_is_none_ends_the_controller(arm, diagnostics):
    class Jump(WithIo):
        def control(self):
            self.io.place([0.0, 0.0, np.nan], np.eye(3), np.zeros(6))
            return True

    arm.add_controller("arm", Jump())
    arm.run(0.01)
    assert "place" in arm.controllers.failures[0]
    assert diagnostics.take("controller-failed")
