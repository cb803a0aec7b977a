"""Argument parser with subcommands and suggestions for unknown arguments."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ..diagnostics import did_you_mean, nearest_name
from ..files.model_file import format_suffix, join_arguments
from ..printable import printable
from .command import ArgumentParser
from .completion import FILE_SUFFIXES, Completer, complete, completion_requested
from .console import print_text

if TYPE_CHECKING:
    Commands: TypeAlias = argparse._SubParsersAction[ArgumentParser]

_OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
_OUTPUT = "-o"


def is_model_file(word: str) -> bool:
    """Return whether an argument is a file, or has the suffix of a model or world."""
    return format_suffix(Path(word)) in FILE_SUFFIXES or Path(word).is_file()


@dataclass(frozen=True, kw_only=True)
class Suggestions:
    """Suggestions for commands and options known from other programs.

    Attributes:
        commands: Suggested start of the command line, by unknown command.
        options: Options of this program, by unknown option.
        removed: Hint where to find a removed option, by program, command and option, such as
            "hrp-sim bench --scene".
        for_file: The command to suggest if the first argument is a file.
        is_file: Returns whether an argument is such a file.
    """

    commands: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    removed: Mapping[str, str] = field(default_factory=dict)
    for_file: str
    is_file: Callable[[str], bool] = is_model_file


class PrintText(argparse.Action):
    """Prints a text and exits, like ``--help``.

    Args:
        option_strings, dest, help: As for ``argparse.Action``.
        text: Returns the text; called only if the option is given.
    """

    def __init__(
        self,
        option_strings: Sequence[str],
        dest: str,
        help: str,  # noqa: A002
        text: Callable[[], str],
    ) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)
        self._text = text

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the text and exit with 0."""
        print_text(self._text())
        parser.exit()


class CommandParser(ArgumentParser):
    """An argument parser whose first argument is a command; see ``parse``.

    Args:
        suggestions: Suggestions for unknown arguments.
        completers: What a shell completes positional arguments to, by metavar.
        options: Options of ``argparse.ArgumentParser``.
    """

    def __init__(
        self, *, suggestions: Suggestions, completers: Mapping[str, Completer], **options: Any
    ) -> None:
        super().__init__(**options)
        self._suggestions = suggestions
        self._completers = completers
        self._commands: Mapping[str, ArgumentParser] = {}

    def add_commands(self, **options: Any) -> Commands:
        """Add commands as ``add_subparsers`` does; call it once."""
        commands = self.add_subparsers(
            parser_class=ArgumentParser, metavar="COMMAND", required=True, **options
        )
        self._commands = commands.choices
        return commands

    def parse(self, argv: Sequence[str] | None) -> argparse.Namespace:
        """Parse a command line; None for that of the process.

        Raises:
            SystemExit: Status 2 for a wrong command line, with a message that may suggest a
                correction; status 0 after printing help.
        """
        if completion_requested():
            complete(self, self._commands.values(), self._completers)
        words = join_arguments(sys.argv[1:] if argv is None else argv)
        name = next((word for word in words if not word.startswith("-")), None)
        if name is not None and name not in self._commands and (meant := self._command_for(name)):
            self.error(f"there is no command '{printable(name)}'. Did you mean '{meant}'?")
        options, unknown = self.parse_known_args(words)
        if unknown and name is not None:
            command = self._commands[name]
            command.error(self._unknown_arguments(unknown, command))
        return options

    def _command_for(self, word: str) -> str:
        """Return the suggestion for an unknown command, or an empty string."""
        if word in self._suggestions.commands:
            return self._suggestions.commands[word]
        if self._suggestions.is_file(word):
            return f"{self.prog} {self._suggestions.for_file} {printable(word)}"
        name = nearest_name(word, self._commands)
        return f"{self.prog} {name}" if name else ""

    def _unknown_arguments(self, unknown: Sequence[str], command: ArgumentParser) -> str:
        known = _OPTION.findall(command.format_usage())
        message = f"unrecognized arguments: {printable(' '.join(unknown))}"
        for word in unknown:
            option = word.partition("=")[0]
            meant = self._suggestions.options.get(option, "")
            if removed := self._suggestions.removed.get(f"{command.prog} {option}"):
                return f"{message}. {removed}"
            if meant and meant in known:
                message += f". Did you mean '{meant}'?"
            elif option.startswith("--"):
                message += f".{hint}" if (hint := did_you_mean(option, known)) else ""
            elif not word.startswith("-") and len(unknown) == 1 and _OUTPUT in known:
                message += f". Did you mean '{_OUTPUT} {printable(word)}'?"
        return message
