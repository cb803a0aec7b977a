"""URDF on the command lines and in worlds."""

import json

import jsonschema
import pytest
from paths import ROOT
from urdf_reader_tools import arm
from verify_samples import silent

from hrp_model.cli.main import main
from hrp_sim.world.load import load_world

SINK = ROOT / "test" / "data" / "urdf" / "valid" / "kitchen_sink.urdf"


def test_a_urdf_is_checked_with_places(tmp_path, capsys):
    assert main(["check", str(SINK)]) == 0
    assert capsys.readouterr().out == f"{SINK}: no problems\n"
    path = tmp_path / "arm.urdf"
    path.write_text(arm().replace("elbow", 'elbow" tpye="x'), encoding="utf-8")
    assert main(["check", str(path)]) == 0
    assert f"{path}:4:21: warning: tpye of <joint> is unknown" in capsys.readouterr().err


def test_a_urdf_is_dumped_and_drawn_as_a_tree(capsys):
    assert main(["dump", str(SINK)]) == 0
    dump = json.loads(capsys.readouterr().out)
    schema = json.loads((ROOT / "docs" / "dump-schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(dump, schema)
    assert [link["name"] for link in dump["links"]][:3] == ["base", "turret", "boom"]
    assert main(["tree", str(SINK)]) == 0
    assert "lift" in capsys.readouterr().out


def test_a_urdf_is_written_again_and_proved(tmp_path, capsys):
    pytest.importorskip("pinocchio", reason="pinocchio reads URDFs independently of us")
    out = tmp_path / "again.urdf"
    assert main(["urdf", str(SINK), "-o", str(out), "--gazebo", "--verify"]) == 0
    assert "passed with" in capsys.readouterr().out


def test_worlds_hold_urdfs(tmp_path):
    (tmp_path / "arm.urdf").write_text(arm(), encoding="utf-8")
    world = tmp_path / "world.yaml"
    world.write_text("bodies: [ { name: one, model: arm.urdf, fixed: true } ]\n", encoding="utf-8")
    [entry] = load_world(world, silent()).bodies
    assert (entry.placement.name, entry.placement.body.name) == ("one", "r")
    floor, alone = load_world(tmp_path / "arm.urdf", silent()).bodies
    assert (floor.placement.name, alone.placement.name) == ("floor", "r")
