"""The YAML file of closed loops, read as its reader would."""

from dataclasses import replace

import numpy as np
import pytest
import yaml
from each_case import all_cases
from loop_bodies import (
    PLANAR,
    REVOLUTE,
    Z,
    at,
    base,
    four_bar,
    hexapod,
    link,
    random_loops,
    scissor_lift,
    tie,
)

from hrp_model.body import Body, ExtraJointType
from hrp_model.diagnostics import Diagnostics
from hrp_model.frames import body_frames
from hrp_model.kinematics import BodyState
from hrp_model.kinematics.loops import LoopClosure, mimic_joints
from hrp_model.rigid import Pose, rpy_matrix
from hrp_model.urdf.convert import loops_yaml


def text(body, diagnostics=None):
    return loops_yaml(body, body_frames(body, Diagnostics.silent()), diagnostics)


def read(body):
    return yaml.safe_load(text(body))


def quaternion_matrix(q):
    x, y, z, w = q
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * K + 2 * K @ K


def pose(end):
    return Pose(rpy_matrix(*end["rpy"]), end["xyz"])


@all_cases("seed", range(30))
def test_the_numbers_are_those_of_loops_that_close(seed):
    """At the posture in the file, the frames in the file fit together as their types say."""
    body = random_loops(seed)
    document = read(body)
    state = BodyState(body)
    for i, x in enumerate(body.moving_links):
        state.q[i] = document["closed_at"].get(x.name, x.joint.initial)
    state.calc_forward_kinematics()
    poses = {x.name: Pose(R, p) for x, R, p in zip(body.links, state.R, state.p, strict=True)}
    assert [x["type"] for x in document["loops"]] == [x.type.value for x in body.extra_joints]
    for entry, joint in zip(document["loops"], body.extra_joints, strict=True):
        ends = [entry["link_a"], entry["link_b"]]
        assert [end["frame"] for end in ends] == list(joint.links)
        for end in ends:
            turned = quaternion_matrix(end["quaternion"])
            np.testing.assert_allclose(turned, pose(end).R, atol=1e-14)
        X_AB = (poses[joint.links[0]] @ pose(ends[0])).inverse() @ (
            poses[joint.links[1]] @ pose(ends[1])
        )
        np.testing.assert_allclose(X_AB.matrix(), np.eye(4), atol=1e-9)
        if "axis" in entry:
            np.testing.assert_allclose(joint.X_AJ.R @ entry["axis"], joint.axis, atol=1e-15)
        else:
            assert joint.type in (ExtraJointType.BALL, ExtraJointType.FIXED)


def test_dependent_joints_and_their_relations_are_named():
    body = scissor_lift()
    document = read(body)
    closure = LoopClosure(body)
    assert document["dependent"] == [body.moving_links[i].name for i in closure.dependent]
    assert document["dependent"] == ["SLIDER", "B1", "A2", "B2"]
    assert document["mimic"] == {
        name: {"joint": x.link, "multiplier": x.multiplier, "offset": x.offset}
        for name, x in mimic_joints(body).items()
    }
    assert document["loops"][0]["joints"] == ["A1", "SLIDER", "B1"]
    assert document["loops"][0]["name"] == "pair 1"


def test_numbers_keep_every_digit():
    body = four_bar(0.2, 1 / 3, 0.4, 0.5)
    joint = replace(body.extra_joints[0], X_BJ=at(0.4, 1.2345678901234567e-7, -1e-300))
    entry = read(replace(body, extra_joints=(joint,)))["loops"][0]
    assert entry["link_a"]["xyz"] == [1 / 3, 0.0, 0.0]
    assert entry["link_b"]["xyz"][:2] == [0.4, 1.2345678901234567e-7]
    closed_at = read(body)["closed_at"]
    assert list(closed_at.values()) == LoopClosure(body).assembled.tolist()


def test_names_that_yaml_would_take_for_something_else_stay_names():
    names = ["on", "0x10", "- a: b", "1:30", "~", "é # 'x'", "null"]
    links = [base()]
    for i, name in enumerate(names):
        links.append(link(name, links[-1].name, REVOLUTE, Z if i % 2 else np.eye(3)[0], at(0.3)))
    joint = tie(names[-1], "BASE", at(), at(0.3 * len(names)), name="1e3")
    document = read(Body(name="names", links=tuple(links), extra_joints=(joint,)))
    (entry,) = document["loops"]
    assert (entry["name"], entry["link_a"]["frame"]) == ("1e3", "null")
    assert entry["joints"] == names
    assert list(document["closed_at"]) == names


def test_names_are_those_of_the_frames():
    body = four_bar(0.2, 0.5, 0.4, 0.5)
    frames = body_frames(body, Diagnostics())
    frames = replace(frames, links={k: f"robot/{v}" for k, v in frames.links.items()})
    frames = replace(frames, joints={k: f"{v}_joint" for k, v in frames.joints.items()})
    document = yaml.safe_load(loops_yaml(body, frames))
    assert document["loops"][0]["link_b"]["frame"] == "robot/ROCKER"
    assert document["dependent"] == ["COUPLER_joint", "ROCKER_joint"]


def test_the_header_explains_and_the_text_is_stable():
    written = text(hexapod())
    comment = [x for x in written.splitlines() if x.startswith("#")]
    assert any("metres and radians" in x for x in comment)
    assert all(kind.value in "".join(comment) for kind in ExtraJointType)
    assert max(map(len, comment)) <= 100
    assert written == text(hexapod())


@pytest.mark.parametrize("kind", PLANAR)
def test_a_loop_that_stays_open_is_warned_of(kind):
    body = four_bar(0.2, 0.5, 0.4, 0.5, kind=kind)
    joint = replace(body.extra_joints[0], X_AJ=at(0.5, z=0.04))
    diagnostics = Diagnostics.silent()
    text(replace(body, extra_joints=(joint,)), diagnostics)
    matters = kind in (ExtraJointType.BALL, ExtraJointType.HINGE)
    assert [x.code for x in diagnostics.found] == ["loop-gap"] * matters


def test_a_body_without_loops_has_an_empty_file():
    document = read(Body(name="rod", links=(base(), link("A", "BASE", REVOLUTE))))
    assert document == {"loops": [], "dependent": [], "mimic": {}, "closed_at": {}}


def test_impossible_numbers_are_warned_of_and_left_out():
    body = four_bar(0.2, 0.5, 0.4, 0.5)
    bad = replace(body.extra_joints[0], X_AJ=at(np.nan), name="bad")
    diagnostics = Diagnostics.silent()
    document = yaml.safe_load(text(replace(body, extra_joints=(bad,)), diagnostics))
    assert document == {"loops": [], "dependent": [], "mimic": {}, "closed_at": {}}
    (found,) = diagnostics.found
    assert found.code == "loop-gap"
    assert "'bad'" in found.message
