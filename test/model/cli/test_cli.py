"""hrp-model: exit status, where output goes, and messages that help."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from arm_model import ARM, NEGATIVE_MASS, WITHOUT_MASS, write_model
from paths import ROOT

import hrp_model
from hrp_model.cli import check as module
from hrp_model.cli.main import main
from hrp_model.program.report import CODES


def test_check_locates_a_warning_and_strict_makes_it_an_error(model, capsys):
    path = model(WITHOUT_MASS)
    assert main(["check", path]) == 0
    out, err = capsys.readouterr()
    assert "1 warning" in out
    assert err.startswith(f"{path}:11:")
    assert "warning: link 'ARM' moves but has no mass [massless-link]" in err
    assert f"hint: {CODES['massless-link'].hint}" in err
    assert main(["check", "--strict", path]) == 1
    assert "error: link 'ARM' moves" in capsys.readouterr().err


def test_check_goes_through_all_files(model, tmp_path, capsys):
    good, bad = model(ARM), model(NEGATIVE_MASS, "bad.body")
    missing = str(tmp_path / "missing.body")
    assert main(["check", bad, missing, good]) == 1
    out, err = capsys.readouterr()
    assert "[negative-mass]" in err
    assert "missing.body" in err
    assert [line.split(": ")[-1] for line in out.splitlines()] == [
        "1 error",
        "1 error",
        "no problems",
        "2 errors",
    ]
    assert out.endswith("\n3 models: 2 errors\n")


def test_check_tells_in_one_run_what_readers_and_rules_find(model, capsys):
    text = NEGATIVE_MASS.replace("joint_id: 0", "joint_id: none").replace(
        "radius: 0.1", "radius: x"
    )
    assert main(["check", model(text)]) == 1
    err = capsys.readouterr().err
    assert err.count("[wrong-type]") == 2
    assert "[negative-mass]" in err


def test_check_says_nothing_of_what_a_broken_text_left_unread(model, capsys):
    text = '#VRML V2.0 utf8\nDEF A Humanoid { humanoidBody DEF W Joint { jointType "free" ] } }\n'
    assert main(["check", model(text, "arm.wrl")]) == 1
    err = capsys.readouterr().err
    assert "[syntax-error]" in err
    assert "[massless-link]" not in err


def test_notes_and_warnings_do_not_fail_a_check_but_one_error_does(model, capsys):
    doubtful, bad = model(WITHOUT_MASS), model(NEGATIVE_MASS, "bad.body")
    assert main(["check", doubtful]) == 0
    assert main(["check", doubtful, bad, doubtful]) == 1


def test_a_defect_of_a_reader_does_not_stop_the_other_files(model, capsys, monkeypatch):
    def fail(name, *args, **kwargs):
        if "bad" in name:
            raise ZeroDivisionError("no such luck")
        return load(name, *args, **kwargs)

    load = module.load_body
    monkeypatch.setattr(module, "load_body", fail)
    assert main(["check", model(ARM, "bad.body"), model(WITHOUT_MASS)]) == 1
    out, err = capsys.readouterr()
    assert [line.split(": ")[-1] for line in out.splitlines()] == [
        "1 error",
        "1 warning",
        "1 error, 1 warning",
    ]
    assert "ZeroDivisionError in test_cli.py:" in err
    assert "no such luck [internal-error]" in err


def test_check_as_json_is_for_programs(model, tmp_path, capsys):
    path, missing = model(WITHOUT_MASS), str(tmp_path / "missing.body")
    assert main(["check", "--format", "json", path, missing]) == 1
    out, err = capsys.readouterr()
    doubt, absence = json.loads(out)["problems"]
    assert err == ""
    assert (doubt["model"], doubt["file"], doubt["line"]) == (path, path, 11)
    assert (doubt["severity"], doubt["code"]) == ("warning", "massless-link")
    assert doubt["hint"] == CODES["massless-link"].hint
    assert (absence["model"], absence["file"], absence["line"]) == (missing, None, None)
    assert absence["severity"] == "error"


def test_check_as_sarif_is_for_code_hosts(model, tmp_path, capsys):
    """The parts of SARIF 2.1.0 that are required, and those that its readers ask for."""
    path, missing = model(NEGATIVE_MASS), tmp_path / "missing.body"
    assert main(["check", "--format", "sarif", path, str(missing)]) == 1
    log = json.loads(capsys.readouterr().out)
    assert (log["version"], log["$schema"][:8]) == ("2.1.0", "https://")
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert run["tool"]["driver"]["name"] == "hrp-model"
    assert [rule["id"] for rule in rules] == ["negative-mass", "unreadable-file"]
    for rule in rules:
        assert rule["shortDescription"]["text"] == CODES[rule["id"]].meaning
        assert rule["help"]["text"] == CODES[rule["id"]].hint
    mass, absence = run["results"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] == "error"
        assert result["message"]["text"]
    place = mass["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == Path(path).as_uri()
    assert place["region"]["startLine"] == 11
    assert place["region"]["endLine"] >= 11
    place = absence["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": missing.as_uri()}}


def test_check_as_sarif_of_a_good_model_is_a_whole_log(model, capsys):
    assert main(["check", "--format", "sarif", model(ARM)]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["results"] == run["tool"]["driver"]["rules"] == []


def test_check_explains_every_code(capsys):
    assert main(["check", "--list-codes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == list(CODES)


def test_check_in_a_sandbox_refuses_what_is_outside(model, tmp_path, capsys):
    shape = "geometry: { type: Cone, radius: 0.1, height: 0.2 }"
    elsewhere = "geometry: { type: Resource, uri: ../shapes/arm.obj }"
    (tmp_path / "robot").mkdir()
    (tmp_path / "shapes").mkdir()
    (tmp_path / "shapes" / "arm.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    path = model(ARM.replace(shape, elsewhere), "robot/arm.body")
    assert main(["check", path]) == 0
    capsys.readouterr()
    assert main(["check", "--sandbox", path]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"{path}:23:")
    assert "error: cannot use '../shapes/arm.obj': " in err
    assert "[outside-sandbox]" in err
    assert main(["check", "--sandbox", "--allow", str(tmp_path / "shapes"), path]) == 0


def test_only_folders_can_be_allowed(model, tmp_path, capsys):
    assert main(["check", "--allow", str(tmp_path / "nothing"), model(ARM)]) == 2
    assert "the folder does not exist" in capsys.readouterr().err


def test_dump_prints_json_that_follows_the_schema(model, tmp_path, capsys):
    poses = tmp_path / "poses.json"
    poses.write_text('[{"q": {"ARM": 0.5}}, {"root_p": [1, 2, 3]}]')
    assert main(["dump", model(ARM), "--poses", str(poses)]) == 0
    data = json.loads(capsys.readouterr().out)
    schema = json.loads((ROOT / "docs" / "dump-schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(data, schema)
    assert data["model_name"] == "arm"
    assert data["poses"][0]["q"] == {"ARM": 0.5}
    assert data["poses"][1]["p"]["BASE"] == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("{}", "list"),
        ("[3]", "posture 0"),
        ('[{"q": {"LEG": 1}}]', "no moving joint 'LEG'"),
        ('[{"q": {"ARM": "up"}}]', "up"),
        ('[{"q": {"ARM": NaN}}]', "finite"),
        ('[{"q": ["ARM"]}]', '"q" must map joint names'),
        ('[{"root_p": [1, 2]}]', "posture 0: root_p must have shape (3,), got (2,)"),
        ('[{"root_R": [[2, 0, 0], [0, 1, 0], [0, 0, 1]]}]', "not a rotation"),
        ('[{"root_R": [[-1, 0, 0], [0, 1, 0], [0, 0, 1]]}]', "not a rotation"),
        ('[{"rootP": [1, 2, 3]}]', "posture 0"),
        (f'[{{"q": {{"ARM": 1{"0" * 400}}}}}]', "posture 0"),
        (f'[{{"root_p": [1{"0" * 400}, 0, 0]}}]', "posture 0"),
        ("[" * 100_000, "nested too deep"),
        (None, "cannot read"),
    ],
)
def test_unusable_postures_are_wrong_use(text, words, model, tmp_path, capsys):
    poses = tmp_path / "poses.json"
    if text is not None:
        poses.write_text(text)
    assert main(["dump", model(ARM), "--poses", str(poses)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err


def test_tree_shows_links_joints_and_devices(model, capsys):
    assert main(["tree", model(ARM)]) == 0
    out = capsys.readouterr().out
    lines = [line.strip("│└├─ \n") for line in out.splitlines()]
    assert lines[0] == "arm  2 links, 1 moving joint, 1 device, 3 kg"
    assert lines[1] == "BASE  fixed  2 kg"
    assert lines[2] == "ARM  revolute id 0 axis y [-90°, 90°]  1 kg"
    assert lines[3] == "wrist  ForceSensor id 0"


def test_a_dump_of_absurd_numbers_is_refused(tmp_path, capsys):
    text = ARM.replace("radius: 0.1", "radius: 1e308")
    assert main(["dump", write_model(tmp_path, text)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "too large to be calculated with" in err


def test_the_tree_of_a_long_chain_grows_with_its_links(tmp_path, capsys):
    lengths = []
    for count in (200, 400):
        links = "".join(
            f"  - {{ name: L{i}{f', parent: L{i - 1}' if i else ''} }}\n" for i in range(count)
        )
        head = "format: ChoreonoidBody\nformat_version: 2.0\nname: chain\nlinks:\n"
        assert main(["tree", write_model(tmp_path, head + links)]) == 0
        out = capsys.readouterr().out
        assert all(f" L{i} " in out for i in range(count))
        lengths.append(len(out))
    assert "L398" in out.splitlines()[-1].split("parent")[1]
    assert lengths[1] < 2.5 * lengths[0]


@pytest.mark.parametrize("command", ["check", "dump", "urdf", "tree"])
@pytest.mark.parametrize("name", ["nothing", "n" * 5000])
def test_a_missing_model_is_one_located_message(command, name, tmp_path, capsys):
    path = str(tmp_path / f"{name}.body")
    assert main([command, path]) == 1
    err = capsys.readouterr().err
    assert path[:1000] in err
    assert "[unreadable-file]" in err


@pytest.mark.parametrize("arguments", [["check"], ["paint", "x"], ["tree", "--colour", "x"]])
def test_wrong_use_is_one_line_and_says_how_to_get_help(arguments, capsys):
    assert main(arguments) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert ": error: " in error
    _, command, _ = hint.split("'")
    assert main(command.split()[1:]) == 0


@pytest.mark.parametrize("arguments", [[], ["--help"], *([c, "-h"] for c in ("check", "urdf"))])
def test_help_is_printed_when_asked_for_and_without_a_command(arguments, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: hrp-model")
    assert not re.search(r"[\w/]-$", out, re.MULTILINE)  # no path, program or option is broken


def test_a_reader_that_leaves_early_is_no_problem(model, tmp_path):
    """As in ``hrp-model dump x.body | head -1``."""
    many = ARM + "".join(
        f"  - {{ name: L{i}, parent: ARM, mass: 1, inertia: [1,0,0,0,1,0,0,0,1] }}\n"
        for i in range(300)
    )
    command = [sys.executable, "-m", "hrp_model.cli.main", "dump", model(many)]
    environment = {**os.environ, "PYTHONPATH": str(Path(hrp_model.__file__).parents[1])}
    errors = tmp_path / "errors.txt"
    with (
        errors.open("wb") as stderr,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=stderr, env=environment
        ) as process,
    ):
        assert process.stdout.read(1) == b"{"
        process.stdout.close()
    assert process.returncode == 0
    assert errors.read_text() == ""


def test_parts_of_a_model_are_named_as_the_model_is(model, tmp_path, capsys, monkeypatch):
    model(NEGATIVE_MASS, "parts/arm.body")
    path = model(
        "format: ChoreonoidBody\nlinks: [{ type: SubBody, uri: parts/arm.body }]\n", "a.body"
    )
    monkeypatch.chdir(tmp_path)
    assert main(["check", "a.body"]) == 1
    assert "\nparts/arm.body:11:11: error: " in capsys.readouterr().err
    assert main(["check", path]) == 1
    assert f"\n{tmp_path / 'parts' / 'arm.body'}:11:11: error: " in capsys.readouterr().err


def test_a_hint_is_not_repeated(model, capsys):
    text = WITHOUT_MASS.replace("height: 0.2", "height: 0.2, wheels: 4, wings: 2")
    assert main(["check", model(text)]) == 0
    err = capsys.readouterr().err
    assert err.count("[unknown-key]") == 2
    assert err.count(CODES["unknown-key"].hint) == 1
    assert err.count(CODES["massless-link"].hint) == 1


MANY = "".join(f", key{chr(97 + i)}zz: 0" for i in range(8))


def test_many_problems_of_a_kind_are_folded(model, capsys):
    path = model(WITHOUT_MASS.replace("height: 0.2", f"height: 0.2{MANY}"))
    assert main(["check", path]) == 0
    out, err = capsys.readouterr()
    assert out == f"{path}: 9 warnings\n"
    assert err.count("warning: ") == 6
    assert "[massless-link]" in err
    assert err.splitlines()[-1] == "and 3 more [unknown-key]: 'hrp-model check --all' shows them"
    assert main(["check", "--all", path]) == 0
    err = capsys.readouterr().err
    assert err.count("warning: ") == 9
    assert "more [" not in err
    assert main(["check", "--format", "json", path]) == 0
    assert len(json.loads(capsys.readouterr().out)["problems"]) == 9
    assert main(["check", "--format", "sarif", path]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert len(run["results"]) == 9
