"""Limits of joints as parameters."""

from dataclasses import replace
from math import inf

import pytest
from urdf_tools import random_body, wheel

from hrp_model.body import JointType, Range
from hrp_model.description.description import joint_limit_parameters
from hrp_model.frames import body_frames


def limits(diagnostics, **joint):
    body = wheel(**joint)
    found = joint_limit_parameters(body, body_frames(body, diagnostics))
    start = "joint_limits.AXLE."
    assert all(name.startswith(start) for name in found)
    return {name.removeprefix(start): limit.value for name, limit in found.items()}


def test_all_limits_have_the_names_of_joint_limits(diagnostics):
    given = {"position": Range(-1, 2), "velocity": Range(-3, 3), "effort": Range(-50, 50)}
    assert limits(diagnostics, **given) == {
        "has_position_limits": True,
        "min_position": -1.0,
        "max_position": 2.0,
        "has_velocity_limits": True,
        "max_velocity": 3.0,
        "has_effort_limits": True,
        "max_effort": 50.0,
    }


def test_a_joint_without_limits_only_says_so(diagnostics):
    assert limits(diagnostics) == {
        "has_position_limits": False,
        "has_velocity_limits": False,
        "has_effort_limits": False,
    }


def test_a_limit_on_one_side_stays_one(diagnostics):
    found = limits(diagnostics, position=Range(-inf, 2.0))
    assert (found["min_position"], found["max_position"]) == (-inf, 2.0)


def test_of_two_directions_count_the_lesser_velocity_and_the_larger_effort(diagnostics):
    found = limits(diagnostics, velocity=Range(-7.0, 3.0), effort=Range(-7.0, 3.0))
    assert (found["max_velocity"], found["max_effort"]) == (3.0, 7.0)


def test_every_number_is_a_float_and_every_answer_a_bool(diagnostics):
    body = random_body(5)
    found = joint_limit_parameters(body, body_frames(body, diagnostics))
    moving = [link for link in body.links if link.joint.moves]
    assert sum(name.endswith(".max_effort") for name in found) == len(moving)
    for name, limit in found.items():
        assert type(limit.value) is (bool if ".has_" in name else float)
        assert limit.minimum <= limit.value


@pytest.mark.parametrize(
    ("kind", "units"),
    [
        (JointType.REVOLUTE, {"position": "[rad]", "velocity": "[rad/s]", "effort": "[N m]"}),
        (JointType.PRISMATIC, {"position": "[m]", "velocity": "[m/s]", "effort": "[N]"}),
    ],
)
def test_every_number_tells_its_unit(kind, units, diagnostics):
    given = {name: Range(-1.0, 2.0) for name in units}
    body = wheel(type=kind, **given)
    found = joint_limit_parameters(body, body_frames(body, diagnostics))
    told = {n.rpartition(".")[2]: m.doc for n, m in found.items() if type(m.value) is float}
    assert {k: doc[doc.index("[") :].rstrip(".") for k, doc in told.items()} == {
        "min_position": units["position"],
        "max_position": units["position"],
        "max_velocity": units["velocity"],
        "max_effort": units["effort"],
    }


def test_what_does_not_move_has_none(diagnostics):
    assert limits(diagnostics, type=JointType.FIXED) == {}


def test_a_joint_above_the_root_has_none(diagnostics):
    body = wheel()
    root = replace(body.root, joint=replace(body.root.joint, type=JointType.REVOLUTE))
    body = replace(body, links=(root, *body.links[1:]))
    found = joint_limit_parameters(body, body_frames(body, diagnostics))
    assert all(name.startswith("joint_limits.AXLE.") for name in found)
