"""Closed loops with numbers that no mechanism has."""

from dataclasses import replace

import numpy as np
import pytest
from loop_bodies import GRASHOF, at, four_bar, scissor_lift, slider_crank

from hrp_model.kinematics.loops import LoopClosure, LoopError


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"axis": np.zeros(3)}, "'tie' has a zero axis"),
        ({"X_AJ": at(np.nan)}, "'tie' has a number that is not finite or above"),
        ({"X_BJ": at(1e300)}, "'tie' has a number that is not finite or above"),
    ],
)
def test_impossible_numbers_are_refused(change, words):
    body = four_bar(*GRASHOF)
    joint = replace(body.extra_joints[0], **change)
    with pytest.raises(ValueError, match=words):
        LoopClosure(replace(body, extra_joints=(joint,)))


@pytest.mark.parametrize("pose", [at(np.inf), at(1e200), at(R=np.full((3, 3), np.nan))])
def test_impossible_links_are_refused(pose):
    body = four_bar(*GRASHOF)
    links = (*body.links[:3], replace(body.links[3], X_PL=pose))
    with pytest.raises(ValueError, match="link 'ROCKER' in a closed loop"):
        LoopClosure(replace(body, links=links))


@pytest.mark.parametrize("value", [1e5, -1e8, 1e15, 1e308])
@pytest.mark.parametrize("body", [slider_crank(), four_bar(*GRASHOF), scissor_lift()])
@pytest.mark.filterwarnings("error")
def test_positions_from_afar_are_reached_or_refused(body, value):
    closure = LoopClosure(body)
    for joint in range(3):
        q = closure.assembled.copy()
        q[joint] = value
        try:
            q = closure.close(q, given=[joint])
        except LoopError as error:
            told, q = str(error), error.q
        else:
            told = ""
        assert "cannot close at" in told or np.abs(closure.residual(q)).max() < 1e-10
        assert q[joint] == value


def test_a_link_that_is_none_is_refused():
    body = four_bar(*GRASHOF)
    joint = replace(body.extra_joints[0], links=("COUPLER", "NONE"))
    with pytest.raises(KeyError, match="NONE"):
        LoopClosure(replace(body, extra_joints=(joint,)))
