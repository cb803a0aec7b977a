"""Joints of a URDF: those of the model, and the fixed ones that carry frames."""

from __future__ import annotations

from collections.abc import Mapping
from math import copysign, isinf

from urdf_parser_py import urdf

from ..body import Body, Joint, JointType, Link
from ..diagnostics import Diagnostics
from ..frames import BodyFrames
from ..kinematics.loops import Mimic
from ..readers.urdf.conventions import UNLIMITED
from ..rigid import Pose, matrix_rpy


def joint_elements(
    body: Body, frames: BodyFrames, mimics: Mapping[str, Mimic], diagnostics: Diagnostics
) -> list[urdf.Joint]:
    """Return the joints above all links but the root.

    Args:
        body: The robot.
        frames: What links and joints are called.
        mimics: Joints that follow others, by the name of the link each of them moves.
        diagnostics: Where warnings go.
    """
    elements = []
    for link in body.links[1:]:
        element = _joint(link, frames, diagnostics)
        if link.name in mimics:
            mimic = mimics[link.name]
            element.mimic = urdf.JointMimic(
                frames.joints[mimic.link], float(mimic.multiplier), float(mimic.offset)
            )
        elements.append(element)
    _tell_tracks(body, diagnostics)
    return elements


def frame_joints(frames: BodyFrames) -> list[urdf.Joint]:
    """Return the fixed joints below the base, then those that carry the frames of devices."""
    return [
        urdf.Joint(
            frames.fixed_joints[frame.name],
            frame.parent,
            frame.name,
            "fixed",
            origin=origin(frame.pose),
        )
        for frame in (*frames.base, *frames.fixed)
    ]


def origin(pose: Pose) -> urdf.Pose:
    """Return a pose in URDF's words. It keeps all digits of the rotation."""
    # Adding zero turns -0.0 into 0.0.
    xyz = [x + 0.0 for x in pose.p.tolist()]
    return urdf.Pose(xyz=xyz, rpy=[float(a) + 0.0 for a in matrix_rpy(pose.R)])


def _tell_tracks(body: Body, diagnostics: Diagnostics) -> None:
    tracks = [link for link in body.links[1:] if link.joint.type is JointType.TRACK]
    if tracks:
        shown = ", ".join(f"'{link.joint.name}'" for link in tracks[:4])
        more = f" and {len(tracks) - 4} more" if len(tracks) > 4 else ""
        message = f"URDF knows no continuous tracks: {shown}{more} become fixed joints"
        diagnostics.warn("still-track", message, tracks[0].at)


def _joint(link: Link, frames: BodyFrames, diagnostics: Diagnostics) -> urdf.Joint:
    assert link.parent is not None
    joint = link.joint
    element = urdf.Joint(
        name=frames.joints[link.name],
        parent=frames.links[link.parent],
        child=frames.links[link.name],
        joint_type=_joint_type(joint),
        origin=origin(link.X_PL),
    )
    if joint.moves:
        element.axis = [x + 0.0 for x in joint.axis.tolist()]
        element.limit = _limit(link, diagnostics)
        if joint.damping or joint.friction:
            element.dynamics = urdf.JointDynamics(float(joint.damping), float(joint.friction))
    return element


def _joint_type(joint: Joint) -> str:
    if joint.is_fixed:
        return "fixed"
    if joint.type is JointType.FREE:
        return "floating"
    if joint.type is JointType.PRISMATIC:
        return "prismatic"
    return "continuous" if joint.is_continuous else "revolute"


def _limit(link: Link, diagnostics: Diagnostics) -> urdf.JointLimit:
    joint = link.joint
    units = joint.type.units
    for kind, (lower, upper), limit, unit in (
        ("velocity", joint.velocity_limits, joint.max_velocity, units.velocity),
        ("effort", joint.effort_limits, joint.max_effort, units.effort),
    ):
        if lower != -upper:
            message = (
                f"the {kind} of joint '{joint.name}' is limited to {lower:g} .. {upper:g} {unit}; "
                f"URDF has one number for both directions, {_finite(limit):g}"
            )
            diagnostics.warn("lopsided-limits", message, link.at)
    lower, upper = joint.position_limits
    return urdf.JointLimit(
        effort=_finite(joint.max_effort),
        velocity=_finite(joint.max_velocity),
        lower=_finite(lower),
        upper=_finite(upper),
    )


def _finite(end: float) -> float:
    return copysign(UNLIMITED, end) if isinf(end) else float(end)
