"""The tutorial, the guides and the reference, walked with the commands of ROS 2."""

import time
from contextlib import suppress

import pytest
from page_tools import NEEDS_ROS2
from page_walk import Walk, WalkError, missing, steps_of
from paths import ROOT

pytest.importorskip("rclpy", reason="ROS 2 is not importable")
from ros_peer import PATIENCE

DOCS = ROOT / "docs"
TUTORIAL = sorted((DOCS / "tutorial").glob("?-*.md"))


def steps(page):
    return steps_of(page.read_text(encoding="utf-8"))


def has_ros2(page):
    return NEEDS_ROS2.search(page.read_text(encoding="utf-8"))


def walks():
    """Return the pages that have commands of ROS 2, the tutorial as one."""
    others = [page for page in sorted(DOCS.rglob("*.md")) if page not in TUTORIAL]
    return [TUTORIAL, *([page] for page in others if has_ros2(page))]


def do(walk, step):
    """Do a step; commands of ROS 2 again until they succeed, since nodes take time to be known."""
    deadline = time.monotonic() + (PATIENCE if NEEDS_ROS2.search(step.how) else 0.0)
    while time.monotonic() < deadline:
        with suppress(WalkError):
            return walk.do(step)
    return walk.do(step)


@pytest.mark.parametrize("pages", walks(), ids=lambda pages: pages[0].stem)
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("only_own_plugin")
def test_commands_of_pages_print_what_the_pages_show(pages, ros, tmp_path, monkeypatch):
    for name, value in ros.environment.items():
        monkeypatch.setenv(name, value)
    left_out = []
    with Walk(tmp_path) as walk:
        for step in (step for page in pages for step in steps(page)):
            if reason := missing(step):
                left_out.append(reason)
            else:
                do(walk, step)
    assert "needs ros2" not in left_out
