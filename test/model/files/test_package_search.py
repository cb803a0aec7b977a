"""Packages that lie above a model, or beside a folder above it, without a sourced workspace."""

import os

import pytest

from hrp_model import load_body
from hrp_model.cli.main import main
from hrp_model.diagnostics import Diagnostics
from hrp_model.files.resources import FileAccess, ResourceError, resolve

TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
ROBOT = (
    '<robot name="r"><link name="a"><inertial><mass value="1"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    '<visual><geometry><mesh filename="%s"/></geometry></visual></link></robot>'
)
ARM = "package://arm_description/meshes/a.obj"
MANIFEST = '<?xml version="1.0"?><package format="3"><name> arm_description\n</name></package>'


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file below a folder without any package that is installed."""
    monkeypatch.setenv("AMENT_PREFIX_PATH", "")
    monkeypatch.setenv("ROS_PACKAGE_PATH", "")

    def write(name, content=TRIANGLE):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    return write


@pytest.mark.parametrize(
    ("mesh", "manifest"),
    [
        ("ws/arm_description/meshes/a.obj", None),  # above, without a package.xml
        ("ws/arm_description/urdf/arm_description/meshes/a.obj", None),
        ("ws/arm_description/arm_description/meshes/a.obj", None),  # in a folder above
        ("arm_description/meshes/a.obj", None),  # beside a folder above
        ("ws/meshes/a.obj", "ws/package.xml"),  # above, under another name
        ("ws/other/meshes/a.obj", "ws/other/package.xml"),
        ("lib/meshes/a.obj", "lib/package.xml"),  # beside a folder above, under another name
    ],
)
@pytest.mark.parametrize("scheme", ["package", "model"])
def test_a_package_above_the_model_is_found(mesh, manifest, scheme, write, tmp_path):
    path = write(mesh)
    if manifest:
        write(manifest, MANIFEST)
    folder = tmp_path / "ws/arm_description/urdf"
    folder.mkdir(parents=True, exist_ok=True)
    uri = ARM.replace("package", scheme, 1)
    assert resolve(uri, folder) == path.resolve()
    roots = (tmp_path.resolve(),)
    assert resolve(uri, folder, FileAccess(roots, sandboxed=True)) == path.resolve()


def test_the_nearest_package_that_has_the_file_counts(write, tmp_path):
    near = write("ws/arm_description/urdf/arm_description/meshes/b.obj")
    above, beside = write("ws/arm_description/meshes/a.obj"), write("arm_description/meshes/a.obj")
    write("ws/arm_description/meshes/b.obj")
    folder = tmp_path / "ws/arm_description/urdf"
    assert resolve(ARM, folder) == above.resolve()
    assert resolve(ARM.replace("a.obj", "b.obj"), folder) == near.resolve()
    above.unlink()
    assert resolve(ARM, folder) == beside.resolve()


def test_an_installed_package_goes_first_where_it_has_the_file(write, tmp_path, monkeypatch):
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "install"))
    installed = write("install/share/arm_description/meshes/a.obj")
    above = write("arm_description/meshes/a.obj")
    folder = tmp_path / "arm_description/urdf"
    assert resolve(ARM, folder) == installed.resolve()
    installed.unlink()
    assert resolve(ARM, folder) == above.resolve()


def test_the_search_is_bounded(write, tmp_path):
    deep = tmp_path / "arm_description/1/2/3/4/5/6/7"
    mesh = write("arm_description/meshes/a.obj")
    assert resolve(ARM, deep) == mesh.resolve()
    with pytest.raises(ResourceError, match="nor in the folders above the model; is its workspace"):
        resolve(ARM, deep / "8")


def test_a_folder_of_many_entries_is_not_looked_through(write, tmp_path):
    mesh = write("ws/lib/meshes/a.obj")
    write("ws/lib/package.xml", MANIFEST)
    folder = tmp_path / "ws/robots"
    assert resolve(ARM, folder) == mesh.resolve()
    for i in range(600):
        (tmp_path / "ws" / f"f{i}").touch()
    with pytest.raises(ResourceError, match="no package 'arm_description'"):
        resolve(ARM, folder)


@pytest.mark.parametrize(
    "manifest",
    [
        "<package><name>arm_descr",
        "<robot><name>arm_description</name></robot>",
        '<!DOCTYPE x [<!ENTITY e "arm_description">]><package><name>&e;</name></package>',
        f"{MANIFEST}<!-- {'x' * 70_000} -->",
        None,
    ],
)
def test_a_manifest_that_cannot_be_used_names_no_package(manifest, write, tmp_path):
    write("ws/meshes/a.obj")
    if manifest is None:
        os.mkfifo(tmp_path / "ws/package.xml")  # to read it would take for ever
    else:
        write("ws/package.xml", manifest)
    with pytest.raises(ResourceError, match="no package 'arm_description'"):
        resolve(ARM, tmp_path / "ws/urdf")


def test_a_sandbox_ends_the_search(write, tmp_path):
    write("arm_description/meshes/a.obj")
    urdf = write("arm_description/urdf/r.urdf", ROBOT % ARM)
    found = Diagnostics.silent()
    assert load_body(urdf, found, sandbox=True).root.visual == ()
    (problem,) = found.found
    assert problem.code == "missing-resource"
    assert problem.message.endswith("that may be read; allow its folder with --allow")
    body = load_body(urdf, found, sandbox=True, resource_folders=[urdf.parent.parent])
    assert len(body.root.visual) == 1


def test_links_lead_out_of_no_sandbox(write, tmp_path):
    """Neither do a linked package nor a linked manifest."""
    write("elsewhere/meshes/a.obj")
    write("elsewhere/package.xml", MANIFEST)
    folder = tmp_path / "ws/urdf"
    folder.mkdir(parents=True)
    access = FileAccess(((tmp_path / "ws").resolve(),), sandboxed=True)
    (tmp_path / "ws/arm_description").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ResourceError, match="no package"):
        resolve(ARM, folder, access)
    (tmp_path / "ws/arm_description").unlink()
    write("ws/meshes/a.obj")
    (tmp_path / "ws/package.xml").symlink_to(tmp_path / "elsewhere/package.xml")
    with pytest.raises(ResourceError, match="no package"):
        resolve(ARM, folder, access)
    assert resolve(ARM, folder) == (tmp_path / "ws/meshes/a.obj").resolve()


def test_the_meshes_of_such_a_package_are_exported(write, tmp_path, capsys):
    write("arm_description/meshes/a.obj")
    urdf = write("arm_description/urdf/r.urdf", ROBOT % ARM)
    assert main(["check", "--strict", str(urdf)]) == 0
    assert main(["urdf", str(urdf), "-o", str(tmp_path / "out/r.urdf")]) == 0
    assert main(["urdf", str(urdf), "--package", str(tmp_path / "made")]) == 0
    capsys.readouterr()
    for made in ("out/r.urdf", "made/urdf/made.urdf"):
        assert sum(len(link.visual) for link in load_body(tmp_path / made).links) == 1
    assert "package://arm_description" not in (tmp_path / "made/urdf/made.urdf").read_text()
