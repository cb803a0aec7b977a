"""Sanitize untrusted text for logs and responses."""

from __future__ import annotations

# Number of characters in a response, and in a line of a log.
MAX_MESSAGE_LENGTH = 4000
MAX_LINE_LENGTH = 1000


def shortened(text: str, max_length: int = MAX_MESSAGE_LENGTH) -> str:
    """Return a text, without its middle if it is too long.

    A message begins with its subject and ends with the remedy; quoted input is in between.
    """
    if len(text) <= max_length:
        return text
    end = max_length // 4
    return f"{text[: max_length - end]} ... {text[-end:]}"


def one_line(text: str) -> str:
    """Return a text as one line of a log, shortened and with escaped control characters."""
    text = shortened(text, MAX_LINE_LENGTH)
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    return character if character.isprintable() else repr(character)[1:-1]
