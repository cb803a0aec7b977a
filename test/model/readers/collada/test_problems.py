"""Broken COLLADA robots: what is wrong, and where."""

import pytest
from collada_tools import ARM, BARE, arm, changed, found
from each_case import all_cases

from hrp_model import load_body_text
from hrp_model.read_context import _MAX_COUNTS

BASE = BARE[BARE.index('<link sid="l0"') : BARE.index("</technique_common>")]
LINK = '<link sid="l1" name="TIP"/>'
MOTOR = """<extra name="TURN" type="attach_actuator">
        <technique profile="OpenRAVE">
          <instance_actuator url="#actuator1"/><bind_actuator joint="kmodel1/jointsid0"/>"""


def line_of(text, part):
    return text[: text.index(part)].count("\n") + 1


@all_cases(
    ("change", "code", "at"),
    [
        (("</technique_common></kin", '<link name="OTHER"/></technique_common></kin'),
         "second-root", "OTHER"),
        (('name="TIP"', 'name="BASE"'), "duplicate-link-name", 'joint="k/j"'),
        (('joint="k/j"', 'joint="k/i"'), "unknown-joint", 'joint="k/i"'),
        (('joint="k/j"', 'joint="k"'), "unknown-joint", 'joint="k"'),
        (("<axis>0 0 1", "<axis>0 0 0"), "zero-axis", "<axis>"),
        (("<axis>0 0 1", "<axis>0 0 nan"), "wrong-value", "<axis>"),
        (("<axis>0 0 1", "<axis>0 1"), "wrong-value", "<axis>"),
        (("<axis>0 0 1</axis>", ""), "missing-element", "<revolute"),
        (('<revolute sid="a"><axis>0 0 1</axis></revolute>', ""), "unknown-joint-type", "<joint "),
        (("</joint>", "<prismatic/></joint>"), "unknown-joint-type", "<joint "),
        (("</axis>", "</axis><limits><min>low</min></limits>"), "wrong-value", "<min>"),
        ((LINK, LINK[:-2] + "><matrix>2 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</matrix></link>"),
         "wrong-value", LINK[:-2]),
        ((LINK, LINK[:-2] + "><rotate>0 0 1</rotate></link>"), "wrong-value", "<rotate>"),
        ((BASE, ""), "no-links", "<kinematics_model"),
        (("library_kinematics_models", "library"), "not-a-model", "<COLLADA"),
    ],
)  # fmt: skip
def test_errors_have_places(change, code, at):
    text = changed(BARE, change)
    [problem] = found(text)
    assert problem.code == code
    assert str(problem.at).startswith(f"arm.dae:{line_of(text, at)}:")


@all_cases(
    ("changes", "code", "message"),
    [
        ([('system url="#robot1_kinematics"', 'system url="#robot1_motion"')],
         "instance-cycle", "'robot1_motion' contains itself"),
        ([("joint=\"kmodel1/jointsid2\"", 'joint="kmodel1/jointsid0"')],
         "duplicate-joint-name", "'TURN' moves two"),
        ([("</kinematics>", '<instance_kinematics_model url="#kmodel1"/></kinematics>')],
         "second-root", "2 kinematics"),
        ([("<mass>2</mass>", "<density>2</density>")], "unstated-mass", "densities"),
        ([("<inertia>0.0001 0.0002 0.00025", "<inertia>0.0001")],
         "wrong-value", "3 finite numbers"),
        ([("<bool>true</bool>", "<bool>yes</bool>")], "wrong-value", "true or false, not 'yes'"),
    ],
)  # fmt: skip
def test_errors_of_scenes_and_masses(changes, code, message):
    [problem] = [x for x in found(changed(ARM, *changes)) if x.code == code]
    assert message in problem.message


@all_cases(
    ("old", "new", "code", "message"),
    [
        ('meter="0.01"', 'meter="0"', "wrong-value", "the length unit '0'"),
        ("Z_UP", "UP", "wrong-value", "not 'UP'"),
        ('url="#robot1_motion" name', 'url="#nothing" name', "missing-element", "'#nothing'"),
        ("<scene>", "<unit meter='2'/><scene>", "not-used", "unit is not used"),
        ('<link sid="link3" name="TOOL_S"/>',
         '<link sid="link3" name="TOOL_S"><attachment_end joint="kmodel1/jointsid2"/></link>',
         "no-counterpart", "closed loop is open"),
        ("<apply><times/>", "<apply><power/>", "no-counterpart", "formula"),
        ("<cn>0.25</cn>", '<csymbol encoding="COLLADA">kmodel1/jointsid1</csymbol>',
         "no-counterpart", "formula"),
        ("<csymbol encoding=\"COLLADA\">kmodel1/jointsid0", "<csymbol>kmodel1/jointsid2",
         "mimic-cycle", "'FINGER'"),
        ('type="manipulator"', 'type="gripper"', "no-counterpart", "the extension 'gripper'"),
        ('link0="kmodel1/link0"', 'link0="kmodel1/link9"', "unknown-link", "'kmodel1/link9'"),
        ('<frame_origin link="kmodel1/link3"', '<frame_origin link="kmodel1/link9"',
         "unknown-link", "'wrist_force'"),
        ('url="#sensor1"', 'url="#sensor9"', "missing-element", "'gsensor'"),
        ('type="base_force6d"', 'type="base_tactile"', "unknown-device", "'base_tactile'"),
        ("<format>float32", "<gain>2</gain><format>float32", "not-used", "<gain> of sensor 'eye'"),
        ("<image_dimensions>640 480 4", "<image_dimensions>640 480 7",
         "unknown-image-type", "7 channels"),
        ("320 0 320 0 240 240", "320 0 100 0 240 240", "not-used", "field of view"),
        ("320 0 320 0 240 240", "320 0 320 0 300 240", "not-used", "field of view"),
        ('url="#actuator1"', 'url="#actuator9"', "missing-element", "'TURN'"),
        (MOTOR, MOTOR.replace('"TURN"', '"WHEEL"').replace("jointsid0", "jointsid8"),
         "unknown-joint", "no joint 'kmodel1/jointsid8'"),
        ("<param>upper</param>", "<param>lower</param>", "missing-element", "parameter 'lower'"),
        ('<axis_info sid="slide_info" axis="kmodel1/jointsid1/axis0"',
         '<axis_info sid="slide_info" axis="kmodel1/nothing"',
         "unknown-joint", "axis 'kmodel1/nothing'"),
        ('bind_kinematics_model node="visual1/node0"', 'bind_kinematics_model node="visual1/none"',
         "missing-element", "'visual1/none'"),
        ('body="rigid1"', 'body="rigid9"', "missing-element", "rigid body 'rigid9'"),
        ('constraint="rigid_constraint0"', 'constraint="c"',
         "missing-element", "rigid constraint 'c'"),
        ('instance_geometry url="#plate"/>\n            </node>',
         'instance_geometry url="#none"/>\n            </node>',
         "unreadable-part", "left out"),
        ('<float_array id="plate_array" count="9">0 0 0 2',
         '<float_array id="plate_array" count="9">0 0 0 inf',
         "unreadable-resource", "all shapes are left out"),
        ('</visual_scene>',
         '<node name="table"><instance_geometry url="#plate"/></node></visual_scene>',
         "not-used", "1 shapes are left out"),
    ],
)  # fmt: skip
def test_what_is_left_out_is_named(old, new, code, message):
    problems = found(changed(ARM, (old, new)))
    assert any(x.code == code and message in x.message for x in problems), list(map(str, problems))


def test_a_robot_whose_shapes_cannot_be_read_lacks_them():
    body = arm(("0 0 0 2 0 0", "0 0 0 inf 0 0"))
    with_nodes = ["BASE_S", "TURN_S", "SLIDE_S", "TOOL_S"]
    assert [link.name for link in body.links if link.lacks_shapes] == with_nodes
    assert body.total_mass == 8.5


def test_a_link_whose_mesh_is_missing_lacks_it():
    mount = 'instance_geometry url="#plate"/>\n            </node>'
    body = arm((mount, mount.replace("#plate", "#none")))
    assert [link.name for link in body.links if link.lacks_shapes] == ["TURN_S"]


def test_parameters_that_refer_to_each_other_are_not_followed_forever():
    old = '<newparam sid="scene_turn"><SIDREF>robot1_motion/motion_turn'
    new = '<newparam sid="scene_turn"><SIDREF>kscene/scene_turn'
    body = arm((old, new))
    assert body.link("TURN_S").joint.initial == 0.0  # nothing is bound to it


def test_a_link_without_a_binding_has_the_shapes_of_the_node_with_its_name():
    body = arm(('target="visual1/node_joint1_axis0"', 'target="visual1/nothing"'))
    assert len(body.link("TURN_S").visual) == 1
    unnamed = ('name="TURN_S">\n            <tr', 'name="T">\n            <tr')
    text = changed(ARM, ('target="visual1/node_joint1_axis0"', 'target="x"'), unnamed)
    assert [x.code for x in found(text)] == ["missing-element"]
    assert len(load_body_text(text).root.visual) == 2  # the node is inside of that of the root


@pytest.mark.parametrize("end", ["a", "b"])
def test_instances_that_contain_each_other_are_not_followed_forever(end):
    nodes = '<library_nodes><node id="a" sid="a"><instance_node url="#b"/></node>'
    nodes += f'<node id="b" sid="b"><instance_node url="#{end}"/></node>'
    text = changed(ARM, ("<library_nodes>", nodes), ('url="#claw"', 'url="#a"'))
    assert {x.code for x in found(text)} <= {"unreadable-resource", "unreadable-part"}
    assert len(load_body_text(text).links) == 5


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (BARE.replace(LINK, '<link><attachment_full joint="k/j">' * 150), "too-deep"),
        (
            BARE.replace(LINK, "<link>" + '<attachment_full joint="k/j"/>' * 1000 + "</link>"),
            "too-large",
        ),
    ],
)
def test_the_size_of_a_robot_is_limited(text, code, monkeypatch):
    monkeypatch.setitem(_MAX_COUNTS, "nodes", 1000)
    assert [x.code for x in found(text)] == [code]
