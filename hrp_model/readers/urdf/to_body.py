"""Build a Body from a <robot>."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from ...body import Body, Joint, JointType, Link, Mimic, adjacent_pairs
from ...devices import Device
from ...diagnostics import did_you_mean
from ...read_context import ReadContext
from ...rigid import Pose
from ..joints import resolve_mimics
from ..xml_tree import Element
from .gazebo import GazeboReader, GazeboSurfaces
from .joints import JointParts, JointReader, Motors, joints_by_child, ordered, read_motors
from .links import LinkParts, LinkReader, MaterialReader
from .objects import WORLD, ObjectReader

# Elements in a <robot>; those of other programs are ignored, as are all with a namespace.
_KNOWN = (
    "link",
    "joint",
    "material",
    "gazebo",
    "transmission",
    "ros2_control",
    "mujoco",
    "mujoco_inputs",
    "sensor",
    "version",
)
_Parts = TypeVar("_Parts", LinkParts, JointParts)


class RobotReader:
    """Reads one robot."""

    def __init__(self, robot: Element, context: ReadContext) -> None:
        self._robot = robot
        self._context = context
        self._diagnostics = context.diagnostics
        self._objects = ObjectReader(context.diagnostics)

    def body(self) -> Body | None:
        """Return the body, or None after reporting errors."""
        self._report_unknown()
        self._check_quaternions()
        materials = MaterialReader(self._context, self._objects)
        materials.collect(self._robot)
        link_reader = LinkReader(self._context, self._objects, materials)
        links = self._collect("link", link_reader.link)
        joints = self._collect("joint", JointReader(self._diagnostics, self._objects).joint)
        if links is None or joints is None:
            return None
        if not links:
            message = "a robot needs at least one link"
            self._diagnostics.error("no-links", message, self._robot.span)
            return None
        above = joints_by_child(joints, links, self._diagnostics)
        names = [] if above is None else ordered(links, above, self._robot, self._diagnostics)
        if above is None or not names:
            return None
        return self._body(links, joints, above, names)

    def _report_unknown(self) -> None:
        self._objects.report_attributes(self._robot, ("name", "version", "xmlns"))
        if not self._robot.attributes.get("name"):
            message = "a <robot> needs a name; this one is named after its file"
            self._diagnostics.warn("missing-attribute", message, self._robot.span)
        for child in self._robot.children:
            if child.tag not in _KNOWN and ":" not in child.tag:
                message = f"<{child.tag}> is unknown and ignored.{did_you_mean(child.tag, _KNOWN)}"
                self._diagnostics.warn("unknown-element", message, child.span)

    def _check_quaternions(self) -> None:
        """Report quaternions that other programs ignore or refuse."""
        has_quaternions = self._robot.attributes.get("version", "1.0") not in ("1", "1.0")
        for element in self._robot.descendants():
            if element.tag != "origin" or "quat_xyzw" not in element.attributes:
                continue
            at = element.at("quat_xyzw")
            if not has_quaternions:
                message = "other programs ignore quat_xyzw in URDF 1.0: write "
                message += '<robot version="1.1">'
                self._diagnostics.warn("newer-version", message, at)
            if "rpy" in element.attributes:
                message = "an <origin> has rpy or quat_xyzw, not both"
                self._diagnostics.error("wrong-value", message, at)

    def _collect(
        self, tag: str, read: Callable[[Element], _Parts | None]
    ) -> dict[str, _Parts] | None:
        """Return all links or joints by name; None after reporting errors."""
        found: dict[str, _Parts] = {}
        valid = True
        for element in self._robot.all(tag):
            if tag == "link":
                self._context.count("links", at=element.span)
            parts = read(element)
            name = element.attributes.get("name", "")
            if parts is None:
                valid = False
            elif name in found:
                valid = False
                other = found[name].element
                line, _ = other.source.line_column(other.start)
                where = f"line {line}" if other.source is element.source else str(other.span)
                message = f"{tag} '{name}' is already defined in {where}"
                self._diagnostics.error(f"duplicate-{tag}-name", message, element.at("name"))
            else:
                found[name] = parts
        return found if valid else None

    def _body(
        self,
        links: Mapping[str, LinkParts],
        joints: Mapping[str, JointParts],
        above: Mapping[str, JointParts],
        names: list[str],
    ) -> Body:
        moving = {name: x for name, x in joints.items() if x.joint.moves}
        by_joint = {name: x.child for name, x in moving.items()}
        followers = {name: x.mimic for name, x in moving.items() if x.mimic is not None}
        mimics = resolve_mimics(by_joint, followers, self._diagnostics)
        motors = read_motors(self._robot, moving, self._diagnostics)
        complete = _with_motors(moving, mimics, motors)
        gazebo = GazeboReader(self._robot, links, above, self._diagnostics)
        devices, frames = gazebo.devices()
        names = [name for name in names if name not in frames]
        names, root_joint, X_WR = self._root(links, above, names, devices)
        if root_joint.type is JointType.FREE and gazebo.fixes_to_world(names[0]):
            root_joint = replace(root_joint, type=JointType.FIXED)
        surfaces = GazeboSurfaces(self._robot, self._context)
        surfaces.report_unknown(links, joints)
        made = [_link(names[0], links[names[0]], None, root_joint, X_WR, surfaces)]
        for name in names[1:]:
            parts = above[name]
            joint = surfaces.with_spring(complete.get(parts.joint.name, parts.joint))
            made.append(_link(name, links[name], parts.parent, joint, parts.X_PL, surfaces))
        source = self._robot.source
        return Body(
            name=self._robot.attributes.get("name", "") or source.stem,
            links=tuple(made),
            devices=tuple(devices),
            self_collision_disabled=adjacent_pairs(made)
            | surfaces.never_colliding([link.name for link in made]),
            path=source.path,
        )

    def _root(
        self,
        links: Mapping[str, LinkParts],
        above: Mapping[str, JointParts],
        names: list[str],
        devices: Iterable[Device],
    ) -> tuple[list[str], Joint, Pose]:
        """Return the links of the body, the joint between its root and the world, and its pose.

        A root named "world" is the world itself. If it is only a frame with a single child, on a
        fixed or floating joint, that child is the root of the body.
        """
        root = names[0]
        children = [name for name in names[1:] if above[name].parent == root]
        has_devices = any(device.link == root for device in devices)
        if root == WORLD and links[root].is_empty and len(children) == 1 and not has_devices:
            joint = above[children[0]]
            if not joint.joint.moves:
                return names[1:], joint.joint, joint.X_PL
        if root in above:  # by a joint whose parent "world" is not defined as a link
            return names, above[root].joint, above[root].X_PL
        kind = JointType.FIXED if root == WORLD else JointType.FREE
        return names, Joint(type=kind, name=root), Pose()


def _with_motors(
    moving: Mapping[str, JointParts], mimics: Mapping[str, Mimic], motors: Motors
) -> dict[str, Joint]:
    """Return the joints that move, completed by id, mimic, initial position and gear ratio.

    Joints with motors get ids in order: those in blocks for controllers or, if there are no such
    blocks, all that do not mimic another joint.
    """
    driven: Iterable[str] = motors.driven if motors.are_specified else moving
    numbered = [name for name in driven if name not in mimics]
    ids = {name: number for number, name in enumerate(numbered)}
    initial = {name: motors.initial.get(name, 0.0) for name in moving}
    by_child = {parts.child: name for name, parts in moving.items()}
    for name, mimic in mimics.items():
        initial[name] = mimic.position(initial[by_child[mimic.link]])
    return {
        name: replace(
            parts.joint,
            id=ids.get(name),
            mimic=mimics.get(name),
            initial=initial[name],
            gear_ratio=motors.gear_ratios.get(name, 1.0),
        )
        for name, parts in moving.items()
    }


def _link(
    name: str,
    parts: LinkParts,
    parent: str | None,
    joint: Joint,
    X_PL: Pose,
    surfaces: GazeboSurfaces,
) -> Link:
    return Link(
        name=name,
        parent=parent,
        joint=joint,
        X_PL=X_PL,
        mass=parts.mass.mass,
        center_of_mass=parts.mass.center_of_mass,
        inertia=parts.mass.inertia,
        visual=parts.visual,
        collision=surfaces.collision(name, parts),
        weight_share=surfaces.weight_share(name),
        lacks_shapes=parts.lacks_shapes,
        at=parts.element.at("name"),
    )
