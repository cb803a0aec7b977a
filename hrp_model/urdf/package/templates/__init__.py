"""The files of a description package, with @NAMES@ where a robot's own words go."""

from __future__ import annotations

import re
from pathlib import Path

_PLACE = re.compile(r"@([A-Z_]+)@")


def filled(template: str, **words: str) -> str:
    """Return a template's text with the words in their places.

    Raises:
        KeyError: The template has a place that no word is given for.
    """
    text = (Path(__file__).parent / f"{template}.in").read_text(encoding="utf-8")
    return _PLACE.sub(lambda place: words[place[1]], text)
