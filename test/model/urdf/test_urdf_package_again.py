"""Description packages written again: nothing of others is lost."""

import pytest
from package_tools import contents, silent, times, vehicle, with_mesh, write
from urdf_tools import wheel

from hrp_model.diagnostics import ModelError
from hrp_model.urdf import Hardware, UrdfOptions


def test_the_same_again_touches_nothing(tmp_path):
    folder = write(with_mesh(), tmp_path / "p")
    before = {path: t for path, t in times(folder).items() if path.name != ".hrp_model.json"}
    inside = contents(folder)
    write(with_mesh(), folder)
    assert contents(folder) == inside
    assert before.items() <= times(folder).items()


def test_what_changed_is_replaced_and_what_nobody_needs_goes(tmp_path):
    options = UrdfOptions(ros2_control=Hardware.MOCK)
    folder = write(vehicle(), tmp_path / "p", options=options)
    (folder / "config" / "mine.yaml").write_text("a: 1\n")
    write(with_mesh(2.0), folder)
    expected = contents(write(with_mesh(2.0), tmp_path / "other"))
    assert contents(folder) == {**expected, "config/mine.yaml": b"a: 1\n"}
    write(with_mesh(3.0), folder)
    assert len(list((folder / "meshes").iterdir())) == 2


def test_an_empty_folder_will_do(tmp_path):
    (tmp_path / "p").mkdir()
    assert (write(with_mesh(), tmp_path / "p") / "package.xml").is_file()


@pytest.mark.parametrize("manifest", [None, "", "[]", "{}", '{"files": 1}', '{"files": {}}'])
def test_a_folder_of_others_is_left_alone(manifest, tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    if manifest is not None:
        (tmp_path / ".hrp_model.json").write_text(manifest)
    before = contents(tmp_path)
    with pytest.raises(FileExistsError, match="neither empty nor a description package"):
        write(with_mesh(), tmp_path)
    assert contents(tmp_path) == before


def test_a_urdf_that_was_changed_by_hand_is_not_lost(tmp_path):
    folder = write(with_mesh(), tmp_path / "p")
    (folder / "urdf" / "pyramid.urdf").write_text("<robot/>")
    before = contents(folder)
    with pytest.raises(FileExistsError, match="edited by hand") as caught:
        write(with_mesh(2.0), folder)
    assert caught.value.filename == str(folder / "urdf" / "pyramid.urdf")
    assert contents(folder) == before


def test_a_file_that_was_changed_by_hand_is_kept_with_a_warning(tmp_path):
    folder = write(with_mesh(), tmp_path / "p")
    view = folder / "rviz" / "display.rviz"
    text = view.read_text().replace("Alpha: 1", "Alpha: 0.5")
    view.write_text(text)
    for size in (2.0, 3.0):  # not only the first time
        diagnostics = silent()
        write(with_mesh(size), folder, diagnostics=diagnostics)
        assert [d.code for d in diagnostics.found] == ["kept-file"]
        assert str(view) in diagnostics.found[0].message
        assert view.read_text() == text
    with pytest.raises(FileExistsError, match="edited by hand"):
        write(with_mesh(), folder, name="other_name")


def test_a_file_of_others_in_the_way_is_not_replaced(tmp_path):
    folder = write(with_mesh(), tmp_path / "p")
    (folder / "launch" / "ros2_control.launch.py").write_text("mine\n")
    before = contents(folder)
    with pytest.raises(FileExistsError, match="not part of the package"):
        write(vehicle(), folder, options=UrdfOptions(ros2_control=Hardware.MOCK))
    assert contents(folder) == before


def test_a_damaged_mesh_is_not_taken_over(tmp_path):
    folder = write(with_mesh(), tmp_path / "p")
    (mesh,) = (folder / "meshes").glob("*.stl")
    mesh.write_bytes(b"solid")
    with pytest.raises(FileExistsError):
        write(with_mesh(), folder)
    mesh.unlink()
    write(with_mesh(), folder)
    assert mesh.stat().st_size > 80


def test_a_manifest_cannot_point_outside(tmp_path):
    folder = write(with_mesh(), tmp_path / "p")
    outside = tmp_path / "precious"
    outside.write_bytes((folder / "package.xml").read_bytes())
    manifest = (folder / ".hrp_model.json").read_text()
    (folder / ".hrp_model.json").write_text(manifest.replace('"package.xml"', '"../precious"'))
    (folder / "package.xml").unlink()
    write(with_mesh(), folder)
    assert outside.is_file()


def test_in_strict_mode_warnings_leave_nothing_written(tmp_path):
    body = wheel(name="a\tb")
    with pytest.raises(ModelError, match="illegal-name"):
        write(body, tmp_path / "new" / "p", diagnostics=silent(strict=True))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file") as caught:
        write(with_mesh(), tmp_path / "file" / "p")
    assert not isinstance(caught.value, FileExistsError)
    with pytest.raises(OSError, match="file"):
        write(with_mesh(), tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
