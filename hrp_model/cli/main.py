"""The command ``hrp-model``; its subcommand ``urdf`` is in ``cli.urdf``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..diagnostics import Diagnostic, Diagnostics, MissingLibraryError, ModelError
from ..frames import FrameOptions, body_frames
from ..load import load_body
from ..program import report
from ..program.body_text import body_tree
from ..program.command import GOOD, PROBLEMS, UsageError, run_program
from ..program.console import output_console, print_data, print_message
from ..program.outputs import Kind, Output, add_force, check_outputs, print_or_write
from ..program.parsing import CommandParser, PrintText, Suggestions, model_files
from ..urdf import rviz_config
from ..version import __version__
from . import check as check_command
from . import urdf as urdf_command
from . import view as view_command
from .check import checker_of
from .common import MODEL, load_and_report
from .dump import PostureError, dump_body, read_postures

if TYPE_CHECKING:
    from ..program.parsing import Commands

_SUGGESTIONS = Suggestions(
    commands={
        **dict.fromkeys(("convert", "export"), "hrp-model urdf"),
        **dict.fromkeys(("validate", "lint", "test"), "hrp-model check"),
        **dict.fromkeys(("print", "info", "list"), "hrp-model tree"),
        **dict.fromkeys(("show", "open", "browse"), "hrp-model view"),
        "verify": "hrp-model urdf --verify",
        "json": "hrp-model dump",
        **dict.fromkeys(("run", "simulate", "sim"), "hrp-sim run"),
        "sensors": "hrp-sim sensors",
        "certify": "hrp-sim certify",
        "help": "hrp-model --help",
        "version": "hrp-model --version",
    },
    options={"--output-file": "-o"},
    for_file="check",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Returns:
        0 success; 1 problems in the model; 2 usage error; 130 after Ctrl-C.
    """
    return run_program("hrp-model", lambda: _run(argv))


def _run(argv: Sequence[str] | None) -> int:
    options = _parser().parse(argv)
    try:
        status: int = options.run(options)
    except ModelError:
        return PROBLEMS  # all problems were printed when they were found
    return status


def _parser() -> CommandParser:
    parser = CommandParser(
        suggestions=_SUGGESTIONS,
        completers={"FILE": model_files},
        prog="hrp-model",
        description="Check and convert robot models: OpenHRP (.wrl), Choreonoid (.body), URDF, "
        "xacro, SDF and MJCF.",
        epilog="'hrp-model COMMAND --help' explains a command. Exit status: 0 success; 1 problems "
        "in the model; 2 usage error.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_commands(title="commands")
    _add_check(commands)

    dump = _add_command(commands, "dump", "print the model as JSON (docs/dump-schema.json)", _dump)
    dump.add_argument("file", metavar="FILE", help=MODEL)
    dump.add_argument(
        "--poses",
        type=Path,
        metavar="POSES.json",
        help='list of postures {"root_p": [..], "root_R": [[..]..], "q": {joint: value}}; adds '
        "link poses, centre of mass, mass matrix and gravity torques for each",
    )

    urdf = _add_command(
        commands, "urdf", "convert the model to URDF", urdf_command.run, urdf_command.EPILOG
    )
    urdf_command.add_arguments(urdf)

    rviz = _add_command(commands, "rviz", "print an RViz configuration for the model", _rviz)
    rviz.add_argument("file", metavar="FILE", help=MODEL)
    rviz.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to FILE instead")
    add_force(rviz)
    for name in ("namespace", "frame-prefix", "world-frame"):
        rviz.add_argument(f"--{name}", default="", help="as for model_node (default: '')")

    tree = _add_command(commands, "tree", "show links, joints and devices as a tree", _tree)
    tree.add_argument("file", metavar="FILE", help=MODEL)

    view = _add_command(
        commands, "view", "show the model in a browser", view_command.run, view_command.EPILOG
    )
    view_command.add_arguments(view)
    return parser


def _add_check(commands: Commands) -> None:
    check = _add_command(
        commands,
        "check",
        "report all problems with location and hint",
        _check,
        "Problems are printed to standard error, and a line for each model to standard output; "
        "for a folder, only models with problems have one. The exit status is 1 if there "
        "are errors, or warnings with --strict. Settings and baseline: docs/checking.md.",
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
    check_command.add_arguments(check)


def _add_command(
    commands: Commands,
    name: str,
    summary: str,
    run: Callable[[argparse.Namespace], int],
    epilog: str | None = None,
) -> argparse.ArgumentParser:
    command = commands.add_parser(
        name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", epilog=epilog
    )
    command.set_defaults(run=run)
    return command


def _check(options: argparse.Namespace) -> int:
    for folder in options.allow:
        if not os.path.isdir(folder):
            raise UsageError(f"--allow {folder}: the folder does not exist")
    return check_command.check_models(options, lambda name, found: _check_one(name, found, options))


def _check_one(name: str, diagnostics: Diagnostics, options: argparse.Namespace) -> None:
    """Check a model, or another kind of file with its registered check."""
    found = _problems(
        name,
        lambda diagnostics: load_body(
            name, diagnostics, sandbox=options.sandbox, resource_folders=options.allow
        ),
    )
    if any(diagnostic.code == "not-a-model" for diagnostic in found):
        check = checker_of(name, sandbox=options.sandbox)
        if check is not None:
            found = _problems(name, partial(check, name))
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


def _dump(options: argparse.Namespace) -> int:
    try:
        postures = None if options.poses is None else read_postures(options.poses)
    except PostureError as error:
        raise UsageError(str(error)) from None
    body, _ = load_and_report(options.file)
    try:
        _print_json(dump_body(body, postures))
    except KeyError as error:
        raise UsageError(f"{options.poses}: {error.args[0]}") from None
    except ValueError:  # JSON has only finite numbers
        print_message("error: a size or position of the model is too large to be calculated with")
        return PROBLEMS
    return GOOD


def _rviz(options: argparse.Namespace) -> int:
    outputs = [Output("-o", options.output, Kind.RVIZ)]
    check_outputs(outputs, inputs=[options.file], force=options.force)
    body, _ = load_and_report(options.file)
    frames = body_frames(
        body, Diagnostics.silent(), FrameOptions(frame_prefix=options.frame_prefix)
    )
    try:
        text = rviz_config(
            body,
            frames,
            namespace=options.namespace,
            frame_prefix=options.frame_prefix,
            world_frame=options.world_frame,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    print_or_write(text, options.output)
    return GOOD


def _tree(options: argparse.Namespace) -> int:
    body, _ = load_and_report(options.file)
    output_console().print(body_tree(body))
    return GOOD


def _print_json(data: Any) -> None:
    print_data(f"{json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)}\n")


if __name__ == "__main__":
    sys.exit(main())
