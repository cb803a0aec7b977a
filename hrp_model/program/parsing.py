"""Argument parser with subcommands, suggestions for unknown arguments, and completion."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias, TypeVar

from ..printable import printable
from .command import GOOD, WRONG_USE, silence_libraries
from .console import print_data, print_message, print_text

# ``--version`` and ``--help`` need only these; what reads files is imported where it is used.
MODEL = "a model: .wrl, .body, .yaml, .urdf, .xacro, .sdf, .dae or MJCF file, or its package:// URI"
_Number = TypeVar("_Number", int, float)
_LARGEST = 1e9  # [s], or a factor; nanoseconds of it fit in 64 bits
_NONE: Mapping[str, str] = MappingProxyType({})
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
    commands: Iterable[LateParser],
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
        command.add_late_arguments()
        for action in command._get_positional_actions():
            if isinstance(action.metavar, str) and action.metavar in completers:
                _set_completer(action, completers[action.metavar])
    argcomplete.autocomplete(parser)


def model_files(beginning: str, further: Collection[str] = ()) -> list[str]:
    """Return folders, and files with a suffix of models and worlds, or a further one."""
    from ..files.model_file import format_suffix
    from ..readers.file_kind import FILE_SUFFIXES

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
    # A parser, or a group of its arguments.
    Arguments: TypeAlias = argparse._ActionsContainer


def is_model_file(word: str) -> bool:
    """Return whether an argument is a file, or has the suffix of a model or world."""
    from ..files.model_file import format_suffix
    from ..readers.file_kind import FILE_SUFFIXES

    return format_suffix(Path(word)) in FILE_SUFFIXES or Path(word).is_file()


class Command(NamedTuple):
    """A command of a program.

    Attributes:
        help: Its line in the list of commands.
        arguments: The function that adds its arguments to its parser, as "module:function".
        run: The function that runs it with the parsed options, and returns the exit status.
    """

    help: str
    arguments: str
    run: str


class Suggestions(NamedTuple):
    """Suggestions for commands and options known from other programs.

    Attributes:
        for_file: The command to suggest if the first argument is a file.
        commands: Suggested start of the command line, by unknown command.
        options: Options of this program, by unknown option.
        removed: Hint where to find a removed option, by program, command and option, such as
            "hrp-sim bench --scene".
        is_file: Returns whether an argument is such a file.
    """

    for_file: str
    commands: Mapping[str, str] = _NONE
    options: Mapping[str, str] = _NONE
    removed: Mapping[str, str] = _NONE
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


class LateParser(ArgumentParser):
    """The parser of a command, which gets its arguments when it is used.

    Args:
        add: Adds the arguments to a parser; it may import slowly.
        options: Options of ``argparse.ArgumentParser``.
    """

    def __init__(self, *, add: Callable[[argparse.ArgumentParser], None], **options: Any) -> None:
        super().__init__(**options)
        self._add: Callable[[argparse.ArgumentParser], None] | None = add

    def add_late_arguments(self) -> None:
        """Add the arguments, once."""
        add, self._add = self._add, None
        if add is not None:
            add(self)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as ``argparse.ArgumentParser``, after the arguments were added."""
        self.add_late_arguments()
        return super().parse_known_args(args, namespace)


class CommandParser(ArgumentParser):
    """An argument parser whose first argument is a command; see ``parse``.

    Args:
        package: Package of the modules of the commands.
        commands: The commands by name.
        suggestions: Suggestions for unknown arguments.
        completers: What a shell completes positional arguments to, by metavar.
        options: Options of ``argparse.ArgumentParser``.

    Attributes:
        commands: Parsers of the commands, by name.
    """

    def __init__(
        self,
        *,
        package: str,
        commands: Mapping[str, Command],
        suggestions: Suggestions,
        completers: Mapping[str, Completer],
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._package = package
        self._table = commands
        self._suggestions = suggestions
        self._completers = completers
        parsers = self.add_subparsers(
            parser_class=LateParser,
            metavar="COMMAND",
            required=True,
            title="commands",
            dest="command",
        )
        for name, command in commands.items():
            text = command.help
            parsers.add_parser(
                name,
                help=text,
                description=f"{text[0].upper()}{text[1:]}.",
                add=partial(self._add_arguments, command),
            )
        self.commands: Mapping[str, LateParser] = parsers.choices

    def _add_arguments(self, command: Command, parser: argparse.ArgumentParser) -> None:
        self._function(command.arguments)(parser)

    def _function(self, place: str) -> Callable[..., Any]:
        module, _, name = place.partition(":")
        function: Callable[..., Any] = getattr(import_module(f"{self._package}.{module}"), name)
        return function

    def function(self, options: argparse.Namespace) -> Callable[[argparse.Namespace], int]:
        """Return the function that runs the parsed command, whose module is imported now.

        From then on libraries are silent; see ``silence_libraries``.
        """
        silence_libraries()
        function = self._function(self._table[options.command].run)
        if self._is_process:
            gc.freeze()  # collections, also those at the end, need not search what was imported
            gc.enable()
        return function

    def parse(self, argv: Sequence[str] | None) -> argparse.Namespace:
        """Parse a command line; None for that of the process.

        Raises:
            SystemExit: Status 2 for a wrong command line, with a message that may suggest a
                correction; status 0 after printing help, also that of an empty command line.
        """
        self._is_process = argv is None
        if self._is_process:
            gc.disable()  # until ``function``: imports leave no garbage
        if completion_requested():
            line = os.environ.get("COMP_LINE", "").split()
            used = [parser for name, parser in self.commands.items() if name in line]
            complete(self, used, self._completers)
        words = list(sys.argv[1:] if argv is None else argv)
        if any(":=" in word for word in words):
            from ..files.model_file import join_arguments

            words = join_arguments(words)
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
        from ..diagnostics import nearest_name

        name = nearest_name(word, self.commands)
        return f"{self.prog} {name}" if name else ""

    def _unknown_arguments(self, unknown: Sequence[str], command: ArgumentParser) -> str:
        from ..diagnostics import did_you_mean

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


def add_estimated_masses(parser: Arguments) -> None:
    """Add the option that estimates the masses of links that state none."""
    parser.add_argument(
        "--estimate-masses",
        type=positive,
        metavar="DENSITY",
        help="give links without mass that of their shapes, solid and with this density [kg/m^3], "
        "such as 1000, and the inertia",
    )
