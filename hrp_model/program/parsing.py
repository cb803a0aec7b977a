"""Argument parser with subcommands, suggestions for unknown arguments, and completion."""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar

from ..diagnostics import did_you_mean, nearest_name
from ..files.model_file import format_suffix, join_arguments
from ..printable import printable
from ..readers.file_kind import MODEL_SUFFIXES, YAML_SUFFIXES
from .command import GOOD, WRONG_USE
from .console import print_data, print_message, print_text

_Number = TypeVar("_Number", int, float)
_LARGEST = 1e9  # [s], or a factor; nanoseconds of it fit in 64 bits
FILE_SUFFIXES = (*MODEL_SUFFIXES, *YAML_SUFFIXES)
# Returns candidates for a beginning of an argument; others than it begins are ignored.
Completer: TypeAlias = Callable[[str], Iterable[str]]
_OUTPUT = "-o"


class _HelpFormatter(argparse.HelpFormatter):
    """Formats help whose lines are broken between words only, not inside a path or an option."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        words = " ".join(text.split())
        return textwrap.wrap(words, width, break_long_words=False, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(indent + line for line in self._split_lines(text, width - len(indent)))


class ArgumentParser(argparse.ArgumentParser):
    """Argument parser whose messages are one line, without control characters of the command line.

    Args:
        options: Options of ``argparse.ArgumentParser``.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"formatter_class": _HelpFormatter, **options})

    def error(self, message: str) -> NoReturn:
        """Print the message and how to get help; exit with status 2."""
        error = f"{self.prog}: error: {printable(message)}"
        self.exit(WRONG_USE, f"{error}\nsee '{self.prog} --help'\n")

    def _print_message(self, message: str, file: object = None) -> None:
        if file is sys.stdout:
            print_data(message)
        else:
            print_message(message.rstrip("\n"))


def number(
    parse: Callable[[str], _Number], accepted: str, is_valid: Callable[[_Number], bool]
) -> Callable[[str], _Number]:
    """Return the argparse type of a number; ``accepted`` describes valid ones in its error."""

    def checked(text: str) -> _Number:
        try:
            value = parse(text)
        except ValueError:
            value = None
        if value is None or not is_valid(value):
            raise argparse.ArgumentTypeError(f"must be {accepted}, not '{text}'")
        return value

    return checked


positive = number(
    float, "a number greater than 0, up to 1e9", lambda value: 0.0 < value <= _LARGEST
)
port = number(int, "a port from 1 to 65535", lambda value: 1 <= value <= 65535)


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


if TYPE_CHECKING:
    Commands: TypeAlias = argparse._SubParsersAction[ArgumentParser]
    # A parser, or a group of its arguments.
    Arguments: TypeAlias = argparse._ActionsContainer


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

    Attributes:
        commands: Parsers of the commands, by name.
    """

    def __init__(
        self, *, suggestions: Suggestions, completers: Mapping[str, Completer], **options: Any
    ) -> None:
        super().__init__(**options)
        self._suggestions = suggestions
        self._completers = completers
        self.commands: Mapping[str, ArgumentParser] = {}

    def add_commands(self, **options: Any) -> Commands:
        """Add commands as ``add_subparsers`` does; call it once."""
        commands = self.add_subparsers(
            parser_class=ArgumentParser, metavar="COMMAND", required=True, **options
        )
        self.commands = commands.choices
        return commands

    def parse(self, argv: Sequence[str] | None) -> argparse.Namespace:
        """Parse a command line; None for that of the process.

        Raises:
            SystemExit: Status 2 for a wrong command line, with a message that may suggest a
                correction; status 0 after printing help, also that of an empty command line.
        """
        if completion_requested():
            complete(self, self.commands.values(), self._completers)
        words = join_arguments(sys.argv[1:] if argv is None else argv)
        if not words:
            self.print_help()
            self.exit(GOOD)
        name = next((word for word in words if not word.startswith("-")), None)
        if name is not None and name not in self.commands and (meant := self._command_for(name)):
            self.error(f"there is no command '{printable(name)}'. Did you mean '{meant}'?")
        options, unknown = self.parse_known_args(words)
        if unknown and name is not None:
            command = self.commands[name]
            command.error(self._unknown_arguments(unknown, command))
        return options

    def _command_for(self, word: str) -> str:
        """Return the suggestion for an unknown command, or an empty string."""
        if word in self._suggestions.commands:
            return self._suggestions.commands[word]
        if self._suggestions.is_file(word):
            return f"{self.prog} {self._suggestions.for_file} {printable(word)}"
        name = nearest_name(word, self.commands)
        return f"{self.prog} {name}" if name else ""

    def _unknown_arguments(self, unknown: Sequence[str], command: ArgumentParser) -> str:
        known = [option for action in command._actions for option in action.option_strings]
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
