"""Values of another kind than their key takes: the default and a warning, as in Choreonoid."""

import numpy as np
import pytest
from body_tools import read_device, read_link
from each_case import all_cases


@all_cases(
    ("key", "attribute", "default", "shown"),
    [
        ("center_of_mass: 0 0 -0.15", "center_of_mass", [0, 0, 0], "the default, 0 0 0, is used"),
        ("centerOfMass: {x: 1}", "center_of_mass", [0, 0, 0], "the default, 0 0 0, is used"),
        ("mass: [3]", "mass", 1.0, "the default, 1, is used"),
        ("mass: heavy", "mass", 1.0, "the default, 1, is used"),
        ("inertia: 1", "inertia", np.eye(3), "the default, 1 0 0 0 1 0 0 0 1, is used"),
        ("material: [steel]", "contact_material", "", "it is ignored"),
        ("joint_id: [1]", "joint.id", None, "it is ignored"),
        ("joint_id: first", "joint.id", None, "it is ignored"),
        ("gear_ratio: [100]", "joint.gear_ratio", 1.0, "the default, 1, is used"),
        ("jointViscosity: [1]", "joint.damping", 0.0, "the default, 0, is used"),
    ],
)
def test_a_link_keeps_its_default(key, attribute, default, shown, diagnostics):
    value = read_link(key, diagnostics)
    for name in attribute.split("."):
        value = getattr(value, name)
    np.testing.assert_array_equal(value, default)
    found = diagnostics.take("wrong-type")
    assert found.severity.value == "warning"
    assert found.message.endswith(f"; {shown}")
    assert found.at.source.text[found.at.start : found.at.end] in key


@all_cases(
    ("geometry", "attribute", "default"),
    [
        ("type: Sphere, radius: [0.5]", "radius", 1.0),
        ("type: Cylinder, height: {m: 2}", "height", 1.0),
        ("type: Cylinder, top: [false]", "top", True),
        ("type: Box, size: 0.5", "size", [1, 1, 1]),
        ("type: Cone, division_number: [12]", "divisions", None),
    ],
)
def test_a_shape_keeps_its_default(geometry, attribute, default, diagnostics):
    link = read_link(f"elements: {{ Shape: {{ geometry: {{ {geometry} }} }} }}", diagnostics)
    value = getattr(link.visual[0].geometry, attribute)
    np.testing.assert_array_equal(value, default)
    assert diagnostics.take("wrong-type").severity.value == "warning"


@all_cases(
    ("device", "attribute", "default", "shown"),
    [
        ("type: Camera, format: COLOR, width: [64]", "width", 640, "640"),
        ("type: RangeSensor, yaw_range: [90]", "yaw_range", 2 * np.pi / 3, "120"),  # in degrees
        ("type: SpotLight, beam_width: wide", "beam_width", np.pi / 2, "90"),
        ("type: SpotLight, color: 1", "color", (1, 1, 1), "1 1 1"),
        ("type: SpotLight, on: [true]", "on", True, "true"),
    ],
)
def test_a_device_keeps_its_default(device, attribute, default, shown, diagnostics):
    value = getattr(read_device(device, diagnostics), attribute)
    assert value == pytest.approx(default, rel=1e-15)
    assert f"the default, {shown}, is used" in diagnostics.take("wrong-type").message


@all_cases(
    ("link", "code"),
    [
        ("parent: [A]", "wrong-type"),
        ("joint_type: [revolute]", "wrong-type"),
        ("jointType: [revolute]", "wrong-type"),
        ("joint_angle: [1]", "wrong-type"),
        ("jointDisplacement: none", "wrong-type"),
        ("joint_range: {lower: 1}", "wrong-type"),
        ("max_joint_velocity: fast", "wrong-type"),
        ("translation: 1", "wrong-type"),
        ("rotation: X", "wrong-type"),
        ("elements: Box", "wrong-type"),
        ("center_of_mass: [0, 0, low]", "wrong-type"),
        ("center_of_mass: [0, 0]", "wrong-count"),
        ("inertia: [1, 1, 1]", "wrong-count"),
        ("mass: nan", "wrong-type"),
        ("mass: .nan", "wrong-type"),
        ("mass: -.inf", "wrong-type"),
        ("mass: -inf", "wrong-type"),
    ],
)
def test_what_ends_the_reading_of_choreonoid_stays_an_error(link, code, diagnostics):
    read_link(link, diagnostics)
    assert diagnostics.take(code).severity.value == "error"


def test_a_file_of_shapes_and_a_library_are_read_by_the_same_rule(diagnostics, tmp_path):
    header = "format: ChoreonoidScene\nformat_version: 2.0\n"
    ball = "{ type: Shape, geometry: { type: Sphere, radius: [0.5] } }"
    (tmp_path / "ball.scen").write_text(f"{header}scene: [ {ball} ]\n")
    (tmp_path / "ball.yaml").write_text(f"[ {ball} ]\n")
    for name in ("ball.scen", "ball.yaml"):
        link = read_link(f"elements: {{ Resource: {{ uri: {name} }} }}", diagnostics, tmp_path)
        assert link.visual[0].geometry.radius == 1.0
        assert diagnostics.take("wrong-type").severity.value == "warning"
