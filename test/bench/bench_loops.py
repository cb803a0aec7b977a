"""Speed of closing loops, compared with forward kinematics of the same robot.

    python -m pytest test/bench/bench_loops.py

prints a table. Each round times both once, so that other load on the machine affects both; the
ratio is that of their medians. Times never fail a test.
"""

from itertools import count
from math import sin

import numpy as np
import pytest
from loop_bodies import drawn_slider_crank, four_bar, hexapod, scissor_lift, slider_crank

from hrp_model.description.closed_loops import ClosedLoops
from hrp_model.diagnostics import Diagnostics
from hrp_model.frames import body_frames
from hrp_model.kinematics import BodyState
from hrp_model.kinematics.loops import LoopClosure, LoopError

MECHANISMS = {
    "four-bar": lambda: four_bar(0.2, 0.5, 0.4, 0.5),
    "slider-crank": slider_crank,
    "scissor lift": scissor_lift,
    "hexapod": hexapod,
}
STEP = 0.01  # [rad] and [m] from one posture to the next, at most


@pytest.fixture
def compare(in_turn, rows):
    """Time a function and forward kinematics in turn, and add a row to the table."""

    def run(what, body, timed, arguments=None, rounds=300):
        kinematics = BodyState(body).calc_forward_kinematics
        seconds, reference = in_turn(timed, kinematics, rounds=rounds, arguments=arguments)
        shown = f"{1e6 * seconds:.0f} us" if seconds < 1e-3 else f"{1e3 * seconds:.1f} ms"
        against = f"forward kinematics, {1e6 * reference:.0f} us"
        rows.append((what, shown, "", against, f"{seconds / reference:.1f}"))

    return run


def positions(body):
    """Return a function that gives positions of joints with ids, by name, which oscillate."""
    joints = [link.joint for link in body.moving_links if link.joint.id is not None]
    ticks = count()

    def following():
        tick = next(ticks)
        return {x.name: x.initial + sin(STEP * tick + i) - sin(i) for i, x in enumerate(joints)}

    def small():
        tick = next(ticks)
        return {x.name: x.initial + 0.05 * sin(STEP * tick + i) for i, x in enumerate(joints)}

    return small if len(joints) > 1 else following


@pytest.mark.parametrize("name", MECHANISMS)
def test_to_close_from_the_posture_before(compare, name):
    body = MECHANISMS[name]()
    closure, ticks = LoopClosure(body), count()
    near = closure.assembled
    lead = closure.independent

    def close():
        nonlocal near
        q = near.copy()
        q[lead] = closure.assembled[lead] + 0.1 * np.sin(STEP / 0.1 * next(ticks) + lead)
        near = closure.close(q, near=near)

    compare(f"{name}: close, {STEP} further", body, close)


@pytest.mark.parametrize("name", MECHANISMS)
def test_to_complete_joint_states(compare, name):
    body = MECHANISMS[name]()
    loops, sample = ClosedLoops(body, body_frames(body, Diagnostics())), positions(body)
    compare(f"{name}: complete a message", body, lambda: loops.complete(sample()))


def test_to_complete_joint_states_by_a_joint_without_id(compare):
    body = drawn_slider_crank(0.5)
    loops, ticks = ClosedLoops(body, body_frames(body, Diagnostics())), count()
    middle = body.link("SLIDER").joint.initial

    def complete():
        assert not loops.complete({"SLIDER": middle + 0.01 * sin(0.1 * next(ticks))}).problems

    compare("slider-crank: complete by its slider", body, complete)


def test_to_find_that_a_posture_is_out_of_reach(compare):
    body = four_bar(0.5, 0.3, 0.3, 0.6, crank=0.6)
    closure = LoopClosure(body)
    q = closure.assembled.copy()
    q[0] = 2.0

    def close():
        with pytest.raises(LoopError):
            closure.close(q, near=closure.assembled)

    compare("four-bar: find no way to close", body, close, rounds=20)


@pytest.mark.parametrize("name", MECHANISMS)
def test_to_prepare_a_model(benchmark, rows, name):
    frames = body_frames(MECHANISMS[name](), Diagnostics())
    benchmark.pedantic(
        ClosedLoops,
        setup=lambda: ((MECHANISMS[name](), frames), {}),  # a body is prepared once only
        rounds=10,
        warmup_rounds=1,
    )
    rows.append((f"{name}: prepare", f"{1e3 * benchmark.stats.stats.median:.1f} ms", "", "", ""))
