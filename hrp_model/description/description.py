"""The description of a robot that a node publishes: URDF, SRDF, frames and limits."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ..body import Body
from ..collision.shapes import CollisionShapes
from ..diagnostics import Diagnostics, Severity
from ..frames import Base, BodyFrames, Frame, FrameOptions, LinkNaming
from ..urdf import Hardware, UpAxis, UrdfOptions, body_to_srdf, convert
from .closed_loops import ClosedLoops
from .frame_tree import FrameTree, frame_in_world, frame_tree
from .joint_limits import JointLimit, joint_limit_parameters


@dataclass(frozen=True)
class DescriptionOptions:
    """Options of a description.

    Attributes:
        urdf: Options of the URDF.
        collision: Collision shapes of the links.
        srdf: Whether an SRDF is made too.
        glb_up: Which axis of its GLB files is the URDF's z.
    """

    urdf: UrdfOptions = field(default_factory=UrdfOptions)
    collision: CollisionShapes = CollisionShapes.AS_MODELLED
    srdf: bool = False
    glb_up: UpAxis = UpAxis.Z

    @staticmethod
    def conflict(settings: Mapping[str, Any]) -> str:
        """Return why parameters of ``model_node`` conflict, or an empty string."""
        if settings["ros2_control"] == "gz" and not settings["controllers"]:
            return "ros2_control 'gz' needs parameter 'controllers', the controllers' YAML file"
        return ""

    @staticmethod
    def from_parameters(settings: Mapping[str, Any]) -> DescriptionOptions:
        """Return the options that the parameters of ``model_node`` select."""
        hardware = settings["ros2_control"]
        options = UrdfOptions(
            link_naming=LinkNaming(settings["link_naming"]),
            base=Base(settings["base"]),
            gazebo=settings["gazebo"],
            ros2_control=None if hardware == "none" else Hardware(hardware),
        )
        if file := settings["controllers"]:
            options = replace(options, controllers=os.path.abspath(file))
        srdf = settings["description_format"] == "urdf+srdf"
        collision, glb_up = CollisionShapes(settings["collision"]), UpAxis(settings["glb_up"])
        return DescriptionOptions(options, collision, srdf, glb_up)

    def with_frames(self, names: FrameOptions) -> DescriptionOptions:
        """Return the same options with other frame options."""
        own = {item.name: getattr(names, item.name) for item in fields(FrameOptions)}
        return replace(self, urdf=replace(self.urdf, **own))


@dataclass(frozen=True, eq=False)
class Description:
    """A robot as it is published.

    Attributes:
        body: The robot.
        frames: Names of its frames, without the prefix of TF frames.
        urdf: Text of ``robot_description``.
        srdf: Text of ``robot_description_semantic``; empty without one.
        tree: Its fixed and moving frames.
        loops: Computes dependent joints of closed loops.
        limits: Limits of the joints, by parameter name.
        warnings: Warnings of the reading and the conversion.
    """

    body: Body
    frames: BodyFrames
    urdf: str
    srdf: str
    tree: FrameTree
    loops: ClosedLoops
    limits: Mapping[str, JointLimit]
    warnings: tuple[str, ...]

    def in_world(self, world: str) -> Frame:
        """Return the topmost frame in the world, at the root pose of the model."""
        return frame_in_world(self.body, self.frames, world)


def describe(
    body: Body, options: DescriptionOptions, mesh_folder: Path, diagnostics: Diagnostics
) -> Description:
    """Describe a robot, and write its meshes into a folder.

    Args:
        body: The robot.
        options: Options of the description.
        mesh_folder: Folder of the meshes; created if missing.
        diagnostics: Those of reading the body; receives further warnings.

    Raises:
        OSError: The meshes cannot be written.
        MissingLibraryError: A library for the selected collision shapes is not installed.
    """
    conversion = convert(
        body,
        mesh_folder,
        glb_up=options.glb_up,
        collision=options.collision,
        options=options.urdf,
        diagnostics=diagnostics,
    )
    body, frames = conversion.body, conversion.frames
    srdf = body_to_srdf(body, frames, diagnostics) if options.srdf else ""
    warnings = [d for d in diagnostics.found if d.severity is Severity.WARNING]
    return Description(
        body,
        frames,
        conversion.urdf,
        srdf,
        frame_tree(body, frames),
        ClosedLoops(body, frames),
        joint_limit_parameters(body, frames),
        tuple(map(str, warnings)),
    )
