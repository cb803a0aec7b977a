"""A command line with commands, which answers a wrong word with the right one."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from .diagnostics import did_you_mean, nearest_name
from .printable import printable
from .program import ArgumentParser

if TYPE_CHECKING:
    Commands: TypeAlias = argparse._SubParsersAction[ArgumentParser]

_FILE_SUFFIXES = (".wrl", ".body", ".urdf", ".yaml", ".yml")
_OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
_OUTPUT = "-o"


def is_model_file(word: str) -> bool:
    """Whether a word of the command line is a file, or called as models and worlds are."""
    return Path(word).suffix.lower() in _FILE_SUFFIXES or Path(word).is_file()


@dataclass(frozen=True, kw_only=True)
class Suggestions:
    """What users of other programs write, and what it is called here.

    Attributes:
        commands: By such a word: the beginning of the command line, with the program.
        options: By such an option: the one that this program has.
        for_file: The command that is meant where a file stands in its place.
        is_file: Tells whether a word is such a file.
    """

    commands: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    for_file: str
    is_file: Callable[[str], bool] = is_model_file


class CommandParser(ArgumentParser):
    """An argument parser whose first word is a command; see ``parse``.

    Args:
        suggestions: For words that it does not know.
        options: What ``argparse.ArgumentParser`` takes.
    """

    def __init__(self, *, suggestions: Suggestions, **options: Any) -> None:
        super().__init__(**options)
        self._suggestions = suggestions
        self._commands: Mapping[str, ArgumentParser] = {}

    def add_commands(self, **options: Any) -> Commands:
        """Do what ``add_subparsers`` does; to be called once."""
        commands = self.add_subparsers(
            parser_class=ArgumentParser, metavar="COMMAND", required=True, **options
        )
        self._commands = commands.choices
        return commands

    def parse(self, argv: Sequence[str] | None) -> argparse.Namespace:
        """Return what a command line says; None means that of the process.

        Raises:
            SystemExit: It cannot be understood: 2; the message tells what may be meant. Or it
                asks for help: 0.
        """
        words = list(sys.argv[1:] if argv is None else argv)
        name = next((word for word in words if not word.startswith("-")), None)
        if name is not None and name not in self._commands and (meant := self._command_for(name)):
            self.error(f"there is no command '{printable(name)}'. Did you mean '{meant}'?")
        options, unknown = self.parse_known_args(words)
        if unknown and name is not None:
            command = self._commands[name]
            command.error(self._unknown_arguments(unknown, command))
        return options

    def _command_for(self, word: str) -> str:
        """Return what to write where a word stands in place of a command, or nothing."""
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
            if meant and meant in known:
                message += f". Did you mean '{meant}'?"
            elif option.startswith("--"):
                message += f".{hint}" if (hint := did_you_mean(option, known)) else ""
            elif not word.startswith("-") and len(unknown) == 1 and _OUTPUT in known:
                message += f". Did you mean '{_OUTPUT} {printable(word)}'?"
        return message
