"""Body to URDF text, through urdf_parser_py's objects. Writes no mesh files.

Besides the joints of the model there are fixed joints for frames of base and devices. What a URDF
cannot represent of a valid body is repaired first: directions, friction and sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import copysign, isinf
from typing import Any, NamedTuple, TypeVar
from xml.etree import ElementTree

import numpy as np
from urdf_parser_py import urdf

from ..body import MAX_LIMIT, Body, ExtraJoint, Joint, JointType, Link
from ..diagnostics import Diagnostics, Span, counted, listed
from ..frames import BodyFrames, body_frames, legal_name
from ..geometry import Box, Geometry, Mesh, Shape, Sphere
from ..kinematics.loops import Mimic, mimic_joints
from ..readers.urdf.objects import Limit, Origin
from ..rigid import Array, Pose, matrix_quaternion, matrix_rpy, unit_vector
from ..shapes.measure import is_empty
from ..shapes.tessellate import mesh_origin
from ..validate import ensure_valid, validated_as
from .control_blocks import (
    mujoco_compiler_elements,
    mujoco_inputs_elements,
    ros2_control_elements,
    warn_of_missing_joints,
    warn_of_simulator_limits,
)
from .gazebo_blocks import gazebo_elements
from .options import UrdfOptions, UrdfVersion
from .shapes import Materials, MeshUris, UrdfGeometry, have_one_color, primitive

_AXIS_Z = np.array([0.0, 0.0, 1.0])
# Largest length or scale of a shape, in [m]: mesh files have single precision.
_MAX_LENGTH = 1e30
_Part = TypeVar("_Part", Link, Joint)


class _Problem(NamedTuple):
    """A problem, the message that reports it, and the attributes that repair it."""

    code: str
    message: str
    repair: dict[str, Any]


def repaired(body: Body, diagnostics: Diagnostics) -> Body:
    """Return a body that a URDF can represent, with a warning for each change.

    Links, joints and shapes that need no repair are the same objects.

    Raises:
        ModelError: The body is invalid, see ``ensure_valid``.
    """
    ensure_valid(body, diagnostics)
    links = tuple(_repaired_link(link, diagnostics) for link in body.links)
    extra = tuple(x for x in body.extra_joints if _has_direction(x, body, diagnostics))
    if (links, extra) == (body.links, body.extra_joints):  # the same objects
        return body
    return validated_as(replace(body, links=links, extra_joints=extra), body)


def _repaired(
    part: _Part, problems: Iterable[_Problem], at: Span | None, diagnostics: Diagnostics
) -> _Part:
    changes: dict[str, Any] = {}
    for problem in problems:
        diagnostics.warn(problem.code, problem.message, at)
        changes.update(problem.repair)
    return replace(part, **changes) if changes else part


def _repaired_link(link: Link, diagnostics: Diagnostics) -> Link:
    link = _repaired(link, _link_problems(link), link.at, diagnostics)
    if link.parent is None or not link.joint.moves:
        return link
    joint = _repaired(link.joint, _joint_problems(link.joint), link.at, diagnostics)
    return link if joint is link.joint else replace(link, joint=joint)


def _link_problems(link: Link) -> Iterator[_Problem]:
    of_link = f"of link '{link.name}'"
    for side in ("visual", "collision"):
        shapes: tuple[Shape, ...] = getattr(link, side)
        valid = tuple(filter(_is_valid_shape, shapes))
        if invalid := len(shapes) - len(valid):
            message = f"{invalid} {side} shapes {of_link} have an impossible pose or size, left out"
            yield _Problem("not-finite", message, {side: valid})


def _joint_problems(joint: Joint) -> Iterator[_Problem]:
    if unit_vector(joint.axis) is None:
        message = f"the axis of joint '{joint.name}' has no direction, treated as Z"
        yield _Problem("zero-axis", message, {"axis": _AXIS_Z})
    for name, value in (("damping", joint.damping), ("friction", joint.friction)):
        if value < 0.0:
            message = f"the {name} of joint '{joint.name}' is {value:g}, treated as 0"
            yield _Problem("negative-resistance", message, {name: 0.0})


def _has_direction(joint: ExtraJoint, body: Body, diagnostics: Diagnostics) -> bool:
    """Return whether the axis of an extra joint has a direction; warn if it has none."""
    if unit_vector(joint.axis) is not None:
        return True
    message = f"extra joint '{joint.name}' has an axis without a direction; left out"
    diagnostics.warn("unsound-constraint", message, body.root.at)
    return False


def _is_valid_shape(shape: Shape) -> bool:
    sizes = _sizes(shape.geometry)
    if not (np.abs(shape.T_FG) < _MAX_LENGTH).all() or not (np.abs(sizes) < _MAX_LENGTH).all():
        return False
    return isinstance(shape.geometry, Mesh) or bool(sizes.min() >= 0.0)


def _sizes(geometry: Geometry) -> Array:
    """Return the lengths of a primitive, or the vertices of a mesh."""
    if isinstance(geometry, Mesh):
        return geometry.vertices
    if isinstance(geometry, Box):
        return geometry.size
    if isinstance(geometry, Sphere):
        return np.array([geometry.radius])
    return np.array([geometry.radius, geometry.height])


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
        shown = listed([f"'{link.joint.name}'" for link in tracks], 4)
        message = f"URDF has no continuous tracks: {shown} become fixed joints"
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


def body_to_urdf(
    body: Body,
    mesh_uris: MeshUris | None = None,
    diagnostics: Diagnostics | None = None,
    options: UrdfOptions | None = None,
) -> str:
    """Return a body as URDF: links, joints, and a frame for each device.

    Numbers are written with all their digits, in the order of the model: equal bodies give
    equal text. A URDF cannot represent the root's pose in the world, initial positions, and
    constraints that close loops, except for the mimic joints that they imply. Values that a
    URDF cannot represent, such as a negative damping, are repaired with a warning; inverted
    limits do not apply (``Joint.position_limits``).

    Args:
        body: The robot.
        mesh_uris: Its mesh files. Without them a shape that is not a primitive is left out,
            with a warning.
        diagnostics: Receives warnings; by default they are logged.
        options: Names of frames, and optional blocks of the URDF.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    options = UrdfOptions() if options is None else options
    body = repaired(body, diagnostics)
    frames = body_frames(body, diagnostics, options)
    if body.extra_joints:
        message = f"{len(body.extra_joints)} constraints close loops, which URDF cannot represent"
        diagnostics.warn("open-loops", message, body.root.at)
    return urdf_text(body, frames, mesh_uris, diagnostics, options)


def urdf_text(
    body: Body,
    frames: BodyFrames,
    mesh_uris: MeshUris | None,
    diagnostics: Diagnostics,
    options: UrdfOptions,
) -> str:
    """Return the URDF of a repaired body with given frame names, without its closed loops."""
    uris = MeshUris() if mesh_uris is None else mesh_uris
    materials = Materials()
    links = [_link(link, frames, uris, materials, options.version) for link in body.links]
    robot = urdf.Robot(name=legal_name(body.name, default="robot"))
    robot.version = options.version.value
    for material in materials.elements():
        robot.add_aggregate("material", material)
    for frame in frames.base:
        robot.add_link(urdf.Link(name=frame.parent))
    for link in (*links, *(urdf.Link(name=frame.name) for frame in frames.fixed)):
        robot.add_link(link)
    for joint in joint_elements(body, frames, mimic_joints(body), diagnostics, options.version):
        robot.add_joint(joint)
    for joint in frame_joints(frames, options.version):
        robot.add_joint(joint)
    _warn_of_missing_meshes(body, uris, diagnostics, options.version)
    warn_of_missing_joints(body, options, diagnostics)
    warn_of_simulator_limits(body, frames, options, diagnostics)
    root = robot.to_xml()
    for block in (
        mujoco_compiler_elements,
        ros2_control_elements,
        mujoco_inputs_elements,
        gazebo_elements,
    ):
        root.extend(block(body, frames, options))
    return _text(root)


def _link(
    link: Link, frames: BodyFrames, uris: MeshUris, materials: Materials, version: UrdfVersion
) -> urdf.Link:
    element = urdf.Link(name=frames.links[link.name])
    if link.mass > 0.0 or link.inertia.any():
        element.inertial = _inertial(link, version)
    has_one_color = have_one_color(link.visual)
    for shape in link.visual:
        placed = _placed(shape, uris.visual, version)
        if placed is not None:
            pose, geometry = placed
            is_mesh = isinstance(geometry, urdf.Mesh)
            material = materials.reference(shape.material) if has_one_color or not is_mesh else None
            element.add_aggregate("visual", urdf.Visual(geometry, material, origin(pose, version)))
    for shape in link.collision:
        placed = _placed(shape, uris.collision, version)
        if placed is not None:
            pose, geometry = placed
            element.add_aggregate("collision", urdf.Collision(geometry, origin(pose, version)))
    return element


def _placed(
    shape: Shape, uris: Mapping[Shape, str], version: UrdfVersion
) -> tuple[Pose, UrdfGeometry] | None:
    uri = uris.get(shape)
    if uri is not None:
        return mesh_origin(shape), urdf.Mesh(filename=uri)
    return primitive(shape, capsules=version.has_capsules)


def _inertial(link: Link, version: UrdfVersion) -> urdf.Inertial:
    I = link.inertia.tolist()  # noqa: E741 - its name in every textbook
    inertia = urdf.Inertia(I[0][0], I[0][1], I[0][2], I[1][1], I[1][2], I[2][2])
    return urdf.Inertial(float(link.mass), inertia, origin(Pose(p=link.center_of_mass), version))


def _warn_of_missing_meshes(
    body: Body, uris: MeshUris, diagnostics: Diagnostics, version: UrdfVersion
) -> None:
    for link in body.links:
        shapes = {
            *(s for s in link.visual if _placed(s, uris.visual, version) is None),
            *(s for s in link.collision if _placed(s, uris.collision, version) is None),
        }
        count = sum(not is_empty(shape) for shape in shapes)
        if count:
            has = "has" if count == 1 else "have"
            shapes_text = f"{counted(count, 'shape')} of link '{link.name}'"
            message = f"{shapes_text} {has} no mesh file; left out"
            diagnostics.warn("shape-without-mesh", message, link.at)


def _text(root: ElementTree.Element) -> str:
    """Serialise the XML; numbers are written exactly, as by ``repr``."""
    for joint in root.iterfind("joint"):
        if joint.get("type") == "continuous":  # urdf_parser_py would write limits of 0
            for limit in joint.iter("limit"):
                limit.attrib.pop("lower", None)
                limit.attrib.pop("upper", None)
    ElementTree.indent(root)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(root, encoding="unicode")
