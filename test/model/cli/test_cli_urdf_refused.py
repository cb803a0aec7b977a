"""hrp-model urdf: what it refuses, and that nothing is left of it then."""

import os
import re
import subprocess
import sys

import pytest
from arm_model import ARM
from command_tools import everything_in, urdf_of
from paths import ROOT

from hrp_model.cli import urdf
from hrp_model.cli.main import main

# What cannot be written

OTHERS = [
    pytest.param(command, marks=pytest.mark.slow)
    for command in (["urdf", "--verify"], ["dump"], ["check"], ["tree"])
]


@pytest.mark.parametrize("command", [["urdf"], *OTHERS])
def test_a_full_disk_behind_the_standard_output_is_told(command, model):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "hrp_model.cli.main", *command, model()],
            env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    message = "hrp-model: error: cannot write to standard output: No space left on device"
    assert done.stderr.splitlines()[-1] == message
    assert "Traceback" not in done.stderr


def test_what_fails_without_a_file_is_not_called_a_file(model, tmp_path, capsys, monkeypatch):
    def fail(*_, **__):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(urdf, "convert", fail)
    assert main(["urdf", model(), "-o", str(tmp_path / "arm.urdf")]) == 2
    assert capsys.readouterr().err == "hrp-model: error: Cannot allocate memory\n"


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        (["-o", "file/arm.urdf"], "file/arm.urdf"),
        (["-o", "arm.urdf", "--mesh-dir", "file"], "file"),
        (["-o", "arm.urdf", "--mesh-dir", "file/meshes"], "file/meshes"),
        (["-o", "file/arm.urdf", "--mesh-dir", "new/meshes"], "file/arm.urdf"),
        (["-o", "new/arm.urdf", "--srdf", "file/arm.srdf"], "file/arm.srdf"),
        (["-o", "folder"], "folder"),
    ],
)
def test_what_cannot_be_written_is_one_message_and_leaves_nothing(
    arguments, culprit, model, tmp_path, capsys, monkeypatch
):
    path = model()
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "folder").mkdir()
    before = everything_in(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["urdf", path, *arguments]) == 2
    out, err = capsys.readouterr()
    reason = "Is a directory" if culprit == "folder" else "Not a directory"
    assert err == f"hrp-model: error: cannot write {culprit}: {reason}\n"
    assert out == ""
    assert everything_in(tmp_path) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--srdf", "arm.urdf"], "-o and --srdf are the same file, arm.urdf"),
        (["--srdf", "new/../arm.urdf"], "-o and --srdf are the same file, new/../arm.urdf"),
        (
            ["--ros2-control", "mock", "--controllers", "arm.urdf"],
            "-o and --controllers are the same file, arm.urdf",
        ),
        (
            ["--ros2-control", "gz", "--srdf", "controllers.yaml"],
            "--srdf and controllers.yaml are the same file, controllers.yaml",
        ),
    ],
)
def test_two_outputs_never_share_a_file(arguments, message, model, tmp_path, capsys, monkeypatch):
    path = model()
    before = everything_in(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["urdf", path, "-o", "arm.urdf", *arguments]) == 2
    assert capsys.readouterr().err == f"hrp-model: error: {message}\n"
    assert everything_in(tmp_path) == before


def test_a_disk_without_room_is_one_message_and_leaves_nothing(model, tmp_path):
    """A limit of the size of files stands in for the end of the disk."""
    path, out = model(), tmp_path / "new" / "arm.urdf"
    before = everything_in(tmp_path)
    program = (
        "import resource, sys\n"
        "from hrp_model.cli.main import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", program, "urdf", path, "-o", str(out)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert re.fullmatch(
        rf"hrp-model: error: cannot write {re.escape(str(out.parent))}/meshes/ARM-\w+\.\w+: "
        r"File too large\n",
        done.stderr,
    )
    assert everything_in(tmp_path) == before


def test_a_library_that_is_missing_is_named(model, capsys, monkeypatch):
    monkeypatch.setattr("hrp_model.collision.decompose.find_spec", lambda _: None)
    outline = "cross_section: [ 1, 1, 1, -1, -1, -1, 1, 1 ], spine: [ 0, 0, 0, 0, 1, 0 ]"
    path = model(ARM.replace("type: Cone", f"type: Extrusion, {outline}"))
    assert main(["urdf", path, "--collision", "decomposed"]) == 2
    assert "need vhacdx or coacd" in capsys.readouterr().err


# Wrong use


def test_a_dash_is_the_standard_output(model, tmp_path, capsys, monkeypatch):
    path = model()
    monkeypatch.chdir(tmp_path)
    assert urdf_of([path, "-o", "-"], capsys).name == "arm"
    for option in ("--mesh-dir", "--srdf", "--controllers", "--package"):
        assert main(["urdf", path, option, "-"]) == 2
        assert "only the URDF can go to standard output" in capsys.readouterr().err
    assert everything_in(tmp_path) == ["arm.body"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--mesh-uri", "package"], "needs -o FILE or --mesh-dir"),
        (["--mesh-uri", "file", "-o", "/dev/stdout"], "needs -o FILE or --mesh-dir"),
        (["--command-interface", "effort"], "--command-interface needs --ros2-control"),
        (["--controllers", "c.yaml"], "--controllers needs --ros2-control"),
        (["--ros2-control", "gz"], "add -o FILE or --controllers FILE"),
        (["--ros2-control", "gz", "-o", "-"], "add -o FILE or --controllers FILE"),
        (["--frame-prefix", "a b"], "letters, digits"),
        (["--frame-prefix", "'r'/"], "letters, digits"),
        (["--frame-prefix", "a:b"], "letters, digits"),
    ],
)
def test_what_would_have_no_effect_or_a_bad_one_is_refused(
    arguments, words, model, tmp_path, capsys, monkeypatch
):
    path = model()
    monkeypatch.chdir(tmp_path)
    assert main(["urdf", path, *arguments]) == 2
    assert words in capsys.readouterr().err
    assert everything_in(tmp_path) == ["arm.body"]


@pytest.mark.parametrize("prefix", ["", "r1/", "left_", "ロボ.1-"])
def test_prefixes_as_people_use_them_are_taken(prefix, model, capsys):
    robot = urdf_of([model(), "--frame-prefix", prefix], capsys)
    assert robot.links[0].name == f"{prefix}BASE"


@pytest.mark.parametrize("option", ["-o", "--mesh-dir", "--srdf", "--controllers"])
def test_a_package_has_places_of_its_own(option, model, tmp_path, capsys):
    package = str(tmp_path / "arm_description")
    assert main(["urdf", model(), "--package", package, option, str(tmp_path / "x")]) == 2
    assert "as --package determines all paths" in capsys.readouterr().err
    assert everything_in(tmp_path) == ["arm.body"]
