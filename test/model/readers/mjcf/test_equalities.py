"""Equalities of joints of an MJCF as mimic joints."""

import pytest
from each_case import all_cases
from silent_diagnostics import silent

from hrp_model import load_body_text

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

WHEEL = '<body><joint name="{}" axis="0 0 1" ref="{}"/><geom size=".1"/></body>'


def read(equalities, actuators="", refs=(0, 0, 0, 0)):
    wheels = "".join(WHEEL.format(name, ref) for name, ref in zip("abcd", refs, strict=True))
    text = f'<mujoco><worldbody><body name="base"><geom size=".1"/>{wheels}</body></worldbody>'
    rows = "".join(
        f'\n<joint joint1="{x}" joint2="{y}" polycoef="{" ".join(map(str, line))}"/>'
        for x, y, line in equalities
    )
    found = silent()
    text += f"<equality>{rows}</equality>{actuators}</mujoco>"
    body = load_body_text(text, found, name="t.xml")
    names = {link.name: link.joint.name for link in body.moving_links}
    mimics = {
        link.joint.name: (names[m.link], pytest.approx(m.multiplier), pytest.approx(m.offset))
        for link in body.moving_links
        if (m := link.joint.mimic) is not None
    }
    return mimics, [(d.code, str(d.at), d.message) for d in found.found]


@all_cases(
    ("equalities", "expected"),
    [  # q_x = constant + factor * q_y
        ([("b", "a", (0.5, 2))], {"b": ("a", 2, 0.5)}),
        ([("c", "b", (1, 3)), ("b", "a", (0.5, 2))], {"b": ("a", 2, 0.5), "c": ("a", 6, 2.5)}),
        ([("b", "a", (0.5, 2)), ("b", "c", (1, 4))], {"a": ("c", 2, 0.25), "b": ("c", 4, 1)}),
        ([("b", "a", (0.5, 0))], {"b": ("a", 0, 0.5)}),
        ([("b", "a", (0, 2)), ("c", "b", (0, 2)), ("a", "c", (0, 0.25))],
         {"b": ("a", 2, 0), "c": ("a", 4, 0)}),
    ],
)  # fmt: skip
def test_equalities_are_mimic_joints_of_one_leader(equalities, expected):
    assert read(equalities) == (expected, [])


def test_the_joint_with_a_motor_leads():
    mimics, _ = read(
        [("b", "a", (0.5, 2)), ("c", "a", (0, 3))],
        '<actuator><motor joint="b"/></actuator>',
    )
    assert mimics == {"a": ("b", 0.5, -0.25), "c": ("b", 1.5, -0.75)}


def test_positions_are_relative_to_references():
    mimics, _ = read([("b", "a", (0.0, 2))], refs=(90, 180, 0, 0))  # [degrees]
    assert mimics == {"b": ("a", 2, pytest.approx(0.0, abs=1e-12))}


@pytest.mark.parametrize(
    ("equalities", "code", "words"),
    [
        ([("b", "a", (0, 1, 0.5))], "no-counterpart", "does not follow linearly"),
        ([("b", "a", (0, 2)), ("a", "b", (0, 1))], "mimic-cycle", "leaves joint 'a' no motion"),
        ([("b", "a", (0, 2)), ("b", "a", (1, 2))], "mimic-cycle", "leaves joint 'b' no motion"),
    ],
)
def test_equalities_that_cannot_hold_are_left_out(equalities, code, words):
    _, [(found, place, message)] = read(equalities)
    assert (found, place) == (code, f"t.xml:{1 + len(equalities)}:1")
    assert words in message
