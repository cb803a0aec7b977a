"""Limbs that are moved by their tips, hands, and what pages report."""

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("viser")

from hrp_model.body import Body, Joint, JointType, Link, Mimic, Range
from hrp_model.geometry import Box, Shape
from hrp_model.kinematics.state import BodyState
from hrp_model.load import load_body
from hrp_model.rigid import Pose
from hrp_model.view.browser import PageState, read_state
from hrp_model.view.limbs import TipHandle, hands_of, limbs_of
from hrp_model.view.viewer import Viewer


def finger(name, side, axis):
    """A finger 5 cm beside the axis of the palm that slides along y."""
    joint = Joint(type=JointType.PRISMATIC, name=name, axis=axis, position=Range(-0.01, 0.03))
    shape = Shape(Box(np.full(3, 0.01)), np.eye(4))
    X_PL = Pose(np.eye(3), np.array([0.0, 0.05 * side, 0.1]))
    return Link(name=name, parent="PALM", joint=joint, X_PL=X_PL, visual=(shape,))


def test_a_hand_is_closed_where_its_fingers_are_nearest_to_each_other():
    fixed = Joint(type=JointType.FIXED, name="BASE")
    turning = [
        Link(name=n, parent=p, joint=Joint(type=JointType.REVOLUTE, name=n))
        for n, p in (("A", "BASE"), ("B", "A"), ("PALM", "B"))
    ]
    left, right = finger("LEFT", 1.0, (0, -1, 0)), finger("RIGHT", -1.0, (0, -1, 0))
    body = Body(
        name="hand", links=(Link(name="BASE", parent=None, joint=fixed), *turning, left, right)
    )
    assert hands_of(body) == {
        "PALM": ({"LEFT": -0.01, "RIGHT": 0.03}, {"LEFT": 0.03, "RIGHT": -0.01})
    }


def test_the_tip_of_an_arm_is_moved_to_its_handle_by_inverse_kinematics():
    body = load_body("package://hrp_ros/models/arm/arm.body")
    limb = limbs_of(body)["J6"]
    state, moved = BodyState(body), []
    state.q[:] = [0.1, 0.5, 0.9, 0.0, 0.6, 0.0]
    state.calc_forward_kinematics()
    with Viewer(0) as viewer:
        handle = TipHandle(viewer, "/tip", body, limb, 0.2, lambda _, q: moved.append(q))
        handle.place(state.p, state.R, state.q)
        tip = body.link_index("J6")
        control = handle._control
        np.testing.assert_allclose(control.position, state.p[tip])
        goal = state.p[tip] + np.array([0.03, -0.02, 0.04])
        control.position = goal

        class Event:
            client, client_id, phase = None, 3, "update"

        handle._drag(Event())
        state.q[:] = [moved[0][link.joint.name] for link in body.moving_links]
        state.calc_forward_kinematics()
        np.testing.assert_allclose(state.p[tip], goal, atol=1e-3)
        handle.place(np.zeros_like(state.p), state.R, state.q)  # while somebody moves it
        np.testing.assert_allclose(control.position, goal)
        control.position = np.array([1e300, 0.0, 0.0])
        handle._drag(Event())
        assert len(moved) == 1
        handle.release(3)  # its page has gone
        handle.place(np.zeros_like(state.p), state.R, state.q)
        np.testing.assert_allclose(control.position, np.zeros(3))


def test_a_limb_with_a_joint_that_follows_another_has_no_handle():
    body = load_body("package://hrp_ros/models/arm/arm.body")
    last = body.link("J6")
    follower = replace(last, joint=replace(last.joint, mimic=Mimic("J1", 1.0)))
    links = tuple(follower if link is last else link for link in body.links)
    assert limbs_of(replace(body, links=links)) == {}


def test_what_a_page_reports_is_checked():
    state = {"n": 1, "dark": True, "drive": [5, -0.5], "seen": ["curves"]}
    assert read_state(json.dumps(state)) == PageState(True, (1.0, -0.5), frozenset({"curves"}))
    assert read_state(json.dumps({"dark": False, "drive": None})) == PageState(
        False, None, frozenset()
    )
    nan = '{"dark": 0, "drive": [NaN, 0], "seen": []}'
    assert read_state(nan).drive is None
    huge = f'{{"dark": 1, "drive": [1{"0" * 400}, 0]}}'
    for text in ("", "[]", "null", '{"dark": 1}', '{"dark": 1, "drive": [1]}', "9" * 3000, huge):
        assert read_state(text) is None
