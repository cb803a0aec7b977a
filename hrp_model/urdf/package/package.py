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
from .controllers import controllers_yaml
from .former_package import FormerPackage, digests, write_manifest
from .gz_bridge import bridge_yaml
from .recipe import recipe
from .rviz_config import rviz_config


@dataclass(frozen=True, eq=False)
class Package:
    """A description package that was written.

    Attributes:
        folder: Where it is, absolute.
        name: What ROS calls it.
        urdf, srdf: Files of the robot.
        body: The robot as it was written: mended, and with the collision shapes asked for.
        removed: Files of an earlier run that went, by their paths in the folder.
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

    The folder is a new or empty one, or one that this function wrote: then its files are
    replaced, those no longer needed are removed, and files of others stay. A file that was
    changed by hand since is kept, and a warning says so; for package.xml and CMakeLists.txt
    only if they lack something. But the URDF and its meshes have to be as written here.
    Nothing is written before all of it is there.

    Args:
        body: The robot.
        folder: The package's folder.
        options: How frames are called, and what the URDF holds besides the plain robot. Where
            its controllers and meshes are the package knows itself.
        collision: What stands for each link where it touches.
        glb_up: Which axis of the GLB files is the URDF's z; see ``glb.UpAxis``.
        name: The package's name; by default made of the model's, as sr1_description.
        diagnostics: Where warnings go; by default they are logged. In strict mode they
            leave nothing written.
        progress: As for ``collision.shapes.with_collision``.

    Raises:
        ValueError: ROS has no packages of this name.
        OSError: The folder cannot be written; a FileExistsError that what is there must not
            be replaced.
        MissingLibraryError: The collision shapes cannot be made.
        ModelError: Diagnostics are strict and there were warnings.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    options = UrdfOptions() if options is None else options
    name = texts.package_name(body.name) if name is None else name
    texts.check_package_name(name)
    options = _in_package(options, name)
    made_by = recipe(options, collision, glb_up)
    folder = folder.resolve()
    former = FormerPackage.found(folder)
    with staged_folder(folder) as staged:
        former.lend_meshes(staged)
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
        _drop_other_meshes(staged / "meshes", conversion.urdf)
        _write_texts(staged, name, conversion, options, made_by, diagnostics)
        new = digests(staged)
        former.keep_what_is_there(staged, name, diagnostics)
        diagnostics.raise_errors()
    write_manifest(folder, name, made_by, new)
    removed = former.remove_what_is_left(new)
    stem = _stem(name)
    urdf, srdf = folder / "urdf" / f"{stem}.urdf", folder / "srdf" / f"{stem}.srdf"
    return Package(folder, name, urdf, srdf, conversion.body, removed)


def _in_package(options: UrdfOptions, name: str) -> UrdfOptions:
    """Return options with the places that a package has."""
    # The launch file puts the path there; so would xacro.
    controllers_file = f"$(find {name})/config/controllers.yaml"
    meshes = None if options.mujoco_meshes is None else "../meshes"
    return replace(options, controllers=controllers_file, mujoco_meshes=meshes)


def _stem(name: str) -> str:
    """Return what the files of a package's robot are called."""
    return name.removesuffix("_description")


def _write_texts(
    folder: Path,
    name: str,
    conversion: Conversion,
    options: UrdfOptions,
    made_by: Sequence[str],
    diagnostics: Diagnostics,
) -> None:
    """Write all text files of a package, whose meshes are there."""
    files = _robot_texts(name, conversion, options, diagnostics)
    paths = {*files, *digests(folder)}
    files.update(_package_texts(name, conversion, options, made_by, paths))
    for path, text in files.items():
        write_atomically(folder / path, text.encode())


def _robot_texts(
    name: str, conversion: Conversion, options: UrdfOptions, diagnostics: Diagnostics
) -> dict[str, str]:
    """Return the text files that tell of the robot, by their paths in a package."""
    body, frames = conversion.body, conversion.frames
    stem = _stem(name)
    urdf = f"{stem}.urdf"
    files = {
        f"urdf/{urdf}": f"{conversion.urdf}\n",
        f"srdf/{stem}.srdf": f"{body_to_srdf(body, frames, diagnostics)}\n",
        texts.DISPLAY_LAUNCH: texts.display_launch(name, urdf),
        "rviz/display.rviz": rviz_config(body, frames),
    }
    if conversion.loops is not None:
        files[f"urdf/{LOOPS_FILE}"] = conversion.loops
    sliders = texts.sliders_config(body, frames)
    if sliders is not None:
        files["config/joint_state_publisher.yaml"] = sliders
    hardware = options.ros2_control
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
    made_by: Sequence[str],
    paths: Collection[str],
) -> dict[str, str]:
    """Return the text files that tell of the package, whose other files have these paths."""
    body = conversion.body
    folders = {path.partition("/")[0] for path in paths}
    needs: set[str] = set()
    if texts.CONTROL_LAUNCH in paths:
        needs = texts.control_needs(conversion, options)
    return {
        "README.md": texts.readme(name, body, made_by, paths),
        "CMakeLists.txt": texts.cmake_lists(name, folders),
        "package.xml": texts.package_xml(name, body.name, needs),
    }


def _drop_other_meshes(meshes: Path, urdf: str) -> None:
    """Remove the meshes that a URDF does not name, and their folder when none is left."""
    uris = (mesh.get("filename", "") for mesh in ElementTree.fromstring(urdf).iter("mesh"))
    named = {uri.rpartition("/")[2] for uri in uris}
    for path in meshes.iterdir():
        if path.name not in named:
            path.unlink()
    if not any(meshes.iterdir()):
        meshes.rmdir()
