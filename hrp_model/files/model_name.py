"""Names of models with arguments: ``robot.urdf.xacro arm:=left``, as for the command xacro.

Macros may also be in files named ``.urdf``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

_WITH_ARGUMENTS = re.compile(r"(.*?\.(?:xacro|urdf))\s+([^\s:=]+:=.*)", re.DOTALL | re.IGNORECASE)
_ARGUMENT = re.compile(r"[^\s:=]+:=.*", re.DOTALL)


def split_model_name(name: str) -> tuple[str, dict[str, str]]:
    """Return the file of a model, and its arguments.

    Values with blanks are quoted as in a shell.
    """
    match = _WITH_ARGUMENTS.fullmatch(name)
    if match is None:
        return name, {}
    try:
        words = shlex.split(match[2])
    except ValueError:  # a quotation mark without a second one
        words = match[2].split()
    pairs = (word.partition(":=") for word in words)
    return match[1], {key: value for key, _, value in pairs}


def join_arguments(words: Iterable[str]) -> list[str]:
    """Return the words of a command line, with arguments joined to the xacro file before them."""
    joined: list[str] = []
    for word in words:
        file = split_model_name(joined[-1])[0].lower() if joined else ""
        if file.endswith((".xacro", ".urdf")) and _ARGUMENT.fullmatch(word):
            joined[-1] += f" {shlex.quote(word)}"
        else:
            joined.append(word)
    return joined
