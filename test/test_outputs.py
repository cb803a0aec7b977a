"""Outputs of both programs: nothing is destroyed, and what is no ordinary file stays what it is."""

import json
import os
import socket
import stat
import threading

import numpy as np
import pytest

import hrp_model.cli.main
import hrp_sim.cli.main

ARM = """\
format: ChoreonoidBody
format_version: 2.0
name: arm
links:
  - { name: BASE, joint_type: fixed, mass: 2, inertia: [ 1, 0, 0, 0, 1, 0, 0, 0, 1 ] }
  - name: ARM
    parent: BASE
    joint_type: revolute
    joint_id: 0
    mass: 1
    inertia: [ 1, 0, 0, 0, 1, 0, 0, 0, 1 ]
    elements:
      - { type: Shape, geometry: { type: Resource, uri: part.stl } }
"""
WORLD = "bodies: [ { model: arm.body } ]\n"
URDF = '<robot name="u"><link name="a"/></robot>\n'
# Of a normal and three corners.
TRIANGLE = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0], [0, 1, 0]], "<f4")
STL = bytes(80) + b"\1\0\0\0" + TRIANGLE.tobytes() + bytes(2)
OTHERS = {
    "other.wrl": b"#VRML V2.0 utf8\n",
    "w.yaml": b"bodies: []\n",
    "old.urdf": URDF.encode(),
    "data.npz": b"somebody's measurements",
}
RUN = ("run", "world.yaml", "--duration", "0.002")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder with a model, its mesh, a world, and files of others."""
    files = {"arm.body": ARM.encode(), "part.stl": STL, "world.yaml": WORLD.encode(), **OTHERS}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


def program(name, *arguments):
    main = {"hrp-model": hrp_model.cli.main.main, "hrp-sim": hrp_sim.cli.main.main}[name]
    return main([str(argument) for argument in arguments])


# What must stay.

FOREIGN = [
    (("hrp-sim", *RUN, "--save", "w.yaml"), "writes (state of a simulation)"),
    (("hrp-sim", *RUN, "--save", "data.npz"), "writes (state of a simulation)"),
    (("hrp-sim", *RUN, "--trace", "other.wrl"), "writes (trace)"),
    (("hrp-sim", "rviz", "world.yaml", "-o", "old.urdf"), "writes (RViz configuration)"),
    (("hrp-model", "rviz", "arm.body", "-o", "other.wrl"), "writes (RViz configuration)"),
    (("hrp-model", "urdf", "arm.body", "--srdf", "other.wrl"), "writes (SRDF)"),
    (("hrp-model", "urdf", "arm.body", "-o", "w.yaml"), "writes (URDF)"),
    (
        ("hrp-model", "urdf", "arm.body", "--ros2-control", "mock", "--controllers", "w.yaml"),
        "writes (file of ROS parameters)",
    ),
]


@pytest.mark.parametrize(("command", "reason"), FOREIGN)
def test_a_file_of_another_kind_is_not_replaced(command, reason, folder, capsys):
    before = contents(folder)
    assert program(*command) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert reason in err
    assert "choose another file, or add --force" in err
    assert err.count("\n") == 1
    assert contents(folder) == before


@pytest.mark.parametrize("command", [c for c, _ in FOREIGN])
def test_it_is_if_one_insists(command, folder):
    name = next(name for name in OTHERS if name in command)
    assert program(*command, "--force") == 0
    assert (folder / name).read_bytes() != OTHERS[name]


def test_a_file_of_the_same_kind_and_an_empty_one_are_replaced(folder):
    (folder / "old.rviz").touch()
    (folder / "empty.yaml").touch()
    for _ in range(2):
        assert program("hrp-model", "rviz", "arm.body", "-o", "old.rviz") == 0
        assert program("hrp-model", "urdf", "arm.body", "-o", "old.urdf", "--srdf", "a.srdf") == 0
        assert program("hrp-sim", *RUN, "--save", "s.npz", "--trace", "t.jsonl") == 0
    assert program("hrp-sim", *RUN, "--trace", "empty.yaml") == 0
    assert (folder / "old.rviz").stat().st_size > 0


READ = [
    ("hrp-model", "urdf", "old.urdf", "-o", "old.urdf"),
    ("hrp-model", "urdf", "arm.body", "-o", "arm.body"),
    ("hrp-model", "urdf", "arm.body", "-o", "part.stl"),
    ("hrp-model", "urdf", "arm.body", "--srdf", "link"),
    ("hrp-model", "urdf", "arm.body", "--srdf", "hard"),
    ("hrp-model", "rviz", "arm.body", "-o", "link"),
    ("hrp-sim", "rviz", "world.yaml", "-o", "arm.body"),
    ("hrp-sim", *RUN, "--save", "world.yaml"),
    ("hrp-sim", *RUN, "--save", "part.stl"),
    ("hrp-sim", *RUN, "--trace", "link"),
    ("hrp-sim", *RUN, "--trace", "hard"),
]


@pytest.mark.parametrize("command", READ)
def test_what_is_read_is_never_written_whatever_it_is_called(command, folder, capsys):
    (folder / "link").symlink_to("arm.body")
    os.link(folder / "arm.body", folder / "hard")
    before = contents(folder)
    assert program(*command, "--force") == 2
    err = capsys.readouterr().err.splitlines()[-1]
    assert "this command reads it and never overwrites its input" in err
    assert contents(folder) == before


def test_a_folder_of_meshes_keeps_what_is_read(folder, capsys):
    """Names of meshes come from their content: here somebody has changed one that is read."""
    assert program("hrp-model", "urdf", "arm.body", "-o", "out/a.urdf") == 0
    [mesh] = (folder / "out" / "meshes").glob("*.stl")
    text = ARM.replace("part.stl", f"out/meshes/{mesh.name}")
    (folder / "again.body").write_text(text)
    assert program("hrp-model", "urdf", "again.body", "-o", "out/b.urdf") == 0
    assert mesh.exists()


def test_a_state_may_be_saved_where_it_was_restored_from(folder, capsys):
    assert program("hrp-sim", *RUN, "--save", "s.npz") == 0
    first = (folder / "s.npz").read_bytes()
    assert program("hrp-sim", *RUN, "--restore", "s.npz", "--save", "s.npz") == 0
    assert (folder / "s.npz").read_bytes() != first
    assert program("hrp-sim", *RUN, "--restore", "s.npz", "--trace", "s.npz", "--force") == 2
    assert "cannot write s.npz: this command reads it" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ("hrp-sim", *RUN, "--save", "x", "--trace", "new/../x"),
        ("hrp-model", "urdf", "arm.body", "-o", "x", "--srdf", "link"),
    ],
)
def test_two_outputs_are_two_files(command, folder, capsys):
    (folder / "link").symlink_to("x")
    before = contents(folder)
    assert program(*command) == 2
    assert "are the same file" in capsys.readouterr().err
    assert contents(folder) == before


def test_what_is_read_only_or_a_loop_of_links_is_refused_at_once(folder, capsys):
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    for command in (
        ("hrp-model", "urdf", "arm.body", "-o", "a"),
        ("hrp-model", "urdf", "arm.body", "--package", "a"),
        ("hrp-model", "urdf", "arm.body", "--mesh-dir", "a/b"),
        ("hrp-model", "rviz", "arm.body", "-o", "a"),
        ("hrp-sim", *RUN, "--save", "a"),
        ("hrp-sim", *RUN, "--trace", "a"),
        ("hrp-sim", "rviz", "world.yaml", "-o", "a"),
    ):
        assert program(*command) == 2
        assert capsys.readouterr().err.endswith("Too many levels of symbolic links\n")
    assert (folder / "a").is_symlink()
    assert (folder / "b").is_symlink()


# What is no ordinary file.


@pytest.mark.parametrize(
    "command",
    [
        ("hrp-sim", *RUN, "--save", "/dev/null", "--trace", "/dev/null"),
        ("hrp-sim", "rviz", "world.yaml", "-o", "/dev/null"),
        ("hrp-model", "rviz", "arm.body", "-o", "null"),
        ("hrp-model", "urdf", "arm.body", "-o", "null", "--srdf", "/dev/null"),
    ],
)
def test_a_device_stays_one(command, folder):
    (folder / "null").symlink_to("/dev/null")
    assert program(*command) == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert (folder / "null").is_symlink()


@pytest.mark.parametrize("option", ["--save", "--trace"])
def test_a_pipe_gets_what_a_file_would(option, folder):
    os.mkfifo(folder / "pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append((folder / "pipe").read_bytes()))
    reader.start()
    assert program("hrp-sim", *RUN, option, "pipe") == 0
    reader.join()
    assert program("hrp-sim", *RUN, option, "file") == 0
    assert got == [(folder / "file").read_bytes()]
    assert stat.S_ISFIFO((folder / "pipe").stat().st_mode)


def test_a_socket_is_refused_at_once(folder, capsys):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert program("hrp-sim", *RUN, "--save", "socket") == 2
    assert "cannot write socket: a socket cannot be written" in capsys.readouterr().err


def test_a_link_is_followed_and_what_it_leads_to_keeps_its_mode(folder):
    (folder / "far").mkdir()
    (folder / "far" / "s.npz").touch(mode=0o600)
    (folder / "s.npz").symlink_to("far/s.npz")
    (folder / "t").symlink_to("far/t")
    assert program("hrp-sim", *RUN, "--save", "s.npz", "--trace", "t") == 0
    assert (folder / "s.npz").is_symlink()
    assert (folder / "far" / "s.npz").stat().st_mode & 0o777 == 0o600
    assert np.load(folder / "far" / "s.npz")["format"] == "hrp_ros world 1"
    assert json.loads((folder / "far" / "t").read_text().splitlines()[0])["time"] == 0.0


def test_what_is_appended_to_is_not_emptied(folder, capfd):
    """As in ``hrp-sim rviz world.yaml -o /dev/stdout >> file``."""
    before = os.dup(1)
    with (folder / "file").open("ab") as file:
        file.write(b"before\n")
        file.flush()
        os.dup2(file.fileno(), 1)
    try:
        assert program("hrp-model", "rviz", "arm.body", "-o", "/dev/stdout") == 0
    finally:
        os.dup2(before, 1)
        os.close(before)
    written = (folder / "file").read_bytes()
    assert written.startswith(b"before\n")
    assert b"Visualization Manager" in written
