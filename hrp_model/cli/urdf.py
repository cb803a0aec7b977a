"""``hrp-model urdf``: a model as URDF, with everything that belongs to it."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

from ..body import Body
from ..collision.shapes import CollisionShapes
from ..diagnostics import Diagnostic, Diagnostics, MissingLibraryError, ModelError, counted
from ..files.package_search import MANIFEST, enclosing_package, package_name
from ..files.writer import is_special, staged_folder, write_all_atomically
from ..kinematics.actuation import controlled_joints
from ..program.console import output_console, print_data, print_note, print_text
from ..program.outputs import check_outputs, writing
from ..program.report import print_diagnostics
from ..urdf.convert import LOOPS_FILE, Conversion, convert
from ..urdf.meshes.glb import UpAxis
from ..urdf.options import UrdfOptions
from ..urdf.package.controllers import controllers_yaml
from ..urdf.package.package import write_package
from ..urdf.srdf.srdf import body_to_srdf
from .check import usage_errors
from .checking.named_models import NamedModels
from .checking.settings import SettingsFinder
from .common import GOOD, PROBLEMS, UsageError, load_and_report
from .progress import progress
from .urdf_options import (
    EPILOG,
    add_arguments,
    controllers_file,
    loops_file,
    mesh_folder,
    outputs,
    refuse_contradictions,
    refuse_outputs_of_many,
    urdf_options,
)
from .urdf_summary import (
    report_files,
    report_next_for_package,
    report_next_for_urdf,
    report_package,
)

__all__ = ["EPILOG", "add_arguments", "run"]

_SPLITTING = "splitting meshes into convex parts"


def run(options: argparse.Namespace) -> int:
    """Convert; return the exit status."""
    refuse_contradictions(options)
    if len(options.files) > 1 or os.path.isdir(options.files[0]):
        return _verify_all(options)
    return _convert_one(argparse.Namespace(**vars(options), file=options.files[0], in_turn=False))


def _verify_all(options: argparse.Namespace) -> int:
    """Verify the URDFs of several models in turn, with one summary at the end."""
    refuse_outputs_of_many(options)
    outcomes = Counter[str]()
    with usage_errors():
        models = NamedModels(options.files, SettingsFinder())
        for _, model in models:
            one = argparse.Namespace(**vars(options), file=model.name, in_turn=True)
            try:
                status = _convert_one(one)
                outcomes["passed" if status == GOOD else "failed"] += 1
            except ModelError:  # its errors have been printed
                outcomes["not converted"] += 1
                print_text(f"{model.name}: not converted")
    listed = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    skipped = models.skipped()
    summary = f"{counted(outcomes.total(), 'model')}: {listed or 'nothing to verify'}"
    print_text(f"{summary}; {skipped}" if skipped else summary)
    return PROBLEMS if outcomes["failed"] or outcomes["not converted"] else GOOD


def _convert_one(options: argparse.Namespace) -> int:
    body, reported = load_and_report(options.file, strict=options.strict)
    # Once more, for now it is known what was read.
    has_loops = bool(body.extra_joints)
    check_outputs(outputs(options, with_loops=has_loops), force=options.force)
    diagnostics = Diagnostics(strict=options.strict, listener=lambda _: None)
    try:
        with _told(options.file, diagnostics, reported):
            if options.package is not None:
                return _package(body, options, diagnostics)
            if options.verify and options.output is None:
                with tempfile.TemporaryDirectory(prefix="hrp-model-") as folder:
                    there = {**vars(options), "output": Path(folder) / "robot.urdf"}
                    return _files(body, argparse.Namespace(**there), diagnostics)
            status = _files(body, options, diagnostics, is_reported=True)
            if status == GOOD:
                report_next_for_urdf(options.output)
            return status
    except MissingLibraryError as error:
        raise UsageError(str(error)) from None


@contextmanager
def _told(name: str, diagnostics: Diagnostics, reported: list[Diagnostic]) -> Iterator[None]:
    """Print in the end what was found anew."""
    try:
        yield
    finally:
        print_diagnostics(name, _summed([d for d in diagnostics.found if d not in reported]))


def _summed(found: list[Diagnostic]) -> list[Diagnostic]:
    """Tell in one sentence that no meshes are written, however many links that is about."""
    left_out = [d for d in found if d.code == "shape-without-mesh"]
    if len(left_out) < 2:
        return found
    message = f"{len(left_out)} links have shapes that need a mesh file: left out"
    summary = Diagnostic(left_out[0].severity, left_out[0].code, message)
    return [d for d in found if d not in left_out] + [summary]


def _files(
    body: Body,
    options: argparse.Namespace,
    diagnostics: Diagnostics,
    *,
    is_reported: bool = False,
) -> int:
    """Write the URDF and what lies beside it, all or nothing; report it if asked to."""
    output: Path | None = options.output
    wanted = urdf_options(options)
    folder = mesh_folder(options)
    former = _named_meshes(output)
    if folder is None:
        conversion = _convert(body, None, None, options, wanted, diagnostics)
        with writing():
            texts = _texts(conversion, options, wanted, diagnostics)
            write_all_atomically(texts)
    else:
        uri = folder.resolve().as_uri()
        if options.mesh_uri == "package":
            uri = _package_uri(folder.resolve())
        with writing(), staged_folder(folder) as staged:
            conversion = _convert(body, staged, uri, options, wanted, diagnostics)
            texts = _texts(conversion, options, wanted, diagnostics)
            write_all_atomically(texts)
        _tell_of_leftovers(former - _mesh_names(conversion.urdf), folder)
    if is_reported:
        report_files(texts, 0 if folder is None else len(_mesh_names(conversion.urdf)), folder)
    if output is None:
        print_data(f"{conversion.urdf}\n")
    elif options.verify:
        return _verify(conversion.body, output, options, wanted, options.srdf)
    return GOOD


def _convert(
    body: Body,
    folder: Path | None,
    uri: str | None,
    options: argparse.Namespace,
    wanted: UrdfOptions,
    diagnostics: Diagnostics,
) -> Conversion:
    with progress(_SPLITTING) as tell_progress:
        return convert(
            body,
            folder,
            mesh_uri=uri,
            final_folder=mesh_folder(options),
            glb_up=UpAxis(options.glb_up),
            collision=CollisionShapes(options.collision),
            options=wanted,
            diagnostics=diagnostics,
            progress=tell_progress,
        )


def _texts(
    conversion: Conversion,
    options: argparse.Namespace,
    wanted: UrdfOptions,
    diagnostics: Diagnostics,
) -> dict[Path, bytes]:
    """Return the files to write besides meshes, by their paths.

    Raises:
        ModelError: There are errors; with --strict each warning is one.
    """
    texts: dict[Path, str] = {}
    body, frames = conversion.body, conversion.frames
    if options.output is not None:
        texts[options.output] = conversion.urdf
    loops = loops_file(options)
    if conversion.loops is not None and loops is not None:
        texts[loops] = conversion.loops
    elif conversion.loops is not None:
        message = f"constraints close loops, which URDF cannot say: -o puts them in {LOOPS_FILE}"
        diagnostics.warn("open-loops", message, body.root.at)
    if options.srdf is not None:
        texts[options.srdf] = body_to_srdf(body, frames, diagnostics)
    controllers = controllers_file(options)
    if controllers is not None and controlled_joints(body):
        text = controllers_yaml(body, frames, wanted)
        if options.controllers is not None or not _differs(controllers, text):
            texts[controllers] = text
        else:  # gains in it may have been tuned with much work
            message = f"{controllers} is not what would be written, and is kept; --controllers OUT"
            diagnostics.warn("kept-file", f"{message} names another, or the same to replace it")
    diagnostics.raise_errors()
    return {path: _content(text) for path, text in texts.items()}


def _content(text: str) -> bytes:
    return f"{text.rstrip()}\n".encode()


def _differs(path: Path, text: str) -> bool:
    """Tell whether there is a file with another text."""
    return path.is_file() and path.read_bytes() != _content(text)


def _named_meshes(urdf: Path | None) -> set[str]:
    """Return the files that a former URDF takes its meshes from, if it can be read."""
    if urdf is None or is_special(urdf):
        return set()
    try:
        return _mesh_names(urdf.read_text(encoding="utf-8"))
    except (OSError, ValueError, ElementTree.ParseError):
        return set()


def _mesh_names(urdf: str) -> set[str]:
    meshes = ElementTree.fromstring(urdf.encode()).iter("mesh")
    return {mesh.get("filename", "").rpartition("/")[2] for mesh in meshes}


def _tell_of_leftovers(names: set[str], folder: Path) -> None:
    """Tell of meshes that are there for a former URDF; another one may still need them."""
    count = sum((folder / name).is_file() for name in names if name)
    if count:
        has = "is" if count == 1 else "are"
        print_note(
            f"{folder}: {counted(count, 'mesh file')} of the former URDF {has} not used any more"
        )


def _package(body: Body, options: argparse.Namespace, diagnostics: Diagnostics) -> int:
    """Write a description package."""
    wanted = urdf_options(options)
    try:
        with writing(), progress(_SPLITTING) as tell_progress:
            package = write_package(
                body,
                options.package,
                name=Path(os.path.abspath(options.package)).name,
                options=wanted,
                collision=CollisionShapes(options.collision),
                glb_up=UpAxis(options.glb_up),
                diagnostics=diagnostics,
                progress=tell_progress,
            )
    except ModelError:
        raise
    except ValueError as error:  # ROS has no packages of this name
        raise UsageError(f"--package {options.package}: {error}") from None
    report_package(package)
    status = GOOD
    if options.verify:
        status = _verify(package.body, package.urdf, options, wanted, package.srdf)
    if status == GOOD:
        report_next_for_package(package)
    return status


def _verify(
    body: Body,
    urdf: Path,
    options: argparse.Namespace,
    wanted: UrdfOptions,
    srdf: Path | None,
) -> int:
    """Print how far the URDF, with an SRDF, is from the body; return the exit status."""
    from ..verify import verify  # its independent readers take long to load

    found = verify(body, urdf, wanted, srdf=srdf, glb_up=UpAxis(options.glb_up))
    if options.in_turn:
        lines = [f"{options.file}: {found.verdict}", *(f"  {row}" for row in found.failures)]
        print_text("\n".join(lines))
        return GOOD if found.passed else PROBLEMS
    output_console().print(found.table())
    return GOOD if found.passed else PROBLEMS


def _package_uri(folder: Path) -> str:
    """Return the package:// URI of a folder that lies in a ROS package's source."""
    if (package := enclosing_package(folder)) is None:
        raise UsageError(f"no package.xml in or above {folder}; use --mesh-uri file")
    try:
        name = package_name(package / MANIFEST)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {package / MANIFEST}: {error}") from None
    inside = folder.relative_to(package).as_posix()
    return f"package://{name}" + ("" if inside == "." else f"/{inside}")
