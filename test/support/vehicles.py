"""Generated vehicles."""

from dataclasses import replace
from math import pi

from hrp_model.body import Body, Joint, JointType, Link, Range
from hrp_model.geometry import Box, Cylinder, Shape
from hrp_model.rigid import Pose


def wheel(name, p, *, radius=0.1, shape=None, parent="CHASSIS", **joint):
    rim = Shape(Cylinder(radius, 0.04)) if shape is None else shape
    made = Joint(**{"type": JointType.REVOLUTE, "name": name, "axis": [0, 1, 0], **joint})
    return Link(
        name=name,
        parent=parent,
        joint=made,
        X_PL=Pose(p=p),
        mass=1.0,
        visual=(rim,),
        collision=(rim,),
    )


def vehicle(*wheels, root=JointType.FREE, pose=None, chassis=(0.4, 0.3, 0.1)):
    box = (Shape(Box(list(chassis))),)
    frame = Link(
        name="CHASSIS",
        parent=None,
        joint=Joint(type=root, name="CHASSIS"),
        X_PL=pose or Pose(p=[1, 2, 0.1]),
        visual=box,
        collision=box,
    )
    return Body(name="vehicle", links=(frame, *wheels))


def car(**motor):
    """Return a car: wheels at x = -0.3 with motors, and at 0.3, steered by up to 30 degrees."""
    parts = [wheel(f"R{y}", [-0.3, y, 0], id=0, **motor) for y in (-0.2, 0.2)]
    for y in (-0.2, 0.2):
        limits = {"axis": [0, 0, 1], "position": Range(-pi / 6, pi / 6)}
        hub = wheel(f"S{y}", [0.3, y, 0], **limits)
        parts += [replace(hub, visual=(), collision=()), wheel(f"F{y}", [0] * 3, parent=hub.name)]
    return vehicle(*parts)
