"""The script that measures models."""

import csv
from dataclasses import replace

import pytest

from scripts.pages import models
from scripts.pages.models import milliseconds
from scripts.program import read_list, run_program

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


LIST = """\
| directory | commit |
| --- | --- |
| some-one__some-robots | 0123abc |

| path | format |
| --- | --- |
| some-one__some-robots/parts/doubtful.body | body |
| some-one__some-robots/gone.body | body |
| own/notes.txt | text |
| own/broken.wrl | VRML97 |
"""


def test_a_list_names_models_and_commits(folder):
    assert read_list(LIST, folder) == (
        ["some-one__some-robots/parts/doubtful.body", "own/broken.wrl"],
        {"some-one__some-robots": "0123abc"},
    )


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


def test_a_table_names_what_fails(folder, tmp_path, monkeypatch, capsys, needs_libraries):
    honest = models.convert

    def wrong(*args, **kwargs):
        made = honest(*args, **kwargs)
        return replace(made, urdf=made.urdf.replace('<mass value="1.0"', '<mass value="1.1"'))

    monkeypatch.setattr(models, "convert", wrong)
    assert run(folder, "-o", str(tmp_path), "--verify", "--jobs", "1") == 0
    assert "0 of 2 pass with all libraries" in capsys.readouterr().out
    good = rows_of(tmp_path)["some-one/some-robots/good.body"]
    assert all("FAILED mass and inertia of links, FAILED total mass" in cell for cell in good[-2:])


def test_a_list_selects_models_and_states_their_sources(folder, tmp_path):
    (tmp_path / "list.md").write_text(LIST)
    options = ["--list", str(tmp_path / "list.md"), "--repeats", "1", "-o", str(tmp_path)]
    assert run(folder, *options) == 0
    assert rows_of(tmp_path, "sources")["some-one/some-robots"][1] == "0123abc"
    assert "some-one/some-robots/good.body" not in rows_of(tmp_path)


def test_a_folder_without_models_is_wrong_use(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        run(tmp_path)
    assert stop.value.code == 2
    assert "no models in" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.00123, "1.2"), (0.0451, "45"), (0.678, "680"), (12.34, "12000")]
)
def test_times_have_two_digits_that_count(seconds, shown):
    assert milliseconds(seconds) == shown
