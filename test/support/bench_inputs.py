"""Generate model files of any size for the benchmarks."""

from __future__ import annotations

import numpy as np

HEADER = "format: ChoreonoidBody\nformat_version: 2.0\nangle_unit: degree\n"


def surface(side: int):
    """Return points of shape (side^2, 3) of a wavy surface, and its triangles, shape (m, 3)."""
    x, y = np.meshgrid(np.linspace(-1.0, 1.0, side), np.linspace(-1.0, 1.0, side))
    points = np.stack((x, y, 0.1 * np.sin(5.0 * x) * np.cos(4.0 * y)), axis=-1).reshape(-1, 3)
    number = np.arange(side * side).reshape(side, side)
    a, b = number[:-1, :-1].ravel(), number[:-1, 1:].ravel()
    c, d = number[1:, 1:].ravel(), number[1:, :-1].ravel()
    return points, np.concatenate((np.stack((a, b, c), axis=1), np.stack((a, c, d), axis=1)))


def listed(rows, form: str) -> str:
    return ",\n".join(form % tuple(row) for row in rows)


def mesh_wrl(side: int) -> str:
    points, triangles = surface(side)
    return (
        "#VRML V2.0 utf8\nShape { geometry IndexedFaceSet {\ncoord Coordinate { point [\n"
        f"{listed(points, '%.6f %.6f %.6f')}\n] }}\ncoordIndex [\n"
        f"{listed(triangles, '%d, %d, %d, -1')}\n] }} }}\n"
    )


def mesh_body(side: int) -> str:
    points, triangles = surface(side)
    return (
        f"{HEADER}name: Mesh\nlinks:\n  - name: ROOT\n    joint_type: fixed\n    elements:\n"
        "      Shape:\n        geometry:\n          type: IndexedFaceSet\n          vertices: [\n"
        f"{listed(points, '            %.6f, %.6f, %.6f')} ]\n          faces: [\n"
        f"{listed(triangles, '            %d, %d, %d, -1')} ]\n"
    )


def robot_body(links: int) -> str:
    """Return a chain of links with two shapes each; every eighth anchors the looks of the next."""
    return f"{HEADER}name: Chain\nroot_link: LINK0\nlinks:\n" + "".join(
        map(body_link, range(links))
    )


def body_link(i: int) -> str:
    looks = f"LOOKS{i // 8}"
    new_looks = f"&{looks} {{ material: {{ diffuse: [ 0.6, 1.0, 0.{i % 10} ] }} }}"
    joint = f"parent: LINK{i - 1}\n    joint_type: revolute\n    joint_id: {i - 1}"
    return f"""  -
    name: LINK{i}
    {joint if i else "joint_type: free"}
    translation: [ 0.01, {i / 1000}, 0.1 ]
    joint_axis: [ 0, {i % 2}, {1 - i % 2} ]
    joint_range: [ -90, 90 ]
    joint_velocity_range: [ -180, 180 ]
    center_of_mass: [ 0, 0.01, -0.02 ]
    mass: {1 + i % 7}.5
    inertia: [
      0.02, 0, 0,
      0, 0.02, 0,
      0, 0, 0.02 ]
    elements:
      -
        type: Shape
        appearance: {f"*{looks}" if i % 8 else new_looks}
        geometry: {{ type: Box, size: [ 0.05, 0.0{1 + i % 9}, 0.1 ] }}
      -
        type: Transform
        translation: [ 0, 0, 0.05 ]
        rotation: [ 1, 0, 0, 90 ]
        elements:
          Shape:
            appearance: *{looks}
            geometry: {{ type: Cylinder, radius: 0.025, height: 0.05 }}
"""


def robot_wrl(joints: int) -> str:
    """Return a robot of many small nodes: a trunk, and limbs of twelve joints in a row."""
    limbs = "\n".join(limb(i, min(12, joints - i)) for i in range(0, joints, 12))
    return f"""#VRML V2.0 utf8
DEF ROBOT Humanoid {{ humanoidBody [
DEF TRUNK Joint {{ jointType "free" children [ {segment("TRUNK", 0)}
{limbs}
] }} ] }}
"""


def limb(first: int, length: int) -> str:
    opened = "\n".join(
        f"""DEF JOINT{i} Joint {{
  jointType "rotate" jointId {i} jointAxis 0 {i % 2} {1 - i % 2}
  translation 0.01 {i / 1000} 0.1
  ulimit [1.5] llimit [-1.5] uvlimit [6.2] lvlimit [-6.2]
  children [ {segment(f"JOINT{i}", i)}"""
        for i in range(first, first + length)
    )
    return opened + "] }" * length


def segment(name: str, i: int) -> str:
    return f"""DEF {name}_LINK Segment {{
    mass {1 + i % 7}.5 centerOfMass 0 0.01 -0.02
    momentsOfInertia [ 0.02 0 0 0 0.02 0 0 0 0.02 ]
    children [
      Transform {{ translation 0 0 0.05 rotation 1 0 0 1.5708 children [
        Shape {{
          appearance Appearance {{ material Material {{ diffuseColor 0.6 1.0 0.{i % 10} }} }}
          geometry Cylinder {{ radius 0.025 height 0.05 }}
        }} ] }}
      Shape {{
        appearance Appearance {{ material Material {{ diffuseColor 0.{i % 10} 0.5 0.5 }} }}
        geometry Box {{ size 0.05 0.0{1 + i % 9} 0.1 }}
      }}
    ]
  }}"""
