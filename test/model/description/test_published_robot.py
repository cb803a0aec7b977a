"""Robots that others publish: their names, their frames, and where their links are."""

from dataclasses import replace
from math import pi

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hrp_model import load_body_text
from hrp_model.description.published import (
    body_names,
    frame_prefixes,
    has_frame_of,
    link_poses,
    namespace,
)
from hrp_model.rigid import Pose, axis_angle_matrix

ARM = """<robot name="arm">
<link name="base_link"/><link name="arm"/><link name="tool"/>
<joint name="j" type="continuous"><parent link="base_link"/><child link="arm"/>
 <origin xyz="0 0 1"/><axis xyz="0 0 1"/></joint>
<joint name="t" type="fixed"><parent link="arm"/><child link="tool"/><origin xyz="1 0 0"/></joint>
</robot>"""
LINKS = ("base_link", "arm", "tool")


@pytest.fixture
def arm(diagnostics):
    body = load_body_text(ARM, diagnostics, kind="urdf")
    diagnostics.found.clear()  # it has no masses
    return body


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("/robot_description", ""),
        ("robot_description", ""),
        ("/left/robot_description", "left"),
        ("/a/b/robot_description", "a/b"),
        ("/robot_description_semantic", None),
        ("/robot_description/x", None),
    ],
)
def test_the_namespace_is_that_of_the_topic(topic, expected):
    assert namespace(topic) == expected


def test_robots_are_named_after_their_namespace_or_their_model(arm):
    assert body_names({"": arm, "left": arm}) == {"": "arm", "left": "left"}
    assert body_names({"": arm, "arm": arm}) == {"": "arm_2", "arm": "arm"}
    assert body_names({"": replace(arm, name="")}) == {"": "robot"}


def test_the_frames_that_exist_determine_the_prefix(arm):
    assert frame_prefixes({"": arm}, LINKS) == {"": ""}
    assert frame_prefixes({"": arm}, [f"sim/{x}" for x in LINKS]) == {"": "sim/"}
    assert frame_prefixes({"": arm}, [f"left_{x}" for x in LINKS]) == {"": "left_"}
    assert frame_prefixes({"": arm}, ["world", "camera"]) == {}


def test_equal_robots_have_the_frames_like_their_namespaces(arm):
    frames = [f"{side}/{x}" for side in ("left", "right") for x in LINKS]
    expected = {"right": "right/", "left": "left/"}
    assert frame_prefixes({"right": arm, "left": arm}, frames) == expected


def test_a_robot_without_frames_does_not_take_those_of_another(arm):
    other = replace(arm, links=(replace(arm.root, name="base_link"),))
    assert frame_prefixes({"": arm, "chair": other}, LINKS) == {"": ""}


def test_links_have_the_poses_of_their_frames(arm):
    poses = {f"x/{name}": Pose(p=np.array([i, 0.0, 0.0])) for i, name in enumerate(LINKS)}
    p, R = link_poses(arm, poses, "x/")
    assert_allclose(p[:, 0], [0.0, 1.0, 2.0])
    assert_allclose(R, np.broadcast_to(np.eye(3), (3, 3, 3)))


def test_a_link_without_a_frame_has_its_initial_pose_relative_to_its_parent(arm):
    turned = Pose(axis_angle_matrix([0.0, 0.0, 1.0], pi / 2), np.array([0.0, 0.0, 5.0]))
    p, R = link_poses(arm, {"base_link": Pose(), "arm": turned}, "")
    assert_allclose(p[2], [0.0, 1.0, 5.0], atol=1e-15)
    assert_allclose(R[2], turned.R)


def test_a_robot_without_frames_stands_where_the_model_says(arm):
    p, _ = link_poses(arm, {"base_link": turned_away()}, None)
    assert_allclose(p, [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0]])


def turned_away():
    return Pose(p=np.array([9.0, 9.0, 9.0]))


def test_a_robot_moves_if_a_frame_of_it_does(arm):
    assert has_frame_of(arm, "a/", {"a/tool"})
    assert not has_frame_of(arm, "a/", {"b/tool", "tool"})
    assert not has_frame_of(arm, None, {"tool"})


def test_a_fixed_root_makes_a_robot_without_joints_static(arm):
    assert not arm.is_root_fixed
    assert arm.with_fixed_root().is_root_fixed
