"""Words from outside, such as names that somebody sends, made fit to be told to people."""

from __future__ import annotations

# Characters of an answer, and of a line in a log.
MAX_MESSAGE_LENGTH = 4000
MAX_LINE_LENGTH = 1000


def shortened(text: str, most: int = MAX_MESSAGE_LENGTH) -> str:
    """Return a text as far as somebody may read it: of a longer one its beginning and its end.

    A message tells in front what it is about, and last what would be right; what is too long in
    between is what somebody sent.
    """
    if len(text) <= most:
        return text
    end = most // 4
    return f"{text[: most - end]} ... {text[-end:]}"


def one_line(text: str, most: int = MAX_LINE_LENGTH) -> str:
    """Return a text as one line of a log: shortened, what cannot be printed as Python shows it."""
    text = shortened(text, most)
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(character: str) -> str:
    return character if character.isprintable() else repr(character)[1:-1]
