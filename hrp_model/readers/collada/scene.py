"""Find the robot of a document: its kinematics model, and what other elements belong to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ...diagnostics import Diagnostics, listed
from ..xml_tree import Element
from .values import References

_MAX_LISTED = 4


@dataclass(eq=False)
class Robot:
    """The elements of one robot.

    Attributes:
        name: Of its instance in the scene, or of its kinematics model.
        model: The ``<kinematics_model>``.
        systems: Its ``<articulated_system>`` elements, the outermost first.
        node: The ``<node>`` of its root link, if there is one.
        moved: The transforms of nodes that joints move, by their axis: a ``<revolute>`` or
            ``<prismatic>``.
        positions: Elements with the initial positions of joints, by axis.
        unbound: Bindings to transforms that do not exist, by axis.
    """

    name: str
    model: Element
    systems: list[Element]
    node: Element | None = None
    moved: dict[Element, Element] = field(default_factory=dict)
    positions: dict[Element, Element] = field(default_factory=dict)
    unbound: dict[Element, Element] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Found:
    name: str
    systems: list[Element]
    models: list[Element]


class SceneReader:
    """Finds the robot of a document.

    Attributes:
        visual_scene: The ``<visual_scene>`` of the scene, or the first one; the root of the
            document if there is none.
    """

    def __init__(self, root: Element, references: References, diagnostics: Diagnostics) -> None:
        self._root = root
        self._references = references
        self._diagnostics = diagnostics
        self._scene = root.first("scene")
        for instance in () if self._scene is None else self._scene.children:
            if "url" in instance.attributes and references.by_url(instance) is None:
                self._report_missing(instance)
        chosen = [target for _, target in self.instances("instance_visual_scene")]
        libraries = root.all("library_visual_scenes")
        chosen += [x for library in libraries for x in library.all("visual_scene")]
        self.visual_scene: Element = chosen[0] if chosen else root

    def robot(self) -> Robot | None:
        """Return the first robot of the scene; None after reporting an error.

        Without a scene it is that of the first articulated system, or the first kinematics model.
        """
        found = list(self._robots()) if self._scene is not None else []
        found = found or list(self._unused_robots())
        if not found:
            message = "this file has a kinematics model, but its scene does not lead to one"
            self._diagnostics.error("not-a-model", message, (self._scene or self._root).span)
            return None
        if len(found) > 1:
            others = listed([f"'{x.name}'" for x in found[1:]], _MAX_LISTED)
            message = f"only '{found[0].name}' is read, not the other robots: {others}"
            self._diagnostics.warn("second-humanoid", message, found[1].models[0].span)
        first = found[0]
        if len(first.models) > 1:
            message = f"the robot '{first.name}' has {len(first.models)} kinematics models, "
            message += "which no joint connects: write all its links in one"
            self._diagnostics.error("second-root", message, first.models[1].span)
            return None
        robot = Robot(first.name, first.models[0], first.systems)
        self._bind(robot)
        return robot

    def instances(self, tag: str) -> Iterator[tuple[Element, Element]]:
        """Yield the instances in the scene with a tag, and the elements that they name."""
        for instance in () if self._scene is None else self._scene.all(tag):
            if (target := self._references.by_url(instance)) is not None:
                yield instance, target

    def _robots(self) -> Iterator[_Found]:
        for _, scene in self.instances("instance_kinematics_scene"):
            for instance in scene.all("instance_articulated_system", "instance_kinematics_model"):
                yield from self._instantiated(instance)

    def _unused_robots(self) -> Iterator[_Found]:
        """Yield the robots in the libraries, outermost systems first."""
        libraries = list(self._root.all("library_articulated_systems"))
        systems = [x for library in libraries for x in library.all("articulated_system")]
        inner = {
            self._references.by_url(instance)
            for system in systems
            for instance in system.descendants()
            if instance.tag == "instance_articulated_system"
        }
        for system in systems:
            if system not in inner:
                yield from self._in_system(system, _name(system))
        if not systems:
            for library in self._root.all("library_kinematics_models"):
                for model in library.all("kinematics_model"):
                    yield _Found(_name(model), [], [model])

    def _instantiated(self, instance: Element) -> Iterator[_Found]:
        target = self._references.by_url(instance)
        name = instance.attributes.get("name", "")
        if target is None:
            self._report_missing(instance)
        elif target.tag == "kinematics_model":
            yield _Found(name or _name(target), [], [target])
        elif target.tag == "articulated_system":
            yield from self._in_system(target, name)

    def _in_system(self, system: Element, name: str) -> Iterator[_Found]:
        """Yield the robot of a system, whose motion is that of an inner system."""
        systems = {system: None}
        motion = system.first("motion")
        while motion is not None:
            instance = motion.first("instance_articulated_system")
            inner = self._references.by_url(instance)
            if inner is None:
                self._report_missing(instance or motion)
                return
            if inner in systems:
                message = f"the articulated system '{_name(inner)}' contains itself"
                self._diagnostics.error("instance-cycle", message, motion.span)
                return
            systems[inner] = None
            motion = inner.first("motion")
        kinematics = list(systems)[-1].first("kinematics")
        models = []
        for instance in () if kinematics is None else kinematics.all("instance_kinematics_model"):
            model = self._references.by_url(instance)
            if model is None:
                self._report_missing(instance)
            else:
                name = name or instance.attributes.get("name", "")
                models.append(model)
        if models:
            yield _Found(name or _name(models[0]), list(systems), models)

    def _bind(self, robot: Robot) -> None:
        """Find the nodes that the scene binds to the links and joints of a robot."""
        for instance, scene in self.instances("instance_kinematics_scene"):
            for bound in instance.all("bind_kinematics_model"):
                target = self._references.target(bound, scene)
                address = bound.attributes.get("node", "")
                node = self._references.node(
                    self._references.by_address(address, self.visual_scene)
                )
                if node is None:
                    message = f"there is no node '{address}'"
                    self._diagnostics.warn("missing-element", message, bound.span)
                elif robot.node is None and self._references.by_url(target) is robot.model:
                    robot.node = node
            for bound in instance.all("bind_joint_axis"):
                self._bind_axis(robot, bound, scene)

    def _bind_axis(self, robot: Robot, bound: Element, scene: Element) -> None:
        axis = self._references.target(bound.first("axis"), scene)
        if axis is None or axis.tag not in ("revolute", "prismatic") or axis in robot.moved:
            return
        address = bound.attributes.get("target", "")
        moved = self._references.by_address(address, self.visual_scene)
        if moved is None:
            robot.unbound[axis] = bound
        else:
            robot.moved[axis] = moved
        value = bound.first("value")
        position = None if value is None else self._references.target(value, scene) or value
        if position is not None and position is not axis:
            robot.positions[axis] = position

    def _report_missing(self, element: Element) -> None:
        url = element.attributes.get("url", "")
        message = f"<{element.tag}> names '{url}', which is not in this file; it is left out"
        self._diagnostics.warn("missing-element", message, element.at("url"))


def _name(element: Element) -> str:
    return element.attributes.get("name") or element.attributes.get("id", "")
