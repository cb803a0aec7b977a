"""Traces, read back."""

import json
from pathlib import Path

import numpy as np
import pytest

from hrp_model import Body, Joint, JointType, Link
from hrp_sim.cli.run import TraceWriter
from hrp_sim.engine.state import BodyMotion, ExternalWrench, JointDrive, SimulatedBody, WorldState

MS = 1_000_000


def arm():
    joint = Joint(type=JointType.REVOLUTE, name="SHOULDER")
    slide = Joint(type=JointType.PRISMATIC, name="SLIDE", id=0)
    return Body(
        name="arm",
        links=(
            Link(name="BASE", parent=None, joint=Joint(type=JointType.FREE, name="BASE")),
            Link(name="UPPER", parent="BASE", joint=joint),
            Link(name="LOWER", parent="UPPER", joint=slide),
        ),
    )


@pytest.fixture
def simulated():
    """An arm whose every number is another one, with all its digits."""
    rng = np.random.default_rng(3)
    body = arm()
    motion = BodyMotion.zeros(body)
    for array in (motion.p, motion.R, motion.v, motion.w, motion.q, motion.dq):
        array[:] = rng.normal(size=array.shape)
    return SimulatedBody("r1", body, motion, JointDrive.zeros(body), ExternalWrench.zeros(body))


def trace(path, simulated, times_ns, period=None):
    with TraceWriter(path, period) as writer:
        for time_ns in times_ns:
            writer.write(WorldState(time_ns, {simulated.name: simulated}))
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_line_holds_the_root_and_the_joints_to_the_last_digit(tmp_path, simulated):
    (line,) = trace(tmp_path / "t.jsonl", simulated, [1_234_567_891])
    assert line["time"] == 1.234567891
    assert list(line["bodies"]) == ["r1"]
    written, motion = line["bodies"]["r1"], simulated.motion
    for key, exact in (
        ("root_p", motion.p[0]),
        ("root_R", motion.R[0]),
        ("root_v", motion.v[0]),
        ("root_w", motion.w[0]),
    ):
        assert written[key] == exact.tolist(), key
    assert written["q"] == {"SLIDE": motion.q[0], "SHOULDER": motion.q[1]}
    assert written["dq"] == {"SLIDE": motion.dq[0], "SHOULDER": motion.dq[1]}


@pytest.mark.parametrize(
    ("period", "step_ns", "expected"),
    [
        (None, MS, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        (0.001, MS, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        (0.003, MS, [0, 3, 6, 9]),
        (0.0025, MS, [0, 3, 5, 8]),
        (0.0001, MS, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        (0.01, 3 * MS, [0, 12, 21]),
        (100.0, MS, [0]),
    ],
)
def test_lines_come_at_the_first_step_of_each_period(
    tmp_path, simulated, period, step_ns, expected
):
    times = [k * step_ns for k in range(10)]
    lines = trace(tmp_path / "t.jsonl", simulated, times, period)
    assert [round(line["time"] * 1000) for line in lines] == expected


def test_an_old_trace_is_replaced_and_an_aborted_one_is_kept(tmp_path, simulated):
    path = tmp_path / "t.jsonl"
    trace(path, simulated, [0, MS, 2 * MS])

    def aborted():
        with TraceWriter(path) as writer:
            writer.write(WorldState(0, {"r1": simulated}))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        aborted()
    assert len(path.read_text().splitlines()) == 1


def test_a_place_that_cannot_be_written_is_an_error_at_once(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="file"):
        TraceWriter(tmp_path / "file" / "t.jsonl")


def test_a_disk_that_is_full_is_an_error_with_the_name_of_the_file(simulated):
    def written():
        with TraceWriter(Path("/dev/full")) as writer:
            writer.write(WorldState(0, {"r1": simulated}))

    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        written()
