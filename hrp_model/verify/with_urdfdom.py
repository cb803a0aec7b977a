"""A URDF as read by urdfdom, ROS's own parser, through its program check_urdf."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from math import inf
from pathlib import Path

from .expected import Expected
from .report import LOADS, Differences, Outcome, Row, failure

LIBRARY = "check_urdf"
_TIMEOUT = 60.0  # [s]
_NOT_STARTED = (126, 127)  # exit statuses of loaders and shells
_ROOT = re.compile(r"^root Link: (.*) has (\d+) child\(ren\)$")
_CHILD = re.compile(r"^(\s*)child\(\d+\):  (.*)$")
_INDENT = 4


def check_urdf_program() -> str | None:
    """Return the path of check_urdf, from PATH or beside the Python interpreter; or None."""
    beside = str(Path(sys.executable).parent)
    return shutil.which("check_urdf") or shutil.which("check_urdf", path=beside)


def urdfdom_rows(program: str, urdf: Path, expected: Expected) -> Iterator[Row]:
    """Yield the rows of check_urdf.

    Args:
        program: Path of check_urdf.
        urdf: The file.
        expected: Values of the Body.
    """
    try:
        done = subprocess.run(
            [program, str(urdf)],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_TIMEOUT,
        )
    except OSError as error:
        yield _cannot_start(str(error))
        return
    except subprocess.TimeoutExpired as error:
        yield failure(LIBRARY, LOADS, str(error))
        return
    errors = [line for line in done.stderr.splitlines() if line.strip()]
    if done.returncode in _NOT_STARTED:
        yield _cannot_start("; ".join(errors[:5]) or f"exit status {done.returncode}")
        return
    loads = Differences(LIBRARY, LOADS, 0.0)
    if done.returncode:
        loads.add(inf, f"exit status {done.returncode}: {'; '.join(errors[:5])}")
    else:
        loads.add(inf if errors else 0.0, "; ".join(errors[:5]))
    yield loads.row()
    if done.returncode == 0:
        tree = Differences(LIBRARY, "links and their parents", 0.0)
        _compare_trees(tree, done.stdout, expected)
        yield tree.row()


def _cannot_start(reason: str) -> Row:
    return Row(LIBRARY, "", Outcome.UNUSABLE, reason=f"cannot be started: {reason}")


def _compare_trees(differences: Differences, output: str, expected: Expected) -> None:
    seen, root = _printed_tree(output)
    if root != expected.frames.root:
        differences.add(inf, f"the root is '{root}', not '{expected.frames.root}'")
    differences.names(seen, expected.parents, "link")
    for child in seen.keys() & expected.parents.keys():
        if seen[child] != expected.parents[child]:
            differences.add(inf, f"the parent of link '{child}' is '{seen[child]}'")


def _printed_tree(output: str) -> tuple[dict[str, str], str]:
    """Return the parent of each link, and the root, from the indented tree it prints."""
    parents: dict[str, str] = {}
    above: list[str] = []
    for line in output.splitlines():
        if root := _ROOT.match(line):
            above = [root.group(1)]
        elif child := _CHILD.match(line):
            depth = len(child.group(1)) // _INDENT
            parents[child.group(2)] = above[depth - 1]
            above[depth:] = [child.group(2)]
    return parents, above[0] if above else ""
