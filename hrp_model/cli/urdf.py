"""``hrp-model urdf``: convert a model to URDF, with meshes, SRDF, controllers or a package."""

from __future__ import annotations

import argparse
import os
import shlex
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

from ..body import Body
from ..collision.masses import with_estimated_masses
from ..collision.shapes import CollisionShapes
from ..diagnostics import Diagnostic, Diagnostics, MissingLibraryError, ModelError, counted
from ..files.package_search import MANIFEST, enclosing_package, package_name
from ..files.writer import is_special, staged_folder, write_all_atomically
from ..kinematics.actuation import controlled_joints
from ..program.command import GOOD, PROBLEMS, UsageError
from ..program.console import print_data, print_note, print_text, progress_bar, working
from ..program.outputs import check_outputs, report_written, writing
from ..program.report import load_and_report, print_diagnostics
from ..program.tables import output_console
from ..urdf import (
    LOOPS_FILE,
    Addition,
    Conversion,
    Package,
    UpAxis,
    UrdfOptions,
    body_to_srdf,
    controllers_yaml,
    convert,
    write_package,
)
from .check import NamedModels, usage_errors
from .check_settings import SettingsFinder
from .urdf_options import (
    additions,
    check_options,
    check_several_models,
    controllers_file,
    loops_file,
    mesh_folder,
    outputs,
    urdf_options,
)

_DECOMPOSING = "decomposing meshes into convex parts"
_TESTING = "testing postures for collisions"


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


def report_next_for_package(package: Package, added: Sequence[Addition]) -> None:
    """Report the commands that build a package and start what was added, or show its robot."""
    build = f"colcon build --packages-select {package.name} && source install/setup.bash"
    files = [PurePosixPath(x.launch).name for x in added] or ["display.launch.py"]
    launch = f"ros2 launch {package.name} {' or '.join(files)}"
    print_note(f"next, in the root of its workspace: {build} && {launch}")


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit status."""
    check_options(options)
    if len(options.files) > 1 or os.path.isdir(options.files[0]):
        return _verify_all(options)
    return _convert_one(argparse.Namespace(**vars(options), file=options.files[0], several=False))


def _verify_all(options: argparse.Namespace) -> int:
    """Verify the URDFs of several models, with one summary."""
    check_several_models(options)
    outcomes = Counter[str]()
    with usage_errors():
        models = NamedModels(options.files, SettingsFinder())
        for _, model in models:
            one = argparse.Namespace(**vars(options), file=model.name, several=True)
            try:
                status = _convert_one(one)
                outcomes["passed" if status == GOOD else "failed"] += 1
            except ModelError:  # its errors were printed
                outcomes["not converted"] += 1
                print_text(f"{model.name}: not converted")
    listed = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    skipped = models.skipped()
    summary = f"{counted(outcomes.total(), 'model')}: {listed or 'nothing to verify'}"
    print_text(f"{summary}; {skipped}" if skipped else summary)
    return PROBLEMS if outcomes["failed"] or outcomes["not converted"] else GOOD


def _convert_one(options: argparse.Namespace) -> int:
    body, reported = load_and_report(options.file, strict=options.strict)
    if options.estimate_masses is not None:
        estimates = Diagnostics.silent()
        body = with_estimated_masses(body, options.estimate_masses, estimates)
        print_diagnostics(options.file, estimates.found, every=True)
    # Again, as the files that were read are known now.
    has_loops = bool(body.extra_joints)
    check_outputs(outputs(options, with_loops=has_loops), force=options.force)
    diagnostics = Diagnostics.silent(strict=options.strict)
    try:
        with _reporting(options.file, diagnostics, reported):
            if options.package is not None:
                return _package(body, options, diagnostics)
            if options.verify and options.output is None:
                with tempfile.TemporaryDirectory(prefix="hrp-model-") as folder:
                    temporary = {**vars(options), "output": Path(folder) / "robot.urdf"}
                    return _write_files(body, argparse.Namespace(**temporary), diagnostics)
            status = _write_files(body, options, diagnostics, report=True)
            if status == GOOD:
                report_next_for_urdf(options.output)
            return status
    except MissingLibraryError as error:
        raise UsageError(str(error)) from None


@contextmanager
def _reporting(name: str, diagnostics: Diagnostics, reported: list[Diagnostic]) -> Iterator[None]:
    """Print new diagnostics at the end of a block."""
    try:
        yield
    finally:
        print_diagnostics(name, _summarized([d for d in diagnostics.found if d not in reported]))


def _summarized(found: list[Diagnostic]) -> list[Diagnostic]:
    """Return diagnostics with one for all shapes without mesh files."""
    left_out = [d for d in found if d.code == "shape-without-mesh"]
    if len(left_out) < 2:
        return found
    message = f"{len(left_out)} links have shapes that need a mesh file; left out"
    summary = Diagnostic(left_out[0].severity, left_out[0].code, message)
    return [d for d in found if d not in left_out] + [summary]


def _write_files(
    body: Body,
    options: argparse.Namespace,
    diagnostics: Diagnostics,
    *,
    report: bool = False,
) -> int:
    """Write the URDF and its accompanying files, all or none."""
    output: Path | None = options.output
    selected = urdf_options(options)
    folder = mesh_folder(options)
    previous = _referenced_meshes(output)
    if folder is None:
        conversion = _convert(body, None, None, options, selected, diagnostics)
        with writing():
            texts = _texts(conversion, options, selected, diagnostics)
            write_all_atomically(texts)
    else:
        uri = folder.resolve().as_uri()
        if options.mesh_uri == "package":
            uri = _package_uri(folder.resolve())
        with writing(), staged_folder(folder) as staged:
            conversion = _convert(body, staged, uri, options, selected, diagnostics)
            texts = _texts(conversion, options, selected, diagnostics)
            write_all_atomically(texts)
        _report_unused_meshes(previous - _mesh_names(conversion.urdf), folder)
    if report:
        report_files(texts, 0 if folder is None else len(_mesh_names(conversion.urdf)), folder)
    if output is None:
        print_data(f"{conversion.urdf}\n")
    elif options.verify:
        return _verify(conversion.body, output, options, selected, options.srdf)
    return GOOD


def _convert(
    body: Body,
    folder: Path | None,
    uri: str | None,
    options: argparse.Namespace,
    selected: UrdfOptions,
    diagnostics: Diagnostics,
) -> Conversion:
    with progress_bar(_DECOMPOSING) as report_progress:
        return convert(
            body,
            folder,
            mesh_uri=uri,
            final_folder=mesh_folder(options),
            glb_up=UpAxis(options.glb_up),
            collision=CollisionShapes(options.collision),
            options=selected,
            diagnostics=diagnostics,
            progress=report_progress,
        )


def _texts(
    conversion: Conversion,
    options: argparse.Namespace,
    selected: UrdfOptions,
    diagnostics: Diagnostics,
) -> dict[Path, bytes]:
    """Return the files to write besides meshes, by path.

    Raises:
        ModelError: There are errors, or with --strict warnings.
    """
    texts: dict[Path, str] = {}
    body, frames = conversion.body, conversion.frames
    if options.output is not None:
        texts[options.output] = conversion.urdf
    loops = loops_file(options)
    if conversion.loops is not None and loops is not None:
        texts[loops] = conversion.loops
    elif conversion.loops is not None:
        message = (
            f"constraints close loops, which URDF cannot represent; -o writes them to {LOOPS_FILE}"
        )
        diagnostics.warn("open-loops", message, body.root.at)
    if options.srdf is not None:
        texts[options.srdf] = body_to_srdf(body, frames, diagnostics)
    controllers = controllers_file(options)
    if controllers is not None and controlled_joints(body):
        text = controllers_yaml(body, frames, selected)
        if options.controllers is not None or not _differs(controllers, text):
            texts[controllers] = text
        else:  # it may have tuned gains
            message = f"{controllers} was edited by hand and is kept; use --controllers OUT"
            diagnostics.warn("kept-file", f"{message} to write another file or to replace this one")
    diagnostics.raise_errors()
    return {path: _content(text) for path, text in texts.items()}


def _content(text: str) -> bytes:
    return f"{text.rstrip()}\n".encode()


def _differs(path: Path, text: str) -> bool:
    """Return whether a file exists and has another text."""
    return path.is_file() and path.read_bytes() != _content(text)


def _referenced_meshes(urdf: Path | None) -> set[str]:
    """Return the names of the mesh files of an existing URDF, if it can be read."""
    if urdf is None or is_special(urdf):
        return set()
    try:
        return _mesh_names(urdf.read_text(encoding="utf-8"))
    except (OSError, ValueError, ElementTree.ParseError):
        return set()


def _mesh_names(urdf: str) -> set[str]:
    meshes = ElementTree.fromstring(urdf.encode()).iter("mesh")
    return {mesh.get("filename", "").rpartition("/")[2] for mesh in meshes}


def _report_unused_meshes(names: set[str], folder: Path) -> None:
    """Report mesh files of the previous URDF; they are kept, as other URDFs may need them."""
    count = sum((folder / name).is_file() for name in names if name)
    if count:
        verb = "is" if count == 1 else "are"
        print_note(
            f"{folder}: {counted(count, 'mesh file')} of the previous URDF {verb} no longer used"
        )


def _package(body: Body, options: argparse.Namespace, diagnostics: Diagnostics) -> int:
    """Write a description package."""
    selected, added = urdf_options(options), additions(options)
    title = _DECOMPOSING if options.collision == CollisionShapes.DECOMPOSED.value else _TESTING
    try:
        with writing(), progress_bar(title) as report_progress:
            package = write_package(
                body,
                options.package,
                name=Path(os.path.abspath(options.package)).name,
                options=selected,
                collision=CollisionShapes(options.collision),
                glb_up=UpAxis(options.glb_up),
                diagnostics=diagnostics,
                progress=report_progress,
                additions=added,
            )
    except ModelError:
        raise
    except ValueError as error:  # an invalid name, or an addition that cannot be made
        raise UsageError(f"--package {options.package}: {error}") from None
    report_package(package)
    status = GOOD
    if options.verify:
        status = _verify(package.body, package.urdf, options, selected, package.srdf)
    if status == GOOD:
        report_next_for_package(package, added)
    return status


def _verify(
    body: Body,
    urdf: Path,
    options: argparse.Namespace,
    selected: UrdfOptions,
    srdf: Path | None,
) -> int:
    """Compare a URDF, with an SRDF, with the body and print the report; return the status."""
    from ..verify import verify  # late: its libraries take long to import
    from ..verify.report import report_table

    with working("comparing the URDF with the model"):
        report = verify(body, urdf, selected, srdf=srdf, glb_up=UpAxis(options.glb_up))
    if options.several:
        lines = [f"{options.file}: {report.verdict}", *(f"  {row}" for row in report.failures)]
        print_text("\n".join(lines))
    else:
        output_console().print(report_table(report))
    return GOOD if report.passed else PROBLEMS


def _package_uri(folder: Path) -> str:
    """Return the package:// URI of a folder in the source of a ROS package."""
    if (package := enclosing_package(folder)) is None:
        raise UsageError(f"no package.xml in or above {folder}; use --mesh-uri file")
    try:
        name = package_name(package / MANIFEST)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {package / MANIFEST}: {error}") from None
    inside = folder.relative_to(package).as_posix()
    return f"package://{name}" + ("" if inside == "." else f"/{inside}")
