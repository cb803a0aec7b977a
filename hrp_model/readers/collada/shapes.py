"""Shapes of links: those of the nodes that belong to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from ...diagnostics import Diagnostics, MissingLibraryError
from ...geometry import SceneNode, Shape
from ...reading import Reading
from ...rigid import IDENTITY_4, Array
from ..xml_tree import Element
from .references import References
from .values import Values

_SHAPES = ("instance_geometry", "instance_controller")

ShapeReader = Callable[[], SceneNode]


class NodeReader:
    """Reads the nodes of the visual scene, which the reader of meshes has converted.

    Args:
        visual_scene: The ``<visual_scene>``.
        moved: The transforms that joints move; they count as identity.
        references: Of the document.
        values: Of the document.
    """

    def __init__(
        self,
        visual_scene: Element,
        moved: frozenset[Element],
        references: References,
        values: Values,
    ) -> None:
        self._visual_scene = visual_scene
        self._moved = moved
        self._references = references
        self._values = values
        self._shapes: dict[Element, SceneNode] = {}
        self._above: dict[Element, Element] = {}  # the first place of each node
        self._below: dict[Element, list[Element]] = {}
        self._collect_nodes()

    def collect(self, scene: SceneNode) -> None:
        """Assign the nodes of a converted scene to those of the document."""
        pending = [(self._visual_scene, scene)]
        while pending:
            element, converted = pending.pop()
            self._shapes[element] = converted
            rest: dict[str, list[SceneNode]] = {}
            for found in reversed(converted.children):
                rest.setdefault(found.name, []).append(found)
            for child in element.all("node", "instance_node"):
                node = self._references.node(child)
                if node is None:
                    continue
                # Nodes that could not be converted are missing.
                own = node.attributes.get("name", ""), node.attributes.get("id", "")
                names = (child.attributes.get("name", ""), *own)
                named = next((x for name in names if (x := rest.get(name))), None)
                if named is not None and self._above.get(node) is element:
                    pending.append((node, named.pop()))

    @property
    def has_shapes(self) -> bool:
        """Whether the scene has any shape."""
        return any(child.tag in _SHAPES for node in self._above for child in node.children)

    def named(self) -> dict[str, Element]:
        """Return the nodes of the scene by their name; of equal ones the first."""
        found: dict[str, Element] = {}
        for node in self._above:
            found.setdefault(node.attributes.get("name", ""), node)
        return found

    def around(self, node: Element) -> Array:
        """Return the map from the node around a node to the scene, in [m], shape (4, 4)."""
        T: Array = IDENTITY_4
        above = self._above.get(node)
        while above is not None and above is not self._visual_scene:
            T = self._values.transform(above, self._moved) @ T
            above = self._above.get(above)
        return T

    def shapes(self, node: Element, links: Mapping[Element, str], T_LN: Array) -> Iterator[Shape]:
        """Yield the shapes of a node, and of those below it that belong to no other link.

        Args:
            node: The node.
            links: Names of links by node.
            T_LN: Map from the node's parent to the link, in [m], shape (4, 4).
        """
        unit = self._values.unit
        scale = np.diag([unit, unit, unit, 1.0])
        pending = [(node, T_LN)]
        while pending:
            element, T_LP = pending.pop()
            converted = self._shapes.get(element)
            if converted is None:
                continue
            T_LE = T_LP @ self._values.transform(element, self._moved)
            for shape in converted.shapes:
                yield shape.moved(T_LE @ scale)
            below = [x for x in self._below.get(element, ()) if x in self._shapes]
            pending += [(x, T_LE) for x in reversed(below) if x not in links]
            # Further instances of a node belong to no other link.
            own = {id(self._shapes[x]) for x in below}
            for child in converted.children:
                if id(child) not in own:
                    for shape in child.flattened():
                        yield shape.moved(T_LE @ scale)

    def lacks_shapes(self, node: Element, links: Mapping[Element, str]) -> bool:
        """Return whether some shapes of a link, whose node this is, could not be read."""
        pending = [node]
        for element in pending:  # grows
            used = (child for child in element.children if child.tag in _SHAPES)
            if any(self._references.by_url(x) is None for x in used):
                return True
            pending += [x for x in self._below.get(element, ()) if x not in links]
        return any(x not in self._shapes for x in pending)

    def _collect_nodes(self) -> None:
        """Find the tree of nodes, with those that are instantiated."""
        pending = [self._visual_scene]
        for element in pending:  # grows
            for child in element.all("node", "instance_node"):
                node = self._references.node(child)
                if node is not None and node not in self._above:
                    self._above[node] = element
                    self._below.setdefault(element, []).append(node)
                    pending.append(node)


def read_scene(
    read: ShapeReader, reading: Reading, diagnostics: Diagnostics, at: Element
) -> SceneNode | None:
    """Return the shapes of a document, or None after reporting that they cannot be read."""
    try:
        scene = read()
    except MissingLibraryError as error:
        diagnostics.warn("missing-library", f"all shapes are left out: {error}", at.span)
        return None
    except (OSError, ValueError) as error:
        diagnostics.warn("unreadable-resource", f"all shapes are left out: {error}", at.span)
        return None
    reading.count("shapes", scene.size, at.span)
    return scene
