"""Motions from files: every format, interpolation, and every mistake with its place."""

from math import pi

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.transform import Rotation
from silent_diagnostics import silent

from hrp_model import ModelError, load_body_text
from hrp_sim.world.motion import load_motion

COMPOSITE = """\
type: CompositeSeq
content: BodyMotion
format_version: 4
frame_rate: 10
num_frames: 3
components:
  - { type: MultiValueSeq, content: JointDisplacement, num_parts: 2,
      frames: [ [ 0, 1 ], [ 0.5, 2 ], [ 1, 4 ] ] }
  - type: MultiSE3Seq
    content: LinkPosition
    num_parts: 1
    SE3Format: XYZQWQXQYQZ
    frames:
      - [ [ 0, 0, 1, 1, 0, 0, 0 ] ]
      - [ [ 0.1, 0, 1, -0.7071067811865476, 0, 0, -0.7071067811865476 ] ]
      - [ [ 0.2, 0, 1, 0, 0, 0, 1 ] ]
  - { type: Vector3Seq, content: ZMP, frames: [ [ 0, 0, 0 ] ] }
"""

POSES = """\
type: PoseSeq
name: wave
targetBody: Arm
refs:
  - { time: 0, refer: { type: Pose, joints: [ 0, 2 ], q: [ 0.1, 1 ] } }
  - { time: 2, refer: { type: Pose, joints: [ 0 ], q: [ 0.5 ] } }
  - { time: 1, refer: { type: Pose, joints: [ 0, 2 ], q: [ 0.2, 2 ] } }
  - { time: 3, maxTransitionTime: 0.25, refer: { type: Pose, joints: [ 2 ], q: [ 3 ] } }
  - { time: 4, refer: { type: PronunSymbol, symbol: A } }
"""


@pytest.fixture
def motion(tmp_path, diagnostics):
    def read(text, name="m.seq", diagnostics=diagnostics, **options):
        (tmp_path / name).write_text(text)
        return load_motion(tmp_path / name, diagnostics, **options)

    return read


@pytest.fixture
def problem(tmp_path, motion):
    """Read a bad motion; return its only problem as "line:column: code: message"."""

    def read(text):
        with pytest.raises(ModelError) as caught:
            motion(text, diagnostics=silent())
        (found,) = caught.value.diagnostics
        place = str(found.at).removeprefix(f"{tmp_path / 'm.seq'}:")
        return f"{place}: {found.code}: {found.message}"

    return read


def test_a_body_motion_gives_joints_and_root_at_its_frame_rate(motion):
    read = motion(COMPOSITE)
    assert_allclose(read.times, [0.0, 0.1, 0.2])
    assert_allclose(read.q, [[0, 1], [0.5, 2], [1, 4]])
    assert_allclose(read.root_positions, [[0, 0, 1], [0.1, 0, 1], [0.2, 0, 1]])
    for t, angle in ((0.0, 0.0), (0.1, pi / 2), (0.2, pi)):
        expected = Rotation.from_euler("z", angle).as_matrix()
        assert_allclose(read.root_at(t).R, expected, atol=1e-15)


def test_a_motion_is_linear_between_postures_and_held_at_both_ends(motion):
    read = motion(COMPOSITE)
    assert_allclose(read.at(0.05), [0.25, 1.5])
    assert_allclose(read.at(0.175), [0.875, 3.5])
    assert_allclose(read.at(-1.0), [0, 1])
    assert_allclose(read.at(9.0), [1, 4])
    half = Rotation.from_euler("z", pi / 4).as_matrix()
    assert_allclose(read.root_at(0.05).R, half, atol=1e-12)
    assert_allclose(read.root_at(0.05).p, [0.05, 0, 1])


def test_old_versions_name_their_contents_and_quaternions_otherwise(motion):
    read = motion(
        """\
type: BodyMotion
components:
  - { type: MultiValueSeq, purpose: JointPosition, frameRate: 2, numParts: 1, frames: [[3], [5]] }
  - { type: MultiAffine3Seq, purpose: LinkPosition, frameRate: 2, numParts: 1, format: XYZRPY,
      frames: [ [[1, 2, 3, 0.1, 0.2, 0.3]] ] }
"""
    )
    assert_allclose(read.times, [0, 0.5])
    assert_allclose(read.at(0.25), [4])
    expected = Rotation.from_euler("xyz", [0.1, 0.2, 0.3]).as_matrix()
    assert_allclose(read.root_at(0.5).R, expected, atol=1e-12)


POSE = "type: PoseSeq\nrefs: [ { time: %s, refer: { type: Pose, joints: [ 0 ], q: [ %s ] } } ]"


@pytest.mark.parametrize(
    "text",
    [
        POSE % ("1e308", "1"),
        POSE % ("-1e308", "1"),
        POSE % ("0", "1e308"),
        "{type: MultiValueSeq, frame_rate: 5e-324, frames: [[1], [2]]}",
        "{type: MultiValueSeq, frame_rate: 1, frames: [[1], [1e300]]}",
        "{type: CompositeSeq, frame_rate: 1, components: [{type: MultiSE3Seq,"
        " content: LinkPosition, format: XYZQWQXQYQZ, frames: [[[0, 0, 0, 1e308, 0, 0, 1e308]]]}]}",
    ],
)
def test_absurd_numbers_are_refused(problem, text):
    assert ": bad-motion: " in problem(text)


def test_frames_may_give_their_time(motion):
    read = motion(
        "{type: MultiValueSeq, format_version: 4, has_frame_time: true, num_parts: 1,"
        " frames: [[0.5, 1], [0.6, 2], [1.0, 3]]}"
    )
    assert_allclose(read.times, [0.5, 0.6, 1.0])
    assert_allclose(read.at(0.8), [2.5])


def test_plain_text_has_a_time_and_the_joints_in_each_line(motion):
    read = motion("0.0 1.5 -2\n\n 0.002\t1.6 -2e0\n0.004,1.7,-1\n")
    assert_allclose(read.times, [0, 0.002, 0.004])
    assert_allclose(read.q, [[1.5, -2], [1.6, -2], [1.7, -1]])
    assert read.root_at(0.0) is None


def test_parts_that_a_motion_does_not_need_are_noted(motion, diagnostics):
    motion(COMPOSITE.replace("content: ZMP", "content: Eyes"))
    assert diagnostics.take("unused-key").message == "parts of the motion that are not used: Eyes"


def test_key_poses_are_joined_by_cubics_with_mean_slopes(motion):
    read = motion(POSES, "m.pseq", rate=100.0)
    t = read.times
    assert_allclose(t[[0, -1]], [0.0, 4.0])
    # Joint 0 rises through its key poses: the slope at the middle is the mean of both sides.
    spline = CubicHermiteSpline([0, 1, 2], [0.1, 0.2, 0.5], [0, 0.2, 0])
    assert_allclose(read.q[:201, 0], spline(t[:201]), atol=1e-12)
    assert_allclose(read.q[200:, 0], 0.5)
    # Joint 2 waits, as its last transition takes 0.25 s at most, so it stops at the second.
    rising = CubicHermiteSpline([0, 1], [1, 2], [0, 0])
    assert_allclose(read.q[:101, 2], rising(t[:101]), atol=1e-12)
    assert_allclose(read.q[100:276, 2], 2.0, atol=1e-12)
    assert_allclose(read.q[300:, 2], 3.0)
    assert np.isnan(read.q[:, 1]).all()


def test_two_key_poses_are_joined_from_stop_to_stop(motion):
    pose = "{{ time: {}, refer: {{ type: Pose, joints: [ 0 ], q: [ {} ] }} }}"
    read = motion(f"type: PoseSeq\nrefs: [ {pose.format(0, 1)}, {pose.format(2, 3)} ]")
    assert_allclose(read.at(1.0), [2.0])
    assert_allclose(read.at(0.5), [1 + 2 * (3 * 0.25**2 - 2 * 0.25**3)])


def test_columns_follow_joint_ids_and_then_the_joints_without_one(motion):
    body = load_body_text(
        """\
format: ChoreonoidBody
format_version: 2.0
name: Arm
links:
  - { name: BASE, joint_type: fixed, mass: 1 }
  - { name: FREE, parent: BASE, joint_type: revolute, joint_axis: Z, mass: 1,
      inertia: [1,0,0,0,1,0,0,0,1] }
  - { name: SECOND, parent: BASE, joint_type: revolute, joint_id: 2, joint_axis: Z, mass: 1,
      inertia: [1,0,0,0,1,0,0,0,1] }
  - { name: FIRST, parent: BASE, joint_type: revolute, joint_id: 0, joint_axis: Z, mass: 1,
      inertia: [1,0,0,0,1,0,0,0,1] }
""",
        silent(),
    )
    assert [link.name for link in body.moving_links] == ["FIRST", "SECOND", "FREE"]
    read = motion("0 10 11 12 13\n1 20 21 22 23")
    assert_allclose(read.for_body(body), [[10, 12, 13], [20, 22, 23]])
    assert_allclose(motion("0 10").for_body(body), [[10, np.nan, np.nan]])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 1 2\n0.1 3\n", "2:1: bad-motion: expected 3 numbers, as in the first line, not 2"),
        ("0 1\n0 2\n", "2:1: bad-motion: times must increase, but 0 s follows 0 s"),
        ("0\n", "1:1: bad-motion: expected a time [s] and the positions of the joints, not a"),
        ("0 1\n1 nan\n", "2:1: bad-motion: all numbers of a motion must be finite"),
        ("0 1\n1 x\n", "2:1: bad-motion: expected numbers only: a time [s]"),
        ("items: {}", "1:1: not-a-motion: this is no motion: expected 'type: CompositeSeq'"),
        ("", "1:1: not-a-motion: this is no motion"),
        ("type: Vector3Seq", "1:7: not-a-motion: 'Vector3Seq' is no motion of a body"),
        ("type: CompositeSeq", "1:1: bad-motion: the motion has no component with the content"),
        ("{type: MultiValueSeq, frames: [[1]]}", "1:1: bad-motion: a sequence needs 'frame_rate'"),
        (
            "{type: MultiValueSeq, frame_rate: 9, num_parts: 2, frames: [[1, 2], [1]]}",
            "1:69: bad-motion: a frame needs 2 numbers here, not 1",
        ),
        (
            COMPOSITE.replace("XYZQWQXQYQZ", "ABC"),
            "12:16: bad-motion: a pose is written as XYZQWQXQYQZ, XYZQXQYQZQW, XYZRPY, not",
        ),
        (
            COMPOSITE.replace("1, 1, 0, 0, 0", "1, 0, 0, 0, 0"),
            "14:9: bad-motion: a frame needs the poses of links, written as XYZQWQXQYQZ",
        ),
        ("type: PoseSeq", "1:1: bad-motion: the sequence has no key pose with joint positions"),
        (
            POSES.replace("[ 0, 2 ]", "[ 0, 1e9 ]", 1),
            "5:45: bad-motion: a joint id must be a whole",
        ),
        (
            POSES.replace("time: 2", "time: 1e12"),
            "5:3: bad-motion: a motion cannot end at 1e+12 s",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_place(problem, text, expected):
    assert problem(text).startswith(expected)


def test_a_missing_file_is_an_error_with_its_name(tmp_path):
    with pytest.raises(ModelError, match=r"cannot read the motion '.*none.seq': No such file"):
        load_motion(tmp_path / "none.seq", silent())
