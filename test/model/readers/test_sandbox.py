"""What a model may make the readers touch: its own folder, packages, and what it says aloud."""

import json
import os
import struct

import pytest

from hrp_model import load_body
from hrp_model.diagnostics import Diagnostics, ModelError
from hrp_model.files.resources import MAX_FILE_SIZE, FileAccess, OutsideError, read_file, resolve
from hrp_model.program.report import json_report, sarif_report

TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
FACES = (
    "Shape { geometry IndexedFaceSet { coord Coordinate { point [0 0 0, 1 0 0, 0 1 0] } "
    "coordIndex [0 1 2 -1] } }"
)
VRML = "#VRML V2.0 utf8\n"
BODY = """\
format: ChoreonoidBody
format_version: 2.0
name: arm
links:
  - name: BASE
    joint_type: fixed
    elements:
      - { type: Shape, geometry: { type: Resource, uri: "%s" } }
"""


class Tree:
    """A folder of files: robot/ is the model's own, the rest lies around it."""

    def __init__(self, root):
        self.root = root

    def write(self, name, content):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def load(self, name, **options):
        """Return the body, or None, and the diagnostics of a model."""
        found = Diagnostics.silent()
        try:
            return load_body(self.root / name, found, **options), found.found
        except ModelError:
            return None, found.found

    def body(self, uri, **options):
        """Load a .body whose one shape is a file."""
        self.write("robot/arm.body", BODY % uri)
        return self.load("robot/arm.body", **options)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.setenv("AMENT_PREFIX_PATH", "")
    monkeypatch.setenv("ROS_PACKAGE_PATH", "")
    made = Tree(tmp_path)
    made.write("robot/meshes/in.obj", TRIANGLE)
    made.write("outside/out.obj", TRIANGLE)
    return made


def codes(found):
    return [diagnostic.code for diagnostic in found]


def explicit(tree):
    """Return the ways in which a model says that it means a file elsewhere."""
    out = tree.root / "outside" / "out.obj"
    return ["../outside/out.obj", str(out), out.as_uri(), "${ELSEWHERE}/out.obj", "~/out.obj"]


@pytest.fixture
def elsewhere(tree, monkeypatch):
    monkeypatch.setenv("ELSEWHERE", str(tree.root / "outside"))
    monkeypatch.setenv("HOME", str(tree.root / "outside"))


@pytest.mark.parametrize("way", range(5))
def test_a_model_reaches_what_it_names_aloud_but_not_from_a_sandbox(way, tree, elsewhere):
    uri = explicit(tree)[way]
    body, found = tree.body(uri)
    assert len(body.root.visual) == 1
    assert found == []
    body, (problem,) = tree.body(uri, sandbox=True)
    assert body is None
    assert problem.code == "outside-sandbox"
    assert problem.at.source.text[problem.at.start : problem.at.end].strip('"') == uri


def test_what_is_outside_a_sandbox_is_not_even_looked_for(tree):
    _, there = tree.body("../outside/out.obj", sandbox=True)
    _, not_there = tree.body("../outside/other.obj", sandbox=True)
    assert codes(there) == codes(not_there) == ["outside-sandbox"]


@pytest.mark.parametrize(
    "uri",
    [
        "${TOKEN}", "${TOKEN}/a.obj", "meshes/${TOKEN}.obj", "package://${TOKEN}/a.obj",
        "file://${TOKEN}", "${SHARE}/../${TOKEN}", "~/a.obj", "~root/a.obj", "~nobody-so-called",
        "file://~/a.obj", "~\\a.obj",
    ],
)  # fmt: skip
def test_a_sandbox_takes_nothing_from_the_environment_or_home_folders(uri, tree, monkeypatch):
    monkeypatch.setenv("TOKEN", "s3cret")
    monkeypatch.setenv("HOME", str(tree.root / "robot" / "s3cret"))

    def no_lookup(path):
        raise AssertionError(f"{path} was looked up")

    monkeypatch.setattr("pathlib.Path.expanduser", no_lookup)
    tree.write("robot/s3cret/a.obj", TRIANGLE)
    tree.write("robot/meshes/s3cret.obj", TRIANGLE)
    tree.write("robot/arm.body", BODY % uri.replace("\\", "\\\\"))
    _, (problem,) = tree.load("robot/arm.body", sandbox=True)
    assert problem.at.source.text[problem.at.start : problem.at.end].startswith('"')
    reports = json.dumps([json_report([("m", [problem])]), sarif_report([("m", [problem])])])
    assert "s3cret" not in reports.replace(str(tree.root), "")
    if "SHARE" not in uri:
        assert problem.code == "outside-sandbox"
        assert "not used in a sandbox" in problem.message


def test_folders_above_go_before_the_environment_in_a_sandbox(tree, monkeypatch):
    monkeypatch.setenv("PROJECT_DIR", str(tree.root / "outside"))
    body, found = tree.body("${PROJECT_DIR}/meshes/in.obj", sandbox=True)
    assert (len(body.root.visual), found) == (1, [])


@pytest.mark.parametrize("uri", ["meshes/in.obj", "../robot/meshes/in.obj", "./meshes/../a.obj"])
def test_a_sandbox_holds_the_folder_of_the_model(uri, tree):
    tree.write("robot/a.obj", TRIANGLE)
    body, found = tree.body(uri, sandbox=True)
    assert found == []
    assert len(body.root.visual) == 1


def test_folders_can_be_added_to_a_sandbox(tree):
    folders = [tree.root / "outside"]
    body, _ = tree.body("../outside/out.obj", sandbox=True, resource_folders=folders)
    assert len(body.root.visual) == 1


def test_packages_lie_in_the_sandbox_but_not_what_is_above_them(tree, monkeypatch):
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tree.root / "install"))
    tree.write("install/share/arms/package.xml", "<package/>")
    tree.write("install/share/arms/elbow.obj", TRIANGLE)
    body, found = tree.body("package://arms/elbow.obj", sandbox=True)
    assert (len(body.root.visual), found) == (1, [])
    for uri in ("package://arms/../../../outside/out.obj", "package://arms/%2e%2e/x.obj"):
        assert codes(tree.body(uri, sandbox=True)[1]) == ["outside-sandbox"]
    assert codes(tree.body("package://../outside/out.obj", sandbox=True)[1]) == ["missing-resource"]
    assert codes(tree.body("package:///outside/out.obj", sandbox=True)[1]) == ["missing-resource"]


def test_a_package_installed_with_links_lies_in_the_sandbox(tree, monkeypatch):
    """As colcon build --symlink-install does."""
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tree.root / "install"))
    (tree.root / "install/share/arms").mkdir(parents=True)
    for name, text in (("package.xml", "<package/>"), ("elbow.obj", TRIANGLE)):
        source = tree.write(f"src/arms/{name}", text)
        (tree.root / "install/share/arms" / name).symlink_to(source)
    body, found = tree.body("package://arms/elbow.obj", sandbox=True)
    assert (len(body.root.visual), found) == (1, [])


@pytest.mark.parametrize("sandbox", [False, True])
def test_a_link_does_not_lead_out_unseen(sandbox, tree):
    """The model names a file in its folder, but not the one that a link puts there."""
    (tree.root / "robot/meshes/link.obj").symlink_to(tree.root / "outside/out.obj")
    (tree.root / "robot/folder").symlink_to(tree.root / "outside")
    for uri in ("meshes/link.obj", "folder/out.obj"):
        body, found = tree.body(uri, sandbox=sandbox)
        assert codes(found) == ["outside-sandbox" if sandbox else "link-outside"]
        assert body is None or not body.root.visual
        folders = [tree.root / "outside"]
        body, found = tree.body(uri, sandbox=sandbox, resource_folders=folders)
        assert (len(body.root.visual), found) == (1, [])


def test_a_link_within_the_folder_is_followed(tree):
    (tree.root / "robot/link.obj").symlink_to(tree.root / "robot/meshes/in.obj")
    body, found = tree.body("link.obj", sandbox=True)
    assert (len(body.root.visual), found) == (1, [])


def test_the_model_itself_may_be_a_link_to_its_folder(tree):
    tree.write("robot/arm.body", BODY % "meshes/in.obj")
    (tree.root / "arm.body").symlink_to(tree.root / "robot/arm.body")
    body, found = tree.load("arm.body", sandbox=True)
    assert (len(body.root.visual), found) == (1, [])


def test_vrml_inlines_and_textures_stay_inside(tree):
    tree.write("outside/part.wrl", VRML + FACES)
    tree.write("outside/wood.png", b"")
    text = VRML + (
        'Group { children [ Inline { url "../outside/part.wrl" } '
        'Shape { appearance Appearance { texture ImageTexture { url "../outside/wood.png" } } '
        "geometry Box { } } ] }"
    )
    tree.write("robot/arm.wrl", text)
    assert len(tree.load("robot/arm.wrl")[0].root.visual) == 2
    body, found = tree.load("robot/arm.wrl", sandbox=True)
    assert body is None
    assert codes(found) == ["outside-sandbox", "outside-sandbox"]


def test_included_bodies_and_libraries_stay_inside(tree):
    tree.write("outside/part.body", BODY % "out.obj")
    tree.write("outside/nodes.yaml", "&box { type: Shape, geometry: { type: Box } }")
    including = (
        "format: ChoreonoidBody\nformat_version: 2.0\nname: all\nlinks:\n"
        "  - { name: BASE, elements: [ { type: Resource, uri: ../outside/nodes.yaml } ] }\n"
        "  - { type: SubBody, parent: BASE, prefix: X_, uri: ../outside/part.body }\n"
    )
    tree.write("robot/all.body", including)
    body, _ = tree.load("robot/all.body")
    assert [len(link.visual) for link in body.links] == [1, 1]
    body, found = tree.load("robot/all.body", sandbox=True)
    assert body is None
    assert codes(found) == ["outside-sandbox", "outside-sandbox"]


def test_the_materials_of_a_mesh_stay_inside(tree):
    tree.write("outside/paint.mtl", "newmtl red\nKd 1 0 0\n")
    painted = "mtllib ../../outside/paint.mtl\nusemtl red\n" + TRIANGLE
    tree.write("robot/meshes/in.obj", painted)
    body, found = tree.body("meshes/in.obj")
    assert body.root.visual[0].material.diffuse == (1.0, 0.0, 0.0)
    assert found == []
    _, found = tree.body("meshes/in.obj", sandbox=True)
    assert codes(found) == ["outside-sandbox"]
    assert str(found[0].at).endswith("in.obj:1:1")


def test_the_buffers_of_a_mesh_stay_inside_and_come_from_no_net(tree):
    gltf = (
        '{"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], '
        '"nodes": [{"mesh": 0}], "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}], '
        '"accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}], '
        '"bufferViews": [{"buffer": 0, "byteLength": 36}], '
        '"buffers": [{"byteLength": 36, "uri": "%s"}]}'
    )
    tree.write("outside/points.bin", struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0))
    tree.write("robot/a.gltf", gltf % "../outside/points.bin")
    assert len(tree.body("a.gltf")[0].root.visual) == 1
    assert "outside-sandbox" in codes(tree.body("a.gltf", sandbox=True)[1])
    tree.write("robot/b.gltf", gltf % "http://127.0.0.1:9/points.bin")
    _, found = tree.body("b.gltf")
    assert "'http:' references are not supported" in str(found[0])


DAE = """\
<?xml version="1.0" encoding="%s"?>%s
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="1"/></asset>
<library_geometries><geometry id="g" name="%s"><mesh>
<source id="s"><float_array id="a" count="9">0 0 0 1 0 0 0 1 0</float_array>
<technique_common><accessor source="#a" count="3" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
<triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="w"><node id="n"><instance_geometry url="#g"/></node>
</visual_scene></library_visual_scenes><scene><instance_visual_scene url="#w"/></scene></COLLADA>
"""


def test_a_collada_file_draws_nothing_in_and_does_not_grow(tree):
    secret = tree.write("outside/secret.txt", "secret")
    entity = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
    for encoding, codec in (("utf-8", "utf-8"), ("utf-16", "utf-16"), ("utf-7", "utf-7")):
        tree.write("robot/good.dae", (DAE % (encoding, "", "name")).encode(codec))
        tree.write("robot/bad.dae", (DAE % (encoding, entity, "&e;")).encode(codec))
        if codec != "utf-7":
            assert len(tree.body("good.dae")[0].root.visual) == 1
        body, (problem,) = tree.body("bad.dae")
        assert problem.code == "unreadable-resource"
        assert body.root.visual == ()
    tree.write("robot/zip.dae", b"PK\x03\x04")
    assert "compressed" in str(tree.body("zip.dae")[1][0])


def test_only_ordinary_files_are_read(tree):
    os.mkfifo(tree.root / "robot" / "pipe.obj")  # reading it would wait for ever
    os.mkfifo(tree.root / "robot" / "pipe.wrl")
    assert codes(tree.body("pipe.obj")[1]) == ["missing-resource"]
    assert codes(tree.body("meshes")[1]) == ["missing-resource"]
    _, (problem,) = tree.load("robot/pipe.wrl")
    assert (problem.code, "Not a regular file" in problem.message) == ("unreadable-file", True)
    (tree.root / "robot" / "zero.wrl").symlink_to("/dev/zero")
    assert tree.load("robot/zero.wrl")[0] is None


def test_a_file_beyond_any_model_is_not_read(tree):
    path = tree.write("robot/huge.wrl", VRML)
    os.truncate(path, MAX_FILE_SIZE + 1)  # sparse: it takes no room
    with pytest.raises(OSError, match="Larger than 128 MiB"):
        read_file(path)
    _, (problem,) = tree.load("robot/huge.wrl")
    assert problem.message.endswith("huge.wrl': Larger than 128 MiB")
    path.rename(path.with_suffix(".obj"))
    _, (problem,) = tree.body("huge.obj")
    assert str(problem.message) == "'huge.obj' is left out: Larger than 64 MiB"


def test_an_open_fence_still_tells_links_from_words(tree):
    out = tree.root / "outside/out.obj"
    (tree.root / "robot/link.obj").symlink_to(out)
    folder = tree.root / "robot"
    assert resolve("../outside/out.obj", folder, FileAccess()) == out.resolve()
    assert resolve("link.obj", folder) == out.resolve()
    with pytest.raises(OutsideError, match="is a link to"):
        resolve("link.obj", folder, FileAccess())


@pytest.mark.parametrize("suffix", ["stl", "obj", "dae", "glb", "wrl", "ply"])
def test_what_git_lfs_has_not_fetched_is_called_so(suffix, tree):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 4567\n"
    tree.write(f"robot/part.{suffix}", pointer)
    body, (problem,) = tree.body(f"part.{suffix}")
    assert body is not None
    assert problem.message.startswith(f"'part.{suffix}' is left out: Only a Git LFS pointer; ")
    tree.write("robot/robot.wrl", pointer)
    _, (problem,) = tree.load("robot/robot.wrl")
    assert problem.message.endswith("fetch the file with 'git lfs pull'")
