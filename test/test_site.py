"""The site of the documentation is made without warnings, and loads nothing from elsewhere."""

import csv
import html
import re
import subprocess
import sys

import pytest
from page_tools import headed_rows
from paths import ROOT

pytestmark = pytest.mark.slow  # test_docs checks what pages link to, list and show
IMPORTS = re.compile(r"^from hrp_(?:model|sim)[\w.]* import (.+)$", re.M)
LOADED = re.compile(
    r"<(?:script|img|iframe|source)[^>]* src=\"(https?:|//)|<link[^>]* href=\"(https?:|//)"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for library in ("sphinx", "myst_parser", "furo", "sphinxarg", "sphinx_copybutton"):
        pytest.importorskip(library)
    folder = tmp_path_factory.mktemp("site")
    options = ["--fail-on-warning", "--keep-going", "--quiet", "-d", str(folder / "cache")]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, "docs", str(folder / "html")],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return folder / "html"


def text_of(page):
    return html.unescape(re.sub(r"<[^>]+>", "", page.read_text()))


def test_every_page_is_there(site):
    sources = {p.relative_to(ROOT / "docs").with_suffix("") for p in (ROOT / "docs").rglob("*.md")}
    sources = {p for p in sources if p.parts[0] != "decisions"}
    pages = {p.relative_to(site).with_suffix("") for p in site.rglob("*.html")}
    assert sources <= pages


def test_nothing_is_loaded_from_elsewhere(site):
    assert [p.name for p in site.rglob("*.html") if LOADED.search(p.read_text())] == []
    assert [
        p.name for p in site.rglob("*.css") if re.search(r"url\(['\"]?(https?:|//)", p.read_text())
    ] == []


def test_the_reference_has_the_public_names_and_the_commands(site):
    import hrp_model
    import hrp_sim

    python = (site / "reference" / "python.html").read_text()
    for module in (hrp_model, hrp_sim):
        for name in set(module.__all__) - {"__version__"}:
            assert f'id="{module.__name__}.{name}"' in python, name
    commands = (site / "reference" / "commands.html").read_text()
    assert 'id="hrp-model-urdf"' in commands
    assert 'id="hrp-sim-bench"' in commands
    assert "with --strict" in text_of(site / "reference" / "commands.html")


def test_the_reference_has_what_pages_import(site):
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    found = [match for page in pages for match in IMPORTS.findall(page.read_text())]
    imported = {name for names in found for name in names.split(", ")}
    assert "RobotEnv" in imported
    python = "".join((site / "reference" / f"{p}.html").read_text() for p in ("python", "modules"))
    assert [name for name in sorted(imported) if f'.{name}">' not in python] == []


@pytest.mark.parametrize("page", ["python", "modules"])
def test_the_reference_of_python_is_formatted(site, page):
    written = (site / "reference" / f"{page}.html").read_text()
    assert "<dt>Type<" not in written  # half of a sentence with a colon, taken for a type
    assert (
        re.findall(r"~\w+|<factory>|<function.*", text_of(site / "reference" / f"{page}.html"))
        == []
    )


def test_every_generated_table_is_shown(site):
    pages = "".join(page.read_text() for page in site.glob("*.html"))
    for path in (ROOT / "docs" / "data").glob("*.csv"):
        if path.stem == "measured_on":  # shown below the tables that it names
            continue
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        head = "".join(
            f"<th[^>]*><p>{re.escape(html.escape(cell))}</p></th>\\s*" for cell in header
        )
        shown = re.findall(rf"<tr[^>]*>{head}</tr>\s*</thead>(.*?)</table>", pages, re.DOTALL)
        assert len(rows) in [body.count("<tr") for body in shown], path.name


def test_tables_of_times_name_the_machine(site):
    pages = "".join(page.read_text() for page in site.glob("*.html"))
    for row in headed_rows("measured_on"):
        assert html.escape(f"commit {row['commit']}: {row['rounds']}.") in pages


def test_every_code_has_an_anchor(site):
    from hrp_model.program.report import CODES as OF_MODELS
    from hrp_sim.world.reporting import CODES as OF_WORLDS

    codes = (site / "reference" / "codes.html").read_text()
    assert [code for code in [*OF_MODELS, *OF_WORLDS] if f'id="{code}"' not in codes] == []


def test_a_search_from_disk_finds_the_guide_first(site, chromium):
    page, errors = chromium.new_page(), []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{site.as_uri()}/search.html?q=sensor")
    page.get_by_text("Search finished").wait_for()
    page.get_by_text("opened from disk").wait_for()
    links = page.locator("#search-results li a").all()
    assert [link.get_attribute("href").split("?")[0] for link in links[:2]] == [
        "howto/sensors.html",
        "tutorial/3-room.html",
    ]
    page.close()
    assert errors == []
