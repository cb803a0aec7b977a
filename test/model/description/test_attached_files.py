"""Robots whose files come with their URDF."""

import os
from pathlib import Path

import pytest

from hrp_model import ModelError
from hrp_model.description import published
from hrp_model.description.published import copy_files, read_with_files

TRIANGLE = (
    b"solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n"
    b"endloop\nendfacet\nendsolid x\n"
)
URDF = """<robot name="r"><link name="base"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><mesh filename="{}"/></geometry></visual></link></robot>"""


def files_in(folder):
    return {str(Path(at, x).relative_to(folder)) for at, _, names in os.walk(folder) for x in names}


@pytest.mark.parametrize(
    ("uri", "written"),
    [
        ("file:///gone/a.stl", "file:///gone/a.stl"),
        ("file:///gone/a%20b.stl", "file:///gone/a%20b.stl"),
        ("file:///gone/a&b'.stl", "file:///gone/a&amp;b'.stl"),
        ("package://their_robot/meshes/a.stl", "package://their_robot/meshes/a.stl"),
    ],
)
def test_a_mesh_is_read_from_its_copy(tmp_path, diagnostics, uri, written):
    files = copy_files({uri: TRIANGLE}, tmp_path)
    body = read_with_files(URDF.format(written), "robot_description", files, diagnostics)
    (shape,) = body.root.visual
    assert len(shape.geometry.triangles) == 1


def test_a_mesh_without_a_copy_is_read_from_where_the_urdf_says(tmp_path, diagnostics):
    (tmp_path / "a.stl").write_bytes(TRIANGLE)
    uri = (tmp_path / "a.stl").as_uri()
    body = read_with_files(URDF.format(uri), "robot_description", {}, diagnostics)
    assert len(body.root.visual) == 1


def test_a_missing_mesh_is_a_warning(diagnostics):
    read_with_files(URDF.format("file:///gone/a.stl"), "robot_description", {}, diagnostics)
    assert "/gone/a.stl" in diagnostics.found.pop().message


def test_references_between_copies_still_work(tmp_path, diagnostics):
    obj = b"mtllib ../looks/a.mtl\nusemtl red\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
    mtl = b"newmtl red\nKd 1 0 0\n"
    contents = {"file:///gone/meshes/a.obj": obj, "file:///gone/looks/a.mtl": mtl}
    files = copy_files(contents, tmp_path)
    urdf = URDF.format("file:///gone/meshes/a.obj")
    body = read_with_files(urdf, "robot_description", files, diagnostics)
    assert body.root.visual[0].material.diffuse == (1.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "uri",
    [
        "file:///../../outside",
        "file://../../outside",
        "file:///a/%2e%2e/%2e%2e/%2e%2e/outside",
        "../outside",
        "/outside",
        "x/../..://outside",
        "file://",
        "file:///a\0b",
        "file:///" + "a" * 5000,
    ],
)
def test_no_name_leads_out_of_the_folder(tmp_path, uri):
    folder = tmp_path / "inside"
    folder.mkdir()
    copy_files({uri: b"x"}, folder)
    assert all(x.startswith("inside") for x in files_in(tmp_path))


def test_a_file_where_a_folder_is_needed_is_left_out(tmp_path):
    copies = copy_files({"file:///a": b"x", "file:///a/b": b"y"}, tmp_path)
    assert list(copies) == ["file:///a"]


def test_the_size_of_all_copies_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(published, "MAX_SIZE", 5)
    copies = copy_files({"file:///a": b"123", "file:///b": b"456", "file:///c": b"7"}, tmp_path)
    assert list(copies) == ["file:///a"]


def test_an_invalid_urdf_is_located(diagnostics):
    with pytest.raises(ModelError, match="left/robot_description:1:1: error"):
        read_with_files("<robt/>", "left/robot_description", {}, diagnostics)
    diagnostics.found.clear()
