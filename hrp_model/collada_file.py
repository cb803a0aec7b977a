"""COLLADA files to scenes, with the names of their nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from . import resources
from .geometry import Attribute, Color, IntArray, Material, Mesh, SceneNode, Shape, Texture
from .meshing import face_set
from .reading import Reading

_MAX_DEPTH = 100


def read_collada(path: Path, reading: Reading) -> SceneNode:
    """Read the visual scene of a COLLADA file, in [m].

    The file's unit is converted, its upper axis is not: as the robot models that use
    such files expect, a part lies as its numbers say.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is no COLLADA file, or holds no polygon.
    """
    import collada  # slow to import, and most models need none of it

    try:
        document = collada.Collada(str(path), ignore=[collada.common.DaeError])
        unit = float(document.assetInfo.unitmeter or 1.0)
        nodes = document.scene.nodes if document.scene else []
        file = _File(path, reading)
        children = tuple(file.node(node, 0) for node in nodes)
    except (OSError, ValueError):
        raise
    except Exception as error:  # its parser raises whatever a broken file makes it
        raise ValueError(f"{type(error).__name__}: {error}") from error
    root = SceneNode(T_PN=np.diag([unit, unit, unit, 1.0]), children=children)
    if not root.flattened():
        raise ValueError("it holds no polygon")
    return root


class _File:
    """Nodes and materials of one file, each converted once."""

    def __init__(self, path: Path, reading: Reading) -> None:
        self._path = path
        self._reading = reading
        self._materials: dict[int, Material] = {}
        self._meshes: dict[int, Mesh | None] = {}

    def node(self, node: Any, depth: int) -> SceneNode:
        if depth > _MAX_DEPTH:
            raise ValueError(f"its nodes are nested more than {_MAX_DEPTH} deep")
        shapes: list[Shape] = []
        children = []
        for child in getattr(node, "children", None) or ():
            if hasattr(child, "geometry"):
                shapes += self._shapes(child)
            elif hasattr(child, "children"):
                children.append(self.node(child, depth + 1))
        matrix = getattr(node, "matrix", None)
        return SceneNode(
            name=_name(node),
            T_PN=np.eye(4) if matrix is None else np.asarray(matrix, dtype=np.float64),
            shapes=tuple(shapes),
            children=tuple(children),
        )

    def _shapes(self, geometry_node: Any) -> list[Shape]:
        materials = {bound.symbol: bound.target for bound in geometry_node.materials}
        shapes = []
        for primitive in geometry_node.geometry.primitives:
            if id(primitive) not in self._meshes:
                self._meshes[id(primitive)] = _mesh(primitive)
            mesh = self._meshes[id(primitive)]
            if mesh is not None:
                looks = self._material(materials.get(primitive.material))
                shapes.append(Shape(mesh, material=looks, name=geometry_node.geometry.name or ""))
        return shapes

    def _material(self, material: Any) -> Material:
        if material is None:
            return Material(ambient=1.0)
        if id(material) not in self._materials:
            self._materials[id(material)] = self._converted(material)
        return self._materials[id(material)]

    def _converted(self, material: Any) -> Material:
        effect = material.effect
        texture = None
        if effect.diffuse is not None and not isinstance(effect.diffuse, tuple):
            texture = self._texture(effect.diffuse)
        diffuse = _color(effect.diffuse, 1.0 if texture else 0.8)
        brightness = sum(diffuse)
        ambient = sum(_color(effect.ambient, 0.1)) / brightness if brightness > 0.0 else 1.0
        shininess = effect.shininess if isinstance(effect.shininess, float) else 0.0
        return Material(
            name=material.name or "",
            diffuse=diffuse,
            specular=_color(effect.specular, 0.4),
            emissive=_color(effect.emission, 0.0),
            ambient=min(ambient, 1.0),
            shininess=min(max(shininess / 128.0, 0.0), 1.0),
            transparency=_transparency(effect),
            texture=texture,
        )

    def _texture(self, image_map: Any) -> Texture | None:
        try:
            image = image_map.sampler.surface.image.path
            return Texture(resources.resolve(image, self._path.parent))
        except (AttributeError, OSError, ValueError) as error:
            message = f"a texture of '{self._path.name}' is left out: {error}"
            self._reading.diagnostics.warn("missing-resource", message)
            return None


def _name(node: Any) -> str:
    element = getattr(node, "xmlnode", None)
    name = element.get("name") if element is not None else None
    return name or getattr(node, "id", None) or ""


def _mesh(primitive: Any) -> Mesh | None:
    """Return the triangles of one primitive; None if it is made of lines or empty."""
    points = getattr(primitive, "vertex", None)
    index = getattr(primitive, "vertex_index", None)
    if points is None or index is None or not len(index):
        return None
    if hasattr(primitive, "vcounts"):
        counts = np.asarray(primitive.vcounts)
    elif np.ndim(index) == 2 and np.shape(index)[1] == 3:
        counts = np.full(len(index), 3)
    else:
        return None
    vertices = np.asarray(points, dtype=np.float64)
    if not np.isfinite(vertices).all():
        raise ValueError("it holds coordinates that are no finite numbers")
    ends = np.cumsum(counts)
    mesh = face_set(
        vertices,
        _ended(index, ends),
        normals=_attribute(primitive.normal, primitive.normal_index, ends),
        tex_coords=_attribute(
            next(iter(primitive.texcoordset), None),
            next(iter(primitive.texcoord_indexset), None),
            ends,
        ),
    )
    return mesh if len(mesh.triangles) else None


def _attribute(values: Any, index: Any, ends: IntArray) -> Attribute | None:
    if values is None or index is None or not len(values):
        return None
    return Attribute(np.asarray(values, dtype=np.float64), _ended(index, ends))


def _ended(index: Any, ends: IntArray) -> IntArray:
    """Return an index list with -1 after each polygon, given where the polygons end."""
    ended: IntArray = np.insert(np.asarray(index, dtype=np.int32).ravel(), ends, -1)
    return ended


def _color(value: Any, default: float) -> Color:
    if not isinstance(value, tuple) or len(value) < 3:
        return default, default, default
    r, g, b = (min(max(float(c), 0.0), 1.0) for c in value[:3])
    return r, g, b


def _transparency(effect: Any) -> float:
    """Return 0 for opaque to 1 for invisible (COLLADA 1.4.1, determining transparency).

    Files that would be quite invisible mean the opposite: their exporters mixed up
    the two ends of the scale.
    """
    color = effect.transparent if isinstance(effect.transparent, tuple) else (1.0, 1.0, 1.0, 1.0)
    amount = effect.transparency if isinstance(effect.transparency, float) else 1.0
    if effect.transparent is None and effect.transparency is None:
        return 0.0
    if str(getattr(effect, "opaque_mode", "A_ONE")) == "RGB_ZERO":
        hidden = float(np.dot(color[:3], (0.212671, 0.715160, 0.072169))) * amount
    else:
        hidden = 1.0 - (float(color[3]) if len(color) > 3 else 1.0) * amount
    return hidden if 0.0 <= hidden < 1.0 else 0.0
