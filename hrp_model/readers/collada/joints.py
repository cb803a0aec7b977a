"""Joints: their axes, limits and motors, and those that follow others.

A joint follows others by a linear formula in MathML.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf, radians

from ...body import UNLIMITED, Joint, JointType, Range
from ...diagnostics import Diagnostics
from ...late_dataclass import dataclass
from ...rigid import Array, unit_vector
from ..joints import Follower
from ..xml_tree import Element
from .elements import References, Robot, Values

_TYPES = {"revolute": JointType.REVOLUTE, "prismatic": JointType.PRISMATIC}
# Of OpenHRP, which writes the id of a joint into its SID; from 1000 on the joint has none.
_OPENHRP_SID = re.compile(r"jointsid([0-9]{1,3})", re.ASCII)
_OPENHRP_ROOT = re.compile(r"/jointsid1[0-9]{3}$", re.ASCII)  # has an actuator, but no joint


@dataclass(frozen=True)
class Conventions:
    """Where writers of COLLADA differ.

    Attributes:
        is_openhrp: Whether joint ids are in SIDs, and masses are relative to the root link.
        has_degrees: Whether speeds, accelerations and positions of revolute joints are in
            degrees, as their limits are.
        has_efforts: Whether the ``<acceleration>`` of an axis is its maximum effort.
    """

    is_openhrp: bool
    has_degrees: bool
    has_efforts: bool


def conventions(root: Element) -> Conventions:
    """Return the conventions of the program that wrote a document."""
    asset = root.first("asset")
    contributors = [] if asset is None else list(asset.all("contributor"))
    tools = [x.text for contributor in contributors for x in contributor.all("authoring_tool")]
    is_openhrp = any(tool.startswith("OpenHRP") for tool in tools)
    return Conventions(
        is_openhrp,
        # Later versions of OpenRAVE, which append their number, have degrees.
        not is_openhrp
        and not {"OpenRAVE Collada Writer", "URDF Collada Writer"}.intersection(tools),
        is_openhrp or "URDF Collada Writer" in tools,
    )


@dataclass(frozen=True, eq=False)
class JointParts:
    """A joint as written.

    Attributes:
        element: The ``<joint>``.
        axis: Its ``<revolute>`` or ``<prismatic>``.
        joint: Its axis is in the frame of the attachment, before the transforms of the link.
        is_active: Whether it has a motor.
    """

    element: Element
    axis: Element
    joint: Joint
    is_active: bool


class JointReader:
    """Reads the joints of a robot."""

    def __init__(
        self,
        robot: Robot,
        references: References,
        values: Values,
        convention: Conventions,
        diagnostics: Diagnostics,
    ) -> None:
        self._robot = robot
        self._references = references
        self._values = values
        self._convention = convention
        self._diagnostics = diagnostics
        self._kinematic: dict[Element, Element] = {}
        self._motion: dict[Element, Element] = {}
        for system in reversed(robot.systems):
            self._collect(system)

    def joint(self, attachment: Element) -> JointParts | None:
        """Return the joint of an ``<attachment_full>``, or None after reporting an error."""
        address = attachment.attributes.get("joint", "")
        element = self.element(address, attachment)
        if element is None or element.tag != "joint":
            message = f"there is no joint '{address}'"
            self._diagnostics.error("unknown-joint", message, attachment.at("joint"))
            return None
        name = element.attributes.get("name") or address.rpartition("/")[2]
        axes = list(element.all(*_TYPES))
        if len(axes) != 1:
            message = (
                f"joint '{name}' has {len(axes) or 'no'} axes: write a joint and a link for each"
            )
            self._diagnostics.error("unknown-joint-type", message, element.span)
            return None
        return self._with_limits(element, axes[0], name, address)

    def element(self, address: str, scope: Element) -> Element | None:
        """Return the <joint> at an address, or what is there instead."""
        found = self._references.by_address(address, scope)
        is_instance = found is not None and found.tag == "instance_joint"
        return self._references.by_url(found) if is_instance else found

    def _collect(self, system: Element) -> None:
        """Collect the properties of axes that an articulated system has."""
        for tag, collected in (("kinematics", self._kinematic), ("motion", self._motion)):
            part = system.first(tag)
            technique = None if part is None else part.first("technique_common")
            for info in () if technique is None else technique.all("axis_info"):
                address = info.attributes.get("axis", "")
                axis = self._references.by_address(address, system)
                if axis is not None and axis.tag == "axis_info":  # of the kinematics
                    inner = axis.attributes.get("axis", "")
                    axis = self._references.by_address(inner, self._robot.systems[-1])
                if axis is None:
                    message = f"there is no axis '{address}'"
                    self._diagnostics.warn("unknown-joint", message, info.at("axis"))
                else:
                    collected.setdefault(axis, info)

    def _with_limits(
        self, element: Element, axis: Element, name: str, address: str
    ) -> JointParts | None:
        direction = self._direction(axis)
        if direction is None:
            return None
        kinematic, motion = self._kinematic.get(axis), self._motion.get(axis)
        is_active = self._flag(kinematic, "active", default=True)
        position = self._position(axis, kinematic)
        kind = _TYPES[axis.tag]
        # Writers make a fixed joint a revolute one that cannot move.
        if self._flag(kinematic, "locked", default=False) or position == (0.0, 0.0):
            kind, position = JointType.FIXED, UNLIMITED
        speed = self._rate(axis, motion, "speed")
        acceleration = self._rate(axis, motion, "acceleration")
        jerk = self._rate(axis, motion, "jerk")
        effort = UNLIMITED
        if self._convention.has_efforts:
            effort, acceleration = _both_ways(acceleration), inf
        initial = self._values.number(self._robot.positions.get(axis), 0.0)
        joint = Joint(
            type=kind,
            name=name,
            id=self._id(address),
            axis=direction,
            initial=self._in_si(axis, initial) if kind is not JointType.FIXED else 0.0,
            position=position,
            velocity=_both_ways(speed),
            effort=effort,
            max_acceleration=acceleration,
            max_deceleration=acceleration,
            max_jerk=jerk,
        )
        return JointParts(element, axis, joint, is_active)

    def _direction(self, axis: Element) -> Array | None:
        written = axis.first("axis")
        if written is None:
            message = f"a <{axis.tag}> needs an <axis>"
            self._diagnostics.error("missing-element", message, axis.span)
            return None
        direction = unit_vector(self._values.numbers(written, 3) or (0.0, 0.0, 1.0))
        if direction is None:
            message = "the axis has length zero"
            self._diagnostics.error("zero-axis", message, written.span)
        return direction

    def _position(self, axis: Element, kinematic: Element | None) -> Range:
        """Return the range of a joint: that of the articulated system replaces its own."""
        limits = None if kinematic is None else kinematic.first("limits")
        limits = limits or axis.first("limits")
        if limits is None or self._is_circular(kinematic):
            return UNLIMITED
        scale = radians(1.0) if axis.tag == "revolute" else self._values.unit
        lower = self._values.number(limits.first("min"), -inf)
        upper = self._values.number(limits.first("max"), inf)
        return Range(scale * lower, scale * upper)

    def _is_circular(self, kinematic: Element | None) -> bool:
        """Return whether a joint turns without end, as OpenRAVE writes it beside limits."""
        parameters = () if kinematic is None else kinematic.all("newparam")
        circular = (x for x in parameters if x.attributes.get("sid") == "circular")
        return self._values.flag(next(circular, None), default=False)

    def _rate(self, axis: Element, motion: Element | None, name: str) -> float:
        """Return the maximum of a derivative of a joint's position; none unless it is positive."""
        written = None if motion is None else motion.first(name)
        value = self._values.number(written, inf)
        return self._in_si(axis, value) if value > 0.0 else inf

    def _in_si(self, axis: Element, value: float) -> float:
        if axis.tag == "prismatic":
            return value * self._values.unit
        return radians(value) if self._convention.has_degrees else value

    def _flag(self, info: Element | None, name: str, *, default: bool) -> bool:
        return self._values.flag(None if info is None else info.first(name), default=default)

    def _id(self, address: str) -> int | None:
        sid = _OPENHRP_SID.fullmatch(address.rpartition("/")[2])
        return int(sid[1]) if self._convention.is_openhrp and sid else None


class MotorReader:
    """Reads the actuators that are attached to joints."""

    def __init__(self, references: References, values: Values, diagnostics: Diagnostics) -> None:
        self._references = references
        self._values = values
        self._diagnostics = diagnostics

    def motors(self, robot: Robot, joints: Mapping[str, JointParts]) -> dict[str, Joint]:
        """Return the joints that have actuators, completed by their properties, by name."""
        by_element = {parts.element: name for name, parts in joints.items()}
        found: dict[str, Joint] = {}
        for system in robot.systems:
            for extra in system.all("extra"):
                if extra.attributes.get("type") != "attach_actuator":
                    continue
                technique = openrave_technique(extra)
                bound = None if technique is None else technique.first("bind_actuator")
                address = "" if bound is None else bound.attributes.get("joint", "")
                element = self._references.by_address(address, system) if address else None
                if element is not None and element.tag == "instance_joint":
                    element = self._references.by_url(element)
                name = extra.attributes.get("name", "")
                name = name if element is None else by_element.get(element, name)
                instance = None if technique is None else technique.first("instance_actuator")
                if instance is None:
                    continue  # it has no properties
                actuator = self._references.by_url(instance)
                if actuator is None:
                    message = f"actuator '{name}' is left out: its instance_actuator names none"
                    self._diagnostics.warn("missing-element", message, extra.span)
                elif name in joints:
                    found[name] = self._motor(joints[name].joint, actuator)
                elif not _OPENHRP_ROOT.search(address):
                    message = f"actuator '{name}' is left out: no joint '{address}' moves a link"
                    self._diagnostics.warn("unknown-joint", message, extra.span)
        return found

    def _motor(self, joint: Joint, actuator: Element) -> Joint:
        ratio = self._values.number(actuator.first("gear_ratio"), 1.0)
        inertia = self._values.number(actuator.first("rotor_inertia"), 0.0)
        pulses = self._values.number(actuator.first("encoder_pulse"), 0.0)
        torque = self._values.number(actuator.first("nominal_torque"), 0.0)
        return replace(
            joint,
            gear_ratio=ratio,
            rotor_inertia=inertia,
            equivalent_rotor_inertia=ratio * ratio * inertia,
            torque_const=self._values.number(actuator.first("torque_constant"), 1.0),
            # 1 is the default of OpenHRP, and 0 is used for "no encoder".
            encoder_pulse=None if pulses in (0.0, 1.0) else pulses,
            effort=_both_ways(abs(torque)) if torque else joint.effort,
        )


def openrave_technique(element: Element) -> Element | None:
    """Return the technique of OpenRAVE in an extension, which OpenHRP writes, too."""
    techniques = element.all("technique")
    return next((x for x in techniques if x.attributes.get("profile") == "OpenRAVE"), None)


def _both_ways(limit: float) -> Range:
    return Range(-limit, limit)


class _NotLinearError(Exception):
    """A formula is not the multiple of one joint's position plus a number."""


@dataclass(frozen=True)
class _Linear:
    """``multiplier`` times the position of a joint, plus ``offset``; without a joint a number."""

    offset: float
    multiplier: float = 0.0
    joint: str = ""

    def __add__(self, other: _Linear) -> _Linear:
        if self.joint and other.joint and self.joint != other.joint:
            raise _NotLinearError
        offset, multiplier = self.offset + other.offset, self.multiplier + other.multiplier
        return _Linear(offset, multiplier, self.joint or other.joint)

    def __mul__(self, other: _Linear) -> _Linear:
        if self.joint and other.joint:
            raise _NotLinearError
        number, linear = (other, self) if self.joint else (self, other)
        factor = number.offset
        return _Linear(factor * linear.offset, factor * linear.multiplier, linear.joint)

    def inverse(self) -> _Linear:
        if self.joint or not self.offset:
            raise _NotLinearError
        return _Linear(1.0 / self.offset)


_MINUS_ONE = _Linear(-1.0)


class FormulaReader:
    """Reads the formulas of a kinematics model."""

    def __init__(
        self,
        model: Element,
        joint_of: Callable[[str, Element], JointParts | None],
        references: References,
        values: Values,
        diagnostics: Diagnostics,
    ) -> None:
        self._model = model
        self._joint_of = joint_of
        self._references = references
        self._values = values
        self._diagnostics = diagnostics

    def followers(self) -> dict[str, Follower]:
        """Return how joints follow others, by the name of the joint that follows."""
        technique = self._model.first("technique_common")
        found: dict[str, Follower] = {}
        for written in () if technique is None else technique.all("formula", "instance_formula"):
            formula = written
            if written.tag == "instance_formula":
                formula = self._references.by_url(written) or written
            target = formula.first("target")
            param = None if target is None else target.first("param")
            address = "" if param is None else param.text or param.attributes.get("ref", "")
            joint = self._joint_of(address, formula)
            try:
                value = self._value(self._math(formula))
                if joint is None or not value.joint:
                    raise _NotLinearError
            except _NotLinearError:
                message = "this formula is left out: it must be a multiple of the position of one "
                message += "moving joint, plus a number"
                self._diagnostics.warn("no-counterpart", message, formula.span)
                continue
            found[joint.joint.name] = Follower(
                value.joint, value.multiplier, value.offset, formula.span
            )
        return found

    def _math(self, formula: Element) -> Element:
        """Return the expression of a formula."""
        technique = formula.first("technique_common")
        if technique is None and (profile := openrave_technique(formula)) is not None:
            equations = profile.all("equation")
            technique = next((x for x in equations if x.attributes.get("type") == "position"), None)
        for child in () if technique is None else technique.descendants():
            if _local(child) not in ("math", "equation"):
                return child
        raise _NotLinearError

    def _value(self, element: Element) -> _Linear:
        name = _local(element)
        if name == "cn":
            return _Linear((self._values.numbers(element, 1) or [0.0])[0])
        if name in ("csymbol", "ci"):
            joint = self._joint_of(element.text, element)
            if joint is None:
                raise _NotLinearError
            return _Linear(0.0, 1.0, joint.joint.name)
        if name != "apply" or not element.children:
            raise _NotLinearError
        operator, *operands = element.children
        values = list(map(self._value, operands))
        return _applied(_local(operator), values)


def _applied(operator: str, values: list[_Linear]) -> _Linear:
    """Return the value of an operator."""
    if operator == "plus":
        return sum(values, start=_Linear(0.0))
    if operator == "minus" and len(values) == 1:
        return values[0] * _MINUS_ONE
    if operator == "minus" and len(values) == 2:
        return values[0] + values[1] * _MINUS_ONE
    if operator == "divide" and len(values) == 2:
        return values[0] * values[1].inverse()
    if operator == "times":
        product = _Linear(1.0)
        for value in values:
            product = product * value
        return product
    raise _NotLinearError


def _local(element: Element) -> str:
    """Return a tag without the prefix of its namespace."""
    return element.tag.rpartition(":")[2]
