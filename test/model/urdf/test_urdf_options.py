"""What options change in a URDF: names, a base above the root; and bodies no reader would give."""

import math
from dataclasses import replace

import numpy as np
import pytest
from each_case import all_cases, mostly_slow
from hypothesis import given
from hypothesis import strategies as st
from silent_diagnostics import silent
from urdf_tools import (
    body_poses,
    chain,
    check_urdf,
    needs_check_urdf,
    parsed,
    random_body,
    random_pose,
    urdf_poses,
)

from hrp_model.body import Body, Joint, JointType, Link
from hrp_model.devices import Camera, ForceSensor
from hrp_model.diagnostics import Diagnostics
from hrp_model.frames import Base, FrameOptions, LinkNaming, body_frames
from hrp_model.rigid import Pose, matrix_rpy, rpy_matrix
from hrp_model.urdf import UrdfOptions, body_to_urdf

SEGMENTS = UrdfOptions(link_naming=LinkNaming.SEGMENT)
BASE = UrdfOptions(base=Base.LINK)
FOOTPRINT = UrdfOptions(base=Base.FOOTPRINT)


# Names of links


def test_links_are_named_after_segments_and_joints_are_not(diagnostics):
    body = chain("WAIST", "NECK", segments=(["WAIST_LINK0"], ["NECK_LINK1"]))
    body = replace(body, devices=(ForceSensor(name="wrist", link="NECK"),))
    robot = parsed(body_to_urdf(body, diagnostics=diagnostics, options=SEGMENTS))
    assert list(robot.link_map) == ["WAIST_LINK0", "NECK_LINK1", "wrist"]
    assert [(j.name, j.parent, j.child) for j in robot.joints] == [
        ("NECK", "WAIST_LINK0", "NECK_LINK1"),
        ("wrist_joint", "NECK_LINK1", "wrist"),
    ]


def test_a_link_of_several_segments_takes_the_first_aloud(diagnostics):
    body = chain("A", segments=(["A0", "A1", "A2"],))
    assert body_frames(body, diagnostics, SEGMENTS).root == "A0"
    assert "'A1', 'A2'" in diagnostics.take("several-segments").message


def test_links_without_segments_keep_their_names_aloud(diagnostics):
    body = chain("A", "B", "C", segments=(["A0"], [""]))
    assert list(body_frames(body, diagnostics, SEGMENTS).links.values()) == ["A0", "B", "C"]
    assert "'B', 'C'" in diagnostics.take("no-segment").message


def test_a_model_without_segments_is_told_once(diagnostics):
    names = [f"L{i}" for i in range(30)]
    assert list(body_frames(chain(*names), diagnostics, SEGMENTS).links.values()) == names
    diagnostics.take("no-segment")


def test_segments_of_one_name_are_told_apart(diagnostics):
    body = chain("A", "B", segments=(["S"], ["S"]))
    assert list(body_frames(body, diagnostics, SEGMENTS).links.values()) == ["S", "S_2"]
    diagnostics.take("frame-name-collision")


def test_a_prefix_stands_before_frames_but_not_before_joints(diagnostics):
    body = random_body(3)
    plain = parsed(body_to_urdf(body, diagnostics=diagnostics))
    diagnostics.take("still-track")
    options = UrdfOptions(frame_prefix="left/", base=Base.LINK)
    robot = parsed(body_to_urdf(body, diagnostics=diagnostics, options=options))
    diagnostics.take("still-track")
    frames = [link.name for link in robot.links]
    assert frames == ["left/base_link", *(f"left/{link.name}" for link in plain.links)]
    moving = {"revolute", "continuous", "prismatic"}
    names = [j.name for j in robot.joints if j.type in moving]
    assert names == [j.name for j in plain.joints if j.type in moving]
    theirs, ours = urdf_poses(robot, {}), urdf_poses(plain, {})
    for name, X in ours.items():
        np.testing.assert_array_equal(theirs[f"left/{name}"], X)


@all_cases(
    ("prefix", "name", "frame", "told"),
    [
        ("", " WAIST ", "WAIST", True),
        ("", "THE WAIST", "THE WAIST", False),
        (" r ", "WAIST", "r WAIST", True),
        ("r ", " WAIST", "r WAIST", True),
        ("r ", "WAIST", "r WAIST", False),
        ("/ r/", "WAIST", "r/WAIST", True),
    ],
)
def test_blanks_at_the_ends_of_a_name_go_aloud(prefix, name, frame, told, diagnostics):
    """Readers of URDF drop them, those of SRDF too: the names would no longer be the same."""
    options = UrdfOptions(frame_prefix=prefix)
    frames = body_frames(chain(name), diagnostics, options)
    assert frames.links[name] == frame
    if told:
        diagnostics.take("illegal-name")


def test_a_prefix_that_cannot_be_written_is_told_once(diagnostics):
    options = FrameOptions(frame_prefix="/a\x00")
    assert body_frames(chain("A", "B"), diagnostics, options).root == "a_A"
    diagnostics.take("illegal-name")


# The base


def test_a_base_link_is_a_massless_root_at_the_root(diagnostics):
    body = random_body(2)
    robot = parsed(body_to_urdf(body, diagnostics=diagnostics, options=BASE))
    diagnostics.take("still-track")
    assert robot.get_root() == "base_link"
    assert robot.link_map["base_link"].inertial is None
    poses = urdf_poses(robot, {})
    for name, X in body_poses(body, {}).items():
        np.testing.assert_allclose(poses[name], X, atol=1e-12)
    assert np.array_equal(poses["BASE"], np.eye(4))


@pytest.mark.parametrize("seed", range(4))
def test_the_footprint_lies_level_on_the_floor_below_the_root(seed, diagnostics):
    body = random_body(1)
    X_WR = random_pose(np.random.default_rng(seed))
    body = replace(body, links=(replace(body.root, X_PL=X_WR), *body.links[1:]))
    robot = parsed(body_to_urdf(body, diagnostics=diagnostics, options=FOOTPRINT))
    diagnostics.take("still-track")
    assert robot.get_root() == "base_footprint"
    X_FR = urdf_poses(robot, {})["BASE"]
    X_WF = X_WR.matrix() @ np.linalg.inv(X_FR)
    np.testing.assert_allclose(X_WF[:3, 3], [*X_WR.p[:2], 0.0], atol=1e-12)
    np.testing.assert_allclose(X_WF[:3, 2], [0.0, 0.0, 1.0], atol=1e-12)
    _, _, yaw = matrix_rpy(X_WR.R)
    np.testing.assert_allclose(X_WF[:3, 0], [math.cos(yaw), math.sin(yaw), 0.0], atol=1e-12)
    np.testing.assert_allclose(urdf_poses(robot, {})["base_link"], X_FR, atol=1e-12)


@pytest.mark.parametrize(
    ("root", "mass", "base", "frames"),
    [
        ("base_link", 0.0, Base.LINK, ["base_link"]),
        ("base_link", 0.0, Base.FOOTPRINT, ["base_footprint", "base_link"]),
        ("base_footprint", 0.0, Base.FOOTPRINT, ["base_footprint"]),
        ("base_link", 1.0, Base.LINK, ["base_link", "base_link_2"]),
    ],
)
def test_a_massless_root_of_that_name_is_the_base_itself(root, mass, base, frames, diagnostics):
    body = chain(root, mass=mass, inertia=np.eye(3) * mass)
    options = UrdfOptions(base=base)
    robot = parsed(body_to_urdf(body, diagnostics=diagnostics, options=options))
    assert [link.name for link in robot.links] == frames
    assert robot.get_root() == body_frames(body, silent(), options).root == frames[0]
    if mass:
        assert "base_link_2" in diagnostics.take("frame-name-collision").message


@all_cases(
    ("names", "mass", "inertia", "base"),
    [
        (["PELVIS", "ARM"], 1.0, 1.0, ["base_link"]),
        (["PELVIS", "ARM"], 0.0, 1.0, ["base_link"]),
        (["PELVIS", "ARM"], 0.0, 0.0, []),
        (["base_link", "ARM"], 1.0, 1.0, []),
        (["base_footprint", "base_link"], 1.0, 1.0, []),
        (["world", "ARM"], 1.0, 1.0, []),
    ],
)
def test_a_base_link_is_added_where_the_root_has_a_mass_and_the_name_is_free(
    names, mass, inertia, base, diagnostics
):
    body = chain(*names, mass=mass, inertia=np.eye(3) * inertia)
    frames = body_frames(body, diagnostics, FrameOptions(base=Base.AUTO, frame_prefix="r/"))
    assert [frame.parent for frame in frames.base] == [f"r/{name}" for name in base]
    assert list(frames.links.values()) == [f"r/{name}" for name in names]
    device = ForceSensor(name="base_link", link=names[-1])
    with_device = body_frames(
        replace(body, devices=(device,)), silent(), UrdfOptions(base=Base.AUTO)
    )
    assert not with_device.base


# Names nobody would give


HOSTILE = st.one_of(
    st.text(max_size=12),
    st.text(
        alphabet=st.sampled_from("\0\t\n\r /$({<&>\"'\\:.~é日\ud800\ufffe\U0001f916A"), max_size=8
    ),
    st.sampled_from(
        ["", " ", " A ", "/ A", "/", "//x", "base_link", "$(find x)", "${y}", "A", "A_2", "world"]
    ),
)


@given(
    names=st.lists(HOSTILE, min_size=3, max_size=6, unique=True),
    joints=st.lists(HOSTILE, min_size=6, max_size=6),
    devices=st.lists(HOSTILE, max_size=4),
    model=HOSTILE,
    prefix=HOSTILE,
    base=st.sampled_from(Base),
)
def test_any_names_give_a_urdf_of_the_same_shape(names, joints, devices, model, prefix, base):
    links = [
        Link(
            name=name,
            parent=names[(i - 1) // 2] if i else None,
            joint=Joint(type=JointType.REVOLUTE if i else JointType.FREE, name=joint),
        )
        for i, (name, joint) in enumerate(zip(names, joints, strict=False))
    ]
    on_last = tuple(
        Camera(name=name, link=names[-1], X_LS=Pose(p=[i, 0, 0])) for i, name in enumerate(devices)
    )
    body = Body(name=model, links=tuple(links), devices=on_last)
    options = UrdfOptions(frame_prefix=prefix, base=base)
    diagnostics = silent()
    text = body_to_urdf(body, diagnostics=diagnostics, options=options)
    robot = parsed(text)
    assert robot.name
    assert "$(" not in text
    assert "${" not in text
    frames = body_frames(body, silent(), options)
    for found in ([link.name for link in robot.links], [joint.name for joint in robot.joints]):
        assert len(set(found)) == len(found)
        assert all(name and name == name.strip(" ") for name in found)
        assert not any(name.startswith("/") for name in found)
    assert robot.get_root() == frames.root
    for link in links[1:]:
        joint = robot.joint_map[frames.joints[link.name]]
        assert (joint.parent, joint.child) == (frames.links[link.parent], frames.links[link.name])
    assert len(robot.links) == len(links) + 2 * len(on_last) + len(frames.base)
    told = {d.code for d in diagnostics.found}
    assert told <= {"illegal-name", "frame-name-collision", "joint-name-collision"}
    kept = [*frames.links.values()] == [prefix + name for name in names]
    assert kept or told


# Digits


TURNS = st.floats(-7.0, 7.0)
NEAR_VERTICAL = st.builds(
    lambda sign, power, digit: sign * (math.pi / 2 - digit * 10.0**power),
    st.sampled_from([-1.0, 1.0]),
    st.integers(-17, -1),
    st.floats(-9.0, 9.0),
)


@given(roll=TURNS, pitch=st.one_of(TURNS, NEAR_VERTICAL), yaw=TURNS)
def test_any_rotation_comes_back_from_its_three_angles(roll, pitch, yaw):
    R = rpy_matrix(roll, pitch, yaw)
    np.testing.assert_allclose(rpy_matrix(*matrix_rpy(R)), R, atol=2e-12)


@given(
    seed=st.integers(0, 2**31),
    count=st.integers(4, 25),
    position=st.floats(-10.0, 10.0),
    base=st.sampled_from(Base),
)
def test_any_tree_moves_as_its_urdf_does(seed, count, position, base):
    body = random_body(seed, count)
    options = UrdfOptions(base=base, frame_prefix="p_")
    robot = parsed(body_to_urdf(body, diagnostics=silent(), options=options))
    q = {link.joint.name: position * (-1.0) ** i for i, link in enumerate(body.moving_links)}
    theirs = urdf_poses(robot, q)
    root = np.linalg.inv(theirs["p_BASE"])
    for name, X in body_poses(body, q).items():
        scale = 1.0 + np.abs(X).max()
        np.testing.assert_allclose(root @ theirs[f"p_{name}"], X, atol=1e-12 * scale)


def test_equal_bodies_give_equal_text():
    texts = {body_to_urdf(random_body(5), diagnostics=silent(), options=BASE) for _ in range(3)}
    assert len(texts) == 1


# With ROS's own parser, and another independent one


@needs_check_urdf
@pytest.mark.parametrize(
    ("base", "naming"), mostly_slow([(base, naming) for base in Base for naming in LinkNaming], 2)
)
def test_check_urdf_accepts_every_kind_of_names(base, naming, tmp_path):
    body = random_body(4)
    segments = [{"segments": [f"{link.name}_LINK"]} for link in body.links]
    links = [replace(link, info=info) for link, info in zip(body.links, segments, strict=True)]
    options = UrdfOptions(link_naming=naming, base=base, frame_prefix="robot/")
    body = replace(body, links=tuple(links))
    text = body_to_urdf(body, diagnostics=Diagnostics(strict=True), options=options)
    assert check_urdf(text, tmp_path) == ""


@needs_check_urdf
def test_check_urdf_accepts_names_that_are_hard_to_write(tmp_path):
    body = chain("a b", "\"'<&>", "日本", "$(find x)", "tab\there", " ", "slash/in")
    assert check_urdf(body_to_urdf(body, diagnostics=silent()), tmp_path) == ""
