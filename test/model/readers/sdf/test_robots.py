"""SDF robots written by hand, as read by us and as built in pinocchio."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from paths import ROOT
from silent_diagnostics import silent

from hrp_model import load_body

pin = pytest.importorskip("pinocchio", reason="pinocchio computes independently of us")
from pinocchio_states import EXACT, check_as_in_pinocchio  # noqa: E402 - needs pinocchio

DATA = ROOT / "test" / "data"


def numbers(element, path, default="0 0 0 0 0 0"):
    return np.array(element.findtext(path, default).split(), float)


def placement(element):
    x = numbers(element, "pose")
    return pin.SE3(pin.rpy.rpyToMatrix(*x[3:]), x[:3])


def inertia(link):
    xx, xy, xz, yy, yz, zz = (
        float(link.findtext(f"inertial/inertia/i{name}", "0"))
        for name in ("xx", "xy", "xz", "yy", "yz", "zz")
    )
    I_C = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    about_center = pin.Inertia(float(link.findtext("inertial/mass")), np.zeros(3), I_C)
    return placement(link.find("inertial")).act(about_center)


def built(path):
    """Return pinocchio's model of a robot whose links are all placed in the <model>."""
    model_element = ET.parse(path).getroot().find("model")
    links = {link.get("name"): link for link in model_element.findall("link")}
    root = next(iter(links))
    model = pin.Model()
    joints = {root: model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")}
    model.appendBodyToJoint(joints[root], inertia(links[root]), pin.SE3.Identity())
    model.addFrame(pin.Frame(root, joints[root], pin.SE3.Identity(), pin.FrameType.BODY))
    for joint in model_element.findall("joint"):
        parent, child = joint.findtext("parent"), joint.findtext("child")
        M_PC = placement(links[parent]).actInv(placement(links[child]))
        M_CJ = placement(joint)
        axis = numbers(joint, "axis/xyz")
        if joint.findtext("axis/use_parent_model_frame") == "true":
            axis = (placement(links[child]) * M_CJ).rotation.T @ axis
        kind = joint.get("type")
        of_pin = pin.JointModelRevoluteUnaligned
        if kind == "prismatic":
            of_pin = pin.JointModelPrismaticUnaligned
        j = model.addJoint(joints[parent], of_pin(axis), M_PC * M_CJ, joint.get("name"))
        model.appendBodyToJoint(j, inertia(links[child]), M_CJ.inverse())
        joints[child] = j
        # The frame of our link: at its joint, in the axes of the <link>.
        X = pin.SE3(M_CJ.rotation.T, np.zeros(3))
        model.addFrame(pin.Frame(child, j, X, pin.FrameType.BODY))
    return model


def test_an_arm_is_that_of_its_urdf():
    urdf = DATA / "descriptions" / "arms_description" / "urdf" / "scara.urdf"
    body, twin = load_body(DATA / "sdf" / "scara.sdf", silent()), load_body(urdf, silent())
    check_as_in_pinocchio(body, pin.buildModelFromUrdf(str(urdf)))
    for link in body.moving_links:
        joint, other = link.joint, twin.link(link.name).joint
        assert (joint.position, joint.velocity, joint.effort) == (
            (other.position, other.velocity, other.effort)
        )
    np.testing.assert_allclose(body.root.X_PL.p, [0.1, 0.2, 0.8], **EXACT)


def test_a_base_whose_links_are_placed_in_the_model():
    path = DATA / "sdf" / "tug.sdf"
    body = load_body(path, silent())
    check_as_in_pinocchio(body, built(path))
    assert body.root.X_PL.p.tolist() == [1.0, 2.0, 0.12]
    assert body.link("finger_b").joint.mimic.link == "finger_a"
