"""Parse projects in XML within limits."""

from __future__ import annotations

from hrp_model import Diagnostics
from hrp_model.diagnostics import Source, Span
from hrp_model.read_context import TooLargeError
from hrp_model.readers.xml_tree import Element, parse

_MAX_ELEMENTS = 200_000


def parse_project(source: Source, diagnostics: Diagnostics) -> Element | None:
    """Return the root element of a project, or None after reporting an error."""
    count = 0

    def add(at: Span) -> None:
        nonlocal count
        count += 1
        if count > _MAX_ELEMENTS:
            raise TooLargeError(f"the project has more than {_MAX_ELEMENTS} elements", at)

    try:
        return parse(source, diagnostics, add)
    except TooLargeError as error:
        diagnostics.error("too-large", str(error), error.at)
        return None
