"""URDF 1.1 and 1.2: capsules, quaternions, limits of acceleration; read back, and by pinocchio."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from each_case import all_cases
from paths import ROOT
from silent_diagnostics import silent
from urdf_tools import random_body

from hrp_model import load_body, load_body_text
from hrp_model.body import Body, Joint, JointType, Link
from hrp_model.cli.main import main
from hrp_model.geometry import Capsule, Shape
from hrp_model.rigid import Pose, rpy_matrix
from hrp_model.urdf import UrdfOptions, UrdfVersion, body_to_urdf, convert

VERSIONS = list(UrdfVersion)
ARM = ROOT / "test" / "data" / "mjcf" / "arm.xml"


def limited(**limits):
    """Return a body with one joint, and a capsule that is placed in its link."""
    X_LG = Pose(rpy_matrix(0.3, -1.2, 2.0), np.array([0.1, 0.2, 0.3]))
    capsule = Shape(Capsule(0.1, 0.5), X_LG.matrix() @ np.diag([2.0, 2.0, 2.0, 1.0]))
    joint = Joint(type=JointType.REVOLUTE, name="j", id=0, **limits)
    X_PL = Pose(rpy_matrix(1.0, np.pi / 2.0, -0.5), np.array([0.0, 0.0, 1.0]))
    root = Link(name="a", parent=None, joint=Joint(type=JointType.FIXED, name="a"), mass=1.0)
    link = Link(name="b", parent="a", joint=joint, X_PL=X_PL, mass=1.0, collision=(capsule,))
    return Body(name="robot", links=(root, link))


def written(body, version, folder=None):
    """Return the URDF of a body."""
    options = UrdfOptions(version=version)
    return convert(body, folder, options=options, diagnostics=silent()).urdf


@pytest.mark.parametrize("version", VERSIONS)
def test_the_version_is_written(version):
    assert ElementTree.fromstring(written(limited(), version)).get("version") == version.value


def test_without_an_option_it_is_1_0():
    body = limited(max_jerk=7.0)
    assert body_to_urdf(body, diagnostics=silent()) == written(body, UrdfVersion.V1_0)
    for word in ("capsule", "quat_xyzw", "jerk"):
        assert word not in written(body, UrdfVersion.V1_0)


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_capsules_stay_capsules(version, tmp_path):
    text = written(limited(), version, tmp_path)
    assert list(tmp_path.iterdir()) == []  # no meshes
    [shape] = load_body_text(text, silent()).link("b").collision
    [before] = limited().link("b").collision
    assert (shape.geometry.radius, shape.geometry.height) == pytest.approx((0.2, 1.0))
    moved = before.T_FG @ np.diag([0.5, 0.5, 0.5, 1.0])
    np.testing.assert_allclose(shape.T_FG, moved, atol=1e-12)


def test_a_stretched_capsule_stays_a_mesh(tmp_path):
    body = limited()
    [shape] = body.link("b").collision
    oval = replace(shape, T_FG=shape.T_FG @ np.diag([1.0, 2.0, 1.0, 1.0]))
    links = (body.links[0], replace(body.links[1], collision=(oval,)))
    text = written(replace(body, links=links), UrdfVersion.V1_1, tmp_path)
    assert "<mesh" in text
    assert "<capsule" not in text


def test_limits_of_acceleration_are_read_back_from_1_2():
    limits = {"max_acceleration": 3.0, "max_deceleration": 4.0, "max_jerk": 55.0}
    for version, expected in (("1.1", np.inf), ("1.2", 3.0)):
        joint = (
            load_body_text(written(limited(**limits), UrdfVersion(version)), silent())
            .link("b")
            .joint
        )
        assert joint.max_acceleration == expected
    assert (joint.max_deceleration, joint.max_jerk) == (4.0, 55.0)
    assert "deceleration" not in written(limited(max_jerk=1.0), UrdfVersion.V1_2)


@all_cases("seed", range(4))
@all_cases("version", VERSIONS)
def test_poses_are_read_back(seed, version):
    body = random_body(seed)
    again = load_body_text(written(body, version), silent())
    for link in body.links[1:]:
        X = again.link(link.name).X_PL.matrix()
        np.testing.assert_allclose(X, link.X_PL.matrix(), atol=1e-12)


@pytest.mark.parametrize("version", VERSIONS)
def test_pinocchio_reads_the_same_robot(version):
    pin = pytest.importorskip("pinocchio", reason="pinocchio reads URDFs independently of us")
    if int(pin.__version__.split(".")[0]) < 4 and version is not UrdfVersion.V1_0:
        pytest.skip("this pinocchio reads URDF 1.0")
    model = pin.buildModelFromXML(written(limited(), version))
    place = model.jointPlacements[1]
    expected = limited().link("b").X_PL
    np.testing.assert_allclose(place.rotation, expected.R, atol=1e-12)
    np.testing.assert_allclose(place.translation, expected.p, atol=1e-12)


def test_the_command_writes_versions_and_refuses_readers_of_1_0(capsys):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    assert main(["urdf", str(ARM), "--urdf-version", "1.1"]) == 0
    text = capsys.readouterr().out
    assert '<capsule radius="0.05"' in text
    links = {link.name for link in load_body_text(text, silent()).links}
    assert links >= {link.name for link in load_body(ARM, silent()).links}
    for option in ("--verify", "--mujoco"):
        assert main(["urdf", str(ARM), "--urdf-version", "1.2", option]) == 2
        assert "exclude each other" in capsys.readouterr().err
