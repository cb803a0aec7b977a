"""URDF to Body: links, joints, the root, and joints that follow others."""

from math import inf

import numpy as np
import pytest
from each_case import all_cases
from urdf_reader_tools import HINGE, arm, codes, equal, joint, read, refused, robot

from hrp_model import Diagnostics, JointType, load_body, load_body_text
from hrp_model.body import UNLIMITED, Mimic
from hrp_model.diagnostics import Severity
from hrp_model.frames import body_frames
from hrp_model.kinematics.loops import mimic_joints
from hrp_model.kinematics.loops.mimic import ClosedLoops
from hrp_model.rigid import axis_angle_matrix, rpy_matrix

MASS = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
)


def test_a_joint_is_read_with_all_it_says():
    body, found = read(
        arm(
            '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0 0 1"/>'
            '<limit lower="-1" upper="2" velocity="3" effort="4"/>'
            '<dynamics damping="0.5" friction="0.25"/>'
        )
    )
    link = body.link("arm")
    assert link.joint.type is JointType.REVOLUTE
    assert link.joint.name == "elbow"
    assert link.joint.position == (-1.0, 2.0)
    assert link.joint.velocity == (-3.0, 3.0)
    assert link.joint.effort == (-4.0, 4.0)
    assert (link.joint.damping, link.joint.friction) == (0.5, 0.25)
    equal(link.joint.axis, [0, 0, 1])
    equal(link.X_PL.p, [1, 2, 3])
    equal(link.X_PL.R, rpy_matrix(0.1, 0.2, 0.3))
    assert set(codes(found)) == {"massless-link"}


def test_a_joint_without_an_axis_turns_about_x():
    body, _ = read(arm())
    equal(body.link("arm").joint.axis, [1, 0, 0])


def test_a_continuous_joint_has_no_limits_of_position():
    body, _ = read(arm('<limit lower="-1" upper="2" velocity="3" effort="4"/>', "continuous"))
    assert body.link("arm").joint.type is JointType.REVOLUTE
    assert body.link("arm").joint.position == (-inf, inf)


@pytest.mark.parametrize("limit", ["1e6", "1000000.0", "inf", "2.5e7"])
def test_what_no_joint_comes_near_is_no_limit(limit):
    body, _ = read(arm(f'<limit lower="-{limit}" upper="{limit}" velocity="1" effort="1"/>'))
    assert body.link("arm").joint.position == (-inf, inf)


def test_a_rotation_may_be_a_quaternion():
    text = arm(f'<origin quat_xyzw="0 0 0.6 0.8"/>{HINGE}')
    body, found = read(text)
    assert [d.code for d in found if d.code == "newer-version"] == ["newer-version"]
    text = text.replace("<robot", '<robot version="1.1"')
    assert "newer-version" not in [d.code for d in read(text)[1]]
    found = refused(text.replace("<origin", '<origin rpy="0 0 0"'))
    assert found[0].message == "an <origin> has rpy or quat_xyzw, not both"
    equal(body.link("arm").X_PL.R, axis_angle_matrix((0, 0, 1), 2.0 * np.arctan2(0.6, 0.8)))


def test_parents_come_first_else_links_keep_their_order():
    text = robot(
        *(f'<link name="{name}"/>' for name in ("d", "b", "root", "c", "a")),
        joint("1", "root", "a"), joint("2", "root", "b"),
        joint("3", "a", "d"), joint("4", "b", "c"),
    )  # fmt: skip
    body, _ = read(text)
    assert [link.name for link in body.links] == ["root", "b", "c", "a", "d"]


def test_an_inertia_is_turned_into_the_axes_of_its_link():
    inertial = (
        '<inertial><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><mass value="4"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="2.5"/></inertial>'
    )
    body, _ = read(arm(link=inertial))
    link = body.link("arm")
    assert link.mass == 4.0
    equal(link.center_of_mass, [1, 2, 3])
    equal(link.inertia, np.diag([2, 1, 2.5]))


@all_cases(
    ("parts", "root", "kind"),
    [
        (['<link name="base"/>'], "base", JointType.FREE),
        (['<link name="world"/>'], "world", JointType.FIXED),
        (
            ['<link name="world"/><link name="b"/>', joint("j", "world", "b")],
            "b",
            JointType.FIXED,
        ),
        (['<link name="b"/>', joint("j", "world", "b")], "b", JointType.FIXED),
        (
            ['<link name="world"/><link name="b"/>', joint("j", "world", "b", "floating")],
            "b",
            JointType.FREE,
        ),
        (
            ['<link name="world"/><link name="b"/>', joint("j", "world", "b", "revolute", HINGE)],
            "world",
            JointType.FIXED,
        ),
        (
            [
                '<link name="world"/><link name="b"/><link name="c"/>',
                joint("j", "world", "b"),
                joint("k", "world", "c"),
            ],
            "world",
            JointType.FIXED,
        ),
    ],
)
def test_a_root_stands_in_the_world_or_is_free(parts, root, kind):
    body, _ = read(robot(*parts))
    assert body.root.name == root
    assert body.root.joint.type is kind


def test_the_place_in_the_world_is_that_of_the_joint():
    at = '<origin xyz="1 2 3" rpy="0 0 1"/>'
    text = robot('<link name="world"/><link name="b"/>', joint("j", "world", "b", "fixed", at))
    body, _ = read(text)
    assert [link.name for link in body.links] == ["b"]
    equal(body.root.X_PL.p, [1, 2, 3])
    equal(body.root.X_PL.R, rpy_matrix(0, 0, 1))


def followers(*mimics):
    """Return a robot of joints j0, j1, ..., each with what is said of the joint it follows."""
    links = [f'<link name="l{i}">{MASS}</link>' for i in range(len(mimics) + 1)]
    joints = [
        joint(f"j{i}", "l0", f"l{i + 1}", "revolute", HINGE + mimic)
        for i, mimic in enumerate(mimics)
    ]
    return robot(*links, *joints)


def test_a_joint_follows_another_and_has_no_motor():
    mimic = '<mimic joint="j0" multiplier="-2" offset="0.5"/>'
    body, found = read(followers("", mimic, '<mimic joint="j0"/>'))
    assert mimic_joints(body) == {"l2": Mimic("l1", -2.0, 0.5), "l3": Mimic("l1", 1.0, 0.0)}
    assert [link.joint.id for link in body.links] == [None, 0, None, None]
    assert found == []


def test_a_joint_that_follows_a_follower_follows_the_first():
    body, _ = read(
        followers(
            '<mimic joint="j1" multiplier="2" offset="3"/>',
            '<mimic joint="j2" multiplier="5" offset="7"/>',
            "",
        )
    )
    q2 = 0.3
    q1 = 5 * q2 + 7
    mimic = body.link("l1").joint.mimic
    assert mimic.link == "l3"
    assert mimic.position(q2) == pytest.approx(2 * q1 + 3, rel=1e-15)


def test_joints_that_follow_one_another_move_by_themselves():
    body, found = read(followers('<mimic joint="j1"/>', '<mimic joint="j0"/>'))
    assert codes(found) == ["mimic-cycle", "mimic-cycle"]
    assert mimic_joints(body) == {}


def test_motors_are_where_controllers_command():
    control = (
        '<ros2_control name="c" type="system"><joint name="j2"><command_interface name="effort"/>'
        '<state_interface name="position"><param name="initial_value">0.75</param>'
        '</state_interface></joint><joint name="j1"><state_interface name="position"/></joint>'
        '<joint name="j0"><command_interface name="position"/></joint></ros2_control>'
    )
    body, _ = read(followers("", "", "").replace("</robot>", f"{control}</robot>"))
    assert [link.joint.id for link in body.links[1:]] == [1, None, 0]
    assert body.link("l3").joint.initial == 0.75


def test_a_text_is_known_by_how_it_begins():
    wrl = '#VRML V2.0 utf8\nDEF x Humanoid { humanoidBody [ DEF A Joint { jointType "free" } ] }\n'
    yaml = "format: ChoreonoidBody\nformat_version: 2.0\nname: y\nlinks: [ { name: A } ]\n"
    urdf = '<?xml version="1.0"?>\n<!-- <robot> --><robot name="z"><link name="A"/></robot>'
    assert [load_body_text(text).name for text in (wrl, yaml, urdf)] == ["x", "y", "z"]
    with pytest.raises(ValueError, match="one of wrl, body, urdf"):
        load_body_text(urdf, kind="xml")


def test_a_text_and_a_file_are_the_same_robot(tmp_path):
    path = tmp_path / "r.urdf"
    path.write_text(arm(), encoding="utf-8")
    body = load_body(path)
    assert body.path == path
    other = load_body_text(arm(), folder=tmp_path)
    assert other.path is None
    assert [link.name for link in body.links] == [link.name for link in other.links]


def test_who_follows_is_completed_where_nobody_tells_it():
    body, _ = read(followers("", '<mimic joint="j0" multiplier="-2" offset="0.5"/>', ""))
    loops = ClosedLoops(body, body_frames(body, Diagnostics()))
    completed = loops.complete({"j0": 0.25, "j2": 1.0})
    assert completed.positions == {"j0": 0.25, "j1": 0.0, "j2": 1.0}
    assert loops.complete({"j0": 0.25, "j1": 0.75}).positions == {"j0": 0.25, "j1": 0.75}
    assert loops.complete({"j2": 1.0}).positions == {"j2": 1.0}


def test_who_follows_starts_where_its_leader_has_it():
    body, _ = read(followers("", '<mimic joint="j0" multiplier="-2" offset="0.5"/>'))
    assert body.link("l2").joint.initial == 0.5


def test_a_text_in_a_sandbox_reads_nothing_else(tmp_path):
    folder = tmp_path / "robot"
    folder.mkdir()
    (tmp_path / "part.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 2 0\nf 1 2 3\n")
    shape = '<visual><geometry><mesh filename="../part.obj"/></geometry></visual>'
    text = robot(f'<link name="a">{shape}</link>')
    assert len(read(text, folder=folder)[0].root.visual) == 1
    assert codes(refused(text, folder=folder, sandbox=True))[0] == "outside-sandbox"
    assert codes(refused(text, sandbox=True))[0] == "outside-sandbox"


def test_who_follows_joints_in_a_circle_follows_the_next():
    third = '<mimic joint="j1" multiplier="2"/>'
    body, found = read(followers('<mimic joint="j1"/>', '<mimic joint="j0"/>', third))
    assert codes(found) == ["mimic-cycle", "mimic-cycle"]
    assert mimic_joints(body) == {"l3": Mimic("l2", 2.0, 0.0)}


def test_a_long_row_of_followers_has_one_leader():
    count = 1500
    row = [f'<mimic joint="j{i + 1}"/>' for i in range(count)]
    body, _ = read(followers(*row, ""))
    assert {link.joint.mimic for link in body.links[1:-1]} == {Mimic(f"l{count + 1}", 1.0, 0.0)}


def test_a_joint_may_be_called_as_the_root_is():
    text = robot(f'<link name="a">{MASS}</link><link name="b">{MASS}</link>',
                 joint("a", "a", "b", "revolute", HINGE))  # fmt: skip
    body, found = read(text)
    assert found == []
    assert [link.joint.type for link in body.links] == [JointType.FREE, JointType.REVOLUTE]
    assert [link.joint.id for link in body.links] == [None, 0]


def test_an_end_of_a_range_that_is_missing_is_zero():
    for ends, found in (('lower="-1"', (-1, 0)), ('upper="2"', (0, 2)), ("", (0, 0))):
        body, _ = read(arm(f'<limit {ends} velocity="3" effort="4"/>'))
        assert body.link("arm").joint.position == found


def test_limits_of_speed_have_no_sign():
    body, _ = read(arm('<limit lower="-1" upper="2" velocity="-3" effort="-4"/>'))
    assert body.link("arm").joint.velocity == (-3.0, 3.0)
    assert body.link("arm").joint.effort == (-4.0, 4.0)


def test_an_effort_of_zero_is_not_stated():
    body, found = read(arm('<limit lower="-1" upper="2" velocity="3" effort="0"/>'))
    assert body.link("arm").joint.effort == UNLIMITED
    [told] = [str(d) for d in found if d.code == "missing-limit"]
    assert "not stated" in told


@pytest.mark.parametrize(
    ("kind", "told"),
    [("floating", ["not-used"]), ("planar", ["planar-joint", "not-used"]), ("fixed", [])],
)
def test_a_joint_that_cannot_follow_is_told_unless_it_is_fixed(kind, told):
    body, found = read(arm('<mimic joint="x"/>', kind))
    assert [code for code in codes(found) if code != "massless-link"] == told
    assert body.link("arm").joint.mimic is None


@pytest.mark.parametrize(("ratio", "read_as"), [("50", 50), ("-2", -2), ("0", 1), ("1e999", 1)])
def test_a_gear_ratio_is_a_number_that_is_not_zero(ratio, read_as):
    motor = f"<actuator><mechanicalReduction>{ratio}</mechanicalReduction></actuator>"
    block = f'<transmission name="t"><joint name="j0"/>{motor}</transmission></robot>'
    body, found = read(followers("").replace("</robot>", block))
    assert body.link("l1").joint.gear_ratio == read_as
    assert codes(found) == (["not-used"] if read_as == 1 else [])


def test_a_link_has_no_place_of_its_own():
    body, found = read(robot(f'<link name="a"><origin xyz="1 2 3"/>{MASS}</link>'))
    assert "not-used" in codes(found)
    equal(body.root.X_PL.p, [0, 0, 0])


def test_what_is_ignored_costs_nothing_when_it_is_wrong():
    wrong = '<safety_controller k_position="x"/><calibration rising="up"/>'
    body, found = read(arm(HINGE + wrong, link=MASS))
    assert body.link("arm").joint.position == (-1.0, 2.0)
    assert {d.severity for d in found} == {Severity.WARNING}
    assert set(codes(found)) == {"missing-attribute", "wrong-type", "massless-link"}


def test_of_a_geometry_the_first_element_is_its_shape():
    shape = '<visual><geometry><box size="1 2 3"/><material name="grey"/></geometry></visual>'
    body, found = read(robot(f'<link name="base">{shape}</link>'))
    ((visual,),) = (link.visual for link in body.links)
    assert visual.geometry.size.tolist() == [1, 2, 3]
    assert "not-used" in codes(found)
