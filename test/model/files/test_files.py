"""Files that are written whole or not at all."""

import os
import threading

import pytest

from hrp_model.files.writer import (
    staged_file,
    staged_folder,
    write_all_atomically,
    write_atomically,
)


def everything_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_files_are_written_with_the_folders_around_them(tmp_path):
    write_all_atomically({tmp_path / "a" / "b" / "x": b"1", tmp_path / "a" / "y": b"2"})
    assert everything_in(tmp_path) == ["a", "a/b", "a/b/x", "a/y"]
    assert (tmp_path / "a" / "b" / "x").read_bytes() == b"1"


def test_of_several_files_none_is_written_when_one_cannot_be(tmp_path):
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "in the way").write_bytes(b"")
    bad = tmp_path / "in the way" / "z"
    with pytest.raises(NotADirectoryError) as caught:
        write_all_atomically(
            {tmp_path / "old": b"new", tmp_path / "deep" / "er" / "y": b"2", bad: b"3"}
        )
    assert caught.value.filename == str(bad)
    assert everything_in(tmp_path) == ["in the way", "old"]
    assert (tmp_path / "old").read_bytes() == b"old"


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(IsADirectoryError) as caught:
        write_all_atomically({tmp_path / "x": b"1", tmp_path: b"2"})
    assert caught.value.filename == str(tmp_path)
    assert everything_in(tmp_path) == []


def test_a_link_is_followed_and_stays(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "file")
    write_atomically(tmp_path / "link", b"1")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "elsewhere" / "file").read_bytes() == b"1"


def test_a_pipe_is_written_to_as_it_is(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_all_atomically({pipe: b"content", tmp_path / "file": b"2"})
    reader.join()
    assert got == [b"content"]
    assert everything_in(tmp_path) == ["file", "pipe"]


def test_files_are_for_those_that_the_umask_lets(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "file", b"1")
        with staged_folder(tmp_path / "folder") as staged:
            (staged / "x").write_bytes(b"2")
    finally:
        os.umask(before)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("file", "folder", "folder/x")]
    assert modes == [0o640, 0o750, 0o640]


def test_threads_may_write_one_file(tmp_path):
    file, failed = tmp_path / "file", []
    start = threading.Barrier(2)

    def write(content):
        start.wait()
        try:
            for _ in range(100):
                write_atomically(file, content)
                assert len(set(file.read_bytes())) == 1
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(c * 100_000,)) for c in (b"a", b"b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert everything_in(tmp_path) == ["file"]


def test_a_name_may_be_as_long_as_names_are(tmp_path):
    write_atomically(tmp_path / ("x" * 255), b"1")
    assert everything_in(tmp_path) == ["x" * 255]


@pytest.mark.parametrize("there", [True, False])
def test_a_staged_folder_comes_to_lie_where_it_belongs(there, tmp_path):
    folder = tmp_path / "a" / "b"
    if there:
        (folder / "sub").mkdir(parents=True)
        (folder / "kept").write_bytes(b"kept")
        (folder / "sub" / "x").write_bytes(b"old")
    with staged_folder(folder) as staged:
        (staged / "sub").mkdir()
        (staged / "sub" / "x").write_bytes(b"new")
    assert everything_in(folder) == (["kept"] if there else []) + ["sub", "sub/x"]
    assert (folder / "sub" / "x").read_bytes() == b"new"
    plain = tmp_path / "plain"
    plain.mkdir()
    assert folder.stat().st_mode == plain.stat().st_mode


def test_no_folder_is_made_for_no_file(tmp_path):
    with staged_folder(tmp_path / "a" / "b"):
        pass
    assert everything_in(tmp_path) == []


def fail_half_way(folder, problem):
    with staged_folder(folder) as staged:
        (staged / "x").write_bytes(b"half")
        raise problem


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("problem", [OSError, KeyboardInterrupt])
def test_nothing_is_left_of_a_staged_folder_that_failed(there, problem, tmp_path):
    folder = tmp_path / "a" / "b"
    if there:
        folder.mkdir(parents=True)
    before = everything_in(tmp_path)
    with pytest.raises(problem):
        fail_half_way(folder, problem)
    assert everything_in(tmp_path) == before


def test_a_file_in_the_way_of_a_folder_is_called_by_name(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for folder in (tmp_path / "file", tmp_path / "file" / "deeper"):
        with pytest.raises(NotADirectoryError) as caught, staged_folder(folder):
            pass
        assert caught.value.filename == str(folder)
    assert everything_in(tmp_path) == ["file"]


def interrupted(path):
    with staged_file(path) as draft:
        draft.write_bytes(b"broken")
        raise KeyboardInterrupt


def test_a_staged_file_replaces_an_older_one_when_it_is_complete(tmp_path):
    path, link = tmp_path / "new" / "film", tmp_path / "link"
    link.symlink_to(path)
    with staged_file(link) as draft:
        draft.write_bytes(b"first")
        assert not path.exists()
    assert path.read_bytes() == b"first"
    path.chmod(0o640)
    with pytest.raises(KeyboardInterrupt):
        interrupted(path)
    assert path.read_bytes() == b"first"
    with staged_file(path) as draft:
        draft.write_bytes(b"second")
    assert path.read_bytes() == b"second"
    assert path.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert [p.name for p in path.parent.iterdir()] == ["film"]


def test_a_staged_file_goes_into_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
    reader.start()
    with staged_file(pipe) as draft:
        draft.write_bytes(b"whole")
    reader.join()
    assert heard == [b"whole"]
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_staged_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(IsADirectoryError) as info, staged_file(tmp_path):
        pass
    assert info.value.filename == str(tmp_path)
    missing = tmp_path / "new" / "film"
    with pytest.raises(FileNotFoundError) as info, staged_file(missing):
        pass  # no draft
    assert info.value.filename == str(missing)
    assert list(tmp_path.iterdir()) == []
