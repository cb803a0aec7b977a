"""How a diagnostic is shown to people."""

import io

import pytest
from rich.console import Console

from hrp_model import Body, Joint, JointType, Link
from hrp_model.diagnostics import Diagnostic, Severity, Source, Span
from hrp_model.program import report
from hrp_model.program.body_text import body_tree
from hrp_model.program.report import CODES


def test_a_message_points_at_the_text():
    source = Source("a.body", "links:\n\t- mas: 1\n")
    found = Diagnostic(Severity.WARNING, "odd-key", "'mas' is not used", Span(source, 10, 13))
    assert report.text_report(found).splitlines() == [
        "a.body:2:4: warning: 'mas' is not used [odd-key]",
        "    2 | \t- mas: 1",
        "      | \t  ^^^",
    ]


def test_a_message_points_at_text_of_double_width():
    source = Source("a.body", "名前: 腕 # 右\n")
    found = Diagnostic(Severity.WARNING, "odd-key", "'腕' is not used", Span(source, 4, 5))
    assert report.text_report(found).splitlines()[1:] == [
        "    1 | 名前: 腕 # 右",
        "      |       ^^",
    ]


def test_of_a_long_line_the_part_around_the_place_is_shown():
    text = "[" + "0, " * 100 + "x, " + "1, " * 100 + "]"
    place = text.index("x")
    found = Diagnostic(Severity.ERROR, "odd-key", "no", Span(Source("a", text), place, place + 1))
    _, excerpt, carets = report.text_report(found).splitlines()
    assert excerpt[carets.index("^")] == "x"
    assert carets.count("^") == 1
    assert excerpt.startswith("    1 | ... ")
    assert excerpt.endswith(" ...")
    assert len(excerpt) < 120
    at_end = Diagnostic(
        Severity.ERROR, "odd-key", "no", Span(Source("a", text), len(text) - 1, 900)
    )
    _, excerpt, carets = report.text_report(at_end).splitlines()
    assert excerpt.endswith("1, ]")
    assert len(carets) == len(excerpt)


def test_no_text_of_a_model_steers_the_terminal():
    source = Source("\x1b]0;a.body", "\x1b[31m: 1 \u202e\n")
    found = Diagnostic(Severity.WARNING, "odd-key", "'\x1b[31m' is\nodd", Span(source, 0, 5))
    assert report.text_report(found).splitlines() == [
        "\ufffd]0;a.body:1:1: warning: '\ufffd[31m' is odd [odd-key]",
        "    1 | \ufffd[31m: 1 \ufffd",
        "      | ^^^^^",
    ]


def test_files_below_the_folder_are_called_by_their_path_from_it(tmp_path):
    found = Diagnostic(
        Severity.NOTE, "odd-key", "no", Span(Source(str(tmp_path / "a" / "b.body"), ""), 0, 0)
    )
    assert report.text_report(found).startswith(str(tmp_path))
    assert report.text_report(found, folder=tmp_path) == "a/b.body:1:1: note: no [odd-key]"
    assert report.text_report(found, folder=tmp_path / "c").startswith(str(tmp_path))


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\u2028", "\r"])
def test_only_a_newline_ends_the_line_that_is_shown(separator):
    source = Source("a.body", f"# {separator}\nlinks:\r\n")
    found = Diagnostic(Severity.WARNING, "odd-key", "no", Span(source, 4, 9))
    assert report.text_report(found).splitlines()[1:] == ["    2 | links:", "      | ^^^^^"]


def test_a_hint_is_given_where_it_helps():
    def text(severity, message, **options):
        return report.text_report(Diagnostic(severity, "unknown-key", message), **options)

    assert CODES["unknown-key"].hint in text(Severity.WARNING, "'mas' is not known")
    assert "hint" not in text(Severity.NOTE, "'mas' is not known")
    assert "hint" not in text(Severity.WARNING, "'mas' is not known. Did you mean 'mass'?")
    assert "hint" not in text(Severity.WARNING, "'mas' is not known", with_hint=False)


def test_what_is_found_twice_at_a_place_is_told_once():
    source = Source("a.body", "links:\n")
    found = [Diagnostic(Severity.NOTE, "x", "m", Span(source, 0, 5)) for _ in range(7)]
    found.append(Diagnostic(Severity.NOTE, "x", "n", Span(source, 0, 5)))
    texts = [text.split("\n")[0] for _, text in report.text_reports(found)]
    assert texts == ["a.body:1:1: note: m [x] (7 times)", "a.body:1:1: note: n [x]"]


def test_problems_are_listed_from_top_to_bottom_of_each_file():
    a, b = Source("a.body", "1\n2\n"), Source("b.body", "1\n2\n")
    places = [Span(a, 2, 3), Span(b, 2, 3), Span(a, 0, 1), None, Span(b, 0, 1)]
    found = [Diagnostic(Severity.NOTE, "x", "m", at) for at in places]
    assert [str(d.at) for d in report.by_place(found)] == [
        *("a.body:1:1", "a.body:2:1", "b.body:1:1", "b.body:2:1", "None")
    ]


def test_names_in_a_tree_do_not_steer_the_terminal():
    joint = Joint(type=JointType.FREE, name="\x1b[3m")
    link = Link(name="\x1b[1m", parent=None, joint=joint)
    console = Console(file=io.StringIO(), width=200)
    console.print(body_tree(Body(name="\x1b[2m", links=(link,))))
    text = console.file.getvalue()
    assert "\x1b" not in text
    assert all(f"\ufffd[{i}m" in text for i in (1, 2, 3))
