"""Frames of a run: at their times, and as many as there are."""

from itertools import islice
from math import inf

import numpy as np
import pytest
from sim.render.scenes import body_of, poses_of

from hrp_model import Pose
from hrp_sim import Simulation
from hrp_sim.engine.engine import PhysicsError
from hrp_sim.recording.video import RecordingSource, SimulationSource


@pytest.mark.parametrize("fps", [30.0, 250.0 / 3.0])
def test_a_frame_of_a_simulation_is_the_first_step_at_or_after_its_time(fps):
    with Simulation("arm") as sim:
        step_ns = sim.engine.settings.step_ns
        times = [frame.time_ns for frame in islice(SimulationSource(sim).frames(fps), 8)]
    due = np.arange(8) / fps * 1e9
    assert times[0] == 0
    assert ((times >= due - 1) & (times < due + step_ns)).all()
    assert all(time % step_ns == 0 for time in times)


def test_frames_keep_their_poses_and_the_sensors_are_not_read():
    with Simulation("rover") as sim:
        source = SimulationSource(sim)
        assert source.duration == inf
        first, second = islice(source.frames(5.0), 2)
        assert (first.poses["rover"].p != second.poses["rover"].p).any()
        assert sim.step() == {}


def test_physics_that_fails_ends_the_frames_with_its_reason():
    with Simulation("arm") as sim:
        source = SimulationSource(sim, "use a smaller step")
        frames = source.frames(100.0)
        next(frames)

        def fail(steps):
            raise PhysicsError("link 'J1' is too fast")

        sim.advance = fail
        assert list(frames) == []
        assert source.problem == "link 'J1' is too fast\nhint: use a smaller step"


class Run:
    """A recorded run in which a body moves along x by 1 m/s."""

    start_ns, end_ns = 2_000_000_000, 3_000_000_000

    def __init__(self):
        self.bodies = {"b": body_of("b", ())}

    def poses(self, time_ns):
        return {"b": poses_of(Pose(p=[time_ns / 1e9, 0.0, 0.0]))}


def test_frames_of_a_recording_go_from_its_first_to_its_last_message():
    source = RecordingSource(Run())
    frames = list(source.frames(4.0))
    assert [frame.time_ns / 1e9 for frame in frames] == [2.0, 2.25, 2.5, 2.75, 3.0]
    assert [frame.poses["b"].p[0, 0] for frame in frames] == [2.0, 2.25, 2.5, 2.75, 3.0]
    assert source.duration == 1.0
    known = [poses["b"].p[0, 0] for poses in source.known_poses(0.5)]
    assert known[0] == 2.0
    assert known[-1] == 2.5
    assert max(np.diff(known)) < 0.03
    assert source.problem == ""
