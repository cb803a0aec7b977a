"""Body to URDF text, through urdf_parser_py's objects. Writes no mesh file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import copysign, isinf
from xml.etree import ElementTree

from urdf_parser_py import urdf

from ..body import Body, Joint, JointType, Link, Range
from ..diagnostics import Diagnostics
from ..frames import BodyFrames, Frame, body_frames, legal_name
from ..geometry import Shape
from ..rigid import Pose, matrix_rpy
from .materials import Materials
from .shapes import UrdfGeometry, is_empty, mesh_origin, primitive

# URDF wants a finite number where the model has no limit; no real joint comes near it.
UNLIMITED = 1e6

_FIXED = (JointType.FIXED, JointType.TRACK)


@dataclass(frozen=True, eq=False)
class MeshUris:
    """Where the meshes of a body's shapes are, as ``meshes.write_meshes`` put them.

    Attributes:
        visual: URI of the mesh that draws a shape; a shape not listed is a primitive.
        collision: URI of the mesh that touches, likewise.
    """

    visual: Mapping[Shape, str] = field(default_factory=dict)
    collision: Mapping[Shape, str] = field(default_factory=dict)


def body_to_urdf(
    body: Body, mesh_uris: MeshUris | None = None, diagnostics: Diagnostics | None = None
) -> str:
    """Return a body as URDF: links, joints, and a frame for each device.

    Numbers are written with all their digits. Not in a URDF, because it has no words for
    them: the root's pose in the world, initial positions, constraints that close loops.

    Args:
        body: The robot.
        mesh_uris: Where its meshes were written. Without them a shape that is no
            primitive is left out, with a warning.
        diagnostics: Where warnings go; by default they are logged.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    uris = MeshUris() if mesh_uris is None else mesh_uris
    frames = body_frames(body, diagnostics)
    materials = Materials()
    links = [_link(link, frames, uris, materials) for link in body.links]
    robot = urdf.Robot(name=legal_name(body.name, default="robot"))
    for material in materials.elements():
        robot.add_aggregate("material", material)
    for link in links:
        robot.add_link(link)
    taken = set(frames.joints.values())
    for model_link in body.links[1:]:
        robot.add_joint(_joint(model_link, frames, diagnostics))
    for frame in frames.fixed:
        robot.add_link(urdf.Link(name=frame.name))
        robot.add_joint(_frame_joint(frame, taken))
    _tell_what_is_left_out(body, uris, diagnostics)
    return _text(robot)


def _link(link: Link, frames: BodyFrames, uris: MeshUris, materials: Materials) -> urdf.Link:
    element = urdf.Link(name=frames.links[link.name])
    if link.mass > 0.0:
        element.inertial = _inertial(link)
    for shape in link.visual:
        placed = _placed(shape, uris.visual)
        if placed is not None:
            origin, geometry = placed
            material = materials.reference(shape, as_mesh=isinstance(geometry, urdf.Mesh))
            visual = urdf.Visual(geometry, material, _origin(origin))
            element.add_aggregate("visual", visual)
    for shape in link.collision:
        placed = _placed(shape, uris.collision)
        if placed is not None:
            origin, geometry = placed
            element.add_aggregate("collision", urdf.Collision(geometry, _origin(origin)))
    return element


def _placed(shape: Shape, uris: Mapping[Shape, str]) -> tuple[Pose, UrdfGeometry] | None:
    uri = uris.get(shape)
    if uri is not None:
        return mesh_origin(shape), urdf.Mesh(filename=uri)
    return primitive(shape)


def _inertial(link: Link) -> urdf.Inertial:
    I = link.inertia.tolist()  # noqa: E741 - its name in every textbook
    inertia = urdf.Inertia(I[0][0], I[0][1], I[0][2], I[1][1], I[1][2], I[2][2])
    return urdf.Inertial(float(link.mass), inertia, _origin(Pose(p=link.center_of_mass)))


def _origin(pose: Pose) -> urdf.Pose:
    # Adding zero turns -0.0 into 0.0.
    xyz = [x + 0.0 for x in pose.p.tolist()]
    return urdf.Pose(xyz=xyz, rpy=[float(a) + 0.0 for a in matrix_rpy(pose.R)])


def _joint(link: Link, frames: BodyFrames, diagnostics: Diagnostics) -> urdf.Joint:
    assert link.parent is not None
    element = urdf.Joint(
        name=frames.joints[link.name],
        parent=frames.links[link.parent],
        child=frames.links[link.name],
        joint_type=_joint_type(link.joint),
        origin=_origin(link.X_PL),
    )
    if link.joint.moves:
        element.axis = [x + 0.0 for x in link.joint.axis.tolist()]
        element.limit = _limit(link, diagnostics)
    return element


def _joint_type(joint: Joint) -> str:
    if joint.type in _FIXED:
        return "fixed"
    if joint.type is JointType.FREE:
        return "floating"
    if joint.type is JointType.PRISMATIC:
        return "prismatic"
    return "continuous" if all(map(isinf, joint.position)) else "revolute"


def _limit(link: Link, diagnostics: Diagnostics) -> urdf.JointLimit:
    joint = link.joint
    lower, upper = (_finite(end) for end in joint.position)
    if lower > upper:
        message = f"joint '{joint.name}' has limits {lower:g} .. {upper:g}; the URDF swaps them"
        diagnostics.warn("inverted-limits", message, link.at)
        lower, upper = upper, lower
    return urdf.JointLimit(
        effort=_magnitude(joint.effort),
        velocity=_magnitude(joint.velocity),
        lower=lower,
        upper=upper,
    )


def _magnitude(limits: Range) -> float:
    """Return the one number URDF has for a range: the largest magnitude inside it."""
    return max(abs(_finite(end)) for end in limits)


def _finite(end: float) -> float:
    return copysign(UNLIMITED, end) if isinf(end) else float(end)


def _frame_joint(frame: Frame, taken: set[str]) -> urdf.Joint:
    name, number = f"{frame.name}_joint", 2
    while name in taken:
        name, number = f"{frame.name}_joint_{number}", number + 1
    taken.add(name)
    origin = _origin(frame.pose)
    return urdf.Joint(name, frame.parent, frame.name, "fixed", origin=origin)


def _tell_what_is_left_out(body: Body, uris: MeshUris, diagnostics: Diagnostics) -> None:
    for link in body.links:
        shapes = {
            *(s for s in link.visual if _placed(s, uris.visual) is None),
            *(s for s in link.collision if _placed(s, uris.collision) is None),
        }
        count = sum(not is_empty(shape) for shape in shapes)
        if count:
            message = f"{count} shapes of link '{link.name}' have no mesh file: left out"
            diagnostics.warn("shape-without-mesh", message, link.at)
    if body.extra_joints:
        message = f"{len(body.extra_joints)} constraints close loops; URDF cannot say that"
        diagnostics.warn("open-loops", message, body.root.at)


def _text(robot: urdf.Robot) -> str:
    """Serialise; numbers come out as ``repr`` writes them, exactly."""
    root = robot.to_xml()
    for joint in root.iter("joint"):
        if joint.get("type") == "continuous":  # urdf_parser_py would write limits of 0
            for limit in joint.iter("limit"):
                limit.attrib.pop("lower", None)
                limit.attrib.pop("upper", None)
    ElementTree.indent(root)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(root, encoding="unicode")
