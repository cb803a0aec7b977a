"""Pages of documentation lead to what is there: links, anchors, files, packages, decisions."""

import inspect
import re
import string
from functools import cache
from importlib import import_module

import pytest
from page_tools import data_rows, headed_rows
from paths import ROOT

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]*)\)")
FILE = re.compile(r"`((?:hrp_(?:model|sim|msgs|ros)|test|scripts|docs)/[\w./-]+)`")
# Files that the recipes of CONTRIBUTING.md make.
US = re.compile(r"\bus\b")  # in the heading of a column of times
EXAMPLES = re.compile(r"barometer|fluid_pressure|plain_json|hrp_sim/falling|hrp_ros/\w+-v\d")
PACKAGES = ("hrp_model", "hrp_sim", "hrp_msgs", "hrp_ros")
# Directives of the site: name, argument and the text that follows.
DIRECTIVE = re.compile(r"^(?:\.\. |```\{)([\w-]+)(?:::|\}) ?(\S*)\n((?:(?!```|\.\. ).*\n)*)", re.M)


@cache
def text_of(page):
    """Return the text of a page without its examples."""
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


@cache
def anchors(page):
    """Return the anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE)
    drop = str.maketrans("", "", string.punctuation.replace("-", "").replace("_", ""))
    return {h.lower().translate(drop).replace(" ", "-") for h in headings}


def name_of(page):
    return str(page.relative_to(ROOT))


def test_links_lead_somewhere():
    broken = []
    for page in PAGES:
        for link in LINK.findall(text_of(page)):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append(f"{name_of(page)}: {link}")
    assert broken == []


def test_files_that_are_named_exist():
    named = {
        (name_of(page), name)
        for page in PAGES
        for name in FILE.findall(text_of(page))
        if not EXAMPLES.search(name)
    }
    assert [pair for pair in sorted(named) if not (ROOT / pair[1]).exists()] == []


def test_the_tree_of_the_architecture_is_that_of_the_packages():
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    table = text.partition("<!-- Packages:")[2].partition("<!-- end of Packages -->")[0]
    cells = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    named = [name for cell in cells for name in re.findall(r"`([\w/]+)`", cell)]
    inits = (init for top in PACKAGES for init in (ROOT / top).rglob("__init__.py"))
    there = {name_of(init.parent) for init in inits}
    data = {name for name in there if name.startswith("hrp_msgs/interfaces/")}
    assert sorted(named) == sorted(there - data)


def test_every_decision_is_listed_and_has_its_parts():
    decisions = sorted(p for p in (DOCS / "decisions").glob("*.md") if p.name != "README.md")
    index = text_of(DOCS / "decisions" / "README.md")
    assert [p.name for p in decisions] == LINK.findall(index)
    for number, page in enumerate(decisions, start=1):
        title, *parts = re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE)
        assert page.name.startswith(f"{number:03}-")
        assert title.startswith(f"{number}. ")
        assert parts == ["Context", "Choice", "Consequence"]


def test_every_table_of_times_states_where_it_was_measured():
    about = headed_rows("measured_on")
    assert all(all(row.values()) for row in about)
    tables = {path.stem for path in (DOCS / "data").glob("*.csv")}
    named = {row["table"] for row in about}
    assert named <= tables
    timed = [
        name for name in tables if any(US.search(k) for k in next(iter(headed_rows(name)), ()))
    ]
    assert timed
    assert set(timed) <= named


def test_sums_of_measured_tables_are_those_of_the_pages():
    certified = [row for row in data_rows("certificates") if row[1]]
    moving = [row for row in certified if row[2] != "nothing moves"]
    equal = [row for row in moving if not row[-1]]
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES).replace("\n", " ")
    assert f"{len(moving)} have something that moves, and {len(equal)} of these are" in pages


@cache
def directives(name):
    """Return the page, argument and text of all directives with a name."""
    pages = [page for page in PAGES if page.is_relative_to(DOCS) and "decisions" not in page.parts]
    parts = ((p, m) for p in pages for m in DIRECTIVE.finditer(p.read_text(encoding="utf-8")))
    return [(page, part[2], part[3]) for page, part in parts if part[1] == name]


@cache
def documented():
    """Return the names and objects that the reference of Python lists."""
    found = []
    for _, argument, options in directives("automodule"):
        module = import_module(argument)
        own = [n for n, thing in vars(module).items() if is_of(module, thing) and n[0] != "_"]
        listed = re.search(r":members: (.+)", options)
        names = listed[1].split(", ") if listed else getattr(module, "__all__", own)
        found += [(f"{argument}.{name}", getattr(module, name)) for name in names]
    for kind in ("autofunction", "autoclass"):
        for _, argument, _ in directives(kind):
            module, _, name = argument.rpartition(".")
            found.append((argument, getattr(import_module(module), name)))
    return found


def is_of(module, thing):
    return getattr(thing, "__module__", None) == module.__name__


def test_the_site_lists_what_is_there_and_each_name_once():
    names = [name for name, _ in documented()]
    assert "hrp_model.Body" in names
    assert sorted({name for name in names if names.count(name) > 1}) == []
    for _, _, options in directives("argparse"):
        module, function = re.search(r":module: (\S+)\n +:func: (\S+)", options).groups()
        assert callable(getattr(import_module(module), function))
    for _, module, _ in directives("codes"):
        assert import_module(module).CODES
    for _, table, _ in directives("data-table"):
        assert (DOCS / "data" / f"{table}.csv").is_file(), table
    lists = directives("toctree")
    for page, _, text in lists:
        for entry in re.findall(r"^(?!:)(?:.*<)?([^<>\n]+)>?$", text.partition("\n\n")[2], re.M):
            assert (page.parent / f"{entry}.md").is_file(), entry
    assert lists


def test_docstrings_of_the_reference_are_valid_markup():
    sphinx = pytest.importorskip("sphinx.ext.napoleon")
    from docutils.frontend import get_default_settings
    from docutils.parsers.rst import Parser
    from docutils.utils import new_document

    settings = get_default_settings(Parser)
    settings.report_level, settings.halt_level, settings.warning_stream = 2, 5, ""
    options, problems, count = sphinx.Config(napoleon_use_ivar=True), [], 0
    parts = list(documented())
    for name, thing in documented():
        inside = vars(thing).items() if inspect.isclass(thing) else ()
        parts += [(f"{name}.{k}", part) for k, part in inside if k[0] != "_"]
    for name, part in parts:
        thing = part.fget if isinstance(part, property) else part
        if inspect.isclass(thing) or inspect.isroutine(thing):
            lines = (inspect.getdoc(thing) or "").splitlines()
            count += bool(lines)
            document = new_document(name, settings)
            Parser().parse("\n".join(sphinx.GoogleDocstring(lines, options).lines()), document)
            problems += [m.astext() for m in document.findall() if m.tagname == "system_message"]
    assert problems == []
    assert count > 300
