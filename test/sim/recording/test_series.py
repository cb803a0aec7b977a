"""Numbers of recorded messages as curves over time."""

import numpy as np
import pytest
from recording_tools import record_all_types, record_messages

from hrp_msgs.recording import Recording
from hrp_sim.recording.series import (
    MAX_POINTS,
    NumberField,
    SelectionError,
    fill,
    number_fields,
    rows,
    select,
)

S = 1_000_000_000
JOINTS = ["ELBOW", "WRIST_0", "1"]


def joint_state(position, names=JOINTS, effort=()):
    return {"name": list(names), "position": list(position), "effort": list(effort)}


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("recording") / "a.mcap"
    messages = [(n * S, joint_state([n, -n, 10 * n])) for n in range(4)]
    messages.append((4 * S, joint_state([40, 4], ["1", "ELBOW"])))  # in another order, one missing
    return Recording(
        record_messages(
            path,
            {
                ("/joint_states", "sensor_msgs/msg/JointState"): messages,
                ("/head/imu", "sensor_msgs/msg/Imu"): [(n * S, {}) for n in range(3)],
                ("/scan", "sensor_msgs/msg/LaserScan"): [(0, {"ranges": [1.0, 2.0]})],
                ("/robot_description", "std_msgs/msg/String"): [(0, {"data": "<robot/>"})],
                ("/silent", "sensor_msgs/msg/Imu"): [],
            },
        )
    )


def labels(recording, *selections):
    return [curve.label for curve in select(recording, selections)]


def test_all_numbers_are_listed_with_units(recording):
    assert number_fields(recording, "/joint_states") == [
        NumberField("position", "rad or m", 3, tuple(JOINTS))
    ]
    units = {number.name: number.unit for number in number_fields(recording, "/head/imu")}
    assert units["angular_velocity.z"] == "rad/s"
    assert units["linear_acceleration.x"] == "m/s²"
    assert units["orientation.w"] == ""
    assert NumberField("ranges", "m", 2) in number_fields(recording, "/scan")
    assert number_fields(recording, "/robot_description") == []
    assert number_fields(recording, "/silent") == []


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ("joint_states.position[ELBOW]", ["joint_states.position[ELBOW]"]),
        ("/joint_states.position[1]", ["joint_states.position[1]"]),  # a name comes first
        ("joint_states.position[0]", ["joint_states.position[ELBOW]"]),
        ("joint_states", [f"joint_states.position[{joint}]" for joint in JOINTS]),
        ("head/imu.linear_acceleration", [f"head/imu.linear_acceleration.{a}" for a in "xyz"]),
        ("head/imu.linear_acceleration.y", ["head/imu.linear_acceleration.y"]),
        ("scan.ranges[1]", ["scan.ranges[1]"]),
    ],
)
def test_a_selection_may_be_a_number_or_a_group(recording, selection, expected):
    assert labels(recording, selection) == expected


def test_a_curve_that_is_selected_twice_is_drawn_once(recording):
    assert labels(recording, "scan.ranges", "scan.ranges[1]") == [
        "scan.ranges[0]",
        "scan.ranges[1]",
    ]


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ("joint_stats.position", r"no topic 'joint_stats'.* Did you mean 'joint_states'\?"),
        ("joint_states.positon", r"has no number 'positon'; .* Did you mean 'position'\?"),
        ("joint_states.posit", "has no number 'posit'"),
        ("joint_states.position[ELBO]", r"no element 'ELBO'; .* Did you mean 'ELBOW'\?"),
        ("joint_states.position[3]", "no element '3'"),
        ("scan.ranges[2]", "has the elements 0 to 1, not '2'"),
        ("scan.angle_min[0]", "'angle_min' is a single number"),
        ("robot_description", "'/robot_description' has no numbers"),
        ("silent.orientation", "'/silent' has no messages"),
        ("", "no topic ''"),
    ],
)
def test_what_does_not_exist_is_an_error_with_a_hint(recording, selection, message):
    with pytest.raises(SelectionError, match=message):
        select(recording, [selection])


def test_too_many_curves_are_an_error(tmp_path):
    scans = {("/scan", "sensor_msgs/msg/LaserScan"): [(0, {"ranges": [0.0] * 101})]}
    recording = Recording(record_messages(tmp_path / "a.mcap", scans))
    with pytest.raises(
        SelectionError, match=r"more than 100 curves: select fewer, such as 'scan.ranges\[0\]'"
    ):
        select(recording, ["scan.ranges"])


def test_values_are_those_of_the_named_element(recording):
    curves = select(recording, ["joint_states.position", "scan.ranges[1]"])
    fill(recording, curves)
    elbow, wrist, other, ray = curves
    np.testing.assert_array_equal(elbow.times, [0, 1, 2, 3, 4])
    np.testing.assert_array_equal(elbow.values, [0, 1, 2, 3, 4])
    np.testing.assert_array_equal(wrist.values, [0, -1, -2, -3, np.nan])
    np.testing.assert_array_equal(other.values, [0, 10, 20, 30, 40])
    assert (ray.times.tolist(), ray.values.tolist()) == ([0.0], [2.0])
    assert [(t, v) for t, v in rows(recording, [elbow, ray])][:3] == [
        (0.0, {0: 0.0}),
        (0.0, {1: 2.0}),
        (1.0, {0: 1.0}),
    ]


@pytest.mark.parametrize("count", [MAX_POINTS // 10, 2 * MAX_POINTS + 7])
def test_long_curves_keep_their_extremes(tmp_path, count):
    chance = np.random.default_rng(16)
    values = np.sin(np.arange(count) / 1000.0)
    spikes = chance.choice(count, 20, replace=False)
    values[spikes] += chance.choice([-5.0, 5.0], 20)
    values[count // 2 : count // 2 + 100] = np.nan
    messages = [(n * 1_000_000, {"ranges": [value]}) for n, value in enumerate(values)]
    path = record_messages(tmp_path / "a.mcap", {("/s", "sensor_msgs/msg/LaserScan"): messages})
    recording = Recording(path)
    curves = select(recording, ["s.ranges"])
    fill(recording, curves)
    (curve,) = curves
    assert len(curve.times) == len(curve.values) <= MAX_POINTS + 20
    assert (np.diff(curve.times) >= 0).all()
    # Every point is one of the messages, and none of the spikes is lost.
    assert set(np.float32(values[~np.isnan(values)])) >= set(curve.values[~np.isnan(curve.values)])
    assert set(np.float32(values[spikes][~np.isnan(values[spikes])])) <= set(curve.values)
    if count > MAX_POINTS:
        np.testing.assert_allclose(
            np.interp(3.0, curve.times, curve.values), np.sin(3.0), atol=0.01
        )


def test_numbers_of_all_types_can_be_read(tmp_path):
    record_all_types(tmp_path / "a.mcap")
    recording = Recording(tmp_path / "a.mcap")
    read = 0
    for topic in recording.topics:
        for number in number_fields(recording, topic):
            curves = select(recording, [f"{topic}.{number.name}"])
            fill(recording, curves)
            assert all(len(curve.values) == 1 for curve in curves)
            read += len(curves)
    assert read > 200
