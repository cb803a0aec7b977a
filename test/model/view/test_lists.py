"""The lists of links and problems in HTML: complete, escaped, and pointing to links."""

import xml.etree.ElementTree as ET

import pytest
from paths import ROOT
from view_models import TWO_CUBES, two_cubes

from hrp_model.devices import Imu
from hrp_model.diagnostics import Diagnostic, Diagnostics, Severity, Source, Span
from hrp_model.load import load_body
from hrp_model.view.html import escaped, style
from hrp_model.view.lists import (
    heading,
    link_details,
    link_list,
    link_of,
    problem_count,
    problem_list,
)

HOSTILE = "</style><img src=x onerror=alert(1)>\"'&\x1b[31m\n\u202e"


def parsed(html):
    """Parse HTML as XML, which fails if a quotation mark or bracket escaped."""
    return ET.fromstring(f"<all>{html}</all>")


def texts(html):
    return " ".join("".join(parsed(html).itertext()).split())


def test_every_link_and_device_is_in_the_list():
    body = load_body(ROOT / "models" / "humanoid" / "humanoid.body")
    text = texts(link_list(body))
    assert [x.name for x in (*body.links, *body.devices) if x.name not in text] == []
    rows = [x.get("data-link") for x in parsed(link_list(body)).iter() if x.get("data-link")]
    assert set(rows) == {link.name for link in body.links}
    assert len(rows) == len(body.links) + len(body.devices)


def test_the_numbers_of_a_link():
    body = two_cubes()
    text = texts(link_details(body, body.link("arm")))
    for expected in ("revolute", "-1.5 to 1.5 rad", "3 kg", "box", "base"):
        assert expected in text


@pytest.mark.parametrize("make", [heading, link_list, lambda b: link_details(b, b.links[1])])
def test_hostile_names_stay_text(make):
    html = make(two_cubes(arm_name=HOSTILE))
    assert "<img" not in html
    assert "\x1b" not in html
    parsed(html)


def test_hostile_names_in_the_style_stay_there():
    html, harmless = style(HOSTILE), style(None)
    assert html.count("<") == harmless.count("<") == 2
    assert html.count(">") == harmless.count(">")
    assert "img src" not in html


def test_escaped_has_neither_markup_nor_control_characters():
    assert escaped("<b a='x'>&\x00\u202e") == "&lt;b a=&#x27;x&#x27;&gt;&amp;\ufffd\ufffd"


def test_problems_have_severity_code_place_and_hint():
    source = Source("robot.body", "line one\nline two\n")
    problem = Diagnostic(Severity.WARNING, "unknown-key", HOSTILE, Span(source, 9, 13))
    html = problem_list([problem], lambda _: None, ["a note"])
    text = texts(html)
    for expected in ("warning", "[unknown-key]", "robot.body:2:1", "hint:", "a note"):
        assert expected in text
    assert "<img" not in html


def test_problems_are_counted_without_notes():
    found = Diagnostics.silent()
    found.note("a", "a")
    assert problem_count(found.found) == "no problems"
    found.warn("a", "a")
    found.warn("b", "b")
    found.error("c", "c")
    assert problem_count(found.found) == "1 error, 2 warnings"


def test_a_problem_is_about_the_link_that_it_names_or_stands_in(tmp_path):
    file = tmp_path / "cubes.body"
    sensor = "      - {type: Imu, name: gyro, id: 0}\n"
    text = TWO_CUBES.format(name="cubes", more=sensor)
    file.write_text(text)
    body = load_body(file, Diagnostics.silent())
    source = body.link("arm").at.source

    def about(message, word=None):
        at = None if word is None else Span(source, text.index(word), text.index(word) + 1)
        return link_of(Diagnostic(Severity.WARNING, "x", message, at), body)

    assert about("link 'base' has no mass", "jointAxis") == "base"
    assert about("sensor 'gyro' is odd") == "arm"
    assert about("nobody knows", "jointAxis") == "arm"
    assert about("nobody knows", "mass: 1.0") == "base"
    assert about("nobody knows", "format:") is None
    assert about("nobody knows") is None
    assert isinstance(body.devices[0], Imu)
