"""Tables of the documentation."""

import csv
import re

import pytest
from paths import ROOT

ROS2_PAGES = "".join(
    page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob("ros2*.md"))
)
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]\d+)?")
NEEDS_ROS2 = re.compile(r"\bneeds (.* )?ros2\b")  # in the comment before a block


def data_rows(name):
    """Return the rows of a generated table, docs/data/NAME.csv, without its headings."""
    with (ROOT / "docs" / "data" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def headed_rows(name):
    """Return the rows of a generated table as dictionaries by heading."""
    with (ROOT / "docs" / "data" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def marked_rows(text, name):
    """Return the cells of the table rows between two marks in the text of a page."""
    [found] = re.findall(rf"<!-- {name}: .*?-->\n(.*?)<!-- end of {name} -->", text, re.DOTALL)
    lines = [line for line in found.splitlines() if line.startswith("| ")][2:]
    return [line.strip("| ").split(" | ") for line in lines]


def same(found, written, negligible=1e-7):
    """Whether two cells agree: text exactly, numbers within a tenth, or both below rounding."""
    if NUMBER.sub("#", found) != NUMBER.sub("#", written):
        return False
    pairs = zip(NUMBER.findall(found), NUMBER.findall(written), strict=True)
    return all(float(a) == pytest.approx(float(b), rel=0.1, abs=negligible) for a, b in pairs)
