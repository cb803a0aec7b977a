"""Joints between the bodies of a world file, and surfaces of their links."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hrp_model import Diagnostics, ModelError, Pose
from hrp_model.body import ExtraJointType
from hrp_sim import Simulation
from hrp_sim.control.handling import JointEntry
from hrp_sim.engine.engine import PhysicsError, Placement
from hrp_sim.world.advice import advise
from hrp_sim.world.config import BodyEntry
from hrp_sim.world.load import load_world

BLOCK = """\
format: ChoreonoidBody
format_version: 2.0
name: Block
links:
  - name: ROOT
    joint_type: free
    mass: 1
    inertia: [ 0.01, 0, 0, 0, 0.01, 0, 0, 0, 0.01 ]
    elements: [ { type: Shape, geometry: { type: Box, size: [ 0.2, 0.2, 0.2 ] } } ]
"""
WORLD = """\
bodies:
  - { model: block.body, name: hook, fixed: true, position: [ 0, 0, 2 ] }
  - { model: block.body, name: load, position: [ 0.5, 0, 2 ], rpy: [ 0, 0, 0.3 ] }
joints:
  - name: rope
    type: TYPE
    link1: { body: hook, link: ROOT, position: [ 0.25, 0, 0 ] }
    link2: { body: load, position: [ POSITION ] }
    axis: [ 0, 1, 0 ]
"""
# The point of the joint in the load, which is turned by 0.3 rad.
POSITION = f"{-0.25 * np.cos(0.3)}, {0.25 * np.sin(0.3)}, 0"


@pytest.fixture
def load(tmp_path):
    """Return a function that loads a world of this text, and its diagnostics."""
    (tmp_path / "block.body").write_text(BLOCK, encoding="utf-8")
    path = tmp_path / "world.yaml"

    def load(text):
        path.write_text(text, encoding="utf-8")
        return load_world(path, Diagnostics.silent())

    return load


def world(kind="hinge"):
    return WORLD.replace("TYPE", kind).replace("POSITION", POSITION)


def problems(load, text):
    with pytest.raises(ModelError) as error:
        load(text)
    return [
        (found.code, str(found.at).rpartition("world.yaml:")[2], found.message)
        for found in error.value.diagnostics
    ]


def test_a_load_on_a_hinge_swings_in_a_plane_and_a_reset_restores_the_joint(load):
    sim = Simulation(load(world()))
    motion = sim.bodies["load"].motion
    start = sim.state_hash()
    for _ in range(100):
        sim.run(0.01)
        assert_allclose(motion.p[0, 1], 0.0, atol=1e-6)
        assert_allclose(np.linalg.norm(motion.p[0] - [0.25, 0.0, 2.0]), 0.25, atol=1e-4)
    swung = sim.state_hash()
    assert motion.p[0, 2] != 2.0
    sim.handling.remove_joint("rope")
    sim.run(0.1)
    sim.reset()
    assert sim.state_hash() == start
    assert list(sim.handling.joints) == ["rope"]
    for _ in range(100):
        sim.run(0.01)
    assert sim.state_hash() == swung


def test_a_fixed_joint_keeps_the_orientation_at_the_start(load):
    sim = Simulation(load(world("fixed")))
    R = sim.bodies["load"].motion.R[0].copy()
    sim.run(0.5)
    assert_allclose(sim.bodies["load"].motion.R[0], R, atol=1e-4)
    assert_allclose(sim.bodies["load"].motion.p[0], [0.5, 0.0, 2.0], atol=1e-4)


@pytest.mark.parametrize(
    ("kind", "moved", "gap"),
    [("ball", [0, 0, 0.3], 300), ("xy", [0, 0, 0.3], 300), ("xy", [0, 0.3, 0], None),
     ("z", [0, 0.3, 0], 300), ("z", [0, 0, 0.3], None), ("hinge", [0, 0, 0.0005], None)],
)  # fmt: skip
def test_a_joint_that_is_open_at_the_start_is_advised_against(load, kind, moved, gap):
    position = np.array([0.5, 0.0, 2.0]) + moved
    found = advise(load(world(kind).replace("[ 0.5, 0, 2 ]", str(position.tolist()))))
    assert "nothing-below" not in [x.code for x in found]
    messages = [x.message for x in found if x.code == "open-at-start"]
    assert len(messages) == (gap is not None)
    assert all(f"joint 'rope' to body 'load' is open by {gap} mm" in text for text in messages)


def test_a_written_rotation_is_the_closed_one(load):
    text = world("fixed").replace("[ 0.25, 0, 0 ] }", "[ 0.25, 0, 0 ], rpy: [ 0, 0, 0.3 ] }")
    text = text.replace("rpy: [ 0, 0, 0.3 ] }\njoints", "rpy: [ 0, 0, 0.35 ] }\njoints")
    sim = Simulation(load(text))
    sim.run(1.0)
    yaw = np.arctan2(*sim.bodies["load"].motion.R[0, [1, 0], 0])
    assert_allclose(yaw, 0.3, atol=1e-4)


def test_the_joint_of_a_removed_body_stays_away_after_a_reset(load):
    sim = Simulation(load(world()))
    entry = BodyEntry(placement=Placement(name="hook", body=sim.bodies["hook"].body))
    sim.remove("hook")
    assert not sim.handling.joints
    sim.reset()
    assert not sim.handling.joints
    sim.spawn(entry)  # another one of that name
    sim.reset()
    assert not sim.handling.joints
    sim.run(0.1)


def test_a_moved_body_is_free_until_a_reset(load):
    sim = Simulation(load(world()))
    body = sim.bodies["load"].body
    sim.move(Placement(name="load", body=body, X_WL=Pose(p=np.array([3.0, 0.0, 3.0]))))
    sim.run(0.2)
    assert_allclose(sim.bodies["load"].motion.p[0, :2], [3.0, 0.0], atol=1e-9)
    sim.reset()
    assert list(sim.handling.joints) == ["rope"]


def test_joints_are_added_at_run_time(load):
    sim = Simulation(load(world().partition("joints:")[0]))
    ends = {"bodies": ("hook", "load"), "links": ("ROOT", "ROOT")}
    at = {"X_AJ": Pose(p=np.array([0.5, 0.0, 0.0]))}
    sim.handling.add_joint(JointEntry(name="j", type=ExtraJointType.BALL, **ends, **at))
    sim.run(0.2)
    assert_allclose(sim.bodies["load"].motion.p[0], [0.5, 0.0, 2.0], atol=1e-5)
    with pytest.raises(PhysicsError, match="a joint 'j' already"):
        sim.handling.add_joint(JointEntry(name="j", type=ExtraJointType.BALL, **ends))
    with pytest.raises(KeyError, match="no link 'TIP'"):
        sim.handling.add_joint(
            JointEntry(name="k", type=ExtraJointType.BALL, **ends | {"links": ("ROOT", "TIP")})
        )
    with pytest.raises(KeyError, match="no joint between bodies 'k'"):
        sim.handling.remove_joint("k")


@pytest.mark.parametrize(
    ("old", "new", "code", "place", "words"),
    [
        ("body: load,", "body: laod,", "unknown-body", "8:20", "Did you mean 'load'?"),
        ("link: ROOT", "link: ROT", "unknown-link", "7:32", "Did you mean 'ROOT'?"),
        ("type: hinge", "type: hing", "unknown-word", "6:11", "Did you mean 'hinge'?"),
        ("    type: hinge\n", "", "missing-key", "5:5", "a joint needs a 'type': ball, xy"),
        ("body: load,", "body: hook,", "same-body", "8:12", "it must connect two bodies"),
        ("[ 0, 1, 0 ]", "[ 0, 0, 0 ]", "zero-axis", "9:11", "must not be zero"),
        ("link2: {", "link3: {", "missing-key", "5:5", "a joint needs 'link2: {body: NAME"),
        ("link1: { body: hook, link: ROOT, position: [ 0.25, 0, 0 ] }", "link1: hook",
         "wrong-type", "7:12", "mapping"),
    ],
)  # fmt: skip
def test_mistakes_are_located(load, old, new, code, place, words):
    assert old in world()
    found = problems(load, world().replace(old, new))
    assert (code, place) in [x[:2] for x in found]
    assert any(words in x[2] for x in found)


def test_two_joints_of_one_name(load):
    joint = world().partition("joints:\n")[2]
    found = problems(load, world() + joint)
    assert [x[0] for x in found] == ["duplicate-name"]


def test_two_fixed_bodies_cannot_be_joined(load):
    text = world().replace("name: load,", "name: load, fixed: true,")
    with pytest.raises(PhysicsError, match="neither of 'hook/ROOT' and 'load/ROOT' can move"):
        Simulation(load(text))


def test_a_link_of_the_world_file_is_a_conveyor(load):
    text = """\
bodies:
  - { model: block.body, name: belt, fixed: true, surface_velocity: { ROOT: [ 0.05, 0, 0 ] } }
  - { model: block.body, name: load, position: [ 0, 0, 0.2 ] }
"""
    sim = Simulation(load(text))
    for _ in range(2):
        sim.run(0.5)
        assert_allclose(sim.bodies["load"].motion.v[0, 0], 0.05, atol=1e-4)
        sim.reset()
    found = problems(load, text.replace("{ ROOT:", "{ ROT:"))
    assert [(x[0], x[1]) for x in found] == [("unknown-link", "2:71")]
