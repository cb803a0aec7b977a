"""What pages say is what happens: they are walked, block by block."""

import importlib.util
import os
import re
import shlex
from pathlib import PurePath

import pytest
from each_case import check_each
from forked_programs import forked_programs
from page_tools import NEEDS_ROS2
from page_walk import Walk, WalkError, missing, steps_of
from paths import ROOT

import hrp_model.cli.main
import hrp_sim.cli.main

TUTORIAL = sorted((ROOT / "docs" / "tutorial").glob("?-*.md"))
FOLDERS = [ROOT, ROOT / "models", ROOT / "examples" / "ci", *ROOT.glob("docs/**/")]
PAGES = [
    page
    for page in sorted(page for folder in FOLDERS for page in folder.glob("*.md"))
    if page not in TUTORIAL and re.search("^ *```", page.read_text(encoding="utf-8"), re.M)
]
SETTINGS = ("pyproject.toml",)  # read where it stands, without being named
PROGRAMS = {"hrp-model": hrp_model.cli.main, "hrp-sim": hrp_sim.cli.main}


def walk(pages, folder):
    """Do what texts of pages say; return what they need that is missing here."""
    needed = []
    with Walk(folder) as walking:
        for step in (step for page in pages for step in steps_of(page)):
            if NEEDS_ROS2.search(step.how):
                needed.append(f"line {step.line}: what test/acceptance walks with ROS 2")
            elif reason := missing(step):
                needed += [] if step.left_out else [f"line {step.line}: {reason}"]
            else:
                walking.do(step)
    return needed


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A folder with commands that need not start Python and import everything."""
    with forked_programs(tmp_path_factory.mktemp("programs")) as folder:
        yield folder


WALKS = [TUTORIAL, *([page] for page in PAGES)]
each_walk = pytest.mark.parametrize(
    "pages",
    [
        pytest.param(
            pages,
            id=name_of(pages[0]),
            marks=[] if name_of(pages[0]) == "README.md" else [pytest.mark.slow],
        )
        for pages in WALKS
    ],
)


@each_walk
@pytest.mark.usefixtures("only_own_plugin")
def test_pages_say_what_happens(pages, programs, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    if importlib.util.find_spec("rclpy"):
        from ros_peer import ENVIRONMENT

        for name, value in ENVIRONMENT.items():
            monkeypatch.setenv(name, value)
    if needed := walk([page.read_text(encoding="utf-8") for page in pages], tmp_path):
        pytest.skip(f"the rest was done; not: {'; '.join(needed)}")


def steps_of_pages(pages):
    return [s for page in pages for s in steps_of(page.read_text(encoding="utf-8"))]


def test_files_of_pages_are_used_by_other_blocks():
    def check(pages):
        steps = steps_of_pages(pages)
        for step in (step for step in steps if step.file not in (None, *SETTINGS)):
            path = PurePath(step.file)
            names = path.parts[0], path.name.removesuffix(".py")
            others = [other.text for other in steps if other is not step]
            assert any(name in text for name in names for text in others), step.file

    check_each(WALKS, check)


def test_commands_that_are_never_run_are_understood():
    def check(pages):
        left_out = [step.text for step in steps_of_pages(pages) if step.left_out]
        for line in "\n".join(left_out).replace("\\\n", "").splitlines():
            if line.startswith(("hrp-model ", "hrp-sim ")):
                program, *arguments = shlex.split(line, comments=True)
                try:
                    PROGRAMS[program]._parser().parse(arguments)
                except SystemExit:
                    pytest.fail(f"not understood: {line}")

    check_each(WALKS, check)


RUN = "```bash\nprintf 'one\\ntwo 2.5\\n'\n```\n\n"


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (f"{RUN}```text\none\ntwo 2.4\n```\n", r"(?s)line 1: .*two 2\.5"),
        ("```bash\nfalse\ntrue\n```\n", "exit status 1"),
    ],
)
def test_another_output_or_exit_status_than_shown_is_an_error(tmp_path, page, message):
    walk([f"{RUN}```text\none\ntwo ...\n```\n"], tmp_path)
    with pytest.raises(WalkError, match=message):
        walk([page], tmp_path)
