"""Sliders of joints: their ranges, and the joints that follow."""

import threading
from math import degrees, pi

import numpy as np
import pytest
from each_case import all_cases
from paths import ROOT

pytest.importorskip("viser")

from hrp_model.body import Body, Joint, JointType, Link, Mimic, Range
from hrp_model.kinematics.loops import loop_closures
from hrp_model.load import load_body
from hrp_model.view.joint_sliders import MAX_SLIDERS, JointSliders, slider_range
from hrp_model.view.viewer import Viewer, set_value


@pytest.fixture(scope="module")
def gui():
    with Viewer(0) as viewer:
        yield viewer.server.gui


def link(name="a", parent="base", kind=JointType.REVOLUTE, **properties):
    return Link(name=name, parent=parent, joint=Joint(type=kind, name=name, **properties))


def body_of(*links):
    root = Link(name="base", parent=None, joint=Joint(type=JointType.FIXED, name="base"))
    return Body(name="robot", links=(root, *links))


@all_cases(
    ("kind", "limits", "expected"),
    [
        (JointType.REVOLUTE, Range(-1.0, 2.0), (-1.0, 2.0)),
        (JointType.REVOLUTE, Range(), (-pi, pi)),
        (JointType.PRISMATIC, Range(), (-1.0, 1.0)),
        (JointType.PRISMATIC, Range(0.0, 0.001), (0.0, 0.001)),
        (JointType.REVOLUTE, Range(lower=5.0), (5.0, 5.0 + pi)),
        (JointType.REVOLUTE, Range(upper=-5.0), (-5.0 - pi, -5.0)),
        (JointType.REVOLUTE, Range(2.0, 1.0), (-pi, pi)),
        (JointType.REVOLUTE, Range(0.5, 0.5), (0.5, 0.5)),
    ],
)
def test_a_slider_has_the_range_of_its_joint_within_a_thousandth(kind, limits, expected):
    joint = link(kind=kind, position=limits)
    value = expected[0]
    lower, upper, step = slider_range(joint, value)
    np.testing.assert_allclose((lower, upper), expected, atol=1e-3)
    assert expected[0] <= lower <= value <= upper <= expected[1]
    assert 0.0 < step <= max(1e-3, upper - lower)


def test_a_start_outside_of_the_limits_is_within_the_slider():
    lower, upper, _ = slider_range(link(position=Range(0.0, 1.0)), -2.0)
    assert (lower, upper) == (-2.0, 1.0)


def test_mimic_joints_follow_and_have_no_slider(gui):
    body = body_of(
        link("leader", id=0, initial=0.2),
        link("follower", mimic=Mimic("leader", multiplier=-2.0, offset=0.1)),
    )
    moved = threading.Event()
    sliders = JointSliders(gui, body, moved.set, {"leader": 0.5, "gone": 1.0})
    assert sliders.positions == {"leader": 0.5, "follower": -0.9}
    sliders.reset()
    assert moved.is_set()
    assert sliders.positions == pytest.approx({"leader": 0.2, "follower": -0.3})
    sliders.set_zero()
    np.testing.assert_allclose(sliders.vector(), [0.0, 0.1])
    (slider,) = sliders._sliders.values()
    moved.clear()
    set_value(slider, degrees(1.0))  # as a browser does
    assert moved.wait(300.0)
    assert sliders.positions == pytest.approx({"leader": 1.0, "follower": -1.9})


def test_closed_loops_stay_closed(gui):
    body = load_body(ROOT / "models" / "press" / "press.body")
    sliders = JointSliders(gui, body, lambda: None)
    closures, _ = loop_closures(body)
    for q in (0.0, 0.4, -0.3):
        sliders._set(dict.fromkeys(sliders._sliders, q))
        assert sliders.problem == ""
        for closure in closures:
            gaps = closure.gaps(sliders.vector())
            assert max(max(gap) for gap in gaps) < 1e-6


def test_a_model_of_very_many_joints_has_sliders_for_the_first(gui):
    body = body_of(*(link(f"joint{i}", id=i) for i in range(MAX_SLIDERS + 5)))
    sliders = JointSliders(gui, body, lambda: None)
    assert sliders.left_out == 5
    assert len(sliders.positions) == MAX_SLIDERS + 5
