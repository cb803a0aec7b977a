"""Each rule of validate: what it reports, where, and what it leaves alone."""

from dataclasses import replace
from math import inf, nan

import numpy as np
from each_case import all_cases

from hrp_model.body import (
    Body,
    ExtraJoint,
    ExtraJointType,
    Joint,
    JointType,
    Link,
    Range,
    link_pair,
)
from hrp_model.devices import AccelerationSensor, Camera
from hrp_model.diagnostics import Severity, Source, Span
from hrp_model.geometry import Box, Cylinder, Shape, Sphere
from hrp_model.rigid import Pose
from hrp_model.validate import validate

SOURCE = Source("arm.body", "ROOT\nARM\nHAND\n")
PLACES = {"ROOT": Span(SOURCE, 0, 4), "ARM": Span(SOURCE, 5, 8), "HAND": Span(SOURCE, 9, 13)}


def joint(name, kind, **kwargs):
    return Joint(type=kind, name=name, **kwargs)


ROOT = Link(
    name="ROOT",
    parent=None,
    joint=joint("ROOT", JointType.FREE),
    mass=2.0,
    inertia=np.diag([0.2, 0.3, 0.4]),
    at=PLACES["ROOT"],
)
ARM = replace(
    ROOT, name="ARM", parent="ROOT", joint=joint("J0", JointType.REVOLUTE, id=0), at=PLACES["ARM"]
)
HAND = replace(
    ARM, name="HAND", parent="ARM", joint=joint("J1", JointType.PRISMATIC, id=1), at=PLACES["HAND"]
)


def body(root=ROOT, arm=ARM, hand=HAND, **kwargs):
    return Body(name="arm", links=(root, arm, hand), **kwargs)


def change(link, **joint_changes):
    return replace(link, joint=replace(link.joint, **joint_changes))


BARE = {"mass": 0.0, "inertia": np.zeros((3, 3))}
FIXED = Joint(type=JointType.FIXED, name="F")
RAILS = [
    replace(HAND, name=f"R{i}", parent="ROOT", joint=replace(HAND.joint, name=f"R{i}", id=i))
    for i in range(3)
]
SOUND = {
    "a body": body(),
    "limits without end": body(arm=change(ARM, position=Range(-inf, 1.0))),
    "a sensor without limits": body(devices=(AccelerationSensor(name="a", link="ARM"),)),
    "mass on a link fixed to the moving one": body(
        arm=replace(ARM, **BARE), hand=replace(HAND, joint=FIXED)
    ),
    "scenery without mass": Body(name="floor", links=(replace(ROOT, joint=FIXED, **BARE),)),
    "limits of a joint that does not move": body(
        hand=change(HAND, type=JointType.FIXED, position=Range(1, -1))
    ),
    "lengths of many metres": Body(
        name="crane", links=(ROOT, *(change(rail, position=Range(0, 30)) for rail in RAILS))
    ),
}


@all_cases("sound", SOUND.values())
def test_a_sound_body_passes(sound, diagnostics):
    validate(sound, diagnostics)


WARNINGS = [
    ("duplicate-joint-id", body(hand=change(HAND, id=0)), "HAND", "'ARM'"),
    ("inverted-range", body(arm=change(ARM, position=Range(1, -1))), "ARM", "1 to -1"),
    ("inverted-range", body(arm=change(ARM, velocity=Range(1, -1))), "ARM", "velocity"),
    ("empty-range", body(arm=change(ARM, effort=Range(0, 0))), "ARM", "effort"),
    ("one-sided-range", body(arm=change(ARM, velocity=Range(0.5, 2))), "ARM", "0.5 to 2"),
    ("one-sided-range", body(arm=change(ARM, effort=Range(-inf, 0))), "ARM", "effort"),
    ("coarse-encoder", body(arm=change(ARM, encoder_pulse=50.0)), "ARM", "steps of 0.126 rad"),
    (
        "coarse-encoder",
        body(hand=change(HAND, encoder_pulse=64.0, gear_ratio=-5.0)),
        "HAND",
        "steps of 0.0196 m",
    ),
    ("coarse-encoder", body(arm=change(ARM, encoder_pulse=-512.0)), "ARM", "cannot measure"),
    ("moving-root", body(root=change(ROOT, type=JointType.REVOLUTE)), "ROOT", "revolute"),
    ("massless-link", body(hand=replace(HAND, mass=0.0)), "HAND", "'HAND'"),
    ("no-inertia", body(hand=replace(HAND, inertia=np.zeros((3, 3)))), "HAND", "'HAND'"),
    (
        "asymmetric-inertia",
        body(hand=replace(HAND, inertia=[[1, 0.1, 0], [0, 1, 0], [0, 0, 1]])),
        "HAND",
        "'HAND'",
    ),
    (
        "inertia-not-positive",
        body(hand=replace(HAND, inertia=np.diag([1, 1, -1]))),
        "HAND",
        "-1, 1, 1",
    ),
    ("inertia-triangle", body(hand=replace(HAND, inertia=np.diag([1, 1, 3]))), "HAND", "1, 1, 3"),
    ("empty-shape", body(arm=replace(ARM, visual=(Shape(Cylinder(1, 0)),))), "ARM", "cylinder"),
    (
        "unknown-link",
        body(self_collision_disabled=frozenset({link_pair("ARM", "LEG")})),
        "ROOT",
        "'LEG'",
    ),
    ("unknown-link", body(collision_disabled=frozenset({"LEG"})), "ROOT", "'LEG'"),
    (
        "duplicate-device-name",
        body(
            devices=tuple(Camera(name="eye", link=x, id=i) for i, x in enumerate(["ARM", "HAND"]))
        ),
        "HAND",
        "ARM, HAND",
    ),
]


@all_cases(("code", "bad", "place", "words"), WARNINGS)
def test_doubtful_things_give_one_located_warning(code, bad, place, words, diagnostics):
    validate(bad, diagnostics)
    found = diagnostics.take(code)
    assert found.severity is Severity.WARNING
    assert found.at is PLACES[place]
    assert words in found.message


def test_a_gap_in_joint_ids_is_a_note(diagnostics):
    validate(body(hand=change(HAND, id=3)), diagnostics)
    found = diagnostics.take("joint-id-gap")
    assert found.severity is Severity.NOTE
    assert found.at is PLACES["ROOT"]
    assert found.message.endswith("id 1, 2")


def test_links_without_mass_are_one_warning(diagnostics):
    bare = replace(HAND, mass=0.0, inertia=np.zeros((3, 3)))
    tips = [
        replace(bare, name=f"TIP{i}", joint=joint(f"T{i}", JointType.REVOLUTE)) for i in range(5)
    ]
    validate(Body(name="arm", links=(ROOT, ARM, *tips)), diagnostics)
    found = diagnostics.take("massless-link")
    assert found.severity is Severity.WARNING
    assert (
        found.message == "5 links move but have no mass: 'TIP0', 'TIP1', 'TIP2', 'TIP3' and 1 more"
    )
    assert found.at is PLACES["HAND"]


ERRORS = [
    ("negative-mass", body(hand=replace(HAND, mass=-1.0)), "HAND"),
    ("not-finite", body(hand=replace(HAND, mass=nan)), "HAND"),
    ("not-finite", body(hand=replace(HAND, center_of_mass=[0, inf, 0])), "HAND"),
    ("not-finite", body(hand=replace(HAND, inertia=np.full((3, 3), nan))), "HAND"),
    ("not-finite", body(hand=replace(HAND, X_PL=Pose(p=[nan, 0, 0]))), "HAND"),
    ("not-finite", body(hand=change(HAND, axis=[nan, 0, 1])), "HAND"),
    ("not-finite", body(hand=change(HAND, initial=nan)), "HAND"),
    ("not-finite", body(hand=change(HAND, encoder_pulse=nan)), "HAND"),
    ("not-finite", body(hand=change(HAND, equivalent_rotor_inertia=nan)), "HAND"),
    ("not-finite", body(hand=replace(HAND, visual=(Shape(Sphere(nan)),))), "HAND"),
    (
        "not-finite",
        body(hand=replace(HAND, collision=(Shape(Box([1, 1, 1]), np.full((4, 4), nan)),))),
        "HAND",
    ),
    ("not-finite", body(devices=(Camera(name="c", link="ARM", field_of_view=nan),)), "ARM"),
    (
        "not-finite",
        body(devices=(Camera(name="c", link="ARM", X_LS=Pose(p=[0, 0, inf])),)),
        "ARM",
    ),
    ("unknown-link", body(devices=(Camera(name="c", link="LEG"),)), "ROOT"),
    (
        "unknown-link",
        body(extra_joints=(ExtraJoint(type=ExtraJointType.BALL, links=("ARM", "LEG")),)),
        "ROOT",
    ),
]


@all_cases(("code", "bad", "place"), ERRORS)
def test_unusable_things_are_located_errors(code, bad, place, diagnostics):
    validate(bad, diagnostics)
    found = diagnostics.take(code)
    assert found.severity is Severity.ERROR
    assert found.at is PLACES[place]


def test_a_limit_that_is_no_number_is_an_error(diagnostics):
    validate(body(arm=change(ARM, position=Range(nan, 1.0))), diagnostics)
    assert "position limit of joint 'J0'" in diagnostics.take("not-finite").message


def test_a_start_outside_the_limits_is_worth_a_note(diagnostics):
    validate(body(arm=change(ARM, position=Range(0.5, 1.0))), diagnostics)
    found = diagnostics.take("initial-out-of-range")
    assert found.severity is Severity.NOTE
    assert found.at is PLACES["ARM"]


def test_every_problem_is_reported_in_one_run(diagnostics):
    bad = body(
        arm=replace(change(ARM, position=Range(1, -1)), mass=nan), hand=replace(HAND, mass=-1.0)
    )
    validate(bad, diagnostics)
    for code in ("inverted-range", "not-finite", "negative-mass"):
        diagnostics.take(code)


def revolute(*limits, initial=0.0):
    """Return a body whose revolute joints have these limits."""
    joints = [
        replace(
            change(ARM, name=f"J{i}", id=i, position=Range(*limit), initial=initial),
            name=f"L{i}",
            parent="ROOT",
        )
        for i, limit in enumerate(limits)
    ]
    return Body(name="arm", links=(ROOT, *joints))


DEGREES = {
    "an arm": [(-180, 180), (-90, 120), (0, 135)],
    "one joint": [(-90, 90)],
    "most joints": [(-45, 45), (-30, 90), (-1, 1)],
    "limbs of all kinds": [(-119.5, 119.5), (-38.5, 29.5), (-2, 88.5), (-104.5, 104.5)],
    "lower limits only": [(-90, inf), (-45, inf)],
}
RADIANS = {
    "an arm": [(-3.14, 3.14), (-1.57, 2.1), (-6.2832, 6.2832)],
    "wheels": [(-1000, 1000)] * 4,
    "wheels without end": [(-1e6, 1e6)] * 4,
    "turning far": [(-100, 100)] * 4,
    "no limits": [(-inf, inf)] * 4,
    "a winch on an arm": [(-3.14, 3.14), (-1.57, 2.1), (0, 300)],
    "several turns": [(-17.45329252, 17.45329252)] * 4,
    "a screw": [(0, 62.8319)],
}


@all_cases("limits", DEGREES.values())
def test_degrees_in_the_place_of_radians_show_in_most_joints_at_once(limits, diagnostics):
    validate(revolute(*limits), diagnostics)
    found = diagnostics.take("degrees-as-radians")
    assert found.severity is Severity.WARNING
    assert found.at is PLACES["ARM"]
    assert "'J0' " in found.message


@all_cases("limits", RADIANS.values())
def test_joints_that_turn_often_or_for_ever_are_in_radians(limits, diagnostics):
    validate(revolute(*limits), diagnostics)


def test_initial_positions_may_be_the_ones_in_degrees(diagnostics):
    validate(revolute((-inf, inf), (-inf, inf), initial=45.0), diagnostics)
    diagnostics.take("degrees-as-radians")


def test_a_joint_id_beyond_all_others_is_told_in_short(diagnostics):
    validate(body(hand=change(HAND, id=99_999)), diagnostics)
    assert diagnostics.take("joint-id-gap").message.endswith(
        "id 1, 2, 3, 4, 5, 6, 7, 8 and 99990 more"
    )


def test_a_joint_id_that_no_table_could_hold_is_an_error(diagnostics):
    validate(body(hand=change(HAND, id=10**12)), diagnostics)
    assert diagnostics.take("joint-id-too-large").severity.value == "error"
    diagnostics.take("joint-id-gap")
