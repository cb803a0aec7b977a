"""Conventions in which the programs differ that write robots as COLLADA; files without a scene."""

from math import inf, radians

import numpy as np
import pytest
from collada_tools import ARM, BARE, arm, changed, found
from each_case import all_cases
from paths import ROOT

from hrp_model import ModelError, load_body, load_body_text
from hrp_model.body import JointType, Range
from hrp_model.readers.file_kind import FileKind, file_kind
from hrp_model.rigid import rpy_matrix

TOOL = "OpenHRP3 Collada Writer"
DEGREE = radians(1.0)


@all_cases(
    ("tool", "scale", "effort", "acceleration"),
    [
        (TOOL, 1.0, 12.0, inf),
        ("URDF Collada Writer", 1.0, 12.0, inf),
        ("OpenRAVE Collada Writer", 1.0, inf, 12.0),
        ("OpenRAVE Collada Writer v0.3.5", DEGREE, inf, 12.0 * DEGREE),
        ("another program", DEGREE, inf, 12.0 * DEGREE),
    ],
)
def test_programs_write_rates_and_efforts_differently(tool, scale, effort, acceleration):
    body = arm((TOOL, tool), ("<nominal_torque>40<", "<nominal_torque>0<"))
    joint = body.link("TURN_S").joint
    assert joint.max_velocity == pytest.approx(3.5 * scale)
    assert joint.initial == pytest.approx(0.5 * scale)
    assert (joint.max_effort, joint.max_acceleration) == pytest.approx((effort, acceleration))


def test_mass_frames_of_openrave_are_relative_to_the_node_of_the_physics_model():
    moved = '<node id="visual1" sid="visual1" name="arm"><translate>0 0 9</translate>'
    node = '<node id="visual1" sid="visual1" name="arm">'
    body = arm((TOOL, "OpenRAVE Collada Writer v0.3.5"), (node, moved))
    # The root is 50 cm above that node, and turned by a quarter about Z.
    np.testing.assert_allclose(body.root.center_of_mass, (0.0, 0.0, 0.07 - 0.5), atol=1e-15)
    np.testing.assert_allclose(body.root.X_PL.p, (0.0, 0.0, 0.59))
    turned = np.diag([0.002, 0.001, 0.0025])
    np.testing.assert_allclose(body.root.inertia, turned, atol=1e-18)


@pytest.mark.parametrize(
    ("up_axis", "up"), [("X_UP", (1, 0, 0)), ("Y_UP", (0, 1, 0)), ("Z_UP", (0, 0, 1))]
)
def test_the_robot_stands_upright_whatever_the_up_axis(up_axis, up):
    root = arm(("Z_UP", up_axis)).root
    R_FR = rpy_matrix(0, 0, radians(90.0))  # of the root in the file
    np.testing.assert_allclose(root.X_PL.R @ R_FR.T @ up, (0, 0, 1), atol=1e-15)
    assert np.linalg.det(root.X_PL.R) == pytest.approx(1.0)


def test_only_openhrp_writes_the_ids_of_joints():
    changes = (("jointsid0", "jointsid7"), ("jointsid1/", "jointsid5/"))
    changes += (('"jointsid1"', '"jointsid5"'), ('jointsid1"', 'jointsid5"'))
    by_tool = {
        tool: [x.joint.id for x in arm(*changes, (TOOL, tool)).links if x.joint.moves]
        for tool in (TOOL, "OpenRAVE Collada Writer v0.3.5")
    }
    assert list(by_tool.values()) == [[7, 5, None], [0, 1, None]]


def test_a_joint_that_is_not_active_has_no_motor():
    tool = (TOOL, "OpenRAVE Collada Writer v0.3.5")
    body = arm(tool, ("<bool>true</bool></active>", "<bool>false</bool></active>"))
    assert [x.joint.id for x in body.links if x.joint.moves] == [None, 0, None]


def test_a_circular_joint_has_no_limits():
    circular = '<newparam sid="circular"><bool>true</bool></newparam><newparam sid="upper">'
    joint = arm(('<newparam sid="upper">', circular)).link("TURN_S").joint
    assert joint.is_continuous


def test_a_locked_joint_is_fixed():
    body = arm(("<locked><bool>false", "<locked><bool>true"))
    assert body.link("TURN_S").joint.type is JointType.FIXED


def test_a_root_is_free_unless_something_holds_it():
    held = '<instance_rigid_constraint constraint="rigid_constraint0"/>'
    assert arm((held, "")).root.joint.type is JointType.FREE
    still = "<dynamic>false</dynamic><mass>5</mass>"
    assert arm((held, ""), ("<mass>5</mass>", still)).root.joint.type is JointType.FIXED


def test_a_kinematics_model_without_a_scene_is_a_robot():
    body = load_body_text(BARE, kind="dae")
    assert [(x.name, x.joint.name) for x in body.links] == [("BASE", "BASE"), ("TIP", "J")]
    assert body.name == "k"
    assert body.link("TIP").joint.position == Range(-inf, inf)


def test_the_articulated_systems_lead_to_the_model_without_a_scene():
    start = ARM.index("<scene>")
    end = ARM.index("</scene>") + len("</scene>")
    body = load_body_text(ARM[:start] + ARM[end:])
    assert body.link("TURN_S").joint.velocity == Range(-3.5, 3.5)
    assert len(body.devices) == 7


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "shift_jis"])
def test_a_file_has_the_encoding_that_it_declares(tmp_path, encoding, diagnostics):
    text = changed(ARM, ('encoding="utf-8"', f'encoding="{encoding}"'), ('name="ARM"', 'name="腕"'))
    (tmp_path / "arm.dae").write_bytes(text.encode(encoding))
    body = load_body(tmp_path / "arm.dae", diagnostics)
    assert body.name == "腕"
    assert len(body.link("TURN_S").visual) == 1


def test_a_file_without_kinematics_is_one_of_shapes(tmp_path):
    shapes = tmp_path / "shapes.dae"
    shapes.write_text(BARE.replace("kinematics_model", "other"), encoding="utf-8")
    assert file_kind(shapes) is FileKind.OTHER
    with pytest.raises(ModelError, match="a file of shapes, not a robot"):
        load_body(shapes)
    assert file_kind(ROOT / "test" / "data" / "collada" / "arm.dae") is FileKind.MODEL


def test_the_first_of_several_robots_is_read():
    instance = (
        '<instance_articulated_system sid="robot1_motion_inst" url="#robot1_motion" name="ARM">'
    )
    again = instance.replace("ARM", "SECOND").replace(">", "/>")
    text = changed(ARM, ("</kinematics_scene>", f"{again}</kinematics_scene>"))
    assert [x.code for x in found(text)] == ["second-humanoid"]
    assert load_body_text(text).name == "ARM"
