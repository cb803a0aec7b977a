"""Elements of URDF that urdf_parser_py lacks, described as it describes others."""

from __future__ import annotations

from typing import Any

from urdf_parser_py import urdf
from urdf_parser_py import xml_reflection as xmlr


class Origin(urdf.Pose):  # type: ignore[misc]
    """A pose that may give its rotation as a quaternion (URDF 1.1)."""

    quat_xyzw: list[float] | None = None


class Capsule(xmlr.Object):  # type: ignore[misc]
    """A capsule along Z; ``length`` is that of the cylinder between the two half spheres."""

    radius: float = 0.0
    length: float = 0.0


class Limit(urdf.JointLimit):  # type: ignore[misc]
    """Limits of a joint, all of them optional."""


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

# Replacements for classes of urdf_parser_py.
EXTENDED: dict[Any, Any] = {urdf.Pose: Origin, urdf.JointLimit: Limit}
GEOMETRIES: dict[str, Any] = {
    "box": urdf.Box,
    "capsule": Capsule,
    "cylinder": urdf.Cylinder,
    "mesh": urdf.Mesh,
    "sphere": urdf.Sphere,
}
# Attributes and elements of other programs that a Body does not need: ignored without a warning.
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
# Optional elements: their problems are warnings, and defaults are used.
OPTIONAL_TYPES: frozenset[Any] = frozenset(
    (
        urdf.LinkMaterial,
        urdf.Material,
        urdf.Color,
        urdf.Texture,
        urdf.JointCalibration,
        urdf.SafetyController,
    )
)
