"""The script that measures models."""

import csv

import pytest

from scripts.program import run_program

BOX = "links: [ { name: BOX, joint_type: free, mass: 1, %s elements: [ { type: Shape, %s } ] } ]"
SHAPE = "geometry: { type: Box, size: [ 1, 1, 1 ] }"
INERTIA = "inertia: [ 0.2, 0, 0, 0, 0.2, 0, 0, 0, 0.2 ],"
HEADER = "format: ChoreonoidBody\nformat_version: 2.0\nname: box\n"


def rows_of(folder, name="models"):
    """Return the rows of a written table by their first cell."""
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return {row[0]: row for row in csv.reader(file)}


def run(*arguments):
    return run_program("pages", {"models": ""}, ["models", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "models"
    files = {
        "some-one__some-robots/good.body": HEADER + BOX % (INERTIA, SHAPE),
        "some-one__some-robots/parts/doubtful.body": HEADER + BOX % ("", SHAPE),
        "own/broken.wrl": "#VRML V2.0 utf8\nShape { geometry",
        "own/notes.txt": "no model",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_a_table_has_a_row_for_each_model(folder, tmp_path, capsys):
    assert run(folder, "-o", str(tmp_path), "--repeats", "1") == 0
    rows = rows_of(tmp_path)
    assert rows["some-one/some-robots/good.body"][1:5] == ["yes", "1", "0", "0"]
    doubtful = rows["some-one/some-robots/parts/doubtful.body"]
    assert (doubtful[1], doubtful[5]) == ("yes", "default-inertia")
    assert rows["own/broken.wrl"][1] == "no: unexpected-end"
    assert rows_of(tmp_path, "warnings")["default-inertia"] == ["default-inertia", "1", "1"]
    assert "3 models: 2 load, and 1 of these without a warning" in capsys.readouterr().out
    assert all(str(tmp_path) not in path.read_text() for path in tmp_path.glob("*.csv"))


FLAT = "geometry: { type: Box, size: [ 1, 1, 0 ] }"


@pytest.fixture
def needs_libraries():
    for module in ("pinocchio", "mujoco"):
        pytest.importorskip(module, reason=f"{module} reads URDFs independently of us")


def test_a_table_has_what_independent_libraries_find(folder, tmp_path, capsys, needs_libraries):
    (folder / "own" / "flat.body").write_text(HEADER + BOX % (INERTIA, FLAT))
    assert run(folder, "-o", str(tmp_path), "--verify", "--jobs", "1") == 0
    rows = rows_of(tmp_path)
    assert rows["model"][-2:] == ["pinocchio", "MuJoCo"]
    assert rows["own/broken.wrl"][-2:] == [""] * 2
    for numbers in rows["some-one/some-robots/good.body"][-2:]:
        assert all(float(number) <= 1e-6 for number in numbers.split(", "))
    assert "(flat shape)" in rows["own/flat.body"][-1]
    assert "3 of 3 pass with all libraries" in capsys.readouterr().out
