"""The command ``hrp-model``: its commands, whose modules are imported when they are used."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .. import __version__
from ..program.command import PROBLEMS, run_program
from ..program.parsing import Command, CommandParser, Suggestions, model_files

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


_COMMANDS = {
    "check": Command(
        "report all problems with location and hint", "check:add_check", "check:check"
    ),
    "dump": Command(
        "print the model as JSON (docs/dump-schema.json)", "dump:add_dump", "dump:dump"
    ),
    "urdf": Command("convert the model to URDF", "urdf_options:add_arguments", "urdf:run"),
    "rviz": Command("print an RViz configuration for the model", "dump:add_rviz", "dump:rviz"),
    "tree": Command("show links, joints and devices as a tree", "dump:add_model", "dump:tree"),
    "view": Command("show the model in a browser", "view:add_arguments", "view:run"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Returns:
        0 success; 1 problems in the model; 2 usage error; 130 after Ctrl-C.
    """
    return run_program("hrp-model", lambda: _run(argv))


def _run(argv: Sequence[str] | None) -> int:
    parser = _parser()
    options = parser.parse(argv)
    command = parser.function(options)
    from ..diagnostics import ModelError

    try:
        return command(options)
    except ModelError:
        return PROBLEMS  # all problems were printed when they were found


def _parser() -> CommandParser:
    parser = CommandParser(
        package=__package__,
        commands=_COMMANDS,
        suggestions=_SUGGESTIONS,
        completers={"FILE": model_files},
        prog="hrp-model",
        description="Check and convert robot models: OpenHRP (.wrl), Choreonoid (.body), URDF, "
        "xacro, SDF and MJCF.",
        epilog="'hrp-model COMMAND --help' explains a command. Exit status: 0 success; 1 problems "
        "in the model; 2 usage error.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
