"""Where things are kept that can be made anew."""

import os
from pathlib import Path

import pytest

from hrp_model.files.writer import cache_folder, mesh_folder


def test_it_lies_where_the_user_keeps_caches(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cache_folder("parts") == tmp_path / "cache" / "hrp_ros" / "parts"
    assert mesh_folder() == tmp_path / "cache" / "hrp_ros" / "meshes"
    assert cache_folder("parts").is_dir()
    # The specification passes over relative paths.
    for value in ("", "cache"):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert cache_folder("parts") == tmp_path / "home" / ".cache" / "hrp_ros" / "parts"


def no_home():
    raise RuntimeError("Could not determine home directory.")


@pytest.mark.parametrize("why", ["file in the way", "no home", "not ours"])
def test_where_there_can_be_none_meshes_lie_in_a_temporary_folder(why, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ("file" if why[0] == "f" else "cache")))
    if why == "no home":
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setattr(Path, "home", no_home)
    if why == "not ours":  # permissions mean nothing to the user who may do everything
        monkeypatch.setattr(os, "access", lambda *_: False)
    assert cache_folder("meshes") is None
    folder = mesh_folder()
    assert folder.parent == tmp_path
    assert list(folder.iterdir()) == []
