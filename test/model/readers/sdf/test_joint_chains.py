"""SDF joints of several hinges, screws and gearboxes, and axes of older versions."""

import numpy as np
import pytest
from each_case import all_cases
from scipy.spatial.transform import Rotation
from silent_diagnostics import silent

from hrp_model import BodyState, load_body_text
from hrp_model.frames import joint_pose

EXACT = {"rtol": 0.0, "atol": 1e-12}
# Two links whose frames differ, and a joint whose frame differs from both.
LINKS = '<link name="a"/><link name="b"><pose>0.1 0.2 0.3 0.4 0 0</pose></link>'
POSE = "<pose>0.5 0 0 0 0.6 0</pose>"
X_AB = np.array([0.1, 0.2, 0.3]), Rotation.from_rotvec([0.4, 0.0, 0.0])


def read(kind, inside, links=LINKS, version="1.9", more=""):
    found = silent()
    ends = f"<parent>a</parent><child>b</child>{POSE}"
    joint = f'<joint name="j" type="{kind}">{ends}{inside}</joint>'
    text = f'<sdf version="{version}"><model name="m">{links}{joint}{more}</model></sdf>'
    return load_body_text(text, found, kind="sdf"), [d.code for d in found.found]


def child_pose(body, q):
    """Return position and rotation of the <link> b in a."""
    state = BodyState(body)
    state.q[:] = q
    state.p[0], state.R[0] = 0.0, np.eye(3)
    state.calc_forward_kinematics()
    b = body.link_index("b")
    # The frame of the link is at the joint, in the axes of the <link>.
    return state.p[b] - state.R[b] @ [0.5, 0.0, 0.0], Rotation.from_matrix(state.R[b])


def expected(turn, slide=(0.0, 0.0, 0.0)):
    """Return the pose of b in a when the joint, in its own frame, turns and slides."""
    p, R = X_AB
    R_AJ = R * Rotation.from_rotvec([0.0, 0.6, 0.0])
    R_AB = R_AJ * turn * Rotation.from_rotvec([0.0, -0.6, 0.0])
    return p + R.apply([0.5, 0.0, 0.0]) + R_AJ.apply(slide) - R_AB.apply([0.5, 0.0, 0.0]), R_AB


def check(body, q, pose):
    p, R = child_pose(body, q)
    np.testing.assert_allclose(p, pose[0], **EXACT)
    np.testing.assert_allclose((R.inv() * pose[1]).magnitude(), 0.0, **EXACT)


def test_a_ball_joint_is_three_hinges_without_motors():
    body, found = read("ball", "")
    assert [link.joint.name for link in body.links[1:]] == ["j_z", "j_x", "j_y"]
    assert [link.joint.id for link in body.links[1:]] == [None] * 3
    q = np.array([0.7, -0.4, 1.2])
    check(body, q, expected(Rotation.from_euler("ZXY", q)))
    assert found == []  # also not that the links between the hinges have no mass
    assert frozenset("ab") in body.self_collision_disabled


@pytest.mark.parametrize("kind", ["universal", "revolute2"])
def test_joints_of_two_axes_are_two_hinges(kind):
    limit = "<limit><lower>-1</lower><upper>2</upper></limit>"
    body, _ = read(
        kind,
        f'<axis><xyz>0 0 1</xyz>{limit}</axis><axis2><xyz expressed_in="a">0 1 0</xyz></axis2>',
    )
    first, second = body.links[1].joint, body.links[2].joint
    assert (first.name, second.name, first.id, second.id) == ("j_1", "j_2", 0, 1)
    assert (first.position, second.position) == ((-1.0, 2.0), (-np.inf, np.inf))
    second_axis = (X_AB[1] * Rotation.from_rotvec([0.0, 0.6, 0.0])).inv().apply([0.0, 1.0, 0.0])
    turn = Rotation.from_rotvec([0.0, 0.0, 0.8]) * Rotation.from_rotvec(-0.3 * second_axis)
    check(body, [0.8, -0.3], expected(turn))


@pytest.mark.parametrize(
    ("pitch", "advance"),  # in [m/rad]
    [
        ("<screw_thread_pitch>0.01</screw_thread_pitch>", 0.01 / (2.0 * np.pi)),
        ("<thread_pitch>50</thread_pitch>", -0.02),  # left-handed, in [rad/m]
        ("", 1.0 / (2.0 * np.pi)),
    ],
)
def test_a_screw_is_a_hinge_and_a_slide_that_follows_it(pitch, advance):
    body, _ = read("screw", f"{pitch}<axis><xyz>0 1 0</xyz></axis>")
    slide, hinge = body.links[1:]
    assert (hinge.joint.name, hinge.joint.id, slide.joint.id) == ("j", 0, None)
    assert slide.joint.mimic.link == "b"
    q = 2.5
    turn = Rotation.from_rotvec([0.0, q, 0.0])
    moved = slide.joint.mimic.position(q)
    check(body, [q, moved], expected(turn, [0.0, advance * q, 0.0]))


def test_a_screw_that_follows_another_joint_slides_with_it():
    mimic = '<mimic joint="k"><multiplier>2</multiplier><offset>0.5</offset></mimic>'
    pitch = "<screw_thread_pitch>0.02</screw_thread_pitch>"
    more = '<link name="c"/><joint name="k" type="revolute"><parent>a</parent><child>c</child>'
    body, _ = read("screw", f"{pitch}<axis>{mimic}</axis>", more=f"{more}<axis/></joint>")
    slide, hinge = body.link("b_j_slide").joint, body.link("b").joint
    assert slide.mimic.link == hinge.mimic.link == "c"
    assert slide.mimic.position(0.3) == pytest.approx(0.02 / (2.0 * np.pi) * (0.6 + 0.5))
    assert slide.initial == pytest.approx(0.02 / (2.0 * np.pi) * 0.5)


def test_a_joint_may_follow_the_second_axis_of_another():
    axes = "<axis/><axis2><xyz>0 1 0</xyz></axis2>"
    more = '<link name="c"/><joint name="k" type="revolute"><parent>a</parent><child>c</child>'
    more += '<axis><mimic joint="j" axis="axis2"><multiplier>3</multiplier></mimic></axis></joint>'
    body, _ = read("universal", axes, more=more)
    assert (body.link("c").joint.mimic.link, body.link("c").joint.mimic.multiplier) == ("b", 3.0)


FRAME = '<link name="frame"/>'


def gear_train(*gears, axes=("0 0 1", "0 0 1", "0 0 1"), reversed_joint=-1):
    """Return wheels on a common frame, and gearboxes (parent, child, ratio, axis, axis2)."""
    text = FRAME
    for i, axis in enumerate(axes):
        ends = f"<parent>frame</parent><child>w{i}</child>"
        if i == reversed_joint:
            ends = f"<parent>w{i}</parent><child>frame</child>"
        text += f'<link name="w{i}"/><joint name="j{i}" type="revolute">{ends}'
        text += f"<axis><xyz>{axis}</xyz></axis></joint>"
    for n, (parent, child, ratio, axis, axis2) in enumerate(gears):
        text += f'<joint name="g{n}" type="gearbox"><parent>w{parent}</parent>'
        text += f"<child>w{child}</child><gearbox_reference_body>frame</gearbox_reference_body>"
        text += f"<gearbox_ratio>{ratio}</gearbox_ratio><axis><xyz>{axis}</xyz></axis>"
        text += f"<axis2><xyz>{axis2}</xyz></axis2></joint>"
    found = silent()
    text = f'<sdf version="1.9"><model name="m">{text}</model></sdf>'
    return load_body_text(text, found, kind="sdf"), found.found


def turn_of(body, wheel, positions):
    """Return the angle about Z of a wheel on the frame."""
    a = body.link_index("frame")
    state = BodyState(body)
    state.q[:] = positions
    state.calc_forward_kinematics()
    R = state.R[a].T @ state.R[body.link_index(wheel)]
    return Rotation.from_matrix(R).as_rotvec()[2]


@all_cases("reversed_joint", [-1, 0, 1])
@all_cases("flipped", ["0 0 1", "0 0 -1"])
def test_a_gearbox_turns_the_child_against_the_parent(flipped, reversed_joint):
    """With the angles on the reference body about Z: theta_2 = -ratio theta_1."""
    body, found = gear_train(
        (0, 1, 3.0, "0 0 1", "0 0 1"), axes=(flipped, "0 0 1"), reversed_joint=reversed_joint
    )
    (follower,) = (link for link in body.links if link.joint.mimic is not None)
    leader = body.link(follower.joint.mimic.link)
    q = {leader.name: 0.2, follower.name: follower.joint.mimic.position(0.2)}
    positions = [q[link.name] for link in body.moving_links]
    first, second = turn_of(body, "w0", positions), turn_of(body, "w1", positions)
    assert second == pytest.approx(-3.0 * first)
    assert not [d.code for d in found if d.code == "no-counterpart"]


def test_a_train_of_gears_follows_its_first_wheel():
    body, _ = gear_train((0, 1, 3.0, "0 0 1", "0 0 1"), (1, 2, 2.0, "0 0 1", "0 0 1"))
    last = body.link("w2").joint.mimic
    assert (last.link, last.multiplier) == ("w0", pytest.approx(6.0))


def test_gears_that_drive_one_wheel_follow_it():
    body, _ = gear_train((0, 2, 3.0, "0 0 1", "0 0 1"), (1, 2, 2.0, "0 0 1", "0 0 1"))
    assert body.link("w2").joint.mimic.multiplier == pytest.approx(-3.0)
    assert body.link("w1").joint.mimic.multiplier == pytest.approx(-3.0 / -2.0)
    assert body.link("w1").joint.mimic.link == "w0"


def test_gears_in_a_circle_report_the_last_one():
    gears = [(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0)]
    body, found = gear_train(*((*g, "0 0 1", "0 0 1") for g in gears))
    codes = [d.code for d in found]
    assert "mimic-cycle" in codes
    assert all(x.joint.moves for x in body.links[1:])


@pytest.mark.parametrize("version", ["1.2", "1.3", "1.4"])
def test_axes_before_sdf_1_5_are_those_of_the_model(version):
    links = '<link name="a"/><link name="b"><pose>0 0 0 0 0 1.5707963267948966</pose></link>'
    turned, _ = read("revolute", "<axis><xyz>1 0 0</xyz></axis>", links, version)
    flag = "<use_parent_model_frame>1</use_parent_model_frame>"
    same, _ = read("revolute", f"<axis><xyz>1 0 0</xyz>{flag}</axis>", links, "1.5")
    axis = (turned.link("b").X_PL.R @ turned.link("b").joint.axis).tolist()
    assert axis == pytest.approx([1.0, 0.0, 0.0])
    np.testing.assert_array_equal(turned.link("b").joint.axis, same.link("b").joint.axis)
    both, _ = read("universal", "<axis/><axis2><xyz>0 1 0</xyz></axis2>", links, version)
    X = joint_pose(both.links[1], 0.0) @ joint_pose(both.links[2], 0.0)
    assert (X.R @ both.link("b").joint.axis).tolist() == pytest.approx([0.0, 1.0, 0.0])
