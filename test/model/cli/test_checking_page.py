"""docs/checking.md and the hook for pre-commit: what they promise can be done."""

import re

import pytest
import yaml
from arm_model import NEGATIVE_MASS, write_model
from paths import ROOT

from hrp_model.cli.check_settings import read_settings
from hrp_model.cli.main import main

PAGE = (ROOT / "docs" / "checking.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", PAGE, re.DOTALL)
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))


def test_its_settings_are_understood(tmp_path):
    (text,) = (text for kind, text in BLOCKS if kind == "toml")
    (tmp_path / "pyproject.toml").write_text(text)
    settings = read_settings(tmp_path / "pyproject.toml")
    assert settings.ignore == {"joint-id-gap"}
    assert settings.per_file_ignores == (("demo/*", {"massless-link"}),)
    assert settings.exclude == ("third_party", "**/*_old.body")
    assert settings.baseline == tmp_path / "known_problems.json"


def test_the_hook_checks_all_models_of_a_repository(tmp_path, monkeypatch, capsys):
    assert HOOK["language"] == "python"
    assert HOOK["pass_filenames"] is False
    program, *arguments = [*HOOK["entry"].split(), *HOOK["args"]]
    assert program == "hrp-model"
    write_model(tmp_path / "robots", NEGATIVE_MASS)
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 1
    assert capsys.readouterr().out.startswith("robots/arm.body: 1 error\n")


@pytest.mark.parametrize("name", ["a/b.body", "A.WRL", "parts/leg.stl", "pyproject.toml"])
def test_the_hook_runs_when_a_model_may_have_changed(name):
    assert re.search(HOOK["files"], name)
    assert not re.search(HOOK["files"], f"{name}.txt")


@pytest.mark.parametrize(
    "hook", [h for kind, text in BLOCKS if kind == "yaml" for h in re.findall(r"id: (\S+)", text)]
)
def test_the_page_names_the_hook(hook):
    assert hook == HOOK["id"]
