"""Read entries of ``links``, with their joints."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from math import inf, isfinite, isinf
from typing import Any

import numpy as np

from ...body import UNLIMITED, Joint, JointType, Link, Range
from ...devices import Device
from ...diagnostics import did_you_mean_or_all
from ...inertia import MassProperties, merge
from ...late_dataclass import dataclass
from ...rigid import Array, Pose, axis_by_name, unit_vector
from ..joints import resistance
from ..yaml.tree import Mapping, Node, Scalar, Sequence
from .devices import read_device
from .elements import Contents, read_elements, read_mass
from .scope import (
    Scope,
    lenient_choice,
    numbers,
    rotation,
    translation,
    warn_misspelt_keys,
    word_set,
)

JOINT_TYPES = {
    "revolute": JointType.REVOLUTE,
    "prismatic": JointType.PRISMATIC,
    "slide": JointType.PRISMATIC,
    "free": JointType.FREE,
    "fixed": JointType.FIXED,
    "pseudo_continuous_track": JointType.TRACK,
    "pseudoContinuousTrack": JointType.TRACK,
    "pseudoContinousTrack": JointType.TRACK,  # as the format's reference spells it
}
_ACTUATION_MODES = {
    "joint_effort": "effort", "jointEffort": "effort", "jointTorque": "effort",
    "jointForce": "effort", "joint_displacement": "position",
    "jointDisplacement": "position", "jointAngle": "position", "joint_velocity": "velocity",
    "jointVelocity": "velocity", "link_position": "link", "linkPosition": "link",
    "jointSurfaceVelocity": "surface", "joint_surface_velocity": "surface",
}  # fmt: skip
_MAX_ID = 9999
_TYPE = ("joint_type", "jointType")
_AXIS = ("joint_axis", "jointAxis")
_ACTUATION = ("actuation_mode", "actuationMode")
_ANGLE = ("joint_angle", "jointAngle")
_DISPLACEMENT = ("joint_displacement", "jointDisplacement")
_VISCOSITY, _FRICTION = "jointViscosity", "jointFriction"
_STIFFNESS = "jointStiffness"
_MOTOR = (
    "gear_ratio", "gearRatio", "rotor_inertia", "rotorInertia", "joint_axis_inertia",
    "torque_const", "torqueConst", "encoder_pulse", "encoderPulse",
)  # fmt: skip
_DEFAULT_MASS = MassProperties(1.0, np.zeros(3), np.eye(3))
_DEFAULT_JOINT = Joint(type=JointType.FIXED, name="")
_MASS_KEYS = ("mass", "center_of_mass", "centerOfMass", "inertia")
# Keys of a SubBody entry that do not override those of the included body's root.
_NOT_OVERRIDING = ("name", "joint_name", "import", *_MASS_KEYS)
_READ_KEYS = word_set(
    """
    type name joint_name parent translation rotation joint_type jointType joint_axis jointAxis
    joint_id jointId joint_angle jointAngle joint_displacement jointDisplacement joint_range
    jointRange max_joint_velocity maxJointVelocity joint_velocity_range jointVelocityRange
    max_joint_effort maxJointEffort rotor_inertia rotorInertia gear_ratio gearRatio
    joint_axis_inertia torque_const torqueConst encoder_pulse encoderPulse jointViscosity
    jointFriction jointStiffness mass center_of_mass centerOfMass inertia material import elements
    """
)
# A key of physics plugins that resembles known keys but is no misspelling.
_PLUGIN_KEYS = ("jointStaticFriction",)


def read_joint(mapping: Mapping, scope: Scope, base: Joint, name: str) -> Joint:
    """Read the joint keys of a link.

    Args:
        mapping: The link.
        scope: Its file.
        base: Defaults for missing keys, except those of ranges and rotor inertia.
        name: Name of the joint.
    """
    kind = _type(mapping, base.type)
    unit = scope.angle if kind is JointType.REVOLUTE else 1.0
    initial = _initial(mapping, scope, unit, base.initial)
    effort = _range(mapping, scope, 1.0, "max_joint_effort", "maxJointEffort")
    return Joint(
        type=kind,
        name=name,
        id=_id(mapping, base.id),
        axis=_axis(mapping, scope, kind, base.axis),
        initial=initial,
        position=_range(mapping, scope, unit, "joint_range", "jointRange") or UNLIMITED,
        velocity=_velocity(mapping, scope, unit),
        effort=effort or base.effort,
        **_motor(mapping, base),
        damping=_resistance(mapping, _VISCOSITY, base.damping),
        friction=_resistance(mapping, _FRICTION, base.friction),
        stiffness=_stiffness(mapping, base.stiffness),
    )


def _initial(mapping: Mapping, scope: Scope, unit: float, default: float) -> float:
    """Read the initial position, in [rad] or [m]."""
    if mapping.lacks(*_ANGLE, *_DISPLACEMENT):  # the usual case
        return default
    angle = mapping.number(*_ANGLE, default=None)
    displacement = mapping.number(*_DISPLACEMENT, default=None)
    if displacement is not None:
        _note_unit(mapping, displacement, unit)
        return displacement * unit
    return default if angle is None else angle * scope.angle


def _motor(mapping: Mapping, base: Joint) -> dict[str, Any]:
    """Read the motor keys, as arguments of a Joint."""
    defaults = {"torque_const": base.torque_const, "encoder_pulse": base.encoder_pulse}
    if mapping.lacks(*_MOTOR):  # the usual case
        return defaults
    gear = mapping.number("gear_ratio", "gearRatio", default=1.0)
    rotor = mapping.number("rotor_inertia", "rotorInertia", default=0.0)
    inertia = mapping.number("joint_axis_inertia", default=gear * gear * rotor)
    spellings = {"torque_const": "torqueConst", "encoder_pulse": "encoderPulse"}
    return {
        "equivalent_rotor_inertia": inertia,
        "gear_ratio": gear,
        "rotor_inertia": rotor,
        **{k: mapping.number(k, spellings[k], default=default) for k, default in defaults.items()},
    }


def _resistance(mapping: Mapping, key: str, default: float) -> float:
    """Read damping or friction at the joint: in SI units, independent of the angle unit."""
    if mapping.lacks(key):  # the usual case
        return default
    value = mapping.number(key, default=default)
    return resistance(key, value, mapping.at(key), mapping.diagnostics)


def _stiffness(mapping: Mapping, default: float) -> float:
    """Read the stiffness of a spring, which is 0 unless it is a positive number."""
    node = mapping.get(_STIFFNESS)
    if node is None:
        return default
    value = node.plain_value()
    with suppress(OverflowError):
        if isinstance(value, int | float) and isfinite(value):
            return max(float(value), 0.0)
    return 0.0


def _id(mapping: Mapping, default: int | None) -> int | None:
    joint_id = mapping.integer("joint_id", "jointId", default=None)
    if joint_id is None:
        return default
    if joint_id > _MAX_ID:
        message = f"joint id {joint_id} is larger than {_MAX_ID}: ids are indices of a list"
        mapping.diagnostics.error("bad-joint-id", message, mapping.at("joint_id", "jointId"))
    return joint_id if 0 <= joint_id <= _MAX_ID else None


def _type(mapping: Mapping, default: JointType) -> JointType:
    written = mapping.text(*_TYPE, default="")
    kind = JOINT_TYPES.get(written, default)
    if written and written not in JOINT_TYPES:
        message = f"joint type '{written}' is unknown: this joint is treated as {default.value}"
        message += " and DOES NOT MOVE." if default is JointType.FIXED else "."
        message += did_you_mean_or_all(written, JOINT_TYPES)
        mapping.diagnostics.warn("unknown-joint-type", message, mapping.at(*_TYPE))
    if mapping.lacks(*_ACTUATION):
        return kind
    mode = lenient_choice(mapping, *_ACTUATION, choices=_ACTUATION_MODES, default="")
    return JointType.TRACK if mode == "surface" else kind


def _note_unit(mapping: Mapping, displacement: float, unit: float) -> None:
    """Note that a displacement is read in degrees: the format's manual specifies radians."""
    if displacement != 0.0 and unit != 1.0:
        message = "the displacement is read in degrees, like all angles in this file"
        at = mapping.at("joint_displacement", "jointDisplacement")
        mapping.diagnostics.note("displacement-unit", message, at)


def _axis(mapping: Mapping, scope: Scope, kind: JointType, default: Array) -> Array:
    """Read a unit vector, shape (3,): three numbers, or an axis name such as X or -Z."""
    node = mapping.get_nonempty(*_AXIS)
    if node is None:
        return default
    if isinstance(node, Scalar):
        named = axis_by_name(node.text)
        if named is not None:
            return named
        message = f"joint axis '{node.text}' is unknown: use X, Y, Z, -X, -Y, -Z or three numbers"
        scope.diagnostics.error("unknown-axis", message, node.span)
        return default
    axis = numbers(node, 3, scope.diagnostics)
    if axis is None:
        return default
    unit = unit_vector(axis)
    if unit is None:
        if kind is not JointType.FIXED and kind is not JointType.FREE:
            message = "a joint axis must not be zero; Z is used"
            scope.diagnostics.warn("zero-axis", message, node.span)
        return default
    errors = [abs(u - a) for u, a in zip(unit.tolist(), axis.tolist(), strict=True)]
    if max(errors) > 1e-3:  # tolerates rounded decimals
        message = "the joint axis is not a unit vector; it is normalized"
        scope.diagnostics.warn("axis-not-unit", message, node.span)
    return unit


def _velocity(mapping: Mapping, scope: Scope, unit: float) -> Range:
    both = _range(mapping, scope, unit, "joint_velocity_range", "jointVelocityRange")
    one = _range(mapping, scope, unit, "max_joint_velocity", "maxJointVelocity")
    if both and one:
        at = mapping.at("max_joint_velocity", "maxJointVelocity")
        message = "max_joint_velocity is ignored because there is a joint_velocity_range"
        scope.diagnostics.warn("two-velocity-limits", message, at)
    return both or one or UNLIMITED


def _range(mapping: Mapping, scope: Scope, unit: float, *spellings: str) -> Range | None:
    """Read a range: [lower, upper], or s for [-s, s]; each number may be 'unlimited'."""
    node = mapping.get_nonempty(*spellings)
    if node is None:
        return None
    if isinstance(node, Scalar):
        bound = _bound(node, scope)
        return None if bound is None else Range(-abs(bound) * unit, abs(bound) * unit)
    if not isinstance(node, Sequence) or node.count != 2:
        message = f"'{spellings[0]}' must be [lower, upper], one number or 'unlimited'"
        scope.diagnostics.error("wrong-type", message, node.span)
        return None
    if node.plain_numbers is not None:
        lower, upper = node.plain_numbers.tolist()
        return Range(lower * unit, upper * unit)
    lower, upper = (_bound(item, scope) for item in node.items)
    if lower is None or upper is None:
        return None
    return Range(-inf if isinf(lower) else lower * unit, inf if isinf(upper) else upper * unit)


def _bound(node: Node, scope: Scope) -> float | None:
    if not isinstance(node, Scalar):
        scope.diagnostics.error("wrong-type", "expected a number or 'unlimited'", node.span)
        return None
    infinite = ("unlimited", "inf", "-inf", "+inf", ".inf", "-.inf")
    return inf if node.text.strip().lower() in infinite else node.number()


@dataclass(frozen=True, eq=False)
class Draft:
    """A link from one entry; its parent may not have been read yet.

    Attributes:
        link: The link.
        entry: The entry, for messages.
        devices: Devices of the link.
        default_mass: Missing mass properties, for which defaults are used: "mass", "inertia"
            or "".
    """

    link: Link
    entry: Mapping
    devices: tuple[Device, ...] = ()
    default_mass: str = ""


def read_link(mapping: Mapping, scope: Scope, device_count: int) -> Draft:
    """Read an entry of type ``Link``."""
    mapping = _imported(mapping, scope)
    name = mapping.text("name", default="")
    entries = mapping.entries()
    mass_keys = [k for k in _MASS_KEYS if k in entries and not _is_empty(entries[k][1])]
    contents = read_elements(mapping, scope)
    if contents.rigid_bodies:
        mass = _drop_massless_inertia(
            merge([read_mass(mapping, MassProperties()), *contents.rigid_bodies])
        )
        default_mass = ""
    else:
        mass = _drop_massless_inertia(read_mass(mapping, _DEFAULT_MASS))
        default_mass = "inertia" if mass_keys else "mass"
        if "inertia" in mass_keys or mass.mass == 0.0:
            default_mass = ""
    visual = tuple(contents.visual)
    link = Link(
        name=name,
        parent=mapping.text("parent", default="") or None,
        joint=read_joint(
            mapping, scope, _DEFAULT_JOINT, mapping.text("joint_name", default="") or name
        ),
        X_PL=Pose(rotation(scope, mapping), translation(mapping)),
        mass=mass.mass,
        center_of_mass=mass.center_of_mass,
        inertia=mass.inertia,
        visual=visual,
        collision=tuple(contents.collision) if contents.distinguished else visual,
        lacks_shapes=contents.lacks_shapes,
        contact_material=mapping.text("material", default=""),
        info=link_info(mapping),
        at=mapping.at("name"),
    )
    finish_link(mapping)
    return Draft(link, mapping, _devices(contents, scope, name, device_count), default_mass)


def overlay_root(draft: Draft, scope: Scope, own: tuple[str, ...], device_count: int) -> Draft:
    """Return the root link of an included body, overridden by the keys of the including entry.

    Names and mass keys do not override; missing ranges and rotor inertia are reset. ``own`` are
    keys of the entry that are not keys of a link.
    """
    mapping, link = draft.entry, draft.link
    for key in _NOT_OVERRIDING:
        if mapping.get(key) is not None:
            message = f"'{key}' is ignored: the included body keeps its own"
            scope.diagnostics.note("left-out", message, mapping.at(key))
    contents = read_elements(mapping, scope)
    R = link.X_PL.R if mapping.lacks("rotation") else rotation(scope, mapping)
    p = link.X_PL.p if mapping.lacks("translation") else translation(mapping)
    visual = link.visual + tuple(contents.visual)
    collision = link.collision + tuple(contents.collision)
    same = link.collision is link.visual and not contents.distinguished
    overlaid = replace(
        link,
        joint=read_joint(mapping, scope, link.joint, link.joint.name),
        X_PL=Pose(R, p),
        visual=visual,
        collision=visual if same else collision,
        lacks_shapes=link.lacks_shapes or contents.lacks_shapes,
        contact_material=mapping.text("material", default=link.contact_material),
        info={**link.info, **link_info(mapping, own)},
    )
    finish_link(mapping, own)
    devices = draft.devices + _devices(contents, scope, link.name, device_count)
    return replace(draft, link=overlaid, devices=devices)


def link_info(mapping: Mapping, own: tuple[str, ...] = ()) -> dict[str, object]:
    """Return the keys of a link that are not read, except those in ``own``, as plain values."""
    entries = mapping.entries().items()
    return {k: v.plain_value() for k, (_, v) in entries if k not in _READ_KEYS and k not in own}


def finish_link(mapping: Mapping, own: tuple[str, ...] = ()) -> None:
    """Warn about keys that look like misspelt keys of a link, or of ``own``."""
    warn_misspelt_keys(mapping, _READ_KEYS.union(own) if own else _READ_KEYS, _PLUGIN_KEYS)


def _imported(mapping: Mapping, scope: Scope) -> Mapping:
    """Return a link extended by the entries of the nodes that it imports.

    Its own keys take precedence, then those of later nodes.
    """
    imported = mapping.get("import")
    if imported is None:
        return mapping
    if isinstance(imported, Scalar):  # ignored by Choreonoid, too
        message = f"'import' takes aliases of mappings, not {imported.description}; it is ignored"
        scope.diagnostics.warn("wrong-type", message, imported.span)
        return mapping
    for other in reversed(imported.items) if isinstance(imported, Sequence) else [imported]:
        if not isinstance(other, Mapping):
            message = "'import' takes aliases of mappings"
            scope.diagnostics.error("wrong-type", message, other.span)
            continue
        scope.diagnostics.note("imported", "the link imports the keys of this node", other.span)
        scope.context.count("nodes", len(other), other.span)
        mapping = mapping.with_defaults(other)
    return mapping


def _is_empty(node: Node) -> bool:
    return isinstance(node, Scalar) and node.is_null


def _drop_massless_inertia(mass: MassProperties) -> MassProperties:
    """Return mass properties; a massless link has no inertia in this format."""
    return mass if mass.mass != 0.0 else MassProperties()


def _devices(contents: Contents, scope: Scope, link: str, count: int) -> tuple[Device, ...]:
    return tuple(
        read_device(node, scope, link, count + i) for i, node in enumerate(contents.devices)
    )
