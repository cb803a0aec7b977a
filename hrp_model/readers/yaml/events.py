"""YAML text to events: what begins and ends where.

libyaml is asked by an extension of our own where that was built, else by PyYAML, whose
events cost several times as much. Only the extension gives a list of plain numbers, and
what of a mapping is plain, as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from .nodes import Context, Scalar, Sequence

try:
    from . import _yaml as fast
except ImportError:  # it was not built
    fast = None  # type: ignore[assignment]


# What an event is, and what its content is.
ANCHOR = 0  # the name of the node that comes next
ALIAS = 1  # the anchor it names
LIST = 2  # the beginning of one: where the plain numbers it begins with start, as uint32
MAPPING = 3  # the beginning of one: entries, a key whose value comes next or None, count of lists
ENTRIES = 4  # a whole mapping: its entries, None, and how many of them are lists
CLOSE = 5  # the end of the innermost list or mapping
DOCUMENT = 6  # the beginning of one

# A scalar, a list of plain numbers, or: one of the above, first character, end, content.
Event = Scalar | Sequence | tuple[int, int, int, Any]


class YamlSyntaxError(Exception):
    """The text is no YAML.

    Attributes:
        offset: Of the character at which that shows; None if only ``character`` is known.
        character: The one that may not stand in a YAML text at all, or None.
    """

    def __init__(self, message: str, offset: int | None, character: str | None = None) -> None:
        super().__init__(message)
        self.offset = offset
        self.character = character


def events(text: str, shift: int, context: Context) -> Iterable[Event]:
    """Yield the events of a text, with ``shift`` added to every offset.

    Offsets count characters. Iterating raises YamlSyntaxError.
    """
    return (
        _events(text, shift, context)
        if fast is None
        else fast.Events(text, shift, _syntax_error, context, Scalar, Sequence)
    )


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CLOSING = (yaml.SequenceEndEvent, yaml.MappingEndEvent)


def _events(text: str, shift: int, context: Context) -> Iterator[Event]:
    try:
        loader = _Loader(text.encode("utf-8", "replace").decode("utf-8"))
        while (event := loader.get_event()) is not None:
            start, end = event.start_mark.index + shift, event.end_mark.index + shift
            if isinstance(event, yaml.AliasEvent):
                yield (ALIAS, start, end, event.anchor)
            elif getattr(event, "anchor", None) is not None:
                yield (ANCHOR, start, end, event.anchor)
            if isinstance(event, yaml.ScalarEvent):
                yield Scalar(event.value, event.implicit[0], context, start, end)
            elif isinstance(event, yaml.SequenceStartEvent):
                yield (LIST, start, end, b"")
            elif isinstance(event, yaml.MappingStartEvent):
                yield (MAPPING, start, end, ({}, None, 0))
            elif isinstance(event, _CLOSING):
                yield (CLOSE, start, end, None)
            elif isinstance(event, yaml.DocumentStartEvent):
                yield (DOCUMENT, start, end, None)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        offset = mark.index + shift if mark else 0
        raise _syntax_error(error.context, error.problem, offset, -1) from None
    except yaml.reader.ReaderError as error:
        raise _syntax_error(None, error.reason, 0, error.character) from None


def _syntax_error(
    context: str | None, problem: str | None, offset: int, character: int
) -> YamlSyntaxError:
    """Return the exception for a character that may not be there (else -1), or for a place."""
    message = ", ".join(part for part in (context, problem) if part) or "invalid YAML"
    if character < 0:
        return YamlSyntaxError(message, offset)
    return YamlSyntaxError(message, None, chr(character))
