"""The script that writes the page of models."""

import importlib.util
import sys
from dataclasses import replace

import pytest
from paths import ROOT

BOX = "links: [ { name: BOX, joint_type: free, mass: 1, %s elements: [ { type: Shape, %s } ] } ]"
SHAPE = "geometry: { type: Box, size: [ 1, 1, 1 ] }"
INERTIA = "inertia: [ 0.2, 0, 0, 0, 0.2, 0, 0, 0, 0.2 ],"
HEADER = "format: ChoreonoidBody\nformat_version: 2.0\nname: box\n"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("model_table", ROOT / "scripts/model_table.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


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


def test_a_list_names_models_and_commits(script, folder):
    assert script.read_list(LIST, folder) == (
        ["some-one__some-robots/parts/doubtful.body", "own/broken.wrl"],
        {"some-one__some-robots": "0123abc"},
    )


def test_a_page_has_a_row_for_each_model(script, folder, tmp_path):
    out = tmp_path / "models.md"
    assert script.main([str(folder), "-o", str(out), "--repeats", "1"]) == 0
    text = out.read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if ".body |" in line or ".wrl |" in line]
    broken, good, doubtful = (row.strip("| ").split(" | ") for row in rows)
    assert good[:5] == ["good.body", "yes", "1", "0", "0"]
    assert doubtful[:2] == ["parts/doubtful.body", "yes"]
    assert doubtful[5] == "default-inertia"
    assert broken[:2] == ["broken.wrl", "no: unexpected-end"]
    assert "3 published models: 2 load, and 1 of these\nwithout a warning" in text
    assert "| default-inertia | 1 | 1 |" in text
    assert str(tmp_path) not in text


FLAT = "geometry: { type: Box, size: [ 1, 1, 0 ] }"


@pytest.fixture
def needs_libraries():
    for module in ("pinocchio", "yourdfpy", "mujoco"):
        pytest.importorskip(module, reason=f"{module} reads URDFs independently of us")


def test_a_page_tells_what_independent_libraries_say(script, folder, tmp_path, needs_libraries):
    (folder / "own" / "flat.body").write_text(HEADER + BOX % (INERTIA, FLAT))
    out = tmp_path / "models.md"
    assert script.main([str(folder), "-o", str(out), "--verify", "--jobs", "1"]) == 0
    text = out.read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if ".body |" in line or ".wrl |" in line]
    broken, flat, good, _ = ([x.strip() for x in row.strip("|").split("|")] for row in rows)
    assert broken[-3:] == [""] * 3
    for numbers in good[-3:]:
        assert all(float(number) <= 1e-6 for number in numbers.split(", "))
    assert "(flat shape)" in flat[-1]
    assert "* flat shape: a box" in text
    assert "* flat mesh" not in text
    assert "3 of 3 pass with all of them" in text
    assert "| pinocchio | yourdfpy | MuJoCo |" in text


def test_a_page_names_what_fails(script, folder, tmp_path, monkeypatch, needs_libraries):
    honest = script.convert

    def wrong(*args, **kwargs):
        made = honest(*args, **kwargs)
        return replace(made, urdf=made.urdf.replace('<mass value="1.0"', '<mass value="1.1"'))

    monkeypatch.setattr(script, "convert", wrong)
    out = tmp_path / "models.md"
    assert script.main([str(folder), "-o", str(out), "--verify", "--jobs", "1"]) == 0
    text = out.read_text(encoding="utf-8")
    assert "0 of 2 pass with all of them" in text
    assert "FAILED mass and inertia of links, FAILED total mass" in text


def test_a_page_names_its_sources(script, folder, tmp_path, capsys):
    (tmp_path / "list.md").write_text(LIST)
    assert script.main([str(folder), "--list", str(tmp_path / "list.md"), "--repeats", "1"]) == 0
    text = capsys.readouterr().out
    link = "## [some-one/some-robots](https://github.com/some-one/some-robots)\n\nCommit 0123abc."
    assert link in text
    assert "good.body" not in text


def test_a_folder_without_models_is_wrong_use(script, tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        script.main([str(tmp_path)])
    assert stop.value.code == 2
    assert "no models in" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.00123, "1.2"), (0.0451, "45"), (0.678, "680"), (12.34, "12000")]
)
def test_times_have_two_digits_that_count(script, seconds, shown):
    assert script._milliseconds(seconds) == shown
