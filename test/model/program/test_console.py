"""What both programs print, whatever names and paths hold."""

import io
import os
import pty
import subprocess
import sys

import pytest
from each_case import mostly_slow
from rich.table import Table
from rich.text import Text

from hrp_model.printable import printable, printable_lines
from hrp_model.program.tables import PlainConsole

# ESC, CR, BEL, C1 (CSI), a turn of the direction of writing, a separator of lines
UNSAFE = "a\x1b[31mb\rc\x07d\x9be\u202ef\u2028g"
REPLACED = "a\ufffd[31mb\ufffdc\ufffdd\ufffde\ufffdf\ufffdg"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def printed(*objects, file=None, **options):
    file = io.StringIO() if file is None else file
    PlainConsole(file=file).print(*objects, **options)
    return file.getvalue()


def table(*cells, title=None):
    made = Table(*("" for _ in cells), title=title)
    made.add_row(*cells)
    return made


def test_a_line_keeps_tabs_and_what_people_write():
    assert printable("a\tb 赤 é 🤖") == "a\tb 赤 é 🤖"
    assert printable("a\nb") == "a b"
    assert printable_lines("a\n\tb\r\n") == "a\n\tb\ufffd\n"
    assert printable(UNSAFE) == REPLACED


def test_no_unsafe_character_is_printed_however_it_comes():
    assert printed(UNSAFE) == f"{REPLACED}\n"
    assert printed(UNSAFE, style="dim", soft_wrap=True) == f"{REPLACED}\n"
    for cell in (UNSAFE, Text(UNSAFE)):
        shown = printed(table(cell, title=UNSAFE))
        assert not set(shown) & set("\x1b\r\x07\x9b\u202e\u2028")
    assert REPLACED in printed(table(UNSAFE))


def test_names_are_no_markup_and_are_not_highlighted():
    name = "[/x] [red]r[/red] :robot: 1::2 'a' ab:cd:ef"
    assert printed(name) == f"{name}\n"
    assert name in printed(table(name, title=name))
    terminal = Terminal()
    assert name in printed(name, file=terminal)
    assert "\x1b" not in terminal.getvalue()


def test_styles_work_on_a_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert printed(Text("red", "red"), file=Terminal()).startswith("\x1b[31mred\x1b[0m")


def test_only_a_terminal_folds_lines(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    long = "word " * 60
    assert printed(long) == f"{long.rstrip()}\n"
    assert len(printed(long, file=Terminal()).splitlines()) > 1
    assert f" {long.rstrip()} " in printed(table(long))
    assert not [line for line in printed(table(long)).splitlines() if line.endswith(" ")]


def test_a_reader_that_has_left_is_an_exception_and_no_exit():
    reader, writer = os.pipe()
    os.close(reader)
    with pytest.raises(BrokenPipeError), os.fdopen(writer, "w", closefd=False) as file:
        PlainConsole(file=file).print("x")
    os.close(writer)


PRINT = """
from hrp_model.program.console import configure_streams, print_data, print_message, print_text
configure_streams()
for write in (print_text, print_data, print_message):
    write("\\u8d64 \\udcff \\x9b" + "\\n" * (write is print_data))
"""


def python(code, **options):
    return subprocess.run([sys.executable, "-c", code], check=False, timeout=300, **options)


@pytest.mark.parametrize("encoding", mostly_slow(["ascii", "latin-1", "utf-8"], 1))
def test_a_pipe_gets_utf_8_and_escapes(encoding):
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    done = python(PRINT, env=env, capture_output=True)
    assert done.returncode == 0
    assert done.stdout.decode() == "赤 \\udcff \ufffd\n赤 \\udcff \x9b\n"
    assert done.stderr.decode() == "赤 \\udcff \ufffd\n"


def test_a_terminal_keeps_its_encoding_and_is_not_steered_by_data():
    main, terminal = pty.openpty()
    env = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = python(PRINT, env=env, stdout=terminal, stderr=subprocess.PIPE)
    assert done.returncode == 0
    assert os.read(main, 4096) == b"\\u8d64 \\udcff \\ufffd\r\n" * 2
    os.close(terminal)
    os.close(main)


CLOSED = """
from hrp_model.program.console import configure_streams, print_message, print_text
configure_streams()
with open({path!r}, "w") as file:
    assert file.fileno() > 2, file.fileno()
    print_message("lost")
    try:
        print_text("x")
    except OSError as error:
        file.write(error.strerror)
"""


def test_no_file_takes_the_place_of_a_closed_stream(tmp_path):
    path = tmp_path / "out"
    code = CLOSED.format(path=str(path)) + "import os; os._exit(0)"
    command = ["sh", "-c", '"$@" <&- >&- 2>&-', "sh", sys.executable, "-c", code]
    assert subprocess.run(command, check=False, timeout=300).returncode == 0
    assert path.read_text() == "Bad file descriptor"
