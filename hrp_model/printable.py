"""Sanitize untrusted text for terminals and logs."""

from __future__ import annotations

import unicodedata

# Control characters (ESC, CR, C1), format characters (such as those that change the writing
# direction), and line and paragraph separators.
_UNSAFE_CATEGORIES = frozenset(("Cc", "Cf", "Zl", "Zp"))
_REPLACEMENT = "\ufffd"


def printable(line: str) -> str:
    """Return text as one line with each control or format character replaced.

    Tabs are kept; line ends become blanks.
    """
    return line if line.isprintable() else printable_lines(line.replace("\n", " "))


def printable_lines(text: str) -> str:
    """Return text with each control or format character replaced, except tabs and line ends."""
    if text.isprintable():
        return text
    return "".join(_REPLACEMENT if _is_unsafe(c) else c for c in text)


def _is_unsafe(character: str) -> bool:
    return character not in "\t\n" and unicodedata.category(character) in _UNSAFE_CATEGORIES
