"""The options of ``hrp-model urdf``, and which of them can be combined."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ..collision.shapes import CollisionShapes
from ..files.writer import is_special
from ..frames import Base, LinkNaming
from ..program.command import UsageError
from ..program.outputs import Kind, Output, add_force, check_outputs
from ..program.parsing import MODEL, add_estimated_masses
from ..urdf import (
    LOOPS_FILE,
    MOVEIT,
    NAV2,
    Addition,
    CommandInterface,
    Hardware,
    UpAxis,
    UrdfOptions,
    UrdfVersion,
)

if TYPE_CHECKING:
    from ..program.parsing import Arguments

_CONTROLLERS_FILE = "controllers.yaml"
# Options that add a part to a package.
_ADDITIONS = {
    MOVEIT: "also write what MoveIt needs: limits, kinematics, planners and controllers, an SRDF "
    "without pairs of links that never or always collide, and demo.launch.py, which simulates the "
    "robot under MoveIt",
    NAV2: "also write what Nav2 needs to drive the vehicle: nav2_params.yaml from its wheels, "
    "scanner and shape, and nav2.launch.py, which simulates a world under Nav2",
}
# Other characters, such as blanks and quotes, cause trouble in URDF readers, TF and shells.
_PREFIX = re.compile(r"[\w./-]*")


def _file(text: str) -> Path:
    if text == "-":
        raise argparse.ArgumentTypeError("only the URDF can go to standard output: name a file")
    return Path(text)


def _output(text: str) -> Path | None:
    return None if text == "-" else Path(text)


def _prefix(text: str) -> str:
    if not _PREFIX.fullmatch(text):
        message = f"{text!r} may contain only letters, digits and _ . / -"
        raise argparse.ArgumentTypeError(message)
    return text


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``hrp-model urdf``."""
    command.epilog = (
        "Without -o the URDF is printed to standard output, and shapes that need a mesh file are "
        "left out unless --mesh-dir is given. Either all files are written, or none. "
        "Exit status: 0 success; 1 the model has errors, or warnings with --strict, or --verify "
        "found a difference or nothing to compare with; 2 usage error, or a file cannot be written."
    )
    command.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help=f"{MODEL}; with --verify alone also several models, or folders of models",
    )
    _add_outputs(command.add_argument_group("outputs"))
    _add_contents(command.add_argument_group("contents"))
    _add_blocks(command.add_argument_group("blocks for simulators and controllers"))
    checks = command.add_argument_group("checks")
    checks.add_argument(
        "--strict", action="store_true", help="treat warnings as errors, and then write nothing"
    )
    checks.add_argument(
        "--verify",
        action="store_true",
        help="read the URDF with the installed libraries pinocchio and MuJoCo, and print "
        "the differences from the model; without -o, instead of the URDF",
    )


def _add_outputs(group: Arguments) -> None:
    group.add_argument(
        "-o",
        "--output",
        type=_output,
        metavar="OUT",
        help="the URDF; '-' (default) is standard output. Missing folders are created",
    )
    group.add_argument(
        "--mesh-dir",
        type=_file,
        metavar="DIR",
        help="folder of mesh files; default: 'meshes' beside OUT, or none without OUT",
    )
    group.add_argument(
        "--mesh-uri",
        choices=("package", "file"),
        help="URIs of mesh files: file:// (default), or package://, which needs a package.xml "
        "above DIR",
    )
    group.add_argument(
        "--srdf", type=_file, metavar="OUT", help="also write an SRDF, for MoveIt and pinocchio"
    )
    group.add_argument(
        "--controllers",
        type=_file,
        metavar="OUT",
        help="with --ros2-control, also write the parameter file of the controllers; "
        f"default: {_CONTROLLERS_FILE} beside the URDF for gz, else none",
    )
    group.add_argument(
        "--package",
        type=_file,
        metavar="NAME",
        help="write a complete ROS 2 description package instead: package.xml, URDF, meshes, "
        "launch files, RViz and controller configuration; NAME may be a path, whose last part "
        "is the name of the package",
    )
    for addition, text in _ADDITIONS.items():
        group.add_argument(*addition.words, action="store_true", help=f"with --package, {text}")
    add_force(group)


def _add_contents(group: Arguments) -> None:
    group.add_argument(
        "--urdf-version",
        choices=[version.value for version in UrdfVersion],
        default=UrdfVersion.V1_0.value,
        help="version of the URDF: 1.0 (default), which all programs read; 1.1 with capsules and "
        "quaternions; 1.2 also with limits of acceleration and jerk",
    )
    group.add_argument(
        "--link-naming",
        choices=[naming.value for naming in LinkNaming],
        default=LinkNaming.JOINT.value,
        help="names of links: those in the model (default), usually equal to those of the joints, "
        "or those of the Segments of an OpenHRP model",
    )
    group.add_argument(
        "--frame-prefix",
        type=_prefix,
        default="",
        metavar="P",
        help="prefix of the names of links and sensor frames, but not of joints",
    )
    group.add_argument(
        "--base",
        choices=[base.value for base in Base],
        help="massless links above the model's root: base_link, or also base_footprint on the "
        "floor; auto adds base_link if the model's root has a mass, which KDL does not support; "
        "default: auto with --package, else none",
    )
    group.add_argument(
        "--collision",
        choices=[shapes.value for shapes in CollisionShapes],
        default=CollisionShapes.AS_MODELLED.value,
        help="collision shapes: those of the model (default), or the convex hull, the bounding box "
        "or a convex decomposition of each",
    )
    add_estimated_masses(group)
    group.add_argument(
        "--glb-up",
        choices=[up.value for up in UpAxis],
        default=UpAxis.Z.value,
        help="which axis of the GLB meshes is the URDF's z: z (default) for Gazebo, yourdfpy and "
        "RViz up to ROS 2 Kilted; y, as in glTF, for RViz from rviz_rendering 15.1.4 on "
        "(ROS 2 Lyrical) and Drake. With the wrong axis, parts are rotated by 90 degrees",
    )


def _add_blocks(group: Arguments) -> None:
    group.add_argument("--gazebo", action="store_true", help="add <gazebo> blocks for sensors")
    group.add_argument(
        "--ros2-control",
        choices=[hardware.value for hardware in Hardware],
        help="add a <ros2_control> block for this hardware",
    )
    group.add_argument(
        "--command-interface",
        choices=[command.value for command in CommandInterface],
        help="command interface of the joints (default: position)",
    )
    group.add_argument(
        "--mujoco",
        action="store_true",
        help="add a <mujoco> block, so that MuJoCo can read the URDF and find its meshes",
    )


def check_options(options: argparse.Namespace) -> None:
    """Check that the options can be combined.

    Raises:
        UsageError: They cannot; the message has an alternative.
    """
    if options.package is not None:
        for name in ("output", "mesh_dir", "mesh_uri", "srdf", "controllers"):
            if getattr(options, name) is not None:
                option = f"--{name.replace('_', '-')}"
                message = f"{option} and --package exclude each other"
                raise UsageError(f"{message}, as --package determines all paths")
    elif added := additions(options):
        raise UsageError(f"{added[0].words[0]} needs --package NAME, which writes its files")
    folders = options.mesh_dir, options.package
    check_outputs(outputs(options), folders=folders, inputs=options.files, force=options.force)
    if options.mesh_uri is not None and mesh_folder(options) is None:
        raise UsageError("--mesh-uri needs -o FILE or --mesh-dir, which write mesh files")
    if UrdfVersion(options.urdf_version).has_capsules and (options.verify or options.mujoco):
        option = "--verify" if options.verify else "--mujoco"
        message = f"{option} and --urdf-version {options.urdf_version} exclude each other"
        raise UsageError(f"{message}, as MuJoCo and other programs ignore its quaternions")
    if options.ros2_control is None:
        for name in ("controllers", "command_interface"):
            if getattr(options, name) is not None:
                option = f"--{name.replace('_', '-')}"
                raise UsageError(f"{option} needs --ros2-control HARDWARE")
    if _lacks_controllers(options):
        message = "with --ros2-control gz the URDF contains the path of the controllers' parameters"
        raise UsageError(f"{message}: add -o FILE or --controllers FILE")


def additions(options: argparse.Namespace) -> list[Addition]:
    """Return the parts that options add to a package."""
    given = vars(options)
    return [x for x in _ADDITIONS if given[x.words[0].removeprefix("--").replace("-", "_")]]


def check_several_models(options: argparse.Namespace) -> None:
    """Check that no files are to be written for several models.

    Raises:
        UsageError: The message suggests a correction, or states the rule.
    """
    outputs = (options.output, options.mesh_dir, options.srdf, options.controllers, options.package)
    if options.verify and all(output is None for output in outputs):
        return
    last = options.files[-1]
    is_new = not os.path.exists(last)
    if len(options.files) == 2 and last.lower().endswith(".urdf") and (is_new or not any(outputs)):
        raise UsageError(f"'{last}' would be a second model. Did you mean '-o {last}'?")
    message = "only one model can be converted at a time"
    raise UsageError(f"{message}; --verify without outputs accepts several models or a folder")


def outputs(options: argparse.Namespace, *, with_loops: bool = False) -> list[Output]:
    """Return the files to write besides meshes.

    Args:
        options: Those of the command line.
        with_loops: Whether the model has closed loops.
    """
    files = [Output("-o", options.output, Kind.URDF), Output("--srdf", options.srdf, Kind.SRDF)]
    if options.controllers is not None:
        files.append(Output("--controllers", options.controllers, Kind.CONTROLLERS))
    else:  # the writer itself keeps an edited file
        files.append(Output(_CONTROLLERS_FILE, controllers_file(options), None))
    if with_loops:
        files.append(Output(LOOPS_FILE, loops_file(options), Kind.LOOPS))
    return files


def _lacks_controllers(options: argparse.Namespace) -> bool:
    """Return whether the URDF would reference a file of controllers that is not written."""
    has_paths = options.package is not None or options.verify
    is_referenced = options.ros2_control == Hardware.GZ.value
    return is_referenced and not has_paths and controllers_file(options) is None


def mesh_folder(options: argparse.Namespace) -> Path | None:
    """Return the folder of the meshes; None if none are written."""
    output: Path | None = options.output
    if options.mesh_dir is not None or output is None or is_special(output):
        folder: Path | None = options.mesh_dir
        return folder
    return output.parent / "meshes"


def loops_file(options: argparse.Namespace) -> Path | None:
    """Return the file of closed loops beside the URDF; None if the URDF is not in a file."""
    output: Path | None = options.output
    return None if output is None or is_special(output) else output.parent / LOOPS_FILE


def controllers_file(options: argparse.Namespace) -> Path | None:
    """Return the file of the controllers' parameters; None if it is not written."""
    output: Path | None = options.output
    if options.controllers is not None:
        given: Path = options.controllers
        return given
    if options.ros2_control != Hardware.GZ.value or output is None or is_special(output):
        return None
    return output.parent / _CONTROLLERS_FILE


def urdf_options(options: argparse.Namespace) -> UrdfOptions:
    """Return the options of the URDF."""
    hardware = options.ros2_control
    controllers = controllers_file(options) or Path(_CONTROLLERS_FILE)
    return UrdfOptions(
        link_naming=LinkNaming(options.link_naming),
        frame_prefix=options.frame_prefix,
        base=_base(options),
        gazebo=options.gazebo,
        ros2_control=None if hardware is None else Hardware(hardware),
        command_interface=CommandInterface(options.command_interface or "position"),
        controllers=str(controllers.resolve()),
        mujoco_meshes=_meshes_for_mujoco(options) if options.mujoco else None,
        version=UrdfVersion(options.urdf_version),
    )


def _base(options: argparse.Namespace) -> Base:
    if options.base is None:
        return Base.NONE if options.package is None else Base.AUTO
    return Base(options.base)


def _meshes_for_mujoco(options: argparse.Namespace) -> str:
    """Return the mesh folder, relative to the URDF if that is written to a file."""
    folder = mesh_folder(options)
    if folder is None:
        return "."
    if options.output is None:
        return str(folder.resolve())
    return Path(os.path.relpath(folder.resolve(), options.output.resolve().parent)).as_posix()
