"""Small models with bright colours for tests of pages."""

import numpy as np

from hrp_model.body import Body, Joint, JointType, Link, Range
from hrp_model.geometry import Box, Material, Shape
from hrp_model.rigid import Pose

RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)

TWO_CUBES = """\
format: ChoreonoidBody
formatVersion: 2.0
name: {name}
links:
  - name: base
    jointType: fixed
    elements:
      - {{type: RigidBody, mass: 1.0, inertia: [0.01, 0, 0, 0, 0.01, 0, 0, 0, 0.01]}}
      - type: Shape
        geometry: {{type: Box, size: [0.2, 0.2, 0.2]}}
        appearance: {{material: {{diffuse: [1, 0, 0]}}}}
  - name: arm
    parent: base
    jointType: revolute
    jointAxis: z
    jointId: 0
    jointRange: [-90, 90]
    translation: [0, 0, 0.3]
    elements:
      - {{type: RigidBody, mass: 2.0, centerOfMass: [0.5, 0, 0],
         inertia: [0.01, 0, 0, 0, 0.01, 0, 0, 0, 0.01]}}
      - type: Shape
        translation: [0.5, 0, 0]
        geometry: {{type: Box, size: [0.2, 0.2, 0.2]}}
        appearance: {{material: {{diffuse: [0, 1, 0]}}}}
{more}"""


def cube(color, size=0.2):
    """A cube about the origin of its frame."""
    return Shape(Box(np.full(3, size)), material=Material(diffuse=tuple(c / 255 for c in color)))


def two_cubes(arm_name="arm"):
    """A red cube at the origin, and a green one on an arm that turns about x."""
    base = Link(
        name="base",
        parent=None,
        joint=Joint(type=JointType.FIXED, name="base"),
        mass=1.0,
        inertia=np.eye(3) * 0.01,
        visual=(cube(RED),),
    )
    arm = Link(
        name=arm_name,
        parent="base",
        joint=Joint(
            type=JointType.REVOLUTE,
            name=arm_name,
            id=0,
            axis=np.array([1.0, 0.0, 0.0]),
            position=Range(-1.5, 1.5),
        ),
        X_PL=Pose(p=np.array([0.0, 0.8, 0.4])),
        mass=3.0,
        inertia=np.eye(3) * 0.01,
        visual=(cube(GREEN),),
        collision=(cube(GREEN, 0.4),),
    )
    return Body(name="cubes", links=(base, arm))
