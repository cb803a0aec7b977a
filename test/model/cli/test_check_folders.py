"""hrp-model check and urdf --verify of folders and of many files."""

import json
import os
import tracemalloc

import pytest
from arm_model import ARM, NEGATIVE_MASS, WITHOUT_MASS, write_model

from hrp_model.cli import check
from hrp_model.cli.check import candidate_files
from hrp_model.cli.main import main
from hrp_model.diagnostics import Diagnostics, Source
from hrp_model.program import console
from hrp_model.readers import file_kind as file_kinds
from hrp_model.readers.file_kind import FileKind, file_kind, is_world
from hrp_model.readers.yaml.tree import parse

ROBOT = '#VRML V2.0 utf8\nDEF R Humanoid { humanoidBody DEF B Joint { jointType "fixed" } }\n'
SCENERY = "#VRML V2.0 utf8\nShape { geometry Box { } }\n"
URDF = """<robot name="r"><link name="l"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></robot>"""
WORLD = "bodies:\n  - model: ../arm.body\n"
WRAPPER = "modelFile: arm.body\nlinkInfo: { }\n"


@pytest.fixture
def robots(tmp_path, monkeypatch):
    """A folder of models and of much else; it is the working directory."""
    files = {
        "arm.body": ARM,
        "arms/doubtful.body": WITHOUT_MASS,
        "arms/deep/er/robot.wrl": ROBOT,
        "arms/mesh.wrl": SCENERY,
        "arms/settings.yaml": "rate: 100\n",
        "arms/wrapper.yml": WRAPPER.replace("arm.body", "doubtful.body"),
        "bad.body": NEGATIVE_MASS,
        "body.yaml": ARM,
        "robot.urdf": URDF,
        "worlds/room.yaml": WORLD,
        ".hidden/bad.body": NEGATIVE_MASS,
        ".bad.body": NEGATIVE_MASS,
        "notes.txt": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_folder_means_all_models_below_it(robots, capsys):
    assert main(["check", "."]) == 1
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "bad.body: 1 error",
        "arms/doubtful.body: 1 warning",
        "arms/wrapper.yml: 1 warning",
        "7 models: 1 error, 2 warnings; skipped 1 world and 2 other files",
    ]
    assert err.startswith("bad.body:11:11: error: ")
    assert main(["check", "arms"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("3 models: 2 warnings; skipped 2")
    assert main(["check", "arms", "--strict"]) == 1


def test_models_can_be_named_by_files_and_folders_of_any_kind(robots, capsys):
    uri = (robots / "body.yaml").as_uri()
    assert main(["check", "arm.body", "arm.body", uri, str(robots / "arms"), "arms/"]) == 0
    *_, summary = capsys.readouterr().out.splitlines()
    assert summary.startswith("8 models: 4 warnings; skipped 4 other files")
    assert main(["check", "worlds"]) == 0
    assert capsys.readouterr().out == "no models: no problems; skipped 1 world\n"


def test_a_file_that_is_named_is_always_read(robots, capsys):
    assert main(["check", "arms/settings.yaml"]) == 1
    assert "[not-a-model]" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["check"], ["urdf", "--verify"]])
def test_an_empty_name_is_not_the_working_directory(arguments, robots, capsys):
    assert main([*arguments, ""]) == 1
    out, err = capsys.readouterr()
    assert "is a folder" in err
    assert "models" not in out


def test_a_folder_that_is_not_there_is_not_called_a_wrong_suffix(robots, capsys):
    assert main(["check", "amrs"]) == 1
    err = capsys.readouterr().err
    assert "cannot read 'amrs': No such file or directory [unreadable-file]" in err


def test_programs_get_one_document_with_the_sums(robots, capsys):
    expected = {
        "models": 7, "models_without_problems": 4, "errors": 1, "warnings": 2, "notes": 0,
        "ignored": 0, "in_baseline": 0, "skipped_worlds": 1, "skipped_files": 2,
    }  # fmt: skip
    assert main(["check", "--format", "json", "."]) == 1
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert (report["summary"], err) == (expected, "")
    assert [problem["model"] for problem in report["problems"]] == [
        "bad.body", "arms/doubtful.body", "arms/wrapper.yml",
    ]  # fmt: skip
    assert main(["check", "--format", "sarif", "."]) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["properties"]["summary"] == expected
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == sorted(rules)
    assert [rules[r["ruleIndex"]] for r in run["results"]] == [r["ruleId"] for r in run["results"]]


def test_links_to_folders_are_not_followed(robots, capsys):
    (robots / "arms" / "loop").symlink_to("..")
    (robots / "arms" / "endless.body").symlink_to("endless.body")
    (robots / "arms" / "lost.body").symlink_to("nowhere.body")
    (robots / "arms" / "again.body").symlink_to("doubtful.body")
    os.mkfifo(robots / "arms" / "pipe.body")
    assert main(["check", "arms"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("4 models: 3 warnings")


def test_a_folder_without_end_is_refused(robots, capsys, monkeypatch):
    monkeypatch.setattr(check, "_MAX_ENTRIES", 8)
    assert main(["check", "."]) == 2
    err = capsys.readouterr().err
    assert ". has more than 8 files and folders" in err
    assert "choose a smaller folder" in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_read_is_named(robots, capsys):
    (robots / "arms").chmod(0)
    assert main(["check", "."]) == 2
    assert "cannot use 'arms': Permission denied" in capsys.readouterr().err


def test_memory_does_not_grow_with_the_number_of_models(tmp_path, capsys):
    text = WITHOUT_MASS + 100 * f"# {'x' * 5000}\n"

    def peak(count):
        for number in range(count):
            write_model(tmp_path / str(count), text, f"{number}.body")
        tracemalloc.start()
        try:
            assert main(["check", "--format", "sarif", str(tmp_path / str(count))]) == 0
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(12) - peak(2) < 2 * len(text)


def test_a_long_check_shows_how_far_it_is(robots, capsys, monkeypatch):
    monkeypatch.setattr(console, "_DELAY", 0.0)
    assert main(["check", "--format", "json", "."]) == 1
    assert capsys.readouterr().err == "checking models: 10 ...\n"


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.wrl", ROBOT, FileKind.MODEL),
        ("a.wrl", "DEF A Joint\n{ }", FileKind.MODEL),
        ("a.wrl", SCENERY, FileKind.OTHER),
        ("a.wrl", "# Humanoid of a mesh\nShape { }", FileKind.OTHER),
        ("a.wrl", f"{' ' * (file_kinds._CHUNK - 4)}Humanoid {{ }}", FileKind.MODEL),
        ("A.YAML", ARM, FileKind.MODEL),
        ("a.yaml", "\ufeff'format' : 'ChoreonoidBody'\n", FileKind.MODEL),
        ("a.yaml", "{ format: ChoreonoidBody, links: [] }", FileKind.MODEL),
        ("a.yaml", WRAPPER, FileKind.MODEL),
        ("a.yaml", WORLD, FileKind.WORLD),
        ("a.yaml", "format: ChoreonoidScene\n", FileKind.OTHER),
        ("a.yaml", f"format: ChoreonoidBody\n{WORLD}", FileKind.MODEL),
        ("a.yaml", f"{WORLD}format: Other\n", FileKind.OTHER),
        ("a.yaml", f"all:\n  {WORLD}", FileKind.OTHER),
        ("a.yaml", "robot:\n  format: ChoreonoidBody\n", FileKind.OTHER),
        ("a.yaml", "", FileKind.OTHER),
        ("a.body", "", FileKind.MODEL),
        ("a.urdf", "", FileKind.MODEL),
    ],
)
def test_what_a_file_is(name, text, kind, tmp_path):
    path = tmp_path / name
    path.write_text(text)
    assert candidate_files(tmp_path, lambda _: False) == [path]
    assert file_kind(path) is kind
    if path.suffix.lower() == ".yaml":
        top = parse(Source(name, text.removeprefix("\ufeff")), Diagnostics(listener=print))
        assert is_world(top) is (kind is FileKind.WORLD)


def test_urdfs_of_a_folder_are_verified_in_turn(robots, capsys):
    pytest.importorskip("pinocchio", reason="pinocchio is not installed")
    assert main(["urdf", "--verify", "."]) == 1
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].startswith("arm.body: passed with ")
    assert lines[1] == "bad.body: not converted"
    assert "[negative-mass]" in err
    *_, summary = lines
    assert summary.startswith("7 models: ")
    assert "1 not converted" in summary
    assert summary.endswith("; skipped 1 world and 2 other files")
    before = sorted(robots.rglob("*"))
    assert main(["urdf", "--verify", "arm.body", "body.yaml"]) == 0
    assert capsys.readouterr().out.endswith("\n2 models: 2 passed\n")
    assert sorted(robots.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["arm.body", "body.yaml"], "--verify without outputs"),
        (["."], "--verify without outputs"),
        ([".", "--verify", "-o", "x.urdf"], "--verify without outputs"),
        ([".", "--verify", "--package", "x_description"], "--verify without outputs"),
        (["arm.body", "out.urdf"], "Did you mean '-o out.urdf'?"),
        (["arm.body", "robot.urdf"], "Did you mean '-o robot.urdf'?"),
    ],
)
def test_files_are_written_of_one_model_at_a_time(arguments, advice, robots, capsys):
    before = sorted(robots.rglob("*"))
    assert main(["urdf", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, advice in err) == ("", True)
    assert sorted(robots.rglob("*")) == before
