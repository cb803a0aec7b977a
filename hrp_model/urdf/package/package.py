"""A complete ROS 2 description package of a robot."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

from ...body import Body
from ...collision.decompose import Progress
from ...collision.shapes import CollisionShapes
from ...diagnostics import Diagnostics
from ...files.writer import staged_folder, write_atomically
from ...kinematics.actuation import controlled_joints
from ..convert import LOOPS_FILE, Conversion, convert
from ..meshes.glb import UpAxis
from ..options import Hardware, UrdfOptions
from ..srdf.srdf import body_to_srdf
from . import package_files as texts
from .command_line import command_line_options
from .controllers import controllers_yaml
from .gz_bridge import bridge_yaml
from .previous_package import PreviousPackage, digests, write_manifest
from .rviz_config import rviz_config


@dataclass(frozen=True, eq=False)
class Package:
    """A description package that was written.

    Attributes:
        folder: Its absolute path.
        name: Its name in ROS.
        urdf, srdf: Files of the robot.
        body: The robot as written: repaired, and with the requested collision shapes.
        removed: Removed files of a previous run, by their paths in the folder.
    """

    folder: Path
    name: str
    urdf: Path
    srdf: Path
    body: Body
    removed: tuple[str, ...] = ()


def write_package(
    body: Body,
    folder: Path,
    *,
    options: UrdfOptions | None = None,
    collision: CollisionShapes = CollisionShapes.AS_MODELLED,
    glb_up: UpAxis = UpAxis.Z,
    name: str | None = None,
    diagnostics: Diagnostics | None = None,
    progress: Progress | None = None,
) -> Package:
    """Write a package that builds with colcon and shows the robot in RViz.

    The folder is new or empty, or was written by this function: then its files are replaced,
    obsolete ones are removed, and other files stay. A file that was edited by hand is kept with
    a warning; package.xml and CMakeLists.txt cause one only if they lack something. An edited
    URDF or mesh is an error. Either all files are written, or none.

    Args:
        body: The robot.
        folder: The package's folder.
        options: Names of frames, and optional blocks of the URDF. The paths of controllers and
            meshes are set to those in the package.
        collision: Collision shapes of the links.
        glb_up: Which axis of the GLB files is the URDF's z; see ``glb.UpAxis``.
        name: The package's name; by default derived from the model's, as sr1_description.
        diagnostics: Receives warnings; by default they are logged. In strict mode nothing is
            written if there are any.
        progress: As for ``collision.shapes.with_collision``.

    Raises:
        ValueError: The name is not a valid package name.
        OSError: The folder cannot be written; FileExistsError if an existing file must not be
            replaced.
        MissingLibraryError: The collision shapes cannot be made.
        ModelError: Diagnostics are strict and there were warnings.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    options = UrdfOptions() if options is None else options
    name = texts.package_name(body.name) if name is None else name
    texts.check_package_name(name)
    options = _in_package(options, name)
    command = command_line_options(options, collision, glb_up)
    folder = folder.resolve()
    previous = PreviousPackage.read(folder)
    with staged_folder(folder) as staged:
        previous.copy_meshes(staged)
        conversion = convert(
            body,
            staged / "meshes",
            mesh_uri=f"package://{name}/meshes",
            glb_up=glb_up,
            collision=collision,
            options=options,
            diagnostics=diagnostics,
            progress=progress,
        )
        _remove_unused_meshes(staged / "meshes", conversion.urdf)
        _write_texts(staged, name, conversion, options, command, diagnostics)
        new = digests(staged)
        previous.drop_unchanged(staged, name, diagnostics)
        diagnostics.raise_errors()
    write_manifest(folder, name, command, new)
    removed = previous.remove_obsolete(new)
    stem = _stem(name)
    urdf, srdf = folder / "urdf" / f"{stem}.urdf", folder / "srdf" / f"{stem}.srdf"
    return Package(folder, name, urdf, srdf, conversion.body, removed)


def _in_package(options: UrdfOptions, name: str) -> UrdfOptions:
    """Return options with the paths of a package."""
    # The launch file substitutes the path, as xacro would.
    controllers_file = f"$(find {name})/config/controllers.yaml"
    meshes = None if options.mujoco_meshes is None else "../meshes"
    return replace(options, controllers=controllers_file, mujoco_meshes=meshes)


def _stem(name: str) -> str:
    """Return the base name of the files of a package's robot."""
    return name.removesuffix("_description")


def _write_texts(
    folder: Path,
    name: str,
    conversion: Conversion,
    options: UrdfOptions,
    command: Sequence[str],
    diagnostics: Diagnostics,
) -> None:
    """Write all text files of a package whose meshes are written."""
    files = _robot_texts(name, conversion, options, diagnostics)
    paths = {*files, *digests(folder)}
    files.update(_package_texts(name, conversion, options, command, paths))
    for path, text in files.items():
        write_atomically(folder / path, text.encode())


def _robot_texts(
    name: str, conversion: Conversion, options: UrdfOptions, diagnostics: Diagnostics
) -> dict[str, str]:
    """Return the text files about the robot, by their paths in a package."""
    body, frames = conversion.body, conversion.frames
    stem = _stem(name)
    urdf = f"{stem}.urdf"
    hardware = options.ros2_control
    is_simulation = hardware in (Hardware.GZ, Hardware.MUJOCO)
    files = {
        f"urdf/{urdf}": f"{conversion.urdf}\n",
        f"srdf/{stem}.srdf": f"{body_to_srdf(body, frames, diagnostics)}\n",
        texts.DISPLAY_LAUNCH: texts.display_launch(name, urdf),
        "rviz/display.rviz": rviz_config(body, frames, is_simulation=is_simulation),
    }
    if conversion.loops is not None:
        files[f"urdf/{LOOPS_FILE}"] = conversion.loops
    joint_state_publisher = texts.joint_state_publisher_yaml(body, frames)
    if joint_state_publisher is not None:
        files["config/joint_state_publisher.yaml"] = joint_state_publisher
    if hardware is not None and controlled_joints(body):
        launch = texts.control_launch(name, urdf, conversion, options)
        files[texts.CONTROL_LAUNCH] = launch
        files["config/controllers.yaml"] = controllers_yaml(body, frames, options)
        if hardware is Hardware.GZ:
            files["config/gz_bridge.yaml"] = bridge_yaml(body, frames, options)
            files["worlds/robot.sdf"] = texts.gazebo_world()
    return files


def _package_texts(
    name: str,
    conversion: Conversion,
    options: UrdfOptions,
    command: Sequence[str],
    paths: Collection[str],
) -> dict[str, str]:
    """Return the text files about the package, whose other files have these paths."""
    body = conversion.body
    folders = {path.partition("/")[0] for path in paths}
    dependencies: set[str] = set()
    if texts.CONTROL_LAUNCH in paths:
        dependencies = texts.control_dependencies(conversion, options)
    return {
        "README.md": texts.readme(name, body, command, paths),
        "CMakeLists.txt": texts.cmake_lists(name, folders),
        "package.xml": texts.package_xml(name, body.name, dependencies),
    }


def _remove_unused_meshes(meshes: Path, urdf: str) -> None:
    """Remove the mesh files that a URDF does not reference, and their folder if it is empty."""
    uris = (mesh.get("filename", "") for mesh in ElementTree.fromstring(urdf).iter("mesh"))
    named = {uri.rpartition("/")[2] for uri in uris}
    for path in meshes.iterdir():
        if path.name not in named:
            path.unlink()
    if not any(meshes.iterdir()):
        meshes.rmdir()
