"""What urdf_parser_py does not know of URDF, in its own manner."""

from __future__ import annotations

from typing import Any

from urdf_parser_py import urdf
from urdf_parser_py import xml_reflection as xmlr


class Origin(urdf.Pose):  # type: ignore[misc]
    """A pose that may give its rotation as a quaternion (URDF 1.1)."""

    quat_xyzw: list[float] | None = None


class Capsule(xmlr.Object):  # type: ignore[misc]
    """A cylinder along Z with a half sphere at each end; ``length`` is the cylinder's alone."""

    radius: float = 0.0
    length: float = 0.0


class Limit(urdf.JointLimit):  # type: ignore[misc]
    """Limits of a joint of which any may be missing."""


_number = (float, False)
xmlr.reflect(
    Origin,
    tag="origin",
    params=[
        xmlr.Attribute("xyz", "vector3", False, default=[0.0, 0.0, 0.0]),
        xmlr.Attribute("rpy", "vector3", False),
        xmlr.Attribute("quat_xyzw", "vector4", False),
    ],
)
xmlr.reflect(
    Capsule,
    tag="capsule",
    params=[xmlr.Attribute("radius", float), xmlr.Attribute("length", float)],
)
xmlr.reflect(
    Limit,
    tag="limit",
    params=[
        xmlr.Attribute(name, *_number)
        for name in ("lower", "upper", "velocity", "effort", "acceleration", "deceleration", "jerk")
    ],
)

# Read instead of a class of urdf_parser_py.
EXTENDED: dict[Any, Any] = {urdf.Pose: Origin, urdf.JointLimit: Limit}
GEOMETRIES: dict[str, Any] = {
    "box": urdf.Box,
    "capsule": Capsule,
    "cylinder": urdf.Cylinder,
    "mesh": urdf.Mesh,
    "sphere": urdf.Sphere,
}
# Known to one program or another, and nothing that a model here could say: left out silently.
IGNORED_NAMES: dict[Any, frozenset[str]] = {
    urdf.Link: frozenset(("type", "verbose", "self_collision_checking", "contact", "sensor")),
    urdf.Collision: frozenset(("verbose", "contact_coefficients", "group", "material")),
    urdf.Inertial: frozenset(("name",)),
    urdf.Joint: frozenset(("hardwareInterface", "compliance", "limits", "dont_collapse")),
    urdf.JointCalibration: frozenset(("reference_position",)),
    urdf.JointDynamics: frozenset(
        ("spring_stiffness", "spring_reference", "D", "K", "mu_coulomb", "mu_viscous")
    ),
    Limit: frozenset(("command_effort", "current", "gear_velocity")),
    urdf.Mesh: frozenset(("convex",)),
    urdf.LinkMaterial: frozenset(("specular", "emissive", "ambient")),
    urdf.Material: frozenset(("specular", "emissive", "ambient")),
}
# A robot can do without: what is wrong with one is a warning, and its default is used.
OPTIONAL_TYPES: frozenset[Any] = frozenset(
    (
        *(urdf.LinkMaterial, urdf.Material, urdf.Color, urdf.Texture),
        *(urdf.JointCalibration, urdf.SafetyController),
    )
)
