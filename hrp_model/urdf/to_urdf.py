"""Body to URDF text, through urdf_parser_py's objects. Writes no mesh file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.etree import ElementTree

from urdf_parser_py import urdf

from ..body import Body, Link
from ..diagnostics import Diagnostics, counted
from ..frames import BodyFrames, body_frames, legal_name
from ..geometry import Shape
from ..kinematics.loops import mimic_joints
from ..readers.urdf.conventions import UNLIMITED
from ..rigid import Pose
from .blocks import gazebo, mujoco, mujoco_compiler, ros2_control
from .blocks.gazebo_checks import tell_what_gazebo_refuses
from .blocks.reserved_names import tell_reserved_names
from .joints import frame_joints, joint_elements, origin
from .materials import Materials
from .mend import mended
from .options import UrdfOptions
from .shapes import UrdfGeometry, is_empty, mesh_origin, primitive

__all__ = ["UNLIMITED", "MeshUris", "body_to_urdf"]


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
    body: Body,
    mesh_uris: MeshUris | None = None,
    diagnostics: Diagnostics | None = None,
    options: UrdfOptions | None = None,
) -> str:
    """Return a body as URDF: links, joints, and a frame for each device.

    Numbers are written with all their digits, in the order of the model: equal bodies give
    equal text. Not in a URDF, because it has no words for them: the root's pose in the world,
    initial positions, and constraints that close loops, but where they make one joint follow
    another. What a URDF cannot hold, such as inverted limits, is mended with a warning.

    Args:
        body: The robot.
        mesh_uris: Where its meshes were written. Without them a shape that is no
            primitive is left out, with a warning.
        diagnostics: Where warnings go; by default they are logged.
        options: How frames are called, and what goes in besides the plain robot.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    options = UrdfOptions() if options is None else options
    body = mended(body, diagnostics)
    frames = body_frames(body, diagnostics, options)
    if body.extra_joints:
        message = f"{len(body.extra_joints)} constraints close loops; URDF cannot say that"
        diagnostics.warn("open-loops", message, body.root.at)
    return urdf_text(body, frames, mesh_uris, diagnostics, options)


def urdf_text(
    body: Body,
    frames: BodyFrames,
    mesh_uris: MeshUris | None,
    diagnostics: Diagnostics,
    options: UrdfOptions,
) -> str:
    """Return the URDF of a mended body whose frames have names; says nothing of loops."""
    uris = MeshUris() if mesh_uris is None else mesh_uris
    materials = Materials()
    links = [_link(link, frames, uris, materials) for link in body.links]
    robot = urdf.Robot(name=legal_name(body.name, default="robot"))
    for material in materials.elements():
        robot.add_aggregate("material", material)
    for frame in frames.base:
        robot.add_link(urdf.Link(name=frame.parent))
    for link in (*links, *(urdf.Link(name=frame.name) for frame in frames.fixed)):
        robot.add_link(link)
    for joint in joint_elements(body, frames, mimic_joints(body), diagnostics):
        robot.add_joint(joint)
    for joint in frame_joints(frames):
        robot.add_joint(joint)
    _tell_what_has_no_mesh(body, uris, diagnostics)
    tell_what_gazebo_refuses(body, frames, options, diagnostics)
    ros2_control.tell_what_is_not_controlled(body, options, diagnostics)
    tell_reserved_names(body, frames, options, diagnostics)
    root = robot.to_xml()
    for block in (mujoco_compiler, ros2_control, mujoco, gazebo):
        root.extend(block.elements(body, frames, options))
    return _text(root)


def _link(link: Link, frames: BodyFrames, uris: MeshUris, materials: Materials) -> urdf.Link:
    element = urdf.Link(name=frames.links[link.name])
    if link.mass > 0.0 or link.inertia.any():
        element.inertial = _inertial(link)
    for shape in link.visual:
        placed = _placed(shape, uris.visual)
        if placed is not None:
            pose, geometry = placed
            material = materials.reference(shape, as_mesh=isinstance(geometry, urdf.Mesh))
            element.add_aggregate("visual", urdf.Visual(geometry, material, origin(pose)))
    for shape in link.collision:
        placed = _placed(shape, uris.collision)
        if placed is not None:
            pose, geometry = placed
            element.add_aggregate("collision", urdf.Collision(geometry, origin(pose)))
    return element


def _placed(shape: Shape, uris: Mapping[Shape, str]) -> tuple[Pose, UrdfGeometry] | None:
    uri = uris.get(shape)
    if uri is not None:
        return mesh_origin(shape), urdf.Mesh(filename=uri)
    return primitive(shape)


def _inertial(link: Link) -> urdf.Inertial:
    I = link.inertia.tolist()  # noqa: E741 - its name in every textbook
    inertia = urdf.Inertia(I[0][0], I[0][1], I[0][2], I[1][1], I[1][2], I[2][2])
    return urdf.Inertial(float(link.mass), inertia, origin(Pose(p=link.center_of_mass)))


def _tell_what_has_no_mesh(body: Body, uris: MeshUris, diagnostics: Diagnostics) -> None:
    for link in body.links:
        shapes = {
            *(s for s in link.visual if _placed(s, uris.visual) is None),
            *(s for s in link.collision if _placed(s, uris.collision) is None),
        }
        count = sum(not is_empty(shape) for shape in shapes)
        if count:
            has = "has" if count == 1 else "have"
            shapes_text = f"{counted(count, 'shape')} of link '{link.name}'"
            message = f"{shapes_text} {has} no mesh file: left out"
            diagnostics.warn("shape-without-mesh", message, link.at)


def _text(root: ElementTree.Element) -> str:
    """Serialise; numbers come out as ``repr`` writes them, exactly."""
    for joint in root.iterfind("joint"):
        if joint.get("type") == "continuous":  # urdf_parser_py would write limits of 0
            for limit in joint.iter("limit"):
                limit.attrib.pop("lower", None)
                limit.attrib.pop("upper", None)
    ElementTree.indent(root)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(root, encoding="unicode")
