"""Settings and baselines of a project, by which problems of a check count."""

import json

import pytest
from arm_model import ARM, NEGATIVE_MASS, WITHOUT_MASS, write_model

from hrp_model.cli.check_settings import SettingsError, SettingsFinder, read_settings
from hrp_model.cli.main import main

DOUBTFUL = WITHOUT_MASS.replace("height: 0.2", "height: 0.2, colour: 1")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with two models; it is the working directory."""
    write_model(tmp_path, DOUBTFUL, "arm.body")
    write_model(tmp_path / "other", DOUBTFUL, "leg.body")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(capsys, *arguments):
    """Return the exit status, the codes that count by model, and the sums."""
    status = main(["check", "--format", "json", *arguments])
    out, err = capsys.readouterr()
    assert err == ""
    report = json.loads(out)
    found = {}
    for problem in report["problems"]:
        found.setdefault(problem["model"], []).append(problem["code"])
    return status, found, report["summary"]


BOTH = {
    "arm.body": ["massless-link", "unknown-key"],
    "other/leg.body": ["massless-link", "unknown-key"],
}


def test_without_settings_all_problems_count(project, capsys):
    status, found, summary = checked(capsys, ".")
    assert (status, found, summary["ignored"]) == (0, BOTH, 0)


@pytest.mark.parametrize(
    ("name", "header"), [(".hrp-model.toml", ""), ("pyproject.toml", "[tool.hrp-model]\n")]
)
def test_codes_are_ignored(name, header, project, capsys):
    (project / name).write_text(f'{header}ignore = ["massless-link"]\n')
    status, found, summary = checked(capsys, ".", "--strict")
    assert status == 1
    assert found == {"arm.body": ["unknown-key"], "other/leg.body": ["unknown-key"]}
    assert summary["ignored"] == 2
    (project / name).write_text(f'{header}ignore = ["massless-link", "unknown-key"]\n')
    assert checked(capsys, ".", "--strict")[:2] == (0, {})
    assert main(["check", "."]) == 0
    assert capsys.readouterr().out == "2 models: no problems; 4 problems ignored\n"


@pytest.mark.parametrize(
    "glob", ["leg.body", "other", "other/", "other/*", "**/leg.body", "./other"]
)
def test_codes_are_ignored_in_some_files(glob, project, capsys):
    (project / "pyproject.toml").write_text(
        f'[tool.hrp-model.per-file-ignores]\n"{glob}" = ["unknown-key"]\n'
    )
    _, found, _ = checked(capsys, "arm.body", "other")
    assert found == {**BOTH, "other/leg.body": ["massless-link"]}


def test_files_and_folders_are_excluded_unless_they_are_named(project, capsys):
    settings = project / ".hrp-model.toml"
    for glob in ("other", "leg.*", "other/leg.body", "o*/*", "**/other/*"):
        settings.write_text(f'exclude = ["{glob}"]\n')
        assert list(checked(capsys, ".")[1]) == ["arm.body"]
    assert list(checked(capsys, "other/leg.body")[1]) == ["other/leg.body"]


def test_the_nearest_settings_hold(project, capsys):
    (project / "pyproject.toml").write_text('[tool.hrp-model]\nignore = ["massless-link"]\n')
    (project / "other" / "pyproject.toml").write_text("[tool.other]\nignore = 1\n")
    assert checked(capsys, "other")[1] == {"other/leg.body": ["unknown-key"]}
    (project / "other" / ".hrp-model.toml").write_text('ignore = ["unknown-key"]\n')
    assert checked(capsys, ".")[1] == {
        "arm.body": ["unknown-key"],
        "other/leg.body": ["massless-link"],
    }


def test_settings_can_be_named_and_are_not_searched_in_a_sandbox(project, capsys):
    (project / ".hrp-model.toml").write_text('ignore = ["massless-link"]\n')
    assert checked(capsys, ".", "--sandbox")[1] == BOTH
    (project / "ours.toml").write_text('ignore = ["unknown-key"]\n')
    for arguments in ([], ["--sandbox"]):
        _, found, _ = checked(capsys, ".", "--config", "ours.toml", *arguments)
        assert found == {"arm.body": ["massless-link"], "other/leg.body": ["massless-link"]}
    assert main(["check", ".", "--config", "none.toml"]) == 2
    assert "cannot use 'none.toml': No such file" in capsys.readouterr().err


def test_errors_always_count(project, capsys):
    write_model(project, NEGATIVE_MASS, "bad.body")
    (project / ".hrp-model.toml").write_text('ignore = ["negative-mass", "massless-link"]\n')
    status, found, _ = checked(capsys, "bad.body")
    assert (status, found) == (1, {"bad.body": ["negative-mass"]})


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ('exclud = ["a"]\n', "1:1", "there is no setting 'exclud'. Did you mean 'exclude'?"),
        ('x = 1\n"ignroe" = []\n', "2:1", "there is no setting 'ignroe'. Did you mean 'ignore'?"),
        (
            'ignore = [\n  "no-mass",\n  "masless-link",\n]\n',
            "3:3",
            "there is no code 'masless-link'. Did you mean 'massless-link'?",
        ),
        ('[per-file-ignores]\n"*.wrl" = ["unknwn-key"]\n', "2:12", "Did you mean 'unknown-key'?"),
        ('ignore = "massless-link"\n', "1:1", "'ignore' takes a list of codes"),
        ("exclude = [1]\n", "1:1", "'exclude' takes a list of globs"),
        ("baseline = []\n", "1:1", "'baseline' takes the path of a file"),
        ("per-file-ignores = 1\n", "1:1", "'per-file-ignores' takes a table"),
        ("ignore = [\n  massless\n]\n", "2:3", "Invalid value"),
        (f"ignore = {'[' * 5000}", None, "too deep"),
    ],
)
def test_wrong_settings_are_located_and_stop_the_check(text, place, message, project, capsys):
    settings = project / ".hrp-model.toml"
    settings.write_text(text)
    assert main(["check", "."]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.splitlines()[-1] == "hrp-model: error: the settings of the project are invalid"
    if place is not None:
        assert f".hrp-model.toml:{place}: error: " in err


def test_places_in_a_pyproject_are_those_of_its_own_table(tmp_path):
    path = tmp_path / "pyproject.toml"
    path.write_text('[tool.ruff]\nignore = ["E1"]\n\n[tool.hrp-model]\nignore = ["E1"]\n')
    with pytest.raises(SettingsError) as caught:
        read_settings(path)
    (problem,) = caught.value.diagnostics
    assert problem.code == "unknown-code"
    assert str(problem.at) == f"{path}:5:11"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('ignore = []\nignore = ["x"]', "toml-syntax"),
        ("ignore = " + "[" * 5000, "too-deep"),
    ],
)
def test_a_syntax_error_without_a_place_names_the_file(text, code, tmp_path):
    path = tmp_path / ".hrp-model.toml"
    path.write_text(text)
    with pytest.raises(SettingsError) as caught:
        read_settings(path)
    (problem,) = caught.value.diagnostics
    assert problem.code == code
    assert problem.at.source.path == path


def test_settings_in_a_pyproject_are_a_table(tmp_path):
    path = tmp_path / "pyproject.toml"
    path.write_text("[tool]\nhrp-model = 3\n")
    with pytest.raises(SettingsError, match=r":2:1: .*'hrp-model' takes a table of settings"):
        read_settings(path)


def test_settings_larger_than_a_mebibyte_are_refused(tmp_path):
    path = tmp_path / ".hrp-model.toml"
    path.write_text("#" * ((1 << 20) + 1))
    with pytest.raises(OSError, match="Larger than 1 MiB"):
        read_settings(path)


def test_other_projects_files_are_no_settings(tmp_path):
    path = tmp_path / "pyproject.toml"
    path.write_text('this is [ no TOML: "hrp-model check"')
    assert read_settings(path) is None
    path.write_text('[project]\nname = "hrp-model"\n')
    assert read_settings(path) is None
    assert SettingsFinder().of_folder(tmp_path).ignore == frozenset()


# Baselines.


@pytest.fixture
def baseline(project, capsys):
    """The project with a baseline of all its problems, and settings that name it."""
    assert main(["check", ".", "--write-baseline", "known.json"]) == 0
    assert "wrote known.json with 4 problems; to ignore them, set" in capsys.readouterr().err
    (project / ".hrp-model.toml").write_text('baseline = "known.json"\n')
    return project / "known.json"


def test_only_new_problems_count(baseline, project, capsys):
    status, found, summary = checked(capsys, ".", "--strict")
    assert (status, found, summary["in_baseline"]) == (0, {}, 4)
    text = DOUBTFUL.replace("links:", "# further down\nlinks:").replace("mass: 2.0", "mas: 2.0")
    write_model(project, text, "arm.body")
    status, found, summary = checked(capsys, ".", "--strict")
    assert (status, found) == (1, {"arm.body": ["unknown-key"]})
    assert summary["in_baseline"] == 4
    assert main(["check", "."]) == 0
    assert capsys.readouterr().out.endswith("\n2 models: 1 warning; 4 problems in the baseline\n")


def test_one_more_of_the_same_is_new(baseline, project, capsys):
    text = DOUBTFUL.replace(
        "      - type: ForceSensor",
        "      - type: Shape\n        geometry: { type: Box, colour: 1 }\n"
        "      - type: ForceSensor",
    )
    write_model(project, text, "arm.body")
    _, found, summary = checked(capsys, ".")
    assert (found, summary["in_baseline"]) == ({"arm.body": ["unknown-key"]}, 4)


def test_a_baseline_holds_from_any_folder(baseline, project, capsys, monkeypatch):
    monkeypatch.chdir(project / "other")
    assert checked(capsys, "leg.body", str(project / "arm.body"))[1] == {}
    assert json.loads(baseline.read_text())["problems"][0]["file"] == "arm.body"


def test_a_baseline_is_written_anew_from_all_problems(baseline, project, capsys):
    before = baseline.read_text()
    assert main(["check", ".", "--write-baseline", "known.json"]) == 0
    assert baseline.read_text() == before
    write_model(project, ARM, "arm.body")
    assert main(["check", ".", "--write-baseline", "known.json"]) == 0
    assert len(json.loads(baseline.read_text())["problems"]) == 2


def test_a_baseline_that_cannot_be_written_is_refused_before_the_check(project, capsys):
    (project / "file").write_text("")
    for place in ("file/known.json", "."):
        assert main(["check", ".", "--write-baseline", place]) == 2
        out, err = capsys.readouterr()
        assert (out, f"cannot write {place}: " in err) == ("", True)


def test_errors_are_in_no_baseline(baseline, project, capsys):
    write_model(project, NEGATIVE_MASS, "bad.body")
    assert main(["check", ".", "--write-baseline", "known.json"]) == 1
    err = capsys.readouterr().err
    assert "[negative-mass]" in err
    assert "1 error cannot be in a baseline; fix them" in err
    assert checked(capsys, ".")[:2] == (1, {"bad.body": ["negative-mass"]})


def test_what_is_no_baseline_is_never_replaced(project, capsys):
    before = (project / "arm.body").read_text()
    assert main(["check", ".", "--write-baseline", "arm.body"]) == 2
    assert "the existing file is not a baseline" in capsys.readouterr().err
    assert (project / "arm.body").read_text() == before
    assert main(["check", ".", "--write-baseline", "/dev/null"]) == 2
    assert "the existing file is not a baseline (Not a regular file)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "No such file"),
        ("[", "not in the format of --write-baseline"),
        ('{"version": 2}', "its version is not 1"),
        ('{"version": 1, "problems": [{}]}', "not in the format of --write-baseline"),
        ("[" * 100_000, "not in the format of --write-baseline"),
    ],
)
def test_a_baseline_that_cannot_be_used_is_located(content, reason, project, capsys):
    (project / ".hrp-model.toml").write_text('exclude = []\nbaseline = "known.json"\n')
    if content is not None:
        (project / "known.json").write_text(content)
    assert main(["check", "."]) == 2
    err = capsys.readouterr().err
    assert ".hrp-model.toml:2:1: error: the baseline" in err
    assert reason in err
    assert "[bad-baseline]" in err
