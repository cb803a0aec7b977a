"""Links and joints: both spellings, units, defaults, and what is wrong with them."""

from math import inf, pi, radians

import numpy as np
import pytest
from body_tools import HEADER, read_link, read_text
from each_case import all_cases

from hrp_model.body import JointType

RADIAN_HEADER = "format: ChoreonoidBody\nformatVersion: 1.0\nangleUnit: radian\nname: T\n"


def joint(keys, diagnostics, header=HEADER):
    """Return the joint of a massive child link with these keys (flow YAML)."""
    link = f"{{name: A, parent: R, mass: 1, inertia: [1,0,0,1,0,1], {keys}}}"
    return read_text(f"links: [{{name: R}}, {link}]", diagnostics, header=header).links[1].joint


def test_friction_is_in_units_of_the_joint_whatever_angles_are_in(diagnostics):
    keys = "joint_type: revolute, jointViscosity: 2.2, jointFriction: 4.32, jointStiffness: 0"
    keys += ", jointStaticFriction: 4.92"
    read = joint(keys, diagnostics)
    assert (read.damping, read.friction) == (2.2, 4.32)
    assert joint("joint_type: revolute", diagnostics).damping == 0.0


def test_surface_velocity_makes_a_track(diagnostics):
    keys = "jointType: fixed, actuationMode: jointSurfaceVelocity"
    assert joint(keys, diagnostics).type is JointType.TRACK


def test_an_axis_is_scaled_to_length_one(diagnostics):
    read = joint("joint_type: revolute, jointAxis: [0, 3e200, 4e200]", diagnostics)
    np.testing.assert_allclose(read.axis, (0, 0.6, 0.8))
    diagnostics.take("axis-not-unit")


@all_cases(
    ("words", "kind"),
    [
        ("revolute", JointType.REVOLUTE),
        ("prismatic slide", JointType.PRISMATIC),
        ("free", JointType.FREE),
        ("fixed", JointType.FIXED),
        (
            "pseudo_continuous_track pseudoContinuousTrack pseudoContinousTrack",
            JointType.TRACK,
        ),
    ],
)
def test_joint_types(words, kind, diagnostics):
    for word in words.split():
        assert joint(f"joint_type: {word}", diagnostics).type is kind


@all_cases(
    ("written", "lower", "upper"),
    [
        ("[-90, 45]", -pi / 2, pi / 4),
        ("90", -pi / 2, pi / 2),
        ("unlimited", -inf, inf),
        ("[unlimited, 45]", -inf, pi / 4),
        ("[-90, unlimited]", -pi / 2, inf),
    ],
)
def test_ranges_of_a_revolute_joint_are_degrees(written, lower, upper, diagnostics):
    read = joint(f"joint_type: revolute, joint_range: {written}", diagnostics)
    assert read.position == pytest.approx((lower, upper))
    read = joint(f"joint_type: prismatic, max_joint_effort: {written}", diagnostics)
    assert np.isinf(read.effort).tolist() == np.isinf((lower, upper)).tolist()


@pytest.mark.parametrize("kind", ["prismatic", "fixed", "free", "pseudo_continuous_track"])
def test_only_revolute_joints_have_angles(kind, diagnostics):
    keys = "joint_range: [-1, 2], max_joint_velocity: 3, joint_displacement: 0.5"
    read = joint(f"joint_type: {kind}, {keys}", diagnostics)
    assert (read.position, read.velocity, read.initial) == ((-1, 2), (-3, 3), 0.5)


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


def test_an_inertia_may_be_its_upper_triangle(diagnostics):
    link = read_link("mass: 1\ninertia: [1, 2, 3, 4, 5, 6]", diagnostics)
    assert link.inertia.tolist() == [[1, 2, 3], [2, 4, 5], [3, 5, 6]]


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


def test_links_know_their_place(diagnostics):
    assert str(read_link("mass: 1\ninertia: [1,0,0,1,0,1]", diagnostics).at) == "m.body:5:11"
