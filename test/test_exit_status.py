"""The exit statuses of both programs are those of the README and docs/simulation.md."""

import pytest
from paths import MODELS

import hrp_model.cli.main
import hrp_sim.cli.main

GOOD, PROBLEM, WRONG_USE, INTERRUPTED = 0, 1, 2, 130
PROGRAMS = {"hrp-model": hrp_model.cli.main.main, "hrp-sim": hrp_sim.cli.main.main}
ARM = str(MODELS / "arm" / "arm.body")
WARNED = "format: ChoreonoidBody\nformat_version: 2.0\nname: x\nlinks:\n- { name: BASE, joint_type: free, mass: 1 }\n"  # noqa: E501


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.body").write_text(
        "format: ChoreonoidBody\nlinks: [ { name: A, mass: -1 } ]"
    )
    (tmp_path / "warned.body").write_text(WARNED.replace("mass: 1", "mas: 1"))
    (tmp_path / "world.yaml").write_text("bodies: [ { model: broken.body } ]")


def status_of(line):
    program, *words = line.split(" ")
    return PROGRAMS[program]([word.replace("ARM", ARM) for word in words])


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("hrp-model --help", GOOD),
        ("hrp-model check ARM", GOOD),
        ("hrp-model check warned.body", GOOD),
        ("hrp-model check --strict warned.body", PROBLEM),
        ("hrp-model check broken.body", PROBLEM),
        ("hrp-model tree broken.body", PROBLEM),
        ("hrp-model check nowhere.body", PROBLEM),
        ("hrp-model check", WRONG_USE),
        ("hrp-model check ARM --qqqq", WRONG_USE),
        ("hrp-model dump ARM --poses nowhere.json", WRONG_USE),
        ("hrp-model urdf ARM -o broken.body/x.urdf", WRONG_USE),
        ("hrp-sim --help", GOOD),
        ("hrp-sim run --list-codes", GOOD),
        ("hrp-sim run arm --duration 0.01", GOOD),
        ("hrp-sim run arm --duration 0.01 --expect arm.z>-1", GOOD),
        ("hrp-sim run arm --duration 0.01 --expect arm.z>9", PROBLEM),
        ("hrp-sim run warned.body --duration 0.01 --strict", PROBLEM),
        ("hrp-sim run broken.body --duration 0.01", PROBLEM),
        ("hrp-sim run world.yaml --duration 0.01", PROBLEM),
        ("hrp-sim run nowhere.yaml", PROBLEM),
        ("hrp-sim run nowhere", PROBLEM),
        ("hrp-sim check world.yaml", PROBLEM),
        ("hrp-sim check arm", GOOD),
        ("hrp-sim", GOOD),
        ("hrp-sim run arm --duration -1", WRONG_USE),
        ("hrp-sim run arm --paused", WRONG_USE),
        ("hrp-sim run arm --duration 0.01 --expect arm.q>1", WRONG_USE),
        ("hrp-sim run arm --duration 0.01 --trace broken.body/x", WRONG_USE),
        ("hrp-sim rviz arm -o broken.body/x", WRONG_USE),
    ],
)
def test_a_command_ends_with_the_status_of_the_table(capsys, line, status):
    assert status_of(line) == status
    assert "Traceback" not in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("hrp-model tree ARM", "hrp_model.cli.dump.load_and_report"),
        ("hrp-sim check arm", "hrp_sim.cli.worlds.load_world"),
    ],
)
def test_an_interruption_before_there_is_a_result_is_130(capsys, monkeypatch, line, place):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(place, interrupt)
    assert status_of(line) == INTERRUPTED
    assert capsys.readouterr() == ("", "")
