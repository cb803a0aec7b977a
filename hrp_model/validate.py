"""What must hold for a Body of any format: one function per rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .body import Body, JointType, Link
from .diagnostics import Diagnostics, Span
from .geometry import Box, Capsule, Cone, Cylinder, Geometry, Mesh, Shape, Sphere
from .inertia import is_symmetric, symmetric


def validate(body: Body, diagnostics: Diagnostics) -> None:
    """Check a body against every rule; what is wrong goes to ``diagnostics``.

    Errors are what nothing downstream can work with: numbers that are not finite,
    negative masses, devices on links that do not exist. All else is a warning.
    """
    for rule in RULES:
        rule(body, diagnostics)


def joint_ids_are_consecutive(body: Body, diagnostics: Diagnostics) -> None:
    """Joint ids number the joints 0, 1, 2, ... without gaps and without repetition."""
    owner: dict[int, Link] = {}
    for link in body.links:
        if link.joint.id is None:
            continue
        first = owner.setdefault(link.joint.id, link)
        if first is not link:
            message = f"joint id {link.joint.id} of '{link.name}' is that of '{first.name}' already"
            diagnostics.warn("duplicate-joint-id", message, link.at)
    missing = sorted(set(range(max(owner, default=-1))) - owner.keys())
    if missing:
        shown = ", ".join(map(str, missing[:8])) + (", ..." if len(missing) > 8 else "")
        message = f"no joint of body '{body.name}' has id {shown}"
        diagnostics.warn("joint-id-gap", message, body.root.at)


def limits_are_in_order(body: Body, diagnostics: Diagnostics) -> None:
    """A moving joint has a lower limit below its upper one."""
    for link in body.moving_links:
        joint = link.joint
        quantities = (("position", joint.position), ("velocity", joint.velocity))
        for what, (lower, upper) in (*quantities, ("effort", joint.effort)):
            if not lower >= upper:
                continue
            problem = "leaves no room" if lower == upper else "is inverted"
            message = f"the {what} range of joint '{joint.name}' {problem}: {lower:g} to {upper:g}"
            code = "empty-range" if lower == upper else "inverted-range"
            diagnostics.warn(code, message, link.at)


def initial_positions_are_in_range(body: Body, diagnostics: Diagnostics) -> None:
    """A joint starts within its limits: a note, for many leave their start at zero."""
    for link in body.moving_links:
        lower, upper = link.joint.position
        initial = link.joint.initial
        if lower <= upper and (initial < lower - 1e-9 or initial > upper + 1e-9):
            message = (
                f"joint '{link.joint.name}' starts at {initial:g}, "
                f"outside its range {lower:g} to {upper:g}"
            )
            diagnostics.note("initial-out-of-range", message, link.at)


def root_is_free_or_fixed(body: Body, diagnostics: Diagnostics) -> None:
    """The root hangs on nothing, so a joint with a coordinate has no meaning for it."""
    if body.root.joint.moves:
        kind = body.root.joint.type.value
        message = f"root '{body.root.name}' has a {kind} joint; a root is free or fixed"
        diagnostics.warn("moving-root", message, body.root.at)


def masses_are_positive(body: Body, diagnostics: Diagnostics) -> None:
    """A mass is never negative, and not zero where something has to be accelerated."""
    heavy = _links_that_carry_mass(body)
    for link in body.links:
        if link.mass < 0.0:
            message = f"link '{link.name}' has a negative mass, {link.mass:g} kg"
            diagnostics.error("negative-mass", message, link.at)
        elif link.mass == 0.0 and link.joint.type in _MOVING and link.name not in heavy:
            message = f"link '{link.name}' moves but has no mass"
            diagnostics.warn("massless-link", message, link.at)


def inertias_are_physical(body: Body, diagnostics: Diagnostics) -> None:
    """A link with mass has a symmetric, positive inertia that some rigid body can have.

    The principal moments obey the triangle inequality: none exceeds the sum of the
    other two. Links that move on nothing need no inertia.
    """
    for link in body.links:
        inertia = link.inertia
        if link.mass <= 0.0 or body.is_static or not np.isfinite(inertia).all():
            continue
        scale = np.abs(inertia).max()
        if scale == 0.0:
            message = f"link '{link.name}' has mass but no inertia"
            diagnostics.warn("no-inertia", message, link.at)
            continue
        if not is_symmetric(inertia):
            message = f"the inertia of link '{link.name}' is not symmetric"
            diagnostics.warn("asymmetric-inertia", message, link.at)
        small, middle, large = np.linalg.eigvalsh(symmetric(inertia))
        moments = f"{small:.4g}, {middle:.4g}, {large:.4g} kg m^2"
        if small <= 1e-12 * scale:
            message = f"the inertia of link '{link.name}' is not positive: {moments}"
            diagnostics.warn("inertia-not-positive", message, link.at)
        elif small + middle < large * (1.0 - 1e-6):
            message = f"no rigid body has the principal inertias of link '{link.name}': {moments}"
            diagnostics.warn("inertia-triangle", message, link.at)


def numbers_are_finite(body: Body, diagnostics: Diagnostics) -> None:
    """No number of the model is NaN, and none is infinite except a limit."""
    for link in body.links:
        for what in _not_finite(link):
            message = f"{what} of link '{link.name}' is not a finite number"
            diagnostics.error("not-finite", message, link.at)
        shapes = dict.fromkeys(chain(link.visual, link.collision))
        if not all(_is_finite_shape(shape) for shape in shapes):
            message = f"a shape of link '{link.name}' has a number that is not finite"
            diagnostics.error("not-finite", message, link.at)
    for device in body.devices:
        if not all(_is_sound(getattr(device, f.name)) for f in fields(device)):
            message = f"device '{device.name}' has a number that is not finite"
            diagnostics.error("not-finite", message, _place(body, device.link))


def sizes_are_positive(body: Body, diagnostics: Diagnostics) -> None:
    """A primitive shape has sizes above zero; others can neither be seen nor touched."""
    for link in body.links:
        for shape in dict.fromkeys(chain(link.visual, link.collision)):
            sizes = _sizes(shape.geometry)
            if any(size <= 0.0 for size in sizes):
                kind = type(shape.geometry).__name__.lower()
                shown = " x ".join(f"{size:g}" for size in sizes)
                message = f"a {kind} of link '{link.name}' has size {shown}"
                diagnostics.warn("empty-shape", message, link.at)


def references_exist(body: Body, diagnostics: Diagnostics) -> None:
    """Devices, extra joints and collision pairs name links of this body."""
    names = _names(body)
    for device in body.devices:
        if device.link not in names:
            message = f"device '{device.name}' is on '{device.link}', which is no link"
            diagnostics.error("unknown-link", message, body.root.at)
    for joint in body.extra_joints:
        for name in joint.links:
            if name not in names:
                message = f"extra joint '{joint.name}' ends at '{name}', which is no link"
                diagnostics.error("unknown-link", message, body.root.at)
    for name in sorted(set(chain.from_iterable(body.self_collision_disabled)) - names):
        message = f"self collision is disabled for '{name}', which is no link"
        diagnostics.warn("unknown-link", message, body.root.at)


def device_names_are_unique(body: Body, diagnostics: Diagnostics) -> None:
    """Each device has a name of its own, for its topic and its frame."""
    for name, count in Counter(device.name for device in body.devices).items():
        if count > 1:
            links = [d.link for d in body.devices if d.name == name]
            message = f"{count} devices are named '{name}', on links {', '.join(links)}"
            diagnostics.warn("duplicate-device-name", message, _place(body, links[-1]))


RULES = (
    joint_ids_are_consecutive,
    limits_are_in_order,
    initial_positions_are_in_range,
    root_is_free_or_fixed,
    masses_are_positive,
    inertias_are_physical,
    numbers_are_finite,
    sizes_are_positive,
    references_exist,
    device_names_are_unique,
)

_MOVING = (JointType.REVOLUTE, JointType.PRISMATIC, JointType.FREE)


def _names(body: Body) -> set[str]:
    return {link.name for link in body.links}


def _place(body: Body, link: str) -> Span | None:
    """Return where a link is defined; of one that does not exist, where the root is."""
    return next((x.at for x in body.links if x.name == link), body.root.at)


def _links_that_carry_mass(body: Body) -> set[str]:
    """Return the links that have mass, or on which links with mass are rigidly fixed."""
    heavy = {link.name for link in body.links if link.mass > 0.0}
    for link in reversed(body.links):
        if link.name in heavy and link.joint.type not in _MOVING and link.parent is not None:
            heavy.add(link.parent)
    return heavy


def _not_finite(link: Link) -> Iterator[str]:
    """Yield what is not finite about a link's masses, frame and joint."""
    joint = link.joint
    finite: dict[str, ArrayLike] = {
        "the frame": (*link.X_PL.R.ravel(), *link.X_PL.p),
        "the mass": (link.mass,),
        "the centre of mass": link.center_of_mass,
        "the inertia": link.inertia,
        "the joint axis": joint.axis,
        "the initial joint position": (joint.initial,),
        "the rotor inertia": (joint.equivalent_rotor_inertia, joint.rotor_inertia),
        "the gear ratio": (joint.gear_ratio, joint.torque_const),
    }
    yield from (what for what, value in finite.items() if not np.isfinite(value).all())
    limits = (*joint.position, *joint.velocity, *joint.effort)
    if np.isnan(limits).any():
        yield "a joint limit"


def _is_finite_shape(shape: Shape) -> bool:
    geometry = shape.geometry
    finite = (geometry.vertices,) if isinstance(geometry, Mesh) else (_sizes(geometry),)
    return all(bool(np.isfinite(value).all()) for value in (shape.T_FG, *finite))


def _sizes(geometry: Geometry) -> tuple[float, ...]:
    if isinstance(geometry, Box):
        return tuple(geometry.size.tolist())
    if isinstance(geometry, Sphere):
        return (geometry.radius,)
    if isinstance(geometry, Cylinder | Cone | Capsule):
        return (geometry.radius, geometry.height)
    return ()


def _is_sound(value: Any) -> bool:
    """Whether no number in a value, a pose or an array is NaN; infinity means unlimited."""
    if isinstance(value, float | np.ndarray):
        return not np.isnan(value).any()
    if is_dataclass(value):
        return all(np.isfinite(getattr(value, f.name)).all() for f in fields(value))
    return True
