"""Read entries of ``links``."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...body import Joint, JointType, Link
from ...devices import Device
from ...inertia import MassProperties, merge
from ...rigid import Pose
from ..yaml.tree import Mapping, Node, Scalar, Sequence
from .devices import read_device
from .elements import Contents, read_elements
from .joints import read_joint
from .masses import read_mass
from .scope import Scope, rotation, translation, warn_misspelt_keys, word_set

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
        scope.reading.count("nodes", len(other), other.span)
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
