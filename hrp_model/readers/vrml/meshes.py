"""Read meshes from face sets, extrusions and height fields."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...diagnostics import Diagnostics
from ...geometry import Attribute, IntArray, Mesh
from ...rigid import Array
from ...shapes.meshing import elevation_grid, extrusion, face_set
from ...shapes.triangulate import oversized_polygon
from .fields import Fields
from .nodes import Expander, Node

# Limit of the points of all extrusions in a file, each the product of the lengths of two lists.
_MAX_POINTS = 2_000_000
_WITHOUT_SURFACE = frozenset(("IndexedLineSet", "PointSet", "Text"))


class MeshReader:
    """Reads geometry nodes that become meshes."""

    def __init__(self, diagnostics: Diagnostics, expander: Expander, fields: Fields) -> None:
        self._diagnostics = diagnostics
        self._expander = expander
        self._fields = fields
        self._swept = 0
        self._readers = {
            "IndexedFaceSet": self._face_set,
            "Extrusion": self._extrusion,
            "ElevationGrid": self._elevation_grid,
        }

    def mesh(self, node: Node) -> Mesh | None:
        """Return the mesh of a geometry node, or None if it has no triangles."""
        reader = self._readers.get(node.type_name)
        if reader is not None:
            mesh = reader(node)
            if mesh is None or len(mesh.triangles):
                return mesh
            message = f"this {node.type_name} has no face with three corners; it is left out"
            self._diagnostics.note("empty-mesh", message, node.span)
            return None
        if node.type_name in _WITHOUT_SURFACE:
            message = f"{node.type_name} has no surface; it is left out"
            self._diagnostics.note("no-surface", message, node.span)
        else:
            message = f"{node.type_name} is not a geometry; it is left out"
            self._diagnostics.warn("unknown-geometry", message, node.span)
        return None

    def _face_set(self, node: Node) -> Mesh:
        fields = self._fields
        points = self._values(node, "coord", "point", 3)
        index = fields.indices(node, "coordIndex")
        if points is None or not len(index):
            return Mesh(np.empty((0, 3)), np.empty((0, 3), dtype=np.int32))
        points, index = self._usable(node, points, index)
        given = {
            "normals": self._attribute(node, "normal", "vector", 3, "normal", index),
            "colors": self._attribute(node, "color", "color", 3, "color", index),
            "tex_coords": self._attribute(node, "texCoord", "point", 2, "", index),
        }
        mesh = face_set(
            points,
            index,
            **given,
            ccw=fields.flag(node, "ccw"),
            crease_angle=fields.number(node, "creaseAngle"),
            solid=fields.flag(node, "solid"),
        )
        for name, attribute in given.items():
            if attribute is not None and getattr(mesh, name) is None and len(mesh.triangles):
                what = f"{name.replace('_', ' ')} ({len(attribute.values)})"
                message = f"the {what} do not match the faces; they are left out"
                self._diagnostics.warn("mismatched-attribute", message, node.span)
        return mesh

    def _usable(self, node: Node, points: Array, index: IntArray) -> tuple[Array, IntArray]:
        """Return points and indices in which faces with invalid points are marked to be dropped.

        Indices out of range, oversized polygons and points that are not finite are reported.
        """
        if int(index.max()) >= len(points):
            faces = 1 + np.count_nonzero(index[: np.argmax(index >= len(points))] < 0)
            message = f"face {faces} uses a point that does not exist; there are {len(points)}"
            self._diagnostics.warn("bad-index", message, node.at("coordIndex"))
            index = np.minimum(index, len(points))
        if corners := oversized_polygon(index):
            message = f"a face with {corners} corners is triangulated as if it were convex"
            self._diagnostics.warn("large-face", message, node.at("coordIndex"))
        # The sum detects any NaN without an array of flags.
        if not np.isfinite(points.sum()):
            broken = np.logical_not(np.isfinite(points).all(axis=1))
            if broken.any():
                message = (
                    f"{np.count_nonzero(broken)} points are not finite; their faces are left out"
                )
                self._diagnostics.warn("not-finite", message, node.span)
                points = np.where(broken[:, None], 0.0, points)
                inside = np.clip(index, 0, len(points) - 1)
                index = np.where((index >= 0) & broken[inside], len(points), index)
        return points, index

    def _attribute(
        self, node: Node, owner: str, values_field: str, width: int, prefix: str, index: IntArray
    ) -> Attribute | None:
        """Return the attribute of a Normal, Color or TextureCoordinate node."""
        values = self._values(node, owner, values_field, width)
        if values is None or not len(values):
            return None
        own = self._fields.indices(node, f"{prefix}Index" if prefix else "texCoordIndex")
        if owner == "color" and len(values) == 1 and not len(own):
            return Attribute(values, np.zeros_like(index))  # one colour for all
        if prefix and not self._fields.flag(node, f"{prefix}PerVertex"):
            faces = np.count_nonzero(index < 0) + int(index[-1] >= 0)
            own = own if len(own) else np.arange(faces, dtype=np.int32)
            return Attribute(values, own[:faces].astype(np.int32))
        if not len(own):
            own = index
        elif abs(len(own) - len(index)) == 1:  # the last -1 is missing in one of the lists
            own = np.append(own, -1)[: len(index)]
        return Attribute(values, np.minimum(own, len(values)).astype(np.int32))

    def _values(self, node: Node, owner: str, values_field: str, width: int) -> Array | None:
        """Return the rows in a child node, such as a Coordinate."""
        child = self._expander.node(node, owner)
        if child is None:
            return None
        if values_field not in child.type.fields:
            message = f"{child.type_name} cannot be the '{owner}' of {node.type_name}"
            self._diagnostics.warn("unknown-geometry", message, child.span)
            return None
        return self._fields.rows(child, values_field, width)

    def _extrusion(self, node: Node) -> Mesh | None:
        fields = self._fields
        section = fields.rows(node, "crossSection", 2)
        spine = fields.rows(node, "spine", 3)
        scale = fields.rows(node, "scale", 2)
        orientation = fields.rows(node, "orientation", 4)
        for name, rows in (("scale", scale), ("orientation", orientation)):
            if not len(rows) or 1 < len(rows) < len(spine):
                message = f"{len(rows)} values of '{name}' for {len(spine)} points of the spine"
                self._diagnostics.warn("short-list", message, node.at(name))
        if not all(np.isfinite(rows).all() for rows in (section, spine, scale, orientation)):
            message = "an Extrusion has values that are not finite; it is left out"
            self._diagnostics.warn("not-finite", message, node.span)
            return None
        self._swept += len(section) * len(spine)
        if self._swept > _MAX_POINTS:
            message = f"an Extrusion of {len(section)} x {len(spine)} points is left out"
            self._diagnostics.warn("too-large", message, node.span)
            return None
        return extrusion(
            section,
            spine,
            scale if len(scale) else (1.0, 1.0),
            orientation if len(orientation) else (0.0, 0.0, 1.0, 0.0),
            begin_cap=fields.flag(node, "beginCap"),
            end_cap=fields.flag(node, "endCap"),
            ccw=fields.flag(node, "ccw"),
            crease_angle=fields.number(node, "creaseAngle"),
            solid=fields.flag(node, "solid"),
        )

    def _elevation_grid(self, node: Node) -> Mesh | None:
        fields = self._fields
        columns, rows = fields.integer(node, "xDimension"), fields.integer(node, "zDimension")
        height = fields.numbers(node, "height")
        if not np.isfinite(height).all():
            message = "an ElevationGrid has heights that are not finite; it is left out"
            self._diagnostics.warn("not-finite", message, node.span)
            return None
        try:
            mesh = elevation_grid(
                columns,
                rows,
                fields.number(node, "xSpacing"),
                fields.number(node, "zSpacing"),
                height,
                ccw=fields.flag(node, "ccw"),
                crease_angle=fields.number(node, "creaseAngle"),
                solid=fields.flag(node, "solid"),
            )
        except ValueError as error:
            message = f"an ElevationGrid is left out: {error}"
            self._diagnostics.warn("bad-size", message, node.at("height"))
            return None
        return replace(
            mesh,
            normals=self._grid_attribute(node, mesh, "normal", "vector", 3),
            colors=self._grid_attribute(node, mesh, "color", "color", 3),
            tex_coords=self._grid_attribute(node, mesh, "texCoord", "point", 2),
        )

    def _grid_attribute(
        self, node: Node, mesh: Mesh, owner: str, values_field: str, width: int
    ) -> Attribute | None:
        values = self._values(node, owner, values_field, width)
        if values is None:
            return None
        indices = mesh.triangles
        if owner == "color" and len(values) == 1:
            indices = np.zeros_like(indices)  # one colour for all
        elif owner != "texCoord" and not self._fields.flag(node, f"{owner}PerVertex"):
            cells = np.arange(len(indices), dtype=np.int32) // 2  # two triangles a cell
            indices = np.repeat(cells[:, None], 3, axis=1)
        if indices.size and int(indices.max()) >= len(values):
            message = f"'{owner}' does not match the grid; it is left out"
            self._diagnostics.warn("mismatched-attribute", message, node.at(owner))
            return None
        return Attribute(values, indices)
