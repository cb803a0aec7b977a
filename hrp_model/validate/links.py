"""Rules for links: ids, limits and units of their joints, masses and inertias."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain, compress, islice
from math import inf, isfinite, isnan, pi, sqrt

import numpy as np

from ..body import Body, JointType, Link, Range
from ..diagnostics import Diagnostics, listed, number_text
from ..inertia import is_symmetric
from ..shapes.measure import geometry_box

# A limit in degrees that was read as radians is above 2 pi, and seldom above this.
_MAX_DEGREES = 360.0
# Joint ids index tables of joints, so a larger id is certainly a mistake.
_MAX_ID = 99_999
_MAX_LISTED = 8
# Encoder steps above this are useless for control.
_MAX_ENCODER_STEP = {JointType.REVOLUTE: 0.1, JointType.PRISMATIC: 0.01}  # [rad], [m]
# Limits that people write as "practically unlimited", without an angle in mind.
_PLACEHOLDERS = ({10.0}, {20.0}, {50.0}, {100.0}, {200.0})
# Radius of gyration relative to that of a solid box around the shape. For masses inside the
# box it is at most sqrt(3), with all mass in the corners. Most links are between 0.6 and 1.2,
# rough estimates and incompletely modelled links between 0.05 and 10. Wrong units (mm for m,
# g for kg, cm^2) change it by a factor of 30 at least.
_MIN_GYRATION, _MAX_GYRATION = 0.05, 10.0
_MAX_GYRATION_OF_IDENTITY = 3.0  # an identity matrix is never an estimate
_NO_GYRATION = 1e-6  # below this the inertia is practically zero, which another rule reports
# Largest accepted distance of a centre of mass from the box, relative to its diagonal: motors
# and covers are often not modelled.
_MAX_OFFSET = 1.0
_IDENTITY = np.eye(3).tolist()
_MOVING = (JointType.REVOLUTE, JointType.PRISMATIC, JointType.FREE)


def joint_ids_are_consecutive(body: Body, diagnostics: Diagnostics) -> None:
    """Joint ids are 0, 1, 2, ... without duplicates; a gap is a note."""
    owner: dict[int, Link] = {}
    for link in body.links:
        if link.joint.id is None:
            continue
        if link.joint.id > _MAX_ID:
            message = f"joint id {link.joint.id} of '{link.name}' is above {_MAX_ID}"
            diagnostics.error("joint-id-too-large", message, link.at)
        first = owner.setdefault(link.joint.id, link)
        if first is not link:
            message = f"joint id {link.joint.id} of '{link.name}' is also that of '{first.name}'"
            diagnostics.warn("duplicate-joint-id", message, link.at)
    missing = missing_numbers(owner)
    if missing:
        message = f"no joint of body '{body.name}' has id {missing}"
        diagnostics.note("joint-id-gap", message, body.root.at)


def missing_numbers(numbers: Collection[int]) -> str:
    """Return which of 0, 1, ... up to the largest are missing, as a list for a message."""
    present = set(numbers)
    end = max(present, default=0)
    # Only as many as are listed, as the largest number may be huge.
    first = list(islice((i for i in range(end) if i not in present), _MAX_LISTED))
    others = end - sum(0 <= i < end for i in present) - len(first)
    return ", ".join(map(str, first)) + (f" and {others} more" if others else "")


def limits_are_valid(body: Body, diagnostics: Diagnostics) -> None:
    """A lower limit is below the upper one; ranges of velocity and effort include zero."""
    for link in body.moving_links:
        joint, units = link.joint, link.joint.type.units
        for kind, stated, used, unit in (
            ("position", joint.position, joint.position_limits, units.position),
            ("velocity", joint.velocity, joint.velocity_limits, units.velocity),
            ("effort", joint.effort, joint.effort_limits, units.effort),
        ):
            lower, upper = stated
            if isnan(lower) or isnan(upper):
                message = f"a {kind} limit of joint '{joint.name}' is not a number"
                diagnostics.error("not-finite", message, link.at)
                continue
            if lower > upper:
                code, problem = "inverted-range", "is inverted"
            elif lower == upper:
                code, problem = "empty-range", "is empty"
            elif kind != "position" and not lower < 0.0 < upper:
                code, problem = "one-sided-range", "allows one direction only"
            else:
                continue
            meaning = "applies as stated" if used == stated else "means no limit"
            message = (
                f"the {kind} range of joint '{joint.name}' {problem}: {lower:g} to {upper:g} "
                f"{unit}; it {meaning}"
            )
            diagnostics.warn(code, message, link.at)


def initial_positions_are_in_range(body: Body, diagnostics: Diagnostics) -> None:
    """The initial position is within the limits; else a note, as many models leave it at zero."""
    for link in body.moving_links:
        lower, upper = link.joint.position_limits
        initial = link.joint.initial
        if initial < lower - 1e-9 or initial > upper + 1e-9:
            unit = link.joint.type.units.position
            message = (
                f"the initial position of joint '{link.joint.name}', {initial:g} {unit}, is "
                f"outside its limits {lower:g} to {upper:g} {unit}"
            )
            diagnostics.note("initial-out-of-range", message, link.at)


def angles_are_in_radians(body: Body, diagnostics: Diagnostics) -> None:
    """The limits of revolute joints are radians, not degrees.

    A single joint may turn several times, and wheels have limits of 1000 or 1e6. But limits in
    degrees show in most joints of a robot: numbers between 2 pi and 360 that are multiples of
    five, or that differ between joints as those of limbs do.
    """
    hinges = [link for link in body.moving_links if link.joint.type is JointType.REVOLUTE]
    limited = [(link, extent) for link in hinges if (extent := _extent(link)) > 0.0]
    large = [(link, x) for link, x in limited if 2.0 * pi + 1e-3 < x <= _MAX_DEGREES]
    if not large or 2 * len(large) <= len(limited):
        return
    suspects = [link for link, _ in large]
    extents = {round(extent, 6) for _, extent in large}
    multiples = all(_in_multiples_of_five(link) for link in suspects)
    if (multiples and extents not in _PLACEHOLDERS) or len(extents) >= 3:
        ranges = [f"'{x.joint.name}' {_range_text(x.joint.position)}" for x in suspects]
        message = f"limits in rad look like degrees: {listed(ranges, 4)}"
        diagnostics.warn("degrees-as-radians", message, suspects[0].at)


def encoders_are_fine(body: Body, diagnostics: Diagnostics) -> None:
    """An encoder step is small; else the gear ratio or the number of pulses is missing."""
    for link in body.moving_links:
        joint = link.joint
        if joint.encoder_pulse is None or not isfinite(joint.encoder_pulse):
            continue
        resolution = joint.encoder_resolution
        if resolution is not None and resolution <= _MAX_ENCODER_STEP[joint.type]:
            continue
        steps = (
            "cannot measure a position"
            if resolution is None
            else f"has steps of {number_text(resolution)} {joint.type.units.position}"
        )
        message = (
            f"the encoder of joint '{joint.name}', with {joint.encoder_pulse:g} pulses per turn "
            f"and a gear ratio of {joint.gear_ratio:g}, {steps}"
        )
        diagnostics.warn("coarse-encoder", message, link.at)


def root_is_free_or_fixed(body: Body, diagnostics: Diagnostics) -> None:
    """The joint of the root is free or fixed."""
    if body.root.joint.moves:
        kind = body.root.joint.type.value
        message = f"root '{body.root.name}' has a {kind} joint; it must be free or fixed"
        diagnostics.warn("moving-root", message, body.root.at)


def _angles(link: Link) -> list[float]:
    return [x for x in (*link.joint.position, link.joint.initial) if isfinite(x)]


def _extent(link: Link) -> float:
    return max(map(abs, _angles(link)), default=0.0)


def _in_multiples_of_five(link: Link) -> bool:
    return all(x % 5.0 == 0.0 for x in _angles(link))


def _range_text(limits: Range) -> str:
    return f"{limits.lower:g} to {limits.upper:g}"


def masses_are_positive(body: Body, diagnostics: Diagnostics) -> None:
    """A mass is not negative, and a moving link is not massless, except between joints."""
    exempt = _links_that_carry_mass(body) | {x.name for x in body.links if x.is_between_joints}
    massless: list[Link] = []
    for link in body.links:
        if link.mass < 0.0:
            message = f"link '{link.name}' has a negative mass, {link.mass:g} kg"
            diagnostics.error("negative-mass", message, link.at)
        elif link.mass == 0.0 and link.joint.type in _MOVING and link.name not in exempt:
            massless.append(link)
    if len(massless) == 1:
        message = f"link '{massless[0].name}' moves but has no mass"
        diagnostics.warn("massless-link", message, massless[0].at)
    elif massless:  # often many, such as frames of sensors and tools
        message = f"{len(massless)} links move but have no mass: {_names(massless)}"
        diagnostics.warn("massless-link", message, massless[0].at)


def inertias_are_physical(body: Body, diagnostics: Diagnostics) -> None:
    """A link with mass has a symmetric, positive definite inertia of a rigid body.

    The principal moments obey the triangle inequality: none exceeds the sum of the
    other two. Static bodies need no inertia.
    """
    heavy = [] if body.is_static else [link for link in body.links if link.mass > 0.0]
    inertias = np.array([link.inertia for link in heavy]).reshape(-1, 3, 3)
    finite = np.isfinite(inertias).all(axis=(1, 2))
    heavy, inertias = list(compress(heavy, finite.tolist())), inertias[finite]
    if not heavy:
        return
    scales = np.abs(inertias).max(axis=(1, 2))
    # Normalised, as very large numbers would overflow.
    sized = inertias / np.where(scales > 0.0, scales, 1.0)[:, None, None] / 2.0
    moments = np.linalg.eigvalsh(sized + sized.transpose(0, 2, 1)) * scales[:, None]
    rows = zip(heavy, scales.tolist(), moments.tolist(), strict=True)
    for link, scale, (small, middle, large) in rows:
        if scale == 0.0:
            message = f"link '{link.name}' has mass but no inertia"
            diagnostics.warn("no-inertia", message, link.at)
            continue
        if not is_symmetric(link.inertia):
            message = f"the inertia of link '{link.name}' is not symmetric"
            diagnostics.warn("asymmetric-inertia", message, link.at)
        shown = f"{small:.4g}, {middle:.4g}, {large:.4g} kg m^2"
        if small <= 1e-12 * scale:
            message = f"the inertia of link '{link.name}' is not positive definite: {shown}"
            diagnostics.warn("inertia-not-positive", message, link.at)
        elif small + middle < large * (1.0 - 1e-6):
            message = f"no rigid body has the principal moments of link '{link.name}': {shown}"
            diagnostics.warn("inertia-triangle", message, link.at)


def masses_fit_the_shapes(body: Body, diagnostics: Diagnostics) -> None:
    """Inertia and centre of mass of a moving link fit the size of its shape.

    With k the radius of gyration about the centre of mass, k^2 = trace(I) / 2m; a solid
    box of diagonal d has k^2 = d^2 / 12. Links with unreadable shapes are skipped.
    """
    unsuited: list[Link] = []
    for link, diagonal, outside in _sizes_and_offsets(_moving_links_with_shapes(body)):
        trace = sum(link.inertia.diagonal().tolist())
        if not 0.0 < diagonal < inf or link.mass <= 0.0 or not isfinite(trace):
            continue
        fitting = sqrt(max(6.0 * trace / link.mass, 0.0))
        ratio = fitting / diagonal
        is_identity = link.inertia.tolist() == _IDENTITY
        max_gyration = _MAX_GYRATION_OF_IDENTITY if is_identity else _MAX_GYRATION
        if ratio > _NO_GYRATION and not _MIN_GYRATION <= ratio <= max_gyration:
            if is_identity:
                unsuited.append(link)
            else:
                message = (
                    f"the inertia of link '{link.name}' is {number_text(ratio * ratio)} times "
                    f"that of a solid of its shape: it fits a body of {number_text(fitting)} m, "
                    f"not {number_text(diagonal)} m"
                )
                diagnostics.warn("inertia-out-of-proportion", message, link.at)
        if outside > _MAX_OFFSET * diagonal:
            message = (
                f"the centre of mass of link '{link.name}' is {number_text(outside)} m outside "
                f"its shape of {number_text(diagonal)} m"
            )
            diagnostics.warn("mass-outside-shape", message, link.at)
    if unsuited:  # a placeholder, often in all links
        links = _names(unsuited)
        message = f"the inertia is the identity matrix, which does not fit the size of {links}"
        # For a passive object of a single link it does little harm.
        report = diagnostics.note if len(body.links) == 1 else diagnostics.warn
        report("inertia-out-of-proportion", message, unsuited[0].at)


RULES = (
    joint_ids_are_consecutive,
    limits_are_valid,
    initial_positions_are_in_range,
    angles_are_in_radians,
    encoders_are_fine,
    root_is_free_or_fixed,
    masses_are_positive,
    inertias_are_physical,
    masses_fit_the_shapes,
)


def _links_that_carry_mass(body: Body) -> set[str]:
    """Return the links that have mass, or on which links with mass are rigidly fixed."""
    heavy = {link.name for link in body.links if link.mass > 0.0}
    for link in reversed(body.links):
        if link.name in heavy and link.joint.type not in _MOVING and link.parent is not None:
            heavy.add(link.parent)
    return heavy


def _names(links: list[Link]) -> str:
    """Return the names of the first few links."""
    return listed([f"'{link.name}'" for link in links], 4)


def _moving_links_with_shapes(body: Body) -> list[Link]:
    """Return the links that some joint can move, and all of whose shapes were readable."""
    moved: set[str] = set()
    for link in body.links:
        if link.joint.type in _MOVING or link.parent in moved:
            moved.add(link.name)
    return [link for link in body.links if link.name in moved and not link.lacks_shapes]


def _sizes_and_offsets(links: list[Link]) -> Iterator[tuple[Link, float, float]]:
    """Yield links with shapes, with two lengths in [m].

    They are the diagonal of the bounding box of the shapes along the axes of L, and the distance
    of the centre of mass outside of this box.
    """
    parts = [
        (i, shape.T_FG, box.center, box.half)
        for i, link in enumerate(links)
        for shape in dict.fromkeys(chain(link.visual, link.collision))
        if (box := geometry_box(shape.geometry)) is not None
    ]
    if not parts:
        return
    owners, *columns = zip(*parts, strict=True)
    T, centres, halves = (np.array(column, dtype=np.float64) for column in columns)
    centres = np.einsum("nij,nj->ni", T[:, :3, :3], centres) + T[:, :3, 3]
    halves = np.einsum("nij,nj->ni", np.abs(T[:, :3, :3]), halves)
    with_shape, starts = np.unique(owners, return_index=True)
    low = np.minimum.reduceat(centres - halves, starts)
    high = np.maximum.reduceat(centres + halves, starts)
    centre_of_mass = np.array([links[i].center_of_mass for i in with_shape])
    outside = np.maximum(np.maximum(low - centre_of_mass, centre_of_mass - high), 0.0)
    diagonals = np.linalg.norm(high - low, axis=1).tolist()
    offsets = np.linalg.norm(outside, axis=1).tolist()
    for i, diagonal, offset in zip(with_shape, diagonals, offsets, strict=True):
        yield links[i], diagonal, offset
