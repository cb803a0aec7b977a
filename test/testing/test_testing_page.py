"""The page about tests has the options, settings and tolerances that there are."""

import re

from paths import ROOT

from hrp_ros.testing import hooks
from hrp_ros.testing.baseline import QUANTITIES

PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")


def test_tolerances_are_those_of_the_page():
    table = PAGE.partition("<!-- Tolerances:")[2].partition("<!-- end")[0]
    rows = re.findall(r"^\| ([a-z, ]+) \| ([\d.]+) .*? \| ([\d.]+) \|$", table, re.MULTILINE)
    shown = {
        name: (float(absolute), float(share))
        for names, absolute, share in rows
        for name in names.split(", ")
    }
    assert shown == {quantity.label: tuple(quantity.tolerance) for quantity in QUANTITIES.values()}


def test_options_and_settings_are_those_of_the_page():
    options: set[str] = set()
    settings: dict[str, str] = {}

    class Parser:
        def getgroup(self, *_names):
            return self

        def addoption(self, name, **_options):
            options.add(name)

        def addini(self, name, _help, *, default, **_options):
            settings[name] = default[0] if isinstance(default, list) else default

    hooks.pytest_addoption(Parser())
    assert set(re.findall(r"^\| `(--[\w-]+)", PAGE, re.MULTILINE)) == options
    rows = re.findall(r"^\| `(hrp_\w+)` \| `([^`]+)` \|", PAGE, re.MULTILINE)
    assert dict(rows) == settings
