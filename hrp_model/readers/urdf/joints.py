"""Read joints and their motors, and build the tree of links: parents before their children.

Motors are described by <ros2_control> and <transmission> blocks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from heapq import heappop, heappush
from math import hypot, inf

import numpy as np
from urdf_parser_py import urdf

from ...body import UNLIMITED, Joint, JointType, Range
from ...diagnostics import Diagnostics, Span, did_you_mean, did_you_mean_or_all, listed
from ...late_dataclass import dataclass
from ...rigid import Array, Pose, unit_vector
from ..joints import Follower, has_circle, resistance
from ..sdf_values import SdfReader
from ..xml_tree import Element
from .links import LinkParts, pose
from .objects import WORLD, ObjectReader, UrdfObject

_TYPES = {
    "revolute": JointType.REVOLUTE,
    "continuous": JointType.REVOLUTE,
    "prismatic": JointType.PRISMATIC,
    "fixed": JointType.FIXED,
    "floating": JointType.FREE,
    "planar": JointType.FREE,
}
_AXIS_X = np.array([1.0, 0.0, 0.0])
_MAX_LISTED = 4


@dataclass(frozen=True, eq=False)
class JointParts:
    """Contents of a <joint>.

    Attributes:
        element: The element.
        parent, child: Names of the links.
        X_PL: Pose of the child in its parent at position zero.
        joint: The joint, without its mimic.
        mimic: How it follows another joint, or None.
    """

    element: Element
    parent: str
    child: str
    X_PL: Pose
    joint: Joint
    mimic: Follower | None = None


class JointReader:
    """Reads <joint> elements."""

    def __init__(self, diagnostics: Diagnostics, objects: ObjectReader) -> None:
        self._diagnostics = diagnostics
        self._objects = objects

    def joint(self, element: Element) -> JointParts | None:
        """Return the contents of a joint, or None after reporting an error."""
        made = self._objects.read(urdf.Joint, element)
        if made is None:
            return None
        kind = _TYPES.get(made.type)
        if kind is None:
            message = (
                f"joint type '{made.type}' is unknown.{did_you_mean_or_all(made.type, _TYPES)}"
            )
            self._diagnostics.error("unknown-joint-type", message, element.at("type"))
            return None
        if made.type == "planar":
            message = (
                f"joint '{made.name}' is planar, which is not supported; it is treated as floating"
            )
            self._diagnostics.warn("planar-joint", message, element.at("type"))
        joint = Joint(type=kind, name=made.name)
        if joint.moves:
            joint = self._moving(kind, made, element)
        mimic = self._mimic(joint, made, element)
        return JointParts(element, made.parent, made.child, pose(made.origin), joint, mimic)

    def _mimic(self, joint: Joint, made: UrdfObject, element: Element) -> Follower | None:
        """Return how a joint follows another."""
        if made.mimic is None:
            return None
        if joint.is_fixed:  # deliberately: no warning
            return None
        written = element.first("mimic")
        if not joint.moves:
            message = f"a {made.type} joint cannot mimic another; this <mimic> is ignored"
            at = element.span if written is None else written.span
            self._diagnostics.warn("not-used", message, at)
            return None
        multiplier, offset = made.mimic.multiplier, made.mimic.offset
        return Follower(
            made.mimic.joint,
            1.0 if multiplier is None else multiplier,
            0.0 if offset is None else offset,
            element.span if written is None else written.at("joint"),
        )

    def _moving(self, kind: JointType, made: UrdfObject, element: Element) -> Joint:
        position, velocity, effort = self._limits(made, element)
        damping, friction = self._resistance(made, element)
        return Joint(
            type=kind,
            name=made.name,
            axis=self._axis(made, element),
            position=position,
            velocity=velocity,
            effort=effort,
            damping=damping,
            friction=friction,
            max_acceleration=_most(made, "acceleration"),
            max_deceleration=_most(made, "deceleration"),
            max_jerk=_most(made, "jerk"),
        )

    def _axis(self, made: UrdfObject, element: Element) -> Array:
        written = element.first("axis")
        if made.axis is None or written is None:
            return _AXIS_X
        axis = unit_vector(made.axis)
        if axis is None:
            message = f"the axis of joint '{made.name}' has length zero"
            self._diagnostics.error("zero-axis", message, written.at("xyz"))
            return _AXIS_X
        length = hypot(*made.axis)
        if abs(length - 1.0) > 1e-3:  # tolerates rounded decimals
            message = f"the axis has length {length:g}; only its direction is used"
            self._diagnostics.warn("axis-not-unit", message, written.at("xyz"))
        return axis

    def _limits(self, made: UrdfObject, element: Element) -> tuple[Range, Range, Range]:
        """Return the ranges of position, velocity and effort."""
        limit = made.limit
        if limit is None:
            if made.type != "continuous":
                message = f"{made.type} joint '{made.name}' has no <limit>; it is unlimited"
                self._diagnostics.warn("missing-limit", message, element.span)
            return UNLIMITED, UNLIMITED, UNLIMITED
        missing = [name for name in ("effort", "velocity") if getattr(limit, name) is None]
        if missing:
            written = element.first("limit")
            message = f"<limit> lacks {' and '.join(missing)}: treated as unlimited"
            self._diagnostics.warn(
                "missing-limit", message, element.span if written is None else written.span
            )
        position = UNLIMITED
        if made.type != "continuous":
            position = Range(limit.lower or 0.0, limit.upper or 0.0)
        effort = limit.effort
        if effort == 0.0:  # written where it is unknown, as the attribute is required
            message = f"the effort limit of joint '{made.name}' is 0: treated as not stated"
            written = element.first("limit")
            at = element.span if written is None else written.at("effort")
            self._diagnostics.warn("missing-limit", message, at)
            effort = None
        return position, _both_ways(limit.velocity), _both_ways(effort)

    def _resistance(self, made: UrdfObject, element: Element) -> tuple[float, float]:
        """Return damping and friction."""
        if made.dynamics is None:
            return 0.0, 0.0
        written = element.first("dynamics")

        def value(name: str) -> float:
            at = element.span if written is None else written.at(name)
            stated = getattr(made.dynamics, name) or 0.0
            shown = f"the {name} of joint '{made.name}'"
            return resistance(shown, stated, at, self._diagnostics)

        return value("damping"), value("friction")


def _most(made: UrdfObject, name: str) -> float:
    """Return a limit for both directions; infinite if it is not given."""
    limit = None if made.limit is None else getattr(made.limit, name)
    return inf if limit is None else abs(limit)


def _both_ways(limit: float | None) -> Range:
    if limit is None:
        return UNLIMITED
    return Range(0.0 - abs(limit), abs(limit))  # never -0


@dataclass
class Motors:
    """Motors of a robot's joints.

    Attributes:
        driven: The joints that have a motor, as keys in the order of the file.
        initial: Initial positions by joint, in [rad] or [m].
        gear_ratios: Gear ratios by joint.
        are_specified: Whether there is any block with joints.
    """

    driven: dict[str, None] = field(default_factory=dict)
    initial: dict[str, float] = field(default_factory=dict)
    gear_ratios: dict[str, float] = field(default_factory=dict)
    are_specified: bool = False

    def drive(self, joint: str) -> None:
        """Add a joint that has a motor."""
        self.driven[joint] = None


def read_motors(robot: Element, joints: Collection[str], diagnostics: Diagnostics) -> Motors:
    """Return the motors in the blocks of a robot.

    Args:
        robot: The root element.
        joints: Names of the joints that move.
        diagnostics: Receives warnings.
    """
    found = Motors()
    for block in robot.all("ros2_control"):
        for joint in block.all("joint"):
            found.are_specified = True
            name = joint.attributes.get("name", "")
            if name not in joints:
                _report(joint, name, joints, diagnostics)
                continue
            if joint.first("command_interface") is not None:
                found.drive(name)
            for state in joint.all("state_interface"):
                if state.attributes.get("name") == "position":
                    _read_initial(found, name, state, diagnostics)
    for transmission, is_control in _transmissions(robot):
        _read_transmission(found, transmission, joints, diagnostics, is_control=is_control)
    return found


def _transmissions(robot: Element) -> Iterator[tuple[Element, bool]]:
    """Yield transmissions, and whether they are those of ros2_control."""
    for block in robot.all("ros2_control"):
        yield from ((x, True) for x in block.all("transmission"))
    yield from ((x, False) for x in robot.all("transmission"))


def _read_transmission(
    found: Motors,
    transmission: Element,
    joints: Collection[str],
    diagnostics: Diagnostics,
    *,
    is_control: bool,
) -> None:
    for joint in transmission.all("joint"):
        name = joint.attributes.get("name", "")
        if name not in joints:
            _report(joint, name, joints, diagnostics)
            continue
        if not is_control:  # in ros2_control only a command interface implies a motor
            found.are_specified = True
            found.drive(name)
        # ros2_control, Gazebo and the PR2 write it in different places.
        for parent in (joint, *transmission.all("actuator"), transmission):
            ratio = parent.first("mechanical_reduction", "mechanicalReduction")
            if ratio is not None:
                _read_ratio(found, name, ratio, diagnostics)
                break


def _read_initial(found: Motors, joint: str, state: Element, diagnostics: Diagnostics) -> None:
    for param in state.all("param"):
        if param.attributes.get("name") == "initial_value":
            known = found.initial.get(joint, 0.0)
            found.initial[joint] = SdfReader(param, diagnostics, lenient=True).number(default=known)


def _read_ratio(found: Motors, joint: str, ratio: Element, diagnostics: Diagnostics) -> None:
    known = found.gear_ratios.get(joint, 1.0)
    value = SdfReader(ratio, diagnostics, lenient=True).number(default=known)
    if value == 0.0:
        message = f"the gear ratio of joint '{joint}' is 0, which is not possible; it is ignored"
        diagnostics.warn("not-used", message, ratio.span)
        value = known
    found.gear_ratios[joint] = value


def _report(element: Element, name: str, joints: Collection[str], diagnostics: Diagnostics) -> None:
    message = f"there is no moving joint '{name}'.{did_you_mean(name, joints)}"
    diagnostics.warn("unknown-joint", message, element.at("name"))


def joints_by_child(
    joints: Mapping[str, JointParts], links: Mapping[str, LinkParts], diagnostics: Diagnostics
) -> dict[str, JointParts] | None:
    """Return the joint above each link that has one; None after reporting errors.

    The parent "world" of a fixed or floating joint need not be defined as a link.
    """
    above: dict[str, JointParts] = {}
    valid = True
    for joint in joints.values():
        name = joint.joint.name
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link in links or (role == "parent" and link == WORLD and not joint.joint.moves):
                continue
            valid = False
            written = joint.element.first(role)
            at = joint.element.span if written is None else written.at("link")
            hint = did_you_mean(link, links)
            message = f"the {role} '{link}' of joint '{name}' is not defined as a link.{hint}"
            diagnostics.error("unknown-link", message, at)
        if joint.child in above:
            valid = False
            other = above[joint.child].joint.name
            message = f"link '{joint.child}' is the child of two joints, '{other}' and '{name}'"
            diagnostics.error("second-parent", message, joint.element.span)
        above.setdefault(joint.child, joint)
    return above if valid else None


def ordered(
    links: Mapping[str, LinkParts],
    above: Mapping[str, JointParts],
    robot: Element,
    diagnostics: Diagnostics,
) -> list[str]:
    """Return the names of links, parents before their children, else in the order of the file.

    Empty after reporting an error.
    """
    index = {name: i for i, name in enumerate(links)}
    children: dict[str, list[str]] = {}
    roots: list[str] = []
    for name in links:
        joint = above.get(name)
        if joint is None or joint.parent not in links:
            roots.append(name)
        else:
            children.setdefault(joint.parent, []).append(name)
    if len(roots) > 1:
        shown = listed([f"'{name}'" for name in roots], _MAX_LISTED)
        message = f"a robot must have exactly one link without a parent, but {shown} have none"
        diagnostics.error("second-root", message, links[roots[1]].element.span)
        return []
    found: list[str] = []
    ready = [(index[name], name) for name in roots]
    while ready:
        _, name = heappop(ready)
        found.append(name)
        for child in children.get(name, ()):
            heappush(ready, (index[child], child))

    def at(name: str) -> Span:
        return above[name].element.span if name in above else robot.span

    return [] if has_circle(links, frozenset(found), at, diagnostics) else found
