"""HTML of names and texts from files."""

from __future__ import annotations

import html
from collections.abc import Iterable
from pathlib import Path

from ..printable import printable

# Of the field into which a click in a list writes the name of a link.
SELECTION_LABEL = "Selected link"

# At the end of viser's document: keeps its own lights off, and says why a browser draws nothing.
SCENE_END = Path(__file__).with_name("scene.html").read_text(encoding="utf-8")


def escaped(text: object) -> str:
    """Return a text for HTML, also in a quoted attribute, without control characters."""
    return html.escape(printable(str(text)))


def padded(content: str) -> str:
    """Return HTML with the margins and the font size of a panel's other parts."""
    return f'<div style="padding: 0 0.75em 0.5em; font-size: 0.8rem">{content}</div>'


def link_attribute(link: str | None) -> str:
    """Return the attributes of an element that selects a link when it is clicked; "" for None."""
    return "" if link is None else f' data-link="{escaped(link)}" class="hrp-link"'


def style(selected: str | None) -> str:
    """Return the style of the lists with one link selected."""
    if selected is None:
        return "<style></style>"
    name = _css_string(printable(selected))
    return f"<style>.hrp-link[data-link={name}] {{ background: rgba(255, 170, 0, 0.3) }}</style>"


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and values, which are escaped."""
    cells = "".join(
        f'<tr><td style="color: #888; padding-right: 0.75em; vertical-align: top">'
        f"{escaped(name)}</td><td>{escaped(value)}</td></tr>"
        for name, value in rows
    )
    return f'<table style="border-collapse: collapse">{cells}</table>'


def _css_string(text: str) -> str:
    """Return a text as a CSS string of escapes (CSS Syntax 3, 4.3.7), safe in a style element."""
    return '"' + "".join(c if c.isalnum() and c.isascii() else f"\\{ord(c):x} " for c in text) + '"'
