"""The one rule of which characters of untrusted text go to a terminal or a log."""

from __future__ import annotations

import unicodedata

# Control characters (ESC, CR, C1), format characters (such as those that turn the direction of
# writing), and separators of lines and paragraphs.
_UNSAFE_CATEGORIES = frozenset(("Cc", "Cf", "Zl", "Zp"))
_REPLACEMENT = "\ufffd"


def printable(line: str) -> str:
    """Return text as one line that steers no terminal: each unsafe character is replaced.

    Tabs stay; the end of a line becomes a blank.
    """
    return line if line.isprintable() else printable_lines(line.replace("\n", " "))


def printable_lines(text: str) -> str:
    """Return text of any number of lines that steers no terminal; tabs stay, too."""
    if text.isprintable():
        return text
    return "".join(_REPLACEMENT if _is_unsafe(c) else c for c in text)


def _is_unsafe(character: str) -> bool:
    return character not in "\t\n" and unicodedata.category(character) in _UNSAFE_CATEGORIES
