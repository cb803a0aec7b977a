"""Messages of ``hrp-model urdf`` about written files."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

from ..diagnostics import counted
from ..files.writer import is_special
from ..program.console import print_note
from ..program.outputs import report_written
from ..urdf import Package


def report_files(paths: Iterable[Path], meshes: int, mesh_folder: Path | None) -> None:
    """Report the written files, without pipes and terminals.

    Args:
        paths: All files except meshes.
        meshes: Number of mesh files.
        mesh_folder: Folder of the mesh files.
    """
    more = [f"{counted(meshes, 'mesh file')} in {mesh_folder}"] if meshes else []
    report_written(paths, more)


def report_next_for_urdf(urdf: Path | None) -> None:
    """Report the commands that use a URDF file, if it is a regular file."""
    if urdf is None or is_special(urdf):
        return
    if urdf.suffix.lower() != ".urdf":
        print_note(
            f"note: {urdf} does not end in .urdf, so hrp-model check and model_node cannot read it"
        )
        return
    launch = f"ros2 launch hrp_ros display.launch.py {shlex.quote(f'model:={urdf}')}"
    print_note(f"next: hrp-model check {shlex.quote(str(urdf))}; with ROS 2: {launch}")


def report_package(package: Package) -> None:
    """Report the written package, and the removed files of a previous one."""
    meshes = [path for path in package.removed if path.startswith("meshes/")]
    parts = [path for path in package.removed if path not in meshes]
    if meshes:
        parts.append(counted(len(meshes), "mesh file"))
    if parts:
        print_note(f"removed from {package.folder}: {', '.join(parts)}")
    print_note(f"wrote package {package.name} in {package.folder}")


def report_next_for_package(package: Package) -> None:
    """Report the commands that build a package and show its robot."""
    build = f"colcon build --packages-select {package.name} && source install/setup.bash"
    launch = f"ros2 launch {package.name} display.launch.py"
    print_note(f"next, in the root of its workspace: {build} && {launch}")
