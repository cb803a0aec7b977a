"""What ``hrp-model urdf`` understands, and which of it goes together."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

from ..collision.shapes import CollisionShapes
from ..files.writer import is_special
from ..frames import Base, LinkNaming
from ..program.outputs import Kind, Output, add_force, check_outputs
from ..urdf import LOOPS_FILE, CommandInterface, Hardware, UpAxis, UrdfOptions
from .common import MODEL, UsageError

EPILOG = (
    "Without -o the URDF goes to the standard output, and shapes that need a mesh file are "
    "left out unless --mesh-dir says where to write it. Files appear whole or not at all. "
    "Exit status: 0 good; 1 the model has errors, or warnings with --strict, or --verify "
    "found a difference or nothing to compare with; 2 wrong use, or a file that cannot be written."
)

_CONTROLLERS_FILE = "controllers.yaml"
# Readers of URDF and TF, and shells, stumble over much of the rest, such as blanks and quotes.
_PREFIX = re.compile(r"[\w./-]*")


def _file(text: str) -> Path:
    if text == "-":
        raise argparse.ArgumentTypeError("only the URDF goes to the standard output: name a file")
    return Path(text)


def _output(text: str) -> Path | None:
    return None if text == "-" else Path(text)


def _prefix(text: str) -> str:
    if not _PREFIX.fullmatch(text):
        message = f"{text!r} has more than letters, digits and _ . / -, as names of frames have"
        raise argparse.ArgumentTypeError(message)
    return text


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare what ``hrp-model urdf`` understands."""
    command.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help=f"{MODEL}; with --verify alone also several, or folders of models",
    )
    _add_outputs(command.add_argument_group("where it goes"))
    _add_contents(command.add_argument_group("what it tells"))
    _add_blocks(command.add_argument_group("what it tells simulators and controllers"))
    checks = command.add_argument_group("how it is checked")
    checks.add_argument(
        "--strict", action="store_true", help="treat warnings as errors: then nothing is written"
    )
    checks.add_argument(
        "--verify",
        action="store_true",
        help="read the URDF with the independent programs that are installed (pinocchio, "
        "yourdfpy, MuJoCo, check_urdf), and print how far it is from the model; without -o, "
        "instead of the URDF",
    )


def _add_outputs(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "-o",
        "--output",
        type=_output,
        metavar="OUT",
        help="the URDF; '-', the default, is the standard output. Missing folders are made",
    )
    group.add_argument(
        "--mesh-dir",
        type=_file,
        metavar="DIR",
        help="where to write meshes; default: 'meshes' beside OUT, none without OUT",
    )
    group.add_argument(
        "--mesh-uri",
        choices=("package", "file"),
        help="how the URDF names them: file (default), or package, for which a package.xml "
        "must lie above DIR",
    )
    group.add_argument(
        "--srdf", type=_file, metavar="OUT", help="write also an SRDF, for MoveIt and pinocchio"
    )
    group.add_argument(
        "--controllers",
        type=_file,
        metavar="OUT",
        help="with --ros2-control, write also the parameters of its controllers; "
        f"default: for gz {_CONTROLLERS_FILE} beside the URDF, else none",
    )
    group.add_argument(
        "--package",
        type=_file,
        metavar="NAME",
        help="write a whole ROS 2 description package of this name instead: package.xml, URDF, "
        "meshes, launch files, RViz and controller settings; NAME may be a path, whose last part "
        "is the name",
    )
    add_force(group)


def _add_contents(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--link-naming",
        choices=[naming.value for naming in LinkNaming],
        default=LinkNaming.JOINT.value,
        help="call links as the model does, which mostly is like their joints (default), or "
        "by the Segments of an OpenHRP model",
    )
    group.add_argument(
        "--frame-prefix",
        type=_prefix,
        default="",
        metavar="P",
        help="put before the names of links and sensor frames, not of joints",
    )
    group.add_argument(
        "--base",
        choices=[base.value for base in Base],
        help="a massless root above the model's: base_link, or also base_footprint on the floor, "
        "or base_link where the model's root has a mass, which KDL does not take (auto); default: "
        "auto with --package, else none",
    )
    group.add_argument(
        "--collision",
        choices=[shapes.value for shapes in CollisionShapes],
        default=CollisionShapes.AS_MODELLED.value,
        help="what touches: the model's shapes (default), the convex hull of each, a box around "
        "each, or several convex pieces",
    )
    group.add_argument(
        "--glb-up",
        choices=[up.value for up in UpAxis],
        default=UpAxis.Z.value,
        help="which axis of the GLB meshes is the URDF's z: z (default) for Gazebo, yourdfpy and "
        "RViz up to ROS 2 Kilted; y, as glTF has it, for RViz from rviz_rendering 15.1.4 on "
        "(ROS 2 Lyrical) and Drake. With the wrong one, parts lie on their sides",
    )


def _add_blocks(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--gazebo", action="store_true", help="add <gazebo> blocks: the sensors")
    group.add_argument(
        "--ros2-control",
        choices=[hardware.value for hardware in Hardware],
        help="add a <ros2_control> block for this hardware",
    )
    group.add_argument(
        "--command-interface",
        choices=[command.value for command in CommandInterface],
        help="what controllers ask of the joints (default: position)",
    )
    group.add_argument(
        "--mujoco",
        action="store_true",
        help="add a <mujoco> block, with which MuJoCo itself reads the URDF and finds its meshes",
    )


def refuse_contradictions(options: argparse.Namespace) -> None:
    """Refuse options that do not go together.

    Raises:
        UsageError: They say what to do instead.
    """
    if options.package is not None:
        for name in ("output", "mesh_dir", "mesh_uri", "srdf", "controllers"):
            if getattr(options, name) is not None:
                option = f"--{name.replace('_', '-')}"
                message = f"{option} and --package exclude each other"
                raise UsageError(f"{message}: --package chooses the places itself")
    folders = options.mesh_dir, options.package
    check_outputs(outputs(options), folders=folders, inputs=options.files, force=options.force)
    if options.mesh_uri is not None and mesh_folder(options) is None:
        raise UsageError("--mesh-uri names meshes, which only -o FILE or --mesh-dir writes")
    if options.ros2_control is None:
        for name in ("controllers", "command_interface"):
            if getattr(options, name) is not None:
                option = f"--{name.replace('_', '-')}"
                raise UsageError(f"{option} needs --ros2-control, which says for which hardware")
    if _lacks_controllers(options):
        message = "with --ros2-control gz the URDF names the file of the controllers' parameters"
        raise UsageError(f"{message}: say where that goes, by -o FILE or --controllers FILE")


def refuse_outputs_of_many(options: argparse.Namespace) -> None:
    """Refuse to write files of several models.

    Raises:
        UsageError: The message has the command that is meant, or the rule.
    """
    outputs = (options.output, options.mesh_dir, options.srdf, options.controllers, options.package)
    if options.verify and all(output is None for output in outputs):
        return
    last = options.files[-1]
    is_new = not os.path.exists(last)
    if len(options.files) == 2 and last.lower().endswith(".urdf") and (is_new or not any(outputs)):
        raise UsageError(f"'{last}' would be a second model. Did you mean '-o {last}'?")
    message = "one model is converted at a time"
    raise UsageError(f"{message}; only --verify without outputs takes several models or a folder")


def outputs(options: argparse.Namespace, *, with_loops: bool = False) -> list[Output]:
    """Return the files to write besides meshes.

    Args:
        options: Of the command line.
        with_loops: Whether the model has closed loops.
    """
    found = [Output("-o", options.output, Kind.URDF), Output("--srdf", options.srdf, Kind.SRDF)]
    if options.controllers is not None:
        found.append(Output("--controllers", options.controllers, Kind.CONTROLLERS))
    else:  # the writer itself keeps another one that is there
        found.append(Output(_CONTROLLERS_FILE, controllers_file(options), None))
    if with_loops:
        found.append(Output(LOOPS_FILE, loops_file(options), Kind.LOOPS))
    return found


def _lacks_controllers(options: argparse.Namespace) -> bool:
    """Tell whether the URDF would name a file that nobody writes."""
    has_places = options.package is not None or options.verify
    is_named = options.ros2_control == Hardware.GZ.value
    return is_named and not has_places and controllers_file(options) is None


def mesh_folder(options: argparse.Namespace) -> Path | None:
    """Return where the meshes go; None if none are written."""
    output: Path | None = options.output
    if options.mesh_dir is not None or output is None or is_special(output):
        folder: Path | None = options.mesh_dir
        return folder
    return output.parent / "meshes"


def loops_file(options: argparse.Namespace) -> Path | None:
    """Return where the closed loops of a model go; None if there is no place beside the URDF."""
    output: Path | None = options.output
    return None if output is None or is_special(output) else output.parent / LOOPS_FILE


def controllers_file(options: argparse.Namespace) -> Path | None:
    """Return where the parameters of the controllers go; None if nobody wants them."""
    output: Path | None = options.output
    if options.controllers is not None:
        given: Path = options.controllers
        return given
    if options.ros2_control != Hardware.GZ.value or output is None or is_special(output):
        return None
    return output.parent / _CONTROLLERS_FILE


def urdf_options(options: argparse.Namespace) -> UrdfOptions:
    """Return what of a body the URDF is to tell."""
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
    )


def _base(options: argparse.Namespace) -> Base:
    if options.base is None:
        return Base.NONE if options.package is None else Base.AUTO
    return Base(options.base)


def _meshes_for_mujoco(options: argparse.Namespace) -> str:
    """Return where the meshes will be, relative to the URDF if that goes into a file."""
    folder = mesh_folder(options)
    if folder is None:
        return "."
    if options.output is None:
        return str(folder.resolve())
    return Path(os.path.relpath(folder.resolve(), options.output.resolve().parent)).as_posix()
