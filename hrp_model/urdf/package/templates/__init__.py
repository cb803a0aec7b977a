"""Templates of the files of a description package, with @NAMES@ as placeholders."""

from __future__ import annotations

import re
from pathlib import Path

_PLACEHOLDER = re.compile(r"@([A-Z_]+)@")


def fill_template(template: str, **values: str) -> str:
    """Return a template's text with values in place of placeholders.

    Raises:
        KeyError: The template has a placeholder without a value.
    """
    text = (Path(__file__).parent / f"{template}.in").read_text(encoding="utf-8")
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)
