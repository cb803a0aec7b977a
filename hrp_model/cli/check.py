"""``hrp-model check`` of any number of files and folders, with one summary."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TypeAlias

from ..diagnostics import Diagnostics, MissingLibraryError, Severity, counted
from ..files.writer import check_writable, write_atomically
from ..program import report
from ..program.console import print_data, print_note, print_text, working
from ..program.outputs import writing
from ..program.report import print_diagnostics
from .checking.models import NamedModels, TooManyFilesError
from .checking.settings import SettingsError, SettingsFinder
from .checking.verdicts import Baseline, BaselineError, Judge, Summary, read_baseline
from .common import CHECK_ALL, GOOD, PROBLEMS, ProgressBar, UsageError

# Reads a model of this name for its problems.
Check: TypeAlias = Callable[[str, Diagnostics], None]


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options about the settings of a project."""
    command.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="read the settings from this TOML file, instead of the nearest .hrp-model.toml or "
        "pyproject.toml in or above the folder of a model; these are not read with --sandbox",
    )
    command.add_argument(
        "--write-baseline",
        type=Path,
        metavar="FILE",
        help="write the current warnings and notes to FILE; with the setting 'baseline', only new "
        "ones are reported",
    )


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
    except (TooManyFilesError, MissingLibraryError) as error:
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
