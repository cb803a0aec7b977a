"""Links and joints: both spellings, units, defaults, and what is wrong with them."""

from math import inf, pi, radians

import numpy as np
import pytest
from body_tools import HEADER, read_link, read_text

from hrp_model.body import JointType

RADIAN_HEADER = "format: ChoreonoidBody\nformatVersion: 1.0\nangleUnit: radian\nname: T\n"


def joint(keys, diagnostics, header=HEADER):
    """Return the joint of a massive child link with these keys (flow YAML)."""
    link = f"{{name: A, parent: R, mass: 1, inertia: [1,0,0,1,0,1], {keys}}}"
    return read_text(f"links: [{{name: R}}, {link}]", diagnostics, header=header).links[1].joint


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("revolute", JointType.REVOLUTE),
        ("prismatic", JointType.PRISMATIC),
        ("slide", JointType.PRISMATIC),
        ("free", JointType.FREE),
        ("fixed", JointType.FIXED),
        ("pseudo_continuous_track", JointType.TRACK),
        ("pseudoContinuousTrack", JointType.TRACK),
        ("pseudoContinousTrack", JointType.TRACK),
    ],
)
@pytest.mark.parametrize("key", ["joint_type", "jointType"])
def test_joint_types(key, word, kind, diagnostics):
    assert joint(f"{key}: {word}", diagnostics).type is kind


def test_friction_is_in_units_of_the_joint_whatever_angles_are_in(diagnostics):
    keys = "joint_type: revolute, jointViscosity: 2.2, jointFriction: 4.32, jointStiffness: 0"
    keys += ", jointStaticFriction: 4.92"
    read = joint(keys, diagnostics)
    assert (read.damping, read.friction) == (2.2, 4.32)
    assert joint("joint_type: revolute", diagnostics).damping == 0.0


def test_a_joint_without_type_is_fixed(diagnostics):
    assert joint("joint_id: 3", diagnostics).type is JointType.FIXED


def test_surface_velocity_makes_a_track(diagnostics):
    keys = "jointType: fixed, actuationMode: jointSurfaceVelocity"
    assert joint(keys, diagnostics).type is JointType.TRACK


def test_an_unknown_joint_type_is_fixed_and_says_so_aloud(diagnostics):
    assert joint("joint_type: revolut", diagnostics).type is JointType.FIXED
    found = diagnostics.take("unknown-joint-type")
    assert found.severity.value == "warning"
    assert "'revolut' is unknown" in found.message
    assert "DOES NOT MOVE. Did you mean 'revolute'?" in found.message
    assert found.at.source.text[found.at.start : found.at.end] == "revolut"


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        ("X", (1, 0, 0)),
        ("y", (0, 1, 0)),
        ("-Z", (0, 0, -1)),
        ("-x", (-1, 0, 0)),
        ("[0, 0.6, 0.8]", (0, 0.6, 0.8)),
    ],
)
def test_joint_axes(axis, expected, diagnostics):
    read = joint(f"joint_type: revolute, joint_axis: {axis}", diagnostics)
    np.testing.assert_allclose(read.axis, expected)


def test_an_axis_is_scaled_to_length_one(diagnostics):
    read = joint("joint_type: revolute, jointAxis: [0, 3e200, 4e200]", diagnostics)
    np.testing.assert_allclose(read.axis, (0, 0.6, 0.8))
    diagnostics.take("axis-not-unit")


@pytest.mark.parametrize(
    ("axis", "code"),
    [("W", "unknown-axis"), ("[1, 0]", "wrong-count")],
)
def test_a_useless_axis_is_an_error(axis, code, diagnostics):
    joint(f"joint_type: revolute, joint_axis: {axis}", diagnostics)
    assert diagnostics.take(code).severity.value == "error"


def test_an_axis_of_no_direction_is_the_default_one(diagnostics):
    read = joint("joint_type: revolute, joint_axis: [0, 0, 0]", diagnostics)
    assert read.axis.tolist() == [0, 0, 1]
    assert diagnostics.take("zero-axis").severity.value == "warning"


def test_an_unknown_actuation_mode_is_reported(diagnostics):
    joint("joint_type: revolute, actuationMode: jointTorqe", diagnostics)
    assert "Did you mean 'jointTorque'?" in diagnostics.take("unknown-word").message


@pytest.mark.parametrize(
    ("written", "lower", "upper"),
    [
        ("[-90, 45]", -pi / 2, pi / 4),
        ("90", -pi / 2, pi / 2),
        ("unlimited", -inf, inf),
        ("[unlimited, 45]", -inf, pi / 4),
        ("[-90, unlimited]", -pi / 2, inf),
    ],
)
@pytest.mark.parametrize("key", ["joint_range", "jointRange"])
def test_ranges_of_a_revolute_joint_are_degrees(key, written, lower, upper, diagnostics):
    read = joint(f"joint_type: revolute, {key}: {written}", diagnostics)
    assert read.position == pytest.approx((lower, upper))


@pytest.mark.parametrize("kind", ["prismatic", "fixed", "free", "pseudo_continuous_track"])
def test_only_revolute_joints_have_angles(kind, diagnostics):
    keys = "joint_range: [-1, 2], max_joint_velocity: 3, joint_displacement: 0.5"
    read = joint(f"joint_type: {kind}, {keys}", diagnostics)
    assert (read.position, read.velocity, read.initial) == ((-1, 2), (-3, 3), 0.5)


def test_in_radian_mode_numbers_are_taken_as_they_are(diagnostics):
    keys = "jointType: revolute, jointRange: 1, jointAngle: 0.5, rotation: [0, 0, 1, 2]"
    link = f"{{name: A, parent: R, mass: 1, inertia: [1,0,0,1,0,1], {keys}}}"
    text = f"links: [{{name: R}}, {link}]"
    read = read_text(text, diagnostics, header=RADIAN_HEADER).links[1]
    assert (read.joint.position, read.joint.initial) == ((-1, 1), 0.5)
    np.testing.assert_allclose(read.X_PL.R[:2, 0], (np.cos(2), np.sin(2)))


def test_velocities_efforts_and_rotor(diagnostics):
    keys = (
        "joint_type: revolute, max_joint_velocity: 180, max_joint_effort: 5, "
        "gear_ratio: 10, rotor_inertia: 0.1, joint_id: 4"
    )
    read = joint(keys, diagnostics)
    assert read.velocity == pytest.approx((-pi, pi))
    assert read.effort == (-5.0, 5.0)
    assert read.equivalent_rotor_inertia == pytest.approx(10.0)
    assert (read.id, read.gear_ratio, read.rotor_inertia) == (4, 10.0, 0.1)


@pytest.mark.parametrize("key", ["encoder_pulse", "encoderPulse"])
def test_encoder_pulses(key, diagnostics):
    read = joint(f"joint_type: revolute, gear_ratio: 50, {key}: 512", diagnostics)
    assert read.encoder_pulse == 512.0
    assert read.encoder_resolution == pytest.approx(2 * pi / 25600)
    assert joint("joint_type: revolute", diagnostics).encoder_pulse is None


def test_a_velocity_range_wins_over_a_maximum(diagnostics):
    read = joint(
        "joint_type: prismatic, jointVelocityRange: [-1, 2], maxJointVelocity: 9", diagnostics
    )
    assert read.velocity == (-1.0, 2.0)
    diagnostics.take("two-velocity-limits")


def test_a_joint_axis_inertia_replaces_the_product(diagnostics):
    read = joint("joint_type: prismatic, joint_axis_inertia: 7, rotor_inertia: 1", diagnostics)
    assert read.equivalent_rotor_inertia == 7.0


def test_a_displacement_wins_over_an_angle(diagnostics):
    read = joint("joint_type: revolute, joint_angle: 10, joint_displacement: 20", diagnostics)
    assert read.initial == pytest.approx(radians(20))
    assert diagnostics.take("displacement-unit").severity.value == "note"


@pytest.mark.parametrize(
    ("written", "limit"), [("7", 7.0), ("unlimited", inf), ("[-7, 7]", 7.0), ("-7", 7.0)]
)
def test_efforts_may_be_unlimited(written, limit, diagnostics):
    read = joint(f"joint_type: revolute, max_joint_effort: {written}", diagnostics)
    assert read.effort == (-limit, limit)


def test_an_absurd_joint_id_is_an_error(diagnostics):
    assert joint("joint_type: revolute, joint_id: 1e12", diagnostics).id is None
    diagnostics.take("bad-joint-id")


def test_translations_add_up_and_rotations_multiply(diagnostics):
    link = read_link(
        """
        translation: [[1, 0, 0], [[0, 2, 0], [0, 0, 3]]]
        rotation: [[1, 0, 0, 90], [0, 0, 2, 90]]
        """.replace("        ", ""),
        diagnostics,
    )
    np.testing.assert_array_equal(link.X_PL.p, (1, 2, 3))
    # Left to right: X goes to Y by the second, which the first turns to Z.
    np.testing.assert_allclose(link.X_PL.R @ (1, 0, 0), (0, 0, 1), atol=1e-15)


def test_an_empty_rotation_is_none(diagnostics):
    np.testing.assert_array_equal(read_link("rotation: []", diagnostics).X_PL.R, np.eye(3))


def test_a_rotation_needs_an_axis(diagnostics):
    read_link("rotation: [0, 0, 0, 90]", diagnostics)
    diagnostics.take("zero-axis")


def test_a_link_without_any_mass_weighs_a_kilogram(diagnostics):
    link = read_link("joint_type: fixed", diagnostics)
    assert link.mass == 1.0
    np.testing.assert_array_equal(link.inertia, np.eye(3))


def test_default_masses_are_reported_where_they_move(diagnostics):
    text = "links: [{name: R, joint_type: free}, {name: A, parent: R, mass: 2}]"
    assert read_text(text, diagnostics).total_mass == 3.0
    assert "'R'" in diagnostics.take("default-mass").message
    assert "'A'" in diagnostics.take("default-inertia").message


def test_a_mass_of_zero_wants_no_inertia(diagnostics):
    links = "{name: R, mass: 1}, {name: A, parent: R, joint_type: revolute, mass: 0}"
    body = read_text(f"links: [{links}]", diagnostics)
    assert not body.links[1].inertia.any()


def test_an_inertia_may_be_its_upper_triangle(diagnostics):
    link = read_link("mass: 1\ninertia: [1, 2, 3, 4, 5, 6]", diagnostics)
    assert link.inertia.tolist() == [[1, 2, 3], [2, 4, 5], [3, 5, 6]]


def test_an_asymmetric_inertia_is_made_symmetric(diagnostics):
    link = read_link("mass: 1\ninertia: [1, 2, 0, 0, 1, 0, 0, 0, 1]", diagnostics)
    assert link.inertia[0].tolist() == [1.0, 1.0, 0.0]
    diagnostics.take("asymmetric-inertia")


def test_rigid_bodies_are_merged_by_the_parallel_axis_theorem(diagnostics):
    link = read_link(
        """
        elements:
          - { type: RigidBody, mass: 1, translation: [1, 0, 0] }
          - type: Transform
            rotation: [0, 0, 1, 180]
            elements: { RigidBody: { mass: 1, centerOfMass: [1, 0, 0] } }
        """.replace("        ", ""),
        diagnostics,
    )
    assert link.mass == 2.0
    np.testing.assert_allclose(link.center_of_mass, 0.0, atol=1e-15)
    np.testing.assert_allclose(link.inertia, np.diag([0, 2, 2]), atol=1e-15)


def test_other_keys_become_information(diagnostics):
    link = read_link("AMOR: true\ndensity: 2.5\ncomment: [on, off]\nmaterial: Ground", diagnostics)
    assert link.info == {"AMOR": True, "density": 2.5, "comment": ["on", "off"]}
    assert link.contact_material == "Ground"


@pytest.mark.parametrize(
    ("slip", "meant"),
    [("joitAxis", "jointAxis"), ("centerofMass", "centerOfMass"), ("joinType", "jointType")],
)
def test_a_slip_of_the_pen_is_reported(slip, meant, diagnostics):
    read_link(f"{slip}: X", diagnostics)
    assert f"Did you mean '{meant}'?" in diagnostics.take("unknown-key").message


def test_an_import_completes_the_link(diagnostics):
    text = "T: &T {mass: 5, inertia: [1,0,0,1,0,1]}\nlinks: [{name: A, import: *T, mass: 2}]"
    link = read_text(text, diagnostics).root
    assert (link.mass, link.inertia[0, 0]) == (2.0, 1.0)
    diagnostics.take("imported")


def test_of_several_imports_the_last_wins(diagnostics):
    text = (
        "S: &S {mass: 5, density: 1}\nT: &T {mass: 6}\n"
        "links: [{name: A, import: [*S, *T], inertia: [1,0,0,1,0,1]}]"
    )
    link = read_text(text, diagnostics).root
    assert (link.mass, link.info["density"]) == (6.0, 1)
    diagnostics.take("imported")
    diagnostics.take("imported")


def test_a_massless_link_has_no_inertia(diagnostics):
    link = read_link("mass: 0\ninertia: [1, 0, 0, 1, 0, 1]\ncenterOfMass: [1, 2, 3]", diagnostics)
    assert not link.inertia.any()
    assert not link.center_of_mass.any()


@pytest.mark.parametrize("key", ["mass", "joint_id", "jointRange", "translation", "elements"])
def test_a_key_without_value_is_as_if_it_were_not_there(key, diagnostics):
    link = read_link(f"{key}:", diagnostics)
    plain = read_link("x: 1", diagnostics)
    assert (link.mass, link.joint.id, link.joint.position) == (
        plain.mass, plain.joint.id, plain.joint.position,
    )  # fmt: skip
    assert not diagnostics.has_errors
    diagnostics.found.clear()


def test_links_know_their_place(diagnostics):
    assert str(read_link("mass: 1\ninertia: [1,0,0,1,0,1]", diagnostics).at) == "m.body:5:11"
