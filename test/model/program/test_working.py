"""The spinner of computations whose length is unknown."""

import io
import threading
from contextlib import suppress

import pytest
from rich.status import Status

from hrp_model.program import console
from hrp_model.program.console import working

SHOW_CURSOR = "\x1b[?25h"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal(monkeypatch):
    """Let a terminal stand for standard error; return what is written to it.

    No fixture: pytest replaces standard error before the test begins.
    """
    written = Terminal()
    monkeypatch.setattr("sys.stderr", written)
    monkeypatch.setenv("TERM", "xterm")
    return written


@pytest.fixture
def shown(monkeypatch):
    """Return an event that is set when a spinner is shown."""
    event, start = threading.Event(), Status.start

    def started(status):
        start(status)
        event.set()

    monkeypatch.setattr(Status, "start", started)
    return event


def test_a_long_computation_shows_its_title_until_it_ends_or_fails(shown, monkeypatch):
    written = terminal(monkeypatch)
    monkeypatch.setattr(console, "_DELAY", 0.0)
    with working("reading \x1b[31mrobot[bold].wrl"):
        assert shown.wait(300)
    first = written.getvalue()
    assert "reading \ufffd[31mrobot[bold].wrl ..." in first
    assert first.rstrip("\r\n").endswith(("\x1b[2K", SHOW_CURSOR))
    assert first.count(SHOW_CURSOR) == 1
    shown.clear()
    with suppress(KeyError), working("again"):
        assert shown.wait(300)
        raise KeyError
    assert written.getvalue().count(SHOW_CURSOR) == 2


def test_a_short_computation_shows_nothing(monkeypatch):
    written = terminal(monkeypatch)
    monkeypatch.setattr(console, "_DELAY", 1e6)
    before = threading.active_count()
    with working("reading"):
        pass
    assert written.getvalue() == ""
    assert threading.active_count() <= before


def test_without_a_terminal_nothing_is_shown(shown, capsys, monkeypatch):
    monkeypatch.setattr(console, "_DELAY", 0.0)
    before = threading.active_count()
    with working("reading"):
        assert threading.active_count() <= before
    assert capsys.readouterr() == ("", "")
    assert not shown.is_set()
