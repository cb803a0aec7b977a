"""Controls of a run in the panel: clock and speed, sliders that command joints, its model."""

from __future__ import annotations

import html
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from hrp_model import Diagnostic
from hrp_model.printable import printable
from hrp_model.view.browser import SETTINGS_ORDER, STATUS_ORDER, TOOLBAR, TOOLBAR_ORDER
from hrp_model.view.html import SELECTION_LABEL, escaped, style
from hrp_model.view.lists import (
    heading,
    is_within,
    link_details,
    link_list,
    link_of,
    problem_badge,
    problem_count,
    problem_list,
)
from hrp_model.view.robot import RobotView, label_text
from hrp_model.view.viewer import Viewer, set_value

from ..engine.engine import PhysicsError
from ..engine.schedule import NS_PER_S
from ..engine.state import SimulatedBody
from ..run.run import NotRunningError, Run, RunStateError
from .scene import Snapshot

if TYPE_CHECKING:
    from viser import ClientHandle, GuiDropdownHandle, GuiHtmlHandle

MAX_STEPS = 100_000
_NONE = "-"
_MAX_FALLS = 3  # shown
MODEL_TAB = "Model"
_FASTEST = "as fast as possible"
_FACTORS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Controls:
    """The state of a run, its toolbar and its speed, at the top of the panel.

    Args:
        viewer: The page.
        run: The run.
        hint: Shown with a failure of the physics.
    """

    def __init__(self, viewer: Viewer, run: Run, hint: str) -> None:
        from viser import Icon

        gui = viewer.server.gui
        self._run, self._hint = run, hint
        self._badge = ""
        self._status = gui.add_html("", order=STATUS_ORDER)
        # Apart, since nobody can click what is replaced with every frame.
        self._buttons = gui.add_html(TOOLBAR, order=STATUS_ORDER + 1)
        self._notes = gui.add_html("", order=STATUS_ORDER + 2)
        self._play = gui.add_button("Pause", icon=Icon.PLAYER_PAUSE, order=TOOLBAR_ORDER)
        self._step = gui.add_button(
            "Step", icon=Icon.PLAYER_SKIP_FORWARD, color="gray", order=TOOLBAR_ORDER + 1
        )
        self._reset = gui.add_button(
            "Reset", icon=Icon.ROTATE, color="gray", order=TOOLBAR_ORDER + 2
        )
        self._fallen: tuple[str, ...] = ()
        self._stand_up = gui.add_button(
            "Stand up",
            icon=Icon.ARROW_UP,
            color="gray",
            order=TOOLBAR_ORDER + 5,
            visible=False,
            hint="puts what fell back to where it started",
        )
        self._steps = gui.add_number("Steps", 1, min=1, max=MAX_STEPS, step=1, order=SETTINGS_ORDER)
        factors = {_factor_text(f): f for f in sorted({*_FACTORS, run.real_time_factor} - {0.0})}
        self._factors = {**factors, _FASTEST: 0.0}
        self._speed: GuiDropdownHandle[str] = gui.add_dropdown(
            "Speed",
            tuple(self._factors),
            initial_value=_factor_text(run.real_time_factor),
            order=SETTINGS_ORDER + 1,
        )
        self._icons = Icon.PLAYER_PAUSE, Icon.PLAYER_PLAY
        self._is_halted = False
        self._play.on_click(lambda event: try_for(event.client, self._toggle))
        self._step.on_click(lambda event: try_for(event.client, self._take_steps))
        self._reset.on_click(lambda event: try_for(event.client, run.reset))
        self._stand_up.on_click(lambda event: try_for(event.client, self._put_back))
        self._speed.on_update(lambda event: self._set_speed(event.client_id is not None))
        gui.add_command("Play or pause", hotkey="P").on_trigger(
            lambda event: try_for(event.client, self._toggle)
        )
        gui.add_command("Take steps", hotkey="N").on_trigger(
            lambda event: try_for(event.client, self._take_steps)
        )
        gui.add_command("Reset the world", hotkey="R").on_trigger(
            lambda event: try_for(event.client, run.reset)
        )
        self._set_halted(False)

    def draw(self, snapshot: Snapshot, selected: str = "") -> None:
        """Show the state of the run, and the name of the link that is selected."""
        self._set_halted(snapshot.paused or snapshot.error is not None)
        with suppress(KeyError):
            speed = _factor_text(snapshot.target_factor)
            if self._factors[speed] == snapshot.target_factor and self._speed.value != speed:
                set_value(self._speed, speed)  # it was changed elsewhere
        if tuple(snapshot.falls) != self._fallen:
            self._fallen = tuple(snapshot.falls)
            self._stand_up.visible = bool(self._fallen)
        _show(self._status, _status(snapshot))
        _show(self._buttons, _selected(selected) + self._badge + TOOLBAR)
        _show(self._notes, _notes(snapshot, self._hint))

    def show_problems(self, problems: Sequence[Diagnostic], notes: int) -> None:
        """Show the number of problems beside the state, or that of notes."""
        self._badge = problem_badge(problems, MODEL_TAB, notes)

    def end(self, message: str) -> None:
        """Show that the run has ended."""
        _show(self._status, f'<div class="hrp-status"><b>{html.escape(message)}</b></div>')
        _show(self._notes, "")
        for handle in (self._play, self._step, self._reset, self._stand_up, self._steps):
            handle.disabled = True
        self._speed.disabled = True

    def _set_halted(self, is_halted: bool) -> None:
        if is_halted != self._is_halted or self._step.disabled == is_halted:
            self._is_halted = is_halted
            self._play.label = "Play" if is_halted else "Pause"
            self._play.icon = self._icons[is_halted]
            self._step.disabled = not is_halted
            self._steps.visible = is_halted

    def _toggle(self) -> None:
        (self._run.resume if self._is_halted else self._run.pause)()

    def _take_steps(self) -> None:
        # A page may send any number.
        self._run.step(min(max(1, int(self._steps.value)), MAX_STEPS))

    def _put_back(self) -> None:
        """Teleport the fallen bodies to where they started, while all others go on."""

        def move() -> None:
            simulation = self._run.simulation
            for body in self._fallen:
                if body in simulation.bodies:
                    simulation.move(simulation.placements.initial(body))

        self._run.change(move)

    def _set_speed(self, by_user: bool) -> None:
        if by_user:
            self._run.real_time_factor = self._factors[self._speed.value]


# How a run refuses what it is asked for.
_REFUSALS: tuple[type[Exception], ...] = (NotRunningError, RunStateError, PhysicsError)


def try_for(
    client: ClientHandle | None, action: Callable[[], object], *refusals: type[Exception]
) -> None:
    """Execute an action of a user; show in their page why it is refused.

    Args:
        client: The page.
        action: What the user wants.
        refusals: Errors by which the action refuses it, further to those of a run.
    """
    try:
        action()
    except (*_REFUSALS, *refusals) as error:
        if client is not None:
            text = error.args[0] if isinstance(error, KeyError) and error.args else error
            notify(client, "Not possible", str(text))


def notify(client: ClientHandle, title: str, text: str) -> None:
    """Show a text in a page for some seconds."""
    client.add_notification(title, printable(text), auto_close_seconds=8.0, color="orange")


def _factor_text(factor: float) -> str:
    return _FASTEST if factor == 0.0 else f"{factor:g} x real time"


def _show(place: GuiHtmlHandle, content: str) -> None:
    if place.content != content:
        place.content = content


def _status(snapshot: Snapshot) -> str:
    """Return time, real-time factor and state of a run as HTML."""
    if snapshot.error is not None:
        state = "failed"
    elif snapshot.paused:
        state = "paused"
    else:
        state = f"{snapshot.factor:.2f} x real time" if snapshot.factor > 0.0 else "running"
    return (
        f'<div class="hrp-status"><code data-clock>{snapshot.time_ns / NS_PER_S:.3f} s</code>'
        f'<span class="hrp-chip">{state}</span></div>'
    )


def _selected(link: str) -> str:
    """Return a button with the name of the link that is selected; "" for none."""
    if not link:
        return ""
    return (
        f'<div class="hrp-status"><button type="button" class="hrp-chip" data-tab="{MODEL_TAB}" '
        f'title="its properties">{escaped(label_text(link))}</button></div>'
    )


def _notes(snapshot: Snapshot, hint: str) -> str:
    """Return what fell or failed as HTML; "" for nothing."""
    parts = []
    for body, reason in tuple(snapshot.falls.items())[:_MAX_FALLS]:
        words = f"{html.escape(label_text(body))} fell"
        parts.append(f'<span class="hrp-chip hrp-bad" title="{html.escape(reason)}">{words}</span>')
    if snapshot.error is not None:
        reason = html.escape(printable(str(snapshot.error)))
        advice = f"<br>hint: {html.escape(printable(hint))}" if hint else ""
        words = f"The physics failed: {reason}{advice}<br>Reset starts again."
        parts.append(f'<div class="hrp-note">{words}</div>')
    return f'<div class="hrp-status hrp-row">{"".join(parts)}</div>' if parts else ""


Views = Mapping[str, tuple[SimulatedBody, RobotView]]


class ModelPanel:
    """Lists all problems of the world, and the links of one body at a time.

    They are added to the panel's present container.

    Attributes:
        notes: Number of sentences about what is not shown as in the models.

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
        self.notes = 0
        with gui.add_folder("Problems") as self._folder:
            self._list = gui.add_html("")
        with gui.add_folder("Links"):
            self._body: GuiDropdownHandle[str] = gui.add_dropdown("Body", (_NONE,))
            self._heading = gui.add_html("")
            self._selection = gui.add_text(
                SELECTION_LABEL, "", hint="click a link, or type its name"
            )
            self._style = gui.add_html(style(None))
            self._details = gui.add_html("")
            self._links = gui.add_html("")
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

    @property
    def selected(self) -> str:
        """Name of the link that is selected, or ""."""
        return self._selection.value

    @property
    def shown(self) -> str:
        """Name of the body whose links are listed."""
        return self._body.value

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
        notes = [note for _, view in self._views.values() for note in view.meshes.notes]
        notes = [*self._notes, *notes]
        self.notes = len(notes)
        self._folder.visible = bool(self._problems or notes)
        self._folder.label = problem_count(self._problems).capitalize()
        self._list.content = problem_list(self._problems, self._link_of, notes)

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
