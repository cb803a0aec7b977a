"""hrp-model: exit status, where output goes, and messages that help."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from paths import ROOT

import hrp_model
from hrp_model import report
from hrp_model.cli import main
from hrp_model.diagnostics import Diagnostic, Severity, Source, Span

ARM = """\
format: ChoreonoidBody
format_version: 2.0
angle_unit: degree
name: arm
root_link: BASE
links:
  - name: BASE
    joint_type: fixed
    mass: 2.0
    inertia: [ 1, 0, 0, 0, 1, 0, 0, 0, 1 ]
  - name: ARM
    parent: BASE
    translation: [ 0, 0, 0.5 ]
    joint_type: revolute
    joint_id: 0
    joint_axis: [ 0, 1, 0 ]
    joint_range: [ -90, 90 ]
    mass: 1.0
    center_of_mass: [ 0.1, 0, 0 ]
    inertia: [ 0.1, 0, 0, 0, 0.1, 0, 0, 0, 0.1 ]
    elements:
      - type: Shape
        geometry: { type: Cone, radius: 0.1, height: 0.2 }
      - type: ForceSensor
        name: wrist
        id: 0
"""
WITHOUT_MASS = ARM.replace("    mass: 1.0\n", "    mass: 0.0\n")
NEGATIVE_MASS = ARM.replace("    mass: 1.0\n", "    mass: -1.0\n")


@pytest.fixture
def model(tmp_path):
    def write(text, name="arm.body"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def test_check_of_a_good_model_says_so(model, capsys):
    path = model(ARM)
    assert main(["check", path]) == 0
    out, err = capsys.readouterr()
    assert out == f"{path}: no problems\n"
    assert err == ""


def test_check_locates_a_warning_and_strict_makes_it_an_error(model, capsys):
    path = model(WITHOUT_MASS)
    assert main(["check", path]) == 0
    out, err = capsys.readouterr()
    assert "1 warning" in out
    assert err.startswith(f"{path}:11:")
    assert "warning: link 'ARM' moves but has no mass [massless-link]" in err
    assert f"hint: {report.HINTS['massless-link']}" in err
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
    ]


def test_check_as_json_is_for_programs(model, capsys):
    path = model(WITHOUT_MASS)
    assert main(["check", "--format", "json", path]) == 0
    out, err = capsys.readouterr()
    (found,) = json.loads(out)
    assert err == ""
    assert (found["file"], found["line"]) == (path, 11)
    assert (found["severity"], found["code"]) == ("warning", "massless-link")


def test_check_as_sarif_is_for_code_hosts(model, capsys):
    path = model(NEGATIVE_MASS)
    assert main(["check", "--format", "sarif", path]) == 1
    log = json.loads(capsys.readouterr().out)
    (run,) = log["runs"]
    (result,) = run["results"]
    assert log["version"] == "2.1.0"
    assert result["level"] == "error"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "negative-mass"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == Path(path).as_uri()
    assert place["region"]["startLine"] == 11


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
        ('[{"q": {"LEG": 1}}]', "no joint 'LEG'"),
        ('[{"q": {"ARM": "up"}}]', "up"),
        ('[{"q": {"ARM": NaN}}]', "finite"),
        ('[{"q": ["ARM"]}]', '"q" must name joints'),
        ('[{"root_p": [1, 2]}]', "posture 0: root_p must have shape (3,), got (2,)"),
        ('[{"root_R": [[2, 0, 0], [0, 1, 0], [0, 0, 1]]}]', "no rotation"),
        ('[{"root_R": [[-1, 0, 0], [0, 1, 0], [0, 0, 1]]}]', "no rotation"),
        ('[{"rootP": [1, 2, 3]}]', "posture 0"),
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


def test_urdf_goes_to_stdout_or_beside_its_meshes(model, tmp_path, capsys):
    path = model(ARM)
    out = tmp_path / "out" / "arm.urdf"
    assert main(["urdf", path, "-o", str(out)]) == 0
    assert capsys.readouterr().out == ""
    robot = ElementTree.parse(out).getroot()
    assert robot.get("name") == "arm"
    meshes = [m.get("filename") for m in robot.iter("mesh")]
    assert meshes
    assert all(uri.startswith((out.parent / "meshes").as_uri()) for uri in meshes)
    assert sorted(p.name for p in out.parent.iterdir()) == ["arm.urdf", "meshes"]
    assert main(["urdf", path]) == 0
    assert ElementTree.fromstring(capsys.readouterr().out).get("name") == "arm"


def test_urdf_names_meshes_by_the_package_around_them(model, tmp_path, capsys):
    path = model(ARM)
    meshes = tmp_path / "my_robot" / "parts" / "meshes"
    assert main(["urdf", path, "--mesh-dir", str(meshes), "--mesh-uri", "package"]) == 2
    assert "no package.xml in or above" in capsys.readouterr().err
    (tmp_path / "my_robot").mkdir(exist_ok=True)
    manifest = "<package format='3'><name>my_robot</name></package>"
    (tmp_path / "my_robot" / "package.xml").write_text(manifest)
    assert main(["urdf", path, "--mesh-dir", str(meshes), "--mesh-uri", "package"]) == 0
    robot = ElementTree.fromstring(capsys.readouterr().out)
    uris = [m.get("filename") for m in robot.iter("mesh")]
    assert uris
    assert all(uri.startswith("package://my_robot/parts/meshes/") for uri in uris)


def test_urdf_that_cannot_be_written_is_one_message(model, tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    assert main(["urdf", model(ARM), "-o", str(tmp_path / "file" / "arm.urdf")]) == 2
    err = capsys.readouterr().err
    assert "cannot write" in err
    assert len(err.splitlines()) == 1


def test_a_folder_in_the_way_is_called_by_its_own_name(model, tmp_path, capsys):
    (tmp_path / "arm.urdf").mkdir()
    assert main(["urdf", model(ARM), "-o", str(tmp_path / "arm.urdf")]) == 2
    expected = f"hrp-model: error: cannot write {tmp_path / 'arm.urdf'}: Is a directory\n"
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize("command", ["check", "dump", "urdf", "tree"])
def test_a_missing_model_is_one_located_message(command, tmp_path, capsys):
    path = str(tmp_path / "nothing.body")
    assert main([command, path]) == 1
    err = capsys.readouterr().err
    assert path in err
    assert "Traceback" not in err


@pytest.mark.parametrize("arguments", [[], ["check"], ["paint", "x"], ["tree", "--colour", "x"]])
def test_wrong_use_explains_the_usage(arguments, capsys):
    assert main(arguments) == 2
    assert "usage: hrp-model" in capsys.readouterr().err


@pytest.mark.parametrize("command", [[], ["check"], ["dump"], ["urdf"], ["tree"]])
def test_every_command_has_help(command, capsys):
    assert main([*command, "--help"]) == 0
    assert "usage: hrp-model" in capsys.readouterr().out


def test_a_reader_that_leaves_early_is_no_problem(model, tmp_path):
    """As in ``hrp-model dump x.body | head -1``."""
    many = ARM + "".join(
        f"  - {{ name: L{i}, parent: ARM, mass: 1, inertia: [1,0,0,0,1,0,0,0,1] }}\n"
        for i in range(300)
    )
    command = [sys.executable, "-m", "hrp_model.cli", "dump", model(many)]
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


def test_a_message_points_at_the_text():
    source = Source("a.body", "links:\n\t- mas: 1\n")
    found = Diagnostic(Severity.WARNING, "unknown-key", "'mas' is not used", Span(source, 10, 13))
    assert report.text_report(found).splitlines() == [
        "a.body:2:4: warning: 'mas' is not used [unknown-key]",
        "    2 | \t- mas: 1",
        "      | \t  ^^^",
    ]


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\u2028", "\r"])
def test_only_a_newline_ends_the_line_that_is_shown(separator):
    source = Source("a.body", f"# {separator}\nlinks:\r\n")
    found = Diagnostic(Severity.WARNING, "unknown-key", "no", Span(source, 4, 9))
    assert report.text_report(found).splitlines()[1:] == ["    2 | links:", "      | ^^^^^"]


def test_problems_are_listed_from_top_to_bottom_of_each_file():
    a, b = Source("a.body", "1\n2\n"), Source("b.body", "1\n2\n")
    places = [Span(a, 2, 3), Span(b, 2, 3), Span(a, 0, 1), None, Span(b, 0, 1)]
    found = [Diagnostic(Severity.NOTE, "x", "m", at) for at in places]
    assert [str(d.at) for d in report.by_place(found)] == [
        *("a.body:1:1", "a.body:2:1", "b.body:1:1", "b.body:2:1", "None")
    ]


def test_every_hint_is_for_a_message_that_exists():
    package = Path(hrp_model.__file__).parent
    texts = [p.read_text(encoding="utf-8") for p in package.rglob("*.py") if p.name != "report.py"]
    unused = [code for code in report.HINTS if not any(f'"{code}"' in text for text in texts)]
    assert unused == []
