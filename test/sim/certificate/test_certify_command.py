"""The command hrp-sim certify."""

import json

import pytest
from paths import MODELS
from verify_samples import silent, written

from hrp_model import load_body
from hrp_sim.cli.main import main

for _module in ("pinocchio", "mujoco"):
    pytest.importorskip(_module, reason=f"{_module} reads URDFs independently of us")

ARM, FLOOR = str(MODELS / "arm" / "arm.body"), str(MODELS / "floor.body")


def test_one_model_is_a_table_and_a_page(tmp_path, capsys):
    page = tmp_path / "arm.html"
    assert main(["certify", ARM, "--states", "3", "--page", str(page)]) == 0
    out = capsys.readouterr().out
    for text in (out, page.read_text(encoding="utf-8")):
        assert "arm.body: equal in ODE, pinocchio and MuJoCo" in text
        assert "free motion of 1 s" in text
    assert "http" not in page.read_text(encoding="utf-8")


def test_several_models_are_a_line_each(capsys):
    assert main(["certify", ARM, FLOOR, "--states", "3"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{ARM}: equal in ODE, pinocchio and MuJoCo",
        f"{FLOOR}: equal, as nothing in the model moves",
    ]


def test_json_has_all_rows(capsys):
    assert main(["certify", ARM, "--states", "3", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["model"], found["equal"]) == (ARM, True)
    rows = {(x["library"], x["quantity"]): x for x in found["parts"][0]["rows"]}
    assert 0.0 < rows["ODE", "accelerations"]["difference"] < 1e-6
    assert rows["ODE", "accelerations"]["count"] == 3 * 6


def test_a_falsified_urdf_is_named_and_the_status_is_1(tmp_path, capsys):
    urdf = written(load_body(ARM, silent()), tmp_path)
    assert main(["certify", ARM, "--states", "3", "--urdf", str(urdf)]) == 0
    text = urdf.read_text()
    mass = text[text.index('<link name="J2">') :].partition('<mass value="')[2].partition('"')[0]
    urdf.write_text(text.replace(f'value="{mass}"', f'value="{float(mass) * 1.01!r}"', 1))
    capsys.readouterr()
    assert main(["certify", ARM, "--states", "3", "--urdf", str(urdf)]) == 1
    assert "unequal: mass and inertia of links: mass of link" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([ARM, FLOOR, "--urdf", "a.urdf"], "--urdf is the URDF of one model"),
        ([ARM, "--urdf", "absent.urdf"], "--urdf absent.urdf: cannot read it"),
        ([ARM, "--urdf", "."], "--urdf .: it is not a file"),
        ([ARM, "--states", "0"], "a whole number from 1 to 10000"),
        ([ARM, "--page", ARM], "cannot write"),
    ],
)
def test_wrong_use_is_refused(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["certify", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_broken_model_is_reported_once_before_any_is_compared(tmp_path, capsys):
    broken = tmp_path / "broken.wrl"
    broken.write_text("Transform {")
    assert main(["certify", ARM, str(broken)]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("error:") == 1
