"""Access to the elements of a COLLADA file: by id, as numbers, and those that are left out."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite

import numpy as np

from ...diagnostics import Diagnostics
from ...geometry import IntArray
from ...rigid import Array
from ..number_list import number_list
from ..xml_tree import Element
from .lost_parts import LostParts


class ColladaParts(LostParts):
    """The elements of one file by id, and the parts of it that cannot be used.

    Args:
        root: The root element; namespace prefixes are removed from its tags.
        name: Of the file, in messages.
        diagnostics: Receives warnings.
    """

    def __init__(self, root: Element, name: str, diagnostics: Diagnostics) -> None:
        super().__init__(name, diagnostics)
        self.root = root
        self._by_id: dict[str, Element] = {}
        for element in (root, *root.descendants()):
            element.tag = element.tag.rpartition(":")[2]
            if "id" in element.attributes:
                self._by_id.setdefault(element.attributes["id"], element)

    def find(self, element: Element, attribute: str, *tags: str) -> Element | None:
        """Return the element that an attribute refers to; None after reporting that none is there.

        Args:
            element: The element with the reference "#id", or "#id/inner" as OpenHRP writes, with
                the id or SID of an element inside.
            attribute: The attribute.
            tags: Tags that the other element may have.
        """
        written = element.attributes.get(attribute, "")
        name, *inner = written[1:].split("/")
        found = self._by_id.get(name) if written.startswith("#") else None
        for part in inner:
            inside = [] if found is None else found.descendants()
            found = next(
                (x for x in inside if part in (x.attributes.get("id"), x.attributes.get("sid"))),
                None,
            )
        if found is not None and found.tag in tags:
            return found
        self.lose(element, f"there is no <{tags[0]}> '{written}'")
        return None

    def with_id(self, name: str, *tags: str) -> Element | None:
        """Return the element with an id and one of these tags, or None."""
        found = self._by_id.get(name)
        return found if found is not None and found.tag in tags else None

    def lose(self, element: Element, reason: str) -> None:
        """Record that an element is left out; each counts once."""
        self.add(id(element), reason, element.span)


def integers(elements: Iterable[Element]) -> IntArray | None:
    """Return the integers in the text of elements; None if they have anything else."""
    text = " ".join(element.text for element in elements)
    found = number_list(f"{text}]", 0, integer=True)
    if found is None or found[1] != len(text):
        return None
    return found[0].astype(np.int32, copy=False)


def numbers(text: str) -> Array | None:
    """Return the numbers in a text, "NaN" and "INF" among them; None if it has anything else."""
    found = number_list(f"{text}]", 0, integer=False)
    if found is not None and found[1] == len(text):
        return found[0].astype(np.float64, copy=False)
    try:
        return np.array([float(word) for word in text.split()], dtype=np.float64)
    except ValueError:
        return None


def finite_numbers(element: Element | None, *counts: int) -> list[float] | None:
    """Return the numbers in an element; None unless their number is one of ``counts``."""
    values = None if element is None else numbers(element.text)
    if values is None or len(values) not in counts or not np.isfinite(values).all():
        return None
    listed: list[float] = values.tolist()
    return listed


def natural(text: str, default: int) -> int | None:
    """Return a count or an index; the default for an empty text, None if it is neither."""
    if not text.strip():
        return default
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value) if isfinite(value) and 0.0 <= value < 2**31 and value == int(value) else None
