"""Command lines of both programs that are nearly right: each is told what was meant."""

import pytest

import hrp_model.cli.main
import hrp_sim.cli.main

PROGRAMS = {"hrp-model": hrp_model.cli.main.main, "hrp-sim": hrp_sim.cli.main.main}


def answer(capsys, line):
    """Return the exit status and the first line of standard error."""
    program, *words = line.split()
    status = PROGRAMS[program](words)
    out, err = capsys.readouterr()
    assert out == ""
    return status, err.splitlines()[0]


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("hrp-sim arm.yaml", "hrp-sim run arm.yaml"),
        ("hrp-sim rover", "hrp-sim run rover"),
        ("hrp-sim simulate rover", "hrp-sim run"),
        ("hrp-sim snsors rover", "hrp-sim sensors"),
        ("hrp-sim convert a.body", "hrp-model urdf"),
        ("hrp-sim run rover --dt 0.01", "--time-step"),
        ("hrp-sim run --dt=0.01 rover", "--time-step"),
        ("hrp-sim run --dt 0.01 rover", "--time-step"),
        ("hrp-sim run rover --duraton 2", "--duration"),
        ("hrp-sim rviz rover rover.rviz", "-o rover.rviz"),
        ("hrp-model robot.body", "hrp-model check robot.body"),
        ("hrp-model convert a.body", "hrp-model urdf"),
        ("hrp-model chek a.body", "hrp-model check"),
        ("hrp-model run a.body", "hrp-sim run"),
        ("hrp-model urdf a.body out.urdf", "-o out.urdf"),
        ("hrp-model sim a.body", "hrp-sim run"),
        ("hrp-model show a.body", "hrp-model view"),
        ("hrp-model certify a.body", "hrp-sim certify"),
        ("hrp-model help", "hrp-model --help"),
        ("hrp-sim dump a.body", "hrp-model dump"),
        ("hrp-sim version", "hrp-sim --version"),
        ("hrp-model rviz a.body out.rviz", "-o out.rviz"),
        ("hrp-model check a.body --strickt", "--strict"),
    ],
)
def test_a_command_line_that_is_nearly_right_is_told_what_was_meant(capsys, line, meant):
    status, error = answer(capsys, line)
    assert status == 2
    assert error.endswith(f"Did you mean '{meant}'?")


@pytest.mark.parametrize("option", ["--scene arm", "--runs=2", "--markdown a.md"])
def test_options_of_the_comparison_with_mujoco_point_to_its_script(capsys, option):
    status, error = answer(capsys, f"hrp-sim bench {option}")
    assert status == 2
    assert error.endswith("is 'python test/bench/compare.py' in a source checkout")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("hrp-sim qqqq", "invalid choice: 'qqqq'"),
        ("hrp-sim run rover --qqqq", "unrecognized arguments: --qqqq"),
        ("hrp-sim run rover arm", "unrecognized arguments: arm"),
        ("hrp-sim rviz rover a b", "unrecognized arguments: a b"),
        ("hrp-model tree a.body b.body", "unrecognized arguments: b.body"),
        ("hrp-model check a.body --qqqq", "unrecognized arguments: --qqqq"),
    ],
)
def test_what_nothing_comes_near_to_is_refused_without_a_guess(capsys, line, words):
    status, error = answer(capsys, line)
    assert status == 2
    assert words in error
    assert "Did you mean" not in error


def test_a_file_in_place_of_a_command_is_shown_without_what_steers_a_terminal(capsys):
    assert answer(capsys, "hrp-sim evil\x1b[2J.yaml")[0] == 2
    assert "\x1b" not in answer(capsys, "hrp-sim evil\x1b[2J.yaml")[1]
