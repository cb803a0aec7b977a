"""Parse YAML text into events with offsets.

A C extension of this package calls libyaml; where it was not built, PyYAML does, whose events
take several times as long. Only the extension combines lists of plain numbers, and plain entries
of mappings, into one event each.
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


# Kinds of events, with their content.
ANCHOR = 0  # anchor of the next node: its name
ALIAS = 1  # alias: the name of its anchor
LIST = 2  # start of a list: offsets of the plain numbers at its beginning, as uint32
MAPPING = 3  # start of a mapping: (entries, key of the next value or None, number of lists)
ENTRIES = 4  # a whole mapping: (entries, None, number of entries that are lists)
CLOSE = 5  # end of the innermost list or mapping: None
DOCUMENT = 6  # start of a document: None

# A scalar, a list of plain numbers, or (kind, start, end, content).
Event = Scalar | Sequence | tuple[int, int, int, Any]


class YamlSyntaxError(Exception):
    """The text is not valid YAML.

    Attributes:
        offset: Offset of the error; None if only ``character`` is known.
        character: A character that is not allowed in YAML, or None.
    """

    def __init__(self, message: str, offset: int | None, character: str | None = None) -> None:
        super().__init__(message)
        self.offset = offset
        self.character = character


def events(text: str, shift: int, context: Context) -> Iterable[Event]:
    """Yield the events of a text, with ``shift`` added to every offset.

    Offsets count characters.

    Raises:
        YamlSyntaxError: While iterating: the text is not valid YAML.
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
    """Return the exception for an invalid character or, if that is -1, for an offset."""
    message = ", ".join(part for part in (context, problem) if part) or "invalid YAML"
    if character < 0:
        return YamlSyntaxError(message, offset)
    return YamlSyntaxError(message, None, chr(character))
