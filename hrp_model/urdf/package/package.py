"""A complete ROS 2 description package of a robot, and how it replaces that of a previous run."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from enum import Enum
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

from ...body import Body
from ...collision.decompose import Progress
from ...collision.shapes import CollisionShapes
from ...diagnostics import Diagnostics
from ...files.writer import staged_folder, write_atomically
from ...frames import Base
from ...late_dataclass import dataclass
from ..convert import convert
from ..glb import UpAxis
from ..options import UrdfOptions
from .package_files import (
    Addition,
    PackagedRobot,
    PartMaker,
    check_package_name,
    control_part,
    display_part,
    package_name,
    package_texts,
)

_DEFAULTS = UrdfOptions()
# What every package has; options of the command line add further parts.
_PARTS: tuple[PartMaker, ...] = (display_part, control_part)
# A file in the package with the digest of each written file, by path.
_MANIFEST = ".hrp_model.json"
# Files in these folders must match the others, so edited ones are not kept.
_NOT_EDITABLE = ("urdf/", "meshes/")
_DEPENDENCY_TAGS = ("depend", "exec_depend")


def command_line_options(
    options: UrdfOptions, collision: CollisionShapes, glb_up: UpAxis
) -> list[str]:
    """Return the command line options that differ from the defaults.

    Args:
        options: Options of the URDF; paths of its files are left out.
        collision: Collision shapes of the links.
        glb_up: Which axis of the GLB files is the URDF's z.
    """
    values: list[tuple[str, str | bool | Enum | None, object]] = [
        ("--link-naming", options.link_naming, _DEFAULTS.link_naming),
        ("--frame-prefix", options.frame_prefix, _DEFAULTS.frame_prefix),
        ("--base", options.base, Base.AUTO),
        ("--collision", collision, CollisionShapes.AS_MODELLED),
        ("--glb-up", glb_up, UpAxis.Z),
        ("--urdf-version", options.version, _DEFAULTS.version),
        ("--gazebo", options.gazebo, False),
        ("--ros2-control", options.ros2_control, None),
        ("--mujoco", options.mujoco_meshes is not None, False),
    ]
    if options.ros2_control is not None:
        command = options.command_interface
        values.append(("--command-interface", command, _DEFAULTS.command_interface))
    words: list[str] = []
    for option, value, default in values:
        if value != default:
            words.append(option)
            if value is not True:
                words.append(str(value.value if isinstance(value, Enum) else value))
    return words


@dataclass(frozen=True)
class PreviousPackage:
    """The package that a previous run wrote.

    Attributes:
        folder: Folder of the package.
        name: Name of the package; empty if there was none.
        files: Digests of the files by their paths in it.
    """

    folder: Path
    name: str = ""
    files: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def read(folder: Path) -> PreviousPackage:
        """Return the package that the manifest of a folder lists.

        Raises:
            NotADirectoryError: It is a file.
            FileExistsError: It is not empty and has no manifest.
        """
        if folder.is_file():
            raise NotADirectoryError(errno.ENOTDIR, "it is a file, not a folder", str(folder))
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return PreviousPackage(folder)
        try:
            manifest = json.loads((folder / _MANIFEST).read_bytes())
            # Only files inside the folder may ever be removed.
            files = {str(k): str(v) for k, v in manifest["files"].items() if _is_inside(k)}
            return PreviousPackage(folder, str(manifest["package"]), files)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            reason = "it is neither empty nor a description package that hrp-model wrote"
            raise FileExistsError(errno.EEXIST, reason, str(folder)) from None

    def copy_meshes(self, staged: Path) -> None:
        """Copy unchanged meshes to the new package; their names identify their contents."""
        for path, digest in self.files.items():
            mesh = self.folder / path
            if path.startswith("meshes/") and mesh.is_file() and _digest(mesh) == digest:
                (staged / "meshes").mkdir(exist_ok=True)
                shutil.copy2(mesh, staged / path)

    def drop_unchanged(self, staged: Path, name: str, diagnostics: Diagnostics) -> None:
        """Remove from a new package files that exist already or that were edited by hand.

        Args:
            staged: Temporary folder of the new package.
            name: Its name.
            diagnostics: Receives warnings about edited files.

        Raises:
            FileExistsError: A file exists that was not written here, or an edited one that
                must match the others.
        """
        for path, digest in digests(staged).items():
            existing = self.folder / path
            if not os.path.lexists(existing):
                continue
            current = _digest(existing) if existing.is_file() else None
            if current == digest:
                (staged / path).unlink()
            elif path not in self.files or current is None:
                reason = "it is not part of the package that hrp-model wrote here"
                raise FileExistsError(errno.EEXIST, reason, str(existing))
            elif current != self.files[path]:
                if path.startswith(_NOT_EDITABLE) or name != self.name:
                    reason = "it was edited by hand; move it away, or choose another folder"
                    raise FileExistsError(errno.EEXIST, reason, str(existing))
                _warn_of_edited(existing, staged / path, diagnostics)
                (staged / path).unlink()

    def remove_obsolete(self, new: Mapping[str, str]) -> tuple[str, ...]:
        """Remove unedited files that the new package does not have; return their paths.

        Args:
            new: The files of the new package.
        """
        removed = []
        for path in sorted(self.files.keys() - new.keys()):
            old = self.folder / path
            if old.is_file() and _digest(old) == self.files[path]:
                old.unlink()
                removed.append(path)
                with suppress(OSError):  # the folder is not empty
                    old.parent.rmdir()
        return tuple(removed)


def write_manifest(
    folder: Path, name: str, options: Sequence[str], files: Mapping[str, str]
) -> None:
    """Write the list of a package's files, for the next run.

    Args:
        folder: Folder of the package.
        name: Its name.
        options: Options of the command that writes it.
        files: Digests by path.
    """
    manifest = {"package": name, "options": list(options), "files": dict(files)}
    write_atomically(folder / _MANIFEST, f"{json.dumps(manifest, indent=1)}\n".encode())


def digests(folder: Path) -> dict[str, str]:
    """Return a digest of each file below a folder, by path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): _digest(path) for path in files}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _is_inside(path: str) -> bool:
    pure = PurePosixPath(path)
    return not pure.is_absolute() and ".." not in pure.parts


def _warn_of_edited(existing: Path, new: Path, diagnostics: Diagnostics) -> None:
    """Warn that an edited file is kept, unless it has everything that is needed."""
    message = f"{existing} was edited by hand and is kept"
    missing = _missing_entries(existing, new)
    if missing is None:
        diagnostics.warn("kept-file", message)
    elif missing:
        diagnostics.warn("incomplete-file", f"{message}, but lacks {', '.join(missing)}")


def _missing_entries(existing: Path, new: Path) -> list[str] | None:
    """Return the entries that a file to be edited by users lacks; None for other files."""
    try:
        if new.name == "package.xml":
            return [
                f"<exec_depend>{name}</exec_depend>"
                for name in _dependencies(new)
                if name not in _dependencies(existing)
            ]
        if new.name == "CMakeLists.txt":
            words = re.split(r"[\s()/]+", existing.read_text(encoding="utf-8"))
            return [
                *(f"DIRECTORY {name}" for name in _installed_folders(new) if name not in words),
                *(f"FILES {name}" for name in _installed_files(new) if name not in words),
            ]
    except (ValueError, ElementTree.ParseError):
        pass
    return None


def _dependencies(manifest: Path) -> list[str]:
    root = ElementTree.parse(manifest).getroot()
    return [(element.text or "").strip() for tag in _DEPENDENCY_TAGS for element in root.iter(tag)]


def _installed_folders(cmake_lists: Path) -> list[str]:
    """Return the folders that a CMakeLists.txt from our template installs."""
    match = re.search(r"DIRECTORY (.*)", cmake_lists.read_text(encoding="utf-8"))
    return match[1].split() if match else []


def _installed_files(cmake_lists: Path) -> list[str]:
    return re.findall(r"FILES (\S+)", cmake_lists.read_text(encoding="utf-8"))


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
    additions: Sequence[Addition] = (),
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
        progress: As for ``collision.shapes.with_collision``; of an addition: called with the
            number of postures tested and their total number.
        additions: Further parts, for other programs.

    Raises:
        ValueError: The name is not a valid package name, or an addition cannot be made.
        OSError: The folder cannot be written; FileExistsError if an existing file must not be
            replaced.
        MissingLibraryError: The collision shapes cannot be made.
        ModelError: Diagnostics are strict and there were warnings.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    options = UrdfOptions() if options is None else options
    name = package_name(body.name) if name is None else name
    check_package_name(name)
    options = _in_package(options, name)
    command = command_line_options(options, collision, glb_up)
    command += [word for addition in additions for word in addition.words]
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
        robot = PackagedRobot(name, conversion, options, diagnostics, progress)
        makers = (*_PARTS, *(addition.make for addition in additions))
        _write_texts(staged, robot, makers, command)
        new = digests(staged)
        previous.drop_unchanged(staged, name, diagnostics)
        diagnostics.raise_errors()
    write_manifest(folder, name, command, new)
    removed = previous.remove_obsolete(new)
    urdf, srdf = folder / robot.urdf, folder / robot.srdf
    return Package(folder, name, urdf, srdf, conversion.body, removed)


def _in_package(options: UrdfOptions, name: str) -> UrdfOptions:
    """Return options with the paths of a package."""
    # The launch file substitutes the path, as xacro would.
    controllers_file = f"$(find {name})/config/controllers.yaml"
    meshes = None if options.mujoco_meshes is None else "../meshes"
    return replace(options, controllers=controllers_file, mujoco_meshes=meshes)


def _write_texts(
    folder: Path, robot: PackagedRobot, makers: Iterable[PartMaker], command: Sequence[str]
) -> None:
    """Write all text files of a package whose meshes are written."""
    parts = [make(robot) for make in makers]
    files = {path: text for part in parts for path, text in part.texts.items()}
    files.update(package_texts(robot, parts, command, {*files, *digests(folder)}))
    for path, text in files.items():
        write_atomically(folder / path, text.encode())


def _remove_unused_meshes(meshes: Path, urdf: str) -> None:
    """Remove the mesh files that a URDF does not reference, and their folder if it is empty."""
    uris = (mesh.get("filename", "") for mesh in ElementTree.fromstring(urdf).iter("mesh"))
    named = {uri.rpartition("/")[2] for uri in uris}
    for path in meshes.iterdir():
        if path.name not in named:
            path.unlink()
    if not any(meshes.iterdir()):
        meshes.rmdir()
