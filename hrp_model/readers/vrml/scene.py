"""Read a file as a scene: only its shapes, with the names by which a model can select them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ...geometry import SceneNode, Shape
from ...reading import Reading
from ...rigid import Array
from .expand import Expander
from .fields import Fields
from .library import scenery_types
from .nodes import Node
from .sensors import LIGHTS
from .shapes import ShapeReader

# Far deeper than any scene, and well within the limit of Python's stack.
MAX_DEPTH = 250


class SceneBuilder:
    """Converts VRML nodes to scene nodes, one for each group and each named shape.

    Attributes:
        joints: All Joint nodes, which are treated as groups.
        lights: All lights, each with the map from its group to the file, shape (4, 4).
    """

    def __init__(self, reading: Reading, expander: Expander) -> None:
        self._reading = reading
        self._expander = expander
        self._fields = Fields(reading.diagnostics)
        self._shapes = ShapeReader(reading, expander, self._fields)
        self._depth = 0
        self._T_FG = np.eye(4)  # map of the current group to the file
        self.joints: list[Node] = []
        self.lights: list[tuple[Node, Array]] = []

    def scene(self, nodes: Iterable[object]) -> SceneNode:
        """Return the scene of a file's top-level nodes."""
        return self._group("", np.eye(4), self._expander.nodes(tuple(nodes)))

    def _group(self, name: str, T_PN: Array, nodes: Iterable[Node]) -> SceneNode:
        """Return a scene node of several nodes, in their order."""
        shapes: list[Shape] = []
        children: list[SceneNode] = []
        for node in nodes:
            part = self._part(node)
            if isinstance(part, Shape) and not part.name and not children:
                shapes.append(part)
            elif isinstance(part, Shape):
                children.append(SceneNode(part.name, shapes=(part,)))
            elif part is not None:
                children.append(part)
        return SceneNode(name, T_PN, tuple(shapes), tuple(children))

    def _part(self, node: Node) -> Shape | SceneNode | None:
        if node.type_name == "Shape":
            return self._shapes.shape(node, np.eye(4))
        if node.type_name in LIGHTS:
            self.lights.append((node, self._T_FG))
        if node.type_name in scenery_types():
            return None
        if node.type_name == "Inline":
            return self._inline(node)
        if self._depth >= MAX_DEPTH:
            message = f"groups are nested more than {MAX_DEPTH} levels deep"
            self._reading.diagnostics.error("too-deep", message, node.span)
            return None
        if node.type_name == "Joint":
            self.joints.append(node)
        matrix = self._fields.affine(node)
        T_PN = np.eye(4) if matrix is None else matrix
        T_FP, self._T_FG = self._T_FG, self._T_FG @ T_PN
        self._depth += 1
        group = self._group(node.name, T_PN, self._shapes.members(node))
        self._depth -= 1
        self._T_FG = T_FP
        return group

    def _inline(self, node: Node) -> SceneNode | None:
        path: Path | None = self._shapes.inline(node)
        if path is None:
            self._reading.lost_shapes += 1
            return None
        scene = self._reading.read_scene(path, node.at("url"))
        if scene is None or not node.name:
            return scene
        return SceneNode(node.name, children=(scene,))
