"""Noticing that the files of a model have changed."""

import os

import pytest

from hrp_model import load_body
from hrp_model.files import resources
from hrp_model.files.file_watch import FileWatch

INSIDE = "#VRML V2.0 utf8\nShape { geometry Box { size 1 1 1 } }\n"
MODEL = """format: ChoreonoidBody
formatVersion: 2.0
name: thing
rootLink: ROOT
links:
  - name: ROOT
    jointType: fixed
    elements: [ { type: Resource, uri: "shape.wrl" } ]
"""


@pytest.fixture
def watch(tmp_path, diagnostics):
    """Return a watch over all files of a model."""
    (tmp_path / "shape.wrl").write_text(INSIDE, encoding="utf-8")
    (tmp_path / "thing.body").write_text(MODEL, encoding="utf-8")
    watch = FileWatch()
    with watch.recording():
        load_body(tmp_path / "thing.body", diagnostics)
    return watch


def has_changed(watch):
    """Tell whether a change is reported by the time that nothing moves any more."""
    return [watch.has_changed() for _ in range(3)][-1]


def rewrite(path, text):
    """Write a file as an editor does, which tells the time of it finely enough or not."""
    before = os.stat(path).st_mtime_ns if path.exists() else 0
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(before + 1_000_000, before + 1_000_000))


def test_it_knows_every_file_that_was_read(watch, tmp_path):
    names = {path.name for path in watch.files if path.is_relative_to(tmp_path)}
    assert names == {"thing.body", "shape.wrl"}


def test_nothing_changes_by_itself(watch):
    assert not has_changed(watch)


@pytest.mark.parametrize("name", ["thing.body", "shape.wrl"])
def test_another_content_is_a_change(name, watch, tmp_path):
    rewrite(tmp_path / name, (tmp_path / name).read_text(encoding="utf-8"))
    assert has_changed(watch)


def test_a_file_that_is_put_in_its_place_is_a_change(watch, tmp_path):
    old = tmp_path / "shape.wrl"
    new = tmp_path / "new"
    new.write_text(INSIDE, encoding="utf-8")
    os.utime(new, ns=(old.stat().st_atime_ns, old.stat().st_mtime_ns))
    new.replace(old)
    assert has_changed(watch)


def test_a_file_that_goes_is_a_change(watch, tmp_path):
    (tmp_path / "shape.wrl").unlink()
    assert has_changed(watch)


def test_a_change_is_told_only_when_the_writing_is_over(watch, tmp_path):
    assert not watch.has_changed()
    rewrite(tmp_path / "shape.wrl", "half")
    assert not watch.has_changed()
    rewrite(tmp_path / "shape.wrl", "half and half")
    assert not watch.has_changed()
    assert watch.has_changed()


def test_a_file_that_was_missed_is_waited_for(tmp_path, diagnostics):
    (tmp_path / "thing.body").write_text(MODEL, encoding="utf-8")
    watch = FileWatch()
    with watch.recording():
        load_body(tmp_path / "thing.body", diagnostics)
    diagnostics.take("missing-resource")
    assert not has_changed(watch)
    (tmp_path / "shape.wrl").write_text(INSIDE, encoding="utf-8")
    assert has_changed(watch)


def test_a_change_while_it_is_read_is_a_change(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_text("old", encoding="utf-8")
    watch = FileWatch()
    with watch.recording():
        resources.read_file(path)
        rewrite(path, "new")
        resources.read_file(path)
    assert has_changed(watch)


def test_what_is_read_without_recording_is_not_watched(watch, tmp_path):
    (tmp_path / "other").write_text("text", encoding="utf-8")
    resources.read_file(tmp_path / "other")
    assert tmp_path / "other" not in watch.files


def test_a_change_while_files_are_read_again_is_noticed(tmp_path):
    file = tmp_path / "model"
    file.write_text("one")
    before, after = FileWatch(), FileWatch()
    before.add(file)
    file.write_text("broken")
    while not before.has_changed():
        pass
    file.write_text("repaired")  # it was read as broken, by who does not record it
    after.add_all(before)
    assert any(after.has_changed() for _ in range(2))
