"""Expectations of a run: how they are read, refused and judged."""

from contextlib import suppress
from math import inf, nan, pi

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrp_sim import Simulation, load_world
from hrp_sim.run.summary import Expectation, ExpectationError, quantities

KNOWN = {
    "humanoid.z": "m",
    "humanoid.tilt": "rad",
    "humanoid.fell": "",
    "my.robot.z": "m",
    "scanner.nearest": "m",
    "a=b.z": "m",
    "left foot < 1.force": "N",
    "contacts.count": "",
    "humanoid.joint.KNEE.velocity": "rad/s",
    "humanoid.joint.KNEE.effort": "N m",
}


def refused(text):
    """Return the columns that are marked, from 1, the code and the message."""
    with pytest.raises(ExpectationError) as caught:
        Expectation.parse(text, KNOWN)
    found = caught.value.diagnostic
    return text[found.at.start : found.at.end], found.code, found.message


@pytest.mark.parametrize(
    ("text", "quantity", "bound"),
    [
        ("humanoid.z > 0.6", "humanoid.z", 0.6),
        ("humanoid.z>0.6m", "humanoid.z", 0.6),
        ("  humanoid.z  >=  +60.0e0 cm ", "humanoid.z", 0.6),
        ("humanoid.tilt < 10 deg", "humanoid.tilt", pi / 18.0),
        ("humanoid.tilt < .5 rad", "humanoid.tilt", 0.5),
        ("humanoid.tilt >= 0", "humanoid.tilt", 0.0),
        ("my.robot.z != -1", "my.robot.z", -1.0),
        ("left foot < 1.force <= 3 N", "left foot < 1.force", 3.0),
        ("a=b.z > 1", "a=b.z", 1.0),
        ("scanner.nearest == inf", "scanner.nearest", inf),
        ("contacts.count == 8", "contacts.count", 8.0),
        ("humanoid.joint.KNEE.velocity < 180 deg/s", "humanoid.joint.KNEE.velocity", pi),
        ("humanoid.joint.KNEE.effort < 5 Nm", "humanoid.joint.KNEE.effort", 5.0),
        ("humanoid.joint.KNEE.effort < 5 N  m", "humanoid.joint.KNEE.effort", 5.0),
    ],
)
def test_names_numbers_and_units_are_read(text, quantity, bound):
    read = Expectation.parse(text, KNOWN)
    assert (read.quantity, read.bound) == (quantity, pytest.approx(bound))


@pytest.mark.parametrize(
    ("text", "place", "code", "words"),
    [
        ("", "", "bad-expectation", "comparison with one of < <= > >= == !="),
        ("humanoid.z", "humanoid.z", "bad-expectation", "expected a comparison"),
        ("humanoid.z = 1", "=", "bad-expectation", "use '==', '<=' or '>='"),
        ("humanoid.z => 1", "=", "bad-expectation", "use '==', '<=' or '>='"),
        ("humanoid.zz > 1", "humanoid.zz", "unknown-quantity", "Did you mean 'humanoid.z'?"),
        (" qq > 1", "qq", "unknown-quantity", "It is one of humanoid.z, humanoid.tilt,"),
        ("qqqqqqqqqq.z > 1", "qqqqqqqqqq.z", "unknown-quantity", "humanoid.z, my.robot.z, a=b.z."),
        (
            "my.robot.qqqqqqqqqqqqqq > 1",
            "my.robot.qqqqqqqqqqqqqq",
            "unknown-quantity",
            "It is one of my.robot.z.",
        ),
        ("0.6 < humanoid.z", "0.6", "unknown-quantity", "no quantity '0.6'"),
        ("humanoid.z > high", " high", "bad-expectation", "expected a number after"),
        ("humanoid.z > nan", " nan", "bad-expectation", "expected a number after"),
        ("humanoid.z >", "", "bad-expectation", "expected a number after"),
        ("humanoid.z > 1 N", "1 N", "bad-expectation", "expected the unit 'm' or 'cm' or 'mm'"),
        ("humanoid.tilt < 10", "10", "bad-expectation", "an angle needs a unit: 'rad' or 'deg'"),
        ("contacts.count > 1 m", "1 m", "bad-expectation", "expected a number without a unit"),
        ("humanoid.z > 1 2", "1 2", "bad-expectation", "expected the unit"),
        ("humanoid.z > __import__('os')", " __import__('os')", "bad-expectation", "a number"),
    ],
)
def test_what_is_none_is_refused_where_it_is_wrong(text, place, code, words):
    marked, found, message = refused(text)
    assert (marked, found) == (place, code)
    assert words in message


@given(st.text(alphabet="humanoid.z <>=!0-9e+infd%\x1b\n", max_size=40))
def test_any_text_is_read_or_refused(text):
    with suppress(ExpectationError):
        assert Expectation.parse(text, KNOWN).quantity in KNOWN


def test_a_very_long_text_is_refused_at_once():
    for text in ("<" * 200_000, "humanoid.z > " + "1" * 200_000 + "x", "x" * 200_000):
        with pytest.raises(ExpectationError):
            Expectation.parse(text, KNOWN)


@pytest.mark.parametrize(
    ("comparison", "of_less", "of_equal", "of_more"),
    [
        ("<", True, False, False),
        ("<=", True, True, False),
        (">", False, False, True),
        (">=", False, True, True),
        ("==", False, True, False),
        ("!=", True, False, True),
    ],
)
def test_it_is_judged_by_its_operator(comparison, of_less, of_equal, of_more):
    expectation = Expectation.parse(f"humanoid.z {comparison} 0.5", KNOWN)
    judged = [expectation.evaluate(z).holds for z in (0.4, 0.5, 0.6)]
    assert judged == [of_less, of_equal, of_more]


def test_an_outcome_is_told_in_the_unit_that_was_written():
    expectation = Expectation.parse("humanoid.tilt < 10 deg", KNOWN)
    outcome = expectation.evaluate(pi / 4.0)
    assert str(outcome) == "expected humanoid.tilt < 10 deg, but it is 45 deg"
    for value in (None, nan):
        outcome = expectation.evaluate(value)
        assert (outcome.holds, outcome.value) == (False, None)
        assert "humanoid.tilt was not measured" in str(outcome)


def test_a_world_has_quantities_of_its_bodies_joints_and_sensors():
    simulation = Simulation(load_world("humanoid_in_room"), defer_images=True)
    known = quantities(simulation)
    simulation.close()
    assert known["humanoid.z"] == "m"
    assert known["humanoid.joint.LLEG_KNEE.position"] == "rad"
    assert known["gyro.acceleration"] == "m/s^2"
    assert known["scanner.nearest"] == "m"
    assert known["head_camera.brightness"] == ""
    assert known["contacts.largest_force"] == "N"
