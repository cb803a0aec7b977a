"""<joint> elements: the joints of the model, and fixed joints for frames of base and devices."""

from __future__ import annotations

from collections.abc import Mapping
from math import copysign, isinf

from urdf_parser_py import urdf

from ..body import MAX_LIMIT, Body, Joint, JointType, Link
from ..diagnostics import Diagnostics
from ..frames import BodyFrames
from ..kinematics.loops import Mimic
from ..readers.urdf.objects import Limit, Origin
from ..rigid import Pose, matrix_quaternion, matrix_rpy
from .options import UrdfVersion


def joint_elements(
    body: Body,
    frames: BodyFrames,
    mimics: Mapping[str, Mimic],
    diagnostics: Diagnostics,
    version: UrdfVersion,
) -> list[urdf.Joint]:
    """Return the joints of all links but the root.

    Args:
        body: The robot.
        frames: Names of links and joints.
        mimics: Mimic joints, by the name of the link that each of them moves.
        diagnostics: Receives warnings.
        version: Version of the URDF.
    """
    elements = []
    for link in body.links[1:]:
        element = _joint(link, frames, version)
        _warn_of_asymmetric_limits(link, diagnostics)
        if link.name in mimics:
            mimic = mimics[link.name]
            element.mimic = urdf.JointMimic(
                frames.joints[mimic.link], float(mimic.multiplier), float(mimic.offset)
            )
        elements.append(element)
    _warn_of_tracks(body, diagnostics)
    return elements


def frame_joints(frames: BodyFrames, version: UrdfVersion) -> list[urdf.Joint]:
    """Return the fixed joints of the base, then those of the frames of devices."""
    return [
        urdf.Joint(
            frames.fixed_joints[frame.name],
            frame.parent,
            frame.name,
            "fixed",
            origin=origin(frame.pose, version),
        )
        for frame in (*frames.base, *frames.fixed)
    ]


def origin(pose: Pose, version: UrdfVersion) -> urdf.Pose:
    """Return a pose as an <origin>, exact to the last digit."""
    # Adding zero turns -0.0 into 0.0.
    xyz = [x + 0.0 for x in pose.p.tolist()]
    if version.has_capsules:
        element = Origin(xyz=xyz)
        element.quat_xyzw = [float(x) + 0.0 for x in matrix_quaternion(pose.R)]
        return element
    return urdf.Pose(xyz=xyz, rpy=[float(a) + 0.0 for a in matrix_rpy(pose.R)])


def _warn_of_tracks(body: Body, diagnostics: Diagnostics) -> None:
    tracks = [link for link in body.links[1:] if link.joint.type is JointType.TRACK]
    if tracks:
        shown = ", ".join(f"'{link.joint.name}'" for link in tracks[:4])
        more = f" and {len(tracks) - 4} more" if len(tracks) > 4 else ""
        message = f"URDF has no continuous tracks: {shown}{more} become fixed joints"
        diagnostics.warn("still-track", message, tracks[0].at)


def _warn_of_asymmetric_limits(link: Link, diagnostics: Diagnostics) -> None:
    joint, units = link.joint, link.joint.type.units
    for kind, (lower, upper), limit, unit in (
        ("velocity", joint.velocity_limits, joint.max_velocity, units.velocity),
        ("effort", joint.effort_limits, joint.max_effort, units.effort),
    ):
        if joint.moves and lower != -upper:
            message = (
                f"the {kind} of joint '{joint.name}' is limited to {lower:g} .. {upper:g} {unit}, "
                f"but URDF has one limit for both directions: {_finite(limit):g} {unit} is used"
            )
            diagnostics.warn("lopsided-limits", message, link.at)


def _joint(link: Link, frames: BodyFrames, version: UrdfVersion) -> urdf.Joint:
    assert link.parent is not None
    joint = link.joint
    element = urdf.Joint(
        name=frames.joints[link.name],
        parent=frames.links[link.parent],
        child=frames.links[link.name],
        joint_type=_joint_type(joint),
        origin=origin(link.X_PL, version),
    )
    if joint.moves:
        element.axis = [x + 0.0 for x in joint.axis.tolist()]
        lower, upper = joint.position_limits
        kind = Limit if version.has_acceleration_limits else urdf.JointLimit
        element.limit = kind(
            effort=_finite(joint.max_effort),
            velocity=_finite(joint.max_velocity),
            lower=_finite(lower),
            upper=_finite(upper),
        )
        if version.has_acceleration_limits:
            for name in ("acceleration", "deceleration", "jerk"):
                most = getattr(joint, f"max_{name}")
                setattr(element.limit, name, None if isinf(most) else float(most))
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


def _finite(limit: float) -> float:
    """Return a limit, as URDF's finite number for an infinite one."""
    return copysign(MAX_LIMIT, limit) if isinf(limit) else float(limit)
