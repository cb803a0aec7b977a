"""Links: their masses, from the rigid bodies of the physics scene, and shapes of their nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from ...diagnostics import Diagnostics, MissingLibraryError
from ...geometry import SceneNode, Shape
from ...inertia import MassProperties
from ...late_dataclass import dataclass
from ...read_context import ReadContext
from ...rigid import IDENTITY_4, Array, Pose
from ..xml_tree import Element
from .elements import References, SceneReader, Values

_SHAPES = ("instance_geometry", "instance_controller")
ShapeReader = Callable[[], SceneNode]


@dataclass(frozen=True, eq=False)
class RigidBody:
    """A rigid body in the scene.

    Attributes:
        element: The ``<rigid_body>``.
        node: The node that it moves, or None.
        parent: The node that its physics model is placed in, or None.
    """

    element: Element
    node: Element | None
    parent: Element | None


class MassReader:
    """Reads rigid bodies."""

    def __init__(
        self,
        root: Element,
        scenes: SceneReader,
        references: References,
        values: Values,
        diagnostics: Diagnostics,
    ) -> None:
        self._root = root
        self._scenes = scenes
        self._references = references
        self._values = values
        self._diagnostics = diagnostics
        self._bound: dict[Element, list[RigidBody]] = {}
        self._named: dict[str, RigidBody] = {}
        for body in list(self._in_scene()) or list(self._unused()):
            if body.node is not None:
                self._bound.setdefault(body.node, []).append(body)
            self._named.setdefault(body.element.attributes.get("name", ""), body)
        self._held: set[str] = set()
        self._held_bodies: set[Element] = set()
        self._collect_constraints()

    def bodies(self, name: str, node: Element | None) -> list[RigidBody]:
        """Return the rigid bodies of a link: those that move its node, or that have its name."""
        if node is not None and node in self._bound:
            return self._bound[node]
        return [self._named[name]] if name in self._named else []

    def is_held(self, name: str, bodies: list[RigidBody]) -> bool:
        """Return whether a root link is fixed: by a constraint to the scene, or not dynamic."""
        if name in self._held or any(x.element in self._held_bodies for x in bodies):
            return True
        return any(
            not self._values.flag(technique.first("dynamic"), default=True)
            for x in bodies
            for technique in x.element.all("technique_common")
        )

    def mass(self, body: RigidBody, X_LF: Pose) -> MassProperties:
        """Return the mass of a body in its link.

        Args:
            body: The body.
            X_LF: Pose in the link of the frame that the mass frame is relative to.
        """
        technique = body.element.first("technique_common")
        if technique is None:
            return MassProperties()
        if technique.first("density") is not None and technique.first("mass") is None:
            message = "masses are not derived from densities: write <mass>"
            self._diagnostics.error("unstated-mass", message, body.element.span)
        frame = technique.first("mass_frame")
        X_FM = Pose() if frame is None else self._values.pose(frame)
        written = technique.first("inertia")
        moments = [] if written is None else self._values.numbers(written, 3)
        inertia = np.diag(moments or (0.0, 0.0, 0.0))
        mass = self._values.number(technique.first("mass"), 0.0)
        return MassProperties(mass, np.zeros(3), inertia).expressed_in(X_LF @ X_FM)

    def _in_scene(self) -> Iterator[RigidBody]:
        for instance, model in self._models():
            parent = self._references.by_url(instance, "parent")
            for used in instance.all("instance_rigid_body"):
                sid = used.attributes.get("body", "")
                body = self._references.by_address(sid, model)
                node = self._references.by_url(used, "target")
                if body is None or body.tag != "rigid_body":
                    message = f"there is no rigid body '{sid}'; its mass is left out"
                    self._diagnostics.warn("missing-element", message, used.span)
                else:
                    yield RigidBody(body, node, parent)

    def _models(self) -> Iterator[tuple[Element, Element]]:
        """Yield the instances of physics models in the scene, and the models."""
        for _, scene in self._scenes.instances("instance_physics_scene"):
            for instance in scene.all("instance_physics_model"):
                if (model := self._references.by_url(instance)) is not None:
                    yield instance, model

    def _unused(self) -> Iterator[RigidBody]:
        """Yield the rigid bodies in the libraries, which have no nodes."""
        for library in self._root.all("library_physics_models"):
            for model in library.all("physics_model"):
                for body in model.all("rigid_body"):
                    yield RigidBody(body, None, None)

    def _collect_constraints(self) -> None:
        """Find what constraints hold: OpenHRP writes one for a root that is fixed."""
        for instance, model in self._models():
            for used in instance.all("instance_rigid_constraint"):
                sid = used.attributes.get("constraint", "")
                constraint = self._references.by_address(sid, model)
                attachment = None if constraint is None else constraint.first("attachment")
                if constraint is None or attachment is None:
                    message = f"there is no rigid constraint '{sid}' with an attachment"
                    self._diagnostics.warn("missing-element", message, used.span)
                    continue
                self._held.add(constraint.attributes.get("name", ""))
                body = self._references.by_url(attachment, "rigid_body")
                if body is not None:
                    self._held_bodies.add(body)


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
    read: ShapeReader, context: ReadContext, diagnostics: Diagnostics, at: Element
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
    context.count("shapes", scene.size, at.span)
    return scene
