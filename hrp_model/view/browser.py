"""What pages run in the browser: their style, a script, and what the script reports.

viser has no events for keys or for HTML, and no style of its own: an element of HTML carries style
and script into each page, and the script writes what it reports into a text field that is not
shown. A page reports its whole state, since viser sends only the last of several changes.
"""

from __future__ import annotations

import html
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viser import GuiEvent, GuiTextHandle, ViserServer

# Of parts of the panel that come first, in their order.
SCRIPT_ORDER, STATUS_ORDER, TOOLBAR_ORDER, CAMERA_ORDER, DRIVE_ORDER, SETTINGS_ORDER = range(
    -100, -40, 10
)
TOOLBAR = '<div class="hrp-bar"></div>'  # lets the buttons beside it form a row
_MAX_REPORT = 2000  # characters
_MAX_PARTS = 20
PHONE = "(max-width: 36em)"  # at which viser shows the panel as a sheet

_STYLE = f"""
div:has(> .hrp-page) + div {{ display: none }}
:has(> div > .hrp-bar) {{ display: flex; flex-wrap: wrap; padding-inline: 0.4em 0.7em }}
:has(> div > .hrp-bar) > * {{ flex: 0 0 100%; min-width: 0 }}
:has(> div > .hrp-bar) > :has(> .hrp-status:not(.hrp-row)) {{ flex: 0 1 auto }}
:has(> .hrp-status + .hrp-status) {{ display: flex; flex-wrap: wrap }}
:has(> div > .hrp-bar) > :has(> .mantine-Button-root) {{
  flex: 1 1 0; margin-inline: 2px !important; padding-bottom: 4px !important }}
:has(> div > .hrp-bar) > * > .mantine-Button-root {{
  padding-inline: 2px; height: 2.1em !important }}
:has(> div > .hrp-bar) > * > .mantine-Button-root .mantine-Button-label {{ font-size: 0.75rem }}
:has(> div > .hrp-bar) > * > [data-with-left-section] .mantine-Button-label {{ font-size: 0 }}
:has(> div > .hrp-bar) > * > * .mantine-Button-section {{ margin: 0 }}
.mantine-Button-root[style*="--button-bg: var(--mantine-color-gray-filled)"] {{
  --button-bg: var(--mantine-color-default) !important;
  --button-hover: var(--mantine-color-default-hover) !important;
  --button-color: var(--mantine-color-text) !important;
  --button-bd: 1px solid var(--mantine-color-default-border) !important;
  border: 1px solid var(--mantine-color-default-border) }}
.mantine-Flex-root > div:has(> p > label) {{ padding-right: 0.5em !important }}
.mantine-Flex-root > div:has(+ div .mantine-Slider-root) {{ width: 8.9em !important }}
.mantine-Flex-root > div:has(+ div .mantine-Slider-root) wbr {{ display: none }}
.mantine-Flex-root > .mantine-Slider-root {{ align-self: center; padding: 0 !important }}
.mantine-Flex-root > div:has(+ div .mantine-Slider-root) p {{ white-space: nowrap;
  font-size: 0.8em !important; overflow: hidden; text-overflow: ellipsis }}
.mantine-Flex-root > div:has(+ div .mantine-Checkbox-root) {{ width: 11em !important }}
.mantine-Slider-mark {{ visibility: hidden }}
.hrp-link {{ cursor: pointer; border-radius: 3px }}
.hrp-link:hover {{ background: rgba(128, 128, 128, 0.18) }}
.hrp-row {{ padding-top: 1px; padding-bottom: 1px; line-height: 1.35 }}
.hrp-status {{ display: flex; flex-wrap: wrap; gap: 0.2em 0.7em; align-items: baseline;
  padding: 0 0.5em 0.5em; font-size: 0.85rem }}
.hrp-status code {{ font-size: 1.25em }}
.hrp-chip {{ max-width: 100%; overflow: hidden; text-overflow: ellipsis; white-space: nowrap;
  border-radius: 1em; padding: 0 0.7em; font-size: 0.75rem; line-height: 1.6;
  background: rgba(128, 128, 128, 0.2) }}
button.hrp-chip {{ cursor: pointer; border: 0; font-family: inherit; color: inherit }}
button.hrp-warn {{ background: #b35c00; color: #fff }}
button.hrp-bad, .hrp-bad {{ background: #c92a2a; color: #fff }}
.hrp-note {{ flex: 0 0 100%; color: #e03131 }}
.hrp-pad {{ display: grid; grid-template-columns: repeat(3, 3.2em); gap: 4px;
  justify-content: center; padding: 0.2em 0 0.6em; touch-action: none; user-select: none }}
.hrp-pad button {{ height: 2.5em; border-radius: 6px; font: inherit; cursor: pointer;
  border: 1px solid var(--mantine-color-default-border); color: var(--mantine-color-text);
  background: var(--mantine-color-default); touch-action: none }}
.hrp-pad button:active, .hrp-pad button.hrp-on {{ background: var(--mantine-color-blue-filled);
  color: #fff }}
@media {PHONE} {{
  .mantine-Paper-root[style*="width: 20em"] {{ width: 100% !important; max-height: 46% !important;
    border-radius: 14px 14px 0 0 !important }}
  .mantine-Paper-root [style*="width: 20em"] {{ width: 100% !important }}
  .mantine-Paper-root [style*="height: 3.5em"] {{ height: 2.4em !important }}
  [data-dock-root] > div:first-child {{ bottom: calc(var(--hrp-sheet, 46vh) - 14px) !important }}
  .hrp-pad {{ grid-template-columns: repeat(3, 5em) }}
  .hrp-pad button {{ height: 3em }}
}}
"""

# Runs each time that a page shows the element anew, as after it has lost its server.
_SCRIPT = """
const anchor = this;
const page = window.hrpPage || (window.hrpPage = { count: 0, keys: new Set(), pad: null });
page.field = () => {
  const next = anchor.parentElement && anchor.parentElement.nextElementSibling;
  return next && next.querySelector('input');
};
page.send = () => {
  const field = page.field();
  if (!field) return;
  const state = { n: ++page.count, dark: page.dark.matches, drive: page.drive(), seen: page.seen };
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')
    .set.call(field, JSON.stringify(state));
  field.dispatchEvent(new Event('input', { bubbles: true }));
};
document.title = anchor.dataset.title || document.title;
if (!page.dark) {
  const moves = {
    KeyW: [1, 0], ArrowUp: [1, 0], KeyS: [-1, 0], ArrowDown: [-1, 0],
    KeyA: [0, 1], ArrowLeft: [0, 1], KeyD: [0, -1], ArrowRight: [0, -1],
  };
  const sign = (x) => Math.max(-1, Math.min(1, x));
  page.dark = matchMedia('(prefers-color-scheme: dark)');
  page.drive = () => {
    const held = [...page.keys].map((key) => moves[key]);
    if (page.pad) held.push(page.pad);
    if (!held.length) return null;
    return [0, 1].map((i) => sign(held.reduce((sum, move) => sum + move[i], 0)));
  };
  page.hold = () => {
    const now = page.drive();
    for (const button of document.querySelectorAll('[data-drive]')) {
      button.classList.toggle('hrp-on', now !== null && button.dataset.drive === now.join());
    }
    page.send();
  };
  const release = () => {
    if (!page.keys.size && !page.pad) return;
    page.keys.clear();
    page.pad = null;
    page.hold();
  };
  const isTaken = (target, key) => target.closest
    && (target.closest('input:not([type=checkbox]), textarea, select, [contenteditable]')
      || (key.startsWith('Arrow') && target.closest('[role=slider], [role=tab]')));
  window.addEventListener('keydown', (event) => {
    if (!moves[event.code] || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTaken(event.target, event.code) || !document.querySelector('[data-drive]')) return;
    event.stopPropagation();
    event.preventDefault();
    if (page.keys.has(event.code)) return;
    page.keys.add(event.code);
    page.hold();
  }, true);
  window.addEventListener('keyup', (event) => page.keys.delete(event.code) && page.hold(), true);
  window.addEventListener('blur', release);
  document.addEventListener('visibilitychange', release);
  document.addEventListener('pointerdown', (event) => {
    const button = event.target.closest && event.target.closest('[data-drive]');
    if (!button) return;
    event.preventDefault();
    page.pad = button.dataset.drive.split(',').map(Number);
    page.hold();
  });
  for (const name of ['pointerup', 'pointercancel']) {
    window.addEventListener(name, () => page.pad && ((page.pad = null), page.hold()), true);
  }
  document.addEventListener('click', (event) => {
    const opener = event.target.closest && event.target.closest('[data-tab]');
    if (!opener) return;
    for (const tab of document.querySelectorAll('[role=tab]')) {
      if (tab.textContent.trim() !== opener.dataset.tab) continue;
      tab.click();
      tab.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
    }
  });
  document.addEventListener('mouseover', (event) => {
    const button = event.target.closest && event.target.closest('.mantine-Button-root');
    if (button) button.title = button.textContent.trim();
  });
  const look = () => {
    const parts = [...document.querySelectorAll('[data-part]')];
    const seen = parts.filter((part) => part.getClientRects().length).map((x) => x.dataset.part);
    if (page.drive() || String(seen) !== String(page.seen)) {
      page.seen = seen;
      page.send();
    }
    const sheet = document.querySelector('.mantine-Paper-root[style*="width: 20em"]');
    const height = sheet ? `${sheet.getBoundingClientRect().height}px` : '';
    document.documentElement.style.setProperty('--hrp-sheet', height);
  };
  setInterval(look, 200);
  page.dark.addEventListener('change', () => page.send());
  if (page.dark.matches) {
    document.documentElement.setAttribute('data-mantine-color-scheme', 'dark');
  }
}
setTimeout(page.send, 50);
"""


@dataclass(frozen=True)
class PageState:
    """What a page reports.

    Attributes:
        dark: Whether its system prefers dark colours.
        drive: Forward and to the left, each from -1 to 1, while keys or buttons of a drive pad
            are held; else None.
        seen: Names of those parts that are open.
    """

    dark: bool
    drive: tuple[float, float] | None
    seen: frozenset[str]


def drive_button(forward: int, left: int, sign: str, words: str) -> str:
    """Return a button of a drive pad as HTML; each number is -1, 0 or 1."""
    return (
        f'<button type="button" data-drive="{forward},{left}" aria-label="{html.escape(words)}" '
        f'title="{html.escape(words)}">{sign}</button>'
    )


def part(name: str) -> str:
    """Return HTML by which pages report whether the place that contains it is open."""
    return f'<div data-part="{html.escape(name)}" style="height: 1px"></div>'


class BrowserPages:
    """Adds style and script to all pages, and keeps what they report.

    Args:
        server: Serves the pages.
        set_dark: Called with the identifier of a page and whether it is to be dark, after changes.
    """

    def __init__(self, server: ViserServer, set_dark: Callable[[int, bool], None]) -> None:
        self._lock = threading.Lock()
        self._states: dict[int, PageState] = {}
        self._listeners: list[Callable[[int, PageState], None]] = []
        self._set_dark = set_dark
        self._carrier = server.gui.add_html(_carrier(""), order=SCRIPT_ORDER)
        field = server.gui.add_text("page", "", order=SCRIPT_ORDER + 0.5)

        async def report(event: GuiEvent[GuiTextHandle]) -> None:  # in the order of arrival
            self._on_report(event)

        field.on_update(report)
        server.on_client_connect(lambda page: self._on_page(page.client_id))
        server.on_client_disconnect(lambda page: self._on_page_gone(page.client_id))

    def set_title(self, title: str) -> None:
        """Set the title of the pages."""
        self._carrier.content = _carrier(title)

    def on_report(self, listener: Callable[[int, PageState], None]) -> None:
        """Call a function with the identifier of a page and its state, after each report.

        After a page has gone, its state is that of one which shows nothing.
        """
        self._listeners.append(listener)

    def sees(self, name: str) -> bool:
        """Return whether some page shows a part, or has not reported which ones it shows."""
        states = tuple(self._states.values())
        return not states or any(name in state.seen for state in states)

    def _on_report(self, event: GuiEvent[GuiTextHandle]) -> None:
        page = event.client_id
        state = None if page is None else read_state(event.target.value)
        if page is None or state is None:
            return
        with self._lock:
            before, self._states[page] = self._states.get(page), state
        if before is None or before.dark != state.dark:
            self._set_dark(page, state.dark)
        for listener in self._listeners:
            listener(page, state)

    def _on_page(self, page: int) -> None:
        state = self._states.get(page)  # a page may report before viser counts it
        if state is not None:
            self._set_dark(page, state.dark)

    def _on_page_gone(self, page: int) -> None:
        with self._lock:
            self._states.pop(page, None)
        for listener in self._listeners:
            listener(page, PageState(False, None, frozenset()))


def read_state(text: str) -> PageState | None:
    """Return the state that a page has reported; None if it is not one."""
    if len(text) > _MAX_REPORT:
        return None
    try:
        read: Any = json.loads(text)
        drive, seen = read["drive"], read.get("seen") or []
        if drive is not None:
            forward, left = (min(max(float(x), -1.0), 1.0) for x in drive)
            drive = (forward, left) if isfinite(forward + left) else None
        return PageState(bool(read["dark"]), drive, frozenset(map(str, seen[:_MAX_PARTS])))
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None


def _carrier(title: str) -> str:
    """Return the element with style and script; a picture that cannot be loaded starts it."""
    return (
        f'<style>{_STYLE}</style><img class="hrp-page" hidden src="" alt="" '
        f'data-title="{html.escape(title)}" onerror="{html.escape(_SCRIPT)}">'
    )
