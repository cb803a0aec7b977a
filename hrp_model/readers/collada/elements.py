"""Elements of COLLADA: their values in SI units, references between them, and those of the robot.

References are URLs, SID addresses and parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from math import inf, isfinite, radians

import numpy as np

from ...diagnostics import Diagnostics, listed
from ...late_dataclass import dataclass
from ...rigid import IDENTITY_4, Array, Pose, axis_angle_matrix, is_rotation, unit_vector
from ..xml_tree import NUMBER, Element

_PARAMETERS = ("newparam", "setparam")
_MAX_STEPS = 100  # from parameter to parameter, or from instance to instance
_TRANSFORMS = {"translate": 3, "rotate": 4, "scale": 3, "matrix": 16}
_UNSUPPORTED = ("lookat", "skew")
_TOLERANCE = 1e-3  # of the elements of rotation matrices, which may have few digits


class References:
    """Finds the elements that others refer to.

    Args:
        root: The ``<COLLADA>``.
    """

    def __init__(self, root: Element) -> None:
        self._ids: dict[str, Element] = {}
        self._symbols: dict[str, Element] = {}
        self._parameters: dict[Element, dict[str, Element]] = {}
        self._parents: dict[Element, Element] = {}
        self._sids: dict[Element, dict[str, Element]] = {}
        self.elements: list[Element] = [root]
        for element in self.elements:  # grows
            for child in element.children:
                self._parents[child] = element
                self.elements.append(child)
                if child.tag in _PARAMETERS:
                    own = self._parameters.setdefault(element, {})
                    own.setdefault(child.attributes.get("sid", ""), child)
            if "id" in element.attributes:
                self._ids.setdefault(element.attributes["id"], element)
            if element.tag == "bind":
                self._symbols.setdefault(element.attributes.get("symbol", ""), element)

    def parent(self, element: Element) -> Element | None:
        """Return the element around another, or None for the root."""
        return self._parents.get(element)

    def ancestors(self, element: Element) -> list[Element]:
        """Return the elements around an element, the root first."""
        found: list[Element] = []
        above = self.parent(element)
        while above is not None:
            found.append(above)
            above = self.parent(above)
        return found[::-1]

    def by_url(self, element: Element | None, attribute: str = "url") -> Element | None:
        """Return the element that a URL of an element names: "#" and the id of an element."""
        url = "" if element is None else element.attributes.get(attribute, "")
        return self._ids.get(url[1:]) if url.startswith("#") else None

    def by_address(self, address: str, scope: Element) -> Element | None:
        """Return the element at an address: an id and SIDs of elements inside it, as in "a/b/c".

        Args:
            address: Its first part may also be "." for the nearest element with an id around
                ``scope``, or an SID inside ``scope``.
            scope: The element that has the reference, or that the address is relative to.
        """
        first, *rest = address.strip().split("/")
        found: Element | None
        if first == ".":
            around = [*self.ancestors(scope), scope]
            found = next((x for x in reversed(around) if "id" in x.attributes), scope)
        else:
            found = self._ids.get(first) or self._inside(scope, first)
        for sid in rest:
            found = None if found is None else self._inside(found, sid)
        return found

    def target(self, reference: Element | None, scope: Element) -> Element | None:
        """Return what a reference in an element is about, through any number of parameters.

        Args:
            reference: Has a <param> or <SIDREF>.
            scope: Where its parameters are defined.
        """
        for _ in range(_MAX_STEPS):
            written = None if reference is None else reference.first("SIDREF", "param")
            if written is None:
                return None
            address = written.text or written.attributes.get("ref", "")
            found = (
                self._parameter(address, scope)
                or self.by_address(address, scope)
                or self._symbols.get(address)
            )
            if found is None or found.tag not in (*_PARAMETERS, "bind"):
                return found
            if found.first("SIDREF", "param") is None:
                return found
            # A parameter of an instance is about what that instantiates.
            reference, scope = found, self.by_url(self.parent(found)) or found
        return None

    def node(self, element: Element | None) -> Element | None:
        """Return a node, or the one that an ``<instance_node>`` instantiates."""
        is_instance = element is not None and element.tag == "instance_node"
        return self.by_url(element) if is_instance else element

    def _parameter(self, name: str, scope: Element) -> Element | None:
        """Return the parameter that an element, or the nearest one around it, defines."""
        element: Element | None = scope
        while element is not None:
            own = self._parameters.get(element, {})
            if name in own:
                return own[name]
            element = self.parent(element)
        return None

    def _inside(self, element: Element, sid: str) -> Element | None:
        """Return the element with an SID inside of another, or of that which it instantiates."""
        inner: Element | None = element
        for _ in range(_MAX_STEPS):
            if inner is None:
                return None
            if inner not in self._sids:
                self._sids[inner] = self._by_sid(inner)
            if sid in self._sids[inner]:
                return self._sids[inner][sid]
            inner = self.by_url(inner)
        return None

    def _by_sid(self, element: Element) -> dict[str, Element]:
        """Return the descendants of an element by SID; of equal ones the least deep and first.

        Those of an instantiated node are descendants, too.
        """
        found: dict[str, Element] = {}
        pending = element.children[:]
        instantiated: set[Element] = set()
        for child in pending:  # grows
            if "sid" in child.attributes:
                found.setdefault(child.attributes["sid"], child)
            pending += child.children
            node = self.node(child)
            if node is not None and node is not child and node not in instantiated:
                instantiated.add(node)
                pending += node.children
        return found


class Values:
    """Reads the values of a document.

    Attributes:
        unit: Length unit of the document, in [m].
    """

    def __init__(self, root: Element, references: References, diagnostics: Diagnostics) -> None:
        self._references = references
        self._diagnostics = diagnostics
        asset = root.first("asset")
        written = None if asset is None else asset.first("unit")
        self.unit = self._unit(written)
        for other in references.elements:
            if other.tag == "unit" and other is not written and "meter" in other.attributes:
                message = "this unit is not used: that of the file's <asset> is used everywhere"
                diagnostics.warn("not-used", message, other.at("meter"))

    def numbers(self, element: Element, *counts: int) -> list[float]:
        """Return the finite numbers of an element; none after reporting an error.

        Args:
            element: The element.
            counts: The allowed numbers of numbers.
        """
        words = element.text.split(None, max(counts) + 1)
        if len(words) in counts and all(map(NUMBER.fullmatch, words)):
            numbers = list(map(float, words))
            if all(map(isfinite, numbers)):
                return numbers
        needed = " or ".join(map(str, counts))
        noun = "number" if counts == (1,) else "numbers"
        message = f"<{element.tag}> needs {needed} finite {noun}, not '{element.text[:80]}'"
        self._diagnostics.error("wrong-value", message, element.span)
        return []

    def number(self, element: Element | None, default: float) -> float:
        """Return the number of an element, if it exists: its text, a <float> or a parameter."""
        inner = None if element is None else self._value(element)
        numbers = [] if inner is None else self.numbers(inner, 1)
        return numbers[0] if numbers else default

    def flag(self, element: Element | None, *, default: bool) -> bool:
        """Return the boolean of an element, if it exists: its text, a <bool> or a parameter."""
        if element is None:
            return default
        inner = self._value(element)
        if inner is None:
            return default
        if inner.text.lower() in ("true", "false", "1", "0"):
            return inner.text.lower() in ("true", "1")
        message = f"<{inner.tag}> must be true or false, not '{inner.text[:80]}'"
        self._diagnostics.error("wrong-value", message, inner.span)
        return default

    def transform(self, element: Element, left_out: frozenset[Element] = frozenset()) -> Array:
        """Return the product of the transforms in an element, in [m], shape (4, 4).

        Args:
            element: A node, link, attachment and so on.
            left_out: Transforms that count as identity, as those that joints move.
        """
        T: Array = IDENTITY_4
        for child in element.children:
            if child in left_out:
                continue
            if child.tag in _TRANSFORMS:
                T = T @ self._one_transform(child)
            elif child.tag in _UNSUPPORTED:
                message = f"<{child.tag}> is left out: write <translate>, <rotate> or <matrix>"
                self._diagnostics.warn("no-counterpart", message, child.span)
        return T

    def pose(self, element: Element) -> Pose:
        """Return the product of the transforms in an element, which must be rigid."""
        return self.rigid(self.transform(element), element)

    def rigid(self, T: Array, element: Element) -> Pose:
        """Return a transform as a pose; the identity after reporting that it is not rigid."""
        R, p = T[:3, :3], T[:3, 3]
        if T is IDENTITY_4 or (is_rotation(R, 1e-12) and np.isfinite(p).all()):
            return Pose(R, p)
        if not np.isfinite(T).all() or not is_rotation(R, _TOLERANCE):
            message = f"the transforms at <{element.tag}> must rotate and translate only"
            self._diagnostics.error("wrong-value", message, element.span)
            return Pose()
        U, _, V = np.linalg.svd(R)  # the nearest rotation
        return Pose(U @ V, p)

    def _value(self, element: Element) -> Element | None:
        """Return the element whose text is a value: a child, that of a parameter, or itself.

        None after reporting that there is no such parameter.
        """
        parameter = element.first("param", "SIDREF")
        if parameter is not None:
            found = self._references.target(element, element)
            if found is None:
                message = f"there is no parameter '{parameter.text}'; the default is used"
                self._diagnostics.warn("missing-element", message, parameter.span)
                return None
            element = found
        return element.first("float", "bool", "int") or element

    def _one_transform(self, element: Element) -> Array:
        T = np.eye(4)
        numbers = self.numbers(element, _TRANSFORMS[element.tag])
        if not numbers:
            return T
        if element.tag == "translate":
            T[:3, 3] = np.multiply(numbers, self.unit)
        elif element.tag == "scale":
            T[:3, :3] = np.diag(numbers)
        elif element.tag == "matrix":
            T = np.reshape(numbers, (4, 4))
            T[:3, 3] *= self.unit
        elif (axis := unit_vector(numbers[:3])) is not None:
            T[:3, :3] = axis_angle_matrix(axis, radians(numbers[3]))
        return T

    def _unit(self, written: Element | None) -> float:
        if written is None or "meter" not in written.attributes:
            return 1.0
        text = written.attributes["meter"].strip()
        unit = float(text) if NUMBER.fullmatch(text) else 0.0
        if 0.0 < unit < inf:
            return unit
        message = f"the length unit '{text[:80]}' is not a positive number; metres are used"
        self._diagnostics.warn("wrong-value", message, written.at("meter"))
        return 1.0


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
