"""The robot in the scene of a page: its pixels are where a projection of its links says."""

import numpy as np
import pytest
from browser_tools import client_of

pytest.importorskip("viser")

from hrp_model.body import Body, Joint, JointType, Link
from hrp_model.geometry import Box, Material, Shape
from hrp_model.rigid import Pose, rpy_matrix
from hrp_model.view.robot import RobotView
from hrp_model.view.viewer import Viewer

RED, GREEN = (255, 0, 0), (0, 255, 0)


def cube(color, size=0.2):
    material = Material(diffuse=tuple(c / 255 for c in color))
    return Shape(Box(np.full(3, size)), material=material)


def two_cubes():
    """A red cube at the origin, and a green one on an arm along x."""
    base = Link(
        name="base",
        parent=None,
        joint=Joint(type=JointType.FIXED, name="base"),
        mass=1.0,
        visual=(cube(RED),),
    )
    arm = Link(
        name="arm",
        parent="base",
        joint=Joint(type=JointType.REVOLUTE, name="arm"),
        X_PL=Pose(p=[0.0, 0.8, 0.4]),
        mass=2.0,
        visual=(cube(GREEN),),
    )
    return Body(name="cubes", links=(base, arm))


def test_links_are_drawn_where_a_projection_says_and_move(pages):
    with Viewer(0) as viewer:
        robot = RobotView(viewer, "cubes", two_cubes())
        viewer.look_at(robot.bounds())
        page = pages.open(viewer.address)
        camera = client_of(viewer, page).camera
        p = np.array([[0.0, 0.0, 0.0], [0.0, 0.8, 0.4]])
        R = np.stack([np.eye(3)] * 2)
        page.wait_for_point(RED, p[0], camera)
        page.wait_for_point(GREEN, p[1], camera)
        before = page.project(p[1], camera)
        p[1] = [0.0, -0.5, 0.3]
        R[1] = rpy_matrix(0.3, 0.2, 0.1)
        robot.move(p, R)
        page.wait_for_point(GREEN, p[1], camera)
        assert not page.shows(GREEN, before)
