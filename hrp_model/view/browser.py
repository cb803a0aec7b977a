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
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..late_dataclass import dataclass
from .html import SELECTION_LABEL

if TYPE_CHECKING:
    from viser import GuiEvent, GuiTextHandle, ViserServer

# Of parts of the panel that come first, in their order.
SCRIPT_ORDER, STATUS_ORDER, TOOLBAR_ORDER, CAMERA_ORDER, DRIVE_ORDER, SETTINGS_ORDER = range(
    -100, -40, 10
)
TOOLBAR = '<div class="hrp-bar"></div>'  # lets the buttons beside it form a row
_MAX_REPORT = 2000  # characters
_MAX_PARTS = 20
_STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
_SCRIPT = Path(__file__).with_name("page.js").read_text(encoding="utf-8")


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
    script = f"{_SCRIPT}start(this);"
    return (
        f'<style>{_STYLE}</style><img class="hrp-page" hidden src="" alt="" '
        f'data-title="{html.escape(title)}" data-selection="{SELECTION_LABEL}" '
        f'onerror="{html.escape(script)}">'
    )
