"""Completion of command lines by the shell, with argcomplete."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from ..files.model_file import format_suffix
from ..readers.file_kind import MODEL_SUFFIXES, YAML_SUFFIXES

FILE_SUFFIXES = (*MODEL_SUFFIXES, *YAML_SUFFIXES)

# Returns candidates for a beginning of an argument; others than it begins are ignored.
Completer: TypeAlias = Callable[[str], Iterable[str]]


def completion_requested() -> bool:
    """Return whether the program was started by a shell that completes its command line."""
    return "_ARGCOMPLETE" in os.environ


def complete(
    parser: argparse.ArgumentParser,
    commands: Iterable[argparse.ArgumentParser],
    completers: Mapping[str, Completer],
) -> None:
    """Write the candidates for the argument at the cursor, and end the process.

    Args:
        parser: Parser of the command line.
        commands: Parsers of its commands.
        completers: Completers of positional arguments, by metavar. Other arguments are completed
            to their choices, or to files.
    """
    import argcomplete

    for command in commands:
        for action in command._get_positional_actions():
            if isinstance(action.metavar, str) and action.metavar in completers:
                _set_completer(action, completers[action.metavar])
    argcomplete.autocomplete(parser)


def model_files(beginning: str, further: Collection[str] = ()) -> list[str]:
    """Return folders, and files with a suffix of models and worlds, or a further one."""
    folder, start = os.path.split(beginning)
    found = []
    with suppress(OSError), os.scandir(os.path.expanduser(folder) or os.curdir) as entries:
        for entry in entries:
            if entry.name.startswith(".") and not start.startswith("."):
                continue
            if entry.is_dir():
                found.append(os.path.join(folder, entry.name, ""))
            elif format_suffix(Path(entry.name)) in (*FILE_SUFFIXES, *further):
                found.append(os.path.join(folder, entry.name))
    return found


def _set_completer(action: argparse.Action, completer: Completer) -> None:
    def candidates(prefix: str, **_: object) -> Iterable[str]:
        return completer(prefix)

    action.completer = candidates  # type: ignore[attr-defined]  # read by argcomplete
