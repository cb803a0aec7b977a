"""Following joint states, and telling how that goes."""

import math

import pytest
import vehicles
from loop_bodies import four_bar, freudenstein
from urdf_tools import random_body, wheel

from hrp_model.body import JointType
from hrp_model.description.frame_tree import frame_tree
from hrp_model.description.publisher import (
    STALE_AFTER,
    JointFollower,
    JointHealth,
    LastPositions,
    WarningThrottle,
)
from hrp_model.frames import body_frames
from hrp_model.kinematics.loops.mimic import ClosedLoops
from hrp_model.rigid import Pose, quaternion_matrix

SECOND = 1_000_000_000
BARS = 0.3, 0.8, 0.6, 0.9


def pose_of(frame):
    return Pose(quaternion_matrix(frame.xyzw), frame.p)


@pytest.fixture
def follow(diagnostics):
    """Return a function that makes the follower of a body."""

    def make(body, last=None):
        frames = body_frames(body, diagnostics)
        return JointFollower(frame_tree(body, frames), ClosedLoops(body, frames), last)

    return make


@pytest.fixture
def bars(follow):
    return follow(four_bar(*BARS))


def test_a_joint_moves_its_link_and_all_that_follow_from_it(bars):
    frames = bars.follow(0, ["CRANK"], [0.4], now=0.0)
    assert {f.name for f in frames} == {"CRANK", "COUPLER", "ROCKER"}
    [rocker] = (pose_of(f) for f in frames if f.name == "ROCKER")
    miss = math.atan2(rocker.R[1, 0], rocker.R[0, 0]) - freudenstein(*BARS, 0.4)
    assert math.isclose(math.remainder(miss, math.tau), 0.0, abs_tol=1e-9)
    assert bars.computed == {"COUPLER", "ROCKER"}
    assert bars.missing == []


def test_answers_come_at_the_rate_of_the_stamps(bars):
    bars.set_max_frequency(10.0)
    stamps = [t * SECOND // 100 for t in range(30)]
    answered = [t for t in stamps if bars.follow(t, ["CRANK"], [0.0], now=0.0)]
    assert answered == [0, SECOND // 10, SECOND // 5]
    assert (bars.received, bars.published) == (30, 3)


def test_a_new_rate_begins_with_an_answer(bars):
    bars.set_max_frequency(1.0)
    assert bars.follow(10, ["CRANK"], [0.0], now=0.0)
    assert not bars.follow(20, ["CRANK"], [0.0], now=0.0)
    bars.set_max_frequency(1.0)
    assert bars.follow(30, ["CRANK"], [0.0], now=0.0)


def test_what_cannot_be_used_is_kept_in_mind(bars):
    assert not bars.follow(0, ["SPOON", "CRANK", "FORK"], [1.0, math.nan, 2.0], now=0.0)
    assert list(bars.unknown) == ["SPOON", "FORK"]
    assert bars.missing == ["CRANK", "COUPLER", "ROCKER"]


def test_a_track_is_known_and_moves_nothing(follow):
    track = vehicles.wheel("L", [0, 0.2, 0], type=JointType.TRACK)
    rover = follow(vehicles.vehicle(track, vehicles.wheel("M", [0, 0, 0.2])))
    frames = rover.follow(0, ["L", "M"], [12.5, 0.5], now=0.0)
    assert [f.name for f in frames] == ["M"]
    assert not rover.follow(SECOND, ["L"], [13.0], now=1.0)
    assert (list(rover.unknown), rover.missing) == ([], [])


def orientations(frames):
    return {f.name: pytest.approx(pose_of(f).R, abs=1e-12) for f in frames}


def test_the_last_positions_can_be_had_again_with_new_stamps(bars):
    assert bars.repeated() == {}
    bars.set_max_frequency(1.0)
    assert bars.follow(SECOND, ["CRANK"], [0.4], now=0.0)
    assert not bars.follow(SECOND + 5, ["CRANK"], [0.5], now=0.0)
    [(first, frames)], [(second, _)] = (bars.repeated().items() for _ in range(2))
    assert SECOND + 5 < first < second < SECOND + 10
    bars.set_max_frequency(0.0)
    expected = orientations(bars.follow(SECOND + 10, ["CRANK"], [0.5], now=0.0))
    assert {f.name: pose_of(f).R for f in frames} == expected
    assert (bars.received, bars.published) == (3, 2)


def test_a_changed_robot_stands_as_the_last_one_did(follow):
    old = follow(wheel())
    old.follow(7, ["AXLE", "CRANK"], [0.3, 0.4], now=0.0)
    old.follow(9, ["CRANK"], [math.nan], now=0.0)
    bars = follow(four_bar(*BARS), old.last)
    [(stamp, frames)] = bars.repeated().items()
    assert stamp == 8
    assert {f.name for f in frames} == {"CRANK", "COUPLER", "ROCKER"}
    assert (bars.received, bars.last_received, bars.unknown) == (0, None, {})
    assert bars.missing == ["CRANK", "COUPLER", "ROCKER"]


def test_each_joint_keeps_the_stamp_of_its_own_source():
    last = LastPositions()
    last.update(10, ["A", "B"], [1.0, 2.0])
    last.update(20, ["B"], [3.0])
    assert last.restamped({"A", "B", "C"}) == {11: {"A": 1.0}, 21: {"B": 3.0}}
    assert last.restamped({"A"}) == {12: {"A": 1.0}}


def test_when_time_begins_anew_nothing_of_the_time_to_come_is_known():
    last = LastPositions()
    last.update(5 * SECOND, ["A", "B"], [1.0, 2.0])
    last.update(SECOND, ["C"], [3.0])  # late, but its first
    assert last.restamped({"A", "B", "C"}).keys() == {5 * SECOND + 1, SECOND + 1}
    last.update(2 * SECOND, ["A"], [4.0])
    assert last.restamped({"A", "B", "C"}) == {
        SECOND + 2: {"C": 3.0},
        2 * SECOND + 2: {"A": 4.0},
    }


def test_each_problem_is_told_at_once_and_then_seldom():
    throttle = WarningThrottle(10.0)
    a, b = (
        "the loop 'a' is open by {} mm at J1 = {} rad",
        "the loop 'b' is open by {} mm at J1 = {} rad",
    )
    assert throttle.due([a.format(1.5, 0)], 0.0) == [a.format(1.5, 0)]
    both = [a.format("2e-05", -0.25), b.format(3, 7)]
    assert throttle.due(both, 1.0) == both[1:]
    assert throttle.due(both, 9.0) == []
    assert throttle.due(both, 10.0) == both[:1]
    assert throttle.due([], 11.0) == []
    assert throttle.due(both, 11.0) == both[1:]
    assert throttle.due([a.format(1, 1).replace("J1", "J2")], 11.0) != []


def test_a_loop_that_cannot_close_is_told_until_it_can(follow):
    body = four_bar(0.9, 0.4, 0.4, 0.3, crank=0.5)  # the crank cannot turn all round
    bars = follow(body)
    assert bars.follow(0, ["CRANK"], [math.pi], now=0.0)
    [sentence] = bars.open_loops
    assert "CRANK = 3.142 rad" in sentence
    bars.follow(SECOND, ["CRANK"], [0.5], now=1.0)
    assert bars.open_loops == ()


def test_health_tells_how_far_loops_are_open(bars):
    health = JointHealth()
    bars.follow(0, ["CRANK"], [0.4], now=0.0)
    values = health.report(bars, 0.0).values
    assert values["loop residual [m]"] < 1e-9
    assert values["loop residual [rad]"] < 1e-9
    bars.follow(1, ["CRANK", "ROCKER"], [0.4, freudenstein(*BARS, 0.4) + 0.5], now=0.0)
    report = health.report(bars, 0.0)
    assert report.level == "warn"
    assert "is open by" in report.message
    # The coupler starts at the crank's pin and misses the rocker's.
    assert report.values["loop residual [m]"] == pytest.approx(2 * BARS[2] * math.sin(0.25))


def test_health_is_good_while_all_joints_are_told(follow):
    follower, health = follow(wheel()), JointHealth()
    assert health.report(follower, 0.0).level == "stale"
    for i in range(50):
        follower.follow(i * SECOND // 50, ["AXLE"], [0.0], now=i / 50)
    report = health.report(follower, 1.0)
    assert (report.level, report.message) == ("ok", "50 joint_states per second")
    assert report.values["joint_states [1/s]"] == pytest.approx(50.0)
    assert report.values["age of the last [s]"] == pytest.approx(0.02)
    assert health.report(follower, 2.0).values["joint_states [1/s]"] == 0.0


def test_health_is_stale_when_nothing_comes_any_more(follow):
    follower, health = follow(wheel()), JointHealth()
    follower.follow(0, ["AXLE"], [0.0], now=10.0)
    assert health.report(follower, 10.0 + STALE_AFTER).level == "ok"
    report = health.report(follower, 11.0 + STALE_AFTER)
    assert (report.level, report.message) == ("stale", "no joint_states for 6 s")


@pytest.mark.parametrize(
    ("joints", "words"),
    [
        (["J0", "J1"], "no position received yet for J4, J5, J8, J9"),
        (["X"], "no position received yet for J0"),
    ],
)
def test_health_warns_of_joints_that_nobody_tells(follow, joints, words):
    follower = follow(random_body(2))
    follower.follow(0, joints, [0.0] * len(joints), now=0.0)
    report = JointHealth().report(follower, 0.0)
    assert report.level == "warn"
    assert words in report.message


def test_health_warns_of_joints_of_other_robots(follow):
    follower = follow(wheel())
    follower.follow(0, ["AXLE", "ELBOW"], [0.0, 0.0], now=0.0)
    report = JointHealth().report(follower, 0.0)
    assert (report.level, report.message) == ("warn", "unknown joints in joint_states: ELBOW")


def test_health_has_nothing_to_say_of_what_does_not_move(follow):
    report = JointHealth().report(follow(wheel(type=JointType.FIXED)), 0.0)
    assert (report.level, report.message) == ("ok", "the robot has no moving joints")
