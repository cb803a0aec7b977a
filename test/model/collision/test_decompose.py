"""Convex parts: many meshes at a time, and what is kept of them for the next time."""

import socket
import subprocess
from itertools import chain
from threading import Thread

import numpy as np
import pytest
import trimesh
from each_case import mostly_slow

from hrp_model.collision import decompose
from hrp_model.collision.decompose import Decomposer, PartsCache
from hrp_model.geometry import Mesh

pytest.importorskip("vhacdx", reason="vhacdx is not installed")

MAKER = ["library", "1.0", {"parts": 8}]
# In place of a library, which takes seconds: the two halves of the list of triangles.
HALVES = """
import sys
sys.path[:] = filter(None, sys.path)
from hrp_model.collision import decompose
halves = lambda v, t: [(v, t[: len(t) // 2]), (v, t[len(t) // 2 :])]
decompose._LIBRARIES = {"vhacdx": halves}
decompose._main(sys.argv[1])
"""


def torus(radius):
    solid = trimesh.creation.torus(radius, 0.25, major_sections=16, minor_sections=8)
    return Mesh(solid.vertices, solid.faces)


MESHES = [torus(radius) for radius in (1.0, 1.5, 2.0, 1.0)]
BOX = Mesh(*(lambda b: (b.vertices, b.faces))(trimesh.creation.box((1.0, 2.0, 3.0))))


def split(meshes=MESHES, time_limit=30.0, **more):
    with Decomposer(time_limit, **more) as decomposer:
        return decomposer.decomposed(meshes)


def assert_same(found, expected):
    assert [len(parts) for parts in found] == [len(parts) for parts in expected]
    for one, other in zip(chain(*found), chain(*expected), strict=True):
        np.testing.assert_array_equal(one.vertices, other.vertices)
        np.testing.assert_array_equal(one.triangles, other.triangles)


def halves(mesh):
    middle = len(mesh.triangles) // 2
    return [Mesh(mesh.vertices, t) for t in (mesh.triangles[:middle], mesh.triangles[middle:])]


@pytest.fixture
def expected(monkeypatch):
    """Have meshes cut into halves; return those."""
    monkeypatch.setattr(decompose, "_START", HALVES)
    return [halves(mesh) for mesh in MESHES]


@pytest.fixture
def started(monkeypatch):
    """Return the processes that were started."""
    made = []

    class Recorded(subprocess.Popen):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            made.append(self)

    monkeypatch.setattr(decompose.subprocess, "Popen", Recorded)
    return made


def test_meshes_are_split_at_the_same_time(expected, monkeypatch):
    """No process goes on before two have come to their first mesh."""
    gate = socket.create_server(("127.0.0.1", 0))
    meeting = f"""
import socket
waiting = socket.create_connection(("127.0.0.1", {gate.getsockname()[1]}))
halves = decompose._LIBRARIES["vhacdx"]
def meet(v, t):
    waiting.recv(1)  # returns at once when the other side is closed
    return halves(v, t)
decompose._LIBRARIES = {{"vhacdx": meet}}
"""
    start, run = HALVES.split("decompose._main")
    monkeypatch.setattr(decompose, "_START", f"{start}{meeting}decompose._main{run}")
    monkeypatch.setattr(decompose, "_core_count", lambda: 2)

    def let_two_pass():
        both = [gate.accept()[0] for _ in range(2)]
        for one in both:
            one.close()

    with gate:
        gate.settimeout(300.0)
        porter = Thread(target=let_two_pass)
        porter.start()
        found = split()
        porter.join()
    assert_same(found, expected)


@pytest.mark.slow
def test_the_library_finds_the_same_in_any_process(monkeypatch):
    found = []
    for count in (1, 2):
        monkeypatch.setattr(decompose, "_core_count", lambda count=count: count)
        found.append(split(MESHES[:2]))
    assert_same(*found)
    for mesh, parts in zip(MESHES, found[0], strict=False):
        assert 2 <= len(parts) <= 8
        reach = max(abs(part.vertices).max() for part in parts)
        assert reach == pytest.approx(abs(mesh.vertices).max(), rel=0.1)


def test_there_are_no_more_processes_than_meshes_that_differ(expected, monkeypatch, started):
    monkeypatch.setattr(decompose, "_core_count", lambda: 8)
    assert_same(split([MESHES[0], MESHES[3]]), [expected[0], expected[3]])
    assert len(started) == 1


def test_how_far_it_is_is_told(expected):
    told = []
    split(progress=lambda *numbers: told.append(numbers))
    assert told[-1] == (3, 3)  # two of the four are equal
    assert sorted(told) == told


def test_whoever_interrupts_it_waits_for_nothing(started):
    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        split(progress=interrupt)
    assert started
    assert all(process.poll() is not None for process in started)


# The cache


def test_what_was_split_once_is_not_split_again(expected, tmp_path, started):
    split(cache=tmp_path / "new" / "cache")
    assert started
    started.clear()
    told = []
    found = split(cache=tmp_path / "new" / "cache", progress=lambda *n: told.append(n))
    assert_same(found, expected)
    assert (started, told) == ([], [])


def test_what_was_not_split_in_time_is_tried_again(expected, tmp_path, started):
    assert split([MESHES[0]], time_limit=1e-3, cache=tmp_path) == [None]
    assert list(tmp_path.iterdir()) == []
    assert_same(split([MESHES[0]], cache=tmp_path), expected[:1])
    assert len(started) == 2


DAMAGE = {
    "empty": lambda _: b"",
    "cut": lambda data: data[: len(data) // 2],
    "changed": lambda data: data[:200] + bytes(64) + data[264:],
    "of others": lambda _: b"thesis",
}


@pytest.mark.parametrize("damage", mostly_slow(DAMAGE, 1))
def test_a_damaged_file_is_made_anew(damage, expected, tmp_path):
    split([MESHES[0]], cache=tmp_path)
    (path,) = tmp_path.iterdir()
    data = path.read_bytes()
    path.write_bytes(DAMAGE[damage](data))
    assert_same(split([MESHES[0]], cache=tmp_path), expected[:1])
    assert PartsCache(tmp_path, MAKER).load(path.stem) is not None


@pytest.mark.parametrize("triangle", [[0, 1, 8], [-1, 0, 1]])
def test_a_file_of_what_is_no_mesh_counts_as_none(triangle, tmp_path):
    cache = PartsCache(tmp_path, MAKER)
    cache.save("x", [BOX])
    assert cache.load("x") is not None
    cache.save("x", [BOX, Mesh(BOX.vertices, [triangle])])
    assert cache.load("x") is None


def test_parts_come_back_as_they_were(tmp_path):
    cache = PartsCache(tmp_path, MAKER)
    cache.save("x", [BOX, MESHES[0]])
    assert_same([cache.load("x")], [[BOX, MESHES[0]]])
    assert cache.load("y") is None


def test_parts_are_those_of_this_mesh_and_this_maker():
    cache = PartsCache(None, MAKER)
    moved = Mesh(BOX.vertices + 1e-12, BOX.triangles)
    turned = Mesh(BOX.vertices, BOX.triangles[::-1])
    newer = PartsCache(None, ["library", "1.1", {"parts": 8}])
    finer = PartsCache(None, ["library", "1.0", {"parts": 9}])
    keys = {
        cache.key(BOX), cache.key(moved), cache.key(turned), newer.key(BOX), finer.key(BOX)
    }  # fmt: skip
    assert len(keys) == 5
    assert cache.key(BOX) == PartsCache(None, MAKER).key(Mesh(BOX.vertices, BOX.triangles))


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_costs_only_time(expected, tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert_same(split([MESHES[0]], cache=tmp_path / "file" / "cache"), expected[:1])


@pytest.mark.slow
def test_several_may_use_one_folder_at_once(expected, tmp_path):
    found = [None] * 3

    def run(i):
        found[i] = split(cache=tmp_path)

    threads = [Thread(target=run, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for parts in found:
        assert_same(parts, expected)
    assert len(list(tmp_path.iterdir())) == 3
    assert_same(split(cache=tmp_path), expected)
