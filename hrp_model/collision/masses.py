"""Masses and inertias of links that state none, estimated from their shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..body import Body, Link
from ..diagnostics import Diagnostics
from ..geometry import Mesh, Shape
from ..inertia import MassProperties, merge, point_inertia
from ..shapes.measure import signed_volume, unique_rows, used_vertices
from ..shapes.tessellate import shape_mesh
from .hull import convex_hull

# Of the cube around a closed surface: below this share it encloses nothing, as both sides of a
# sheet.
_LEAST_VOLUME = 1e-9


def with_estimated_masses(body: Body, density: float, diagnostics: Diagnostics) -> Body:
    """Return a body in which all that moves and has shapes has a mass.

    A link without mass becomes solid: each of its collision shapes, or without any of its visible
    ones, that is closed; the others together, if they form a closed surface, else as their convex
    hull. Where shapes overlap, the mass counts twice. Links stay without mass that are fixed to one
    with a mass, such as mounts of sensors, or fixed to another and invisible, such as envelopes for
    collision tests.

    Args:
        body: The body.
        density: Of the solids, in [kg/m^3].
        diagnostics: Receives a warning for each estimated link.
    """
    links: list[Link] = []
    heavy = {body.rigid_tops[link.name] for link in body.links if link.mass != 0.0}
    for link in body.links:
        top = body.rigid_tops[link.name]
        shapes = link.collision or link.visual
        is_left = top in heavy or not shapes or not (link.visual or link.name == top)
        solids, hull = ([], None) if is_left else _solids(shapes)
        if not (solids or hull):
            links.append(link)
            continue
        made = merge(solid(mesh, density) for mesh in (*solids, *([hull] if hull else [])))
        of_hull = "the convex hull of " if hull else ""
        source = "collision" if link.collision else "visible"
        diagnostics.warn(
            "estimated-mass",
            f"link '{link.name}' states no mass: estimated as {made.mass:.3g} kg, "
            f"{density:g} kg/m^3 times the volume of {of_hull}its {source} shapes"
            f"{' that are open, and of the others' if solids and hull else ''}",
            link.at,
        )
        links.append(
            replace(
                link,
                mass=made.mass,
                center_of_mass=made.center_of_mass,
                inertia=made.inertia,
            )
        )
    return replace(body, links=tuple(links))


def solid(mesh: Mesh, density: float) -> MassProperties:
    """Return the mass properties of a solid, in the frame of its mesh.

    The sum of those of the tetrahedra between a point and each triangle. With the corners u, v, w
    relative to the point, s = u + v + w and the volume V = u . (v x w) / 6, such a tetrahedron has
    the first moment V s / 4 and the second moment V (s s^T + u u^T + v v^T + w w^T) / 20.

    Args:
        mesh: Its closed surface; the triangles may all face inward.
        density: In [kg/m^3].
    """
    origin = used_vertices(mesh).mean(axis=0)
    corners = mesh.vertices[mesh.triangles] - origin
    volumes = np.einsum("ni,ni->n", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    volumes *= np.sign(volumes.sum())
    sums = corners.sum(axis=1)
    volume = float(volumes.sum())
    center = volumes @ sums / (4.0 * volume)
    moment = np.einsum("n,ni,nj->ij", volumes, sums, sums)
    moment += np.einsum("n,nki,nkj->ij", volumes, corners, corners)
    moment *= density / 20.0
    mass = density * volume
    inertia = np.trace(moment) * np.eye(3) - moment - mass * point_inertia(center)
    return MassProperties(mass, origin + center, inertia)


def _solids(shapes: Sequence[Shape]) -> tuple[list[Mesh], Mesh | None]:
    """Return closed surfaces, and the convex hull of what is open; None without such shapes.

    Closed shapes are apart, as some may face inward. Parts of one surface, such as those of
    different materials, are open each.
    """
    closed: list[Mesh] = []
    rest: list[Mesh] = []
    for shape in shapes:
        mesh = shape_mesh(shape, solid=True)
        if len(mesh.triangles) and np.ptp(used_vertices(mesh), axis=0).any():  # no mere point
            (closed if _is_closed(mesh) else rest).append(mesh)
    if not rest:
        return closed, None
    joined = _joined(rest)
    if _is_closed(joined):
        return [*closed, joined], None
    return closed, convex_hull(used_vertices(joined))


def _joined(meshes: Sequence[Mesh]) -> Mesh:
    """Return meshes as one."""
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    triangles = [m.triangles + int(n) for m, n in zip(meshes, starts, strict=False)]
    return Mesh(
        np.concatenate([mesh.vertices for mesh in meshes]),
        np.concatenate(triangles).astype(np.int32),
    )


def _is_closed(mesh: Mesh) -> bool:
    """Return whether a surface encloses a volume.

    Each edge of a triangle is then one of another triangle, in the other direction.
    """
    _, number = unique_rows(mesh.vertices.astype(np.float32))
    corners = number[mesh.triangles].astype(np.int64)
    edges = np.concatenate([corners[:, [i, (i + 1) % 3]] for i in range(3)])
    edges = edges[edges[:, 0] != edges[:, 1]]
    count = len(mesh.vertices)
    forward, backward = edges @ [count, 1], edges @ [1, count]
    is_closed = np.array_equal(np.sort(forward), np.sort(backward))
    size = float(np.ptp(used_vertices(mesh), axis=0).max())
    return is_closed and abs(signed_volume(mesh)) > _LEAST_VOLUME * size**3
