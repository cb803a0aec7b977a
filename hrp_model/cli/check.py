"""``hrp-model check`` of any number of files and folders, with one summary.

Other packages register a function in the entry point group ``hrp_model.checkers``, under the name
of a top-level key of a YAML file. It takes the path or URI of the file and ``Diagnostics``.
"""

from __future__ import annotations

import argparse
import json
import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ..diagnostics import (
    Diagnostic,
    Diagnostics,
    MissingLibraryError,
    ModelError,
    Severity,
    counted,
)
from ..files.model_file import format_suffix
from ..files.resources import ResourceError, path_from_uri
from ..files.writer import check_writable, write_atomically
from ..load import load_body
from ..program import report
from ..program.command import GOOD, PROBLEMS, UsageError
from ..program.console import ProgressBar, print_data, print_note, print_text, working
from ..program.outputs import writing
from ..program.parsing import MODEL, PrintText
from ..program.report import CHECK_ALL, print_diagnostics
from ..read_context import read_source
from ..readers.file_kind import FILE_SUFFIXES, FileKind, file_kind, is_world
from ..readers.yaml.nodes import Mapping
from ..readers.yaml.tree import parse
from .check_settings import SettingsError, SettingsFinder
from .check_verdicts import Baseline, BaselineError, Judge, Summary, read_baseline

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_MAX_ENTRIES = 200_000
GROUP = "hrp_model.checkers"
# Reads a file of this name for its problems.
Check: TypeAlias = Callable[[str, Diagnostics], None]


def candidate_files(folder: Path, is_excluded: Callable[[Path], bool]) -> list[Path]:
    """Return the files below a folder that have the suffix of a model, sorted by folder and name.

    Hidden files and folders are left out, and links to folders are not followed.

    Args:
        folder: Where to search.
        is_excluded: Returns whether a file or folder is left out.

    Raises:
        OSError: A folder cannot be read.
        UsageError: There are more than 200,000 files and folders.
    """
    files = []
    pending = [folder]
    seen = 0
    while pending:
        current = pending.pop()
        with os.scandir(current) as scan:
            first = islice(scan, _MAX_ENTRIES + 1)
            entries = sorted(first, key=lambda entry: entry.name)
        seen += len(entries)
        if seen > _MAX_ENTRIES:
            limit = f"more than {_MAX_ENTRIES} files and folders"
            raise UsageError(f"{folder} has {limit}: choose a smaller folder")
        folders = []
        for entry in entries:
            path = current / entry.name
            if entry.name.startswith(".") or is_excluded(path):
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(path)
            elif format_suffix(path) in FILE_SUFFIXES and path.is_file():
                files.append(path)
        pending += reversed(folders)
    return files


class NamedModel(NamedTuple):
    """A model to read.

    Attributes:
        name: The file as given by the user, or its path below a given folder.
        path: The file.
    """

    name: str
    path: Path


class NamedModels:
    """The models of files and folders: all below a folder, sorted by folder and name.

    A file that is given itself counts as a model, even if it is excluded or not a model.

    Args:
        names: Paths, or ``file://`` or ``package://`` URIs of files.
        settings: Settings with excluded files.

    Attributes:
        has_folders: Whether a folder was given.
        worlds: Number of world files in the folders.
        others: Number of other files there with the suffix of a model. Both are complete after
            an iteration.

    Raises:
        OSError: A folder cannot be read.
        UsageError: A folder has too many files.
    """

    def __init__(self, names: Sequence[str], settings: SettingsFinder) -> None:
        self.has_folders = False
        self.worlds = self.others = 0
        self._named: dict[NamedModel, bool] = {}  # and whether the file itself was given
        for name in names:
            path = _path(name)
            # An empty name, as of an unset shell variable, is not the current folder.
            if not name or not os.path.isdir(path):
                self._named[NamedModel(name, path)] = True
                continue
            self.has_folders = True
            for file in candidate_files(path, settings.is_excluded):
                self._named.setdefault(NamedModel(os.fspath(file), file), False)

    def skipped(self) -> str:
        """Return how many files of folders were skipped, or an empty string."""
        counts = ((self.worlds, "world"), (self.others, "other file"))
        parts = [counted(number, noun) for number, noun in counts if number]
        return f"skipped {' and '.join(parts)}" if parts else ""

    def __len__(self) -> int:
        """Return the number of files to examine."""
        return len(self._named)

    def __iter__(self) -> Iterator[tuple[int, NamedModel]]:
        """Yield the models, each with the number of files examined before."""
        for done, (model, is_named) in enumerate(self._named.items()):
            kind = FileKind.MODEL if is_named else file_kind(model.path)
            if kind is FileKind.MODEL:
                yield done, model
            elif kind is FileKind.WORLD:
                self.worlds += 1
            else:
                self.others += 1


def _path(name: str) -> Path:
    try:
        return path_from_uri(name)
    except ResourceError:
        return Path(name)  # its reader reports it


def checker_of(name: str, *, sandbox: bool) -> Check | None:
    """Return the check for a YAML file that is not a model, or None without one.

    Args:
        name: Path or URI of the file, as given by the user.
        sandbox: Whether nothing outside its folder may be read; then a world is not checked,
            and the command that checks it is reported.
    """
    quiet = Diagnostics.silent()
    try:
        path = Path(os.path.realpath(path_from_uri(name)))
        root = parse(read_source(path, name), quiet)
    except (OSError, ResourceError):
        return None
    if not isinstance(root, Mapping):
        return None
    from importlib.metadata import entry_points  # not for models

    for entry_point in () if sandbox else entry_points(group=GROUP):
        if entry_point.name in root:
            return partial(_check_with, entry_point)
    return _refuse_world if is_world(root) else None


def _check_with(entry_point: EntryPoint, name: str, diagnostics: Diagnostics) -> None:
    """Load and run a check; errors of the import are errors of this check only."""
    check: Check = entry_point.load()
    check(name, diagnostics)


def _refuse_world(name: str, diagnostics: Diagnostics) -> None:
    message = f"this is a world, not a model; check it with 'hrp-sim check {name}'"
    diagnostics.error("not-a-model", message)


def add_check(check: argparse.ArgumentParser) -> None:
    """Add the options of ``hrp-model check``."""
    check.epilog = (
        "Problems are printed to standard error, and a line for each model to standard output; "
        "for a folder, only models with problems have one. The exit status is 1 if there "
        "are errors, or warnings with --strict. Settings and baseline: docs/checking.md."
    )
    check.add_argument("files", nargs="+", metavar="FILE", help=f"{MODEL}, or a folder of models")
    check.add_argument("--strict", action="store_true", help="treat warnings as errors")
    check.add_argument(
        "--all", action="store_true", help="show all problems of a code, not only the first few"
    )
    check.add_argument(
        "--format",
        choices=("text", "json", "sarif"),
        default="text",
        help="text (default), or json or sarif for programs, with all problems",
    )
    check.add_argument(
        "--sandbox",
        action="store_true",
        help="read nothing outside the model's folder and the installed ROS packages, and use "
        "neither environment variables nor home folders",
    )
    check.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="DIR",
        help="a further folder from which files may be read; may be repeated",
    )
    check.add_argument(
        "--list-codes",
        action=PrintText,
        text=report.code_list,
        help="print all codes with meanings and hints, and exit",
    )
    check.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="read the settings from this TOML file, instead of the nearest .hrp-model.toml or "
        "pyproject.toml in or above the folder of a model; these are not read with --sandbox",
    )
    check.add_argument(
        "--write-baseline",
        type=Path,
        metavar="FILE",
        help="write the current warnings and notes to FILE; with the setting 'baseline', only new "
        "ones are reported",
    )


def check(options: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    for folder in options.allow:
        if not os.path.isdir(folder):
            raise UsageError(f"--allow {folder}: the folder does not exist")
    return check_models(options, lambda name, found: _check_one(name, found, options))


def _check_one(name: str, diagnostics: Diagnostics, options: argparse.Namespace) -> None:
    """Check a model, or another kind of file with its registered check."""
    found = _problems(
        name,
        lambda diagnostics: load_body(
            name, diagnostics, sandbox=options.sandbox, resource_folders=options.allow
        ),
    )
    if any(diagnostic.code == "not-a-model" for diagnostic in found):
        further = checker_of(name, sandbox=options.sandbox)
        if further is not None:
            found = _problems(name, partial(further, name))
    for diagnostic in found:
        diagnostics.add(diagnostic)


def _problems(name: str, check: Callable[[Diagnostics], object]) -> list[Diagnostic]:
    """Return the problems that a check reports, including exceptions."""
    diagnostics = Diagnostics.silent()
    try:
        check(diagnostics)
    except ModelError:
        pass  # every problem is among the diagnostics
    except MissingLibraryError as error:
        diagnostics.error("missing-library", f"'{name}' cannot be checked: {error}")
    except Exception as error:
        *_, last = traceback.extract_tb(error.__traceback__)
        place = f"{Path(last.filename).name}:{last.lineno}"
        message = f"'{name}' cannot be read: {type(error).__name__} in {place}: {error}"
        diagnostics.error("internal-error", message)
    return diagnostics.found


def check_models(options: argparse.Namespace, check: Check) -> int:
    """Check models, print their problems and a summary, and return the exit status.

    Raises:
        UsageError: A folder, a file of settings or a baseline cannot be read or written.
    """
    written = _new_baseline(options.write_baseline)
    with usage_errors():
        settings = SettingsFinder(options.config, is_searching=not options.sandbox)
        models = NamedModels(options.files, settings)
        judge = Judge(settings, strict=options.strict, written=written)
        _report(_checked(models, judge, check), models, judge.summary, options)
    errors = judge.summary.problems[Severity.ERROR]
    if written is not None:
        with writing():
            write_atomically(options.write_baseline, written.text().encode())
        count = counted(written.total, "problem")
        print_note(
            f"wrote {options.write_baseline} with {count}; to ignore them, set 'baseline' in "
            ".hrp-model.toml or pyproject.toml to this file"
        )
        if errors:
            message = f"{counted(errors, 'error')} cannot be in a baseline"
            print_note(f"{message}; fix them, or exclude invalid models in the settings")
    return PROBLEMS if errors else GOOD


@contextmanager
def usage_errors() -> Iterator[None]:
    """Convert errors of files, folders and settings to usage errors of the command.

    Raises:
        UsageError: One of them is invalid; located problems have been printed.
    """
    try:
        yield
    except SettingsError as error:
        print_diagnostics("settings", error.diagnostics)
        raise UsageError("the settings of the project are invalid") from None
    except MissingLibraryError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        if error.filename is None:
            raise
        raise UsageError(f"cannot use '{error.filename}': {error.strerror}") from None


def _new_baseline(path: Path | None) -> Baseline | None:
    """Return an empty baseline for a new file or an existing baseline file."""
    if path is None:
        return None
    with writing():
        check_writable(path)
    if path.exists():
        try:
            read_baseline(path)
        except (OSError, BaselineError) as error:
            reason = getattr(error, "strerror", None) or error
            message = f"--write-baseline {path}: the existing file is not a baseline ({reason})"
            raise UsageError(f"{message}; choose another file") from None
    return Baseline(path)


def _checked(models: NamedModels, judge: Judge, check: Check) -> Iterator[report.Checked]:
    """Yield models with the problems that count, one after the other to limit memory."""
    bar = ProgressBar("checking models")
    try:
        for done, model in models:
            bar.update(done, len(models))
            diagnostics = Diagnostics.silent()
            with nullcontext() if models.has_folders else working(f"checking {model.name}"):
                check(model.name, diagnostics)
            found = judge.counting(model.path, report.by_place(diagnostics.found))
            if found or not models.has_folders:
                bar.hide()
                yield model.name, found
    finally:
        bar.hide()


def _report(
    checked: Iterable[report.Checked],
    models: NamedModels,
    summary: Summary,
    options: argparse.Namespace,
) -> None:
    if options.format == "json":
        problems = report.json_report(checked)
        print_data(_json({"summary": _numbers(summary, models), "problems": problems}))
    elif options.format == "sarif":
        log = report.sarif_report(checked)
        log["runs"][0]["properties"] = {"summary": _numbers(summary, models)}
        print_data(_json(log))
    else:
        for name, found in checked:
            print_diagnostics(name, found, with_notes=True, every=options.all, advice=CHECK_ALL)
            print_text(report.summary(name, found))
        if models.has_folders or summary.models > 1:
            skipped = models.skipped()
            print_text(f"{summary}; {skipped}" if skipped else str(summary))


def _numbers(summary: Summary, models: NamedModels) -> dict[str, int]:
    return {
        **summary.numbers(),
        "skipped_worlds": models.worlds,
        "skipped_files": models.others,
    }


def _json(data: object) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
