"""Shapes of the links: the geoms of a compiled model."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from ...diagnostics import Span, number_text, out_of_range
from ...geometry import (
    Y_TO_Z,
    Box,
    Capsule,
    Cylinder,
    Geometry,
    Material,
    Mesh,
    Shape,
    Sphere,
    Surface,
    SurfaceRule,
)
from ...read_context import ReadContext
from ...rigid import Array, Pose, quaternion_matrix
from .compiler import Compiled

_Y_TO_Z = Pose(Y_TO_Z).matrix()
_KINDS = mujoco.mjtGeom
_MAX_FRICTION = 1e6
_SLIDING_DIMENSIONS = 3  # of condim: normal and tangential forces
_SLIDING = 1.0  # MuJoCo's coefficient of sliding friction where a model states none
# Properties of contacts without effect: their values where a model states none.
_UNUSED = {
    "solref": (0.02, 1.0),
    "solimp": (0.9, 0.95, 0.001, 0.5, 2.0),
    "margin": (0.0,),
    "gap": (0.0,),
}
_MAX_VISIBLE_GROUP = 2  # MuJoCo's viewer shows the groups 0 to 2


class ShapeReader:
    """Reads the geoms of bodies."""

    def __init__(self, compiled: Compiled, context: ReadContext) -> None:
        self._compiled = compiled
        self._model = compiled.model
        self._context = context
        self._meshes: dict[int, Mesh] = {}
        self._reported: set[str] = set()
        self._in_pairs = {*self._model.pair_geom1.tolist(), *self._model.pair_geom2.tolist()}

    def shapes(self, body: int, X_LB: Pose) -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
        """Return the visual and the collision shapes of a body, placed in its link."""
        model = self._model
        visual: list[Shape] = []
        collision: list[Shape] = []
        for g in self._geoms(body):
            shape = self._shape(g, X_LB)
            if shape is None:
                continue
            self._context.count("shapes", at=self._at(g))
            if model.geom_group[g] <= _MAX_VISIBLE_GROUP:
                visual.append(shape)
            if self._collides(g):
                collision.append(shape)
        return tuple(visual), tuple(collision)

    def pairs_without_contact(self, bodies: list[int]) -> list[tuple[int, int]]:
        """Return the pairs of bodies with collision shapes that never collide.

        In MuJoCo these are bodies whose masks never meet, bodies without a joint between them,
        and those next to each other at a joint, except at a joint to the world.
        """
        model = self._model
        solid = [b for b in bodies if any(map(self._collides, self._geoms(b)))]
        types = self._masks(solid, model.geom_contype)
        affinities = self._masks(solid, model.geom_conaffinity)
        rigid = np.array(model.body_weldid[solid])  # the body that a body is fixed to
        above = np.array(model.body_weldid[model.body_parentid[rigid]])
        found: list[tuple[int, int]] = []
        for i, b in enumerate(solid):
            meets = (types[:i] & affinities[i]) | (affinities[:i] & types[i])
            near = (above[:i] == rigid[i]) | (rigid[:i] == above[i])
            near = near & (rigid[:i] > 0) & (rigid[i] > 0) | (rigid[:i] == rigid[i])
            apart = np.flatnonzero((meets == 0) | near).tolist()
            at = self._compiled.at_body(b)
            self._context.count("pairs of links that never collide", len(apart), at)
            found += ((solid[j], b) for j in apart)
        return found

    def _geoms(self, body: int) -> range:
        first = int(self._model.body_geomadr[body])
        return range(first, first + int(self._model.body_geomnum[body]))

    def _masks(self, bodies: list[int], of_geoms: Array) -> Array:
        """Return the bits that any geom of each body has, shape (len(bodies),)."""
        geoms = map(self._geoms, bodies)
        masks = [np.bitwise_or.reduce(of_geoms[x.start : x.stop]) for x in geoms]
        return np.array(masks, dtype=np.int64)

    def _collides(self, g: int) -> bool:
        """Return whether a geom is a collision shape."""
        model = self._model
        return bool(model.geom_contype[g] or model.geom_conaffinity[g] or g in self._in_pairs)

    def _shape(self, g: int, X_LB: Pose) -> Shape | None:
        model = self._model
        R = quaternion_matrix(np.roll(model.geom_quat[g], -1))
        T_LG = (X_LB @ Pose(R, np.array(model.geom_pos[g]))).matrix()
        kind = int(model.geom_type[g])
        a, b, c = model.geom_size[g].tolist()
        geometry: Geometry
        if kind == _KINDS.mjGEOM_BOX:
            geometry = Box(np.array([a, b, c]) * 2.0)
        elif kind == _KINDS.mjGEOM_SPHERE:
            geometry = Sphere(a)
        elif kind == _KINDS.mjGEOM_ELLIPSOID:
            geometry, T_LG = Sphere(1.0), T_LG @ np.diag([a, b, c, 1.0])
        elif kind == _KINDS.mjGEOM_CYLINDER:
            geometry, T_LG = Cylinder(a, 2.0 * b), T_LG @ _Y_TO_Z
        elif kind == _KINDS.mjGEOM_CAPSULE:
            geometry, T_LG = Capsule(a, 2.0 * b), T_LG @ _Y_TO_Z
        elif kind == _KINDS.mjGEOM_MESH:
            geometry = self._mesh(int(model.geom_dataid[g]))
        else:
            name = _KINDS(kind).name.removeprefix("mjGEOM_").lower()
            message = f"a geom of type {name} is left out: links have finite, rigid shapes"
            self._context.diagnostics.warn("no-counterpart", message, self._at(g))
            return None
        surface = self._surface(g) if self._collides(g) else None
        return Shape(geometry, T_LG, self._material(g), model.geom(g).name, surface)

    def _surface(self, g: int) -> Surface:
        """Return the contact properties of a geom; what is not used is reported once each."""
        model = self._model
        sliding, *others = model.geom_friction[g].tolist()
        dimensions, priority = int(model.geom_condim[g]), int(model.geom_priority[g])
        for attribute, is_unusual in self._unused.items():
            if is_unusual[g]:
                self._report_unused(attribute, "contacts have the settings of the world", g)
        if dimensions > _SLIDING_DIMENSIONS and any(others):
            self._report_unused("condim", "contacts have no torsional and rolling friction", g)
        friction = min(sliding, _MAX_FRICTION) if sliding > 0.0 else 0.0
        if friction != sliding:
            problem = out_of_range(sliding, 0.0, _MAX_FRICTION)
            message = f"friction {problem}; {number_text(friction)} is used"
            self._context.diagnostics.warn("surface-out-of-range", message, self._at(g))
        is_stated = friction != _SLIDING or priority != 0
        return Surface(
            rule=SurfaceRule.MUJOCO,
            friction=friction if is_stated else None,
            friction_across=friction if is_stated else None,
            is_frictionless=dimensions == 1,
            priority=priority,
        )

    @cached_property
    def _unused(self) -> dict[str, NDArray[np.bool_]]:
        """Which geoms state properties that are not used."""
        found: dict[str, NDArray[np.bool_]] = {}
        for name, default in _UNUSED.items():
            values = np.array(getattr(self._model, f"geom_{name}")).reshape(-1, len(default))
            found[name] = np.any(~np.isclose(values, default, rtol=1e-9), axis=1)
        return found

    def _report_unused(self, attribute: str, reason: str, g: int) -> None:
        if attribute not in self._reported:
            self._reported.add(attribute)
            message = f"{attribute} of geoms is not used: {reason}"
            self._context.diagnostics.note("not-used", message, self._at(g))

    def _mesh(self, m: int) -> Mesh:
        if m not in self._meshes:
            model = self._model
            vertices = _rows(model.mesh_vert, model.mesh_vertadr[m], model.mesh_vertnum[m])
            faces = _rows(model.mesh_face, model.mesh_faceadr[m], model.mesh_facenum[m])
            self._meshes[m] = Mesh(vertices.astype(np.float64), faces.astype(np.int32))
        return self._meshes[m]

    def _material(self, g: int) -> Material:
        model = self._model
        material = int(model.geom_matid[g])
        rgba = model.geom_rgba[g] if material < 0 else model.mat_rgba[material]
        r, g_, b, a = np.clip(rgba, 0.0, 1.0).tolist()
        name = "" if material < 0 else model.material(material).name
        return Material(name, (r, g_, b), transparency=1.0 - a)

    def _at(self, g: int) -> Span:
        return self._compiled.at("geoms", g)


def _rows(values: Any, start: int, count: int) -> Array:
    rows: Array = np.array(values[int(start) : int(start) + int(count)])
    return rows
