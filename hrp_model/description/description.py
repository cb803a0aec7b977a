"""Everything that a node publishes of a robot, made in one go. Knows no ROS."""

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
class Wanted:
    """What a description is to be like.

    Attributes:
        urdf: What goes into the URDF, and how frames are called.
        collision: Which collision shapes it has.
        srdf: Whether there is an SRDF, too.
        glb_up: Which axis of its GLB files is the URDF's z.
    """

    urdf: UrdfOptions = field(default_factory=UrdfOptions)
    collision: CollisionShapes = CollisionShapes.AS_MODELLED
    srdf: bool = False
    glb_up: UpAxis = UpAxis.Z

    @staticmethod
    def objection(settings: Mapping[str, Any]) -> str:
        """Return why parameters of ``model_node`` do not go together, or nothing."""
        if settings["ros2_control"] == "gz" and not settings["controllers"]:
            return "ros2_control 'gz' needs controllers: the file of the controllers' parameters"
        return ""

    @staticmethod
    def by(settings: Mapping[str, Any]) -> Wanted:
        """Return what the parameters of ``model_node`` ask for."""
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
        return Wanted(options, collision, srdf, glb_up)

    def with_frames(self, names: FrameOptions) -> Wanted:
        """Return the same, but for how frames are called and what stands above the root."""
        own = {item.name: getattr(names, item.name) for item in fields(FrameOptions)}
        return replace(self, urdf=replace(self.urdf, **own))


@dataclass(frozen=True, eq=False)
class Description:
    """A robot as it is published.

    Attributes:
        body: The robot.
        frames: How everything is called, without the prefix of TF frames.
        urdf: The text of ``robot_description``.
        srdf: The text of ``robot_description_semantic``; empty if it was not asked for.
        tree: What stays and what moves.
        loops: Knows the joints that closed loops make follow others.
        limits: Limits of the joints, by parameter name.
        warnings: What was warned of on the way.
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
        """Return the topmost frame, where the model puts its root in the world."""
        return frame_in_world(self.body, self.frames, world)


def describe(
    body: Body, wanted: Wanted, mesh_folder: Path, diagnostics: Diagnostics
) -> Description:
    """Describe a robot; its meshes are written into a folder.

    Args:
        body: The robot.
        wanted: What the description is to be like.
        mesh_folder: Where the meshes go; made if missing.
        diagnostics: Those of the reading of the body; more warnings go there.

    Raises:
        OSError: The meshes cannot be written.
        MissingLibraryError: The collision shapes that are wanted cannot be made.
    """
    made = convert(
        body,
        mesh_folder,
        glb_up=wanted.glb_up,
        collision=wanted.collision,
        options=wanted.urdf,
        diagnostics=diagnostics,
    )
    srdf = body_to_srdf(made.body, made.frames, diagnostics) if wanted.srdf else ""
    warnings = [d for d in diagnostics.found if d.severity is Severity.WARNING]
    return Description(
        made.body,
        made.frames,
        made.urdf,
        srdf,
        frame_tree(made.body, made.frames),
        ClosedLoops(made.body, made.frames),
        joint_limit_parameters(made.body, made.frames),
        tuple(map(str, warnings)),
    )
