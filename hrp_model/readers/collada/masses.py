"""Masses of links, from the rigid bodies of the physics scene."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...diagnostics import Diagnostics
from ...inertia import MassProperties
from ...rigid import Pose
from ..xml_tree import Element
from .references import References
from .scene import SceneReader
from .values import Values


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
