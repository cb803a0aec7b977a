"""Configuration of Sphinx, which makes a site from these pages: scripts/site.sh."""

from __future__ import annotations

import csv
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.addnodes import index
from sphinx.util.docutils import SphinxDirective

from hrp_model import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "hrp_ros"
author = "hrp_ros developers"
release = __version__
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinxarg.ext",
    "sphinx_copybutton",
]
exclude_patterns = ["examples", "decisions"]  # decisions are for developers, in the repository
smartquotes = False  # they would turn the dashes of options, and quotes around file names

html_theme = "furo"
html_title = f"hrp_ros {release}"
html_theme_options = {"navigation_with_keys": True}
html_show_sphinx = html_show_copyright = False
html_static_path = ["style"]
html_css_files = ["site.css"]
html_js_files = ["sort_tables.js"]
html_search_scorer = str(Path(__file__).with_name("style") / "search.js")
copybutton_selector = "div:not(.highlight-text) > div.highlight pre"  # not what a command prints

# Anchors of headings as GitHub makes them, so that links work in both.
myst_heading_anchors = 6
myst_enable_extensions = ["colon_fence"]

# Long signatures have a parameter on each line.
maximum_signature_line_length = 90
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
napoleon_use_ivar = True  # fields of a class as one list
python_use_unqualified_type_names = True

# Pages at the top of the repository, which GitHub expects there, are included in pages of the site.
_TOP_PAGES = re.compile(r"\]\((?:\.\./)+(CONTRIBUTING|CHANGELOG)\.md")

# Links to decisions and models, which are in the repository only, become text.
_NOT_ON_SITE = re.compile(r"\[([^\]]+)\]\((?:\.\./|docs/)*(?:decisions|models)/[^)]*\)")

# Parts of signatures that are no Python, so that Sphinx would not format them: defaults of fields
# with a factory, enumerations, functions; parameters of types.
_NO_PYTHON = (
    (re.compile(r"<factory>|<function [^ ]*(?: at \w+)?>"), "..."),
    (re.compile(r"<(\w+\.\w+): [^>]*>"), r"\1"),
    (re.compile(r"~(_\w+)|~[\w.]+\.~?(_\w+)"), r"\1\2"),
)


class Codes(SphinxDirective):
    """The codes of a module with their meanings and hints, each with an anchor of its name."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return them as a list of definitions, in alphabetical order."""
        found = nodes.definition_list(classes=["simple"])
        for code, rule in sorted(import_module(self.arguments[0]).CODES.items()):
            entry = index(entries=[("single", code, code, "main", None)])
            term = nodes.term("", "", nodes.literal("", code), entry, ids=[code])
            lines = (nodes.paragraph("", f"{line[0].upper()}{line[1:]}.") for line in rule)
            found += nodes.definition_list_item("", term, nodes.definition("", *lines))
        return [found]


class DataTable(SphinxDirective):
    """A generated table, data/NAME.csv, which the reader can sort."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table, and where its times were measured."""
        path = Path(self.env.srcdir) / "data" / f"{self.arguments[0]}.csv"
        self.env.note_dependency(str(path))
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        group = nodes.tgroup(cols=len(header))
        group += [nodes.colspec(colwidth=1) for _ in header]
        group += nodes.thead("", self._row(header))
        group += nodes.tbody("", *map(self._row, rows))
        return [nodes.table("", group, classes=["sortable"]), *self._measured_on(path)]

    def _measured_on(self, path: Path) -> list[nodes.Node]:
        about = path.with_name("measured_on.csv")
        self.env.note_dependency(str(about))
        with about.open(encoding="utf-8", newline="") as file:
            found = [row for row in csv.DictReader(file) if row["table"] == path.stem]
        text = "Measured on {processor}, with {programs}, at commit {commit}: {rounds}."
        return [nodes.paragraph("", text.format(**row)) for row in found]

    @staticmethod
    def _row(cells: list[str]) -> nodes.row:
        return nodes.row("", *(nodes.entry("", nodes.paragraph("", cell)) for cell in cells))


def setup(app: Sphinx) -> None:
    """Add the directive, and repair links and signatures."""

    def link_to_site(_app: Sphinx, _page: str, source: list[str]) -> None:
        text = _NOT_ON_SITE.sub(r"\1", source[0])
        source[0] = _TOP_PAGES.sub(lambda m: f"](/{m[1].lower()}.md", text)

    def make_python(*event: object) -> tuple[str, object] | None:
        shown, returned = event[-2:]
        if not isinstance(shown, str):
            return None
        for pattern, python in _NO_PYTHON:
            shown = pattern.sub(python, shown)
        return shown, returned

    def dash(_app: Sphinx, document: nodes.document) -> None:
        for text in list(document.findall(lambda node: node == " -- ")):
            text.parent.replace(text, nodes.Text(" \N{EN DASH} "))

    app.add_directive("codes", Codes)
    app.add_directive("data-table", DataTable)
    app.connect("doctree-read", dash)
    app.connect("source-read", link_to_site)
    app.connect("autodoc-process-signature", make_python)
