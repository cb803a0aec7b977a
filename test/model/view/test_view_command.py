"""hrp-model view: its address, its port, its end, and a model that changes."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from each_case import all_cases, mostly_slow
from view_models import TWO_CUBES

pytest.importorskip("viser")

from hrp_model.cli.main import main
from hrp_model.diagnostics import MissingLibraryError
from hrp_model.program.command import UsageError
from hrp_model.view.address import is_own_page
from hrp_model.view.page_html import page_html
from hrp_model.view.viewer import Viewer, websocket_server

SMALL = (1000, 300)  # of a page in which nobody looks at the scene


@pytest.fixture
def model(tmp_path):
    file = tmp_path / "cubes.body"
    file.write_text(TWO_CUBES.format(name="cubes", more=""))
    return file


@contextmanager
def shown(*arguments):
    """Run the command, and yield its process and its address."""
    command = [sys.executable, "-m", "hrp_model.cli.main", "view", *map(str, arguments)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    try:
        line = process.stdout.readline()
        yield process, re.search(r"http://\S+", line)[0]
    finally:
        process.kill()
        process.communicate()


@contextmanager
def used_port(port=0):
    """A port that somebody else listens on."""
    end = time.monotonic() + 300.0
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        while True:
            try:
                listener.bind(("127.0.0.1", port))
                listener.listen()
                break
            except OSError:  # by somebody else indeed, such as a test that ends soon
                assert time.monotonic() < end, f"port {port} stays in use"
                time.sleep(0.05)
        yield port or listener.getsockname()[1]


def test_it_prints_its_address_alone_and_ends_after_the_duration(model, capfd):
    assert main(["view", str(model), "--duration", "0.1"]) == 0
    out, err = capfd.readouterr()
    assert re.fullmatch(r"view: http://localhost:\d+( .*)?\n", out)
    assert err == ""


def test_a_default_port_in_use_gives_the_next_one_and_says_so(model, capsys, monkeypatch):
    with used_port() as port:
        monkeypatch.setattr("hrp_model.view.viewer.DEFAULT_PORT", port)
        assert main(["view", str(model), "--duration", "0.1"]) == 0
    out = capsys.readouterr().out
    assert int(re.search(r"localhost:(\d+)", out)[1]) > port
    assert f"port {port} is in use" in out


@pytest.mark.parametrize("wanted", [0, 65535])  # behind the latter there is no next one
def test_a_given_port_in_use_is_an_error(model, capsys, wanted):
    with used_port(wanted) as port:
        assert main(["view", str(model), "--port", str(port)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"--port {port}: Address already in use; choose another port" in err


@pytest.mark.parametrize("host", ["203.0.113.7", "no such host"])
def test_a_host_of_another_machine_is_an_error(model, capsys, host):
    assert main(["view", str(model), "--host", host]) == 2
    assert f"--host {host}" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["0", "65536", "x"])
def test_a_number_that_is_no_port_is_an_error(model, capsys, port):
    assert main(["view", str(model), "--port", port]) == 2
    assert "port" in capsys.readouterr().err


def test_a_model_with_errors_ends_with_its_problems(tmp_path, capsys):
    broken = tmp_path / "broken.body"
    broken.write_text("format: [")
    assert main(["view", str(broken), "--duration", "60"]) == 1
    assert "[yaml-syntax]" in capsys.readouterr().err


def test_without_viser_the_message_says_how_to_install_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "hrp_model.view.viewer")
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(MissingLibraryError, match=r"pip install 'hrp_ros\[view\]'"):
        __import__("hrp_model.view.viewer")


@pytest.mark.parametrize("number", mostly_slow([signal.SIGINT, signal.SIGTERM], 1))
def test_a_signal_ends_it_without_an_error(model, number):
    with shown(model) as (process, _):
        process.send_signal(number)
        out, err = process.communicate(timeout=300)
        assert (process.returncode, out, err) in [(0, "", ""), (130, "", "")]


@pytest.mark.slow
def test_browsers_go_and_come_servers_that_end_say_so_and_those_that_die_are_missed(pages, model):
    with shown(model) as (process, address):
        gone = pages.open(address, SMALL)
        gone.field("arm").fill("0.3")
        gone.close()
        page = pages.open(address, SMALL)
        page.wait_for_text("arm")
        process.terminate()
        page.wait_for_text("This page is no longer updated")
        _, err = process.communicate(timeout=300)
        assert (process.returncode, err) == (0, "")
    with shown(model, "--port", address.rpartition(":")[2]) as (process, again):
        assert again == address
        page.wait_for_text("Connected")
        page.wait_until(lambda: page.tab.get_by_text("no longer updated").count() == 0)
        process.kill()
        page.wait_for_text("Connecting...")


def test_a_changed_file_is_read_again_and_joints_keep_their_positions(pages, model):
    model.write_text("format: [")
    with shown(model, "--watch") as (_, address):
        page = pages.open(address, SMALL)
        page.open_part("Problems")
        page.wait_for_text("yaml-syntax")  # it waits for the repair
        model.write_text(TWO_CUBES.format(name="cubes", more=""))
        page.wait_for_text("no problems")
        page.open_part("Joints")
        page.field("arm").fill("40")
        model.write_text(TWO_CUBES.format(name="renamed", more=""))
        page.wait_for_text("renamed")
        page.wait_until(lambda: page.field("arm").input_value() == "40")
        model.write_text("format: [")
        page.tab.get_by_role("button", name="1 error").click()
        page.wait_for_text("The last model without errors is shown.")
        page.open_part("Joints")
        page.wait_until(lambda: page.field("arm").input_value() == "40")


def test_closing_twice_is_harmless_and_a_viewer_in_use_is_refused():
    viewer = Viewer(0)
    with pytest.raises(UsageError):
        Viewer(viewer.port)
    viewer.close()
    viewer.close()
    with Viewer(viewer.port) as again:
        assert again.port == viewer.port


@all_cases(
    ("origin", "host", "is_let_in"),
    [
        ("http://localhost:{}", "localhost:{}", True),
        ("http://127.0.0.1:{}", "127.0.0.1:{}", True),
        (None, "localhost:{}", True),  # a program
        ("http://example.com", "localhost:{}", False),
        ("http://localhost:1", "localhost:{}", False),
        ("http://example.com:{}", "example.com:{}", False),  # a name that leads here
        ("null", "localhost:{}", False),
    ],
)
def test_only_pages_of_this_server_can_connect(origin, host, is_let_in):
    websockets = pytest.importorskip("websockets.sync.client")
    viser = pytest.importorskip("viser")
    with Viewer(0) as viewer:
        headers = {"Host": host.format(viewer.port)}
        if origin is not None:
            headers["Origin"] = origin.format(viewer.port)
        raw = socket.create_connection(("127.0.0.1", viewer.port))
        with websockets.connect(
            f"ws://{headers.pop('Host')}/",
            sock=raw,
            subprotocols=[f"viser-v{viser.__version__}"],
            additional_headers=headers,
            proxy=None,
            open_timeout=300,
        ) as connection:
            if is_let_in:
                assert connection.recv(timeout=300)
            else:
                with pytest.raises(Exception, match="1008"):
                    connection.recv(timeout=300)


@all_cases(
    ("origin", "host", "listening", "is_own"),
    [
        ("http://[::1]:80", "[::1]:80", "::1", True),
        ("http://localhost:80", "localhost:80", "::1", True),
        ("http://example.com:80", "example.com:80", "::1", False),
        ("http://example.com:80", "example.com:80", "localhost", False),
        ("http://example.com:80", "example.com:80", "127.0.0.2", False),
        ("http://robot:80", "robot:80", "0.0.0.0", True),  # who listens to all knows no names
        ("http://robot:80", "robot:81", "0.0.0.0", False),
        ("http://[", "localhost:80", "127.0.0.1", False),
        ("http://localhost:80", "[", "127.0.0.1", False),
    ],
)
def test_foreign_pages_are_recognised_on_every_interface(origin, host, listening, is_own):
    assert is_own_page(origin, host, listening) == is_own


def test_another_version_of_viser_is_an_error_that_names_it():
    changed = SimpleNamespace(_websock_server=SimpleNamespace())
    viser = pytest.importorskip("viser")
    with pytest.raises(MissingLibraryError, match=rf"cannot use viser {viser.__version__} .*_live"):
        websocket_server(changed)
    with Viewer(0) as viewer:
        assert websocket_server(viewer.server)._live_connections == {}


def test_pages_say_so_in_a_browser_that_cannot_draw_and_only_there(chromium, pages):
    words = "cannot draw the scene"
    with Viewer(0) as viewer:
        context = chromium.new_context()
        context.set_default_timeout(300_000)
        context.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
        tab = context.new_page()
        tab.goto(viewer.address)
        tab.get_by_text(words).wait_for()
        tab.set_content(page_html("a model", [], [], "no scene"))
        tab.frame_locator("iframe").get_by_text(words).wait_for()
        context.close()
        page = pages.open(viewer.address, SMALL)
        page.wait_until(lambda: page.tab.locator("canvas").count())
        assert page.tab.get_by_text(words).count() == 0
        page.close()


def test_it_opens_the_default_browser_where_there_is_a_display(model, tmp_path, monkeypatch):
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.part\nmv {opened}.part {opened}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    monkeypatch.setenv("DISPLAY", ":99")
    with shown(model, "--browser") as (process, address):
        end = time.monotonic() + 300.0
        while not opened.exists():
            assert process.poll() is None
            assert time.monotonic() < end, "no browser was opened"
            time.sleep(0.01)
        assert opened.read_text() == f"{address}\n"


def test_without_a_display_it_says_so(model, monkeypatch, capsys):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert main(["view", str(model), "--browser", "--duration", "0.1"]) == 0
    assert "there is no display" in capsys.readouterr().err
