"""Build a Body from the robot of a document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...body import Body, Joint, JointType, Link, link_pair
from ...geometry import Shape
from ...inertia import merge
from ...late_dataclass import dataclass
from ...read_context import ReadContext
from ...rigid import IDENTITY_4, Pose
from ..joints import resolve_mimics
from ..xml_tree import Element
from .devices import DeviceReader
from .elements import References, Robot, SceneReader, Values
from .joints import (
    FormulaReader,
    JointParts,
    JointReader,
    MotorReader,
    conventions,
    openrave_technique,
)
from .links import MassReader, NodeReader, RigidBody, ShapeReader, read_scene

_LOOPS = ("attachment_start", "attachment_end")
# Extensions of a robot that are read, or that only planners need.
_EXTENSIONS = ("attach_sensor", "attach_actuator", "collision", "manipulator", "interface_type")
# By up axis of the file: rotations after which Z is up.
_UPRIGHT = {
    "X_UP": np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]]),
    "Y_UP": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    "Z_UP": np.eye(3),
}


@dataclass(frozen=True, eq=False)
class LinkParts:
    """A link as written.

    Attributes:
        element: The ``<link>``.
        name: Its name.
        parent: That of its parent, or None.
        joint: The joint above it; None for the root.
        X_KW: Pose of the frame of the element in the kinematics model, when all joints are at zero.
        X_KL: Pose of the link's frame, which is at the joint.
        X_LW: Pose of the frame of the element in the link.
        node: The node with its shapes, or None.
    """

    element: Element
    name: str
    parent: str | None
    joint: JointParts | None
    X_KW: Pose
    X_KL: Pose
    X_LW: Pose
    node: Element | None


class RobotReader:
    """Reads the robot of a document."""

    def __init__(self, root: Element, context: ReadContext, read_shapes: ShapeReader) -> None:
        self._root = root
        self._context = context
        self._read_shapes = read_shapes
        self._diagnostics = context.diagnostics
        self._references = References(root)
        self._values = Values(root, self._references, context.diagnostics)
        self._convention = conventions(root)
        self._links: dict[str, LinkParts] = {}
        self._moving: set[Element] = set()  # joints that move a link
        self._incomplete: set[str] = set()  # links that lack shapes

    def body(self) -> Body | None:
        """Return the body, or None after reporting errors."""
        scenes = SceneReader(self._root, self._references, self._diagnostics)
        robot = scenes.robot()
        if robot is None or not self._collect_links(robot, scenes):
            return None
        joints = self._joints(robot)
        source = self._root.source
        links = tuple(self._made(robot, scenes, joints))
        self._report_extensions(robot)
        elements = {parts.element: (parts.name, parts.X_LW) for parts in self._links.values()}
        sensors = DeviceReader(self._references, self._values, self._diagnostics)
        return Body(
            name=robot.name or source.stem,
            links=links,
            devices=tuple(sensors.devices(robot, elements)),
            self_collision_disabled=frozenset(self._disabled_pairs(robot)),
            path=source.path,
        )

    def _collect_links(self, robot: Robot, scenes: SceneReader) -> bool:
        """Collect the links, depth first; return False after reporting an error."""
        technique = robot.model.first("technique_common")
        roots = [] if technique is None else list(technique.all("link"))
        if len(roots) != 1:
            message = (
                f"a robot must have exactly one link without a parent, not {len(roots) or 'none'}"
            )
            code, at = ("no-links", robot.model) if not roots else ("second-root", roots[1])
            self._diagnostics.error(code, message, at.span)
            return False
        self._joint_reader = JointReader(
            robot, self._references, self._values, self._convention, self._diagnostics
        )
        self._visual_scene = scenes.visual_scene
        self._nodes = NodeReader(
            scenes.visual_scene,
            frozenset(robot.moved.values()),
            self._references,
            self._values,
        )
        self._named_nodes = self._nodes.named()
        X_KW = self._values.pose(roots[0])
        return self._add(roots[0], None, None, (X_KW, X_KW), robot)

    def _add(
        self,
        element: Element,
        parent: str | None,
        joint: JointParts | None,
        poses: tuple[Pose, Pose],
        robot: Robot,
    ) -> bool:
        """Add a link and all below it; return False after reporting an error."""
        self._context.count("links", at=element.span)
        attributes = element.attributes
        name = attributes.get("name") or attributes.get("id") or attributes.get("sid", "")
        name = name or f"link{len(self._links)}"
        if name in self._links:
            message = f"two links are named '{name}': each link has one place in the tree"
            self._diagnostics.error("duplicate-link-name", message, element.at("name"))
            return False
        node = self._node(robot, joint) or self._named_nodes.get(name)
        if node is None and joint is not None and joint.axis in robot.unbound:
            bound = robot.unbound[joint.axis]
            message = f"link '{name}' has no shapes: there is no transform "
            message += f"'{bound.attributes.get('target', '')}'"
            self._diagnostics.warn("missing-element", message, bound.span)
        X_KW, X_KL = poses
        X_LW = X_KL.inverse() @ X_KW
        parts = LinkParts(element, name, parent, joint, X_KW, X_KL, X_LW, node)
        self._links[name] = parts
        for loop in element.all(*_LOOPS):
            message = f"<{loop.tag}> is left out: this closed loop is open"
            self._diagnostics.warn("no-counterpart", message, loop.span)
        added = [self._attach(x, parts, robot) for x in element.all("attachment_full")]
        return all(added)

    def _attach(self, attachment: Element, parent: LinkParts, robot: Robot) -> bool:
        """Add the link of an attachment; return False after reporting an error."""
        joint = self._joint_reader.joint(attachment)
        child = attachment.first("link")
        if joint is None:
            return False
        if child is None:
            message = f"joint '{joint.joint.name}' is left out: it moves no link"
            self._diagnostics.warn("missing-element", message, attachment.span)
            return True
        if joint.element in self._moving:
            message = f"joint '{joint.joint.name}' moves two links"
            self._diagnostics.error("duplicate-joint-name", message, attachment.at("joint"))
            return False
        self._moving.add(joint.element)
        X_KJ = parent.X_KW @ self._values.pose(attachment)
        X_JW = self._values.pose(child)
        axis = X_JW.R.T @ joint.joint.axis
        joint = replace(joint, joint=replace(joint.joint, axis=axis))
        X_KW = X_KJ @ X_JW
        # A link that turns has its origin at the joint.
        X_KL = Pose(X_KW.R, X_KJ.p) if joint.joint.moves else X_KW
        return self._add(child, parent.name, joint, (X_KW, X_KL), robot)

    def _node(self, robot: Robot, joint: JointParts | None) -> Element | None:
        """Return the node that is bound to a link, by the transform that its joint moves."""
        if joint is None:
            return robot.node
        moved = robot.moved.get(joint.axis)
        return None if moved is None else self._references.parent(moved)

    def _joints(self, robot: Robot) -> dict[str, Joint]:
        """Return the complete joints by their names."""
        parts = {x.joint.joint.name: x.joint for x in self._links.values() if x.joint is not None}
        moving = {name: x for name, x in parts.items() if x.joint.moves}
        moved = {
            x.joint.joint.name: x.name
            for x in self._links.values()
            if x.joint is not None and x.joint.joint.moves
        }
        by_element = {x.element: x for x in moving.values()}

        def joint_at(address: str, scope: Element) -> JointParts | None:
            element = self._joint_reader.element(address, scope)
            return moving.get(address) if element is None else by_element.get(element)

        formulas = FormulaReader(
            robot.model,
            joint_at,
            self._references,
            self._values,
            self._diagnostics,
        )
        mimics = resolve_mimics(moved, formulas.followers(), self._diagnostics)
        motors = MotorReader(self._references, self._values, self._diagnostics)
        made = {name: x.joint for name, x in parts.items()} | motors.motors(robot, parts)
        driven = [name for name, x in moving.items() if x.is_active and name not in mimics]
        if not self._convention.is_openhrp:
            ids = {name: number for number, name in enumerate(driven)}
            made = {name: replace(x, id=ids.get(name)) for name, x in made.items()}
        leaders = {link: name for name, link in moved.items()}
        for name, mimic in mimics.items():
            initial = mimic.position(made[leaders[mimic.link]].initial)
            made[name] = replace(made[name], mimic=mimic, initial=initial, id=None)
        return made

    def _made(self, robot: Robot, scenes: SceneReader, joints: dict[str, Joint]) -> Iterator[Link]:
        masses = MassReader(self._root, scenes, self._references, self._values, self._diagnostics)
        root = next(iter(self._links.values()))
        T_SK = IDENTITY_4 if robot.node is None else self._nodes.around(robot.node)
        X_SK = self._values.rigid(T_SK, robot.node or self._root)
        visual = self._shapes(X_SK.inverse())
        for parts in self._links.values():
            bodies = masses.bodies(parts.name, parts.node)
            X_LK = parts.X_KL.inverse()
            held = []
            for body in bodies:
                X_LF = X_LK @ root.X_KW
                if body.parent is not None and not self._convention.is_openhrp:
                    X_LF = X_LK @ X_SK.inverse() @ self._placed(body.parent)
                held.append(masses.mass(body, X_LF))
            mass = held[0] if len(held) == 1 else merge(held)
            X_PL = X_SK @ parts.X_KL
            if parts.parent is not None:
                X_PL = self._links[parts.parent].X_KL.inverse() @ parts.X_KL
            shapes = visual.get(parts.name, ())
            yield Link(
                name=parts.name,
                parent=parts.parent,
                joint=self._joint(parts, masses, bodies, joints),
                X_PL=X_PL if parts.parent is not None else self._upright() @ X_PL,
                mass=mass.mass,
                center_of_mass=mass.center_of_mass,
                inertia=mass.inertia,
                visual=shapes,
                collision=shapes,
                at=parts.element.at("name"),
                lacks_shapes=parts.name in self._incomplete,
            )

    def _joint(
        self,
        parts: LinkParts,
        masses: MassReader,
        bodies: list[RigidBody],
        joints: dict[str, Joint],
    ) -> Joint:
        if parts.joint is not None:
            return joints[parts.joint.joint.name]
        is_held = masses.is_held(parts.name, bodies)
        return Joint(type=JointType.FIXED if is_held else JointType.FREE, name=parts.name)

    def _placed(self, node: Element) -> Pose:
        """Return the pose of a node in the scene."""
        return self._values.rigid(self._nodes.around(node) @ self._values.transform(node), node)

    def _upright(self) -> Pose:
        """Return the rotation after which the up axis of the file is Z; the default of it is Y."""
        asset = self._root.first("asset")
        written = None if asset is None else asset.first("up_axis")
        name = "Y_UP" if written is None else written.text.upper()
        if name not in _UPRIGHT:
            assert written is not None
            message = f"the up axis must be X_UP, Y_UP or Z_UP, not '{name[:80]}'; Z_UP is used"
            self._diagnostics.warn("wrong-value", message, written.span)
        return Pose(_UPRIGHT.get(name, _UPRIGHT["Z_UP"]))

    def _shapes(self, X_KS: Pose) -> dict[str, tuple[Shape, ...]]:
        """Return the shapes of the links that have any, by name.

        Args:
            X_KS: Pose of the visual scene in the kinematics model.
        """
        nodes = {x.node: x for x in self._links.values() if x.node is not None}
        if not self._nodes.has_shapes:
            return {}
        scene = read_scene(self._read_shapes, self._context, self._diagnostics, self._root)
        names = {node: parts.name for node, parts in nodes.items()}
        if scene is None:
            self._incomplete = set(names.values())
            return {}
        self._nodes.collect(scene)
        self._incomplete = {
            name for node, name in names.items() if self._nodes.lacks_shapes(node, names)
        }
        found = {
            parts.name: tuple(
                self._nodes.shapes(
                    node,
                    names,
                    (parts.X_KL.inverse() @ X_KS).matrix() @ self._nodes.around(node),
                )
            )
            for node, parts in nodes.items()
        }
        if lost := len(scene.flattened()) - sum(map(len, found.values())):
            message = f"{lost} shapes are left out: their nodes belong to no link"
            self._diagnostics.warn("not-used", message, self._visual_scene.span)
        return found

    def _disabled_pairs(self, robot: Robot) -> Iterator[frozenset[str]]:
        """Yield the pairs of links that never collide: those at a joint, and those written."""
        for parts in self._links.values():
            if parts.parent is not None:
                yield link_pair(parts.name, parts.parent)
        by_element = {parts.element: parts.name for parts in self._links.values()}
        for extra in robot.model.all("extra"):
            technique = openrave_technique(extra)
            if extra.attributes.get("type") != "collision" or technique is None:
                continue
            for pair in technique.all("ignore_link_pair"):
                ends = [pair.attributes.get(name, "") for name in ("link0", "link1")]
                found = [self._references.by_address(end, robot.model) for end in ends]
                names = [by_element.get(x) for x in found if x is not None]
                if len(names) == 2 and names[0] is not None and names[1] is not None:
                    self._context.count("pairs of links that never collide", at=pair.span)
                    yield link_pair(names[0], names[1])
                else:
                    message = f"there are no links '{ends[0]}' and '{ends[1]}'"
                    self._diagnostics.warn("unknown-link", message, pair.span)

    def _report_extensions(self, robot: Robot) -> None:
        for owner in (robot.model, *robot.systems):
            for extra in owner.all("extra"):
                kind = extra.attributes.get("type", "")
                if kind not in _EXTENSIONS:
                    message = f"the extension '{kind}' is left out: it has no counterpart"
                    self._diagnostics.warn("no-counterpart", message, extra.span)
