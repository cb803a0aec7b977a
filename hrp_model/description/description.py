"""The description of a robot that a node publishes: URDF, SRDF, frames and limits.

Its model file can be read again when its files or the options change.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import field, fields, replace
from math import inf, isfinite
from pathlib import Path
from typing import Any

from ..body import Body
from ..collision.shapes import CollisionShapes
from ..diagnostics import Diagnostic, Diagnostics, MissingLibraryError, ModelError, Severity
from ..files.file_watch import FileWatch
from ..files.model_file import split_model_name
from ..frames import Base, BodyFrames, Frame, FrameOptions, LinkNaming
from ..kinematics.loops.mimic import ClosedLoops
from ..late_dataclass import dataclass
from ..load import load_body
from ..urdf import Hardware, UpAxis, UrdfOptions, body_to_srdf, convert
from .frame_tree import FrameTree, frame_in_world, frame_tree

PREFIX = "joint_limits"
# Errors of an invalid model.
MODEL_ERRORS = (ModelError, OSError, MissingLibraryError)


@dataclass(frozen=True)
class JointLimit:
    """A parameter about a limit of a joint.

    Attributes:
        value: The limit, or whether there is one.
        doc: Its description, with the unit of a limit.
        minimum: Smallest allowed value of the limit.
    """

    value: bool | float
    doc: str
    minimum: float = -inf


def joint_limit_parameters(body: Body, names: BodyFrames) -> Mapping[str, JointLimit]:
    """Return the limits of all moving joints, under the names of joint_limits and MoveIt.

    By parameter name: ``joint_limits.<joint>.has_position_limits`` and, if so,
    ``min_position`` and ``max_position`` in [rad] or [m], of which one may be infinite;
    likewise ``has_velocity_limits`` and ``max_velocity`` in [rad/s] or [m/s], and
    ``has_effort_limits`` and ``max_effort`` in [N m] or [N]: the limits of the URDF. A joint
    between the root and the world, which a URDF leaves out, is left out.
    """
    parameters: dict[str, JointLimit] = {}
    for link in body.moving_links:
        if link.name not in names.joints:
            continue
        joint = link.joint
        prefix = f"{PREFIX}.{names.joints[link.name]}"
        units = joint.type.units
        lower, upper = map(float, joint.position_limits)
        bounded = isfinite(lower) or isfinite(upper)
        parameters[f"{prefix}.has_position_limits"] = _has_limits("position", bounded)
        if bounded:
            doc = f"Minimum position [{units.position}]."
            parameters[f"{prefix}.min_position"] = JointLimit(lower, doc)
            doc = f"Maximum position [{units.position}]."
            parameters[f"{prefix}.max_position"] = JointLimit(upper, doc)
        for kind, largest, unit in (
            ("velocity", float(joint.max_velocity), units.velocity),
            ("effort", float(joint.max_effort), units.effort),
        ):
            parameters[f"{prefix}.has_{kind}_limits"] = _has_limits(kind, isfinite(largest))
            if isfinite(largest):
                doc = f"Maximum {kind} in either direction [{unit}]."
                parameters[f"{prefix}.max_{kind}"] = JointLimit(largest, doc, 0.0)
    return parameters


def _has_limits(kind: str, value: bool) -> JointLimit:
    return JointLimit(value, f"Whether the model limits the {kind}.")


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
            link_naming=LinkNaming(settings.get("link_naming", LinkNaming.JOINT)),
            base=Base(settings["base"]),
            gazebo=settings["gazebo"],
            ros2_control=None if hardware == "none" else Hardware(hardware),
        )
        if file := settings["controllers"]:
            options = replace(options, controllers=os.path.abspath(file))
        srdf = settings["description_format"] == "urdf+srdf"
        collision, glb_up = CollisionShapes(settings["collision"]), UpAxis(settings["glb_up"])
        return DescriptionOptions(options, collision, srdf, glb_up)

    def with_hardware_topics(self, positions: Mapping[str, float]) -> DescriptionOptions:
        """Return the same options, with joints that ros2_control reads and commands by topics.

        Args:
            positions: Present joint positions by link name, in [rad] or [m].
        """
        urdf = replace(self.urdf, ros2_control=Hardware.TOPIC, positions=positions)
        return replace(self, urdf=urdf)

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


class ModelFile:
    """Reads a robot from files, and watches these files for changes.

    Args:
        mesh_folder: Folder of the meshes for the URDF.
        listener: Called with each diagnostic.
    """

    def __init__(self, mesh_folder: Path, listener: Callable[[Diagnostic], None]) -> None:
        self._mesh_folder = mesh_folder
        self._listener = listener
        self._watch = FileWatch()

    def describe(self, model: str, options: DescriptionOptions) -> Description:
        """Read a model; if it is valid, its files are watched from now on.

        Args:
            model: Its path, or ``file://`` or ``package://`` URI; problems are reported with the
                absolute path.
            options: Options of the description.

        Raises:
            ModelError: The model is invalid.
            OSError: The meshes cannot be written.
            MissingLibraryError: A library for the selected collision shapes is not installed.
        """
        watch = FileWatch()
        description = self._describe(model, options, watch)
        self._watch = watch
        return description

    def describe_again(self, model: str, options: DescriptionOptions) -> Description:
        """Read the same model after a change; its files are watched even if it is invalid.

        Raises:
            ModelError, OSError, MissingLibraryError: As for ``describe``.
        """
        before, self._watch = self._watch, FileWatch()
        try:
            return self._describe(model, options, self._watch)
        except Exception:
            # Files that were not read this time may still be part of the model.
            self._watch.add_all(before)
            raise

    def has_changed(self) -> bool:
        """Return whether a file has changed and is not being written right now."""
        return self._watch.has_changed()

    def _describe(self, model: str, options: DescriptionOptions, watch: FileWatch) -> Description:
        diagnostics = Diagnostics(listener=self._listener)
        with watch.recording():
            if "://" not in model:
                model, arguments = split_model_name(model)
                model = os.path.abspath(model)  # readers of the log do not know this folder
                watch.add(Path(model))  # also if it is a symbolic link
                body = load_body(model, diagnostics, arguments=arguments)
            else:
                body = load_body(model, diagnostics)
            return describe(body, options, self._mesh_folder, diagnostics)


def error_text(error: Exception) -> str:
    """Return the text of one of ``MODEL_ERRORS``, a line for each problem."""
    if isinstance(error, ModelError):  # its lines begin with place and severity
        return str(error)
    if isinstance(error, OSError):
        return f"error: the meshes cannot be written: {error}"
    return f"error: {error}"


def first_line(problems: str) -> str:
    """Return the first of several lines, and the number of the others."""
    first, *others = problems.splitlines()
    return f"{first} (and {len(others)} more)" if others else first
