"""Rules for masses and inertias, by themselves and against the shapes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, compress
from math import inf, isfinite, sqrt

import numpy as np

from ..body import Body, JointType, Link
from ..diagnostics import Diagnostics
from ..inertia import is_symmetric
from ..shapes.measure import geometry_box
from .common import first_few

# The radius of gyration over that of a solid box around the shape. No mass inside the box
# exceeds sqrt(3), where it sits in the corners; most links lie between 0.6 and 1.2, rough
# guesses and links drawn in part between 0.05 and 10. Millimetres for metres, grams for
# kilograms or centimetres squared shift it by 30 at least.
_LEAST_GYRATION, _GREATEST_GYRATION = 0.05, 10.0
_GREATEST_OF_IDENTITY = 3.0  # nobody guesses just that
_NO_GYRATION = 1e-6  # below, the inertia is as good as none, which another rule tells
# How far outside the box, in diagonals of it, a centre of mass still passes: motors and
# covers are often not drawn.
_GREATEST_OFFSET = 1.0
_IDENTITY = np.eye(3).tolist()
_MOVING = (JointType.REVOLUTE, JointType.PRISMATIC, JointType.FREE)


def masses_are_positive(body: Body, diagnostics: Diagnostics) -> None:
    """A mass is never negative, and not zero where something has to be accelerated."""
    heavy = _links_that_carry_mass(body)
    massless: list[Link] = []
    for link in body.links:
        if link.mass < 0.0:
            message = f"link '{link.name}' has a negative mass, {link.mass:g} kg"
            diagnostics.error("negative-mass", message, link.at)
        elif link.mass == 0.0 and link.joint.type in _MOVING and link.name not in heavy:
            massless.append(link)
    if len(massless) == 1:
        message = f"link '{massless[0].name}' moves but has no mass"
        diagnostics.warn("massless-link", message, massless[0].at)
    elif massless:  # frames of sensors and tools, often many
        message = f"{len(massless)} links move but have no mass: {_named(massless)}"
        diagnostics.warn("massless-link", message, massless[0].at)


def inertias_are_physical(body: Body, diagnostics: Diagnostics) -> None:
    """A link with mass has a symmetric, positive inertia that some rigid body can have.

    The principal moments obey the triangle inequality: none exceeds the sum of the
    other two. Links that move on nothing need no inertia.
    """
    heavy = [] if body.is_static else [link for link in body.links if link.mass > 0.0]
    inertias = np.array([link.inertia for link in heavy]).reshape(-1, 3, 3)
    finite = np.isfinite(inertias).all(axis=(1, 2))
    heavy, inertias = list(compress(heavy, finite.tolist())), inertias[finite]
    if not heavy:
        return
    scales = np.abs(inertias).max(axis=(1, 2))
    # Of their own size, or the largest numbers would be too large for the algorithm.
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
            message = f"the inertia of link '{link.name}' is not positive: {shown}"
            diagnostics.warn("inertia-not-positive", message, link.at)
        elif small + middle < large * (1.0 - 1e-6):
            message = f"no rigid body has the principal inertias of link '{link.name}': {shown}"
            diagnostics.warn("inertia-triangle", message, link.at)


def masses_fit_the_shapes(body: Body, diagnostics: Diagnostics) -> None:
    """What moves has the inertia of something about as large as its shape, and lies near it.

    With k the radius of gyration about the centre of mass, k^2 = trace(I) / 2m; a solid
    box of diagonal d has k^2 = d^2 / 12. Nothing is said of links whose shapes are not all known.
    """
    unsuited: list[Link] = []
    for link, diagonal, outside in _sizes_and_offsets(_drawn_and_moved(body)):
        trace = sum(link.inertia.diagonal().tolist())
        if not 0.0 < diagonal < inf or link.mass <= 0.0 or not isfinite(trace):
            continue
        suited = sqrt(max(6.0 * trace / link.mass, 0.0))
        ratio = suited / diagonal
        is_identity = link.inertia.tolist() == _IDENTITY
        greatest = _GREATEST_OF_IDENTITY if is_identity else _GREATEST_GYRATION
        if ratio > _NO_GYRATION and not _LEAST_GYRATION <= ratio <= greatest:
            if is_identity:
                unsuited.append(link)
            else:
                message = (
                    f"the inertia of link '{link.name}' is {ratio * ratio:.3g} times that of its "
                    f"shape filled evenly: it would suit a body {suited:.3g} m across, "
                    f"not {diagonal:.3g} m"
                )
                diagnostics.warn("inertia-out-of-proportion", message, link.at)
        if outside > _GREATEST_OFFSET * diagonal:
            message = (
                f"the centre of mass of link '{link.name}' lies {outside:.3g} m outside "
                f"its shape, which is {diagonal:.3g} m across"
            )
            diagnostics.warn("mass-outside-shape", message, link.at)
    if unsuited:  # a placeholder, often in all links
        links = _named(unsuited)
        message = f"the inertia is the identity matrix, which does not suit the size of {links}"
        # Nobody controls a thing of one link, which falls and stands well enough like that.
        report = diagnostics.note if len(body.links) == 1 else diagnostics.warn
        report("inertia-out-of-proportion", message, unsuited[0].at)


RULES = (masses_are_positive, inertias_are_physical, masses_fit_the_shapes)


def _links_that_carry_mass(body: Body) -> set[str]:
    """Return the links that have mass, or on which links with mass are rigidly fixed."""
    heavy = {link.name for link in body.links if link.mass > 0.0}
    for link in reversed(body.links):
        if link.name in heavy and link.joint.type not in _MOVING and link.parent is not None:
            heavy.add(link.parent)
    return heavy


def _named(links: list[Link]) -> str:
    """Return the names of the first few links."""
    return first_few([f"'{link.name}'" for link in links], 4)


def _drawn_and_moved(body: Body) -> list[Link]:
    """Return the links that a joint of theirs or above them can move, and whose shapes are known.

    That is all of their shapes: a part says nothing about the size of a link.
    """
    moved: set[str] = set()
    for link in body.links:
        if link.joint.type in _MOVING or link.parent in moved:
            moved.add(link.name)
    return [link for link in body.links if link.name in moved and not link.lacks_shapes]


def _sizes_and_offsets(links: list[Link]) -> Iterator[tuple[Link, float, float]]:
    """Yield links that have shapes, with two lengths.

    They are the diagonal of the box along the axes of L around the shapes, and how far
    outside of this box the centre of mass lies.
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
