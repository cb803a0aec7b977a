"""A URDF of all that there is, against libraries that read it by themselves."""

import numpy as np
import pytest
from paths import ROOT
from urdf_parser_py import urdf
from urdf_parser_py.xml_reflection import core
from urdf_reader_tools import EXACT
from urdf_tools import origin_matrix
from verify_samples import silent

from hrp_model import BodyState, load_body
from hrp_model.rigid import Pose
from hrp_model.shapes.tessellate import shape_mesh

SINK = ROOT / "test" / "data" / "urdf" / "valid" / "kitchen_sink.urdf"
LEADING = {"turn": 0.7, "lift": -0.4, "reach": 0.15}


@pytest.fixture(scope="module")
def body():
    return load_body(SINK, silent())


def posed(body):
    """Return the state in which joints are where LEADING has them, and others follow."""
    state = BodyState(body)
    for i, link in enumerate(body.moving_links):
        mimic = link.joint.mimic
        leader = link.joint.name if mimic is None else body.link(mimic.link).joint.name
        state.q[i] = LEADING[leader] if mimic is None else mimic.position(LEADING[leader])
    state.p[0], state.R[0] = body.root.X_PL.p, body.root.X_PL.R
    state.calc_forward_kinematics()
    return state


def test_pinocchio_sees_the_same_kinematics_and_dynamics(body):
    pin = pytest.importorskip("pinocchio", reason="pinocchio reads URDFs independently of us")
    model = pin.buildModelFromUrdf(str(SINK), mimic=True)
    data = model.createData()
    q = pin.neutral(model)
    for name, value in LEADING.items():
        joint = model.joints[model.getJointId(name)]
        q[joint.idx_q : joint.idx_q + joint.nq] = (
            [np.cos(value), np.sin(value)] if joint.nq == 2 else [value]
        )
    state = posed(body)
    pin.framesForwardKinematics(model, data, q)
    for i, link in enumerate(body.links):
        pose = data.oMf[model.getFrameId(link.name)]
        np.testing.assert_allclose(state.p[i], pose.translation, **EXACT)
        np.testing.assert_allclose(state.R[i], pose.rotation, **EXACT)
    whole = sum(inertia.mass for inertia in model.inertias)
    assert body.total_mass == pytest.approx(whole, rel=1e-15)
    # What moves, about the world's origin: pinocchio leaves out what is fixed to it.
    moving = sum(
        (link.mass * (state.R[i] @ link.center_of_mass + state.p[i])
         for i, link in enumerate(body.links) if i), np.zeros(3)
    )  # fmt: skip
    center = pin.centerOfMass(model, data, q)
    np.testing.assert_allclose(moving / (whole - body.root.mass), center, **EXACT)
    lift = model.joints[model.getJointId("lift")].idx_v
    limits = body.link("boom").joint
    assert limits.position == (
        model.lowerPositionLimit[lift + 1],
        model.upperPositionLimit[lift + 1],
    )
    assert limits.velocity.upper == model.velocityLimit[lift]
    assert limits.effort.upper == model.effortLimit[lift]


def test_inertias_are_those_of_pinocchio(body):
    pin = pytest.importorskip("pinocchio", reason="pinocchio reads URDFs independently of us")
    model = pin.buildModelFromUrdf(str(SINK))
    for joint, link in (("turn", "turret"), ("lift", "boom"), ("follow", "finger")):
        theirs, ours = model.inertias[model.getJointId(joint)], body.link(link)
        assert ours.mass == theirs.mass
        np.testing.assert_allclose(ours.center_of_mass, theirs.lever, **EXACT)
        np.testing.assert_allclose(ours.inertia, theirs.inertia, **EXACT)


def test_urdf_parser_py_has_the_same_words_and_numbers(body, monkeypatch):
    complaints = []
    monkeypatch.setattr(core, "on_error", complaints.append)
    robot = urdf.Robot.from_xml_file(SINK)
    assert [text for text in complaints if "ros2_control" not in text] == []
    assert body.name == robot.name
    assert {link.name for link in robot.links} - {"world"} == {link.name for link in body.links}
    for link in body.links:
        element = robot.link_map[link.name]
        assert len(link.visual) == len(element.visuals)
        assert len(link.collision) == len(element.collisions)
        assert link.mass == (element.inertial.mass if element.inertial else 0.0)
        joint = robot.joint_map[robot.parent_map[link.name][0]]
        np.testing.assert_allclose(link.X_PL.matrix(), origin_matrix(joint.origin), **EXACT)
        assert link.joint.name == joint.name


def test_a_mesh_is_where_yourdfpy_has_it(body):
    yourdfpy = pytest.importorskip("yourdfpy", reason="yourdfpy reads URDFs independently of us")
    robot = yourdfpy.URDF.load(
        str(SINK), build_collision_scene_graph=True, load_collision_meshes=True
    )
    robot.update_cfg(LEADING)
    state = posed(body)
    for kind, scene in (("visual", robot.scene), ("collision", robot.collision_scene)):
        i = body.link_index("turret")
        [shape] = getattr(body.link("turret"), kind)
        placed = shape_mesh(shape.moved(Pose(state.R[i], state.p[i]).matrix())).vertices
        parents = scene.graph.transforms.parents
        [name] = [n for n in scene.graph.nodes_geometry if parents[n] == "turret"]
        T, geometry = scene.graph.get(name)
        theirs = scene.geometry[geometry].vertices @ T[:3, :3].T + T[:3, 3]
        np.testing.assert_allclose(
            [placed.min(axis=0), placed.max(axis=0)],
            [theirs.min(axis=0), theirs.max(axis=0)],
            atol=1e-6,
        )
