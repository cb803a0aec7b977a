"""The links and the problems of the bodies of a world, in a panel at the left of the page."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hrp_model import Diagnostic
from hrp_model.printable import printable
from hrp_model.view.html import SELECTION_LABEL, escaped, padded, style
from hrp_model.view.lists import (
    heading,
    is_within,
    link_details,
    link_list,
    link_of,
    problem_count,
    problem_list,
)
from hrp_model.view.robot import RobotView, label_text
from hrp_model.view.viewer import Viewer, set_value

from ..engine.state import SimulatedBody

if TYPE_CHECKING:
    from viser import GuiDropdownHandle

_WIDTH = 340  # pixels
_NONE = "-"

Views = Mapping[str, tuple[SimulatedBody, RobotView]]


class ModelPanel:
    """Lists the links of one body at a time, and all problems of the world.

    Args:
        viewer: The page.
        problems: Warnings about the world and its models.
    """

    def __init__(self, viewer: Viewer, problems: Sequence[Diagnostic]) -> None:
        gui = viewer.server.gui
        self._lock = threading.RLock()
        self._views: Views = {}
        self._names: dict[str, str] = {}  # of bodies by their labels
        self._shown: RobotView | None = None
        self._problems: Sequence[Diagnostic] = problems
        self._notes: Sequence[str] = ()
        panel = gui.add_panel()
        with panel.add_tab("Links"):
            self._body: GuiDropdownHandle[str] = gui.add_dropdown("Body", (_NONE,))
            self._heading = gui.add_html("")
            self._selection = gui.add_text(
                SELECTION_LABEL, "", hint="click a link, or type its name"
            )
            self._style = gui.add_html(style(None))
            self._details = gui.add_html("")
            self._links = gui.add_html("")
        panel.dock_left()
        panel.set_width(_WIDTH)
        below = gui.add_panel()
        with below.add_tab("Problems"):
            self._count = gui.add_html("")
            self._list = gui.add_html("")
        below.dock_below(panel)
        self._body.on_update(lambda _: self._show_body())
        self._selection.on_update(lambda _: self._select_named())
        self._show_problems()

    def follow(self, views: Views) -> None:
        """Offer the bodies of the world; at first the movable one with most links is shown."""
        with self._lock:
            self._views = dict(views)
            self._names = {label_text(name): name for name in views}
            known = self._body.value
            self._body.options = tuple(self._names) or (_NONE,)
            if known not in self._names and views:
                bodies = {name: simulated.body for name, (simulated, _) in views.items()}
                largest = max(
                    bodies, key=lambda name: (not bodies[name].is_static, len(bodies[name].links))
                )
                set_value(self._body, label_text(largest))
            self._show_body()

    def show_problems(self, problems: Sequence[Diagnostic], notes: Sequence[str] = ()) -> None:
        """Replace the problems of the world, with further sentences."""
        with self._lock:
            self._problems, self._notes = problems, notes
            self._show_problems()

    def select(self, body: str, link: str) -> None:
        """Show a body, and highlight one of its links."""
        with self._lock:
            if body in self._views:
                set_value(self._body, label_text(body))
                self._show_body()
                self._select(link)

    def _show_body(self) -> None:
        """Show the links of the body that is chosen."""
        with self._lock:
            found = self._views.get(self._names.get(self._body.value, ""))
            view = None if found is None else found[1]
            if view is self._shown:
                return
            if self._shown is not None and any(self._shown is v for _, v in self._views.values()):
                self._shown.select(None)
            self._shown = view
            self._heading.content = "" if view is None else heading(view.body)
            self._links.content = "" if view is None else link_list(view.body)
            self._select(None)
            self._show_problems()

    def _select_named(self) -> None:
        with self._lock:
            if self._shown is None:
                return
            name = self._selection.value
            named = {printable(link.name): link.name for link in reversed(self._shown.body.links)}
            if name in named or not name:
                self._select(named.get(name))
                return
            for body, (simulated, _) in self._views.items():
                for link in simulated.body.links:
                    if printable(_path(body, link.name)) == name:
                        self.select(body, link.name)
                        return

    def _select(self, link: str | None) -> None:
        view = self._shown
        self._style.content = style(link)
        details = (
            "" if view is None or link is None else link_details(view.body, view.body.link(link))
        )
        self._details.content = details
        if view is not None:
            view.select(link)
        set_value(self._selection, "" if link is None else printable(link))

    def _show_problems(self) -> None:
        self._count.content = padded(f"<b>{escaped(problem_count(self._problems))}</b>")
        notes = [note for _, view in self._views.values() for note in view.meshes.notes]
        self._list.content = problem_list(self._problems, self._link_of, [*self._notes, *notes])

    def _link_of(self, problem: Diagnostic) -> str | None:
        """Return the link that a problem is about: of the shown body, or as BODY/LINK of another.

        Bodies of the file in which the problem is come first, then the shown one.
        """
        views = sorted(
            self._views.items(),
            key=lambda item: (
                not is_within(problem, item[1][1].body),
                item[1][1] is not self._shown,
            ),
        )
        for name, (_, view) in views:
            link = link_of(problem, view.body)
            if link is not None:
                return link if view is self._shown else _path(name, link)
        return None


def _path(body: str, link: str) -> str:
    return f"{body}/{link}"
