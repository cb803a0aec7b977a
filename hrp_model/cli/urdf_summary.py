"""What ``hrp-model urdf`` reports after it has written files."""

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
    """Report the files that were written; nothing of pipes and terminals.

    Args:
        paths: All of them but meshes.
        meshes: The number of mesh files.
        mesh_folder: Where those are.
    """
    more = [f"{counted(meshes, 'mesh file')} in {mesh_folder}"] if meshes else []
    report_written(paths, more)


def report_next_for_urdf(urdf: Path | None) -> None:
    """Report what can be done with a URDF file; nothing if it is no file."""
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
    """Report the package that was written, and the files of an earlier one that were removed."""
    meshes = [path for path in package.removed if path.startswith("meshes/")]
    parts = [path for path in package.removed if path not in meshes]
    if meshes:
        parts.append(counted(len(meshes), "mesh file"))
    if parts:
        print_note(f"removed from {package.folder}: {', '.join(parts)}")
    print_note(f"wrote package {package.name} in {package.folder}")


def report_next_for_package(package: Package) -> None:
    """Report how a package is built and its robot shown."""
    build = f"colcon build --packages-select {package.name} && source install/setup.bash"
    launch = f"ros2 launch {package.name} display.launch.py"
    print_note(f"next, in the root of its workspace: {build} && {launch}")
