"""A body with everything that a URDF can represent, written as one."""

from xml.etree import ElementTree

import numpy as np
from paths import SHARED
from silent_diagnostics import silent
from urdf_tools import random_pose

from hrp_model.body import Body, Joint, JointType, Link, Range
from hrp_model.devices import Camera, RangeSensor
from hrp_model.geometry import Box, Cylinder, Material, Mesh, Shape, Sphere
from hrp_model.urdf import convert
from hrp_model.verify import verify

WEDGE = Mesh(
    [[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
)
RED = Material(name="red", diffuse=(1.0, 0.2, 0.1))
AXIS = np.array([0.6, 0.0, 0.8])


def main_models():
    """Return the models in the list beside them; none without a list."""
    table = SHARED / "models" / "README.md"
    lines = table.read_text(encoding="utf-8").splitlines() if table.is_file() else []
    cells = [line.strip("| ").partition(" | ")[0] for line in lines if line.startswith("|")]
    return [cell for cell in cells if cell.endswith((".wrl", ".body")) and "template" not in cell]


def crane():
    """Return a body whose numbers are all different."""
    rng = np.random.default_rng(5)

    def link(name, parent, kind, shape, **joint):
        square = rng.normal(size=(3, 3))
        inertia = square @ square.T
        placed = Shape(shape, random_pose(rng).matrix(), RED)
        return Link(
            name=name,
            parent=parent,
            joint=Joint(type=kind, name=f"{name}_JOINT", velocity=Range(-3, 3), **joint),
            X_PL=random_pose(rng),
            mass=rng.uniform(1.0, 5.0),
            center_of_mass=rng.normal(size=3),
            inertia=np.trace(inertia) * np.eye(3) - inertia,  # of a real body
            visual=(placed,),
            collision=(placed,),
        )

    limits = {"position": Range(-1.0, 2.0), "effort": Range(-70, 70), "axis": AXIS}
    motor = {"equivalent_rotor_inertia": 0.3, "damping": 0.25, "friction": 0.5}
    links = (
        link("WAGON", None, JointType.FREE, Box([1, 2, 3])),
        link("TOWER", "WAGON", JointType.REVOLUTE, Cylinder(0.5, 2.0), id=1, axis=AXIS),
        link("BOOM", "TOWER", JointType.REVOLUTE, WEDGE, id=0, **limits, **motor),
        link("TROLLEY", "BOOM", JointType.PRISMATIC, Sphere(0.4), id=2, **limits),
        link("HOOK", "TROLLEY", JointType.FIXED, WEDGE),
    )
    devices = (
        Camera(name="EYE", link="HOOK", X_LS=random_pose(rng)),
        RangeSensor(name="LASER", link="BOOM", X_LS=random_pose(rng)),
    )
    return Body(name="crane", links=links, devices=devices)


def written(body, folder, options=None):
    """Write a body as URDF with its meshes, and return the file."""
    made = convert(body, folder / "meshes", options=options, diagnostics=silent())
    path = folder / "robot.urdf"
    path.write_text(made.urdf, encoding="utf-8")
    return path


def report_of(body, folder, options=None, **kwargs):
    """Return the report on the URDF of a body."""
    return verify(body, written(body, folder, options), options, **kwargs)


def sabotaged(folder, sabotage, body=None):
    """Return the report on a URDF that was changed after writing."""
    body = crane() if body is None else body
    path = written(body, folder)
    tree = ElementTree.parse(path)
    sabotage(tree.getroot())
    tree.write(path)
    return verify(body, path)


def row(report, library, quantity):
    """Return the one row of a library and a quantity."""
    (found,) = (x for x in report.rows_of(library) if x.quantity == quantity)
    return found
