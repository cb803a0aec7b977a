"""Contacts, gravity and springs as URDF, SDF and MJCF declare them."""

from functools import partial
from math import radians

import numpy as np
import pytest
from each_case import all_cases
from silent_diagnostics import silent

from hrp_model import load_body_text
from hrp_model.body import link_pair
from hrp_model.geometry import Surface, SurfaceRule
from hrp_model.urdf import UrdfOptions, body_to_urdf

GAZEBO, MUJOCO = SurfaceRule.GAZEBO, SurfaceRule.MUJOCO
BALL = '<geometry><sphere radius="0.1"/></geometry>'
SPRING = "<springStiffness>-4</springStiffness>"
MASS = '<inertial><mass value="1"/><inertia ixx=".01" ixy="0" ixz="0" iyy=".01" iyz="0" izz=".01"/>'


def urdf(blocks, more="", pose=""):
    links = "".join(
        f'<link name="{name}">{MASS}</inertial><collision>{pose}{BALL}</collision></link>'
        for name in "abc"
    )
    joints = "".join(
        f'<joint name="{p}{c}" type="continuous"><parent link="{p}"/><child link="{c}"/></joint>'
        for p, c in ("ab", "bc")
    )
    return f'<robot name="r">{links}{joints}{more}\n{blocks}</robot>'


def sdf(link="", collision="", model="", axis=""):
    ball = f"<collision name='c'>{collision}<geometry><sphere/></geometry></collision>"
    links = "".join(f'<link name="{name}">{link}{ball}</link>' for name in "abc")
    joints = "".join(
        f'<joint name="{p}{c}" type="revolute"><parent>{p}</parent><child>{c}</child>'
        f"<axis>{axis}</axis></joint>"
        for p, c in ("ab", "bc")
    )
    return f'<sdf version="1.9"><model name="m">{model}\n{links}{joints}</model></sdf>'


def mjcf(geom="", body="", joint=""):
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    ball = f'<geom name="g" size=".1" mass="1" {geom}/>'
    return (
        f'<mujoco><worldbody><body name="a" {body}><joint name="j" {joint}/>\n{ball}'
        "</body></worldbody></mujoco>"
    )


def choreonoid(joint):
    links = f"[{{name: a}}, {{name: b, parent: a, joint_type: revolute, {joint}}}]"
    return f"format: ChoreonoidBody\nformat_version: 2.0\nname: m\nlinks: {links}\n"


def read(text, name):
    """Return the body, and code and place of what was found."""
    found = silent()
    body = load_body_text(text, found, name=name)
    return body, [(d.code, str(d.at).partition(":")[2]) for d in found.found]


def surface(text, name, link="a"):
    body, found = read(text, name)
    assert found == []
    [shape] = body.link(link).collision
    return shape.surface


def gazebo(**values):
    return Surface(rule=GAZEBO, **({"damping": 1.0} | values))


def contacts(inner):
    return f"<surface>{inner}</surface>"


def friction(inner):
    return contacts(f"<friction><ode>{inner}</ode></friction>")


URDF_SURFACES = [
    ("<mu1>0.2</mu1>", gazebo(friction=0.2, friction_across=0.2)),
    ("<mu1>0.2</mu1><mu2>0.3</mu2>", gazebo(friction=0.2, friction_across=0.3)),
    ('<mu1 value="0.2"/><mu2 value="0.2"/>', gazebo(friction=0.2, friction_across=0.2)),
    ("<kp>1e5</kp><kd>20</kd>", gazebo(stiffness=1e5, damping=20.0)),
    ("<mu1>0.2</mu1><fdir1>0 2 0</fdir1>",
     gazebo(friction=0.2, friction_across=1.0, direction=(0.0, 1.0, 0.0))),
    ("<mu1>0.2</mu1><fdir1>1e308 0 0</fdir1>",
     gazebo(friction=0.2, friction_across=1.0, direction=(1.0, 0.0, 0.0))),
    ("<mu1>0.2</mu1><fdir1>0 0 0</fdir1>", gazebo(friction=0.2, friction_across=0.2)),
    (f"<collision>{friction('<mu>0.2</mu>')}</collision>",
     gazebo(friction=0.2, friction_across=0.2)),
    ("<provideFeedback>true</provideFeedback>", None),
]  # fmt: skip


@all_cases(("block", "expected"), URDF_SURFACES)
def test_gazebo_blocks_of_a_urdf_declare_surfaces(block, expected):
    text = urdf(f'<gazebo reference="b">{block}</gazebo>')
    assert surface(text, "r.urdf", "b") == expected
    assert surface(text, "r.urdf", "a") is None


def test_blocks_of_one_link_add_up():
    blocks = (
        '<gazebo reference="a"><mu1>0.2</mu1></gazebo><gazebo reference="a"><kp>9</kp></gazebo>'
    )
    expected = gazebo(friction=0.2, friction_across=0.2, stiffness=9.0)
    assert surface(urdf(blocks), "r.urdf") == expected


SDF_SURFACES = [
    (friction("<mu>0.2</mu><mu2>0.3</mu2>"), gazebo(friction=0.2, friction_across=0.3)),
    (friction("<mu>0.2</mu><fdir1>1 0 0</fdir1>"),
     gazebo(friction=0.2, friction_across=1.0, direction=(1.0, 0.0, 0.0))),
    (contacts("<contact><ode><kp>1e4</kp><kd>3</kd></ode></contact>"),
     gazebo(stiffness=1e4, damping=3.0)),
    (contacts("<bounce><restitution_coefficient>0.6</restitution_coefficient>"
              "<threshold>0.1</threshold></bounce>"), gazebo(restitution=0.6, bounce_speed=0.1)),
    (contacts(""), None),
    ("", None),
]  # fmt: skip


@all_cases(("collision", "expected"), SDF_SURFACES)
def test_an_sdf_declares_surfaces(collision, expected):
    assert surface(sdf(collision=collision), "m.sdf") == expected


def test_the_direction_of_friction_is_in_the_frame_of_the_collision():
    pose = '<origin rpy="0 0 1.5707963267948966"/>'
    block = '<gazebo reference="a"><mu1>0.2</mu1><fdir1>1 0 0</fdir1></gazebo>'
    inside = "<pose>0 0 0 0 0 1.5707963267948966</pose>" + friction(
        "<fdir1>1 0 0</fdir1><mu>0</mu>"
    )
    for text, name in (
        (urdf(block, pose=pose), "r.urdf"),
        (sdf(collision=inside), "m.sdf"),
    ):
        np.testing.assert_allclose(surface(text, name).direction, [0.0, 1.0, 0.0], atol=1e-12)


MJCF_SURFACES = [
    ('friction="0.2 0 0"', Surface(rule=MUJOCO, friction=0.2, friction_across=0.2)),
    ("", Surface(rule=MUJOCO)),
    ('condim="1"', Surface(rule=MUJOCO, is_frictionless=True)),
    ('priority="2"', Surface(rule=MUJOCO, friction=1.0, friction_across=1.0, priority=2)),
    ('condim="6" friction="0.3 0 0"', Surface(rule=MUJOCO, friction=0.3, friction_across=0.3)),
]


@all_cases(("geom", "expected"), MJCF_SURFACES)
def test_an_mjcf_declares_surfaces(geom, expected):
    assert surface(mjcf(geom), "m.xml") == expected


def test_links_may_have_no_gravity():
    for block in ("<turnGravityOff>true</turnGravityOff>", "<gravity>0</gravity>"):
        body, found = read(urdf(f'<gazebo reference="b">{block}</gazebo>'), "r.urdf")
        assert ([x.weight_share for x in body.links], found) == ([1.0, 0.0, 1.0], [])
    on = '<gazebo reference="b"><turnGravityOff>false</turnGravityOff></gazebo>'
    assert read(urdf(on), "r.urdf")[0].link("b").weight_share == 1.0
    for text, share in (("<gravity>false</gravity>", 0.0), ("<gravity>1</gravity>", 1.0)):
        body, found = read(sdf(link=text), "m.sdf")
        assert ([x.weight_share for x in body.links], found) == ([share] * 3, [])


def test_an_mjcf_compensates_a_share_of_gravity():
    body, found = read(mjcf(body='gravcomp="0.75"'), "m.xml")
    assert (body.link("a").weight_share, found) == (0.25, [])


SELF_COLLISIONS = [  # of the model, of links a and b; what is the third pair of links
    ("", {}, True),
    ("true", {}, True),
    ("false", {}, False),
    ("false", {"a": "true"}, True),  # one of both is enough
    ("true", {"a": "false"}, True),
    ("true", {"a": "false", "c": "false"}, False),
    ("", {"a": "0"}, True),
]


@all_cases(("model", "links", "collide"), SELF_COLLISIONS)
def test_links_collide_unless_neither_may(model, links, collide):
    of_model = f"<gazebo><self_collide>{model}</self_collide></gazebo>" if model else ""
    blocks = "".join(
        f'<gazebo reference="{name}"><selfCollide>{value}</selfCollide></gazebo>'
        for name, value in links.items()
    )
    text = sdf(model=f"<self_collide>{model}</self_collide>" if model else "")
    for name, value in links.items():
        tag = f"<self_collide>{value}</self_collide>"
        text = text.replace(f'<link name="{name}">', f'<link name="{name}">{tag}')
    for written, file in ((urdf(blocks + of_model), "r.urdf"), (text, "m.sdf")):
        body, found = read(written, file)
        assert found == []
        assert (link_pair("a", "c") not in body.self_collision_disabled) == collide
        assert link_pair("a", "b") in body.self_collision_disabled


def test_joints_have_springs():
    block = '<gazebo reference="bc"><springStiffness>4</springStiffness>'
    block += "<springReference>0.5</springReference></gazebo>"
    dynamics = "<dynamics><spring_stiffness>4</spring_stiffness>"
    dynamics += "<spring_reference>0.5</spring_reference><damping>2</damping></dynamics>"
    for text, name in ((urdf(block), "r.urdf"), (sdf(axis=dynamics), "m.sdf")):
        body, found = read(text, name)
        joint = body.link("c").joint
        assert (joint.stiffness, joint.rest_position, found) == (4.0, 0.5, [])
    body, found = read(mjcf(joint='stiffness="4" springref="30" ref="10"'), "m.xml")
    joint = body.link("a").joint
    assert (joint.stiffness, found) == (4.0, [])
    assert joint.rest_position == pytest.approx(radians(30.0))


def test_what_is_not_used_is_named_once_with_its_place():
    block = '<gazebo reference="{}"><maxContacts>2</maxContacts><material>Gazebo/Red</material>\n'
    block += "<maxVel>1</maxVel><minDepth>1</minDepth><laserRetro>1</laserRetro></gazebo>"
    _, found = read(urdf(block.format("a") + block.format("b")), "r.urdf")
    places = ["2:23", "2:51", "3:1", "3:19", "3:41"]
    assert found == [("not-used", place) for place in places]
    inside = contacts(
        "<friction>\n<torsional/><ode><slip1>1</slip1></ode></friction>"
        "<contact><collide_bitmask>1</collide_bitmask></contact>"
    )
    more = sdf(collision="<max_contacts>3</max_contacts>" + inside, link="<kinematic>1</kinematic>")
    codes = [code for code, _ in read(more, "m.sdf")[1]]
    assert codes == ["not-used"] * 5
    geom = 'solref="-100 -1" solimp="0.5 0.9 0.01" margin="0.01" condim="4"'
    codes = [code for code, _ in read(mjcf(geom), "m.xml")[1]]
    assert codes == ["not-used"] * 4


BAD = [
    ("<mu1>-0.5</mu1>", 0.0),
    ("<mu1>inf</mu1>", 1e6),
    ("<mu1>1e9</mu1>", 1e6),
]


@pytest.mark.parametrize(("block", "used"), BAD)
def test_an_impossible_friction_is_bounded_with_its_place(block, used):
    body, found = read(urdf(f'<gazebo reference="a">\n{block}</gazebo>'), "r.urdf")
    assert body.root.collision[0].surface.friction == used
    assert found == [("surface-out-of-range", "3:1")]
    ode = friction("\n" + block.replace("mu1", "mu"))
    body, found = read(sdf().replace("<geometry>", f"{ode}<geometry>", 1), "m.sdf")
    assert body.root.collision[0].surface.friction == used
    assert found == [("surface-out-of-range", "3:1")]


def test_a_written_urdf_declares_the_same():
    blocks = '<gazebo reference="a"><mu1>0.2</mu1><mu2>0.3</mu2><kp>1e5</kp><kd>2</kd></gazebo>'
    blocks += '<gazebo reference="b"><turnGravityOff>1</turnGravityOff><mu1>0</mu1></gazebo>'
    blocks += '<gazebo reference="bc"><springStiffness>4</springStiffness></gazebo>'
    body, _ = read(urdf(blocks), "r.urdf")
    again, _ = read(body_to_urdf(body, options=UrdfOptions(gazebo=True)), "again.urdf")
    for name in "abc":
        before, after = body.link(name), again.link(name)
        assert [x.surface for x in after.collision] == [x.surface for x in before.collision]
        assert after.weight_share == before.weight_share
        assert after.joint.stiffness == before.joint.stiffness


def test_numbers_that_cannot_be_read_are_reported():
    _, found = read(urdf('<gazebo reference="a"><mu1>slippery</mu1></gazebo>'), "r.urdf")
    assert found == [("not-used", "2:23")]
    _, found = read(urdf('<gazebo reference="aa"><mu1>1</mu1><sensor/></gazebo>'), "r.urdf")
    assert ("unknown-link", "2:9") in found


@all_cases(
    ("name", "text", "attribute"),
    [
        ("r.urdf", partial(urdf, f'<gazebo reference="bc">{SPRING}</gazebo>'), "stiffness"),
        ("m.sdf", partial(sdf, axis="<dynamics><damping>-1</damping></dynamics>"), "damping"),
        ("m.xml", partial(mjcf, joint='stiffness="-1"'), "stiffness"),
        ("m.body", partial(choreonoid, "jointViscosity: -2.2"), "damping"),
        ("m.body", partial(choreonoid, "jointFriction: -1"), "friction"),
    ],
)
def test_a_joint_does_not_push_itself(name, text, attribute):
    body, found = read(text(), name)
    assert {getattr(link.joint, attribute) for link in body.moving_links} == {0.0}
    assert "negative-resistance" in [code for code, _ in found]


@pytest.mark.parametrize("name", ["r.urdf", "r.sdf"])
def test_a_direction_of_friction_in_the_axes_of_another_link_is_reported(name):
    direction = '<fdir1 gz:expressed_in="a">1 1 0</fdir1>'
    friction = f"<mu>1</mu><mu2>0</mu2>{direction}"
    text = {
        "r.urdf": urdf(f'<gazebo reference="b"><mu1>1</mu1>{direction}</gazebo>'),
        "r.sdf": sdf(collision=contacts(f"<friction><ode>{friction}</ode></friction>")),
    }[name]
    _, found = read(text, name)
    assert {code for code, _ in found} == {"not-used"}
    assert all(place for _, place in found)
