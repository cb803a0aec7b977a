"""HTML of names and texts from files."""

from __future__ import annotations

import html
from collections.abc import Iterable

from ..printable import printable

# Of the field into which a click in a list writes the name of a link.
SELECTION_LABEL = "Selected link"

# At the end of a document: says in browsers that cannot draw a scene why there is none.
NO_SCENE = """
<style>.hrp-no-scene { position: fixed; top: 30%; left: 5%; z-index: 999; max-width: 34em;
  padding: 1em 1.5em; border-left: 5px solid #b35c00; color: #1c1e21; background: #fff4e6;
  font: 16px/1.5 system-ui, sans-serif }</style>
<script>
{
  const context = document.createElement('canvas').getContext('webgl2');
  if (context) {
    const end = context.getExtension('WEBGL_lose_context');
    if (end) end.loseContext();
  } else {
    document.body.insertAdjacentHTML('beforeend', `<div class="hrp-no-scene" role="alert">
      <b>This browser cannot draw the scene</b>, as its WebGL 2 is switched off or missing.<br>
      Allow hardware acceleration in its settings, or open this page in another browser.</div>`);
  }
}
</script>
"""

# viser shows HTML, but has no event for clicks in it: a click writes into a text field of the
# page instead, as a person would.
_ON_CLICK = f"""
const row = event.target.closest('[data-link]');
const label = [...document.querySelectorAll('label')]
  .find(label => label.textContent === '{SELECTION_LABEL}');
const field = label && document.getElementById(label.htmlFor)
  || label && label.parentElement.parentElement.parentElement.querySelector('input');
if (row && field) {{
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')
    .set.call(field, row.dataset.link);
  field.dispatchEvent(new Event('input', {{bubbles: true}}));
}}"""


def escaped(text: object) -> str:
    """Return a text for HTML, also in a quoted attribute, without control characters."""
    return html.escape(printable(str(text)))


def padded(content: str) -> str:
    """Return HTML with the margins and the font size of a panel's other parts."""
    return f'<div style="padding: 0 0.75em 0.5em; font-size: 0.8rem">{content}</div>'


def clickable(content: str) -> str:
    """Return HTML in which a click on an element with ``link_attribute`` selects that link."""
    return f'<div onclick="{html.escape(_ON_CLICK)}">{content}</div>'


def link_attribute(link: str | None) -> str:
    """Return the attribute of an element that selects a link; empty for None."""
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
