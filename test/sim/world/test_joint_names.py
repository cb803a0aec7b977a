"""Joints are called alike by who tells of them, who commands them and who describes them."""

from contextlib import closing
from xml.etree import ElementTree

import pytest

from hrp_model import Body, Diagnostics, Joint, JointType, Link, load_body
from hrp_model.body import Mimic
from hrp_model.frames import with_joint_names
from hrp_model.urdf import body_to_urdf
from hrp_sim import JointCommand, Simulation, load_world
from hrp_sim.run.requests.resources import Resource, read_model

LINK = """\
  - name: "{0}"
    joint_name: '{1}'
    parent: {2}
    joint_type: revolute
    joint_id: {3}
    joint_axis: Z
    mass: 1
    inertia: [1,0,0,0,1,0,0,0,1]
"""
NAMES = ("arm $(x)", " arm $(x)", "arm _(x)", "wrist", "wrist")
LEGAL = ["arm _(x)", "arm _(x)_2", "arm _(x)_3", "wrist", "wrist_2"]


@pytest.fixture
def model(tmp_path):
    parents = ["BASE", *(f"L{i}" for i in range(len(NAMES)))]
    links = [LINK.format(f"L{i}", name, parents[i], i) for i, name in enumerate(NAMES)]
    base = "  - { name: BASE, joint_type: fixed, mass: 1, inertia: [1,0,0,0,1,0,0,0,1] }\n"
    path = tmp_path / "robot.body"
    head = "format: ChoreonoidBody\nformat_version: 2.0\nname: Robot\nlinks:\n"
    path.write_text(head + base + "".join(links), encoding="utf-8")
    return path


@pytest.fixture
def heard():
    return Diagnostics.silent()


def told(simulation):
    return list(simulation.sensors["joint_states"].joints)


def moving_joints(urdf):
    joints = ElementTree.fromstring(urdf).iter("joint")
    return [j.get("name") for j in joints if j.get("type") in ("revolute", "continuous")]


def test_states_and_the_urdf_have_the_same_names(model, heard):
    with closing(Simulation(load_world(model, heard))) as simulation:
        assert told(simulation) == LEGAL
    renamed = [d for d in heard.found if "name" in d.code]
    assert [d.code for d in renamed] == [
        "duplicate-joint-name",
        *["illegal-name"] * 2,
        *["joint-name-collision"] * 2,
    ]
    described = load_body(model, heard)  # as model_node reads it
    assert moving_joints(body_to_urdf(described, diagnostics=heard)) == LEGAL


def test_commands_and_world_files_use_them_too(model, tmp_path, heard):
    world = tmp_path / "world.yaml"
    joints = "joints: { 'arm _(x)_2': 0.25, wrist_2: 0.5 }"
    world.write_text(f"bodies: [ {{ model: robot.body, {joints} }} ]", encoding="utf-8")
    with closing(Simulation(load_world(world, heard))) as simulation:
        motion = simulation.bodies["Robot"].motion
        assert motion.q.tolist() == pytest.approx([0.0, 0.25, 0.0, 0.0, 0.5], abs=1e-12)
        simulation.command("Robot", JointCommand(names=("arm _(x)_3",), position=(0.75,)))
        for _ in range(3000):
            simulation.step()
        assert motion.q.tolist() == pytest.approx([0.0, 0.25, 0.75, 0.0, 0.5], abs=5e-3)


def test_a_body_that_is_spawned_has_them(model, heard):
    body = read_model(Resource(uri=str(model)), heard)
    assert [link.joint.name for link in body.moving_links] == LEGAL


def chain(*names):
    parents = (None, *(f"L{i}" for i in range(len(names))))
    return Body(
        name="chain",
        links=tuple(
            Link(
                name=f"L{i}",
                parent=parent,
                joint=Joint(
                    type=JointType.FREE if i == 0 else JointType.REVOLUTE,
                    name=name,
                    mimic=Mimic("L1", 2.0) if i == 2 else None,
                ),
            )
            for i, (name, parent) in enumerate(zip(names, parents, strict=False))
        ),
    )


def test_the_root_makes_way_since_no_urdf_has_its_joint():
    named = with_joint_names(chain("A", "A", "A"))
    assert [link.joint.name for link in named.links] == ["A_3", "A", "A_2"]
    assert named.links[2].joint.mimic == Mimic("L1", 2.0)


def test_a_body_of_good_names_stays_itself():
    body = chain("ROOT", "A", "B")
    assert with_joint_names(body) is body
    assert with_joint_names(with_joint_names(chain("A", "A", "A"))).links[0].joint.name == "A_3"
