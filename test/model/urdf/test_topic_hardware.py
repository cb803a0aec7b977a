"""Descriptions with <ros2_control> blocks of their own, judged by the rules of ros2_control."""

import random
from xml.etree import ElementTree

import pytest
from component_parser import control_resources, topic_problems
from each_case import all_cases

from hrp_model import Diagnostics, ModelError
from hrp_model.diagnostics import Source
from hrp_model.load import load_xml
from hrp_model.readers.xml_tree import parse
from hrp_model.urdf.topic_hardware import with_topic_hardware

JOINTS = """
  <joint name="a" type="revolute"><parent link="l0"/><child link="l1"/>
    <limit lower="-1" upper="1" effort="5" velocity="2"/></joint>
  <joint name="b" type="continuous"><parent link="l1"/><child link="l2"/></joint>
  <joint name="c" type="prismatic"><parent link="l2"/><child link="l3"/>
    <limit lower="0" upper="1" effort="5" velocity="2"/></joint>
  <joint name="f" type="prismatic"><parent link="l2"/><child link="l4"/>
    <limit lower="0" upper="1" effort="5" velocity="2"/><mimic joint="c" multiplier="-1"/></joint>
  <joint name="z" type="fixed"><parent link="l4"/><child link="l5"/></joint>
"""
HARDWARE = "<hardware><plugin>a_vendor/Hardware</plugin><param name='ip'>1.2.3.4</param></hardware>"
POSITION = "<command_interface name='position'/>"
A = f"<joint name='a'>{POSITION}</joint>"


def robot(*blocks):
    links = "".join(f"<link name='l{i}'/>" for i in range(6))
    return f"<robot name='r &amp; d'>{links}{JOINTS}{''.join(blocks)}</robot>"


def block(*parts, kind="system", name="s"):
    return f"<ros2_control name='{name}' type='{kind}'>{HARDWARE}{''.join(parts)}</ros2_control>"


def converted(text, *codes):
    """Return the new description, after checking the codes of all problems."""
    diagnostics = Diagnostics.silent()
    made = with_topic_hardware(parse(Source("robot.urdf", text), diagnostics), diagnostics)
    assert [x.code for x in diagnostics.found] == list(codes), diagnostics.found
    assert all(x.at is not None for x in diagnostics.found)
    return made


def test_blocks_of_any_hardware_become_one_system_that_ros2_control_accepts():
    text = robot(
        block(
            "<joint name='a'><command_interface name='velocity'><param name='min'>-0.5</param>"
            "<param name='max'>0.5</param></command_interface><param name='id'>7</param></joint>",
            kind="actuator",
        ),
        block(
            "<joint name='a'><state_interface name='position'><param name='initial_value'>0.25"
            "</param></state_interface></joint>",
            "<sensor name='ft'><state_interface name='force.x'/><param name='frame_id'>l5</param>"
            "</sensor>",
            kind="sensor",
        ),
        block(
            f"<joint name='c'>{POSITION}<command_interface name='effort'/></joint>",
            "<joint name='f' mimic='true'><state_interface name='position'/></joint>",
        ),
    )
    made = converted(text, "not-used")
    [system] = control_resources(made.urdf)
    assert topic_problems(system) == []
    assert system.plugin == "joint_state_topic_hardware_interface/JointStateTopicSystem"
    assert system.params["joint_states_topic"] == "robot_joint_states"
    assert "ip" not in system.params
    assert system.joints["a"].commands["velocity"].params == {"min": "-0.5", "max": "0.5"}
    states = {
        (name, kind): float(state.params["initial_value"])  # else NaN until the first message
        for name, joint in system.joints.items()
        for kind, state in joint.states.items()
    }
    assert len(states) == 9
    assert {key: value for key, value in states.items() if value} == {("a", "position"): 0.25}
    assert system.joints["a"].params == {"id": "7"}
    assert list(system.joints["c"].commands) == ["position", "effort"]
    assert system.joints["f"].leader == "c"
    assert list(system.sensors["ft"].states) == ["force.x"]
    assert made.commands == {"a": ("velocity",), "c": ("position", "effort"), "f": ()}
    assert made.joints == ("a", "b", "c", "f")


def test_all_else_of_the_robot_is_as_it_was():
    text = robot("<gazebo><plugin filename='x'>a &lt; b</plugin></gazebo>", block(A))
    before, after = ElementTree.fromstring(text), ElementTree.fromstring(converted(text).urdf)
    for tree in (before, after):
        tree.remove(tree.find("ros2_control"))
    canonical = [
        ElementTree.canonicalize(ElementTree.tostring(x), strip_text=True) for x in (before, after)
    ]
    assert canonical[0] == canonical[1]


def test_random_blocks_keep_what_ros2_control_finds_in_them():
    draw = random.Random(4)
    for _ in range(50):
        free = [(j, i) for j in "abc" for i in ("position", "velocity", "effort")]
        draw.shuffle(free)
        blocks = [dict[str, str]() for _ in range(draw.randint(1, 3))]
        for joint, kind in free[: draw.randint(1, 9)]:
            own = draw.choice(blocks)
            param = f"<param name='max'>{draw.random()}</param>" * draw.randint(0, 1)
            own[joint] = own.get(joint, "") + (
                f"<command_interface name='{kind}'>{param}</command_interface>"
            )
        text = robot(
            *(
                block(
                    *(f"<joint name='{name}'>{x}</joint>" for name, x in own.items()), name=f"{i}"
                )
                for i, own in enumerate(blocks)
            )
        )
        wanted: dict[str, dict[str, object]] = {}
        for resource in control_resources(text):
            for name, joint in resource.joints.items():
                wanted.setdefault(name, {}).update(joint.commands)
        [system] = control_resources(converted(text).urdf)
        assert {name: joint.commands for name, joint in system.joints.items()} == wanted
        assert topic_problems(system) == []


LEFT_OUT = {
    "inputs and outputs": "<gpio name='io'><command_interface name='vacuum'/></gpio>",
    "transmissions": "<transmission name='t'><plugin>x</plugin><joint name='a'/></transmission>",
    "other commands": "<joint name='b'><command_interface name='acceleration'/></joint>",
    "other states": "<joint name='b'><state_interface name='torque'/></joint>",
    "the commands of a follower": f"<joint name='c'/><joint name='f'>{POSITION}</joint>",
    "the commands of a free follower": f"<joint name='f' mimic='false'>{POSITION}</joint>",
}


@all_cases("case", LEFT_OUT)
def test_what_the_simulation_does_not_have_is_left_out_with_a_warning(case):
    made = converted(robot(block(A, LEFT_OUT[case])), "not-used")
    [system] = control_resources(made.urdf)
    assert topic_problems(system) == []
    assert [name for name, joint in system.joints.items() if joint.commands] == ["a"]


REFUSED = {
    "no joints": (block("<sensor name='s'/>"), "nothing-to-control", "not-used"),
    "no command": (block("<joint name='a'/>"), "nothing-to-control"),
    "unknown joint": (block(A, "<joint name='d'/>"), "unknown-joint"),
    "fixed joint": (block(A, "<joint name='z'/>"), "unknown-joint"),
    "claimed by two blocks": (block(A) + block(A, name="t"), "duplicate-element"),
    "claimed twice in a block": (block(A, A), "duplicate-element"),
    "sensor twice": (block(A, "<sensor name='s'/>" * 2), "duplicate-element", "not-used"),
    "unknown element": (block(A, "<joints/>"), "control-block"),
    "unknown type": (block(A, kind="sytem"), "control-block"),
    "block without a name": (block(A).replace("name='s' ", ""), "missing-attribute"),
    "joint without a name": (block(A, "<joint/>"), "missing-attribute"),
    "interface without a name": (
        block(A, "<joint name='b'><state_interface/></joint>"),
        "missing-attribute",
    ),
    "follower without its leader": (block(A, "<joint name='f'/>"), "control-block"),
    "no follower": (block(f"<joint name='a' mimic='true'>{POSITION}</joint>"), "control-block"),
}


@all_cases("case", REFUSED)
def test_what_ros2_control_refuses_is_an_error_with_its_place(case):
    text, *codes = REFUSED[case]
    assert converted(robot(text), *codes) is None


def test_a_robot_without_blocks_has_no_description_of_this_kind():
    assert converted(robot()) is None


def test_a_xacro_is_expanded_and_another_format_is_none(tmp_path):
    pytest.importorskip("xacro")
    macro = '<robot xmlns:xacro="http://ros.org/xacro" name="r"><xacro:arg name="p" default="x"/>'
    file = tmp_path / "r.urdf.xacro"
    file.write_text(f'{macro}<link name="$(arg p)l"/></robot>', encoding="utf-8")
    root = load_xml(f"{file} p:=left_")
    assert root.first("link").attributes["name"] == "left_l"
    (tmp_path / "r.body").write_text("format: ChoreonoidBody", encoding="utf-8")
    assert load_xml(tmp_path / "r.body") is None
    with pytest.raises(ModelError):
        load_xml(tmp_path / "none.urdf", Diagnostics.silent())


def test_blanks_around_names_and_any_attributes_of_joints_are_accepted():
    spaced = "<joint name=' a ' tag='1'><command_interface name='position '/></joint>"
    made = converted(robot(block(spaced, "<sensor name=' ft'/>")), "not-used")
    [system] = control_resources(made.urdf)
    assert (list(system.joints), list(system.sensors)) == (["a"], ["ft"])
    assert list(system.joints["a"].commands) == ["position"]
