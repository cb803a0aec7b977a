"""Generated bodies, and an independent reader of URDF kinematics."""

import shutil
import subprocess
from pathlib import Path
from urllib.parse import unquote, urlparse

import numpy as np
import pytest
from urdf_parser_py import urdf
from urdf_parser_py.xml_reflection import core

from hrp_model.body import Body, Joint, JointType, Link, Range
from hrp_model.devices import Camera, ForceSensor, RangeSensor
from hrp_model.geometry import Box, Cylinder, Shape, Sphere
from hrp_model.rigid import Pose, axis_angle_matrix

needs_check_urdf = pytest.mark.skipif(
    not shutil.which("check_urdf"), reason="liburdfdom-tools is not installed"
)


def random_pose(rng):
    axis = rng.normal(size=3)
    return Pose(
        axis_angle_matrix(axis / np.linalg.norm(axis), rng.uniform(-3, 3)), rng.normal(size=3)
    )


def unit_vector(rng):
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


def random_body(seed, count=12):
    """Return a tree of links with every kind of joint that has one coordinate or none."""
    rng = np.random.default_rng(seed)
    kinds = [JointType.REVOLUTE, JointType.PRISMATIC, JointType.FIXED, JointType.TRACK]
    links = [
        Link(name="BASE", parent=None, joint=Joint(type=JointType.FREE, name="BASE"), mass=2.0)
    ]
    for i in range(count):
        square = rng.normal(size=(3, 3))
        joint = Joint(
            type=kinds[i % len(kinds)],
            name=f"J{i}",
            axis=unit_vector(rng),
            position=Range(-1.0 - i, 2.0 + i),
            velocity=Range(-3.5, 3.5),
            effort=Range(-70.1, 70.1),
        )
        links.append(
            Link(
                name=f"LINK{i}",
                parent=links[rng.integers(len(links))].name,
                joint=joint,
                X_PL=random_pose(rng),
                mass=rng.uniform(0.1, 5.0),
                center_of_mass=rng.normal(size=3),
                inertia=square @ square.T + np.eye(3),
                visual=(Shape(Box([1, 2, 3]), random_pose(rng).matrix()),),
                collision=(Shape(Sphere(0.5), random_pose(rng).matrix()),),
            )
        )
    devices = (
        Camera(name="EYE", link="LINK3", X_LS=random_pose(rng)),
        RangeSensor(name="LASER", link="LINK1", X_LS=random_pose(rng)),
        ForceSensor(name="FORCE", link="LINK0", X_LS=random_pose(rng)),
    )
    return Body(name="random", links=tuple(links), devices=devices)


def chain(*names, segments=(), **root):
    """Return a body of links in a row, each named like the joint above it."""
    links = []
    for i, name in enumerate(names):
        links.append(
            Link(
                name=name,
                parent=links[-1].name if links else None,
                joint=Joint(type=JointType.REVOLUTE if links else JointType.FIXED, name=name),
                info={"segments": segments[i]} if i < len(segments) else {},
                **(root if i == 0 else {}),
            )
        )
    return Body(name="chain", links=tuple(links))


def wheel(**joint):
    """Return a body of two links, the second on a joint with these attributes."""
    made = Joint(**{"type": JointType.REVOLUTE, "name": "AXLE", **joint})
    root = Link(name="FRAME", parent=None, joint=Joint(type=JointType.FIXED, name="FRAME"))
    rim = Shape(Cylinder(0.3, 0.1))
    rest = Link(name="WHEEL", parent="FRAME", joint=made, visual=(rim,), collision=(rim,))
    return Body(name="wheel", links=(root, rest))


def with_visuals(*shapes, collision=()):
    """Return a body of one link with these shapes."""
    joint = Joint(type=JointType.FIXED, name="ROOT")
    link = Link(name="ROOT", parent=None, joint=joint, visual=shapes, collision=tuple(collision))
    return Body(name="thing", links=(link,))


def body_poses(body, positions):
    """Return X_RL of each link by name, from the formula of the formats: X_RP X_PL J(q)."""
    poses = {body.root.name: np.eye(4)}
    for link in body.links[1:]:
        J = np.eye(4)
        q = positions.get(link.joint.name, 0.0)
        if link.joint.type is JointType.REVOLUTE:
            J[:3, :3] = axis_angle_matrix(link.joint.axis, q)
        elif link.joint.type is JointType.PRISMATIC:
            J[:3, 3] = q * link.joint.axis
        poses[link.name] = poses[link.parent] @ link.X_PL.matrix() @ J
    return poses


def urdf_poses(robot, positions):
    """Return the pose of each link of a parsed URDF in its root, by name."""
    poses = {robot.get_root(): np.eye(4)}
    waiting = list(robot.joints)
    while waiting:
        joint = next(j for j in waiting if j.parent in poses)
        waiting.remove(joint)
        J = np.eye(4)
        q = positions.get(joint.name, 0.0)
        if joint.type in ("revolute", "continuous"):
            J[:3, :3] = axis_angle_matrix(joint.axis, q)
        elif joint.type == "prismatic":
            J[:3, 3] = q * np.array(joint.axis)
        poses[joint.child] = poses[joint.parent] @ origin_matrix(joint.origin) @ J
    return poses


def origin_matrix(origin):
    """Return a URDF origin as a matrix; its angles are turns about fixed x, then y, then z."""
    T = np.eye(4)
    if origin is not None:
        roll, pitch, yaw = origin.rpy or (0, 0, 0)
        for axis, angle in (((1, 0, 0), roll), ((0, 1, 0), pitch), ((0, 0, 1), yaw)):
            T[:3, :3] = axis_angle_matrix(axis, angle) @ T[:3, :3]
        T[:3, 3] = origin.xyz or (0, 0, 0)
    return T


def file_of(uri):
    """Return the path that a file:// URI names."""
    return Path(unquote(urlparse(uri).path))


def parsed(text):
    """Return a URDF as urdf_parser_py reads it; its messages are failures."""

    def fail(message):
        raise AssertionError(message)

    quiet, core.on_error = core.on_error, fail
    try:
        return urdf.Robot.from_xml_string(text.encode())
    finally:
        core.on_error = quiet


def check_urdf(text, folder):
    """Return the errors of ROS's own parser."""
    file = folder / "robot.urdf"
    file.write_text(text, encoding="utf-8")
    done = subprocess.run(["check_urdf", file], capture_output=True, check=False)
    out, err = (stream.decode(errors="replace") for stream in (done.stdout, done.stderr))
    complained = done.returncode or err or "Error" in out or "Warning" in out
    return f"{done.returncode}: {out}{err}" if complained else ""
