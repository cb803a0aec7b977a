"""Convert elements to objects of urdf_parser_py, reporting every problem with its place.

``urdf_parser_py`` describes as data which elements and attributes URDF has, their types, and
which are required; elements that it lacks are described here in the same way. Its own parser stops
at the first problem and reports no lines; so the same objects are made here from elements with
places.
"""

from __future__ import annotations

from collections.abc import Collection
from math import isfinite, isnan
from typing import Any, TypeAlias

from urdf_parser_py import urdf
from urdf_parser_py import xml_reflection as xmlr
from urdf_parser_py.xml_reflection import core

from ...diagnostics import Diagnostics, did_you_mean, did_you_mean_or_all
from ..xml_tree import NUMBER, Element

# A root link of this name is the world.
WORLD = "world"
UrdfObject: TypeAlias = Any  # urdf_parser_py has no type annotations
_NAMESPACE = ":"
_DEMOTED_CODES = ("missing-attribute", "missing-element", "not-finite", "wrong-count", "wrong-type")


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


class ObjectReader:
    """Converts elements to objects; reports problems to ``diagnostics``."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics

    def read(self, kind: UrdfObject, element: Element) -> UrdfObject | None:
        """Return an element as an object of urdf_parser_py, or None after reporting an error.

        Args:
            kind: Class of the object, such as ``urdf.Joint``.
            element: The element, with any tag.
        """
        if kind in OPTIONAL_TYPES:
            with self._diagnostics.as_warnings(*_DEMOTED_CODES):
                return self._read(kind, element)
        return self._read(kind, element)

    def _read(self, kind: UrdfObject, element: Element) -> UrdfObject | None:
        made = kind()
        schema = kind.XML_REFL
        valid = [
            self._set_attribute(made, param, element) for param in schema.attribute_map.values()
        ]
        valid += [self._set_elements(made, param, element) for param in schema.element_map.values()]
        self._report_unknown(kind, element)
        return made if all(valid) else None

    def geometry(self, element: Element) -> UrdfObject | None:
        """Return the shape in a <geometry>, or None after reporting an error."""
        shapes = [child for child in element.children if _NAMESPACE not in child.tag]
        if not shapes:
            message = "a <geometry> must contain one shape, not nothing"
            self._diagnostics.error("bad-geometry", message, element.span)
            return None
        for other in shapes[1:]:  # as urdfdom reads it
            message = f"<{other.tag}> is not used: of a <geometry>, the first element is its shape"
            self._diagnostics.warn("not-used", message, other.span)
        kind = GEOMETRIES.get(shapes[0].tag)
        if kind is None:
            hint = did_you_mean_or_all(shapes[0].tag, GEOMETRIES)
            message = f"<{shapes[0].tag}> is not a shape of URDF.{hint}"
            self._diagnostics.error("unknown-geometry", message, shapes[0].span)
            return None
        return self.read(kind, shapes[0])

    def _set_attribute(self, made: UrdfObject, param: UrdfObject, element: Element) -> bool:
        written = element.attributes.get(param.xml_var)
        if written is None:
            if param.required:
                self._miss(element, param.xml_var, made.XML_REFL.attribute_map)
                return False
            value = param.default
        else:
            value = self._value(param.value_type, element, param.xml_var, type(made) is Limit)
            if value is None:
                return False
        setattr(made, param.var, value)
        return True

    def _set_elements(self, made: UrdfObject, param: UrdfObject, element: Element) -> bool:
        found = list(element.all(param.xml_var))
        if not found and param.required:
            message = f"<{element.tag}> needs a <{param.xml_var}>"
            self._diagnostics.error("missing-element", message, element.span)
            return False
        if not param.is_aggregate:
            for another in found[1:]:
                message = f"<{element.tag}> allows only one <{param.xml_var}>; this one is ignored"
                self._diagnostics.warn("duplicate-element", message, another.span)
            found = found[:1]
        valid = True
        for child in found:
            value = self._element_value(param.value_type, child)
            if value is None:
                valid &= getattr(param.value_type, "type", None) in OPTIONAL_TYPES
            elif param.is_aggregate:
                made.add_aggregate(param.xml_var, value)
            else:
                setattr(made, param.var, value)
        return valid

    def _element_value(self, kind: UrdfObject, element: Element) -> UrdfObject | None:
        if isinstance(kind, urdf.GeometricType):
            return self.geometry(element)
        if isinstance(kind, core.ObjectType):
            return self.read(EXTENDED.get(kind.type, kind.type), element)
        # An element with a single attribute, such as <mass value="1"/>.
        if kind.attribute not in element.attributes:
            self._miss(element, kind.attribute, ())
            return None
        value = self._value(kind.value_type, element, kind.attribute)
        self.report_attributes(element, {kind.attribute})
        return value

    def _value(
        self, kind: UrdfObject, element: Element, name: str, allow_infinite: bool = False
    ) -> Any | None:
        """Return the value of an attribute, or None after reporting an error."""
        written = element.attributes[name]
        if isinstance(kind, core.BasicType) and kind.type is str:
            return written
        words = written.split()
        count = int(kind.count) if isinstance(kind, core.VectorType) else 1
        if len(words) != count or not all(map(NUMBER.fullmatch, words)):
            needed = "a number" if count == 1 else f"{count} numbers"
            message = f"{name} must be {needed}, not '{written}'"
            code = "wrong-type" if len(words) == count else "wrong-count"
            self._diagnostics.error(code, message, element.at(name))
            return None
        numbers = list(map(float, words))
        if any(isnan(x) or not (allow_infinite or isfinite(x)) for x in numbers):
            message = f"{name} must be finite, not '{written}'"
            self._diagnostics.error("not-finite", message, element.at(name))
            return None
        return numbers if isinstance(kind, core.VectorType) else numbers[0]

    def _miss(self, element: Element, attribute: str, known: Collection[str]) -> None:
        hint = did_you_mean(attribute, [x for x in element.attributes if x not in known])
        message = f'<{element.tag}> needs {attribute}="..."{hint and "."}{hint}'
        self._diagnostics.error("missing-attribute", message, element.span)

    def _report_unknown(self, kind: UrdfObject, element: Element) -> None:
        """Warn about attributes and elements that neither URDF nor other programs define."""
        schema, others = kind.XML_REFL, IGNORED_NAMES.get(kind, frozenset())
        self.report_attributes(element, {*schema.attribute_map, *others})
        known = {*schema.element_map, *others}
        for child in element.children:
            if child.tag in known or _NAMESPACE in child.tag:
                continue
            hint = did_you_mean(child.tag, schema.element_map)
            message = f"<{child.tag}> in <{element.tag}> is unknown and ignored.{hint}"
            self._diagnostics.warn("unknown-element", message, child.span)

    def report_attributes(self, element: Element, known: Collection[str]) -> None:
        """Warn about attributes that are not ``known`` and have no namespace."""
        for name in element.attributes:
            if name not in known and _NAMESPACE not in name:
                message = f"{name} of <{element.tag}> is unknown and ignored."
                message += did_you_mean(name, known)
                self._diagnostics.warn("unknown-attribute", message, element.at(name))
