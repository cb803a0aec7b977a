"""Bodies written in code, and worlds of them."""

import numpy as np

from hrp_model.body import Body, Joint, JointType, Link
from hrp_model.devices import ForceSensor
from hrp_model.geometry import Box, Shape
from hrp_model.rigid import Pose
from hrp_sim.engine.engine import PhysicsSettings, Placement
from hrp_sim.engine.ode import OdeEngine

G = 9.80665
X, Y, Z = np.eye(3)
REVOLUTE, PRISMATIC, FIXED = JointType.REVOLUTE, JointType.PRISMATIC, JointType.FIXED
FREE, TRACK = JointType.FREE, JointType.TRACK


def at(x=0.0, y=0.0, z=0.0, R=None):
    return Pose(np.eye(3) if R is None else R, np.array([x, y, z]))


def placed(geometry, X_FG=None):
    return Shape(geometry, (X_FG or Pose()).matrix())


def box_inertia(mass, size):
    x, y, z = np.square(size) * mass / 12.0
    return np.diag([y + z, x + z, x + y])


def root(name="BASE", *, free=False, mass=1.0, **link):
    joint = Joint(type=JointType.FREE if free else JointType.FIXED, name=name)
    link = {"inertia": np.eye(3) * 0.01} | link
    return Link(name=name, parent=None, joint=joint, mass=mass, **link)


def child(name, parent, kind, axis=Z, *, X_PL=None, mass=1.0, **options):
    known = ("position", "velocity", "effort", "initial", "damping", "friction", "id")
    known += ("stiffness", "rest_position")
    joint = {k: options.pop(k) for k in known if k in options}
    rotor = options.pop("rotor", 0.0)
    options = {"inertia": np.eye(3) * 0.01} | options
    return Link(
        name=name,
        parent=parent,
        joint=Joint(type=kind, name=name, axis=axis, equivalent_rotor_inertia=rotor, **joint),
        X_PL=X_PL or Pose(),
        mass=mass,
        **options,
    )


def lone(*shapes, name="thing", mass=1.0, inertia=None, com=(0.0, 0.0, 0.0)):
    inertia = np.eye(3) * 0.01 if inertia is None else inertia
    link = root(free=True, mass=mass, inertia=inertia, collision=shapes, center_of_mass=com)
    return Body(name=name, links=(link,))


def floor(name="floor", R=None):
    shape = placed(Box(np.array([20.0, 20.0, 1.0])), at(z=-0.5))
    body = Body(name=name, links=(root("FLOOR", mass=0.0, collision=(shape,)),))
    return Placement(name=name, body=body, X_WL=at(R=R), fixed=True)


def one_joint(kind, axis=Z, *, watched=False, free=False, **options):
    """A base, and a link ARM on one joint."""
    links = (root(free=free), child("ARM", "BASE", kind, axis, **options))
    sensors = (ForceSensor(name="f", link="ARM"),) if watched else ()
    return Body(name="one", links=links, devices=sensors)


def fixed(body, X_WL=None, **placement):
    return Placement(name=body.name, body=body, X_WL=X_WL or Pose(), fixed=True, **placement)


def moving(body, X_WL=None, name=None, **placement):
    return Placement(name=name or body.name, body=body, X_WL=X_WL or Pose(), **placement)


def world(*placements, **settings):
    """Return an engine with these bodies, and the bodies."""
    made = OdeEngine(PhysicsSettings(**settings))
    return made, *(made.add_body(p) for p in placements)
