"""Joints of a model, and gearboxes, which couple two hinges; poses in each other's frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from math import inf, pi

import numpy as np

from ...body import UNLIMITED, Joint, JointType, Range
from ...diagnostics import Diagnostics, did_you_mean_or_all
from ...frames import add_unique
from ...late_dataclass import dataclass
from ...rigid import Array, Pose, unit_vector
from ..joints import Follower, ball_hinges, resistance
from ..sdf_values import SdfReader
from ..xml_tree import Element

MODEL = "__model__"
WORLD = "world"


@dataclass(frozen=True, eq=False)
class _Frame:
    element: Element
    pose: Pose
    parent: str


class Frames:
    """The frames of a model.

    Args:
        model: The ``<model>``.
        diagnostics: Receives errors.
    """

    def __init__(self, model: Element, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        self._frames: dict[str, _Frame] = {}
        self._poses: dict[str, Pose] = {MODEL: Pose()}
        self._attached = {MODEL: canonical_link(model)}  # frames to others, joints to their child
        for element in model.all("link", "joint", "frame"):
            self._add(element)
        self._taken = {MODEL, WORLD, *self._frames}

    def new_name(self, wanted: str) -> str:
        """Return a name that nothing in the model has, and which no later call returns."""
        return add_unique(wanted, self._taken)

    def pose(self, name: str) -> Pose | None:
        """Return the pose of a frame in the model; None after reporting an error."""
        return self._resolved(name, ())

    def in_frame(self, pose: Pose, frame: str, link: str, element: Element) -> Pose:
        """Return a pose in a link from one in a frame; "" is the link itself."""
        if frame in ("", link):
            return pose
        self._check(frame, element)
        X_ML, X_MF = self.pose(link), self.pose(frame)
        if X_ML is None or X_MF is None:
            return pose
        return X_ML.inverse() @ X_MF @ pose

    def link(self, name: str) -> str:
        """Return the link that a frame is attached to; other names are returned unchanged."""
        seen: set[str] = set()
        while name in self._attached and name not in seen:
            seen.add(name)
            name = self._attached[name]
        self._attached.update(dict.fromkeys(seen - {name}, name))  # so that chains are short
        return name

    def _add(self, element: Element) -> None:
        name = element.attributes.get("name", "")
        if not name:
            message = f"this {element.tag} has no name"
            self._diagnostics.error("missing-attribute", message, element.span)
            return
        if name in self._frames or name in (MODEL, WORLD):
            message = f"the name '{name}' of this {element.tag} is already used in the model"
            self._diagnostics.error("duplicate-frame-name", message, element.at("name"))
            return
        reader = SdfReader(element, self._diagnostics)
        pose, parent = reader.framed_pose("pose")
        default = MODEL
        if element.tag == "joint":
            default = self._attached[name] = reader.text("child")
        elif element.tag == "frame":
            default = element.attributes.get("attached_to", "") or MODEL
            self._attached[name] = default
        self._frames[name] = _Frame(element, pose, parent or default)

    def _resolved(self, name: str, inside: tuple[str, ...]) -> Pose | None:
        if name in self._poses:
            return self._poses[name]
        frame = self._frames.get(name)
        if frame is None:
            return None
        if name in inside:
            chain = " -> ".join((*inside[inside.index(name) :], name))
            message = f"poses are relative to each other: {chain}"
            self._diagnostics.error("frame-cycle", message, frame.element.span)
            return None
        if not self._check(frame.parent, frame.element):
            return None
        X_MP = self._resolved(frame.parent, (*inside, name))
        if X_MP is None:
            return None
        self._poses[name] = X_MP @ frame.pose
        return self._poses[name]

    def _check(self, name: str, element: Element) -> bool:
        """Return whether a frame exists; False after reporting that it does not."""
        if name in self._frames or name == MODEL:
            return True
        message = f"there is no frame '{name}'.{did_you_mean_or_all(name, self._frames)}"
        self._diagnostics.error("unknown-frame", message, element.span)
        return False


def canonical_link(model: Element) -> str:
    """Return the name of the link that carries the frame of a model, by default the first one."""
    first = model.first("link")
    default = "" if first is None else first.attributes.get("name", "")
    return model.attributes.get("canonical_link", "") or default


_TYPES = {
    "revolute": JointType.REVOLUTE,
    "continuous": JointType.REVOLUTE,
    "prismatic": JointType.PRISMATIC,
    "fixed": JointType.FIXED,
    "ball": JointType.REVOLUTE,
    "universal": JointType.REVOLUTE,
    "revolute2": JointType.REVOLUTE,
    "screw": JointType.REVOLUTE,
}
GEARBOX = "gearbox"  # connects two joints instead of two links
_TWO_AXES = ("universal", "revolute2")
AXES = ("axis", "axis2")
_AXIS_Z = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class JointParts:
    """A joint, and the links that it connects.

    Attributes:
        element: The ``<joint>``.
        chain: The joints that it becomes, by the name of the link that each moves, from the
            parent on. The last link is the child, others have no mass. Axes are in the axes of
            the child link.
        parent, child: Names of the links; the parent may be "world".
        X_MJ: Pose of the joint frame in the model.
        followers: How joints of the chain follow others, by name of the joint.
    """

    element: Element
    chain: dict[str, Joint]
    parent: str
    child: str
    X_MJ: Pose
    followers: dict[str, Follower] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the ``<joint>``."""
        return self.element.attributes.get("name", "")

    @property
    def moves(self) -> bool:
        """Whether its joints have coordinates."""
        return self.chain[self.child].moves


class JointReader:
    """Reads joints."""

    def __init__(self, model: Element, frames: Frames, diagnostics: Diagnostics) -> None:
        self._frames = frames
        self._diagnostics = diagnostics
        self._hinges = {  # of joints with two axes, by name and axis
            (name, tag): frames.new_name(f"{name}_{number}")
            for element in model.all("joint")
            if element.attributes.get("type") in _TWO_AXES
            for name in (element.attributes.get("name", ""),)
            for number, tag in enumerate(AXES, 1)
        }

    def joint(self, element: Element) -> JointParts | None:
        """Return a joint, or None after reporting an error."""
        name = element.attributes.get("name", "")
        kind = element.attributes.get("type", "")
        reader = SdfReader(element, self._diagnostics)
        if kind not in _TYPES:
            message = f"joint '{name}' has type '{kind}'.{did_you_mean_or_all(kind, _TYPES)}"
            self._diagnostics.error("unknown-joint-type", message, element.at("type"))
            return None
        parent = self._frames.link(reader.text("parent"))
        child = self._frames.link(reader.text("child"))
        X_MJ = self._frames.pose(name)
        X_MC = None if X_MJ is None else self._frames.pose(child)
        if X_MJ is None or X_MC is None:
            return None
        joints = self._joints(element, name, kind, X_MJ)
        if joints is None:
            return None
        R_CM = X_MC.R.T
        chain = {self._frames.new_name(f"{child}_{x.name}"): x for x, _ in joints[:-1]}
        chain[child] = joints[-1][0]
        return JointParts(
            element,
            {link: replace(x, axis=R_CM @ x.axis) for link, x in chain.items()},
            parent,
            child,
            X_MJ,
            {x.name: follower for x, follower in joints if follower is not None},
        )

    def direction(self, element: Element, tag: str, X_MJ: Pose) -> Array | None:
        """Return an axis of a joint in the model, or None after reporting an error."""
        return self._axis(self._axis_reader(element, tag), X_MJ)

    def _joints(
        self, element: Element, name: str, kind: str, X_MJ: Pose
    ) -> list[tuple[Joint, Follower | None]] | None:
        """Return joints, from the parent on, with axes in the model; None after an error."""
        joint = Joint(type=_TYPES[kind], name=name)
        if kind == "fixed":
            return [(joint, None)]
        if kind == "ball":
            hinges = ball_hinges(joint, self._frames.new_name)
            return [(replace(x, axis=X_MJ.R @ x.axis), None) for x in hinges]
        if kind not in _TWO_AXES:
            made = self._about(element, "axis", joint, X_MJ)
            if made is None or kind != "screw":
                return None if made is None else [made]
            slide = self._thread(element, made[0])
            return None if slide is None else [slide, made]
        hinges = [replace(joint, name=self._hinges[name, tag]) for tag in AXES]
        found = [self._about(element, *x, X_MJ) for x in zip(AXES, hinges, strict=True)]
        complete = [x for x in found if x is not None]
        return complete if len(complete) == len(found) else None

    def _about(
        self, element: Element, tag: str, joint: Joint, X_MJ: Pose
    ) -> tuple[Joint, Follower | None] | None:
        """Return the joint about an axis, which is in the model, or None after an error."""
        axis = self._axis_reader(element, tag)
        direction = self._axis(axis, X_MJ)
        if direction is None:
            return None
        return replace(self._limited(joint, axis, element), axis=direction), self._mimic(axis)

    def _thread(self, element: Element, hinge: Joint) -> tuple[Joint, Follower] | None:
        """Return the slide that follows the hinge of a screw, or None after an error."""
        reader = SdfReader(element, self._diagnostics)
        advance = reader.number("screw_thread_pitch", default=1.0) / (2.0 * pi)  # [m/rad]
        if reader.inside("screw_thread_pitch") is None and reader.inside("thread_pitch"):
            older = reader.number("thread_pitch", default=1.0)  # [rad/m], of left-handed threads
            advance = -1.0 / older if older else 0.0
        if advance == 0.0:
            message = f"the pitch of the thread of joint '{hinge.name}' must not be zero"
            self._diagnostics.error("wrong-value", message, element.span)
            return None
        name = self._frames.new_name(f"{hinge.name}_slide")
        slide = Joint(type=JointType.PRISMATIC, name=name, axis=hinge.axis)
        return slide, Follower(hinge.name, advance, 0.0, element.span)

    def _axis_reader(self, element: Element, tag: str) -> SdfReader:
        """Return a reader of an axis, which is empty after a warning."""
        axis = SdfReader(element, self._diagnostics).inside(tag)
        if axis is not None:
            return axis
        name = element.attributes.get("name", "")
        message = f"joint '{name}' has no <{tag}>; Z of the joint is used"
        self._diagnostics.warn("missing-element", message, element.span)
        return SdfReader(Element(tag, {}, element.source, element.start), self._diagnostics)

    def _axis(self, axis: SdfReader, X_MJ: Pose) -> Array | None:
        """Return the axis in the model, or None after reporting an error."""
        written = axis.inside("xyz")
        value = unit_vector(axis.vector("xyz", default=_AXIS_Z))
        if value is None:
            message = "the axis has length zero"
            self._diagnostics.error("zero-axis", message, axis.element.span)
            return None
        frame = "" if written is None else written.element.attributes.get("expressed_in", "")
        if axis.flag("use_parent_model_frame"):
            frame = MODEL
        X_MF = X_MJ if not frame else self._frames.pose(frame)
        if X_MF is None:
            message = f"there is no frame '{frame}'"
            self._diagnostics.error("unknown-frame", message, axis.element.span)
            return None
        direction: Array = X_MF.R @ value
        return direction

    def _limited(self, joint: Joint, axis: SdfReader, element: Element) -> Joint:
        """Return a joint with limits, damping, friction and spring."""
        position = UNLIMITED
        if element.attributes.get("type") != "continuous":
            lower = axis.number("limit", "lower", default=-inf, allow_infinite=True)
            upper = axis.number("limit", "upper", default=inf, allow_infinite=True)
            position = Range(lower, upper)
        return replace(
            joint,
            position=position,
            velocity=_both_ways(axis, "velocity"),
            effort=_both_ways(axis, "effort"),
            damping=self._resistance(axis, "damping"),
            friction=self._resistance(axis, "friction"),
            stiffness=self._resistance(axis, "spring_stiffness"),
            rest_position=axis.number("dynamics", "spring_reference", default=0.0),
        )

    def _resistance(self, axis: SdfReader, name: str) -> float:
        """Return damping, friction or stiffness."""
        value = axis.number("dynamics", name, default=0.0)
        return resistance(f"the {name}", value, axis.element.span, self._diagnostics)

    def _mimic(self, axis: SdfReader) -> Follower | None:
        """Return how a joint follows another."""
        mimic = axis.inside("mimic")
        if mimic is None:
            return None
        multiplier = mimic.number("multiplier", default=1.0)
        offset = mimic.number("offset", default=0.0)
        reference = mimic.number("reference", default=0.0)
        attributes = mimic.element.attributes
        leader, tag = attributes.get("joint", ""), attributes.get("axis", "axis")
        leader = self._hinges.get((leader, tag), leader)
        return Follower(leader, multiplier, offset - multiplier * reference, mimic.element.span)


def _both_ways(axis: SdfReader, name: str) -> Range:
    """Return a limit for both directions; a negative one, as -1, means none."""
    limit = axis.number("limit", name, default=inf, allow_infinite=True)
    return Range(-limit, limit) if limit >= 0.0 else UNLIMITED


class GearReader:
    """Reads gearboxes of a model whose other joints have been read.

    Args:
        above: The joint above each link that has one.
        frames: The frames of the model.
        joints: Reads axes.
        diagnostics: Receives problems.
    """

    def __init__(
        self,
        above: Mapping[str, JointParts],
        frames: Frames,
        joints: JointReader,
        diagnostics: Diagnostics,
    ) -> None:
        self._above = above
        self._frames = frames
        self._joints = joints
        self._diagnostics = diagnostics
        self._followers: dict[str, Follower] = {}
        for parts in above.values():
            self._followers |= parts.followers

    def followers(self, gearboxes: list[Element]) -> dict[str, Follower]:
        """Return how joints follow others, also those of mimics and screws, by name."""
        for element in gearboxes:
            self._add(element)
        return self._followers

    def _add(self, element: Element) -> None:
        """Add the hinge between reference body and child, which follows that to the parent.

        With the angles theta_1 of the parent and theta_2 of the child about ``axis`` and
        ``axis2``, both relative to the reference body, theta_2 = -ratio theta_1.
        """
        reader = SdfReader(element, self._diagnostics)
        name = element.attributes.get("name", "")
        reference = self._frames.link(reader.text("gearbox_reference_body"))
        ratio = -reader.number("gearbox_ratio", default=1.0)
        if ratio == 0.0:
            message = f"the ratio of the gearbox '{name}' must not be zero"
            self._diagnostics.error("wrong-value", message, element.span)
            return
        hinges: list[str] = []
        for side, tag in zip(("parent", "child"), AXES, strict=True):
            link = self._frames.link(reader.text(side))
            found = self._hinge(reference, link, element, tag)
            if found is None:
                if not self._diagnostics.has_errors:
                    reason = f"no hinge connects its {side} '{link}' to '{reference}'"
                    self._leave_out(name, reason, element)
                return
            hinges.append(found[0])
            ratio *= found[1]
        leader, follower = hinges
        if follower in self._followers:  # then the other one may follow
            leader, follower, ratio = follower, leader, 1.0 / ratio
        if follower in self._followers or follower == leader:
            self._leave_out(name, f"'{follower}' follows in more than one way", element)
            return
        self._followers[follower] = Follower(leader, ratio, 0.0, element.span)

    def _hinge(
        self, reference: str, link: str, element: Element, tag: str
    ) -> tuple[str, float] | None:
        """Return the hinge of a link on the reference body, and the sign of its angle."""
        for child, parent in ((link, reference), (reference, link)):
            parts = self._above.get(child)
            if parts is None or parts.parent != parent or len(parts.chain) > 1:
                continue
            joint, X_MC = parts.chain[child], self._frames.pose(child)
            X_MJ = self._frames.pose(element.attributes.get("name", ""))
            if joint.type is not JointType.REVOLUTE or X_MC is None or X_MJ is None:
                continue
            axis = self._joints.direction(element, tag, X_MJ)
            if axis is None:
                return None
            sign = float(np.copysign(1.0, axis @ (X_MC.R @ joint.axis)))
            return joint.name, sign if child == link else -sign
        return None

    def _leave_out(self, name: str, reason: str, element: Element) -> None:
        message = f"the gearbox '{name}' is left out: {reason}"
        self._diagnostics.warn("no-counterpart", message, element.span)
