"""The site of the documentation is made without warnings, and loads nothing from elsewhere."""

import re
import subprocess
import sys

import pytest
from paths import ROOT

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


def test_every_page_is_there(site):
    sources = {p.relative_to(ROOT / "docs").with_suffix("") for p in (ROOT / "docs").rglob("*.md")}
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
