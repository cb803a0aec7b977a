"""Names of models as names of topics, judged by ROS's own validator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrp_msgs import names


@given(st.text(max_size=40))
def test_any_name_becomes_a_topic_that_ros_accepts(name):
    validate = pytest.importorskip("rclpy.validate_topic_name", reason="ROS 2 is not installed")
    token = names.topic_token(name)
    assert validate.validate_topic_name(token)
    assert validate.validate_topic_name(names.wrench_topic(token))
    assert "/" not in token


@given(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]*", fullmatch=True))
def test_a_legal_name_stays_as_it_is(name):
    assert names.topic_token(name) == name


@pytest.mark.parametrize(
    ("name", "token"),
    [("LARM-JOINT0", "LARM_JOINT0"), ("a/b c", "a_b_c"), ("3d", "n3d"), ("", "_"), ("左", "_")],
)
def test_other_names_change_as_little_as_they_must(name, token):
    assert names.topic_token(name) == token


@given(st.lists(st.text(alphabet="aB1-_ ", max_size=3), unique=True))
def test_names_keep_apart_or_are_refused(model_names):
    try:
        tokens = names.topic_tokens(model_names)
    except names.NameCollisionError:
        assert len({names.topic_token(name) for name in model_names}) < len(model_names)
    else:
        assert list(tokens) == model_names
        assert len(set(tokens.values())) == len(model_names)


def test_a_collision_names_both_and_what_they_would_be():
    with pytest.raises(names.NameCollisionError, match="'a-b' and 'a b' would both be topic 'a_b'"):
        names.topic_tokens(iter(["a-b", "c", "a b"]))


def test_one_name_twice_is_no_collision():
    assert names.topic_tokens(["a-b", "a-b"]) == {"a-b": "a_b"}


def test_topics_of_the_only_sensor_of_a_kind_are_short():
    assert names.imu_topic("waist", only_one=True) == "imu/data_raw"
    assert names.imu_topic("waist", only_one=False) == "waist/data_raw"
    assert names.scan_topic("laser", only_one=True) == "scan"
    assert names.scan_topic("laser", only_one=False) == "laser/scan"
    assert names.wrench_topic("foot") == "foot/wrench"
    assert names.image_topics("eye") == ("eye/image_raw", "eye/camera_info")


def test_frames_are_model_names_behind_the_prefix():
    assert names.frame("LARM-JOINT0", "r1/") == "r1/LARM-JOINT0"
    assert names.frame("WAIST") == "WAIST"
