"""What pages say is what happens: they are walked, block by block."""

import importlib.util
import os
import re
import shlex
from pathlib import PurePath

import pytest
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
RUN = """
```bash
printf 'one\\ntwo 2.5\\n'
```
"""


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
each_page = pytest.mark.parametrize("pages", WALKS, ids=lambda pages: name_of(pages[0]))
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


@each_page
def test_files_of_pages_are_used_by_other_blocks(pages):
    steps = [s for page in pages for s in steps_of(page.read_text(encoding="utf-8"))]
    for step in (step for step in steps if step.file not in (None, *SETTINGS)):
        path = PurePath(step.file)
        names = path.parts[0], path.name.removesuffix(".py")
        others = [other.text for other in steps if other is not step]
        assert any(name in text for name in names for text in others), step.file


@each_page
def test_commands_that_are_never_run_are_understood(pages):
    steps = [s for page in pages for s in steps_of(page.read_text(encoding="utf-8"))]
    text = "\n".join(step.text for step in steps if step.left_out).replace("\\\n", "")
    for line in text.splitlines():
        if line.startswith(("hrp-model ", "hrp-sim ")):
            program, *arguments = shlex.split(line, comments=True)
            PROGRAMS[program]._parser().parse(arguments)  # exits on what it does not understand


def test_files_are_written_for_the_commands(tmp_path):
    file, command = "```yaml\n# sub/a.yaml\nx: 1\n```\n", "```bash\ngrep x: sub/a.yaml\n```\n"
    walk([f"{file}\n{command}\n```text\nx: 1\n```\n"], tmp_path)
    assert (tmp_path / "sub" / "a.yaml").read_text() == "# sub/a.yaml\nx: 1\n"


@pytest.mark.parametrize("shown", ["one\ntwo 2.5\n", "one\ntwo ...\n", "...\ntwo 2.5\n"])
def test_what_is_shown_may_leave_out_parts(tmp_path, shown):
    walk([f"{RUN}\n```text\n{shown}```\n"], tmp_path)


@pytest.mark.parametrize("shown", ["one\n", "one\ntwo 2.4\n", "two ...\n"])
def test_another_output_than_shown_is_an_error(tmp_path, shown):
    with pytest.raises(WalkError, match=r"(?s)line 2: .*two 2\.5"):
        walk([f"{RUN}\n```text\n{shown}```\n"], tmp_path)


@pytest.mark.parametrize(
    "page",
    [
        "```bash\nfalse\n```\n",
        "```bash\nfalse\ntrue\n```\n",
        "```python\n1 / 0\n```\n",
        "<!-- walk: fails -->\n```bash\ntrue\n```\n",
        "```yaml\n# ../outside.yaml\n```\n",
        "<!-- walk: until printed -->\n```bash\necho other\n```\n\n```text\nready\n```\n",
    ],
)
def test_what_fails_is_an_error(tmp_path, page):
    with pytest.raises(WalkError):
        walk([page], tmp_path)


def test_commands_without_end_are_interrupted_once_they_have_printed(tmp_path):
    command = "<!-- walk: until printed -->\n```bash\necho ready; exec sleep 600\n```\n"
    walk([f"{command}\n```text\nready\n```\n"], tmp_path)


def test_a_command_runs_beside_the_rest_and_ends_with_it(tmp_path):
    command = "```bash\necho $$ > pid; echo ready; exec sleep 600\n```\n"
    beside = f"<!-- walk: beside, needs bash -->\n{command}"
    walk([f"{beside}\n```text\nready\n```\n\n```bash\nkill -0 $(cat pid)\n```\n"], tmp_path)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.parametrize("how", ["until printed", "beside"])
def test_a_command_that_fails_on_ctrl_c_is_an_error(tmp_path, how):
    command = "trap 'exit 3' INT; echo ready; while :; do :; done"
    page = f"<!-- walk: {how} -->\n```bash\n{command}\n```\n\n```text\nready\n```\n"
    with pytest.raises(WalkError, match=r"exit status 3\n"):
        walk([page], tmp_path)


@pytest.mark.parametrize("how", ["until printd", "skip", "need bash", "beside needs bash"])
def test_an_unknown_comment_is_an_error(tmp_path, how):
    with pytest.raises(WalkError, match=f"line 2: unknown comment 'walk: {how}'"):
        walk([f"<!-- walk: {how} -->\n```bash\ntrue\n```\n"], tmp_path)


def test_what_a_step_needs_is_looked_for():
    page = "<!-- walk: needs no-such-program -->\n```bash\nno-such-program\n```\n"
    (step,) = steps_of(page)
    assert missing(step) == "needs no-such-program"
    (step,) = steps_of(page.replace("walk: needs", "walk: beside, needs"))
    assert missing(step) == "needs no-such-program"
    (step,) = steps_of(page.replace("no-such-program", "numpy"))
    assert missing(step) == ""


def test_each_line_is_a_command_that_may_be_interrupted(tmp_path):
    lines = "echo >> lines; echo ready; exec sleep 600\necho other; \\\n    echo >> lines\n"
    walk([f"<!-- walk: each until ready -->\n```bash\n{lines}{lines}```\n"], tmp_path)
    assert (tmp_path / "lines").read_text() == 4 * "\n"


@pytest.mark.parametrize("line", ["false", "trap 'exit 3' INT; echo ready; while :; do :; done"])
def test_each_line_must_succeed_or_end_by_ctrl_c(tmp_path, line):
    with pytest.raises(WalkError, match=r"exit status [13]\n"):
        walk([f"<!-- walk: each until ready -->\n```bash\n{line}\ntrue\n```\n"], tmp_path)


def test_python_may_continue(tmp_path):
    first, second = "```python\nx = 1\nprint(x)\n```\n", "```python\nprint(x + 1)\n```\n"
    shown = "\n```text\n{}\n```\n"
    page = f"{first}\n```bash\ntrue\n```\n\n<!-- walk: continues -->\n{second}{shown}"
    walk([page.format(2)], tmp_path)
    page = f"{first}{shown}<!-- walk: continues -->\n{second}"
    walk([page.format(1)], tmp_path)
    with pytest.raises(WalkError, match="the page shows"):
        walk([page.format(3)], tmp_path)


def test_an_excerpt_stands_in_its_file(tmp_path):
    file = "test/support/page_walk.py"
    page = f"  <!-- walk: from {file} -->\n  ```python\n  class WalkError({{}}):\n  ```\n"
    walk([page.format("Exception")], tmp_path)
    with pytest.raises(WalkError, match=r"not in 'test/support/page_walk\.py'"):
        walk([page.format("Error")], tmp_path)


@pytest.mark.parametrize("block", ["```\nls\n```\n", "```text\nout\n```\n", "```yaml\nx: 1\n```\n"])
def test_a_block_that_is_not_walked_needs_a_reason(tmp_path, block):
    with pytest.raises(WalkError, match=r"line 1: .* neither run nor written"):
        walk([block], tmp_path)
    walk([f"<!-- walk: skip it has one -->\n{block}"], tmp_path)
